// octet-replay as a process, seen from outside: an actor and a learner in one loop. argv[1] is the
// executable.
#include "tests/replay/replay_daemon.h"

#include <float.h>

#include "common/oct_file.h"

static void
empty_done(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    (void)answer;
    answered(arg, err, detail);
}

// ---- forbidden

static void
test_daemon_counts_garbage_and_lives_on(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    uint8_t frame[200] = {0};
    send_bytes(f, "garbage", 7);
    send_bytes(f, "", 0);
    wire_frame_pack(WIRE_BATCH, 0, 0, frame); // a batch of nothing
    send_bytes(f, frame, sizeof(frame));
    frame[4] ^= 0x40; // another protocol version
    send_bytes(f, frame, sizeof(frame));
    (void)test_batch_steps(&actor, 4);
    actor.obs[0][0] = NAN;
    send_batch(f, &actor.batch);
    wait_for_ack(f, 1); // passed over, or the actor would send it for ever
    assert_int_equal(stat_of(f, "replay.rejected"), 5);
    assert_string_equal(f->refused, "an observation is not finite");
    assert_int_equal(stat_of(f, "replay.bytes_in"), wire_batch_size(&actor.batch));
    // Of another shape than the table, and of no session: each counts once, whoever finds it out.
    (void)test_batch_steps(&actor, 4);
    actor.batch.obs_bytes /= 2;
    send_batch(f, &actor.batch);
    test_actor_init(&actor, 3, 0);
    test_actor_sign(&actor, token_key, RUN);
    send_batch(f, test_batch_steps(&actor, 4));
    while (stat_of(f, "replay.rejected") < 7) {
    }
    assert_int_equal(stat_of(f, "replay.rejected"), 7);
    assert_int_equal(stat_of(f, "replay.rejected_token"), 0);
    assert_int_equal(stat_of(f, "replay.size"), 0);
}

static void
forger_ready(void *arg)
{
    *(bool *)arg = false;
}

// Batches as good as an actor's, of sessions that nobody registered: nothing of replay changes but
// what it counts, and the actor beside them loses nothing.
static void
test_daemon_refuses_a_flood_of_unregistered_sessions(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    double memory = stat_of(f, "replay.memory_bytes");
    bool is_busy = false;
    net_push *push;
    net_push_events events = {.on_ready = forger_ready, .arg = &is_busy};
    T_OK(net_push_open(&push, f->loop, f->batch_url, OCT_ROLES_ANY, &events));
    static test_actor forger;
    uint32_t forged = 0;
    uint64_t good = 1;
    while (stat_of(f, "replay.rejected_token") < 200) {
        if (is_busy) {
            continue;
        }
        forged++;
        test_actor_init(&forger, forged, 1000 + forged);
        (void)test_batch_steps(&forger, 10);
        net_msg *msg = net_msg_create(wire_batch_size(&forger.batch));
        wire_batch_pack(&forger.batch, net_msg_body(msg));
        is_busy = true;
        T_OK(net_push_send(push, msg));
        if (forged % 50 == 0) {
            send_steps(f, 10, ++good);
        }
    }
    net_push_close(push);
    assert_true(stat_of(f, "replay.rejected") >= 200);
    assert_int_equal(stat_of(f, "replay.peers_closed"), 0); // over ipc none is
    assert_int_equal(stat_of(f, "replay.sessions"), 1);
    assert_int_equal(stat_of(f, "replay.batches"), good);
    assert_int_equal(stat_of(f, "replay.inserts"), 10 * good);
    assert_int_equal(stat_of(f, "replay.memory_bytes"), memory);
}

