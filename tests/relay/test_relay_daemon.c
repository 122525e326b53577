// octet-relay between an actor, a learner and its replays. argv[1] is the executable.
#include "tests/relay/relay_traffic.h"

static void
test_relay_that_is_refused_ends(void **state)
{
    fixture *f = *state;
    f->refusal = "no relays here";
    while (!f->daemon.is_exited) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->daemon.exit_status, 3);
    assert_string_equal(f->announced, f->relay);
}

// A learner cannot have it send experience, or take policies, without encryption.
static void
test_relay_goes_to_no_insecure_address_that_its_user_did_not_allow(void **state)
{
    fixture *f = *state;
    char path[128], log[4096];
    (void)snprintf(f->at[1].replay, sizeof(f->at[1].replay), "tcp://192.0.2.1:7000");
    assert_int_equal(net_test_daemon_end(&f->daemon), 1);
    (void)snprintf(path, sizeof(path), "%s/log", f->folder);
    net_test_read(path, log, sizeof(log));
    assert_non_null(strstr(log, "RELAY-ADDRESS the learner named replay=tcp://192.0.2.1:7000: "));
    assert_null(strstr(log, "RELAY-UP"));
}

// Published again and again: who subscribes when is not known.
static void
policies_publish(void *arg)
{
    fixture *f = arg;
    for (uint8_t topic = 4; topic < 6; topic++) {
        net_msg *msg = net_msg_create(WIRE_FRAME_BYTES + 20);
        wire_frame_pack(WIRE_POLICY, 0, topic, net_msg_body(msg));
        memset(net_msg_body(msg) + WIRE_FRAME_BYTES, 0xf0 | topic, 20); // no policy: nobody looks
        net_pub_send(f->pub, msg);
    }
}

static void
test_relay_publishes_the_same_bytes_to_whom_they_are_for(void **state)
{
    fixture *f = *state;
    uint8_t want[WIRE_FRAME_BYTES + 20];
    wire_frame_pack(WIRE_POLICY, 0, 5, want);
    memset(want + WIRE_FRAME_BYTES, 0xf5, 20);
    net_timer *timer = net_timer_start(f->loop, 1, 20, policies_publish, f);
    while (f->policies_got < 3) {
        net_loop_run(f->loop);
        assert_true(f->policies_got == 0 || f->policy_length == sizeof(want));
        assert_true(f->policies_got == 0 || memcmp(f->policy, want, sizeof(want)) == 0);
    }
    net_timer_stop(timer);
    double policies, bytes; // of all topics; the last may still be on their way
    do {
        policies = net_test_metric(f->metrics, "octet_relay_policies_total");
        bytes = net_test_metric(f->metrics, "octet_relay_policy_bytes_total");
    } while (policies != net_test_metric(f->metrics, "octet_relay_policies_total"));
    assert_true(policies > f->policies_got && bytes == policies * (double)sizeof(want));
}

static void
test_relay_gathers_batches_and_gives_each_its_own_acks(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    for (uint8_t i = 1; i <= 20; i++) {
        send_msg(at, batch_make(at->session, i, 100));
    }
    while (at->batches < 20 || at->relay_peer == 0) {
        net_loop_run(f->loop);
    }
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(at->seen[i], i + 1);
    }
    net_msg *want = batch_make(at->session, 20, 100);
    assert_int_equal(at->last_length, net_msg_length(want));
    assert_memory_equal(at->last, net_msg_body(want), at->last_length);
    net_msg_destroy(want);
    net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at); // any of them may be lost
    while (at->acked < 3) {
        net_loop_run(f->loop);
        assert_true(at->acked == 0 ||
                    (at->ack.session == at->session && at->ack.sequence == at->session));
    }
    net_timer_stop(timer);
}

