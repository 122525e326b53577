// DQN updates per second, beside the matrix products that they contain.
//
// For each network, one update is first compared with double precision. Then rounds of the products
// alone (same shapes, cblas_sgemm) and rounds of whole updates take turns, so that both meet the
// same neighbours. JSON lines: microseconds of the thread's CPU time; ratio is products / update of
// the medians. usage: bench_learner [quick]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo.h"
#include "bench_commit.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_rng.h"
#include "nn/nn_gemm.h"
#include "tests/algos/dqn_double.h"

enum { OBS = 4, ACTIONS = 2, ROUNDS = 31 };
#define ROUND_NS 10e6
#define RATE     1e-3f
// Of a parameter after one step of RATE: where a gradient is lost in rounding, Adam's step may
// differ by a hundredth of the rate (epsilon is 1e-4, below).
#define TOLERANCE 1e-5

typedef struct bench_case {
    const char *size;
    uint32_t layers, width, batch;
} bench_case;

static const bench_case cases[] = {
    {"2x64 b64", 2, 64, 64},
    {"2x64 b128", 2, 64, 128},
    {"2x256 b256", 2, 256, 256},
    {"3x512 b256", 3, 512, 256},
};

typedef struct bench {
    const bench_case *what;
    const char *family;
    bool quick;
    oct_config config;
    policy_spec spec;
    algo *dqn;
    algo_batch batch;
    float *weights, *below, *above, *product; // operands and result of the products alone
} bench;

typedef struct timing {
    double us[ROUNDS];
    int rounds;
} timing;

static float *
random_floats(oct_rng *rng, size_t count, float scale)
{
    float *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = scale * (2.0f * oct_rng_float(rng) - 1.0f);
    }
    return x;
}

static void
batch_fill(bench *b, oct_rng *rng)
{
    uint32_t B = b->what->batch;
    int32_t *action = oct_alloc(B * sizeof(*action));
    float *discount = random_floats(rng, B, 0.0f), *weight = random_floats(rng, B, 0.0f);
    for (uint32_t i = 0; i < B; i++) {
        action[i] = (int32_t)oct_rng_below(rng, ACTIONS);
        discount[i] = i % 10 == 0 ? 0.0f : 0.97f;
        weight[i] = 1.0f;
    }
    b->batch = (algo_batch){
        .B = B,
        .obs = random_floats(rng, (size_t)B * OBS, 1.0f),
        .next = random_floats(rng, (size_t)B * OBS, 1.0f),
        .action = action,
        .reward = random_floats(rng, B, 1.0f),
        .discount = discount,
        .weight = weight,
    };
}

static void
bench_init(bench *b, const bench_case *what, const char *family, bool quick)
{
    *b = (bench){.what = what, .family = family, .quick = quick};
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    oct_config *config = &b->config;
    config->network.hidden.count = what->layers;
    for (uint32_t l = 0; l < what->layers; l++) {
        config->network.hidden.value[l] = what->width;
    }
    config->network.activation = OCT_ACTIVATION_RELU;
    config->algo.name = OCT_ALGO_DQN;
    config->algo.double_q = true;
    config->algo.huber_delta = 1.0;
    config->algo.adam_beta1 = 0.9;
    config->algo.adam_beta2 = 0.999;
    config->algo.adam_epsilon = 1e-4;
    config->algo.target_period = 100;
    config->algo.target_rate = 1.0;
    config->learner.batch_size = what->batch;
    b->spec = (policy_spec){
        .obs_dtype = POLICY_F32,
        .obs_count = OBS,
        .action_kind = POLICY_DISCRETE,
        .action_count = ACTIONS,
    };
    OCT_ASSERT(algo_make_spec(config, &b->spec, NULL, 0) == OCT_OK);
    OCT_ASSERT(algo_create(&b->dqn, config, &b->spec, 1) == OCT_OK);
    batch_fill(b, &rng);
    size_t rows = 2 * (size_t)what->batch * policy_spec_width(&b->spec);
    b->weights = random_floats(&rng, policy_spec_params(&b->spec), 0.1f);
    b->below = random_floats(&rng, rows, 1.0f);
    b->above = random_floats(&rng, rows, 1.0f);
    b->product = oct_alloc(sizeof(float) * OCT_MAX(rows, policy_spec_params(&b->spec)));
}

static void
bench_fini(bench *b)
{
    algo_destroy(b->dqn);
    free((void *)b->batch.obs);
    free((void *)b->batch.next);
    free((void *)b->batch.action);
    free((void *)b->batch.reward);
    free((void *)b->batch.discount);
    free((void *)b->batch.weight);
    free(b->weights);
    free(b->below);
    free(b->above);
    free(b->product);
}

