// The latency of a new policy from the learner's weights to the first action with it, on one host.
// usage: bench_policy_path [quick | n=VERSIONS] [net=NAME] [precision=int8|int4] [complete]
//
// First each part alone (quantise, encode, decode, pack), in CPU time of its thread. Then the whole
// path by the code of both daemons: a quantizer stage, PUB and SUB over ipc, a receiver, and an
// acting thread that never stops acting. Weights move by a step or two of their codes between
// versions, as in training. Before anything is timed the outputs of the acting thread are held
// against those of the learner's complete policy, bit for bit. One JSON line for each part:
// microseconds.

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench_must.h"
#include "bench/bench_sort.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_latest.h"
#include "common/oct_reason.h"
#include "common/oct_ring.h"
#include "net/net_pub.h"
#include "net/net_url.h"
#include "policy/codec/codec_delta.h"
#include "policy/codec/codec_receiver.h"
#include "proto/wire.h"
#include "quantizer/quantizer_stage.h"
#include "tests/policy/random_policy.h"

#define ROWS         16 // environments of the actor
#define OBS          24
#define ACTIONS      6
#define VERSIONS_MAX 2000
#define CHECKED      3
#define QUEUE        16
#define RUN          7
#define PATIENCE_S   30
#define RETIRED      8

typedef struct bench_net {
    const char *name;
    uint32_t count;
    uint32_t widths[6];
    uint32_t versions;
} bench_net;

static const uint8_t topic[] = {'O', 'C', 'T', WIRE_POLICY};

static const bench_net nets[] = {
    {"3x512", 5, {OBS, 512, 512, 512, ACTIONS}, 500},
    {"3x2048", 5, {OBS, 2048, 2048, 2048, ACTIONS}, 60},
};

// ---- results

typedef struct samples {
    uint32_t count;
    double us[VERSIONS_MAX];
} samples;

typedef struct bench_case {
    const bench_net *net;
    policy_precision precision;
    bool delta;
    uint32_t versions;
    policy_spec spec;
    size_t param_count;
    float *params;
    oct_rng rng;
    float obs[ROWS * OBS];
} bench_case;

static void
report(const bench_case *c, const char *part, samples *s, double bytes)
{
    if (s->count == 0) {
        return;
    }
    bench_sort(s->us, s->count);
    printf("{\"name\":\"policy_path\",\"net\":\"%s\",\"precision\":\"%s\",\"sent\":\"%s\","
           "\"part\":\"%s\",\"median\":%.2f,\"min\":%.2f,\"p99\":%.2f,\"unit\":\"us\",\"n\":%u,"
           "\"bytes\":%.0f,\"weights\":%zu,\"cores\":%ld,\"commit\":\"%s\"}\n",
           c->net->name, policy_precision_name(c->precision), c->delta ? "delta" : "complete", part,
           s->us[s->count / 2], s->us[0], s->us[(s->count - 1) * 99 / 100], s->count, bytes,
           c->param_count, sysconf(_SC_NPROCESSORS_ONLN), OCT_COMMIT);
    s->count = 0;
}

static void
add(samples *s, uint64_t from_ns, uint64_t to_ns)
{
    if (s->count < VERSIONS_MAX) {
        s->us[s->count++] = (double)(to_ns - from_ns) * 1e-3;
    }
}

// ---- weights

static void
params_begin(bench_case *c)
{
    c->params = oct_alloc(c->param_count * sizeof(float));
    for (uint32_t l = 0; l < c->spec.layer_count; l++) {
        const policy_layer *layer = &c->spec.layers[l];
        float spread = 1.7f / sqrtf((float)layer->inputs);
        random_floats(c->params + policy_spec_layer(&c->spec, l).weight,
                      (size_t)layer->inputs * layer->outputs, spread, &c->rng);
    }
}

// About three of four int8 codes change.
static void
params_step(bench_case *c)
{
    for (uint32_t l = 0; l < c->spec.layer_count; l++) {
        const policy_layer *layer = &c->spec.layers[l];
        float *w = c->params + policy_spec_layer(&c->spec, l).weight;
        float step = 1.7f / sqrtf((float)layer->inputs) / 127.0f;
        size_t count = (size_t)layer->inputs * layer->outputs;
        for (size_t i = 0; i < count; i++) {
            float u = oct_rng_float(&c->rng) + oct_rng_float(&c->rng) - 1.0f;
            w[i] += 3.0f * step * u;
        }
    }
}