static void
test_relay_drops_what_is_no_batch_and_goes_on(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    net_msg *msg = net_msg_create(7);
    memset(net_msg_body(msg), 0xab, 7);
    send_msg(at, msg);
    msg = batch_make(at->session, 2, 10);
    net_msg_body(msg)[3] = 'P'; // another kind
    send_msg(at, msg);
    msg = net_msg_create(WIRE_FRAME_BYTES); // a batch of nobody
    wire_frame_pack(WIRE_BATCH, 0, 3, net_msg_body(msg));
    send_msg(at, msg);
    msg = net_msg_create(WIRE_GATHERED_HEAD_BYTES + 9); // what holds frames, and is cut
    wire_gathered_pack(5, NULL, 0, net_msg_body(msg));
    memset(net_msg_body(msg) + WIRE_GATHERED_HEAD_BYTES, 0x7a, 9);
    send_msg(at, msg);
    send_msg(at, batch_make(at->session, 4, WIRE_BATCH_BYTES_MAX)); // longer than a batch may be
    send_msg(at, batch_make(at->session, 9, 10));
    while (at->batches == 0) {
        net_loop_run(f->loop);
    }
    assert_int_equal(at->batches, 1);
    assert_int_equal(at->seen[0], 9);
}

// Bytes of batches, in turn. Long ones are not gathered.
static const size_t short_ones[] = {60000, 60000}, long_ones[] = {300000, 300000},
                    both[] = {60000, 300000};

// Of a replay that is broken, or of something else that listens there.
static void
test_relay_drops_what_is_no_acks_and_goes_on(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    wire_gatherer gatherer;
    send_msg(at, batch_make(at->session, 1, 10));
    while (at->batches == 0 || at->relay_peer == 0) {
        net_loop_run(f->loop);
    }
    char url[NET_URL_MAX];
    T_OK(net_url_offset(f->relay, 2, url));
    int nobody = net_test_post_dial(url, "nobody", 6); // asks for none either
    while (net_test_metric(f->metrics, "octet_relay_bad_total") < 1) {
        net_test_turn(f->loop, 5);
    }
    (void)close(nobody);
    net_msg *msg = net_msg_create(7);
    memset(net_msg_body(msg), 0xab, 7);
    net_post_send(at->post, at->relay_peer, msg);
    wire_gatherer_init(&gatherer, 1, 4096);
    msg = batch_make(at->session, 2, 10);
    assert_true(wire_gatherer_add(&gatherer, net_msg_body(msg), net_msg_length(msg)));
    net_msg_destroy(msg);
    net_post_send(at->post, at->relay_peer, gatherer_end(&gatherer));
    net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at); // any of them may be lost
    net_test_until(f->loop, &at->acked, 1);
    net_timer_stop(timer);
    assert_true(net_test_metric(f->metrics, "octet_relay_bad_total") == 3);
}

static void
test_relay_counts_what_it_passes_on(void **state)
{
    enum { BATCHES = 20 };
    fixture *f = *state;
    shard *at = &f->at[0];
    size_t bytes = 0;
    for (uint8_t i = 1; i <= BATCHES; i++) {
        net_msg *msg = batch_make(at->session, i, i == BATCHES / 2 ? long_ones[0] : 100);
        bytes += net_msg_length(msg);
        send_msg(at, msg);
    }
    while (at->batches < BATCHES || at->relay_peer == 0) {
        net_loop_run(f->loop);
    }
    net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at); // any of them may be lost
    net_test_until(f->loop, &at->acked, 3);
    net_timer_stop(timer);
    double acks = net_test_metric(f->metrics, "octet_relay_acks_total");
    assert_true(acks >= at->acked && acks <= at->acks_sent);
    const struct {
        const char *name;
        double want;
    } numbers[] = {
        {"octet_relay_batches_total", BATCHES},
        {"octet_relay_batch_bytes_total", (double)bytes},
        {"octet_relay_messages_total", at->messages},
        {"octet_relay_message_bytes_total", at->message_bytes},
        {"octet_relay_sessions", 1},
        {"octet_relay_up", 1},
        {"octet_relay_bad_total", 0},
    };
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        double got = net_test_metric(f->metrics, numbers[i].name);
        if (got != numbers[i].want) {
            fail_msg("%s: %g, not %g", numbers[i].name, got, numbers[i].want);
        }
    }
}

