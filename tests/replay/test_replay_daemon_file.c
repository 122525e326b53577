// octet-replay with its table in a file: killed and started again, with a disk that is waited for,
// with files that it must not touch. argv[1] is the executable.
#include "common/oct_reason.h"
#include "replay/replay_recover.h"
#include "tests/replay/replay_daemon.h"

#include <math.h>

#include "common/oct_file.h"

static void
table_in_file(fixture *f, const char *sync)
{
    f->sync = sync;
    daemon_restart(f);
}

static void
test_daemon_killed_with_a_file_has_all_that_was_acknowledged(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = configure_table(f, WIRE_SAMPLER_UNIFORM);
    for (int i = 0; i < 5; i++) {
        send_batch(f, test_batch_steps(&actor, 10));
    }
    wait_for_ack(f, 5);
    uint64_t incarnation = f->ack.incarnation;
    sample(f, 4, 1, 1000);
    T_OK(f->err);
    daemon_restart(f);
    sample(f, 4, 1, 0);
    assert_false(f->sampled.configured); // what the learner wants now is not known yet
    wire_configure other = message;
    other.run_id = RUN + 1;
    T_ERR(configure(f, &other), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "replay.oct holds the rows of run 0000000000000007"));
    message.window_steps = 3; // as it is wanted now
    message.min_size = 2;
    T_OK(configure(f, &message));
    assert_int_equal(stat_of(f, "replay.rows"), 51);
    assert_int_equal(stat_of(f, "replay.size"), 48);
    assert_int_equal(stat_of(f, "replay.samples"), 4);
    assert_int_equal(stat_of(f, "replay.limiter.min_size"), 2);
    send_batch(f, &actor.batch); // its acknowledgement may have been lost
    send_steps(f, 10, 6);
    assert_true(f->ack.incarnation != incarnation);
    assert_int_equal(stat_of(f, "replay.duplicates"), 1);
    assert_int_equal(stat_of(f, "replay.rows"), 61);
    assert_int_equal(stat_of(f, "replay.cut"), 0); // no stream was interrupted
    assert_int_equal(stat_of(f, "replay.disk_state"), 1);
    message.capacity = 2000;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "another capacity"));
}

// A learner that was suspended while a newer one went on with its run does not get the table
// because replay was started again meanwhile.
static void
test_daemon_with_a_file_knows_the_newest_learner(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.epoch = 4;
    T_OK(configure(f, &message));
    message.epoch = 6;
    T_OK(configure(f, &message));
    daemon_restart(f);
    message.epoch = 5;
    T_ERR(configure(f, &message), OCT_ESTALE);
    assert_non_null(strstr(f->detail, "epoch 6 is here, this is 5"));
    message.epoch = 6;
    T_OK(configure(f, &message));
}

// Samples that were drawn for updates that are lost are drawn again, so that over a run there are
// as many for each insert as were learned from.
static void
test_daemon_gets_samples_back_that_nobody_learned_from(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    message.samples_per_insert = 2;
    message.tolerance = 0;
    message.min_size = 10;
    T_OK(configure(f, &message));
    uint64_t table = f->configured.table, incarnation = f->configured.incarnation;
    assert_true(table != 0 && f->configured.steps == 0 && f->configured.samples == 0);
    send_steps(f, 30, 1);
    sample(f, 10, 1, 1000);
    sample(f, 10, 1, 1000);
    uint64_t drawn = (uint64_t)stat_of(f, "replay.samples");
    assert_int_equal(drawn, 20);
    daemon_restart(f);
    message.epoch = 1; // a learner that goes on from where 8 windows had been learned from
    message.table = table + 2;
    message.samples = 8;
    T_OK(configure(f, &message));
    assert_int_equal(f->configured.returned, 0); // of another table
    assert_true(f->configured.table == table && f->configured.incarnation != incarnation);
    assert_int_equal(f->configured.steps, 31);
    message.table = table;
    message.epoch = 2;
    T_OK(configure(f, &message));
    assert_int_equal(f->configured.samples, 20);
    assert_int_equal(f->configured.returned, 12);
    assert_int_equal(stat_of(f, "replay.samples"), 8);
    const wire_sample request = {
        .run_id = RUN, .epoch = 2, .batch_size = 10, .batches = 1, .timeout_ms = 1000};
    sample_send(f, &request);
    wait_for_answer(f);
    T_OK(configure(f, &message)); // which came twice
    assert_int_equal(f->configured.returned, 0);
    assert_int_equal(stat_of(f, "replay.samples"), 18);
    message.epoch = 3;
    message.samples = 100; // more than were drawn: the table had lost some
    T_OK(configure(f, &message));
    assert_int_equal(f->configured.returned, 0);
    daemon_restart(f);
    T_OK(configure(f, &message));
    assert_int_equal(stat_of(f, "replay.samples"), 18); // what was given back stays so
}