// ---- each part alone, in CPU time: other work on the machine does not count

typedef struct parts {
    samples copy, quantise, encode, encode_delta, decode, apply, pack;
} parts;

typedef struct bench_lab {
    policy_image *previous, *next;
    codec_coder *coder;
    codec_receiver *complete, *chain;
    uint8_t *bytes, *check;
    float *snapshot;
    double delta_bytes, complete_bytes, changed;
} bench_lab;

static void
lab_decode(bench_lab *lab, parts *p, const uint8_t *delta, size_t delta_length, size_t length)
{
    oct_reason why;
    const policy_image *image;
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    bench_must(codec_receiver_take(lab->complete, lab->bytes, length, &image, &why),
               "complete policy");
    add(&p->decode, begin_ns, oct_clock_thread_cpu_ns());
    bool is_delta = delta != NULL;
    begin_ns = oct_clock_thread_cpu_ns();
    bench_must(codec_receiver_take(lab->chain, is_delta ? delta : lab->bytes,
                                   is_delta ? delta_length : length, &image, &why),
               "change");
    if (is_delta) {
        add(&p->apply, begin_ns, oct_clock_thread_cpu_ns());
    }
    policy_image held = *image; // borrows the tensors
    held.origin.base_version = 0;
    policy_encode(&held, lab->check);
    if (memcmp(lab->check, lab->bytes, length) != 0) {
        bench_give_up("the changes gave another policy", NULL);
    }
    policy_net *net;
    begin_ns = oct_clock_thread_cpu_ns();
    bench_must(policy_net_create(&net, image, POLICY_ISA_BEST), "pack");
    add(&p->pack, begin_ns, oct_clock_thread_cpu_ns());
    policy_net_destroy(net);
}

static void
lab_step(bench_case *c, bench_lab *lab, parts *p, uint64_t version)
{
    const quantizer_method *method = &QUANTIZER_METHOD_DEFAULT;
    uint64_t at[5];
    at[0] = oct_clock_thread_cpu_ns();
    memcpy(lab->snapshot, c->params, c->param_count * sizeof(float));
    at[1] = oct_clock_thread_cpu_ns();
    quantizer_changes changes = {0};
    if (version == 1) {
        bench_must(quantizer_convert(lab->next, lab->snapshot, method), "convert");
    } else {
        bench_must(quantizer_update(lab->next, lab->previous, lab->snapshot, method, &changes),
                   "update");
    }
    lab->next->origin = (policy_origin){.run_id = RUN, .version = version, .run_name = "bench"};
    at[2] = oct_clock_thread_cpu_ns();
    size_t length = policy_encoded_size(lab->next);
    policy_encode(lab->next, lab->bytes);
    at[3] = oct_clock_thread_cpu_ns();
    const uint8_t *delta = NULL;
    size_t delta_length = 0;
    if (version > 1) {
        bench_must(codec_delta_encode(lab->coder, lab->previous, lab->next, &delta, &delta_length),
                   "encode the change");
    }
    at[4] = oct_clock_thread_cpu_ns();
    if (version > 2) { // buffers are touched, caches as they will be
        add(&p->copy, at[0], at[1]);
        add(&p->quantise, at[1], at[2]);
        add(&p->encode, at[2], at[3]);
        add(&p->encode_delta, at[3], at[4]);
        lab->changed = (double)changes.codes / (double)changes.weights;
    }
    lab->delta_bytes = (double)delta_length;
    lab->complete_bytes = (double)length;
    lab_decode(lab, p, delta, delta_length, length);
}