// Sends from batch sent on until the line takes no more, so many in a message; gives how many were
// sent.
static uint32_t
line_fill(shard *at, uint32_t sent, uint32_t each, const size_t payload[2])
{
    uint32_t idle = 0;
    net_timer *timer = net_timer_start(at->f->loop, 20, 20, net_test_stop, at->f->loop);
    while (sent < 250 && idle < 25) {
        idle++;
        if (!at->is_busy) {
            send_msg(at, each > 1 ? gathered_batches(at->session, sent, each)
                                  : batch_make(at->session, (uint8_t)sent, payload[sent % 2]));
            sent += each;
            idle = 0;
        }
        net_loop_run(at->f->loop);
    }
    net_timer_stop(timer);
    assert_true(sent < 250); // 15 MB were not taken
    return sent;
}

// The full replay takes messages again: all that were sent arrive, in their order.
static void
line_empty(shard *at, uint32_t sent)
{
    at->is_full = false;
    net_pull_resume(at->pull);
    while (at->batches < sent) {
        net_loop_run(at->f->loop);
    }
    for (uint32_t i = 0; i < sent; i++) {
        assert_int_equal(at->seen[i], i);
    }
}

// Far more than a relay holds, at a replay that takes nothing for a while: the sender is stopped,
// and over connections that stay nothing is lost, and the order stays.
static void
test_relay_that_is_full_stops_its_senders(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    send_msg(at, batch_make(at->session, 0, 10));
    while (at->batches == 0) {
        net_loop_run(f->loop);
    }
    assert_true(net_test_metric(f->metrics, "octet_relay_stalls_total") == 0);
    at->is_full = true;
    uint32_t sent = line_fill(at, 1, 1, short_ones);
    assert_true(net_test_metric(f->metrics, "octet_relay_stalls_total") >= 1);
    line_empty(at, sent);
    assert_true(at->messages < sent); // several in one
}

// Each of them is gathered or goes alone.
static void
test_relay_passes_batches_as_long_as_what_it_gathers(void **state)
{
    enum { GATHERED = 256 << 10, AROUND = 10 };
    fixture *f = *state;
    shard *at = &f->at[0];
    net_msg *empty = batch_make(at->session, 0, 0);
    size_t head = net_msg_length(empty);
    net_msg_destroy(empty);
    for (uint8_t i = 0; i <= 2 * AROUND; i++) {
        send_msg(at, batch_make(at->session, i, GATHERED - AROUND + i - head));
    }
    while (at->batches <= 2 * AROUND) {
        net_loop_run(f->loop);
    }
    assert_int_equal(at->last_length, GATHERED + AROUND);
}

static void
test_relay_that_is_full_keeps_long_and_short_batches_in_order(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    at->is_full = true;
    line_empty(at, line_fill(at, 0, 1, both));
}

// It has room for some of the batches that a relay below it gathered: each goes on once.
static void
test_relay_that_is_full_stops_a_relay_in_the_middle_of_a_message(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    at->is_full = true;
    uint32_t sent = line_fill(at, 0, 10, short_ones);
    line_empty(at, sent);
    send_msg(at, gathered_batches(at->session, sent, 2));
    while (at->batches < sent + 2) {
        net_loop_run(f->loop);
    }
    assert_int_equal(at->seen[sent], sent);
    assert_int_equal(at->seen[sent + 1], sent + 1);
}

// Each line is of one replay: what comes by it goes there alone, and its acks come back by it.
static void
test_relay_has_a_line_to_each_replay(void **state)
{
    fixture *f = *state;
    for (uint8_t i = 0; i < 10; i++) {
        for (uint32_t k = 0; k < SHARDS; k++) {
            send_msg(&f->at[k], batch_make(f->at[k].session, (uint8_t)(10 * k + i), 100));
        }
    }
    for (uint32_t k = 0; k < SHARDS; k++) {
        shard *at = &f->at[k];
        while (at->batches < 10 || at->relay_peer == 0) {
            net_loop_run(f->loop);
        }
        for (uint32_t i = 0; i < 10; i++) { // and replay_take looked whose they are
            assert_int_equal(at->seen[i], 10 * k + i);
        }
        net_timer *timer = net_timer_start(f->loop, 1, 20, acks_send, at);
        while (at->acked < 3) {
            net_loop_run(f->loop);
            assert_true(at->acked == 0 || at->ack.session == at->session);
        }
        net_timer_stop(timer);
    }
}

