// How learner, replay, actors and peers are shown as text, and a run as JSON.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cli/status/cli_view.h"
#include "tests/support/oct_test.h"

#define WIDTH 80 // of the terminal

static cli_snapshot remote;
static cli_block block;
static char text[CLI_VIEW_LINES_MAX * CLI_TEXT_LINE_BYTES_MAX]; // of the block

static void
status_take(cli_daemon_state *daemon, const char *state, const char *name, double value)
{
    const wire_status status = {
        .state = state, .stat_count = 1, .stat_name = &name, .stat_value = &value};
    cli_snapshot_take_status(daemon, &status);
}

static void
peer_add(wire_role role, const char *host, double steps_per_s, double lag, bool is_silent)
{
    cli_peer *peer = &remote.peer[remote.peer_count++];
    *peer = (cli_peer){.id = (uint32_t)(0xa0000000u + remote.peer_count),
                       .role = role,
                       .pid = 4711,
                       .is_silent = is_silent,
                       .health = is_silent ? WIRE_PEER_SILENT : WIRE_PEER_LIVE,
                       .heard_s = is_silent ? 42 : 0.5,
                       .steps_per_s = steps_per_s,
                       .lag_versions = lag,
                       .lag_updates = lag * 200,
                       .wait_share = 0.25,
                       .unacked = 2};
    (void)snprintf(peer->host, sizeof(peer->host), "%s", host);
    remote.silent += is_silent;
    remote.actors += !is_silent && role == WIRE_ROLE_ACTOR;
    remote.evaluators += !is_silent && role == WIRE_ROLE_EVALUATOR;
}

static int
setup(void **state)
{
    (void)state;
    cli_snapshot_clear(&remote);
    remote.run_id = 0x12;
    remote.has_peers = true;
    remote.env_steps_per_s = 4000;
    remote.lag_mean = 1;
    (void)snprintf(remote.env, sizeof(remote.env), "CartPole-v1");
    (void)snprintf(remote.learner.url, sizeof(remote.learner.url), "tls+tcp://learner.lab:5555");
    (void)snprintf(remote.replay.url, sizeof(remote.replay.url), "tls+tcp://replay.lab:5560");
    status_take(&remote.learner, "training", "learner.updates_per_s", 5200);
    status_take(&remote.replay, "serving", "replay.insert_rate", 1300);
    peer_add(WIRE_ROLE_ACTOR, "gone.lab", 0, NAN, true);
    peer_add(WIRE_ROLE_EVALUATOR, "evaluator.lab", NAN, NAN, false);
    peer_add(WIRE_ROLE_ACTOR, "slow.lab", 300, 1, false);
    peer_add(WIRE_ROLE_ACTOR, "behind.lab", 3700, 12, false);
    return 0;
}

// Fills text; returns its lines.
static size_t
draw(void)
{
    const cli_view_style style = {.width = WIDTH};
    cli_view_block(&block, &remote, &style);
    text[0] = '\0';
    for (size_t i = 0, used = 0; i < block.count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n", block.line[i].bytes);
    }
    return block.count;
}

static void
has(const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in\n%s", part, text);
    }
}

// Cells of the longest line, each character one; control characters fail.
static size_t
widest(void)
{
    size_t cells = 0, most = 0;
    for (const char *c = text; *c != '\0'; c++) {
        assert_true((unsigned char)*c >= ' ' || *c == '\n');
        cells = *c == '\n' ? 0 : cells + (((unsigned char)*c & 0xc0) != 0x80);
        most = OCT_MAX(most, cells);
    }
    return most;
}

static void
test_staleness_is_shown_where_learners_wait_for_nobody(void **state)
{
    (void)state;
    (void)cli_snapshot_update(&remote, 12);
    (void)draw();
    assert_null(strstr(text, "staleness"));
    status_take(&remote.learner, "training", "learner.staleness", 0.875);
    (void)cli_snapshot_update(&remote, 12);
    (void)draw();
    has("staleness 0.88");
}

