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
//   above=0                   and these through so many more
//   report_s=0.25             between two reports of an actor
//   processes=N               that play the actors (default: one for 2500 of them)
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
#include "bench/bench_swarm_crew.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_file.h"
#include "net/net_process.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

#define CAPACITY           2048
#define CAPACITY_OF_PUSHER 64u // some blocks for each stream
#define UPDATES_PER_S      200 // a few blocks
#define LEARNING_BATCH     32
#define TURN_MS            5
#define TELL_NS            UINT64_C(10000000000)
#define LOG_BYTES_MAX      (256u << 20)
#define TEXT_MAX           1024
#define RELAYS_MAX         256
#define ACTORS_A_PROCESS   2500
#define JOIN_S_MAX         0.1 // for each actor
#define SETTLE_S           0.002
#define ACTORS_MAX         256 // actor.count: of more, there are as many streams

typedef struct options {
    const char *learner, *replay, *relay, *at, *mode, *over, *hidden;
    uint32_t actors, rows, relays, above, processes, learner_pid, replay_pid;
    double batches_per_s, versions_per_s, report_s, seconds;
    bool delta;
} options;

typedef struct bench {
    options options;
    net_loop *loop;
    swarm_crew *crew;
    swarm_plan plan;
    char folder[32], learner_url[NET_URL_MAX], replay_url[NET_URL_MAX];
    net_process *learner, *replay, *relays[RELAYS_MAX];
    bool stopping;
    uint32_t exited;
    bool (*reached)(struct bench *bench);
    uint64_t deadline_ns, reported_ns;
    const char *awaited;
    bool is_told;
    uint32_t wanted; // relays that the learner is to know
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
    if (self->crew) {
        swarm_crew_check(self->crew);
    }
    if (self->reached(self)) {
        net_loop_stop(self->loop);
    } else if (oct_clock_ns() > self->reported_ns + TELL_NS) {
        self->reported_ns = oct_clock_ns();
        fprintf(stderr, "bench_swarm: waits for %s; %u of %u actors run\n", self->awaited,
                swarm_crew_running(self->crew), self->plan.actors);
    } else if (oct_clock_ns() > self->deadline_ns) {
        bench_give_up("waited too long", self->awaited);
    }
}

static void
bench_wait(bench *self, const char *awaited, bool (*reached)(bench *), double seconds_max)
{
    self->awaited = awaited;
    self->reached = reached;
    self->reported_ns = oct_clock_ns();
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
    return swarm_crew_running(self->crew) >= 1 && swarm_crew_made(self->crew) >= CAPACITY;
}

static bool
all_run(bench *self)
{
    return swarm_crew_running(self->crew) == self->plan.actors;
}

static bool
all_acked(bench *self)
{
    return swarm_crew_is_quiet(self->crew);
}

static bool
numbers_told(bench *self)
{
    return swarm_crew_is_told(self->crew);
}

// Those that actors go through, and those above.
static uint32_t
relays_of(const options *o)
{
    return o->relays + o->above;
}

static bool
daemons_exited(bench *self)
{
    return self->exited == 2 + relays_of(&self->options);
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
    return known >= self->wanted;
}

