// Plays octet-replay, octet-learner or octet-actor for the tests of the supervisor, by the name it
// is called by. FAKE_REPLAY, FAKE_LEARNER and FAKE_ACTOR say how it behaves:
//   (unset)  serves until it is told to stop
//   crash    ends with code 5 at once
//   crash-0  the same for the actor of index 0 alone
//   once     ends with code 5 unless it was called with --resume
//   refuse   says why and ends with code 3
//   abort    ends by SIGABRT at once
//   finish   learner: ends with code 0 after a few status calls
//   reject   replay: has rejected batches
//   table    replay: has made the file of its table
//   idle     learner: serves and has learned nothing
//   deaf     hears neither SIGTERM nor Stop
//   large    learner: writes a large checkpoint at its end
// FAKE_PEERS: so many actors are registered with the learner, of which the last is silent, and
// FAKE_PEERS_MAX: a request for more is refused, as other releases do. FAKE_UPDATES: the learner
// has made so many.

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_failure.h"
#include "common/oct_file.h"
#include "common/oct_pulse.h"
#include "learner/learner_checkpoints.h"
#include "net/net_loop.h"
#include "net/net_process.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

#define CONTEXTS         4
#define BYTES_MAX        (1u << 20)
#define FINISH_CALL      4
#define LARGE_BYTES      (28u << 20)
#define CONFIG_BYTES_MAX (1u << 20)

typedef struct fake {
    net_loop *loop;
    wire_server *server;
    const char *how;
    double calls;
} fake;

static bool
is(const fake *f, const char *how)
{
    return strcmp(f->how, how) == 0;
}

static const char *
option(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return i + 1 < argc ? argv[i + 1] : "";
        }
    }
    return NULL;
}

static void
frame_came(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    fake *f = arg;
    oct_err err = wire_server_handle(f->server, call, role, frame, length);
    (void)err; // the peer was answered
}

static void
stop_wanted(void *arg, int signal_number)
{
    fake *f = arg;
    (void)signal_number;
    if (!is(f, "deaf")) {
        net_loop_stop(f->loop);
    }
}

// ---- learner

static double
number_of(const char *name, double otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? strtod(value, NULL) : otherwise;
}

static void
learner_status(void *arg, wire_call *call, const wire_empty *message)
{
    fake *f = arg;
    (void)message;
    f->calls++;
    const char *const names[] = {"learner.env_steps",       "learner.env_steps_budget",
                                 "learner.env_steps_per_s", "learner.evaluations",
                                 "learner.eval_return",     "learner.of_tomorrow",
                                 "learner.updates"};
    const double values[] = {
        100 * f->calls, 1000, 400, f->calls, 10 * f->calls, 1, number_of("FAKE_UPDATES", 0)};
    wire_status status = {.run_id = 7,
                          .state = "training",
                          .stat_count = OCT_COUNTOF(names) - (getenv("FAKE_UPDATES") == NULL),
                          .stat_name = names,
                          .stat_value = values};
    wire_reply_learner_status(call, &status);
    if (is(f, "finish") && f->calls >= FINISH_CALL) {
        net_loop_stop(f->loop);
    }
}

// FAKE_RELAYS of them, through the first of which the others go; the last is silent.
static wire_relays
fake_relays(void)
{
    enum { RELAYS = 3 };
    static const char *const host[RELAYS] = {"rack-0", "rack-1", "rack-2"};
    static const char *const address[RELAYS] = {"", "tcp://rack-1:5570", "tcp://rack-2:5570"};
    static const char *const above[RELAYS] = {"", "tcp://rack-0:5570", "tcp://rack-0:5570"};
    static const uint32_t pid[RELAYS] = {100, 101, 102}, actors[RELAYS] = {0, 11, 12};
    static uint32_t is_silent[RELAYS];
    static const double heard_s[RELAYS] = {0.5, 0.5, 42};
    uint32_t count = OCT_MIN((uint32_t)number_of("FAKE_RELAYS", 0), (uint32_t)RELAYS);
    for (uint32_t i = 0; i < count; i++) {
        is_silent[i] = i + 1 == count;
    }
    return (wire_relays){.count = count,
                         .host = host,
                         .pid = pid,
                         .address = address,
                         .above = above,
                         .is_silent = is_silent,
                         .actors = actors,
                         .sessions = actors,
                         .heard_s = heard_s};
}

