// What becomes of samples whose answers are late or lost. A part of the test is replay. Every wait
// is for an event; a test that waits for ever is ended by its timeout.
#include "learner/learner_link_io.h"

#include "net/net_rpc.h"
#include "proto/wire_rpc.h"
#include "tests/net/net_test.h"

#define FOLDER "test_learner_link_io.run"
#include "tests/learner/run_fixture.h"

enum { HELD_MAX = 32, TURN_MS = 5, PER_SAMPLE = 2, WINDOWS = PER_SAMPLE * FIXTURE_B };
// With so many, the time of all their answers over the slowest line is minutes.
#define MANY_LINKS 100000
#define SAID_BYTES 4096

// A learner and a replay that gives out each window once, and answers when the test says so.
typedef struct rig {
    net_loop *loop;
    char url[256];
    net_rpc_server *rpc;
    wire_server *server;
    bool has_table;
    bool hangs;
    unsigned configures, samples, looks; // requests; looks: for counters alone
    wire_call *held[HELD_MAX];           // of samples
    uint64_t given;                      // windows
    learner_run *run;
    learner_link_io *link;
} rig;

// ---- replay

static void
serve_configure(void *arg, wire_call *call, const wire_configure *request)
{
    rig *r = arg;
    r->has_table = !request->release;
    r->configures++;
    wire_reply_configure(call,
                         &(wire_configured){.incarnation = 9, .table = 77, .samples = r->given});
    net_loop_stop(r->loop);
}

static void
answer(rig *r, wire_call *call, uint32_t windows)
{
    wire_sampled sampled = fixture_sampled(&rows, windows, &rng);
    sampled.configured = r->has_table;
    sampled.samples = r->given;
    wire_reply_sample(call, &sampled);
}

static void
serve_sample(void *arg, wire_call *call, const wire_sample *request)
{
    rig *r = arg;
    net_loop_stop(r->loop);
    if (request->batches == 0) {
        r->looks++;
        if (!r->hangs) {
            answer(r, call, 0);
        }
        return;
    }
    if (!r->has_table) {
        answer(r, call, 0);
        return;
    }
    assert_true(r->samples < HELD_MAX);
    r->held[r->samples++] = call;
    r->given += request->batches * request->batch_size;
}

static const wire_replay_handlers handlers = {
    .configure = serve_configure,
    .sample = serve_sample,
};

static void
request_arrived(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    rig *r = arg;
    T_OK(wire_server_handle(r->server, call, role, frame, length));
}

static void
replay_begin(rig *r)
{
    r->has_table = false;
    r->server = wire_server_create_replay(&handlers, r, &net_rpc_responder, 1u << 20);
    T_OK(net_rpc_server_open(&r->rpc, r->loop,
                             &(net_endpoint){r->url, OCT_ROLES_ANY, 1u << 20, HELD_MAX},
                             request_arrived, r));
}

// With what it holds.
static void
replay_end(rig *r)
{
    net_rpc_server_close(r->rpc);
    wire_server_destroy(r->server);
}

// ---- the learner

static void
ended(void *arg, oct_err err, const char *how)
{
    (void)arg;
    (void)err;
    fail_msg("%s", how);
}

static void
counted(void *arg)
{
    (void)arg;
}

static void
limited(void *arg, uint32_t member)
{
    (void)arg;
    (void)member;
}

// Until it has asked for as many samples as it may.
static void
rig_open(rig *r, const char *scheme, uint32_t links)
{
    *r = (rig){.loop = net_loop_create()};
    (void)snprintf(r->url, sizeof(r->url), "%s", net_test_url(scheme));
    config.replay.sampler = CONFIG_SAMPLER_FIFO;
    replay_begin(r);
    r->run = run_joined(false);
    const learner_link_io_options options = {
        .loop = r->loop,
        .run = r->run,
        .member = 0,
        .url = r->url,
        .links = links,
        .ended = ended,
        .counted = counted,
        .limited = limited,
    };
    T_OK(learner_link_io_open(&r->link, &options));
    learner_link_io_tick(r->link);
    net_test_until(r->loop, &r->samples, 2);
    assert_int_equal(r->configures, 1);
}

static void
rig_close(rig *r)
{
    learner_run_finish(r->run, "interrupted", false);
    learner_link_io_close(r->link);
    replay_end(r);
    learner_run_destroy(r->run);
    net_loop_destroy(r->loop);
}

static learner_source *
source_of(const rig *r)
{
    return learner_run_source(r->run, 0);
}