static void
test_daemon_refuses_batches_without_their_token(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    (void)test_batch_steps(&actor, 10);
    uint8_t bytes[4096];
    size_t length = wire_batch_size(&actor.batch);
    assert_true(length <= sizeof(bytes));
    wire_batch_pack(&actor.batch, bytes);
    send_bytes(f, bytes, length - 3 - WIRE_TOKEN_BYTES); // the last field
    actor.batch.token[0] ^= 1;
    send_batch(f, &actor.batch);
    test_actor_sign(&actor, token_key, RUN + 1); // another run's
    send_batch(f, &actor.batch);
    actor.batch.session++;
    test_actor_sign(&actor, token_key, RUN);
    actor.batch.session--; // another session's
    send_batch(f, &actor.batch);
    test_actor_sign(&actor, token_key, RUN);
    uint8_t twice[sizeof(bytes)]; // the session again, after the token: what is decoded counts
    wire_batch_pack(&actor.batch, twice);
    const uint8_t another[] = {0x11, 99, 0, 0, 0, 0, 0, 0, 0};
    memcpy(twice + length, another, sizeof(another));
    send_bytes(f, twice, length + sizeof(another));
    while (stat_of(f, "replay.rejected") < 5) {
    }
    assert_int_equal(stat_of(f, "replay.rejected_token"), 4);
    assert_int_equal(stat_of(f, "replay.sessions"), 0);
    send_batch(f, &actor.batch);
    wait_for_ack(f, 1);
    assert_int_equal(stat_of(f, "replay.size"), 10);
}

static void
stolen(void *arg, net_msg *msg)
{
    (void)msg;
    ++*(uint32_t *)arg;
}

// Who knows an actor's number and session, but not its token, cannot have its acks sent elsewhere:
// neither before there is a table nor later, neither with another's token nor without one.
static void
test_daemon_gives_acks_to_who_has_the_token_alone(void **state)
{
    fixture *f = *state;
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    net_sub *thieves[3];
    uint32_t acks = 0;
    for (int i = 0; i < 3; i++) {
        size_t length = ask_pack(ask);
        ask[length - 1] ^= 1; // the token
        T_OK(net_post_dial(
            &thieves[i], f->loop, &(net_endpoint){f->ack_url, OCT_ROLES_ANY, 4096, 16},
            &(net_sub_options){ask, i < 2 ? length : WIRE_FRAME_BYTES, stolen, NULL, &acks}));
        if (i == 0) {
            T_OK(configure(f, &message)); // the first of them may have been heard before
        }
    }
    while (stat_of(f, "replay.acks_refused") < 2) {
    }
    for (uint64_t i = 1; i <= 20; i++) {
        send_steps(f, 10, i);
    }
    assert_int_equal(acks, 0);
    for (int i = 0; i < 3; i++) {
        net_sub_close(thieves[i]);
    }
}

static void
priorities_update(fixture *f, const wire_priorities *update)
{
    f->is_answered = false;
    T_OK(wire_call_update_priorities(f->client, update, 10000, empty_done, f));
    wait_for_answer(f);
}

static void
test_daemon_refuses_tables_it_cannot_make(void **state)
{
    fixture *f = *state;
    wire_configure message = test_configure(4294967232u, WIRE_SAMPLER_UNIFORM);
    message.obs_bytes = 1u << 20;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, " of memory are available"));
    message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.priority_exponent = 11;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "priority_exponent 11"));
    message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.limiter_only = true;
    T_ERR(configure(f, &message), OCT_EINVAL);
    message.limiter_only = false;
    T_OK(configure(f, &message));
    T_OK(configure(f, &message));
    message.capacity = 2000;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "another capacity"));
}