// A table that was found has counted before this process, which may have been more: to Prometheus a
// counter that is smaller than it was has begun anew, and all of it is new.
static void
test_daemon_with_a_file_counts_from_zero(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    T_OK(configure(f, &message));
    uint64_t table = f->configured.table;
    send_steps(f, 30, 1);
    sample(f, 10, 2, 1000);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_inserts_total"), 30);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_samples_total"), 20);
    daemon_restart(f);
    assert_int_equal(stat_of(f, "replay.samples"), 0); // not before it is there again
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_samples_total"), 0);
    message.epoch = 1; // a learner that resumes from where 8 windows had been learned from
    message.table = table;
    message.samples = 8;
    T_OK(configure(f, &message));
    assert_int_equal(f->configured.returned, 12);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_table_rows_taken"), 31);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_table_inserts"), 30);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_table_samples"), 8);
    static const char *const counters[] = {
        "octet_replay_inserts_total",
        "octet_replay_samples_total",
        "octet_replay_rows_total{kind=\"policy\"}",
        "octet_replay_rows_total{kind=\"random\"}",
        "octet_replay_rows_total{kind=\"end\"}",
        "octet_replay_rows_total{kind=\"failed\"}",
        "octet_replay_batches_total{result=\"taken\"}",
    };
    for (size_t i = 0; i < OCT_COUNTOF(counters); i++) {
        assert_int_equal(net_test_metric(f->metrics, counters[i]), 0);
    }
    assert_int_equal(stat_of(f, "replay.batches"), 0);
    send_steps(f, 10, 2);
    const wire_sample request = {
        .run_id = RUN, .epoch = 1, .batch_size = 10, .batches = 1, .timeout_ms = 1000};
    sample_send(f, &request);
    wait_for_answer(f);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_inserts_total"), 10);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_samples_total"), 10);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_batches_total{result=\"taken\"}"),
                     1);
    message.epoch = 2; // the same process, and the learner resumes once more
    T_OK(configure(f, &message));
    assert_int_equal(f->configured.returned, 10);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_table_samples"), 8);
    assert_int_equal(net_test_metric(f->metrics, "octet_replay_samples_total"), 10);
}

static const char *const rates[] = {"replay.insert_rate", "replay.sample_rate",
                                    "replay.insert_wait_share", "replay.sample_wait_share"};

// Over the seconds that follow, whenever they are looked at: 0, and not known before the table has
// been there for a second. Before replay had run for before_s, there was none.
static void
rates_watch(fixture *f, double before_s)
{
    double begin_s = stat_of(f, "replay.uptime_s");
    uint32_t known = 0;
    while (known == 0 || stat_of(f, "replay.uptime_s") < begin_s + 2.5) {
        for (size_t i = 0; i < OCT_COUNTOF(rates); i++) {
            double value = stat_of(f, rates[i]);
            assert_true(isnan(value) || value == 0);
            assert_true(isnan(value) || stat_of(f, "replay.uptime_s") >= before_s + 1);
            known += !isnan(value);
        }
    }
}

