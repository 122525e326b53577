// Several learners that share each batch, beside one: rows learned from in a second.
//
// Groups of one, two and more processes take turns at the same updates, so that all meet the same
// neighbours; they must end with the same parameters, but for rounding. JSON lines: medians over
// rounds; ratio is rows/s by those of one learner, by the wall clock; best_ratio the same of the
// best rounds; cpu_ratio by the CPU time of rank 0, which is what free cores would give. More
// learners than free cores measure the scheduler. Under mpirun the group is of the processes that
// it started, for the first case (bench_learners_net.py).
// Asynchronous learners share parameters instead: their staleness is measured, and there is nothing
// to agree with; rows/s are of all of them.
//
// usage: bench_learners [quick] [bf16] [asynchronous] [SIZE...] [CASE]
//   quick         once, as a test, with small networks
//   bf16          gradients travel as bfloat16
//   asynchronous  learner.asynchronous
//   SIZE          numbers of learners, in place of 2
//   CASE          only cases whose names begin with this
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_batch.h"
#include "bench/bench_must.h"
#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_reason.h"
#include "learner/learner_group.h"
#include "nn/group/group_fork.h"
#include "nn/group/group_launch.h"
#include "nn/group/group_mpi.h"

enum { ROUNDS = 9, SIZES_MAX = 8 };
#define ROUND_NS  400e6
#define RATE      1e-4f
#define TOLERANCE 1e-3 // of a parameter, after so many updates in another order of sums

typedef struct bench_case {
    const char *name;
    config_algo_name algo;
    uint32_t layers, width, batch, obs, actions;
} bench_case;

static const bench_case cases[] = {
    {"d4pg_2x64_b256", CONFIG_ALGO_D4PG, 2, 64, 256, 24, 6},
    {"d4pg_2x256_b256", CONFIG_ALGO_D4PG, 2, 256, 256, 24, 6},
    {"d4pg_3x512_b256", CONFIG_ALGO_D4PG, 3, 512, 256, 24, 6},
    {"d4pg_3x512_b1024", CONFIG_ALGO_D4PG, 3, 512, 1024, 24, 6},
    {"ppo_2x64_b16", CONFIG_ALGO_PPO, 2, 64, 16, 24, 6},
    {"ppo_3x512_b16", CONFIG_ALGO_PPO, 3, 512, 16, 24, 6}, // rollouts of 128 steps
};

// One group, as its rank 0 has it.
typedef struct team {
    uint32_t size;
    learner_group *lg;
    nn_context *context;
    algo *a;
    double rows_per_s[ROUNDS], rows_per_cpu_s[ROUNDS], exchange_share[ROUNDS];
    double mb_per_update; // sent and received by rank 0
} team;

static config_experiment config;
static policy_spec spec;
static algo_batch batch;
static uint32_t rows_of_update;
static bool quick, bf16, is_asynchronous;
static group *launched; // by mpirun; otherwise NULL

static void
case_configure(const bench_case *what)
{
    config_default(&config);
    config.algo.name = what->algo;
    config.learner.batch_size = what->batch;
    config.network.hidden = (config_ints){.count = what->layers};
    for (uint32_t i = 0; i < what->layers; i++) {
        config.network.hidden.value[i] = what->width;
    }
    config.network.critic_hidden = config.network.hidden;
    config.network.activation = POLICY_TANH;
    config.algo.adam_epsilon = 1e-4;
    config.algo.value_min = 0;
    config.algo.value_max = 100;
    config.algo.atoms = 51;
    config.algo.sequence_steps = 128;
    config.algo.minibatches = 1; // so that one and many take the same steps
    config.algo.epochs = 4;
    config.learner.asynchronous = is_asynchronous;
    spec = (policy_spec){.obs_dtype = POLICY_F32,
                         .obs_count = what->obs,
                         .action_kind = POLICY_BOX,
                         .action_count = what->actions};
    for (uint32_t i = 0; i < what->actions; i++) {
        spec.action_low[i] = -1;
        spec.action_high[i] = 1;
    }
}

// In copies of this process: never returns.
static void
team_begin(team *t, group *members, uint32_t T)
{
    group_set_bf16(members, bf16);
    if (group_rank(members) > 0) {
        exit(learner_group_serve(members));
    }
    config_experiment *own = oct_alloc(sizeof(*own));
    *t = (team){.size = group_size(members), .lg = learner_group_create(members, is_asynchronous)};
    config.learner.count = t->size;
    learner_group_config(t->lg, &config, own);
    t->context = nn_context_create(
        &(nn_context_options){.threads = 1, .group = learner_group_members(t->lg)});
    oct_err err = algo_create(&t->a, t->context, own, &spec, 1);
    OCT_ASSERT(err == OCT_OK);
    learner_group_begin(t->lg, &config, &spec, T, t->a);
    free(own);
}

