// One forward pass of a policy: microseconds for each net, batch, instruction set and precision.
// usage: bench_policy_forward [quick | n=REPEATS] [net=NAME] [batch=B] [isa=NAME]
//
// Every answer is compared with the reference first, to the bit. Beside it, in the same run and in
// turns with it so that noise hits all alike: a plain read of as many bytes as the int8 weights, a
// plain program in int8 and FP32, OpenBLAS in FP32, oneDNN's int8 inner product
// (bench_policy_peers.h). One JSON line each, times in us per call; at the end a table of the bars
// that this project has set itself.

#include "bench/bench_policy_peers.h"
#include "bench/bench_sort.h"
#include "common/oct_commit.h"
#include "tests/policy/random_policy.h"

#define BATCH_MAX       256
#define REPEATS_MAX     1001
#define OUTPUTS         6
#define OBSERVATION     24
#define CONTESTANTS_MAX 32
#define QUICK_WIDTH_MAX 512
#define WARM_CALLS_MAX  8 // before each repeat, as many of them as take WARM_US, at least one
#define WARM_US         1e4
// Products that the reference may compute to check a round of one precision.
#define REFERENCE_WORK       60e6
#define REFERENCE_WORK_QUICK 5e6

typedef struct bench_net {
    const char *name;
    uint32_t count;
    uint32_t widths[5];
} bench_net;

static const bench_net nets[] = {
    {"2x64", 4, {OBSERVATION, 64, 64, OUTPUTS}},
    {"2x256", 4, {OBSERVATION, 256, 256, OUTPUTS}},
    {"3x512", 5, {OBSERVATION, 512, 512, 512, OUTPUTS}},
    {"3x2048", 5, {OBSERVATION, 2048, 2048, 2048, OUTPUTS}},
};
static const uint32_t batches[] = {1, 8, 32, 256};
static const policy_isa isas[] = {POLICY_ISA_VNNI, POLICY_ISA_AVXVNNI, POLICY_ISA_NEON,
                                  POLICY_ISA_AVX2};
static const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8,
                                              POLICY_INT4};

// What is timed: one call of run, in us.
typedef struct contestant {
    const char *isa; // NULL: a peer
    policy_precision precision;
    bench_peer peer;
    uint32_t calls;      // in one repeat
    uint32_t warm_calls; // before it
    double us[REPEATS_MAX];
    double median_us, min_us;
} contestant;

typedef struct options {
    uint32_t repeats;
    bool is_quick;
    const char *net;
    const char *isa;
    uint32_t batch;
} options;

// The contestants of one net and batch.
typedef struct round {
    const bench_net *shape;
    uint32_t B;
    uint32_t count;
    contestant all[CONTESTANTS_MAX];
} round_of;

static double
weights_count(const bench_net *shape)
{
    double sum = 0.0;
    for (uint32_t l = 0; l + 1 < shape->count; l++) {
        sum += (double)shape->widths[l] * shape->widths[l + 1];
    }
    return sum;
}

// So many calls that a repeat takes a third of a millisecond: reading the clock does not count.
static void
contestant_warm(contestant *c)
{
    c->calls = 1;
    bench_peer_us(&c->peer, 1);
    double us = bench_peer_us(&c->peer, 1);
    c->warm_calls = (uint32_t)OCT_MAX(1.0, OCT_MIN((double)WARM_CALLS_MAX, WARM_US / us));
    while (bench_peer_us(&c->peer, c->calls) * c->calls < 300.0) {
        c->calls *= 2;
    }
}

static void
round_time(round_of *round, const options *o)
{
    for (uint32_t i = 0; i < round->count && !o->is_quick; i++) {
        contestant_warm(&round->all[i]);
    }
    for (uint32_t n = 0; n < o->repeats; n++) {
        for (uint32_t i = 0; i < round->count; i++) {
            contestant *c = &round->all[i];
            // What the one before left in the caches is not this one's. An outer cache that has
            // just room for a network needs several calls until it holds it.
            bench_peer_us(&c->peer, c->warm_calls);
            c->us[n] = bench_peer_us(&c->peer, OCT_MAX(c->calls, 1u));
        }
    }
    for (uint32_t i = 0; i < round->count; i++) {
        contestant *c = &round->all[i];
        bench_sort(c->us, o->repeats);
        c->median_us = c->us[o->repeats / 2];
        c->min_us = c->us[0];
    }
}

// The reference with the last rows of the batch, as many as it computes in a short time.
static bench_own_net *
reference_of(const policy_image *image, const round_of *round, const options *o, const float *obs)
{
    double work = o->is_quick ? REFERENCE_WORK_QUICK : REFERENCE_WORK;
    double affordable = OCT_MAX(1.0, work / weights_count(round->shape));
    uint32_t rows = affordable < round->B ? (uint32_t)affordable : round->B;
    size_t first = (size_t)(round->B - rows) * round->shape->widths[0];
    return bench_own_net_create(image, POLICY_ISA_REF, obs + first, rows);
}

