// octet-actor as a process, and its learner. Every wait is for an event; a test that waits for ever
// is ended by its timeout.
#include <signal.h>
#include <stdlib.h>

#include "actor/actor_measurements.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "net/net_http.h"
#include "net/net_post.h"
#include "net/net_pub.h"
#include "net/net_pull.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"
#include "tests/actor/actor_fixture.h"
#include "tests/net/net_test.h"

#define BYTES_MAX (1u << 20)
#define SESSION   30
#define RUN       7

static char *executable;

// Where batches may go: replay, or a relay. It takes them, and acknowledges nothing.
typedef struct way {
    net_loop *loop;
    net_pull *pull;
    net_post *post;
    unsigned batches;
} way;

typedef struct fixture {
    char learner[NET_URL_MAX], policies[NET_URL_MAX], replay[NET_URL_MAX];
    net_loop *loop;
    net_test_daemon actor;
    net_rpc_server *rpc;
    wire_server *server;
    char *config;
    const char *const *relays; // that it names, one after the other, until NULL
    uint32_t named;
    const char *own; // the relay that the actor was started with; NULL: none
    bool own_lives;  // as the learner says
    unsigned registered, policies_asked;
    uint64_t newest;           // that registrations name
    char metrics[NET_URL_MAX]; // that the actor serves; "": none
    char unreached[NET_URL_MAX];
    double unacked, unacked_s; // of the last report
    unsigned reports;
    bool has_policy;
    uint8_t policy[4096];
    size_t policy_length;
} fixture;

// Each relay is named until the actor says that it has lost it.
static void
serve_register(void *arg, wire_call *call, const wire_register *request)
{
    fixture *f = arg;
    const char *relay = f->own_lives ? f->own : f->relays[f->named];
    f->registered++;
    net_loop_stop(f->loop);
    if (f->own != NULL) {
        assert_false(request->relay_lost); // it is not known to be
    }
    if (request->relay_lost) {
        assert_non_null(relay);
        assert_string_equal(request->relay_address, relay);
        assert_int_equal(request->session, SESSION); // it takes no second place
        relay = f->relays[++f->named];
    }
    wire_reply_register_actor(call, &(wire_registered){
                                        .accepted = true,
                                        .reason = "",
                                        .run_id = RUN,
                                        .actor_id = request->has_env ? 1 : 0,
                                        .session = request->has_env ? SESSION : 0,
                                        .config = f->config,
                                        .names_newest = request->knows_newest,
                                        .newest_version = f->newest,
                                        .is_relayed = request->has_env && relay != NULL,
                                        .policy_address = relay != NULL ? relay : f->policies,
                                        .replay_address = relay != NULL ? relay : f->replay,
                                    });
}

static void
serve_get_policy(void *arg, wire_call *call, const wire_get_policy *request)
{
    fixture *f = arg;
    assert_int_equal(request->actor_id, 1);
    f->policies_asked++;
    wire_reply_get_policy(call, &(wire_got_policy){.has_policy = f->has_policy,
                                                   .policy = {.run_id = RUN,
                                                              .version = 1,
                                                              .bytes = f->policy,
                                                              .length = f->policy_length}});
    net_loop_stop(f->loop);
}

// Every number that a report is to have is in it, and is known; no supervisor counts restarts here.
static void
report_is_whole(const wire_report *report)
{
    static const actor_measurements none;
    oct_numbers *numbers = oct_numbers_create("actor.");
    const char *names[WIRE_STATS_MAX];
    actor_measurements_add(numbers, &none);
    uint32_t count = oct_numbers_list(numbers, OCT_SHOWN_REPORT, names, NULL, WIRE_STATS_MAX);
    assert_int_equal(report->stat_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(report->stat_name[i], names[i]);
        if (!isfinite(report->stat_value[i]) && strcmp(names[i], "restarts") != 0) {
            fail_msg("%s is not known", names[i]);
        }
    }
    oct_numbers_destroy(numbers);
}

static void
serve_report(void *arg, wire_call *call, const wire_report *report)
{
    static const wire_empty empty;
    fixture *f = arg;
    for (uint32_t i = 0; i < report->stat_count; i++) {
        f->unacked =
            strcmp(report->stat_name[i], "unacked") == 0 ? report->stat_value[i] : f->unacked;
        f->unacked_s =
            strcmp(report->stat_name[i], "unacked_s") == 0 ? report->stat_value[i] : f->unacked_s;
    }
    (void)snprintf(f->unreached, sizeof(f->unreached), "%s", report->unreached);
    if (!report->leaves) {
        report_is_whole(report);
    }
    f->reports++;
    wire_reply_report_episodes(call, &empty);
    net_loop_stop(f->loop);
}