static void
test_text_names_daemons_and_those_in_trouble(void **state)
{
    (void)state;
    (void)cli_snapshot_update(&remote, 12);
    (void)draw();
    has("run        0000000000000012 · CartPole-v1 · training · 12.0 s\n");
    has("learner    tls+tcp://learner.lab:5555\n           5.2 k updates/s");
    has("replay     tls+tcp://replay.lab:5560\n           - of - rows · 1.3 k inserts/s · - "
        "samples/s\n"
        "           - samples per insert · held back: inserts -, samples -\n");
    has("actors     2 · 4.0 k env steps/s · lag 1.00");
    has("  slowest  slow.lab/4711 a0000003: 300 env steps/s, the mean is 2.0 k\n");
    has("  most lag behind.lab/4711 a0000004: 12 versions, 2.4 k updates\n");
    has("  silent   gone.lab/4711 a0000001: no report for 42.0 s\n");
    has("waiting    nobody waits for long");
    has("\nactor      behind.lab/4711           500 ms   3.7 k     12   2.4 k  25 %      2\n");
}

static void
test_whom_the_learner_refused_is_told_with_the_reason(void **state)
{
    (void)state;
    (void)draw();
    assert_null(strstr(text, "refused"));
    const wire_status status = {.state = "training", .refused = "host-3/7: this run trains on X"};
    cli_snapshot_take_status(&remote.learner, &status);
    (void)draw();
    has("  refused  host-3/7: this run trains on X\n");
    char *line = cli_snapshot_json(&remote);
    json_t *root = json_loads(line, 0, NULL);
    const char *refused = NULL;
    assert_int_equal(json_unpack(root, "{s:{s:s}}", "learner", "refused", &refused), 0);
    assert_string_equal(refused, status.refused);
    json_decref(root);
    free(line);
    cli_snapshot_miss_status(&remote.learner, "no answer");
    (void)draw();
    assert_null(strstr(text, "refused"));
}

static void
certificate_put(size_t peer, const char *name, uint32_t id, uint32_t places)
{
    (void)snprintf(remote.peer[peer].certificate, sizeof(remote.peer[peer].certificate), "%s",
                   name);
    remote.peer[peer].certificate_id = id;
    remote.peer[peer].places = places;
}

// Actors that share one are listed together; one of the same name that was renewed is another.
static void
test_text_says_who_has_which_certificate(void **state)
{
    (void)state;
    (void)draw();
    assert_null(strstr(text, "cert"));
    remote.places_max = 1024;
    certificate_put(0, "actors", 1, 12);
    certificate_put(1, "evaluator", 2, 1);
    certificate_put(2, "actors", 3, 300);
    certificate_put(3, "actors", 1, 12);
    (void)draw();
    has("cert       actors, 12 of 1024 slots: gone.lab/4711 behind.lab/4711\n"
        "cert       evaluator, 1 of 1024 slots: evaluator.lab/4711\n"
        "cert       actors, 300 of 1024 slots: slow.lab/4711\n");
    remote.places_max = 0;
    (void)draw();
    has("cert       evaluator, 1 slot: evaluator.lab/4711\n");
    char *line = cli_snapshot_json(&remote);
    json_t *root = json_loads(line, 0, NULL);
    const char *name = NULL, *id = NULL;
    int places = -1, most = -1;
    assert_int_equal(json_unpack(root, "{s:{s:i, s:[{}, {s:s, s:s, s:i}]}}", "peers", "places_max",
                                 &most, "list", "certificate", &name, "certificate_id", &id,
                                 "places", &places),
                     0);
    assert_string_equal(name, "evaluator");
    assert_string_equal(id, "00000002");
    assert_true(places == 1 && most == 0);
    json_decref(root);
    free(line);
}

static void
relay_add(const char *host, const char *address, const char *above, uint32_t actors, bool is_silent)
{
    cli_relay *relay = &remote.relay[remote.relay_count++];
    *relay = (cli_relay){
        .pid = 12, .actors = actors, .sessions = actors, .is_silent = is_silent, .heard_s = 12};
    (void)snprintf(relay->host, sizeof(relay->host), "%s", host);
    (void)snprintf(relay->address, sizeof(relay->address), "%s", address);
    (void)snprintf(relay->above, sizeof(relay->above), "%s", above);
}

