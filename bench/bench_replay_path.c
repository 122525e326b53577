// Steps through octet-replay as a process, over ipc: an actor that pushes and waits for acks,
// a learner (a thread of its own) that samples; first one at a time, then both. Checks that what
// was pushed, acknowledged and inserted is the same number, and that samples hold what was pushed.
// With a way to sync, the table is in a file of FOLDER, and is synced so.
// usage: bench_replay_path OCTET-REPLAY [quick] [none|interval|always FOLDER]
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_must.h"
#include "bench/bench_steps.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "net/net_process.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

#define SAMPLE_ROWS  256
#define UNACKED_MAX  32
#define IN_FLIGHT    2
#define RUN          1
#define ANSWER_BYTES (64u << 20)

static const uint8_t key[WIRE_TOKEN_KEY_BYTES]; // what Configure brings here

typedef struct pusher {
    net_loop *loop;
    net_push *push;
    net_sub *sub;
    uint64_t acked;
    uint64_t until; // sequence to reach
    bool is_busy;
    bench_steps steps;
} pusher;

typedef struct sampler {
    const char *url;
    uint32_t batches;         // of one request
    uint64_t until;           // windows to fetch, 0: until told to stop
    atomic_bool is_asked;     // to stop
    pthread_barrier_t *begun; // waited at once the first request is out; NULL: nobody waits
    net_loop *loop;
    wire_client *client;
    uint32_t in_flight;
    uint64_t fetched;
    double seconds;
} sampler;

typedef struct control {
    net_loop *loop;
    bool is_done;
    double rows, duplicates, gaps, cut, rejected, cpu_s;
} control;

// ---- the actor

static void
pusher_go(void *arg)
{
    pusher *self = arg;
    wire_batch *batch = &self->steps.batch;
    if (self->is_busy || batch->sequence == self->until ||
        batch->sequence - self->acked >= UNACKED_MAX) {
        return;
    }
    batch->first_unacked = self->acked + 1;
    bench_steps_next(&self->steps);
    net_msg *msg = net_msg_create(wire_batch_size(batch));
    wire_batch_pack(batch, net_msg_body(msg));
    self->is_busy = true;
    bench_must(net_push_send(self->push, msg), "push");
}

static void
pusher_ready(void *arg)
{
    pusher *self = arg;
    self->is_busy = false;
    pusher_go(self);
}

static void
pusher_acked(void *arg, net_msg *msg)
{
    pusher *self = arg;
    wire_ack ack;
    bench_must(wire_ack_unpack(&ack, net_msg_body(msg), net_msg_length(msg)), "ack");
    self->acked = ack.sequence;
    if (self->acked == self->until) {
        net_loop_stop(self->loop);
    }
    pusher_go(self);
}

static void
pusher_open(pusher *self, net_loop *loop, const char *url)
{
    char batches[NET_URL_MAX], acks[NET_URL_MAX];
    uint8_t ask[WIRE_ACK_REQUEST_BYTES_MAX];
    self->loop = loop;
    bench_steps_init(&self->steps, 1);
    wire_batch *batch = &self->steps.batch;
    wire_token_maker *maker = wire_token_maker_create(key);
    wire_token_make(maker, RUN, batch->session, batch->actor_id, batch->token);
    wire_token_maker_destroy(maker);
    bench_must(net_url_offset(url, 1, batches), "address");
    bench_must(net_url_offset(url, 2, acks), "address");
    wire_claim claim = {.actor_id = batch->actor_id, .session = batch->session};
    memcpy(claim.token, batch->token, sizeof(claim.token));
    net_push_events events = {.on_ready = pusher_ready, .arg = self};
    bench_must(net_push_open(&self->push, loop, batches, OCT_ROLES_ANY, &events), "push");
    bench_must(net_post_dial(&self->sub, loop, &(net_endpoint){acks, OCT_ROLES_ANY, 4096, 16},
                             &(net_sub_options){ask, wire_ack_request_pack(&claim, ask),
                                                pusher_acked, NULL, self}),
               "subscribe");
}

// Pushes count batches and waits until all are acknowledged. Gives the seconds.
static double
pusher_run(pusher *self, uint64_t count)
{
    uint64_t begin_ns = oct_clock_ns();
    self->until += count;
    pusher_go(self);
    while (self->acked < self->until) {
        net_loop_run(self->loop);
    }
    return (double)(oct_clock_ns() - begin_ns) / 1e9;
}

// ---- the learner

static void sampler_ask(sampler *self);

static void
sampler_answered(void *arg, oct_err err, const char *detail, const wire_sampled *sampled)
{
    sampler *self = arg;
    if (err != OCT_OK) {
        bench_give_up(detail, NULL);
    }
    bench_steps_check(sampled, 17);
    self->fetched += sampled->count;
    self->in_flight--;
    sampler_ask(self);
    if (self->in_flight == 0) {
        net_loop_stop(self->loop);
    }
}

