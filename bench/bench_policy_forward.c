// One forward pass of a policy: microseconds for each net, batch, instruction set and precision.
// usage: bench_policy_forward [quick | n=REPEATS] [net=NAME]
//
// Every answer is compared with the reference before it is timed: INT8 to the bit, FP32 to 1e-5 of
// the largest output. One JSON line each: times in us per call, ratios to the reference and to FP32
// on the same instructions (above 1: so many times faster).

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "bench_commit.h"
#include "tests/policy/random_policy.h"

#define BATCH_MAX   256
#define REPEATS_MAX 101
#define OUTPUTS_MAX 8

typedef struct bench_net {
    const char *name;
    uint32_t count;
    uint32_t widths[6];
} bench_net;

static const bench_net nets[] = {
    {"4-64-64-2", 4, {4, 64, 64, 2}},
    {"4-256-256-2", 4, {4, 256, 256, 2}},
    {"24-64-64-6", 4, {24, 64, 64, 6}},
    {"24-256-256-6", 4, {24, 256, 256, 6}},
    {"24-512-512-512-6", 5, {24, 512, 512, 512, 6}},
};
static const uint32_t batches[] = {1, 8, 64, 256};
static const policy_isa isas[] = {POLICY_ISA_REF, POLICY_ISA_AVX2, POLICY_ISA_VNNI};
static const policy_precision precisions[] = {POLICY_FP32, POLICY_INT8};

typedef struct bench_times {
    double median_us;
    double min_us;
    double p99_us;
} bench_times;

typedef struct bench_case {
    policy_net *net;
    policy_scratch *scratch;
    const float *obs;
    size_t obs_bytes;
    uint32_t B;
} bench_case;

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void
run(const bench_case *c, uint32_t calls, float *y)
{
    for (uint32_t i = 0; i < calls; i++) {
        policy_forward(c->net, c->scratch, c->obs, c->obs_bytes, c->B, y);
    }
}

static int
compare(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0.0) - (d < 0.0);
}

// Each repeat lasts about a millisecond, so that reading the clock does not count.
static bench_times
measure(const bench_case *c, uint32_t repeats, float *y)
{
    double us[REPEATS_MAX];
    uint32_t calls = 1;
    run(c, 1, y);
    for (double took = 0.0; repeats > 1 && took < 1e-3; calls *= 2) {
        double start = seconds();
        run(c, calls * 2, y);
        took = seconds() - start;
    }
    for (uint32_t i = 0; i < repeats; i++) {
        double start = seconds();
        run(c, calls, y);
        us[i] = (seconds() - start) * 1e6 / calls;
    }
    qsort(us, repeats, sizeof(us[0]), compare);
    return (bench_times){us[repeats / 2], us[0], us[(repeats - 1) * 99 / 100]};
}

static void
check(const float *got, const float *want, size_t count, policy_precision precision)
{
    float most = 0.0f;
    for (size_t i = 0; i < count; i++) {
        most = fmaxf(most, fabsf(want[i]));
    }
    for (size_t i = 0; i < count; i++) {
        bool is_same = memcmp(&got[i], &want[i], sizeof(float)) == 0;
        bool is_near = precision == POLICY_FP32 && fabsf(got[i] - want[i]) <= 1e-5f * most;
        if (!is_same && !is_near) {
            fprintf(stderr, "wrong answer: %.9g, the reference says %.9g\n", (double)got[i],
                    (double)want[i]);
            exit(1);
        }
    }
}

static void
bench(const bench_net *shape, uint32_t B, uint32_t repeats, const float *obs)
{
    static float want[2][BATCH_MAX * OUTPUTS_MAX], got[BATCH_MAX * OUTPUTS_MAX];
    double reference_us[2] = {0};
    uint32_t outputs = shape->widths[shape->count - 1];
    policy_spec spec = random_spec(shape->widths, shape->count, POLICY_RELU, false);
    for (size_t i = 0; i < OCT_COUNTOF(isas); i++) {
        double fp32_us = 0.0;
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            oct_rng rng;
            oct_rng_init(&rng, 1, p);
            policy_image *image = random_image(&spec, precisions[p], false, &rng);
            bench_case c = {.obs = obs, .obs_bytes = spec.obs_count * sizeof(float), .B = B};
            if (policy_net_create(&c.net, image, isas[i]) == OCT_OK) {
                bool is_ref = isas[i] == POLICY_ISA_REF;
                c.scratch = policy_scratch_create(&spec, B);
                run(&c, 1, got);
                memcpy(want[p], is_ref ? got : want[p], sizeof(got));
                check(got, want[p], (size_t)B * outputs, precisions[p]);
                bench_times t = measure(&c, is_ref ? OCT_MIN(repeats, 10u) : repeats, got);
                reference_us[p] = is_ref ? t.median_us : reference_us[p];
                fp32_us = p == 0 ? t.median_us : fp32_us;
                printf("{\"name\":\"policy_forward\",\"net\":\"%s\",\"batch\":%u,\"isa\":\"%s\","
                       "\"precision\":\"%s\",\"median\":%.3f,\"min\":%.3f,\"p99\":%.3f,"
                       "\"unit\":\"us\",\"n\":%u,\"x_ref\":%.1f,\"x_fp32\":%.2f,\"cores\":1,"
                       "\"commit\":\"%s\"}\n",
                       shape->name, B, policy_isa_name(isas[i]), p == 0 ? "fp32" : "int8",
                       t.median_us, t.min_us, t.p99_us, repeats, reference_us[p] / t.median_us,
                       fp32_us / t.median_us, BENCH_COMMIT);
                policy_scratch_destroy(c.scratch);
                policy_net_destroy(c.net);
            }
            policy_image_destroy(image);
        }
    }
}

int
main(int argc, char **argv)
{
    uint32_t repeats = 21;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            repeats = 1;
        } else if (sscanf(argv[i], "n=%u", &repeats) == 1) {
            repeats = OCT_MAX(1u, OCT_MIN(repeats, (uint32_t)REPEATS_MAX));
        } else if (strncmp(argv[i], "net=", 4) == 0) {
            only = argv[i] + 4;
        } else {
            fprintf(stderr, "usage: %s [quick | n=REPEATS] [net=NAME]\n", argv[0]);
            return 2;
        }
    }
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    float *obs = oct_alloc((size_t)BATCH_MAX * 24 * sizeof(float));
    random_floats(obs, (size_t)BATCH_MAX * 24, 1.0f, &rng);
    for (size_t i = 0; i < OCT_COUNTOF(nets); i++) {
        for (size_t b = 0; b < OCT_COUNTOF(batches); b++) {
            if (only == NULL || strcmp(only, nets[i].name) == 0) {
                bench(&nets[i], batches[b], repeats, obs);
            }
        }
    }
    free(obs);
    return 0;
}