static void
bench_parts(bench_case *c)
{
    static parts p;
    bench_lab lab = {.coder = codec_coder_create(&c->spec, c->precision),
                     .complete = codec_receiver_create(),
                     .chain = codec_receiver_create(),
                     .snapshot = oct_alloc(c->param_count * sizeof(float))};
    bench_must(policy_image_create(&lab.previous, &c->spec, c->precision), "image");
    bench_must(policy_image_create(&lab.next, &c->spec, c->precision), "image");
    lab.bytes = oct_alloc(policy_encoded_size(lab.next));
    lab.check = oct_alloc(policy_encoded_size(lab.next));
    uint32_t versions = OCT_MIN(c->versions, 60u) + 2;
    for (uint64_t version = 1; version <= versions; version++) {
        lab_step(c, &lab, &p, version);
        policy_image *published = lab.next;
        lab.next = lab.previous;
        lab.previous = published;
        params_step(c);
    }
    double fp32 = (double)c->param_count * sizeof(float);
    report(c, "snapshot", &p.copy, fp32);
    report(c, "quantise", &p.quantise, fp32);
    report(c, "encode_complete", &p.encode, lab.complete_bytes);
    report(c, "encode_delta", &p.encode_delta, lab.delta_bytes);
    report(c, "decode_complete", &p.decode, lab.complete_bytes);
    report(c, "apply_delta", &p.apply, lab.delta_bytes);
    report(c, "pack", &p.pack, lab.complete_bytes);
    printf("{\"name\":\"policy_path_size\",\"net\":\"%s\",\"precision\":\"%s\",\"changed\":%.3f,"
           "\"fp32_over_complete\":%.2f,\"fp32_over_delta\":%.2f}\n",
           c->net->name, policy_precision_name(c->precision), lab.changed,
           fp32 / lab.complete_bytes, fp32 / lab.delta_bytes);
    policy_image_destroy(lab.previous);
    policy_image_destroy(lab.next);
    codec_coder_destroy(lab.coder);
    codec_receiver_destroy(lab.complete);
    codec_receiver_destroy(lab.chain);
    free(lab.bytes);
    free(lab.check);
    free(lab.snapshot);
}

// ---- the whole path

// When what happened to the version under way, oct_clock_ns.
enum moment {
    OFFERED,
    TAKEN,
    SENT,
    ARRIVED,
    UNPACKED,
    APPLIED,
    PACKED,
    SWAPS,
    SWAPPED,
    ACTED,
    MOMENTS
};

typedef struct path {
    bench_case *c;
    char url[NET_URL_MAX];
    atomic_uint_fast64_t at[MOMENTS];
    atomic_uint_fast64_t bytes; // sent last
    sem_t acted;
    atomic_bool is_heard; // the subscriber has got a hello
    atomic_bool is_over;

    // learner
    net_loop *learner_loop;
    net_wakeup *learner_wakeup;
    net_pub *pub;
    quantizer_stage *stage;
    _Atomic(quantizer_publication *) latest;

    // actor
    net_loop *actor_loop;
    net_wakeup *actor_wakeup;
    net_sub *sub;
    wire_arena *arena;
    codec_receiver *receiver;
    oct_latest policy;
    oct_ring *retired;
    float y[ROWS * ACTIONS]; // of the acting thread with the newest version
} path;

static void
mark(path *p, enum moment moment)
{
    atomic_store_explicit(&p->at[moment], oct_clock_ns(), memory_order_relaxed);
}

static void
publish(path *p, quantizer_publication *publication)
{
    bool is_delta = publication->delta != NULL;
    wire_policy policy = {
        .run_id = RUN,
        .version = publication->version,
        .base_version = publication->base_version,
        .updates = publication->updates,
        .bytes = is_delta ? publication->delta : publication->bytes,
        .length = is_delta ? publication->delta_length : publication->length,
    };
    net_msg *msg = net_msg_create(wire_policy_size(&policy));
    wire_policy_pack(&policy, net_msg_body(msg));
    atomic_store_explicit(&p->bytes, policy.length, memory_order_relaxed);
    quantizer_publication_release(atomic_exchange(&p->latest, publication));
    mark(p, SENT);
    net_pub_send(p->pub, msg);
}

// The topic alone. PUB drops what it sends before it has taken up a subscriber, which is later than
// the subscriber's side is connected: it says hello until the subscriber has heard it.
static void
say_hello(path *p)
{
    net_msg *msg = net_msg_create(sizeof(topic));
    memcpy(net_msg_body(msg), topic, sizeof(topic));
    net_pub_send(p->pub, msg);
}