static void
expect_reference(const bench_own_net *own, const bench_own_net *want, policy_precision precision)
{
    const float *y = own->y + (size_t)(own->B - want->B) * OUTPUTS;
    if (memcmp(y, want->y, want->B * OUTPUTS * sizeof(float)) != 0) {
        fprintf(stderr, "wrong answer: %s %s, batch %u, is not that of the reference\n",
                policy_isa_name(policy_net_isa(own->net)), policy_precision_name(precision),
                own->B);
        exit(1);
    }
}

static void
round_add_peer(round_of *round, bench_peer peer)
{
    if (peer.self != NULL) {
        OCT_ASSERT(round->count < CONTESTANTS_MAX);
        round->all[round->count++] = (contestant){.peer = peer};
    }
}

static void
round_add_own(round_of *round, const options *o, const float *obs)
{
    policy_spec spec = random_spec(round->shape->widths, round->shape->count, POLICY_RELU, false);
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        oct_rng rng;
        oct_rng_init(&rng, 1, p);
        policy_image *image = random_image(&spec, precisions[p], false, &rng);
        bench_own_net *want = reference_of(image, round, o, obs);
        for (size_t i = 0; i < OCT_COUNTOF(isas); i++) {
            const char *isa = policy_isa_name(isas[i]);
            bool is_asked = o->isa == NULL || strcmp(o->isa, isa) == 0;
            bench_own_net *own =
                is_asked ? bench_own_net_create(image, isas[i], obs, round->B) : NULL;
            if (own != NULL) {
                expect_reference(own, want, precisions[p]);
                round_add_peer(round, bench_peer_own(own));
                round->all[round->count - 1].isa = isa;
                round->all[round->count - 1].precision = precisions[p];
            }
        }
        bench_own_net_destroy(want);
        policy_image_destroy(image);
    }
}

static const contestant *
round_find(const round_of *round, const char *isa, policy_precision precision)
{
    for (uint32_t i = 0; i < round->count; i++) {
        const contestant *c = &round->all[i];
        if (c->isa != NULL && strcmp(c->isa, isa) == 0 && c->precision == precision) {
            return c;
        }
    }
    return NULL;
}

static const contestant *
round_find_peer(const round_of *round, const char *name)
{
    for (uint32_t i = 0; i < round->count; i++) {
        if (strcmp(round->all[i].peer.name, name) == 0) {
            return &round->all[i];
        }
    }
    return NULL;
}

static void
round_print(const round_of *round, const options *o)
{
    for (uint32_t i = 0; i < round->count; i++) {
        const contestant *c = &round->all[i];
        bool is_own = c->isa != NULL;
        const contestant *fp32 = is_own ? round_find(round, c->isa, POLICY_FP32) : NULL;
        printf("{\"name\":\"policy_forward\",\"net\":\"%s\",\"batch\":%u,\"isa\":\"%s\","
               "\"precision\":\"%s\",\"median\":%.3f,\"min\":%.3f,\"p99\":%.3f,\"unit\":\"us\","
               "\"n\":%u,\"x_fp32\":%.2f,\"cores\":1,\"commit\":\"%s\"}\n",
               round->shape->name, round->B, is_own ? c->isa : "",
               is_own ? policy_precision_name(c->precision) : c->peer.name, c->median_us, c->min_us,
               c->us[(o->repeats - 1) * 99 / 100], o->repeats,
               fp32 == NULL ? 0.0 : fp32->median_us / c->median_us, OCT_COMMIT);
    }
}

// Lines of the table at the end, kept until then.
static char bars[64][120];
static uint32_t bars_count;

// a / b in times against the least that is wanted. A bar whose peer is not installed says so.
static void
bar_add(const round_of *round, const char *what, const contestant *a, const contestant *b,
        double want)
{
    OCT_ASSERT(bars_count < OCT_COUNTOF(bars));
    if (a == NULL || b == NULL) {
        snprintf(bars[bars_count++], sizeof(bars[0]), "%-7s %4u  %-34s not measured",
                 round->shape->name, round->B, what);
    } else {
        double median = a->median_us / b->median_us;
        snprintf(bars[bars_count++], sizeof(bars[0]), "%-7s %4u  %-34s %6.2f %6.2f  >= %-5.4g %s",
                 round->shape->name, round->B, what, median, a->min_us / b->min_us, want,
                 median >= want ? "pass" : "MISS");
    }
}