static void
team_end(team *t)
{
    learner_group_destroy(t->lg);
    algo_destroy(t->a);
    nn_context_destroy(t->context);
}

// Rank 0's update, after it has given the others what they have room for.
static oct_err
update_asynchronous(learner_async *as, float *numbers)
{
    static learner_batch given;
    oct_err err = OCT_OK;
    given.view = batch;
    while (learner_async_take(as, &err) != NULL) {
        OCT_ASSERT(err == OCT_OK || err == OCT_EAGAIN);
    }
    while (learner_async_give(as, &given, RATE, false)) {
    }
    err = learner_async_learn(as, &batch, RATE, NULL, numbers);
    return err == OCT_EAGAIN ? OCT_OK : err;
}

static void
team_update(team *t)
{
    float numbers[ALGO_NUMBERS_MAX];
    learner_async *as = learner_group_async(t->lg);
    oct_err err = as != NULL ? update_asynchronous(as, numbers)
                             : learner_group_update(t->lg, t->a, &batch, RATE, NULL, numbers);
    OCT_ASSERT(err == OCT_OK);
}

// By all learners.
static uint64_t
team_updates(const team *t)
{
    learner_async *as = learner_group_async(t->lg);
    return as != NULL ? learner_async_updates(as) : algo_updates(t->a);
}

static void
team_rest(team *t)
{
    learner_async *as = learner_group_async(t->lg);
    oct_err err;
    for (uint32_t round = 0; as != NULL && learner_async_given(as) > 0; round++) {
        if (learner_async_take(as, &err) == NULL) {
            group_wait(round);
        }
    }
}

static void
team_time(team *t, uint32_t updates, int round)
{
    group_counts before, after;
    learner_group_counts(t->lg, &before);
    uint64_t updates_before = team_updates(t);
    uint64_t begin_ns = oct_clock_ns(), begin_cpu_ns = oct_clock_thread_cpu_ns();
    for (uint32_t i = 0; i < updates; i++) {
        team_update(t);
    }
    double cpu_s = 1e-9 * (double)(oct_clock_thread_cpu_ns() - begin_cpu_ns);
    double s = 1e-9 * (double)(oct_clock_ns() - begin_ns);
    learner_group_counts(t->lg, &after);
    double rows = (double)(team_updates(t) - updates_before) * rows_of_update;
    t->rows_per_s[round] = rows / s;
    t->rows_per_cpu_s[round] = rows / cpu_s;
    t->exchange_share[round] = (after.seconds - before.seconds) / s;
    t->mb_per_update = 1e-6 * (after.bytes - before.bytes) / updates;
    team_rest(t); // the next one's turn
}

static double
team_staleness(const team *t)
{
    learner_staleness s;
    learner_group_staleness(t->lg, &s);
    return s.updates > 0 ? (double)s.sum / (double)s.updates : 0;
}

static bool
teams_agree(const team *one, const team *other, const char *name)
{
    const float *x = algo_policy_params(one->a), *y = algo_policy_params(other->a);
    double tolerance = bf16 ? 10 * TOLERANCE : TOLERANCE, most = 0;
    for (size_t i = 0; i < policy_spec_params(&spec); i++) {
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
    }
    if (!(most <= tolerance)) {
        fprintf(stderr, "bench_learners: %s: %u learners are %g apart from one\n", name,
                (unsigned)other->size, most);
    }
    return most <= tolerance;
}

// How many updates a round has: the second one of each team tells.
static uint32_t
updates_of(team *teams, int count)
{
    double longest_ns = 0;
    for (int i = 0; i <= count; i++) {
        team_update(&teams[i]);
        uint64_t begin_ns = oct_clock_ns();
        team_update(&teams[i]);
        longest_ns = fmax(longest_ns, (double)(oct_clock_ns() - begin_ns));
        team_rest(&teams[i]);
    }
    return quick ? 2 : 1 + (uint32_t)(ROUND_NS / longest_ns);
}

static void
teams_time(team *teams, int count, uint32_t updates, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i <= count; i++) {
            team_time(&teams[i], updates, round);
        }
    }
}