// Two runs on one replay would empty each other's table in turn.
static void
test_daemon_serves_one_run_at_a_time(void **state)
{
    fixture *f = *state;
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.epoch = 5;
    T_OK(configure(f, &message));
    send_steps(f, 100, 1);
    wire_configure other = test_configure(2000, WIRE_SAMPLER_UNIFORM);
    other.run_id = RUN + 1;
    other.epoch = 9;
    T_ERR(configure(f, &other), OCT_EAGAIN);
    assert_non_null(strstr(f->detail, "this replay serves run"));
    assert_int_equal(stat_of(f, "replay.size"), 100);
    wire_configure release = {.run_id = RUN, .epoch = 4, .release = true};
    T_OK(configure(f, &release)); // not by the one that has it
    T_ERR(configure(f, &other), OCT_EAGAIN);
    release.epoch = 5;
    T_OK(configure(f, &release));
    assert_int_equal(stat_of(f, "replay.size"), 100); // as long as nobody wants the place
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_inserts_total"), 100);
    T_OK(configure(f, &other));
    assert_int_equal(stat_of(f, "replay.capacity"), 2048); // in blocks of 64
    assert_int_equal(stat_of(f, "replay.inserts"), 0);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_inserts_total"),
                     100); // a counter does not fall
    assert_int_equal(stat_of(f, "replay.learners_refused"), 2);
}

// A learner that was cut off comes back and finds another one of its run at work.
static void
test_daemon_refuses_a_learner_that_another_has_replaced(void **state)
{
    fixture *f = *state;
    // Of epoch 0, which sample() has, too.
    wire_configure message = configure_table(f, WIRE_SAMPLER_PRIORITIZED);
    send_steps(f, 100, 1);
    sample(f, 16, 1, 0);
    T_OK(f->err);
    uint64_t key[] = {7};
    float priority[] = {1};
    wire_priorities update = {f->sampled.incarnation, 1, key, priority, .run_id = RUN};
    // A larger number alone takes nothing over: it may be the same one's, damaged on its way.
    const wire_sample damaged = {
        .run_id = RUN, .epoch = 1 << 30, .batch_size = 16, .batches = 1, .timeout_ms = 1000};
    sample_send(f, &damaged);
    wait_for_answer(f);
    T_OK(f->err);
    assert_false(f->sampled.configured);
    update.epoch = 1 << 30;
    priorities_update(f, &update);
    T_OK(f->err);
    assert_int_equal(stat_of(f, "replay.priority_updates"), 0);
    update.epoch = 0;
    sample(f, 16, 1, 0);
    T_OK(f->err);
    wire_configure newer = message;
    newer.epoch = 6;
    T_OK(configure(f, &newer));
    assert_int_equal(stat_of(f, "replay.size"), 100);
    sample(f, 16, 1, 0);
    T_ERR(f->err, OCT_ESTALE);
    assert_non_null(strstr(f->detail, "another learner has taken over run"));
    T_ERR(configure(f, &message), OCT_ESTALE);
    priorities_update(f, &update);
    T_ERR(f->err, OCT_ESTALE);
    assert_int_equal(stat_of(f, "replay.priority_updates"), 0);
    update.run_id = RUN + 1; // of another table: its keys name other windows
    update.epoch = 9;
    priorities_update(f, &update);
    T_OK(f->err);
    assert_int_equal(stat_of(f, "replay.priority_updates"), 0);
    message.limiter_only = true;
    message.epoch = 5; // an operator has none, and takes nothing over
    T_ERR(configure(f, &message), OCT_ESTALE);
    message.epoch = 0;
    T_OK(configure(f, &message));
    T_OK(configure(f, &newer));
}

static void
test_daemon_refuses_samples_it_cannot_give(void **state)
{
    fixture *f = *state;
    sample(f, 4, 1, 0);
    T_OK(f->err);
    assert_false(f->sampled.configured);
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    sample(f, 0, 1, 0);
    assert_true(f->err != OCT_OK);
    sample(f, 4, 0, 1000); // the counters alone, at once
    T_OK(f->err);
    assert_true(f->sampled.configured);
    assert_int_equal(f->sampled.count, 0);
    sample(f, 1u << 20, 1, 0);
    T_ERR(f->err, OCT_EINVAL);
    assert_non_null(strstr(f->detail, "allowed are 1 to 65536"));
    sample(f, 4, 1, 50); // nothing there, in time
    T_OK(f->err);
    assert_true(f->sampled.configured);
    assert_int_equal(f->sampled.count, 0);
}