// What was found in the file was not inserted now, and what is given back is no rate.
static void
test_daemon_rates_are_of_what_it_does(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = configure_table(f, WIRE_SAMPLER_UNIFORM);
    message.table = f->configured.table;
    send_steps(f, 30, 1);
    sample(f, 20, 1, 1000);
    daemon_restart(f);
    double before_s = stat_of(f, "replay.uptime_s");
    for (size_t i = 0; i < OCT_COUNTOF(rates); i++) {
        assert_true(isnan(stat_of(f, rates[i])));
    }
    message.epoch = 1;
    message.samples = 20;
    T_OK(configure(f, &message));
    rates_watch(f, before_s);
    message.epoch = 2;
    message.samples = 8;
    T_OK(configure(f, &message));
    assert_int_equal(f->configured.returned, 12);
    rates_watch(f, before_s);
}

static void
test_daemon_acknowledges_what_is_on_the_disk(void **state)
{
    fixture *f = *state;
    table_in_file(f, "always");
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    for (int i = 0; i < 3; i++) {
        send_steps(f, 10, (uint64_t)i + 1);
        // Each waited for a generation of its own; the table began with one.
        assert_true(stat_of(f, "replay.disk_generation") >= 2 + i);
    }
}

// After so many seconds by itself, and once more when it ends.
static void
test_daemon_syncs_as_time_goes_on_and_at_its_end(void **state)
{
    fixture *f = *state;
    char path[128];
    oct_reason why;
    replay_file *file;
    table_in_file(f, "interval");
    (void)configure_table(f, WIRE_SAMPLER_UNIFORM);
    send_steps(f, 10, 1);
    while (stat_of(f, "replay.disk_generation") < 2) {
    }
    send_steps(f, 10, 2);
    assert_int_equal(net_test_daemon_kill(&f->daemon, SIGTERM), 0);
    (void)snprintf(path, sizeof(path), "%s/replay.oct", f->folder);
    T_OK(replay_file_open(&file, path, &why));
    const replay_snapshot *last = replay_recover_snapshot(file);
    assert_non_null(last);
    assert_true(last->generation > 2);
    assert_int_equal(last->head.stats.rows_taken, 21);
    replay_file_close(file);
    daemon_start(f);
    (void)stat_of(f, "replay.disk_generation"); // it is there
}

static wire_digest digest;

static void
digest_done(void *arg, oct_err err, const char *detail, const wire_digest *answer)
{
    fixture *f = arg;
    if (err == OCT_OK) {
        digest = *answer;
    }
    answered(f, err, detail);
}

static oct_err
digest_ask(fixture *f, uint64_t epoch, uint64_t turn, uint32_t keep)
{
    const wire_digest_request request = {.run_id = RUN, .epoch = epoch, .turn = turn, .keep = keep};
    f->is_answered = false;
    T_OK(wire_call_table_digest(f->client, &request, 10000, digest_done, f));
    wait_for_answer(f);
    return f->err;
}

// One batch of version turn.
static void
turn_send(fixture *f, uint64_t turn)
{
    (void)test_batch_begin(&actor);
    test_batch_run(&actor, 0, actor.next, (uint32_t)turn);
    for (int i = 0; i < 10; i++, actor.next++) {
        test_batch_row(&actor, actor.next == 0 ? WIRE_FIRST : 0);
    }
    send_batch(f, &actor.batch);
}

static wire_sample
turn_request(uint64_t epoch, uint64_t turn)
{
    return (wire_sample){.run_id = RUN,
                         .epoch = epoch,
                         .batch_size = 4,
                         .batches = 1,
                         .timeout_ms = 10000,
                         .turn = turn,
                         .turn_actor_count = 1,
                         .turn_actor = &actor.batch.actor_id};
}

// The request that stores the turn's batches.
static void
turn_ask(fixture *f, uint64_t epoch, uint64_t turn)
{
    const wire_sample request = turn_request(epoch, turn);
    sample_send(f, &request);
    wait_for_answer(f);
    T_OK(f->err);
    assert_int_equal(stat_of(f, "replay.rows"), 10 * turn);
}

