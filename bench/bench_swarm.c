// Many actors, simulated in one process, each with real connections of its own, against a live
// octet-learner and octet-replay. Checks that what was pushed was acknowledged and inserted, and
// that all subscribers saw the same versions; says what arrived how soon and what it cost the
// daemons, one JSON object a run. What it measures of time includes its own work, which real actors
// do on hosts of their own: the "busy" threads of all three processes say which one is the limit.
// usage: bench_swarm [quick] [key=value ...]
//   learner=FILE replay=FILE  the daemons to start (needed unless at=)
//   at=ADDR                   of a running learner instead; learner_pid=N replay_pid=N to watch
//   mode=both|subscribers|pushers   the other side then has one actor (default both)
//   actors=200 batches_per_s=50 rows=32 (of each pusher) seconds=5 versions_per_s=20
//   hidden=64,64 delta=1 over=tcp|ipc
//   relays=0 relay=FILE       actors go through so many of them, at local sockets
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/bench_must.h"
#include "bench/bench_swarm_actor.h"
#include "bench_commit.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "net/net_process.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

#define CAPACITY           2048
#define CAPACITY_OF_PUSHER 64u // some blocks for each stream
#define UPDATES_PER_S      200 // a few blocks
#define LEARNING_BATCH     32
#define TURN_MS            5
#define CLOSED_MAX         32 // actors whose sockets are closed one by one; of more, by the kernel
#define LOG_BYTES_MAX      (256u << 20)
#define TEXT_MAX           1024
#define RELAYS_MAX         64
#define ACTORS_MAX         256 // actor.count: of more, there are as many streams

typedef struct options {
    const char *learner, *replay, *relay, *at, *mode, *over, *hidden;
    uint32_t actors, rows, relays, learner_pid, replay_pid;
    double batches_per_s, versions_per_s, seconds;
    bool delta;
} options;

typedef struct bench {
    options options;
    net_loop *loop;
    swarm *swarm;
    swarm_plan plan;
    char folder[32], learner_url[NET_URL_MAX], replay_url[NET_URL_MAX];
    net_process *learner, *replay, *relays[RELAYS_MAX];
    bool stopping;
    uint32_t exited;
    bool (*reached)(struct bench *bench);
    uint64_t deadline_ns;
    const char *awaited;
    bool is_told;
    double inserts, rejected, cut, duplicates, gaps, ack_bytes;
} bench;

typedef struct fan_out {
    swarm_samples last_s, spread_s, send_s; // of versions that all subscribers saw
    uint64_t versions, complete;
} fan_out;

// ---- waiting

static void
bench_turn(void *arg)
{
    bench *self = arg;
    if (self->reached(self)) {
        net_loop_stop(self->loop);
    } else if (oct_clock_ns() > self->deadline_ns) {
        bench_give_up("waited too long", self->awaited);
    }
}

static void
bench_wait(bench *self, const char *awaited, bool (*reached)(bench *), double seconds_max)
{
    self->awaited = awaited;
    self->reached = reached;
    self->deadline_ns = oct_clock_ns() + (uint64_t)(seconds_max * 1e9);
    net_timer *timer = net_timer_start(self->loop, TURN_MS, TURN_MS, bench_turn, self);
    net_loop_run(self->loop);
    net_timer_stop(timer);
}

static void
bench_stop(void *arg)
{
    net_loop_stop(arg);
}

static void
bench_pause(bench *self, double seconds)
{
    net_timer *timer =
        net_timer_start(self->loop, (uint32_t)(seconds * 1000), 0, bench_stop, self->loop);
    net_loop_run(self->loop);
    net_timer_stop(timer);
}

static bool
first_runs(bench *self)
{
    return swarm_running(self->swarm) >= 1 && swarm_made(self->swarm) >= CAPACITY;
}

static bool
all_run(bench *self)
{
    return swarm_running(self->swarm) == self->plan.actors;
}

static bool
all_acked(bench *self)
{
    return swarm_is_quiet(self->swarm);
}

static bool
daemons_exited(bench *self)
{
    return self->exited == 2 + self->options.relays;
}

static bool
is_told(bench *self)
{
    return self->is_told;
}

// ---- the daemons

