// Updates of the learner, beside the matrix products that they contain.
//
// For each case, DQN is first compared with double precision, and our products with OpenBLAS'. Then
// rounds of the products alone (each by the faster of OpenBLAS and oneDNN), of our own products, of
// whole updates and of their stages take turns, so that all meet the same neighbours. JSON lines:
// medians in microseconds of the thread's CPU time; ratio is update / products, and
// layers_ratio is layers / products.
//
// usage: bench_learner [quick] [environment] [exact] [threads=N] [products | CASE...]
//   quick        once, as a test; without CASE only networks up to QUICK_WIDTH wide
//   exact        all but the products alone as run.deterministic computes (nn_context.h)
//   environment  keep OPENBLAS_CORETYPE and the like; else they are undone as the learner does
//   threads=N    learner.threads, timed by the wall clock; the products alone keep one thread
//   products     GFLOP/s of single products by every library, instead of updates
//   CASE         only cases whose names begin with this
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algos/algo_ops.h"
#include "bench/bench_sort.h"
#include "bench/bench_updates.h"
#include "common/oct_base.h"
#include "common/oct_blas.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "nn/nn_gemm.h"
#include "tests/algos/dqn_double.h"

enum { ROUNDS = 15, STAGES = 5 };
#define ROUND_NS    60e6
#define QUICK_WIDTH 64
#define RATE        1e-3f
// Of a parameter after one step of RATE: where a gradient is lost in rounding, Adam's step may
// differ by a hundredth of the rate (epsilon is 1e-4, bench_updates.c).
#define TOLERANCE      1e-5
#define TOLERANCE_FP32 1e-5
#define TOLERANCE_BF16 1e-2

#define WIDE(count, width)                                                                         \
    {                                                                                              \
        (count),                                                                                   \
        {                                                                                          \
            (width), (width), (width)                                                              \
        }                                                                                          \
    }
#define ACTORQ                                                                                     \
    .hidden = WIDE(3, 2048), .critic_hidden = {3, {512, 512, 256}}, .batch = 256, .obs = 24,       \
    .actions = 6
#define MLP(layers, width)                                                                         \
    .kind = BENCH_MLP, .hidden = WIDE(layers, width), .batch = 256, .obs = 24, .actions = 6

#define PPO(layers, width, rows, count)                                                            \
    .kind = BENCH_PPO_BOX, .hidden = WIDE(layers, width), .batch = rows, .obs = 24, .actions = 6,  \
    .epochs = 4, .minibatches = count