static void
turn_do(fixture *f, uint64_t epoch, uint64_t turn)
{
    turn_send(f, turn);
    turn_ask(f, epoch, turn);
}

static wire_configure
lock_step(wire_sampler sampler)
{
    wire_configure message = test_configure(1000, sampler);
    message.samples_per_insert = 1;
    message.turn_actors = 1;
    message.epoch = 1;
    return message;
}

// A learner that goes on from a checkpoint finds the table as it was then, whatever came after, and
// whether or not replay was killed meanwhile.
static void
test_daemon_goes_back_to_the_turn_of_a_new_learner(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = lock_step(WIRE_SAMPLER_PRIORITIZED);
    T_OK(configure(f, &message));
    assert_true(f->configured.libm != 0);
    turn_do(f, 1, 1);
    T_ERR(digest_ask(f, 1, 2, 0), OCT_EINVAL); // it is not there yet
    T_OK(digest_ask(f, 1, 1, 2));
    const test_actor first = actor;
    const wire_digest turn_1 = digest;
    turn_do(f, 1, 2);
    T_OK(digest_ask(f, 1, 2, 0)); // no copy of this one
    const wire_digest turn_2 = digest;
    T_ERR(configure(f, &message), OCT_EINVAL); // the same learner knows better
    assert_non_null(strstr(f->detail, "turn 0 was requested, but the table has turn 2"));
    for (uint64_t epoch = 2; epoch <= 3; epoch++) {
        message.epoch = epoch;
        message.turn = 1;
        memcpy(message.turn_digest, turn_1.sha256, WIRE_HASH_BYTES);
        T_OK(configure(f, &message));
        assert_int_equal(stat_of(f, "replay.rows"), 10);
        assert_int_equal(stat_of(f, "replay.batches"), epoch == 2 ? 2 : 0); // of this process
        T_OK(configure(f, &message)); // a request that is repeated
        T_OK(digest_ask(f, epoch, 1, 2));
        assert_memory_equal(digest.sha256, turn_1.sha256, WIRE_HASH_BYTES);
        actor = first;
        turn_do(f, epoch, 2);
        T_OK(digest_ask(f, epoch, 2, 0));
        assert_memory_equal(digest.sha256, turn_2.sha256, WIRE_HASH_BYTES);
        wire_configure other = message;
        other.epoch = 9;
        other.turn_digest[0] ^= 1;
        T_ERR(configure(f, &other), OCT_EINVAL);
        T_OK(digest_ask(f, epoch, 2, 0)); // which took nothing from this one
        assert_memory_equal(digest.sha256, turn_2.sha256, WIRE_HASH_BYTES);
        daemon_restart(f);
        T_ERR(digest_ask(f, epoch, 2, 0), OCT_EINVAL); // of a table that nobody has configured
    }
    message.epoch = 4;
    message.turn_digest[0] ^= 1;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "replay.oct.1 is not the table that the checkpoint names"));
    send_batch(f, &actor.batch); // of nobody's table: waits
    message.epoch = 5;
    message.turn = 2;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "continues from turn 2, but replay.oct has no copy"));
    message.epoch = 6;
    message.turn = 0; // it begins again
    T_OK(configure(f, &message));
    assert_int_equal(stat_of(f, "replay.rows"), 0);
}

static void
held_done(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    (void)detail;
    (void)answer;
    T_OK(err);
    *(bool *)arg = true;
}

// A learner whose table is too large goes back all the same: then there is none, and who waits for
// it is answered.
static void
test_daemon_that_went_back_and_refused_answers_what_it_held(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = lock_step(WIRE_SAMPLER_UNIFORM);
    T_OK(configure(f, &message));
    wire_sample request = turn_request(1, 1);
    bool is_told, is_held;
    request.timeout_ms = 500; // over before the client sends it again
    do {                      // another one where this process was slow
        is_told = is_held = false;
        T_OK(wire_call_sample(f->client, &request, 20000, held_done, &is_told));
        while (!is_told && !is_held) {
            is_held = stat_of(f, "replay.limiter.waiting") == 2;
        }
    } while (is_told);
    message.epoch = 2;
    message.capacity = 4294967232u;
    message.obs_bytes = 1u << 20;
    assert_true(configure(f, &message) != OCT_OK);
    while (!is_told) {
        (void)stat_of(f, "replay.capacity");
    }
    assert_int_equal(stat_of(f, "replay.capacity"), 0);
    message = lock_step(WIRE_SAMPLER_UNIFORM);
    message.epoch = 3;
    T_OK(configure(f, &message));
    turn_do(f, 3, 1);
}