// ---- ordinary

static void
test_daemon_holds_a_batch_until_it_is_configured(void **state)
{
    fixture *f = *state;
    send_batch(f, test_batch_steps(&actor, 10));
    assert_int_equal(stat_of(f, "replay.capacity"), 0);
    assert_string_equal(f->state, "waiting for a learner's Configure");
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    wait_for_ack(f, 1);
    assert_int_equal(stat_of(f, "replay.size"), 10);
}

static void
test_daemon_acknowledges_duplicates_and_gaps(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    assert_int_equal(f->ack.session, 30);
    assert_true(f->ack.credit > 0);
    send_batch(f, &actor.batch);
    wait_for_ack(f, 1);
    actor.batch.sequence = 7;
    send_batch(f, &actor.batch);
    wait_for_ack(f, 1);
    while (stat_of(f, "replay.gaps") == 0) {
    }
    assert_int_equal(stat_of(f, "replay.duplicates"), 1);
    assert_int_equal(stat_of(f, "replay.inserts"), 10);
}

static uint64_t inserted[8]; // the sessions of the last answer
static uint32_t inserted_count;

static void
inserted_done(void *arg, oct_err err, const char *detail, const wire_sessions *answer)
{
    T_OK(err);
    assert_in_range(answer->count, 0, OCT_COUNTOF(inserted));
    inserted_count = answer->count;
    for (uint32_t i = 0; i < answer->count; i++) { // of none the column is NULL
        inserted[i] = answer->session[i];
    }
    answered(arg, err, detail);
}

// An actor was started again twice while batches of its first life waited behind others.
static void
test_daemon_takes_an_actors_newest_life_when_earlier_ones_come_late(void **state)
{
    fixture *f = *state;
    static test_actor lives[3];
    static const int arrivals[] = {0, 1, 2, 0, 2, 1, 2};
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    T_OK(configure(f, &message));
    for (int i = 0; i < 3; i++) {
        test_actor_init(&lives[i], 3, 30 + (uint64_t)i);
        test_actor_sign(&lives[i], token_key, RUN);
    }
    for (size_t i = 0; i < OCT_COUNTOF(arrivals); i++) {
        send_batch(f, test_batch_steps(&lives[arrivals[i]], 4));
    }
    while (stat_of(f, "replay.batches") + stat_of(f, "replay.stale") + stat_of(f, "replay.gaps") <
           OCT_COUNTOF(arrivals)) {
    }
    assert_int_equal(stat_of(f, "replay.stale"), 2);
    assert_int_equal(stat_of(f, "replay.batches"), 5);
    assert_int_equal(stat_of(f, "replay.gaps"), 0);
    assert_int_equal(stat_of(f, "replay.sessions"), 1);
}

// The rows of one session that no update could use: acknowledged, counted and named, not inserted.
static void
test_daemon_sets_aside_rows_and_names_their_session(void **state)
{
    fixture *f = *state;
    char path[128];
    uint8_t *bytes;
    size_t length;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    (void)test_batch_steps(&actor, 10);
    actor.obs[2][1] = -FLT_MAX;
    send_batch(f, &actor.batch);
    wait_for_ack(f, 2);
    assert_int_equal(stat_of(f, "replay.rows_set_aside"), 10);
    assert_int_equal(stat_of(f, "replay.rejected"), 1);
    assert_int_equal(stat_of(f, "replay.rows_taken"), 11);
    assert_non_null(strstr(f->refused, "an observation is too large: 3.40282e+38, of session "
                                       "000000000000001e (certificate \"\"), of which 10 rows"));
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_set_aside_rows_total{session="
                                                 "\"000000000000001e\",certificate=\"\"}"),
                     10);
    (void)snprintf(path, sizeof(path), "%s/log", f->folder);
    T_OK(oct_file_read(path, 1000000, &bytes, &length));
    const char *log = strstr((const char *)bytes, "REPLAY-SET-ASIDE");
    assert_non_null(log);
    assert_non_null(strstr(log, "actor=3 session=000000000000001e certificate=\"\" sequence=2"));
    free(bytes);
    send_steps(f, 10, 3); // its next rows are taken
    assert_int_equal(stat_of(f, "replay.rows_taken"), 21);
}