static void
test_text_tells_of_relays_where_there_are_some(void **state)
{
    (void)state;
    (void)draw();
    assert_null(strstr(text, "relay"));
    relay_add("top.lab", "", "", 0, false);
    relay_add("rack1.lab", "tcp://rack1.lab:5570", "tcp://top.lab:5570", 1, false);
    relay_add("rack2.lab", "tcp://rack2.lab:5570", "tcp://rack1.lab:5570", 0, true);
    remote.peer[2].relay = 2;
    (void)draw();
    has("relays     2 · 1 of 2 actors connect through relays\n"
        "  silent   rack2.lab/12 · no report for 12.0 s · through rack1.lab/12\n"
        "  relay    top.lab/12 · serves other relays only\n"
        "           rack1.lab/12 · 1 actor · through tcp://top.lab:5570\n");
    char *line = cli_snapshot_json(&remote);
    json_t *root = json_loads(line, 0, NULL), *list = json_object_get(root, "peers");
    const char *host = NULL, *address = NULL, *above = NULL, *through = NULL;
    int actors = -1, sessions = -1, silent = -1;
    assert_int_equal(json_unpack(list, "{s:[{},{s:s, s:s, s:s, s:i, s:i, s:b, s:i}]}", "relays",
                                 "host", &host, "address", &address, "above", &above, "actors",
                                 &actors, "sessions", &sessions, "silent", &silent, "pid",
                                 &(int){0}),
                     0);
    assert_string_equal(host, "rack1.lab");
    assert_string_equal(address, "tcp://rack1.lab:5570");
    assert_string_equal(above, "tcp://top.lab:5570");
    assert_true(actors == 1 && sessions == 1 && silent == 0);
    assert_int_equal(json_unpack(list, "{s:[{}, {}, {s:s}]}", "list", "relay", &through), 0);
    assert_string_equal(through, address);
    json_decref(root);
    free(line);
    while (remote.relay_count < WIRE_RELAYS_MAX) {
        relay_add("rack", "tcp://rack", "", 1, remote.relay_count % 2 == 0);
    }
    assert_in_range(draw(), 20, 40);
    has("           … 248 more\n");
}

static void
test_text_fits_the_terminal_whatever_is_told(void **state)
{
    (void)state;
    memset(remote.env, 'e', 300);
    memset(remote.learner.url + 10, 'l', 400);
    memset(remote.replay.state, 'r', 400);
    remote.replay.state[200] = ' ';
    memset(remote.peer[2].host, 'h', 250);
    memset(remote.peer[3].host, '\x1b', 250); // a host that plays with the terminal
    remote.peer[3].steps_per_s = 1e18;
    remote.peer[3].unacked = 1e18;
    certificate_put(1, "\x1b[2J", UINT32_MAX, UINT32_MAX);
    memset(remote.peer[2].certificate, 'c', OCT_HOLDER_NAME_MAX);
    remote.places_max = UINT32_MAX;
    relay_add("\x1b[2J", "\x1b[2J", "\x1b[2J", UINT32_MAX, true);
    memset(remote.relay[0].above, 'a', WIRE_NAME_MAX);
    memset(remote.relay[0].host, 'h', WIRE_NAME_MAX);
    (void)draw();
    assert_in_range(widest(), 60, WIDTH - 1);
}

static void
test_text_of_a_crowd_is_bounded(void **state)
{
    (void)state;
    while (remote.peer_count < WIRE_PEERS_MAX) {
        peer_add(WIRE_ROLE_ACTOR, "host", 1000, 0, remote.peer_count % 2 == 0);
    }
    remote.actors += 3000;
    assert_in_range(draw(), 20, 40);
    has("… 4012 more\n");
    has("           508 more\n"); // silent ones
}

static void
test_text_says_why_somebody_was_not_heard(void **state)
{
    (void)state;
    cli_snapshot_miss_status(&remote.replay, "connection refused");
    cli_snapshot_miss_peers(&remote, "the learner has no method 1.6");
    (void)draw();
    has("replay     tls+tcp://replay.lab:5560\n           connection refused\n");
    has("actors     the learner has no method 1.6\n");
    has("waiting    replay does not answer from here (connection refused)");
    assert_null(strstr(text, "nan"));
    cli_snapshot_miss_status(&remote.learner, "certificate has expired");
    (void)draw();
    has("run        0000000000000012 · CartPole-v1 · not known · ");
    has("           certificate has expired\n");
}