// Its moment would be one of the clock. What was held for the turn to come stays held.
static void
test_daemon_in_lock_step_refuses_another_limiter(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    const wire_configure message = lock_step(WIRE_SAMPLER_UNIFORM);
    T_OK(configure(f, &message));
    turn_do(f, 1, 1);
    uint64_t batches = f->sampled.turn_batches;
    turn_send(f, 2);
    const test_actor before = actor;
    turn_send(f, 9); // of no turn that could be: the one before is held when this is refused
    while (stat_of(f, "replay.rejected") < 1) {
    }
    actor = before;
    for (int i = 0; i < 3; i++) {
        const wire_configure set = {.run_id = RUN,
                                    .capacity = 1000,
                                    .sampler = WIRE_SAMPLER_UNIFORM,
                                    .samples_per_insert = i,
                                    .limiter_only = true,
                                    .keep_tolerance = true};
        T_ERR(configure(f, &set), OCT_EINVAL);
        assert_non_null(
            strstr(f->detail, "run.deterministic: in lock-step, the limiter cannot be changed"));
    }
    turn_ask(f, 1, 2);
    assert_in_range(f->sampled.turn_batches, batches, batches + 1); // one window more, of 4
    assert_int_equal(stat_of(f, "replay.limiter.samples_per_insert"), 1);
}

// It could not go back when the run is killed.
static void
test_daemon_in_memory_refuses_lock_step(void **state)
{
    fixture *f = *state;
    wire_configure message = lock_step(WIRE_SAMPLER_UNIFORM);
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "run.deterministic: replay has no file (--path)"));
    message.turn_actors = 0;
    T_OK(configure(f, &message));
}

static void
test_daemon_refuses_files_that_are_not_its_own(void **state)
{
    fixture *f = *state;
    char path[128];
    static const uint8_t words[] = "a letter to somebody, longer than nothing";
    (void)snprintf(path, sizeof(path), "%s/replay.oct", f->folder);
    T_OK(oct_file_write(path, words, sizeof(words)));
    f->sync = "interval";
    daemon_restart(f);
    assert_int_equal(net_test_daemon_end(&f->daemon), 3);
    uint8_t *now;
    size_t length;
    T_OK(oct_file_read(path, 1024, &now, &length));
    assert_int_equal(length, sizeof(words));
    assert_memory_equal(now, words, length);
    free(now);
    f->sync = NULL;
    daemon_start(f);
    assert_int_equal(stat_of(f, "replay.rows"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_daemon_##name, fixture_open, fixture_close)

int
main(int argc, char **argv)
{
    executable = argc == 2 ? realpath(argv[1], NULL) : NULL;
    if (!executable) {
        fprintf(stderr, "usage: test_replay_daemon_file OCTET-REPLAY\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        TEST(killed_with_a_file_has_all_that_was_acknowledged),
        TEST(with_a_file_knows_the_newest_learner),
        TEST(gets_samples_back_that_nobody_learned_from),
        TEST(with_a_file_counts_from_zero),
        TEST(rates_are_of_what_it_does),
        TEST(acknowledges_what_is_on_the_disk),
        TEST(syncs_as_time_goes_on_and_at_its_end),
        TEST(goes_back_to_the_turn_of_a_new_learner),
        TEST(that_went_back_and_refused_answers_what_it_held),
        TEST(in_lock_step_refuses_another_limiter),
        TEST(in_memory_refuses_lock_step),
        TEST(refuses_files_that_are_not_its_own),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(executable);
    return failed;
}