static void
bars_of_one_row(const round_of *round, const contestant *int8, const contestant *int4)
{
    static const double wanted[] = {1.0, 3.0, 5.0, 5.0};
    size_t n = (size_t)(round->shape - nets);
    const contestant *own = round_find(round, int8->isa, POLICY_FP32);
    const contestant *blas = round_find_peer(round, "openblas fp32");
    const contestant *best = own == NULL || blas->median_us < own->median_us ? blas : own;
    contestant limit = {.median_us = 0.15, .min_us = 0.15};
    if (n == 0) {
        bar_add(round, "0.15 us / int8", &limit, int8, 1.0);
    } else {
        bar_add(round, "int8 / plain read, bytes per s", round_find_peer(round, "read"), int8, 0.8);
        bar_add(round, best == own ? "best fp32 (own) / int8" : "best fp32 (openblas) / int8", best,
                int8, wanted[n]);
    }
    bar_add(round, "plain int8 / int8", round_find_peer(round, "plain int8"), int8, 0.9);
    bar_add(round, "plain fp32 / fp32", round_find_peer(round, "plain fp32"), own, 0.9);
    if (n >= 2) {
        bar_add(round, "int8 / int4", int8, int4, n == 3 ? 1.5 : 1.0);
    }
}

static void
round_judge(const round_of *round)
{
    const contestant *int8 = NULL, *int4 = NULL;
    for (size_t i = 0; i < OCT_COUNTOF(isas) && int8 == NULL; i++) {
        int8 = round_find(round, policy_isa_name(isas[i]), POLICY_INT8);
        int4 = round_find(round, policy_isa_name(isas[i]), POLICY_INT4);
    }
    if (int8 != NULL && round->B == 1) {
        bars_of_one_row(round, int8, int4);
    } else if (int8 != NULL && round->B >= 32) {
        bar_add(round, "onednn int8 / int8", round_find_peer(round, "onednn int8"), int8, 1.0);
    }
}

static void
bench(const bench_net *shape, uint32_t B, const options *o, const float *obs)
{
    static round_of round;
    round = (round_of){.shape = shape, .B = B};
    round_add_own(&round, o, obs);
    round_add_peer(&round, bench_peer_read((size_t)weights_count(shape)));
    if (B == 1) {
        round_add_peer(&round, bench_peer_plain(shape->widths, shape->count, true));
        round_add_peer(&round, bench_peer_plain(shape->widths, shape->count, false));
    }
    round_add_peer(&round, bench_peer_openblas(shape->widths, shape->count, B));
    round_add_peer(&round, bench_peer_onednn(shape->widths, shape->count, B));
    round_time(&round, o);
    round_print(&round, o);
    round_judge(&round);
    for (uint32_t i = 0; i < round.count; i++) {
        round.all[i].peer.destroy(round.all[i].peer.self);
    }
}

int
main(int argc, char **argv)
{
    options o = {.repeats = 31};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            o.is_quick = true;
            o.repeats = 1;
        } else if (strncmp(argv[i], "net=", 4) == 0) {
            o.net = argv[i] + 4;
        } else if (strncmp(argv[i], "isa=", 4) == 0) {
            o.isa = argv[i] + 4;
        } else if (sscanf(argv[i], "n=%u", &o.repeats) != 1 &&
                   sscanf(argv[i], "batch=%u", &o.batch) != 1) {
            fprintf(stderr, "usage: %s [quick | n=REPEATS] [net=NAME] [batch=B] [isa=NAME]\n",
                    argv[0]);
            return 2;
        }
    }
    o.repeats = OCT_MAX(1u, OCT_MIN(o.repeats, (uint32_t)REPEATS_MAX));
    bench_peers_prepare(argv);
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    uint32_t done = 0;
    float *obs = oct_alloc((size_t)BATCH_MAX * OBSERVATION * sizeof(float));
    random_floats(obs, (size_t)BATCH_MAX * OBSERVATION, 1.0f, &rng);
    for (size_t i = 0; i < OCT_COUNTOF(nets); i++) {
        for (size_t b = 0; b < OCT_COUNTOF(batches); b++) {
            bool is_asked = (o.net == NULL || strcmp(o.net, nets[i].name) == 0) &&
                            (o.batch == 0 || o.batch == batches[b]) &&
                            (!o.is_quick || nets[i].widths[1] <= QUICK_WIDTH_MAX);
            if (is_asked) {
                bench(&nets[i], batches[b], &o, obs);
                done++;
            }
        }
    }
    free(obs);
    if (done == 0) {
        fprintf(stderr, "%s: no such net, or no such batch\n", argv[0]);
        return 2;
    }
    printf("# OpenBLAS kernels: %s. Ratios of medians, of minima, the bar:\n",
           bench_peer_openblas_core());
    for (uint32_t i = 0; i < bars_count && !o.is_quick; i++) {
        printf("# %s\n", bars[i]);
    }
    return 0;
}