static void
learner_woke(void *arg)
{
    path *p = arg;
    if (!atomic_load(&p->is_heard)) {
        say_hello(p);
    }
    quantizer_publication *publication;
    while ((publication = quantizer_stage_take(p->stage)) != NULL) {
        mark(p, TAKEN);
        publish(p, publication);
    }
    if (atomic_load(&p->is_over)) {
        net_loop_stop(p->learner_loop);
    }
}

static void
stage_notify(void *arg)
{
    path *p = arg;
    net_wakeup_send(p->learner_wakeup);
}

static void *
learner_run(void *arg)
{
    path *p = arg;
    net_loop_run(p->learner_loop);
    return NULL;
}

static void
policy_arrived(void *arg, net_msg *msg)
{
    path *p = arg;
    oct_reason why = {""};
    wire_policy policy;
    const policy_image *image;
    policy_net *net;
    if (net_msg_length(msg) == sizeof(topic)) {
        atomic_store(&p->is_heard, true);
        return;
    }
    mark(p, ARRIVED);
    wire_arena_reset(p->arena);
    bench_must(wire_policy_unpack(&policy, p->arena, net_msg_body(msg), net_msg_length(msg)),
               "unpack");
    mark(p, UNPACKED);
    bench_must(codec_receiver_take(p->receiver, policy.bytes, policy.length, &image, &why),
               "apply");
    mark(p, APPLIED);
    bench_must(policy_net_create(&net, image, POLICY_ISA_BEST), "pack");
    mark(p, PACKED);
    policy_net_destroy(oct_latest_put(&p->policy, net));
    void *old;
    while (oct_ring_pop(p->retired, &old) == OCT_OK) {
        policy_net_destroy(old);
    }
}

static void
actor_woke(void *arg)
{
    path *p = arg;
    if (atomic_load(&p->is_over)) {
        net_loop_stop(p->actor_loop);
    }
}

static void *
actor_run(void *arg)
{
    path *p = arg;
    net_loop_run(p->actor_loop);
    return NULL;
}

// As an actor's acting thread does: looks for a newer policy between two steps.
static void *
acting_run(void *arg)
{
    path *p = arg;
    policy_net *net = NULL;
    policy_scratch *scratch = policy_scratch_create(&p->c->spec, ROWS);
    int32_t actions[ROWS];
    float y[ROWS * ACTIONS];
    while (!atomic_load_explicit(&p->is_over, memory_order_relaxed)) {
        uint64_t begin_ns = oct_clock_ns();
        policy_net *newer = oct_latest_take(&p->policy);
        if (newer != NULL) {
            if (net != NULL && oct_ring_push(p->retired, net) != OCT_OK) {
                policy_net_destroy(net);
            }
            net = newer;
            atomic_store_explicit(&p->at[SWAPS], begin_ns, memory_order_relaxed);
            mark(p, SWAPPED);
        }
        if (net == NULL) {
            struct timespec rest = {.tv_nsec = 100000};
            (void)nanosleep(&rest, NULL);
            continue;
        }
        policy_forward(net, scratch, p->c->obs, OBS * sizeof(float), ROWS, y);
        policy_act(&p->c->spec, y, ROWS, actions);
        if (newer != NULL) {
            mark(p, ACTED);
            memcpy(p->y, y, sizeof(y));
            (void)sem_post(&p->acted);
        }
    }
    policy_net_destroy(net);
    policy_scratch_destroy(scratch);
    return NULL;
}

static void
wait_for(sem_t *sem, const char *what)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (sem_timedwait(sem, &until) != 0) {
        bench_give_up(what, NULL);
    }
}

// The acting thread's outputs against those of the complete policy that the learner holds.
static void
check_outputs(path *p)
{
    oct_reason why = {""};
    const quantizer_publication *latest = atomic_load(&p->latest);
    policy_image *image;
    policy_net *net;
    float y[ROWS * ACTIONS];
    bench_must(policy_decode(&image, latest->bytes, latest->length, &why), "complete policy");
    bench_must(policy_net_create(&net, image, POLICY_ISA_REF), "pack");
    policy_scratch *scratch = policy_scratch_create(&p->c->spec, ROWS);
    policy_forward(net, scratch, p->c->obs, OBS * sizeof(float), ROWS, y);
    if (memcmp(y, p->y, sizeof(y)) != 0) {
        bench_give_up("the actor acts with another policy than the learner's", NULL);
    }
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    policy_image_destroy(image);
}