static void
test_relay_lets_one_full_replay_stop_nobody_elses_actors(void **state)
{
    fixture *f = *state;
    shard *full = &f->at[0], *other = &f->at[1];
    full->is_full = true;
    uint32_t sent = line_fill(full, 0, 1, short_ones);
    for (uint32_t i = 0; i < 250; i++) { // more than any queue between
        send_msg(other, batch_make(other->session, (uint8_t)i, 60000));
    }
    while (other->batches < 250) {
        net_loop_run(f->loop);
    }
    assert_int_equal(full->batches, 0);
    line_empty(full, sent);
}

static void
learner_asked_twice(fixture *f)
{
    uint32_t before_it = f->registrations;
    while (f->registrations < before_it + 2) { // it asks again when it has taken the last answer
        net_loop_run(f->loop);
    }
}

// A learner that came back names one replay more: a relay goes by its last answer.
static void
test_relay_takes_another_replay_in_mid_run(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0], *other = &f->at[1];
    f->shards = 1;
    send_msg(at, batch_make(at->session, 1, 10));
    while (at->batches < 1 || f->registrations < 2) {
        net_loop_run(f->loop);
    }
    assert_int_equal(other->relay_peer, 0);
    f->shards = 2;
    send_msg(other, batch_make(other->session, 2, 10));
    send_msg(at, batch_make(at->session, 3, 10));
    while (other->batches < 1 || at->batches < 2) {
        net_loop_run(f->loop);
    }
    assert_int_equal(other->seen[0], 2);
    assert_int_equal(at->seen[1], 3);
    // and it moves: its line leads elsewhere, the other stays
    (void)snprintf(other->replay, sizeof(other->replay), "%s", at->replay);
    at->session = other->session; // what replay_take awaits there from now on
    learner_asked_twice(f);
    send_msg(other, batch_make(other->session, 4, 10));
    while (at->batches < 3) {
        net_loop_run(f->loop);
    }
    assert_int_equal(at->seen[2], 4);
}

// Of the run as it is now: not of one that it had before.
static void
test_relay_is_up_while_it_has_every_replay_of_the_run(void **state)
{
    fixture *f = *state;
    learner_asked_twice(f);
    while (net_test_metric(f->metrics, "octet_relay_up") != 1) {
        net_test_turn(f->loop, 5);
    }
    (void)snprintf(f->at[1].replay, sizeof(f->at[1].replay), "ipc://%s/none", f->folder);
    learner_asked_twice(f);
    assert_true(net_test_metric(f->metrics, "octet_relay_up") == 0);
    f->shards = 1;
    learner_asked_twice(f);
    assert_true(net_test_metric(f->metrics, "octet_relay_up") == 1);
}

// What comes meanwhile for a replay that is not there waits, and goes on without another's push.
static void
test_relay_keeps_what_has_nowhere_to_go(void **state)
{
    fixture *f = *state;
    shard *gone = &f->at[1];
    send_msg(gone, batch_make(gone->session, 1, 10));
    while (gone->batches < 1) {
        net_loop_run(f->loop);
    }
    f->shards = 1;
    learner_asked_twice(f);
    send_msg(gone, batch_make(gone->session, 2, 10));
    learner_asked_twice(f);
    assert_int_equal(gone->batches, 1);
    f->shards = 2;
    while (gone->batches < 2) {
        net_loop_run(f->loop);
    }
    assert_int_equal(gone->seen[1], 2);
}