static void
daemon_exited(void *arg, net_process *process, int exit_status)
{
    bench *self = arg;
    (void)process;
    self->exited++;
    if (!self->stopping) {
        fprintf(stderr, "bench_swarm: exit status %d; logs are in %s\n", exit_status, self->folder);
        bench_give_up("a daemon", "ended early");
    }
}

static void
daemon_start(bench *self, net_process **out, const char *file, const char *const *arguments)
{
    char log[64], parent[16];
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    const char *argv[16] = {name, "--follow-parent", parent, "--log-level", "debug", "--insecure"};
    (void)snprintf(log, sizeof(log), "%s/%s.log", self->folder, name);
    (void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
    for (size_t i = 0; arguments[i]; i++) {
        argv[6 + i] = arguments[i];
    }
    char *path = realpath(file, NULL); // it runs in a folder of its own
    if (!path) {
        bench_give_up(file, strerror(errno));
    }
    net_process_spec spec = {.file = path, .argv = argv, .folder = self->folder, .log_path = log};
    bench_must(net_process_start(out, self->loop, &spec, daemon_exited, self), file);
    free(path);
}

static bool
port_is_free(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    bool is_free = bind(fd, (struct sockaddr *)&place, sizeof(place)) == 0;
    (void)close(fd);
    return is_free;
}

static void
addresses_choose(bench *self)
{
    if (strcmp(self->options.over, "ipc") == 0) {
        (void)snprintf(self->learner_url, NET_URL_MAX, "ipc://%s/l", self->folder);
        (void)snprintf(self->replay_url, NET_URL_MAX, "ipc://%s/r", self->folder);
        return;
    }
    // Below what the kernel gives to who dials.
    for (uint32_t i = 0; i < 1000; i++) {
        uint16_t base = (uint16_t)(12000 + ((uint32_t)getpid() + i) * 8 % 20000);
        uint32_t count = 0;
        while (count < 5 && port_is_free((uint16_t)(base + count))) {
            count++;
        }
        if (count == 5) {
            (void)snprintf(self->learner_url, NET_URL_MAX, "tcp://127.0.0.1:%u", base);
            (void)snprintf(self->replay_url, NET_URL_MAX, "tcp://127.0.0.1:%u", base + 2u);
            return;
        }
    }
    bench_give_up("address", "no five free ports in a row");
}

static void
experiment_write(const bench *self, const char *path)
{
    const options *o = &self->options;
    double offered = self->plan.pushers * o->batches_per_s * o->rows;
    uint32_t capacity = OCT_MAX((uint32_t)CAPACITY, 8 * o->rows);
    capacity = OCT_MAX(capacity, CAPACITY_OF_PUSHER * self->plan.pushers);
    char text[TEXT_MAX];
    int length =
        snprintf(text, sizeof(text),
                 "run:\n  name: swarm\n  env_steps: 1000000000000\nenv:\n  id: CartPole-v1\n"
                 "network:\n  hidden: [%s]\nactor:\n  count: %u\n  envs: %u\n"
                 "learner:\n  batch_size: %d\n  publish_period: 1\n  publish_s_min: %g\n"
                 "  publish_core_share: 0\n  checkpoint_s: 0\n  metrics_s: 1\n"
                 "policy:\n  delta: %s\n"
                 "replay:\n  capacity: %u\n  sampler: uniform\n  samples_per_insert: %g\n"
                 "  tolerance: 1000\n"
                 "net:\n  learner: %s\n  replay: %s\n",
                 o->hidden, OCT_MIN(self->plan.pushers, (uint32_t)ACTORS_MAX),
                 (self->plan.pushers + ACTORS_MAX - 1) / ACTORS_MAX, LEARNING_BATCH,
                 1 / o->versions_per_s, o->delta ? "true" : "false", capacity,
                 UPDATES_PER_S * LEARNING_BATCH / offered, self->learner_url, self->replay_url);
    OCT_ASSERT(length > 0 && (size_t)length < sizeof(text));
    bench_must(oct_file_write(path, text, (size_t)length), path);
}

static void
daemons_start(bench *self)
{
    (void)snprintf(self->folder, sizeof(self->folder), "/tmp/octet-swarm-XXXXXX");
    if (!mkdtemp(self->folder)) {
        bench_give_up("no folder in /tmp", strerror(errno));
    }
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/swarm.yaml", self->folder);
    addresses_choose(self);
    experiment_write(self, path);
    const char *replay[] = {"--listen", self->replay_url, NULL};
    const char *learner[] = {path, "--run-dir", "run", NULL};
    daemon_start(self, &self->replay, self->options.replay, replay);
    daemon_start(self, &self->learner, self->options.learner, learner);
    self->options.replay_pid = (uint32_t)net_process_pid(self->replay);
    self->options.learner_pid = (uint32_t)net_process_pid(self->learner);
}

// Each registers with the learner, which then gives it to actors.
static bool
relays_are_known(bench *self)
{
    char path[64];
    uint8_t *text;
    size_t length;
    uint32_t known = 0;
    (void)snprintf(path, sizeof(path), "%s/octet-learner.log", self->folder);
    if (oct_file_read(path, LOG_BYTES_MAX, &text, &length) != OCT_OK) {
        return false;
    }
    for (const char *at = (char *)text; (at = strstr(at, "LEARNER-RELAY ")) != NULL; at++) {
        known++;
    }
    free(text);
    return known == self->options.relays;
}

static void
relays_start(bench *self)
{
    for (uint32_t i = 0; i < self->options.relays; i++) {
        char url[64];
        (void)snprintf(url, sizeof(url), "ipc://%s/relay%u", self->folder, i);
        const char *arguments[] = {"--learner", self->learner_url, "--listen", url, NULL};
        daemon_start(self, &self->relays[i], self->options.relay, arguments);
    }
    if (self->options.relays > 0) {
        bench_wait(self, "the relays", relays_are_known, 60);
    }
}

static int
entry_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void
daemons_stop(bench *self)
{
    if (!self->learner) {
        return;
    }
    self->stopping = true;
    net_process_kill(self->learner, SIGTERM);
    net_process_kill(self->replay, SIGTERM);
    for (uint32_t i = 0; i < self->options.relays; i++) {
        net_process_kill(self->relays[i], SIGTERM);
    }
    bench_wait(self, "the daemons' end", daemons_exited, 20);
    net_process_destroy(self->learner);
    net_process_destroy(self->replay);
    for (uint32_t i = 0; i < self->options.relays; i++) {
        net_process_destroy(self->relays[i]);
    }
    (void)nftw(self->folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

// ---- what came of it

static void
replay_told(void *arg, oct_err err, const char *detail, const wire_status *status)
{
    bench *self = arg;
    if (err != OCT_OK) {
        bench_give_up("status of replay", detail);
    }
    struct {
        const char *name;
        double *value;
    } wanted[] = {
        {"replay.inserts", &self->inserts}, {"replay.rejected", &self->rejected},
        {"replay.cut", &self->cut},         {"replay.duplicates", &self->duplicates},
        {"replay.gaps", &self->gaps},
    };
    for (uint32_t i = 0; i < status->stat_count; i++) {
        for (size_t k = 0; k < OCT_COUNTOF(wanted); k++) {
            if (strcmp(status->stat_name[i], wanted[k].name) == 0) {
                *wanted[k].value = status->stat_value[i];
            }
        }
    }
    self->is_told = true;
}

static void
replay_ask(bench *self)
{
    net_rpc_client *rpc;
    const char *replay = self->learner ? self->replay_url : swarm_replay_address(self->swarm);
    bench_must(net_rpc_client_open(&rpc, self->loop, replay, OCT_ROLES_ANY, 1, 1000, 1u << 20),
               "dial");
    wire_client *client = wire_client_create(net_rpc_call, rpc, 1u << 20);
    bench_must(wire_call_replay_status(client, &(wire_empty){0}, 20000, replay_told, self),
               "status");
    bench_wait(self, "replay's status", is_told, 20);
    net_rpc_client_close(rpc);
    wire_client_destroy(client);
}

static uint64_t
field_read(const char *line, const char *name)
{
    const char *place = strstr(line, name);
    return place ? strtoull(place + strlen(name), NULL, 10) : 0;
}

// From handing a version over to be sent (the learner's log) to the last subscriber that had it.
static void
fan_out_read(fan_out *out, const bench *self)
{
    const swarm_version *seen = swarm_versions(self->swarm);
    for (uint32_t i = 0; i < SWARM_VERSIONS_MAX; i++) {
        out->versions += seen[i].version != 0;
        if (seen[i].version != 0 && seen[i].seen == self->plan.subscribers) {
            out->complete++;
            swarm_samples_add(&out->spread_s, (double)(seen[i].last_us - seen[i].first_us) * 1e-6);
        }
    }
    char path[64];
    uint8_t *text;
    size_t length;
    (void)snprintf(path, sizeof(path), "%s/octet-learner.log", self->folder);
    if (!self->learner || oct_file_read(path, LOG_BYTES_MAX, &text, &length) != OCT_OK) {
        return;
    }
    for (char *line = (char *)text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *end = strchr(line, '\n');
        size_t room = end ? (size_t)(end - line) : strlen(line);
        char one[TEXT_MAX];
        (void)snprintf(one, sizeof(one), "%.*s", (int)OCT_MIN(room, sizeof(one) - 1), line);
        uint64_t version = strstr(one, "LEARNER-PUBLISH") ? field_read(one, " version=") : 0;
        const swarm_version *place = &seen[version % SWARM_VERSIONS_MAX];
        if (version != 0 && place->version == version && place->seen == self->plan.subscribers) {
            uint64_t at_us = field_read(one, " at_us=");
            swarm_samples_add(&out->last_s, (double)(place->last_us - at_us) * 1e-6);
            swarm_samples_add(&out->send_s, (double)field_read(one, " send_us=") * 1e-6);
        }
    }
    free(text);
}

static void
milliseconds_print(const char *name, swarm_samples *samples)
{
    printf("\"%s\":[", name);
    if (samples->count > 0) {
        printf("%.3f,%.3f,%.3f", swarm_samples_quantile(samples, 0.5) * 1e3,
               swarm_samples_quantile(samples, 0.99) * 1e3,
               swarm_samples_quantile(samples, 1) * 1e3);
    }
    printf("],");
    swarm_samples_clear(samples);
}

typedef struct watch {
    swarm_usage learner, replay, self;
    double relays_s; // CPU time of all of them
    uint64_t machine[2];
} watch;

static void
watch_read(watch *out, const bench *self)
{
    swarm_usage_read(&out->learner, (int)self->options.learner_pid);
    swarm_usage_read(&out->replay, (int)self->options.replay_pid);
    swarm_usage_read(&out->self, (int)getpid());
    for (uint32_t i = 0; i < self->options.relays; i++) {
        swarm_usage relay;
        swarm_usage_read(&relay, net_process_pid(self->relays[i]));
        out->relays_s += (double)relay.run_ns * 1e-9;
    }
    swarm_machine_read(out->machine);
}

static void
per_actor_print(const char *name, const swarm_usage *one, const swarm_usage *all, uint32_t more)
{
    double n = more > 0 ? more : 1;
    printf("\"%s_per_actor\":{\"rss_bytes\":%.0f,\"fds\":%.2f,\"threads\":%.3f},", name,
           ((double)all->rss_bytes - (double)one->rss_bytes) / n,
           ((double)all->fds - (double)one->fds) / n,
           ((double)all->threads - (double)one->threads) / n);
}

static void
report(bench *self, const watch *one, const watch *before, const watch *after, double joined_s)
{
    const options *o = &self->options;
    const swarm_counts *c = swarm_counts_get(self->swarm);
    double s = (double)(after->self.at_ns - before->self.at_ns) * 1e-9;
    fan_out out = {0};
    fan_out_read(&out, self);
    printf("{\"name\":\"swarm\",\"mode\":\"%s\",\"actors\":%u,\"subscribers\":%u,\"pushers\":%u,"
           "\"hidden\":\"%s\",\"delta\":%s,\"over\":\"%s\",\"commit\":\"%s\",\"cores\":%ld,"
           "\"seconds\":%.3f,\"joined_s\":%.3f,\"rows\":%u,\"batches_per_s\":%g,",
           o->mode, self->plan.actors, self->plan.subscribers, self->plan.pushers, o->hidden,
           o->delta ? "true" : "false", o->over, BENCH_COMMIT, sysconf(_SC_NPROCESSORS_ONLN), s,
           joined_s, o->rows, o->batches_per_s);
    printf("\"offered_per_s\":%.0f,\"sent_per_s\":%.0f,\"acked_per_s\":%.0f,"
           "\"held_back\":%.4f,\"resent\":%" PRIu64 ",\"batch_bytes\":%u,"
           "\"batch_bytes_per_s\":%.0f,\"acks_per_s\":%.0f,\"ack_bytes_per_s\":%.0f,"
           "\"reports_per_s\":%.1f,",
           (double)c->offered * o->rows / s, (double)(c->sent - c->resent) * o->rows / s,
           (double)c->acked * o->rows / s,
           c->offered > 0 ? (double)c->held_back / (double)c->offered : 0, c->resent,
           swarm_batch_bytes(self->swarm), (double)c->sent_bytes / s, (double)c->acks / s,
           (double)c->ack_bytes / s, (double)c->reports / s);
    milliseconds_print("ack_ms_median_p99_max", swarm_ack_seconds(self->swarm));
    printf("\"versions_per_s\":%.2f,\"versions_to_all\":%.4f,\"received_per_subscriber\":%.2f,"
           "\"policy_message_bytes\":%.0f,\"gaps\":%" PRIu64 ",",
           (double)out.versions / s,
           out.versions > 0 ? (double)out.complete / (double)out.versions : NAN,
           (double)c->policies / self->plan.subscribers,
           c->policies > 0 ? (double)c->policy_bytes / (double)c->policies : 0, c->gaps);
    milliseconds_print("fan_out_ms_median_p99_max", &out.last_s);
    milliseconds_print("spread_ms_median_p99_max", &out.spread_s);
    milliseconds_print("send_ms_median_p99_max", &out.send_s);
    per_actor_print("learner", &one->learner, &after->learner, self->plan.actors - 1);
    per_actor_print("replay", &one->replay, &after->replay, self->plan.actors - 1);
    swarm_usage_print("learner", &before->learner, &after->learner);
    printf(",");
    swarm_usage_print("replay", &before->replay, &after->replay);
    printf(",");
    swarm_usage_print("swarm", &before->self, &after->self);
    printf(",\"relays\":%u,\"relayed\":%u,\"relays_cores\":%.4f", o->relays,
           swarm_relayed(self->swarm), (after->relays_s - before->relays_s) / s);
    printf(",\"machine_busy\":%.3f}\n",
           (double)(after->machine[0] - before->machine[0]) /
               (double)OCT_MAX(after->machine[1] - before->machine[1], 1u));
}

static void
answers_check(const bench *self)
{
    const swarm_counts *c = swarm_counts_get(self->swarm);
    double made = (double)swarm_made(self->swarm);
    if (c->mismatches > 0) {
        bench_give_up("policies", "subscribers saw different bytes of one version");
    }
    // Where the machine is busy, an actor that falls behind the others loses the block that it
    // fills, and with it windows that are still open: they are counted, not lost.
    if (self->rejected != 0 || (self->learner && self->inserts + self->cut != made)) {
        fprintf(stderr, "made=%.0f inserted=%.0f rejected=%.0f cut=%.0f\n", made, self->inserts,
                self->rejected, self->cut);
        bench_give_up("steps", "something was lost, or inserted twice");
    }
}

// ---- a run

static void
bench_run(bench *self)
{
    watch *one = oct_alloc(3 * sizeof(*one)), *before = one + 1, *after = one + 2;
    self->swarm = swarm_create(self->loop, &self->plan);
    swarm_push(self->swarm, true);
    swarm_join(self->swarm, 1);
    bench_wait(self, "the first actor", first_runs, 30);
    bench_pause(self, 0.3);
    watch_read(one, self);
    uint64_t begin_ns = oct_clock_ns();
    swarm_join(self->swarm, self->plan.actors);
    bench_wait(self, "all actors", all_run, 60);
    if (self->options.relays > 0 && swarm_relayed(self->swarm) != self->plan.actors) {
        bench_give_up("relays", "not every actor was given one");
    }
    double joined_s = (double)(oct_clock_ns() - begin_ns) * 1e-9;
    bench_pause(self, 1);
    swarm_measure(self->swarm, true);
    watch_read(before, self);
    bench_pause(self, self->options.seconds);
    watch_read(after, self);
    swarm_measure(self->swarm, false);
    report(self, one, before, after, joined_s);
    swarm_push(self->swarm, false);
    bench_wait(self, "the last acknowledgements", all_acked, 60);
    replay_ask(self);
    answers_check(self);
    free(one);
}

static bool
option_take(options *o, const char *name, const char *value)
{
    struct {
        const char *name;
        const char **text;
        uint32_t *whole;
        double *number;
    } all[] = {
        {"learner", .text = &o->learner},
        {"replay", .text = &o->replay},
        {"relay", .text = &o->relay},
        {"relays", .whole = &o->relays},
        {"at", .text = &o->at},
        {"mode", .text = &o->mode},
        {"over", .text = &o->over},
        {"hidden", .text = &o->hidden},
        {"actors", .whole = &o->actors},
        {"rows", .whole = &o->rows},
        {"learner_pid", .whole = &o->learner_pid},
        {"replay_pid", .whole = &o->replay_pid},
        {"batches_per_s", .number = &o->batches_per_s},
        {"versions_per_s", .number = &o->versions_per_s},
        {"seconds", .number = &o->seconds},
    };
    for (size_t i = 0; i < OCT_COUNTOF(all); i++) {
        if (strcmp(all[i].name, name) != 0) {
            continue;
        }
        if (all[i].text) {
            *all[i].text = value;
        } else if (all[i].whole) {
            *all[i].whole = (uint32_t)strtoul(value, NULL, 10);
        } else {
            *all[i].number = strtod(value, NULL);
        }
        return true;
    }
    if (strcmp(name, "delta") == 0) {
        o->delta = strcmp(value, "0") != 0;
        return true;
    }
    return false;
}

static void
options_read(options *o, int argc, char **argv)
{
    *o = (options){.mode = "both",
                   .over = "tcp",
                   .hidden = "64,64",
                   .actors = 200,
                   .rows = 32,
                   .batches_per_s = 50,
                   .versions_per_s = 20,
                   .seconds = 5,
                   .delta = true};
    for (int i = 1; i < argc; i++) {
        char name[32];
        const char *equals = strchr(argv[i], '=');
        if (strcmp(argv[i], "quick") == 0) {
            o->actors = 6;
            o->seconds = 0.5;
            continue;
        }
        if (!equals || (size_t)(equals - argv[i]) >= sizeof(name)) {
            bench_give_up(argv[i], "arguments are key=value, or quick");
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)(equals - argv[i]), argv[i]);
        if (!option_take(o, name, equals + 1)) {
            bench_give_up(name, "no such key");
        }
    }
    if (!o->at && (!o->learner || !o->replay)) {
        bench_give_up("arguments", "learner=FILE and replay=FILE are needed, or at=ADDR");
    }
    if (o->relays > RELAYS_MAX || (o->relays > 0 && (!o->relay || o->at))) {
        bench_give_up("arguments", "relays are at most 64, and need relay=FILE and no at=");
    }
    if (o->actors < 1 || o->actors > 4096 || o->rows < 1 || o->rows > 4096 ||
        !(o->batches_per_s > 0) || !(o->versions_per_s > 0) || !(o->seconds > 0)) {
        bench_give_up("arguments", "actors and rows are 1 .. 4096, rates and seconds above 0");
    }
}

int
main(int argc, char **argv)
{
    static bench self;
    options *o = &self.options;
    options_read(o, argc, argv);
    bool subscribers_only = strcmp(o->mode, "subscribers") == 0;
    bool pushers_only = strcmp(o->mode, "pushers") == 0;
    if (!subscribers_only && !pushers_only && strcmp(o->mode, "both") != 0) {
        bench_give_up(o->mode, "mode is both, subscribers or pushers");
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max; // inherited by the daemons
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    self.plan = (swarm_plan){
        .actors = o->actors,
        .subscribers = pushers_only ? 1 : o->actors,
        .pushers = subscribers_only ? 1 : o->actors,
        .batches_per_s = o->batches_per_s,
        .rows = o->rows,
    };
    self.loop = net_loop_create();
    if (!o->at) {
        daemons_start(&self);
        relays_start(&self);
    }
    self.plan.learner = o->at ? o->at : self.learner_url;
    bench_run(&self);
    daemons_stop(&self);
    if (o->actors > CLOSED_MAX) {
        (void)fflush(stdout);
        _exit(0);
    }
    net_loop_exit_deadline(self.loop, 5000, 0);
    swarm_destroy(self.swarm);
    net_loop_destroy(self.loop);
    return 0;
}