// The windows of two actors, and a key that no window has.
static void
test_daemon_names_the_sessions_of_windows(void **state)
{
    fixture *f = *state;
    static test_actor other;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    sample(f, 1, 1, 0);
    uint64_t keys[] = {f->sampled.count > 0 ? f->first_key : 0, UINT64_MAX};
    const float priority[2] = {0};
    test_actor_init(&other, 4, 40);
    test_actor_sign(&other, token_key, RUN);
    send_batch(f, test_batch_steps(&other, 10));
    wire_priorities asked = {f->sampled.incarnation, 2, keys, priority, RUN, 0};
    f->is_answered = false;
    T_OK(wire_call_window_origins(f->client, &asked, 10000, inserted_done, f));
    wait_for_answer(f);
    assert_int_equal(inserted_count, 2);
    assert_int_equal(inserted[0], actor.batch.session);
    assert_int_equal(inserted[1], 0);
    asked.incarnation++; // keys of another life of replay
    f->is_answered = false;
    T_OK(wire_call_window_origins(f->client, &asked, 10000, inserted_done, f));
    wait_for_answer(f);
    assert_int_equal(inserted_count, 0);
}

// More sessions than there are places, one batch each: the first one's batch stays a duplicate.
static void
test_daemon_remembers_a_session_however_many_come(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    static test_actor many;
    send_steps(f, 10, 1);
    for (uint32_t i = 0; i < REPLAY_SESSIONS_MAX + 10; i++) {
        test_actor_init(&many, 1000 + i, 1000 + i);
        test_actor_sign(&many, token_key, RUN);
        send_batch(f, test_batch_steps(&many, 0));
    }
    send_batch(f, &actor.batch);
    while (stat_of(f, "replay.duplicates") == 0) {
        assert_int_equal(stat_of(f, "replay.rejected"), 0);
    }
    assert_int_equal(stat_of(f, "replay.sessions"), REPLAY_SESSIONS_MAX);
    assert_int_equal(stat_of(f, "replay.batches"), REPLAY_SESSIONS_MAX);
    assert_int_equal(stat_of(f, "replay.refused"), 11);
}

// How many of the actor's session, one that it had before, and another's that nobody has, are among
// those whose rows the table took.
static uint32_t
inserted_ask(fixture *f, uint64_t run_id)
{
    const uint32_t ids[] = {actor.batch.actor_id, actor.batch.actor_id, 77};
    const uint64_t sessions[] = {actor.batch.session - 1, actor.batch.session, actor.batch.session};
    const wire_sessions asked = {
        .run_id = run_id, .count = 3, .actor_id = ids, .session = sessions};
    f->is_answered = false;
    T_OK(wire_call_inserted_sessions(f->client, &asked, 10000, inserted_done, f));
    wait_for_answer(f);
    return inserted_count;
}

// Batches that are repeated, overtake others or are refused are no rows, whatever they say.
static void
test_daemon_tells_whose_rows_it_took(void **state)
{
    fixture *f = *state;
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    assert_int_equal(inserted_ask(f, RUN), 0); // there is no table yet
    T_OK(configure(f, &message));
    assert_int_equal(inserted_ask(f, RUN), 0);
    (void)test_batch_steps(&actor, 4);
    actor.batch.first_unacked = actor.batch.sequence = 9; // as if eight had been taken
    actor.obs[0][0] = NAN;
    send_batch(f, &actor.batch);
    wait_for_ack(f, 9);
    actor.batch.sequence = 20; // before others
    actor.obs[0][0] = 0;
    send_batch(f, &actor.batch);
    while (stat_of(f, "replay.gaps") == 0) {
    }
    assert_int_equal(inserted_ask(f, RUN), 0);
    actor.batch.sequence = 9;
    send_steps(f, 4, 10);
    assert_int_equal(inserted_ask(f, RUN), 1);
    assert_int_equal(inserted[0], actor.batch.session);
    assert_int_equal(inserted_ask(f, RUN + 1), 0);
    actor.batch.session++;
    assert_int_equal(inserted_ask(f, RUN), 1); // of the session that it had before
    assert_int_equal(inserted[0], actor.batch.session - 1);
}