// Beside the other one there may be the replay of a data set.
static void
test_a_second_replay_is_shown_where_there_is_one(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        if (is_there) {
            (void)snprintf(remote.data.url, sizeof(remote.data.url), "tls+tcp://data.lab:5570");
            status_take(&remote.data, "serving", "replay.rows", 98000);
        }
        (void)draw();
        assert_int_equal(strstr(text, "data       tls+tcp://data.lab:5570\n") != NULL, is_there);
        assert_int_equal(strstr(text, "           98.0 k rows · - samples/s\n") != NULL, is_there);
        char *line = cli_snapshot_json(&remote);
        json_t *root = json_loads(line, 0, NULL);
        double rows = -1;
        json_t *data = json_object_get(root, "data");
        assert_int_equal(json_is_object(data), is_there);
        (void)json_unpack(data, "{s:{s:F}}", "numbers", "replay.rows", &rows);
        assert_true(rows == (is_there ? 98000 : -1));
        json_decref(root);
        free(line);
    }
}

static void
test_json_has_every_number_and_null_for_none(void **state)
{
    (void)state;
    remote.peer[1].host[0] = '\xff'; // never from a learner of ours
    char *line = cli_snapshot_json(&remote);
    assert_null(strchr(line, '\n'));
    json_error_t error;
    json_t *root = json_loads(line, 0, &error);
    assert_non_null(root);
    double updates = -1, lag = -1, steps = -1;
    int silent = -1;
    const char *who = NULL, *id = NULL, *host = NULL;
    assert_int_equal(json_unpack(root,
                                 "{s:{s:{s:F}}, s:{s:F, s:[{s:s, s:b}, {s:s}, {s:F}]}, s:{s:s}}",
                                 "learner", "numbers", "learner.updates_per_s", &updates, "peers",
                                 "lag_mean", &lag, "list", "id", &id, "silent", &silent, "host",
                                 &host, "steps_per_s", &steps, "waiting", "who", &who),
                     0);
    assert_true(updates == 5200 && lag == 1 && steps == 300);
    assert_string_equal(id, "a0000001");
    assert_string_equal(host, "(not UTF-8)");
    assert_string_equal(who, "nobody");
    assert_int_equal(silent, 1);
    const json_t *evaluator =
        json_array_get(json_object_get(json_object_get(root, "peers"), "list"), 1);
    assert_true(json_is_null(json_object_get(evaluator, "steps_per_s")));
    json_decref(root);
    free(line);
}

// Names that are longer than a place has room for are of another release, and passed over.
static void
test_status_numbers_are_found_by_name(void **state)
{
    (void)state;
    char name[CLI_SNAPSHOT_NAME_MAX + 1];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    status_take(&remote.learner, "training", name, 1);
    assert_int_equal(remote.learner.count, 0);
    status_take(&remote.learner, "training", "learner.updates", 7);
    assert_true(cli_snapshot_number(&remote, "learner.updates") == 7);
    assert_true(isnan(cli_snapshot_number(&remote, "learner.updates_per_s")));
    cli_snapshot_miss_status(&remote.learner, "gone");
    assert_true(isnan(cli_snapshot_number(&remote, "learner.updates")));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_staleness_is_shown_where_learners_wait_for_nobody),
        TEST(test_text_names_daemons_and_those_in_trouble),
        TEST(test_whom_the_learner_refused_is_told_with_the_reason),
        TEST(test_text_says_who_has_which_certificate),
        TEST(test_text_tells_of_relays_where_there_are_some),
        TEST(test_text_fits_the_terminal_whatever_is_told),
        TEST(test_text_of_a_crowd_is_bounded),
        TEST(test_text_says_why_somebody_was_not_heard),
        TEST(test_a_second_replay_is_shown_where_there_is_one),
        TEST(test_json_has_every_number_and_null_for_none),
        TEST(test_status_numbers_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