// Waits for each group: the learner gives actors those that it knows.
static void
relays_start(bench *self)
{
    const options *o = &self->options;
    for (uint32_t i = 0; i < relays_of(o); i++) {
        char url[64], above[64];
        bool is_above = i < o->above;
        (void)snprintf(url, sizeof(url), "ipc://%s/relay%u", self->folder, i);
        (void)snprintf(above, sizeof(above), "ipc://%s/relay%u", self->folder,
                       o->above > 0 ? i % o->above : 0);
        const char *arguments[] = {"--learner", self->learner_url, "--listen", url, NULL, NULL,
                                   NULL};
        if (is_above) {
            arguments[4] = "--only-relays";
        } else if (o->above > 0) {
            arguments[4] = "--relay";
            arguments[5] = above;
        }
        daemon_start(self, &self->relays[i], o->relay, arguments);
        self->wanted = i + 1;
        if (i + 1 == o->above || i + 1 == relays_of(o)) {
            bench_wait(self, "the relays", relays_are_known, 60);
        }
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
    for (uint32_t i = 0; i < relays_of(&self->options); i++) {
        net_process_kill(self->relays[i], SIGTERM);
    }
    bench_wait(self, "the daemons' end", daemons_exited, 20);
    net_process_destroy(self->learner);
    net_process_destroy(self->replay);
    for (uint32_t i = 0; i < relays_of(&self->options); i++) {
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
    const char *replay = self->learner ? self->replay_url : swarm_crew_replay_address(self->crew);
    bench_must(net_rpc_client_open(&rpc, self->loop,
                                   &(net_endpoint){replay, OCT_ROLES_ANY, 1u << 20, 1}, 1000),
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
    const swarm_version *seen = swarm_crew_versions(self->crew);
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
    uint64_t relays_bytes, relay_bytes_max;
    uint32_t relay_fds_max;
    double above_s;
    uint64_t machine[2];
} watch;

static void
watch_read(watch *out, const bench *self)
{
    swarm_usage_read(&out->learner, (int)self->options.learner_pid);
    swarm_usage_read(&out->replay, (int)self->options.replay_pid);
    swarm_crew_usage(self->crew, &out->self);
    for (uint32_t i = 0; i < relays_of(&self->options); i++) {
        swarm_usage relay;
        swarm_usage_read(&relay, net_process_pid(self->relays[i]));
        double run_s = (double)relay.run_ns * 1e-9;
        out->relays_s += run_s;
        out->above_s += i < self->options.above ? run_s : 0;
        out->relays_bytes += relay.rss_bytes;
        out->relay_bytes_max = OCT_MAX(out->relay_bytes_max, relay.rss_bytes);
        out->relay_fds_max = OCT_MAX(out->relay_fds_max, relay.fds);
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
    const swarm_counts *c = swarm_crew_counts(self->crew);
    double s = (double)(after->self.at_ns - before->self.at_ns) * 1e-9;
    fan_out out = {0};
    fan_out_read(&out, self);
    printf("{\"name\":\"swarm\",\"mode\":\"%s\",\"actors\":%u,\"subscribers\":%u,\"pushers\":%u,"
           "\"hidden\":\"%s\",\"delta\":%s,\"over\":\"%s\",\"commit\":\"%s\",\"cores\":%ld,"
           "\"seconds\":%.3f,\"joined_s\":%.3f,\"rows\":%u,\"batches_per_s\":%g,",
           o->mode, self->plan.actors, self->plan.subscribers, self->plan.pushers, o->hidden,
           o->delta ? "true" : "false", o->over, OCT_COMMIT, sysconf(_SC_NPROCESSORS_ONLN), s,
           joined_s, o->rows, o->batches_per_s);
    printf("\"offered_per_s\":%.0f,\"sent_per_s\":%.0f,\"acked_per_s\":%.0f,"
           "\"held_back\":%.4f,\"resent\":%" PRIu64 ",\"batch_bytes\":%u,"
           "\"batch_bytes_per_s\":%.0f,\"acks_per_s\":%.0f,\"ack_bytes_per_s\":%.0f,"
           "\"reports_per_s\":%.1f,",
           (double)c->offered * o->rows / s, (double)(c->sent - c->resent) * o->rows / s,
           (double)c->acked * o->rows / s,
           c->offered > 0 ? (double)c->held_back / (double)c->offered : 0, c->resent,
           swarm_crew_batch_bytes(self->crew), (double)c->sent_bytes / s, (double)c->acks / s,
           (double)c->ack_bytes / s, (double)c->reports / s);
    milliseconds_print("ack_ms_median_p99_max", swarm_crew_ack_seconds(self->crew));
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
    printf(",\"relays\":%u,\"above\":%u,\"relayed\":%u,\"relays_cores\":%.4f,"
           "\"above_cores\":%.4f,\"relays_rss_bytes\":%" PRIu64 ",\"relay_rss_bytes_max\":%" PRIu64
           ",\"relay_fds_max\":%u",
           o->relays, o->above, swarm_crew_relayed(self->crew),
           (after->relays_s - before->relays_s) / s, (after->above_s - before->above_s) / s,
           after->relays_bytes, after->relay_bytes_max, after->relay_fds_max);
    printf(",\"machine_busy\":%.3f}\n",
           (double)(after->machine[0] - before->machine[0]) /
               (double)OCT_MAX(after->machine[1] - before->machine[1], 1u));
}

static void
answers_check(const bench *self)
{
    const swarm_counts *c = swarm_crew_counts(self->crew);
    double made = (double)swarm_crew_made(self->crew);
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
    double patience_s = 60 + self->plan.actors * JOIN_S_MAX;
    swarm_crew_push(self->crew, true);
    swarm_crew_join(self->crew, 1);
    bench_wait(self, "the first actor", first_runs, 30);
    bench_pause(self, 0.3);
    watch_read(one, self);
    uint64_t begin_ns = oct_clock_ns();
    swarm_crew_join(self->crew, self->plan.actors);
    bench_wait(self, "all actors", all_run, patience_s);
    if (self->options.relays > 0 && swarm_crew_relayed(self->crew) != self->plan.actors) {
        bench_give_up("relays", "not every actor was given one");
    }
    double joined_s = (double)(oct_clock_ns() - begin_ns) * 1e-9;
    bench_pause(self, 1 + self->plan.actors * SETTLE_S); // who came late catches up
    swarm_crew_measure(self->crew, true);
    bench_wait(self, "the beginning", numbers_told, patience_s);
    watch_read(before, self);
    bench_pause(self, self->options.seconds);
    watch_read(after, self);
    swarm_crew_measure(self->crew, false);
    bench_wait(self, "the numbers", numbers_told, patience_s);
    swarm_crew_add_up(self->crew);
    report(self, one, before, after, joined_s);
    swarm_crew_push(self->crew, false);
    bench_wait(self, "the last acknowledgements", all_acked, patience_s);
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
        {"above", .whole = &o->above},
        {"processes", .whole = &o->processes},
        {"report_s", .number = &o->report_s},
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
                   .report_s = 0.25,
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
    if (relays_of(o) > RELAYS_MAX || (relays_of(o) > 0 && (!o->relay || o->at || !o->relays))) {
        bench_give_up("arguments", "relays are at most 256, and need relay=FILE and no at=");
    }
    if (o->actors < 1 || o->actors >= WIRE_PLACES_MAX || o->rows < 1 || o->rows > 4096 ||
        !(o->batches_per_s > 0) || !(o->versions_per_s > 0) || !(o->seconds > 0) ||
        !(o->report_s > 0)) {
        bench_give_up("arguments", "actors are 1 .. 16383, rows .. 4096, rates and times above 0");
    }
    if (o->processes == 0) {
        o->processes = (o->actors + ACTORS_A_PROCESS - 1) / ACTORS_A_PROCESS;
    }
    if (o->processes > OCT_MIN(o->actors, (uint32_t)SWARM_CREW_MAX)) {
        bench_give_up("arguments", "processes are at most 16, and not more than actors");
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
        .report_s = o->report_s,
    };
    self.crew = swarm_crew_create(&self.plan, o->processes); // forks: before anything else
    self.loop = net_loop_create();
    if (!o->at) {
        daemons_start(&self);
        relays_start(&self);
    }
    swarm_crew_begin(self.crew, o->at ? o->at : self.learner_url);
    bench_run(&self);
    swarm_crew_destroy(self.crew);
    self.crew = NULL;
    daemons_stop(&self);
    net_loop_exit_deadline(self.loop, 5000, 0);
    net_loop_destroy(self.loop);
    return 0;
}