// A learner that lost its key gives another: no token of before is good any more.
static void
test_daemon_takes_another_key_for_the_run_that_it_has(void **state)
{
    fixture *f = *state;
    wire_configure message = configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    message.token_key[31] = 1;
    T_OK(configure(f, &message));
    T_OK(configure(f, &message)); // twice is once
    send_batch(f, test_batch_steps(&actor, 10));
    while (stat_of(f, "replay.rejected_token") < 1) {
    }
    assert_int_equal(stat_of(f, "replay.size"), 10);
    test_actor_sign(&actor, message.token_key, RUN);
    ask_for_acks(f);
    send_batch(f, &actor.batch);
    wait_for_ack(f, 2);
    assert_int_equal(stat_of(f, "replay.size"), 20);
    assert_int_equal(stat_of(f, "replay.sessions"), 1);
    message.limiter_only = true; // which brings no key
    T_OK(configure(f, &message));
    send_steps(f, 10, 3);
    assert_int_equal(stat_of(f, "replay.rejected_token"), 1);
}

// An actor whose link broke before replay knew the key has asked for its acks on two connections,
// of which the second lives.
static void
test_daemon_acknowledges_to_the_last_connection_that_asked_before_the_key(void **state)
{
    fixture *f = *state;
    wire_configure message = configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    message.token_key[31] = 1; // of which replay does not know yet
    test_actor_sign(&actor, message.token_key, RUN);
    for (int i = 1; i <= 3; i++) {
        ask_for_acks(f);
        while (stat_of(f, "replay.acks_refused") < i) {
        }
    }
    T_OK(configure(f, &message));
    send_steps(f, 10, 2);
}

static void
test_daemon_samples_and_takes_priorities(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_PRIORITIZED);
    sample_begin(f, 16, 3, 10000); // before there is anything: held
    send_batch(f, test_batch_steps(&actor, 100));
    wait_for_answer(f);
    T_OK(f->err);
    assert_int_equal(f->sampled.count, 48);
    assert_int_equal(f->sampled.steps, 101); // the last one begins no window yet
    uint64_t key[100];
    float priority[100];
    for (int i = 0; i < 100; i++) {
        key[i] = (uint64_t)i;
        priority[i] = i == 42;
    }
    wire_priorities update = {f->sampled.incarnation + 1, 100, key, priority, .run_id = RUN};
    priorities_update(f, &update);
    assert_int_equal(stat_of(f, "replay.priority_updates"), 0); // of another life
    update.incarnation = f->sampled.incarnation;
    priorities_update(f, &update);
    sample(f, 16, 1, 0);
    assert_int_equal(f->first_key, 42);
    assert_int_equal(stat_of(f, "replay.priority_updates"), 100);
    priority[3] = 9;
    priority[7] = NAN; // refused as a whole
    priorities_update(f, &update);
    assert_int_equal(f->err, OCT_EPROTO);
    assert_non_null(strstr(f->detail, "priorities.priority: not a number of at least 0"));
    assert_int_equal(stat_of(f, "replay.priority_updates"), 100);
    assert_int_equal(stat_of(f, "replay.bad_requests"), 1);
    sample(f, 16, 1, 0);
    assert_int_equal(f->first_key, 42);
}