static void
sampler_ask(sampler *self)
{
    wire_sample request = {
        .run_id = RUN, .batch_size = SAMPLE_ROWS, .batches = self->batches, .timeout_ms = 10000};
    while (self->in_flight < IN_FLIGHT && !atomic_load(&self->is_asked) &&
           (self->until == 0 || self->fetched < self->until)) {
        self->in_flight++;
        bench_must(wire_call_sample(self->client, &request, 20000, sampler_answered, self),
                   "sample");
    }
}

static void *
sampler_run(void *arg)
{
    sampler *self = arg;
    net_rpc_client *rpc;
    self->loop = net_loop_create();
    bench_must(net_rpc_client_open(
                   &rpc, self->loop,
                   &(net_endpoint){self->url, OCT_ROLES_ANY, ANSWER_BYTES, IN_FLIGHT}, 30000),
               "dial");
    self->client = wire_client_create(net_rpc_call, rpc, ANSWER_BYTES);
    uint64_t begin_ns = oct_clock_ns();
    sampler_ask(self);
    if (self->begun) {
        (void)pthread_barrier_wait(self->begun);
    }
    while (self->in_flight > 0) {
        net_loop_run(self->loop);
    }
    self->seconds = (double)(oct_clock_ns() - begin_ns) / 1e9;
    net_rpc_client_close(rpc);
    wire_client_destroy(self->client);
    net_loop_destroy(self->loop);
    return NULL;
}

// ---- control

static void
control_configured(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    (void)answer;
    control *self = arg;
    if (err != OCT_OK) {
        bench_give_up(detail, NULL);
    }
    self->is_done = true;
    net_loop_stop(self->loop);
}

static void
control_status(void *arg, oct_err err, const char *detail, const wire_status *status)
{
    control *self = arg;
    if (err != OCT_OK) {
        bench_give_up(detail, NULL);
    }
    struct {
        const char *name;
        double *value;
    } wanted[] = {
        {"replay.rows_taken", &self->rows},   {"replay.duplicates", &self->duplicates},
        {"replay.gaps", &self->gaps},         {"replay.cut", &self->cut},
        {"replay.rejected", &self->rejected}, {"replay.cpu_s", &self->cpu_s},
    };
    for (uint32_t i = 0; i < status->stat_count; i++) {
        for (size_t k = 0; k < OCT_COUNTOF(wanted); k++) {
            if (strcmp(status->stat_name[i], wanted[k].name) == 0) {
                *wanted[k].value = status->stat_value[i];
            }
        }
    }
    self->is_done = true;
    net_loop_stop(self->loop);
}

static void
control_wait(control *self)
{
    while (!self->is_done) {
        net_loop_run(self->loop);
    }
    self->is_done = false;
}

static void
control_ask(control *self, wire_client *client)
{
    bench_must(wire_call_replay_status(client, &(wire_empty){0}, 20000, control_status, self),
               "status");
    control_wait(self);
}

static void
daemon_exited(void *arg, net_process *process, int exit_status)
{
    (void)process;
    control *self = arg;
    if (!self->is_done && exit_status != 0) {
        bench_give_up("octet-replay ended early; its log is in the folder printed above", NULL);
    }
    self->is_done = true;
    net_loop_stop(self->loop);
}

static void
report(const char *name, uint32_t batch, double count, double seconds)
{
    printf("{\"name\":\"replay_path_%s\",\"batch\":%u,\"count\":%.0f,\"seconds\":%.3f,"
           "\"rate\":%.0f,\"unit\":\"steps or windows/s\",\"cores\":%ld}\n",
           name, batch, count, seconds, count / seconds, sysconf(_SC_NPROCESSORS_ONLN));
}

static void
push_run(pusher *push, uint64_t batches, control *ctl, wire_client *client)
{
    control_ask(ctl, client);
    double cpu_s = ctl->cpu_s, rows = (double)(batches * BENCH_ROWS);
    double seconds = pusher_run(push, batches);
    control_ask(ctl, client);
    report("push", BENCH_ROWS, rows, seconds);
    printf("{\"name\":\"replay_path_push_cpu\",\"ns\":%.1f,\"unit\":\"ns of octet-replay's CPU "
           "time per row\"}\n",
           (ctl->cpu_s - cpu_s) * 1e9 / rows);
}

static void
phases_run(pusher *push, const char *url, uint64_t batches)
{
    static const uint32_t per_request[] = {1, 8};
    for (size_t i = 0; i < OCT_COUNTOF(per_request); i++) {
        sampler sample = {.url = url, .batches = per_request[i], .until = batches * BENCH_ROWS / 2};
        (void)sampler_run(&sample);
        report(i == 0 ? "sample" : "sample_8_a_request", SAMPLE_ROWS, (double)sample.fetched,
               sample.seconds);
    }
    pthread_barrier_t begun;
    sampler sample = {.url = url, .batches = 8, .begun = &begun};
    pthread_t thread;
    if (pthread_barrier_init(&begun, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, sampler_run, &sample) != 0) {
        bench_give_up("no thread", NULL);
    }
    (void)pthread_barrier_wait(&begun); // or a short run could be over before the first sample
    double seconds = pusher_run(push, batches);
    atomic_store(&sample.is_asked, true);
    (void)pthread_join(thread, NULL);
    (void)pthread_barrier_destroy(&begun);
    report("push_while_sampled", BENCH_ROWS, (double)(batches * BENCH_ROWS), seconds);
    report("sample_while_pushed", SAMPLE_ROWS, (double)sample.fetched, sample.seconds);
}