// Of actor i: steps/s i, of host i, waits i mod 101 percent of its time; every FAKE_RELAYS-th goes
// through no relay, the others through each but the first in turn.
static void
learner_peers(void *arg, wire_call *call, const wire_get_peers *message)
{
    static uint32_t ids[WIRE_PEERS_MAX], roles[WIRE_PEERS_MAX], silent[WIRE_PEERS_MAX];
    static uint32_t relay[WIRE_PEERS_MAX];
    static uint64_t versions[WIRE_PEERS_MAX];
    static char host[WIRE_PEERS_MAX][32];
    static const char *hosts[WIRE_PEERS_MAX];
    static double steps[WIRE_PEERS_MAX], waits[WIRE_PEERS_MAX], unknown[WIRE_PEERS_MAX];
    (void)arg;
    if (message->count_max > number_of("FAKE_PEERS_MAX", WIRE_PEERS_MAX)) {
        wire_reply_error(call, OCT_EPROTO, "get_peers.count_max: outside 1 .. 256");
        return;
    }
    if (getenv("FAKE_PEERS") == NULL) {
        wire_reply_error(call, OCT_ENOTFOUND, "the learner has no method 1.6");
        return;
    }
    uint32_t all = (uint32_t)number_of("FAKE_PEERS", 0);
    wire_relays relays = fake_relays();
    uint32_t count = OCT_MIN(all, message->count_max);
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = i + 1;
        roles[i] = WIRE_ROLE_ACTOR;
        silent[i] = i + 1 == all;
        versions[i] = 1;
        (void)snprintf(host[i], sizeof(host[i]), "host-%04u", (unsigned)i);
        hosts[i] = host[i];
        steps[i] = i;
        waits[i] = (i % 101) / 100.0;
        unknown[i] = NAN;
        uint32_t turn = i % OCT_MAX(relays.count, 1u);
        relay[i] = turn > 0 ? turn + 1 : 0;
    }
    const wire_peers answer = {.run_id = 7,
                               .policy_version = 1,
                               .actors = all > 0 ? all - 1 : 0,
                               .silent = all > 0,
                               .lag_mean = NAN,
                               .count = count,
                               .id = ids,
                               .role = roles,
                               .pid = ids,
                               .is_silent = silent,
                               .host = hosts,
                               .version = versions,
                               .session_s = unknown,
                               .heard_s = waits,
                               .env_steps = steps,
                               .steps_per_s = steps,
                               .lag_versions = unknown,
                               .lag_updates = unknown,
                               .infer_share = unknown,
                               .env_share = unknown,
                               .collect_share = unknown,
                               .wait_share = waits,
                               .resent = steps,
                               .unacked = waits,
                               .relay = relay,
                               .relays = relays};
    wire_reply_learner_peers(call, &answer);
}

static void
learner_register(void *arg, wire_call *call, const wire_register *message)
{
    (void)arg;
    (void)message;
    uint8_t *config;
    size_t length;
    if (oct_file_read("config.yaml", CONFIG_BYTES_MAX, &config, &length) != OCT_OK) {
        wire_reply_error(call, OCT_EIO, "no config.yaml");
        return;
    }
    wire_registered answer = {.accepted = true,
                              .reason = "",
                              .run_id = 7,
                              .config = (const char *)config,
                              .policy_address = "ipc://learner.ipc.1",
                              .replay_address = "ipc://replay.ipc"};
    wire_reply_register_actor(call, &answer);
    free(config);
}

static void
learner_stop(void *arg, wire_call *call, const wire_stop *message)
{
    fake *f = arg;
    if (is(f, "deaf")) {
        return; // never answered
    }
    printf("stop: %s\n", message->reason);
    wire_empty nothing = {0};
    wire_reply_stop(call, &nothing);
    net_loop_stop(f->loop);
}

static int
write_results(const fake *f)
{
    static const uint8_t large[LARGE_BYTES];
    if (is(f, "large") && oct_file_write("checkpoint.oct", large, sizeof(large)) != OCT_OK) {
        return 1;
    }
    static const char nothing[] = "{\"env_steps\": 0, \"updates\": 0, "
                                  "\"unlearned_why\": \"no window came\"}";
    if (is(f, "idle")) {
        return oct_file_write("summary.json", nothing, strlen(nothing)) != OCT_OK ||
               oct_file_write("policy.oct", "policy", 6) != OCT_OK;
    }
    static const char summary[] = "{\"solved\": true, \"env_steps\": 400, \"updates\": 50, "
                                  "\"reason\": \"told to stop\", \"learner_wall_s\": 2.5, "
                                  "\"return\": {\"mean\": 498.2, \"std\": 3.5, \"episodes\": 100, "
                                  "\"precision\": \"int8\", \"final\": true}, "
                                  "\"last_return\": {\"mean\": 12.5, \"std\": 1.5, "
                                  "\"episodes\": 100}, "
                                  "\"last_screens\": {\"count\": 10, \"mean\": 310.2}}";
    return oct_file_write("summary.json", summary, strlen(summary)) != OCT_OK ||
           oct_file_write("policy.oct", "policy", 6) != OCT_OK;
}

// ---- replay