static const bench_case cases[] = {
    {"dqn_2x64_b64", BENCH_DQN, WIDE(2, 64), .batch = 64, .obs = 4, .actions = 2},
    {"dqn_2x64_b128", BENCH_DQN, WIDE(2, 64), .batch = 128, .obs = 4, .actions = 2},
    {"dqn_2x256_b256", BENCH_DQN, WIDE(2, 256), .batch = 256, .obs = 4, .actions = 2},
    {"dqn_3x512_b256", BENCH_DQN, WIDE(3, 512), .batch = 256, .obs = 4, .actions = 2},
    {"mlp_2x64", MLP(2, 64)},
    {"mlp_2x256", MLP(2, 256)},
    {"mlp_3x512", MLP(3, 512)},
    {"mlp_3x2048", MLP(3, 2048)},
    {"mlp_bf16_3x512", MLP(3, 512), .bf16 = true},
    {"mlp_bf16_3x2048", MLP(3, 2048), .bf16 = true},
    {"ddpg_2x64_b100", BENCH_DDPG, WIDE(2, 64), .batch = 100, .obs = 3, .actions = 1},
    {"td3_2x64_b100", BENCH_TD3, WIDE(2, 64), .batch = 100, .obs = 3, .actions = 1},
    {"d4pg_2x64_b100", BENCH_D4PG, WIDE(2, 64), .batch = 100, .obs = 3, .actions = 1},
    {"d4pg_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 256, .obs = 24, .actions = 6},
    {"d4pg_normalised_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 256, .obs = 24, .actions = 6,
     .normalise = true},
    {"d4pg_sure_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 256, .obs = 24, .actions = 6,
     .sure = true},
    {"d4pg_two_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 256, .obs = 24, .actions = 6,
     .critics = 2},
    {"d4pg_chain_3x512", BENCH_D4PG, WIDE(2, 256), .critic_hidden = WIDE(3, 512), .batch = 256,
     .obs = 24, .actions = 6},
    {"d4pg_residual_3x512", BENCH_D4PG, WIDE(2, 256), .critic_hidden = WIDE(3, 512), .batch = 256,
     .obs = 24, .actions = 6, .residual = true},
    {"d4pg_bf16_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 256, .obs = 24, .actions = 6,
     .bf16 = true},
    {"d4pg_b512_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 512, .obs = 24, .actions = 6},
    {"d4pg_bf16_b512_2x256", BENCH_D4PG, WIDE(2, 256), .batch = 512, .obs = 24, .actions = 6,
     .bf16 = true},
    {"d4pg_b512_critic_2x1024", BENCH_D4PG, WIDE(2, 256), .critic_hidden = WIDE(2, 1024),
     .batch = 512, .obs = 24, .actions = 6},
    {"d4pg_bf16_b512_critic_2x1024", BENCH_D4PG, WIDE(2, 256), .critic_hidden = WIDE(2, 1024),
     .batch = 512, .obs = 24, .actions = 6, .bf16 = true},
    {"d4pg_actorq", BENCH_D4PG, ACTORQ},
    {"d4pg_bf16_actorq", BENCH_D4PG, ACTORQ, .bf16 = true},
    {"sac_2x64_b100", BENCH_SAC, WIDE(2, 64), .batch = 100, .obs = 3, .actions = 1},
    {"sac_2x256_b256", BENCH_SAC, WIDE(2, 256), .batch = 256, .obs = 24, .actions = 6},
    {"ppo_2x64_b64", BENCH_PPO, WIDE(2, 64), .batch = 64, .obs = 4, .actions = 2, .epochs = 4,
     .minibatches = 4},
    {"ppo_2x64_b256", BENCH_PPO, WIDE(2, 64), .batch = 256, .obs = 4, .actions = 2, .epochs = 10,
     .minibatches = 1},
    {"ppo_box_2x64_b64", PPO(2, 64, 64, 4)},
    {"ppo_box_2x64_b256", PPO(2, 64, 256, 4)},
    {"ppo_box_2x256_b256", PPO(2, 256, 256, 4)},
    {"ppo_box_3x512_b256", PPO(3, 512, 256, 4)},
    {"nature_b32", BENCH_MLP, WIDE(1, 512), .layers = "nature", .batch = 32, .obs = 28224,
     .actions = 6},
    {"nature_b256", BENCH_MLP, WIDE(1, 512), .layers = "nature", .batch = 256, .obs = 28224,
     .actions = 6},
    {"ppo_conv_freeway", BENCH_PPO, WIDE(1, 64), .conv = {1, {16}}, .batch = 1024, .obs = 700,
     .actions = 3, .epochs = 1, .minibatches = 4},
};

typedef struct timing {
    double us[ROUNDS];
} timing;

static uint32_t threads = 1; // learner.threads
static bool exact;

// True when one update gives the loss and the parameters of double precision.
static bool
answer_holds(bench_update *u)
{
    if (u->what->kind != BENCH_DQN) {
        return true; // tests/data/golden has theirs
    }
    dqn_double *want = dqn_double_create(&u->config, &u->policy, algo_policy_params(u->algorithm));
    float got[ALGO_NUMBERS_MAX];
    OCT_ASSERT(algo_update(u->algorithm, &u->batch, RATE, NULL, got) == OCT_OK);
    dqn_double_result result = dqn_double_update(want, &u->batch, (double)RATE, NULL);
    double worst = 0;
    for (size_t i = 0; i < want->online->param_count; i++) {
        double error = (double)algo_policy_params(u->algorithm)[i] - want->online->params[i];
        worst = fmax(worst, fabs(error));
    }
    bool holds = fabs((double)got[ALGO_LOSS] - result.loss) <= 1e-5 && worst <= TOLERANCE;
    if (!holds) {
        fprintf(stderr, "%s: loss %.9g, double says %.9g; worst parameter off by %.3g\n",
                u->what->name, (double)got[ALGO_LOSS], result.loss, worst);
    }
    dqn_double_destroy(want);
    return holds;
}

static void
run_products(bench_update *u)
{
    bench_products_run_best(&u->products);
}

static void
run_own_products(bench_update *u)
{
    bench_products_run_own(&u->products);
}

static void
run_updates(bench_update *u)
{
    for (uint32_t i = 0; i < u->listed; i++) {
        bench_update_run(u);
    }
}

typedef struct stage {
    const char *name;
    void (*run)(bench_update *u);
} stage;

static const stage stages[STAGES] = {
    {"products", run_products},        {"own_products", run_own_products},
    {"update", run_updates},           {"layers", bench_update_run_layers},
    {"steps", bench_update_run_steps},
};

static double
time_us(bench_update *u, const stage *what, int repeats)
{
    uint64_t (*now_ns)(void) = threads == 1 ? oct_clock_thread_cpu_ns : oct_clock_ns;
    uint64_t start = now_ns();
    for (int i = 0; i < repeats; i++) {
        what->run(u);
    }
    return (double)(now_ns() - start) / 1e3 / repeats / u->listed;
}

static void
print_case(const bench_update *u, const timing *timings, int rounds)
{
    double median[STAGES];
    printf("{\"name\": \"learner\", \"case\": \"%s\"", u->what->name);
    for (int s = 0; s < STAGES; s++) {
        median[s] = timings[s].us[rounds / 2];
        printf(", \"%s\": %.2f", stages[s].name, median[s]);
    }
    printf(", \"update_min\": %.2f, \"rest\": %.2f, \"ratio\": %.3f, \"layers_ratio\": %.3f, "
           "\"updates_per_s\": %.0f, "
           "\"unit\": \"us\", \"rounds\": %d, \"threads\": %u, \"libraries\": \"%s\", \"commit\": "
           "\"%s\"}\n",
           timings[2].us[0], median[2] - median[3] - median[4], median[2] / median[0],
           median[3] / median[0], 1e6 / median[2], rounds, threads, bench_products_libraries(),
           OCT_COMMIT);
    (void)fflush(stdout);
}

static void
case_time(bench_update *u, bool quick)
{
    static timing timings[STAGES];
    int repeats = 1, rounds = quick ? 1 : ROUNDS;
    if (!quick) {
        (void)time_us(u, &stages[2], 2);
        double once_us = time_us(u, &stages[2], 2) * u->listed;
        repeats = OCT_MAX(1, (int)(ROUND_NS / 1e3 / once_us));
        rounds = once_us > 50e3 ? ROUNDS / 2 : ROUNDS;
    }
    for (int r = 0; r < rounds; r++) {
        for (int s = 0; s < STAGES; s++) {
            stages[s].run(u); // its operands take the place of the stage's before in the caches
            timings[s].us[r] = time_us(u, &stages[s], repeats);
        }
    }
    for (int s = 0; s < STAGES; s++) {
        bench_sort(timings[s].us, rounds);
    }
    print_case(u, timings, rounds);
}

static bool
case_run(const bench_case *what, bool quick)
{
    const nn_context_options options = {.threads = threads, .bf16 = what->bf16, .exact = exact};
    if (nn_context_refusal(&options) != NULL) {
        fprintf(stderr, "%s: left out: %s\n", what->name, nn_context_refusal(&options));
        return true;
    }
    nn_context *context = nn_context_create(&options);
    if (nn_context_bf16(context) == NULL && what->bf16) {
        nn_context_destroy(context);
        fprintf(stderr, "%s: left out, this CPU has no fast products of bfloat16\n", what->name);
        return true;
    }
    bench_update u;
    bench_update_init(&u, context, what);
    u.products.quick = quick;
    bool holds =
        bench_products_prepare(&u.products, what->bf16 ? TOLERANCE_BF16 : TOLERANCE_FP32) &&
        answer_holds(&u);
    if (holds) {
        case_time(&u, quick);
    }
    bench_update_fini(&u);
    nn_context_destroy(context);
    return holds;
}

// Both libraries are told at their start what to do: OpenBLAS which kernels, oneDNN's OpenMP how
// many threads.
static void
begin_again(char **argv)
{
    const char *omp = getenv("OMP_NUM_THREADS");
    bool cleared = oct_blas_clear_environment();
    if (cleared || omp == NULL || strcmp(omp, "1") != 0) {
        OCT_ASSERT(setenv("OMP_NUM_THREADS", "1", 1) == 0);
        (void)execv("/proc/self/exe", argv);
    }
}

typedef struct options {
    bool quick, environment, products;
    bool named[OCT_COUNTOF(cases)];
    int names;
} options;

// Notes the cases whose names begin so; false: there are none.
static bool
name_read(options *o, const char *name)
{
    bool is_known = false;
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        bool is_it = strncmp(cases[i].name, name, strlen(name)) == 0;
        o->named[i] |= is_it;
        is_known |= is_it;
    }
    o->names++;
    return is_known;
}

static bool
options_read(options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int end = 0;
        if (strcmp(argv[i], "quick") == 0) {
            o->quick = true;
        } else if (strcmp(argv[i], "environment") == 0) {
            o->environment = true;
        } else if (strcmp(argv[i], "exact") == 0) {
            exact = true;
        } else if (strcmp(argv[i], "products") == 0) {
            o->products = true;
        } else if ((sscanf(argv[i], "threads=%u%n", &threads, &end) != 1 || argv[i][end] != '\0') &&
                   !name_read(o, argv[i])) {
            fprintf(stderr, "%s: no case has a name that begins with '%s'\n", argv[0], argv[i]);
            return false;
        }
    }
    return !o->products || o->names == 0;
}

int
main(int argc, char **argv)
{
    options o = {0};
    if (!options_read(&o, argc, argv)) {
        fprintf(stderr,
                "usage: %s [quick] [environment] [exact] [threads=N] [products | CASE...]\n",
                argv[0]);
        return 2;
    }
    if (!o.environment) {
        begin_again(argv);
    }
    char warning[200];
    (void)nn_blas_init(threads, warning, sizeof(warning));
    if (warning[0] != '\0') {
        fprintf(stderr, "%s\n", warning);
    }
    if (o.products) {
        bench_products_table(threads);
        return 0;
    }
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        bool is_small = !o.quick || cases[i].hidden.value[0] <= QUICK_WIDTH;
        if ((o.names > 0 ? o.named[i] : is_small) && !case_run(&cases[i], o.quick)) {
            return 1;
        }
    }
    return 0;
}