// The same in the middle of a message that the replay before did not take: that one is lost, and
// the line is not.
static void
line_moves_while_it_is_full(fixture *f, const size_t payload[2])
{
    shard *at = &f->at[0], *other = &f->at[1];
    f->shards = 1;
    at->is_full = true;
    uint32_t sent = line_fill(at, 0, 1, payload);
    assert_int_equal(at->batches, 0);
    other->session = at->session; // what replay_take awaits there
    (void)snprintf(at->replay, sizeof(at->replay), "%s", other->replay);
    send_msg(at, batch_make(at->session, (uint8_t)sent, 10));
    while (other->batches == 0 || other->seen[other->batches - 1] != sent) {
        net_loop_run(f->loop);
    }
    for (uint32_t i = 1; i < other->batches; i++) {
        assert_int_equal(other->seen[i], other->seen[i - 1] + 1);
    }
}

static void
test_relay_sends_on_to_another_replay_though_the_one_before_was_full(void **state)
{
    line_moves_while_it_is_full(*state, short_ones);
}

// Of batches that are too long to be gathered, nothing waits but with NNG.
static void
test_relay_sends_long_batches_on_to_another_replay(void **state)
{
    line_moves_while_it_is_full(*state, long_ones);
}

// Nobody on another host finds a wildcard.
static void
test_relay_announces_its_host_for_a_wildcard(void **state)
{
    fixture *f = *state;
    char listen[NET_URL_MAX], named[NET_URL_MAX], host[256] = "";
    static const char *const wildcards[] = {"0.0.0.0", "*"};
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    for (size_t i = 0; i < OCT_COUNTOF(wildcards); i++) {
        net_test_daemon o;
        unsigned port = net_test_free_port();
        (void)snprintf(listen, sizeof(listen), "tcp://%s:%u", wildcards[i], port);
        (void)snprintf(named, sizeof(named), "tcp://%s:%u", host, port);
        second_start(&o, f, (const char *const[]){"--listen", listen, NULL, NULL});
        while (strcmp(f->announced, named) != 0) {
            net_loop_run(f->loop);
            assert_false(o.is_exited);
        }
        assert_int_equal(net_test_daemon_kill(&o, SIGTERM), 0);
    }
}

// A learner of an earlier release names no list.
static void
test_relay_goes_by_one_address_where_there_is_no_list(void **state)
{
    fixture *f = *state;
    shard *at = &f->at[0];
    f->shards = 0;
    send_msg(at, batch_make(at->session, 1, 10));
    while (at->batches < 1) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->at[1].relay_peer, 0);
}

int
main(int argc, char **argv)
{
    OCT_ASSERT(argc == 2);
    executable = realpath(argv[1], NULL);
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        T(test_relay_that_is_refused_ends),
        T(test_relay_goes_to_no_insecure_address_that_its_user_did_not_allow),
        T(test_relay_announces_its_host_for_a_wildcard),
        T(test_relay_drops_what_is_no_batch_and_goes_on),
        T(test_relay_drops_what_is_no_acks_and_goes_on),
        T(test_relay_counts_what_it_passes_on),
        T(test_relay_that_is_full_stops_its_senders),
        T(test_relay_passes_batches_as_long_as_what_it_gathers),
        T(test_relay_that_is_full_keeps_long_and_short_batches_in_order),
        T(test_relay_that_is_full_stops_a_relay_in_the_middle_of_a_message),
        T(test_relay_has_a_line_to_each_replay),
        T(test_relay_lets_one_full_replay_stop_nobody_elses_actors),
        T(test_relay_takes_another_replay_in_mid_run),
        T(test_relay_sends_on_to_another_replay_though_the_one_before_was_full),
        T(test_relay_sends_long_batches_on_to_another_replay),
        T(test_relay_keeps_what_has_nowhere_to_go),
        T(test_relay_is_up_while_it_has_every_replay_of_the_run),
        T(test_relay_goes_by_one_address_where_there_is_no_list),
        T(test_relay_gathers_batches_and_gives_each_its_own_acks),
        T(test_relay_publishes_the_same_bytes_to_whom_they_are_for),
    };
#undef T
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free(executable);
    return failed;
}