static void
path_open(path *p)
{
    quantizer_stage_options options = {
        .spec = &p->c->spec,
        .precision = p->c->precision,
        .delta = p->c->delta,
        .run_id = RUN,
        .run_name = "bench",
        .probe_period_s = 1e9,
    };
    (void)sem_init(&p->acted, 0, 0);
    p->learner_loop = net_loop_create();
    p->learner_wakeup = net_wakeup_create(p->learner_loop, learner_woke, p);
    bench_must(net_pub_open(&p->pub, p->learner_loop, p->url, OCT_ROLES_ANY, QUEUE), "publish");
    bench_must(quantizer_stage_create(&p->stage, &options, stage_notify, p), "stage");
    p->actor_loop = net_loop_create();
    p->actor_wakeup = net_wakeup_create(p->actor_loop, actor_woke, p);
    p->arena = wire_arena_create(1u << 26);
    p->receiver = codec_receiver_create();
    p->retired = oct_ring_create(RETIRED);
    oct_latest_init(&p->policy);
    bench_must(net_sub_open(&p->sub, p->actor_loop,
                            &(net_endpoint){p->url, OCT_ROLES_ANY, 1u << 26, QUEUE},
                            &(net_sub_options){topic, sizeof(topic), policy_arrived, NULL, p}),
               "subscribe");
}

static void
meet(path *p)
{
    const struct timespec rest = {.tv_nsec = 1000000};
    uint64_t until_ns = oct_clock_ns() + PATIENCE_S * UINT64_C(1000000000);
    while (!atomic_load(&p->is_heard)) {
        if (oct_clock_ns() > until_ns) {
            bench_give_up("the subscriber hears nothing", NULL);
        }
        net_wakeup_send(p->learner_wakeup);
        (void)nanosleep(&rest, NULL);
    }
}

typedef struct path_samples {
    samples encode, wake, send, unpack, apply, pack, noticed, swap, act, whole;
} path_samples;

static void
path_note(path *p, path_samples *s)
{
    uint64_t at[MOMENTS];
    for (int m = 0; m < MOMENTS; m++) {
        at[m] = atomic_load_explicit(&p->at[m], memory_order_relaxed);
    }
    add(&s->encode, at[OFFERED], at[TAKEN]);
    add(&s->wake, at[TAKEN], at[SENT]);
    add(&s->send, at[SENT], at[ARRIVED]);
    add(&s->unpack, at[ARRIVED], at[UNPACKED]);
    add(&s->apply, at[UNPACKED], at[APPLIED]);
    add(&s->pack, at[APPLIED], at[PACKED]);
    add(&s->noticed, at[PACKED], OCT_MAX(at[PACKED], at[SWAPS]));
    add(&s->swap, at[SWAPS], at[SWAPPED]);
    add(&s->act, at[SWAPPED], at[ACTED]);
    add(&s->whole, at[OFFERED], at[ACTED]);
}

static void
path_step(path *p, path_samples *s, uint64_t version)
{
    mark(p, OFFERED);
    while (!quantizer_stage_offer(p->stage, p->c->params, version, version)) {
    }
    wait_for(&p->acted, "no action with the new policy");
    if (version <= CHECKED) {
        check_outputs(p);
    } else {
        path_note(p, s);
    }
}

static void
path_close(path *p, const pthread_t threads[3])
{
    atomic_store(&p->is_over, true);
    net_wakeup_send(p->learner_wakeup);
    net_wakeup_send(p->actor_wakeup);
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    quantizer_publication_release(atomic_load(&p->latest));
    quantizer_stage_destroy(p->stage);
    policy_net_destroy(oct_latest_take(&p->policy));
    void *old;
    while (oct_ring_pop(p->retired, &old) == OCT_OK) {
        policy_net_destroy(old);
    }
    oct_ring_destroy(p->retired);
    codec_receiver_destroy(p->receiver);
    wire_arena_destroy(p->arena);
    net_loop_exit_deadline(p->learner_loop, 2000, 0);
    net_pub_close(p->pub);
    net_sub_close(p->sub);
    net_wakeup_destroy(p->learner_wakeup);
    net_wakeup_destroy(p->actor_wakeup);
    net_loop_destroy(p->actor_loop);
    net_loop_destroy(p->learner_loop);
}