// The windows of its other steps are learned from.
static void
test_daemon_counts_the_steps_of_a_failed_episode_that_did_not_fail(void **state)
{
    fixture *f = *state;
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    wire_batch *batch = test_batch_begin(&actor);
    test_batch_run(&actor, 0, 0, 1);
    test_batch_row(&actor, WIRE_FIRST);
    test_batch_row(&actor, 0);
    test_batch_row(&actor, WIRE_END | WIRE_FAILED);
    test_batch_row(&actor, WIRE_FIRST);
    send_batch(f, batch);
    wait_for_ack(f, 1);
    sample(f, 1, 1, 0);
    assert_int_equal(f->sampled.steps, 3);
    assert_int_equal(stat_of(f, "replay.size"), 2);
    assert_int_equal(stat_of(f, "replay.failed"), 1);
}

// The rows stay: there are as many windows at once as the other kind has.
static void
test_daemon_changes_the_window_of_the_table_that_it_has(void **state)
{
    fixture *f = *state;
    wire_configure message = configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_batch(f, test_batch_steps(&actor, 100)); // rows 0 .. 100
    wait_for_ack(f, 1);
    assert_int_equal(stat_of(f, "replay.size"), 100);
    message.window = WIRE_WINDOW_SEQUENCE;
    message.window_steps = 20;
    message.window_stride = 10;
    T_OK(configure(f, &message));
    assert_int_equal(stat_of(f, "replay.size"), 9); // from 0, 10 … 80
    message.window_steps = 1000;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "windows of 1000 steps need"));
    message.window = WIRE_WINDOW_N_STEP;
    message.window_steps = 1;
    T_OK(configure(f, &message));
    assert_int_equal(stat_of(f, "replay.size"), 100);
    assert_int_equal(stat_of(f, "replay.rows"), 101);
    sample(f, 16, 1, 0);
    assert_int_equal(f->sampled.count, 16);
    assert_int_equal(f->sampled.steps, 101); // whatever windows there were
}

static void
test_daemon_stalls_actors_until_the_learner_sampled(void **state)
{
    fixture *f = *state;
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.min_size = 20;
    message.samples_per_insert = 1;
    T_OK(configure(f, &message));
    uint64_t acked = 0;
    while (stat_of(f, "replay.limiter.waiting") != 1) {
        if (!f->is_push_busy) {
            send_batch(f, test_batch_steps(&actor, 20));
        }
        assert_true(++acked < 100);
    }
    assert_non_null(strstr(f->state, "inserts wait for samples: "));
    acked = (uint64_t)stat_of(f, "replay.batches");
    sample(f, 16, 1, 10000);
    assert_int_equal(f->sampled.count, 16);
    wait_for_ack(f, acked + 1);
    message.limiter_only = true; // and without a limit all goes through
    message.samples_per_insert = 0;
    message.min_size = 5000; // is the learner's to say
    T_OK(configure(f, &message));
    wait_for_ack(f, actor.batch.sequence);
    message.samples_per_insert = 7; // an operator names the tolerance alone
    message.keep_samples_per_insert = true;
    message.tolerance = 3;
    T_OK(configure(f, &message));
    assert_true(stat_of(f, "replay.limiter.samples_per_insert") == 0);
    message.keep_samples_per_insert = false;
    message.keep_tolerance = true;
    message.tolerance = 0;
    T_OK(configure(f, &message)); // balances of 20 times 7, and 3 times that on either side
    assert_true(stat_of(f, "replay.limiter.samples_per_insert") == 7);
    assert_true(stat_of(f, "replay.limiter.balance_max") == 20 * 7 * (1 + 3));
    assert_true(stat_of(f, "replay.insert_blocked_s") > 0);
    assert_int_equal(stat_of(f, "replay.inserts"), 20 * actor.batch.sequence);
}

static wire_sampled counters; // numbers only

static void
counters_done(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    (void)detail;
    T_OK(err);
    counters = *answer;
    net_loop_stop(((fixture *)arg)->loop);
}