static const wire_learner_handlers handlers = {
    .register_actor = serve_register,
    .get_policy = serve_get_policy,
    .report_episodes = serve_report,
};

static void
request_arrived(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    fixture *f = arg;
    T_OK(wire_server_handle(f->server, call, role, frame, length));
}

static int
fixture_open(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    config_experiment config;
    char reason[256];
    *state = f;
    config_default(&config);
    T_OK(config_set(&config, "env.id=CartPole-v1", reason, sizeof(reason)));
    f->config = config_print_for_peers(&config);
    (void)snprintf(f->learner, sizeof(f->learner), "%s", net_test_url("ipc"));
    (void)snprintf(f->policies, sizeof(f->policies), "%s", net_test_url("ipc"));
    (void)snprintf(f->replay, sizeof(f->replay), "%s", net_test_url("ipc"));
    f->loop = net_loop_create();
    f->server = wire_server_create_learner(&handlers, f, &net_rpc_responder, BYTES_MAX);
    T_OK(net_rpc_server_open(&f->rpc, f->loop,
                             &(net_endpoint){f->learner, OCT_ROLES_ANY, BYTES_MAX, 4},
                             request_arrived, f));
    return 0;
}

static int
fixture_close(void **state)
{
    fixture *f = *state;
    (void)net_test_daemon_kill(&f->actor, SIGTERM);
    net_rpc_server_close(f->rpc);
    wire_server_destroy(f->server);
    net_loop_destroy(f->loop);
    free(f->config);
    free(f);
    return 0;
}

static void
actor_start(fixture *f)
{
    const char *argv[6] = {"octet-actor", "--learner", f->learner};
    if (f->own != NULL || f->metrics[0] != '\0') {
        argv[3] = f->own != NULL ? "--relay" : "--metrics";
        argv[4] = f->own != NULL ? f->own : f->metrics;
    }
    net_process_spec spec = {.file = executable,
                             .argv = argv,
                             .folder = net_test_folder(),
                             .log_path = net_test_path("log")};
    net_test_daemon_start(&f->actor, f->loop, &spec);
}

// Relays are less trusted than the learner: what one says of itself ends no actor.
static void
test_actor_asks_again_where_a_relay_has_no_address(void **state)
{
    fixture *f = *state;
    static const char *const relays[] = {"xyz", "file:///etc/passwd", "tls+tcp://host:5570", NULL};
    f->relays = relays;
    actor_start(f);
    while (f->policies_asked == 0 && !f->actor.is_exited) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->named, OCT_COUNTOF(relays) - 1);
    assert_false(f->actor.is_exited);
}

// ---- a relay that hangs

static oct_err
way_take(void *arg, net_msg *msg)
{
    way *w = arg;
    w->batches++;
    net_msg_destroy(msg);
    net_loop_stop(w->loop);
    return OCT_OK;
}

static void
way_asked(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    (void)arg;
    (void)peer;
    (void)role;
    (void)name;
    (void)length;
}

static void
way_open(way *w, net_loop *loop, const char *base)
{
    char url[NET_URL_MAX];
    *w = (way){.loop = loop};
    T_OK(net_url_offset(base, 2, url));
    T_OK(net_post_open(&w->post, loop,
                       &(net_endpoint){url, OCT_ROLES_ANY, WIRE_ACK_REQUEST_BYTES_MAX, 16},
                       way_asked, w));
    T_OK(net_url_offset(base, 1, url));
    T_OK(net_pull_open(&w->pull, loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 0}, way_take,
                       w));
}

static void
way_close(way *w)
{
    net_pull_close(w->pull);
    net_post_close(w->post);
}