static void
path_report(path *p, path_samples *s)
{
    double bytes = (double)atomic_load(&p->bytes);
    report(p->c, "path_copy_quantise_encode", &s->encode, bytes);
    report(p->c, "path_envelope", &s->wake, bytes);
    report(p->c, "path_transport", &s->send, bytes);
    report(p->c, "path_unpack", &s->unpack, bytes);
    report(p->c, "path_decode", &s->apply, bytes);
    report(p->c, "path_pack", &s->pack, bytes);
    report(p->c, "path_noticed", &s->noticed, 0);
    report(p->c, "path_swap", &s->swap, 0);
    report(p->c, "path_first_action", &s->act, 0);
    report(p->c, "path_whole", &s->whole, bytes);
}

static void
bench_path(bench_case *c, const char *folder)
{
    static path p;
    static path_samples s;
    pthread_t threads[3];
    void *(*const runs[])(void *) = {learner_run, actor_run, acting_run};
    p.c = c;
    (void)snprintf(p.url, sizeof(p.url), "ipc://%s/policies", folder);
    path_open(&p);
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, runs[i], &p) != 0) {
            bench_give_up("no thread", NULL);
        }
    }
    meet(&p);
    for (uint64_t version = 1; version <= c->versions + CHECKED; version++) {
        path_step(&p, &s, version);
        params_step(c);
    }
    path_report(&p, &s);
    fflush(stdout);
    path_close(&p, threads);
}

// A process for each net: closing NNG's sockets may hang, and memory is as fresh for each.
static bool
bench_net_run(const bench_net *net, policy_precision precision, bool delta, uint32_t versions)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) {
        int status = 1;
        return child > 0 && waitpid(child, &status, 0) == child && status == 0;
    }
    char folder[] = "/tmp/octet-bench-XXXXXX", address[64];
    if (mkdtemp(folder) == NULL) {
        bench_give_up("no folder in /tmp", NULL);
    }
    static bench_case c;
    c.net = net;
    c.precision = precision;
    c.delta = delta;
    c.versions = versions > 0 ? versions : net->versions;
    c.spec = random_spec(net->widths, net->count, POLICY_RELU, false);
    c.param_count = policy_spec_params(&c.spec);
    oct_rng_init(&c.rng, 1, 0);
    random_floats(c.obs, ROWS * OBS, 1.0f, &c.rng);
    params_begin(&c);
    bench_parts(&c);
    bench_path(&c, folder);
    free(c.params);
    (void)snprintf(address, sizeof(address), "%s/policies", folder);
    (void)unlink(address);
    (void)rmdir(folder);
    exit(0);
}

int
main(int argc, char **argv)
{
    uint32_t versions = 0;
    const char *only = NULL;
    char word[8];
    policy_precision precision = POLICY_INT8;
    bool is_quick = false, delta = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            is_quick = true;
            versions = 5;
        } else if (strcmp(argv[i], "complete") == 0) {
            delta = false;
        } else if (sscanf(argv[i], "n=%u", &versions) == 1) {
            versions = OCT_MAX(1u, OCT_MIN(versions, (uint32_t)VERSIONS_MAX));
        } else if (strncmp(argv[i], "net=", 4) == 0) {
            only = argv[i] + 4;
        } else if (sscanf(argv[i], "precision=%7s", word) != 1 ||
                   !policy_precision_parse(&precision, word) || !policy_is_integer(precision)) {
            fprintf(stderr,
                    "usage: %s [quick | n=VERSIONS] [net=NAME] [precision=int8|int4] [complete]\n",
                    argv[0]);
            return 2;
        }
    }
    bool is_done = true, is_known = false;
    for (size_t i = 0; i < OCT_COUNTOF(nets) && !(is_quick && i > 0); i++) {
        if (only == NULL || strcmp(only, nets[i].name) == 0) {
            is_done = bench_net_run(&nets[i], precision, delta, versions) && is_done;
            is_known = true;
        }
    }
    if (!is_known) {
        fprintf(stderr, "%s: no net '%s'%s\n", argv[0], only, is_quick ? " that is quick" : "");
        return 2;
    }
    return is_done ? 0 : 1;
}