// What the other shards have allows a sample that is held: the counters are those after it.
static void
test_daemon_tells_what_it_has_after_it_heard_of_the_others(void **state)
{
    fixture *f = *state;
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.min_size = 20;
    message.samples_per_insert = 1;
    T_OK(configure(f, &message));
    send_steps(f, 20, 1);
    sample(f, 16, 1, 0);
    assert_int_equal(f->sampled.count, 16);
    sample_begin(f, 16, 1, 10000);
    while (stat_of(f, "replay.held_samples") < 1) { // the status may overtake the sample
    }
    assert_int_equal(stat_of(f, "replay.held_samples"), 1);
    f->is_answered = false;
    counters.configured = false;
    const wire_sample tell = {
        .run_id = RUN, .batch_size = 1, .others = {.inserts = 100, .balance = 100}};
    T_OK(wire_call_sample(f->client, &tell, 10000, counters_done, f));
    wait_for_answer(f);
    assert_int_equal(f->sampled.count, 16);
    while (!counters.configured) {
        net_loop_run(f->loop);
    }
    assert_int_equal(counters.samples, 32);
    T_NEAR(counters.balance, -12, 1e-9, 0);
}

static void
test_daemon_killed_and_restarted_goes_on_where_the_actor_is(void **state)
{
    fixture *f = *state;
    wire_configure message = configure_table(f, WIRE_SAMPLER_UNIFORM);
    for (int i = 0; i < 5; i++) {
        send_batch(f, test_batch_steps(&actor, 10));
    }
    wait_for_ack(f, 5);
    uint64_t incarnation = f->ack.incarnation;
    daemon_restart(f);
    sample(f, 4, 1, 0);
    assert_false(f->sampled.configured);
    T_OK(configure(f, &message));
    actor.batch.first_unacked = 6;
    send_steps(f, 10, 6);
    assert_true(f->ack.incarnation != incarnation);
    // The row before the first was in the life before: the stream begins anew where it is.
    assert_int_equal(stat_of(f, "replay.rows"), 10);
    assert_int_equal(stat_of(f, "replay.size"), 9);
    assert_int_equal(stat_of(f, "replay.cut"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_daemon_##name, fixture_open, fixture_close)

int
main(int argc, char **argv)
{
    executable = argc == 2 ? realpath(argv[1], NULL) : NULL;
    if (!executable) {
        fprintf(stderr, "usage: test_replay_daemon OCTET-REPLAY\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        TEST(counts_garbage_and_lives_on),
        TEST(refuses_a_flood_of_unregistered_sessions),
        TEST(refuses_batches_without_their_token),
        TEST(gives_acks_to_who_has_the_token_alone),
        TEST(refuses_tables_it_cannot_make),
        TEST(serves_one_run_at_a_time),
        TEST(refuses_a_learner_that_another_has_replaced),
        TEST(refuses_samples_it_cannot_give),
        TEST(holds_a_batch_until_it_is_configured),
        TEST(acknowledges_duplicates_and_gaps),
        TEST(takes_an_actors_newest_life_when_earlier_ones_come_late),
        TEST(names_the_sessions_of_windows),
        TEST(sets_aside_rows_and_names_their_session),
        TEST(remembers_a_session_however_many_come),
        TEST(tells_whose_rows_it_took),
        TEST(takes_another_key_for_the_run_that_it_has),
        TEST(acknowledges_to_the_last_connection_that_asked_before_the_key),
        TEST(samples_and_takes_priorities),
        TEST(counts_the_steps_of_a_failed_episode_that_did_not_fail),
        TEST(changes_the_window_of_the_table_that_it_has),
        TEST(stalls_actors_until_the_learner_sampled),
        TEST(tells_what_it_has_after_it_heard_of_the_others),
        TEST(killed_and_restarted_goes_on_where_the_actor_is),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(executable);
    return failed;
}