static void
replay_status(void *arg, wire_call *call, const wire_empty *message)
{
    fake *f = arg;
    (void)message;
    const char *const names[] = {"replay.samples_per_insert", "replay.insert_wait_share",
                                 "replay.sample_wait_share", "replay.rejected"};
    const double values[] = {8.125, 0, 0, is(f, "reject") ? 9 : 0};
    wire_status status = {.run_id = 7,
                          .state = "serving",
                          .stat_count = OCT_COUNTOF(names),
                          .stat_name = names,
                          .stat_value = values,
                          .refused = is(f, "reject") ? "rows sent twice" : NULL};
    wire_reply_replay_status(call, &status);
}

static void
replay_configure(void *arg, wire_call *call, const wire_configure *message)
{
    (void)arg;
    if (message->run_id != 7 || !message->limiter_only) {
        wire_reply_error(call, OCT_EINVAL, "another run");
        return;
    }
    printf("configure: samples_per_insert=%g%s tolerance=%g%s\n", message->samples_per_insert,
           message->keep_samples_per_insert ? " (kept)" : "", message->tolerance,
           message->keep_tolerance ? " (kept)" : "");
    wire_configured nothing = {0};
    wire_reply_configure(call, &nothing);
}

static void
make_table(const char *path)
{
    static const char begin[] = "OCTETRPL"; // replay_file.c
    OCT_ASSERT(oct_file_write(path, begin, strlen(begin)) == OCT_OK);
}

// ---- start

static const char *
behaviour(const char *role)
{
    const char *name = strcmp(role, "octet-replay") == 0    ? "FAKE_REPLAY"
                       : strcmp(role, "octet-learner") == 0 ? "FAKE_LEARNER"
                                                            : "FAKE_ACTOR";
    const char *how = getenv(name);
    return how != NULL ? how : "";
}

static int
serve(fake *f, const char *role)
{
    static const wire_learner_handlers learner = {.register_actor = learner_register,
                                                  .learner_status = learner_status,
                                                  .learner_peers = learner_peers,
                                                  .stop = learner_stop};
    static const wire_replay_handlers replay = {.replay_status = replay_status,
                                                .configure = replay_configure};
    bool is_learner = strcmp(role, "octet-learner") == 0;
    net_rpc_server *rpc = NULL;
    const char *url = NULL;
    const learner_checkpoint checkpoint = {.run_id = 1};
    if (is_learner && learner_checkpoints_write(".", 1, &checkpoint) != OCT_OK) {
        return 1;
    }
    if (is_learner) {
        url = "ipc://learner.ipc";
        f->server = wire_server_create_learner(&learner, f, &net_rpc_responder, BYTES_MAX);
    } else if (strcmp(role, "octet-replay") == 0) {
        url = "ipc://replay.ipc";
        f->server = wire_server_create_replay(&replay, f, &net_rpc_responder, BYTES_MAX);
    }
    if (url != NULL &&
        net_rpc_server_open(&rpc, f->loop, &(net_endpoint){url, OCT_ROLES_ANY, BYTES_MAX, CONTEXTS},
                            frame_came, f) != OCT_OK) {
        return 1;
    }
    net_loop_run(f->loop);
    if (is_learner && write_results(f) != 0) {
        return 1;
    }
    // Closing is not what is tested here, and it may hang.
    (void)fflush(stdout);
    _exit(0);
}

int
main(int argc, char **argv)
{
    const char *role = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    const char *parent = option(argc, argv, "--follow-parent");
    fake f = {.how = behaviour(role)};
    oct_failure_begin();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%s", role);
    for (int i = 1; i < argc; i++) {
        printf(" %s", argv[i]);
    }
    printf("\n");
    const char *index = option(argc, argv, "--index");
    bool is_first = index != NULL && strcmp(index, "0") == 0;
    if (is(&f, "crash") || (is(&f, "crash-0") && is_first) ||
        (is(&f, "once") && option(argc, argv, "--resume") == NULL)) {
        return 5;
    }
    if (is(&f, "abort")) {
        abort();
    }
    if (is(&f, "refuse")) {
        oct_failure_print("config.yaml:3:4", "the fake does not like CartPole-v1");
        return 3;
    }
    if (is(&f, "once")) {
        f.how = "finish";
    }
    if (is(&f, "table")) {
        make_table(option(argc, argv, "--path"));
    }
    const char *pulse = option(argc, argv, "--pulse");
    if (pulse == NULL || oct_pulse_join((int)strtol(pulse, NULL, 10)) != OCT_OK) {
        return 1;
    }
    f.loop = net_loop_create();
    if (net_loop_on_signal(f.loop, SIGTERM, stop_wanted, &f) != OCT_OK || parent == NULL ||
        !net_process_follow_parent((int)strtol(parent, NULL, 10))) {
        return 1;
    }
    return serve(&f, role);
}