// As the daemon does every 20 ms.
static void
rig_turn(rig *r)
{
    learner_run_collect(r->run);
    learner_link_io_woke(r->link);
    learner_link_io_tick(r->link);
    net_test_turn(r->loop, TURN_MS);
}

static void
rig_until_learned(rig *r, double updates)
{
    while (status_of(r->run, "learner.updates") < updates) {
        rig_turn(r);
    }
    rig_turn(r);
    assert_true(status_of(r->run, "learner.updates") == updates);
}

static uint64_t
missed_of(const rig *r)
{
    return learner_source_count(source_of(r)).missed;
}

// Until the learner says that replay is lost, and asks for nothing more meanwhile; gives what it
// said.
static const char *
rig_until_lost(rig *r)
{
    static char said[SAID_BYTES];
    const char *path = net_test_path("said");
    int saved = net_test_stderr_to(path);
    while (!learner_source_is_lost(source_of(r))) {
        rig_turn(r);
    }
    net_test_stderr_back(saved);
    net_test_read(path, said, sizeof(said));
    assert_non_null(strstr(said, " W LEARNER-REPLAY-LOST "));
    return said;
}

// ---- the tests

// A repetition would take the next windows of a table that gives out each once. Those of an answer
// that was given up are lost, which is counted; those of the next requests are learned from.
static void
test_a_sample_is_asked_for_once_and_given_up_at_its_deadline(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, "inproc", 1);
    assert_non_null(strstr(rig_until_lost(&r), "timed out"));
    assert_int_equal(r.samples, 2);
    assert_true(r.looks >= 1);
    while (r.samples < 4) {
        rig_turn(&r);
    }
    for (uint32_t i = 0; i < 4; i++) { // two of them too late
        answer(&r, r.held[i], WINDOWS);
    }
    r.hangs = true; // what is given out from now on is not told
    rig_until_learned(&r, 2 * PER_SAMPLE);
    assert_int_equal(missed_of(&r), 2 * WINDOWS);
    rig_close(&r);
}

// Large answers may take their time, but whether replay is there is known in that of a small one.
static void
test_a_replay_that_hangs_is_noticed_before_its_answers_are_given_up(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, "inproc", MANY_LINKS);
    r.hangs = true;
    assert_non_null(strstr(rig_until_lost(&r), "timed out"));
    assert_int_equal(r.samples, 2);
    r.hangs = false;
    for (uint32_t i = 0; i < 2; i++) {
        answer(&r, r.held[i], WINDOWS);
    }
    rig_until_learned(&r, 2 * PER_SAMPLE);
    assert_false(learner_source_is_lost(source_of(&r)));
    rig_close(&r);
}

static void
replay_that_is_started_again(const char *scheme)
{
    rig r;
    rig_open(&r, scheme, MANY_LINKS);
    replay_end(&r);
    assert_non_null(strstr(rig_until_lost(&r), "the connection was lost"));
    replay_begin(&r);
    while (r.samples < 4) {
        rig_turn(&r);
    }
    assert_int_equal(r.configures, 2);
    for (uint32_t i = 2; i < 4; i++) {
        answer(&r, r.held[i], WINDOWS);
    }
    r.hangs = true;
    rig_until_learned(&r, 2 * PER_SAMPLE);
    assert_int_equal(missed_of(&r), 2 * WINDOWS);
    rig_close(&r);
}

static void
test_a_replay_that_is_started_again_is_asked_at_once(void **state)
{
    (void)state;
    replay_that_is_started_again("ipc");
}

static void
test_a_replay_that_is_started_again_is_asked_at_once_over_tcp(void **state)
{
    (void)state;
    replay_that_is_started_again("tcp");
}

// Of a replay that was started again both samples say that it has no table, one of them after it
// was configured: that one says nothing of now.
static void
test_a_replay_is_configured_once(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, "inproc", MANY_LINKS);
    r.has_table = false;
    answer(&r, r.held[0], 0);
    while (r.samples < 3) {
        rig_turn(&r);
    }
    assert_int_equal(r.configures, 2);
    r.has_table = false;
    answer(&r, r.held[1], 0);
    r.has_table = true;
    while (r.samples < 4) {
        rig_turn(&r);
    }
    assert_int_equal(r.configures, 2);
    rig_close(&r);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_sample_is_asked_for_once_and_given_up_at_its_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_a_replay_that_hangs_is_noticed_before_its_answers_are_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_replay_that_is_started_again_is_asked_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_a_replay_that_is_started_again_is_asked_at_once_over_tcp, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_replay_is_configured_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
}