// True when one update gives the loss and the parameters of double precision.
static bool
answer_holds(bench *b)
{
    dqn_double *want = dqn_double_create(&b->config, &b->spec, algo_policy_params(b->dqn));
    algo_result got;
    OCT_ASSERT(algo_update(b->dqn, &b->batch, RATE, NULL, &got) == OCT_OK);
    dqn_double_result result = dqn_double_update(want, &b->batch, (double)RATE, NULL);
    double worst = 0;
    for (size_t i = 0; i < want->online->param_count; i++) {
        double error = (double)algo_policy_params(b->dqn)[i] - want->online->params[i];
        worst = fmax(worst, fabs(error));
    }
    bool holds = fabs((double)got.loss - result.loss) <= 1e-5 && worst <= TOLERANCE;
    if (!holds) {
        fprintf(stderr, "%s: loss %.9g, double says %.9g; worst parameter off by %.3g\n",
                b->what->size, (double)got.loss, result.loss, worst);
    }
    dqn_double_destroy(want);
    return holds;
}

// The products of one double-Q update: online on s and s' together, target on s', backward.
static void
run_products(bench *b)
{
    uint32_t B = b->what->batch;
    for (uint32_t l = 0; l < b->spec.layer_count; l++) {
        uint32_t I = b->spec.layers[l].inputs, O = b->spec.layers[l].outputs;
        const float *W = b->weights + policy_spec_layer(&b->spec, l).weight;
        nn_gemm_nt(b->product, b->below, W, 2 * B, O, I);
        nn_gemm_nt(b->product, b->below, W, B, O, I);
    }
    for (uint32_t l = b->spec.layer_count; l-- > 0;) {
        uint32_t I = b->spec.layers[l].inputs, O = b->spec.layers[l].outputs;
        const float *W = b->weights + policy_spec_layer(&b->spec, l).weight;
        nn_gemm_tn(b->product, b->above, b->below, O, I, B);
        if (l > 0) {
            nn_gemm_nn(b->product, b->above, W, B, I, O);
        }
    }
}

static void
run_update(bench *b)
{
    algo_result result;
    OCT_ASSERT(algo_update(b->dqn, &b->batch, 1e-5f, NULL, &result) == OCT_OK);
}

static double
time_us(bench *b, void (*run)(bench *), int repeats)
{
    uint64_t start = oct_clock_thread_cpu_ns();
    for (int i = 0; i < repeats; i++) {
        run(b);
    }
    return (double)(oct_clock_thread_cpu_ns() - start) / 1e3 / repeats;
}

static int
by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void
print_timing(const bench *b, const char *name, const timing *t)
{
    printf("{\"name\": \"%s\", \"size\": \"%s\", \"n\": %d, \"median\": %.2f, \"min\": %.2f, "
           "\"p99\": %.2f, \"unit\": \"us\", \"cores\": 1, \"blas\": \"%s\", \"commit\": \"%s\"}\n",
           name, b->what->size, t->rounds, t->us[t->rounds / 2], t->us[0],
           t->us[(t->rounds - 1) * 99 / 100], b->family, BENCH_COMMIT);
}

static void
bench_run(bench *b)
{
    static timing products, updates;
    int repeats = 1;
    products.rounds = updates.rounds = b->quick ? 1 : ROUNDS;
    if (!b->quick) {
        (void)time_us(b, run_update, 5);
        repeats = OCT_MAX(1, (int)(ROUND_NS / 1e3 / time_us(b, run_update, 5)));
    }
    for (int r = 0; r < products.rounds; r++) {
        products.us[r] = time_us(b, run_products, repeats);
        updates.us[r] = time_us(b, run_update, repeats);
    }
    qsort(products.us, (size_t)products.rounds, sizeof(double), by_value);
    qsort(updates.us, (size_t)updates.rounds, sizeof(double), by_value);
    print_timing(b, "learner_products", &products);
    print_timing(b, "learner_update", &updates);
    double product = products.us[products.rounds / 2], update = updates.us[updates.rounds / 2];
    printf("{\"name\": \"learner_ratio\", \"size\": \"%s\", \"ratio\": %.3f, "
           "\"updates_per_s\": %.0f, \"products_per_s\": %.0f}\n",
           b->what->size, product / update, 1e6 / update, 1e6 / product);
}

int
main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    char warning[200];
    const char *family = nn_blas_init(1, warning, sizeof(warning));
    if (warning[0] != '\0') {
        fprintf(stderr, "%s\n", warning);
    }
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        bench b;
        bench_init(&b, &cases[i], family, quick);
        if (!answer_holds(&b)) {
            return 1;
        }
        bench_run(&b);
        bench_fini(&b);
    }
    return 0;
}