// A policy for CartPole.
static void
policy_make(fixture *f)
{
    const uint32_t widths[] = {4, 8, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    image->origin.version = 1;
    image->origin.run_id = RUN;
    f->policy_length = policy_encoded_size(image);
    assert_true(f->policy_length <= sizeof(f->policy));
    policy_encode(image, f->policy);
    policy_image_destroy(image);
    f->has_policy = true;
}

// What was signed once may be sent again by somebody between the learner and the actor.
static void
test_actor_refuses_a_policy_older_than_its_registration_names(void **state)
{
    fixture *f = *state;
    static const char *const none[] = {NULL};
    uint8_t *log;
    size_t length;
    f->relays = none;
    f->newest = 2;
    policy_make(f);
    actor_start(f);
    while (f->policies_asked < 3 && !f->actor.is_exited) {
        net_loop_run(f->loop);
    }
    assert_false(f->actor.is_exited);
    assert_int_equal(f->reports, 0); // it does not act
    T_OK(oct_file_read(net_test_path("log"), 1 << 20, &log, &length));
    assert_non_null(strstr((const char *)log, "W ACTOR-BAD-POLICY version=1 is older than version "
                                              "2, which the learner's registration names"));
    free(log);
}

// The connection stays and nothing comes back. While the learner says that the relay lives, the
// actor stays there; when it names another way, the actor goes, although it was told the relay by
// hand.
static void
test_actor_leaves_its_own_relay_when_it_hangs(void **state)
{
    fixture *f = *state;
    static const char *const none[] = {NULL};
    static char own[NET_URL_MAX];
    way relay, replay;
    (void)snprintf(own, sizeof(own), "%s", net_test_url("ipc"));
    f->relays = none;
    f->own = own;
    f->own_lives = true;
    policy_make(f);
    way_open(&relay, f->loop, own);
    way_open(&replay, f->loop, f->replay);
    actor_start(f);
    net_test_until(f->loop, &f->registered, 3); // twice to begin; then it is asked what is wrong
    unsigned before = relay.batches;
    assert_true(before > 0);
    net_test_until(f->loop, &relay.batches, before + 1); // it goes on there
    assert_int_equal(replay.batches, 0);
    f->own_lives = false;
    net_test_until(f->loop, &replay.batches, 1);
    assert_false(f->actor.is_exited);
    (void)net_test_daemon_kill(&f->actor, SIGTERM);
    way_close(&relay);
    way_close(&replay);
}

// ---- replay that cannot be reached

static void
unreached_is(fixture *f, unsigned port)
{
    char url[NET_URL_MAX];
    T_OK(net_url_offset(f->replay, port, url));
    while (strcmp(f->unreached, url) != 0) {
        net_test_until(f->loop, &f->reports, f->reports + 1);
        assert_false(f->actor.is_exited);
    }
    assert_true(f->unacked_s >= 10 && f->unacked == 2);
    char body[512] = "";
    oct_reason why;
    char want[NET_URL_MAX + 64];
    int status = 0;
    T_OK(net_http_get(f->metrics, "/healthz", 3000, &status, body, sizeof(body), &why));
    assert_int_equal(status, 503);
    (void)snprintf(want, sizeof(want), " s: cannot reach %s\n", url);
    assert_memory_equal(body, "2 unacknowledged batches for 1", 30);
    assert_non_null(strstr(body, want));
}

// The learner answers, so that nothing else tells why no batch arrives: first there is no
// connection for batches, then none for acknowledgements.
static void
test_actor_names_the_address_of_replay_that_it_cannot_reach(void **state)
{
    fixture *f = *state;
    static const char *const none[] = {NULL};
    char url[NET_URL_MAX];
    way replay = {.loop = f->loop};
    (void)snprintf(f->metrics, sizeof(f->metrics), "http%s", net_test_url("tcp") + strlen("tcp"));
    f->relays = none;
    policy_make(f);
    actor_start(f);
    unreached_is(f, 1);
    T_OK(net_url_offset(f->replay, 1, url));
    T_OK(net_pull_open(&replay.pull, f->loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, 0},
                       way_take, &replay));
    unreached_is(f, 2);
    net_pull_close(replay.pull);
}

int
main(int argc, char **argv)
{
    OCT_ASSERT(argc == 2);
    executable = realpath(argv[1], NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_actor_asks_again_where_a_relay_has_no_address,
                                        fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_actor_leaves_its_own_relay_when_it_hangs, fixture_open,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(
            test_actor_refuses_a_policy_older_than_its_registration_names, fixture_open,
            fixture_close),
        cmocka_unit_test_setup_teardown(test_actor_names_the_address_of_replay_that_it_cannot_reach,
                                        fixture_open, fixture_close),
    };
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free(executable);
    return failed;
}