// Where the daemon keeps its table; sync NULL: in memory.
typedef struct table_file {
    const char *sync; // of octet-replay --sync
    char path[512];
} table_file;

static void
nothing_lost(const control *self, const pusher *push)
{
    double pushed = (double)(push->steps.batch.sequence * BENCH_ROWS);
    double acked = (double)(push->acked * BENCH_ROWS);
    printf("{\"name\":\"replay_path_totals\",\"pushed\":%.0f,\"acked\":%.0f,\"taken\":%.0f,"
           "\"duplicates\":%.0f,\"gaps\":%.0f,\"cut\":%.0f,\"rejected\":%.0f,"
           "\"replay_cpu_s\":%.2f}\n",
           pushed, acked, self->rows, self->duplicates, self->gaps, self->cut, self->rejected,
           self->cpu_s);
    if (pushed != acked || pushed != self->rows || self->cut != 0 || self->rejected != 0) {
        bench_give_up("something was lost", NULL);
    }
}

static void
daemon_start(net_process **out, control *ctl, const char *file, const char *url, const char *folder,
             const table_file *table)
{
    char log[128], parent[16];
    (void)snprintf(log, sizeof(log), "%s/log", folder);
    (void)snprintf(parent, sizeof(parent), "%d", (int)getpid());
    const char *argv[] = {"octet-replay",
                          "--listen",
                          url,
                          "--follow-parent",
                          parent,
                          table->sync ? "--path" : NULL,
                          table->path,
                          "--sync",
                          table->sync,
                          NULL};
    net_process_spec spec = {.file = file, .argv = argv, .folder = folder, .log_path = log};
    bench_must(net_process_start(out, ctl->loop, &spec, daemon_exited, ctl), file);
}

static void
daemon_stop(net_process *process, control *ctl, const char *folder)
{
    static const char *const names[] = {"log", "s", "s.1", "s.2"};
    char path[128];
    net_process_kill(process, SIGTERM);
    control_wait(ctl);
    net_process_destroy(process);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

int
main(int argc, char **argv)
{
    char *file = argc > 1 ? realpath(argv[1], NULL) : NULL; // it runs in a folder of its own
    if (!file) {
        fprintf(stderr,
                "usage: bench_replay_path OCTET-REPLAY [quick] [none|interval|always FOLDER]\n");
        return 2;
    }
    bool is_quick = argc > 2 && strcmp(argv[2], "quick") == 0;
    table_file table = {0};
    if (argc == 4 + is_quick) {
        table.sync = argv[2 + is_quick];
        (void)snprintf(table.path, sizeof(table.path), "%s/bench_replay_path.%ld",
                       argv[3 + is_quick], (long)getpid());
    }
    char folder[] = "/tmp/octet-bench-XXXXXX", url[NET_URL_MAX];
    if (!mkdtemp(folder)) {
        bench_give_up("no folder in /tmp", NULL);
    }
    (void)snprintf(url, sizeof(url), "ipc://%s/s", folder);
    control ctl = {.loop = net_loop_create()};
    net_process *process;
    daemon_start(&process, &ctl, file, url, folder, &table);
    net_rpc_client *rpc;
    bench_must(
        net_rpc_client_open(&rpc, ctl.loop, &(net_endpoint){url, OCT_ROLES_ANY, 1u << 20, 4}, 1000),
        "dial");
    wire_client *client = wire_client_create(net_rpc_call, rpc, 1u << 20);
    wire_configure configure = {
        .run_id = RUN,
        .capacity = is_quick ? 20000 : 1000000,
        .obs_bytes = BENCH_OBS_FLOATS * sizeof(float),
        .obs_is_float = true,
        .action_bytes = sizeof(int32_t),
        .streams = 1,
        .window = WIRE_WINDOW_N_STEP,
        .window_steps = 1,
        .discount = 0.99,
        .sampler = WIRE_SAMPLER_PRIORITIZED,
        .priority_exponent = 0.6,
        .min_size = 1,
        .seed = 1,
    };
    bench_must(wire_call_configure(client, &configure, 20000, control_configured, &ctl),
               "configure");
    control_wait(&ctl);
    pusher *push = oct_alloc(sizeof(*push));
    pusher_open(push, ctl.loop, url);
    uint64_t batches = is_quick ? 50 : 4000;
    push_run(push, table.sync ? 10 * batches : batches, &ctl, client); // several syncs of a second
    phases_run(push, url, batches);
    control_ask(&ctl, client);
    nothing_lost(&ctl, push);
    daemon_stop(process, &ctl, folder);
    (void)unlink(table.path);
    net_loop_exit_deadline(ctl.loop, 2000, 0);
    net_push_close(push->push);
    net_sub_close(push->sub);
    net_rpc_client_close(rpc);
    wire_client_destroy(client);
    net_loop_destroy(ctl.loop);
    free(push);
    free(file);
    return 0;
}