// Against the first one, which is of one learner; it comes first.
static void
team_print(const bench_case *what, team *t, uint32_t updates, int rounds)
{
    static double alone, alone_best, alone_cpu;
    double rows = bench_median(t->rows_per_s, rounds),
           best = t->rows_per_s[rounds - 1]; // sorted
    double cpu = bench_median(t->rows_per_cpu_s, rounds);
    if (t->size == 1) {
        alone = rows;
        alone_best = best;
        alone_cpu = cpu;
    }
    printf("{\"name\": \"learners\", \"case\": \"%s\", \"learners\": %u, \"bf16\": %s, "
           "\"rows_per_s\": %.0f, \"ratio\": %.3f, \"best_ratio\": %.3f, \"cpu_ratio\": %.3f, "
           "\"rows_per_cpu_s\": %.0f, \"exchange_share\": %.3f, \"mb_per_update\": %.3f, "
           "\"staleness\": %.2f, \"rows\": %u, \"updates\": %u, \"n\": %d, \"commit\": "
           "\"%s\"}\n",
           what->name, (unsigned)t->size, bf16 ? "true" : "false", rows, rows / alone,
           best / alone_best, cpu / alone_cpu, cpu, bench_median(t->exchange_share, rounds),
           t->mb_per_update, team_staleness(t), (unsigned)rows_of_update, (unsigned)updates, rounds,
           OCT_COMMIT);
    (void)fflush(stdout);
}

// Another group of so many; the only one where mpirun made it.
static group *
members_of(uint32_t size)
{
    group *members = launched;
    if (members == NULL) {
        oct_err err = group_fork(&members, size);
        OCT_ASSERT(err == OCT_OK);
    }
    return members;
}

static bool
case_run(const bench_case *what, const uint32_t *sizes, int count)
{
    static team teams[SIZES_MAX + 1];
    case_configure(what);
    algo_wants wants;
    oct_err err = algo_make_spec(&config, &spec, &wants, NULL);
    OCT_ASSERT(err == OCT_OK);
    uint32_t T = wants.window == ALGO_WINDOW_N_STEP ? 0 : wants.steps;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    bench_batch_make(&batch, &rng, &spec, what->batch, T, config.algo.sequence_steps);
    rows_of_update = what->batch * (T > 0 ? config.algo.sequence_steps : 1);
    for (int i = 0; i <= count; i++) {
        team_begin(&teams[i], i > 0 ? members_of(sizes[i - 1]) : NULL, T);
    }
    uint32_t updates = updates_of(teams, count);
    int rounds = quick ? 1 : ROUNDS;
    bool agree = true;
    teams_time(teams, count, updates, rounds);
    for (int i = 0; i <= count; i++) {
        team_print(what, &teams[i], updates, rounds);
        agree = agree && (is_asynchronous || teams_agree(&teams[0], &teams[i], what->name));
    }
    for (int i = count; i >= 0; i--) {
        team_end(&teams[i]);
    }
    bench_batch_free(&batch);
    return agree;
}

static void
mpi_open(uint32_t *size)
{
    oct_reason why;
    bool is_local;
    uint32_t given = group_launch_size();
    *size = given != 0 ? given : 2;
    if (group_mpi_open(&launched, *size, &is_local, &why) != OCT_OK) {
        bench_give_up("no group by MPI", why.text);
    }
}

static bool
is_case(const char *name)
{
    bool is = false;
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        is = is || strncmp(cases[i].name, name, strlen(name)) == 0;
    }
    return is;
}

int
main(int argc, char **argv)
{
    uint32_t sizes[SIZES_MAX] = {2};
    int count = 0;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            quick = true;
        } else if (strcmp(argv[i], "bf16") == 0) {
            bf16 = true;
        } else if (strcmp(argv[i], "asynchronous") == 0) {
            is_asynchronous = true;
        } else if (strtoul(argv[i], NULL, 10) >= 2 && count < SIZES_MAX) {
            sizes[count++] = (uint32_t)strtoul(argv[i], NULL, 10);
        } else if (only == NULL && is_case(argv[i])) {
            only = argv[i];
        } else {
            fprintf(stderr,
                    "%s: '%s' is not a case, or one too many\n"
                    "usage: %s [quick] [bf16] [asynchronous] [SIZE...] [CASE]\n",
                    argv[0], argv[i], argv[0]);
            return 2;
        }
    }
    if (group_launch_size() != 1) {
        mpi_open(&sizes[0]);
        count = 1;
    }
    count = count > 0 ? count : 1;
    bool agree = true, is_over = false;
    for (size_t i = 0; i < OCT_COUNTOF(cases) && !is_over; i++) {
        bool is_wanted = only == NULL || strncmp(cases[i].name, only, strlen(only)) == 0;
        bool is_known = !is_asynchronous || cases[i].algo != CONFIG_ALGO_PPO;
        if (!is_wanted || !is_known || (quick && cases[i].width > 64)) {
            continue;
        }
        agree = case_run(&cases[i], sizes, count) && agree;
        is_over = launched != NULL;
    }
    return agree ? EXIT_SUCCESS : EXIT_FAILURE;
}
