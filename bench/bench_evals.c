// How far below the best version of a run the one that ships is: made-up runs whose returns are
// drawn, evaluated by learner_evals, without and with full evaluations after training
// (evaluation.final_share). usage: bench_evals [quick]
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_must.h"
#include "common/oct_base.h"
#include "common/oct_commit.h"
#include "common/oct_rng.h"
#include "learner/learner_evals.h"

#define VERSIONS 190 // of which each is screened
#define TOP      900.0
#define RUNS     1000
#define SECOND   UINT64_C(1000000000)
#define EPISODES 30 // as dmc/long has them
#define SCREEN   10
#define ONE      1 // the evaluator

static const double shares[] = {0, 0.1, 0.5};

// A run: the mean return of a version rises to TOP in its first half, and differs from one version
// to the next by a normal deviate; so does the return of an episode.
typedef struct simulated {
    double version_std, episode_std;
    double means[VERSIONS + 1]; // by version; those are counted from 1
    oct_rng rng;
} simulated;

typedef struct outcome {
    double shortfall;       // of what ships, against the best version
    double of_result;       // the return that is reported, less what ships has
    double training, after; // episodes that choose
} outcome;

static void
means_draw(simulated *run)
{
    for (uint32_t i = 1; i <= VERSIONS; i++) {
        double trend = TOP * fmin(1, 2.0 * i / VERSIONS);
        run->means[i] = trend + run->version_std * (double)oct_rng_normal(&run->rng);
    }
}

static double
best_mean(const simulated *run)
{
    double best = -INFINITY;
    for (uint32_t i = 1; i <= VERSIONS; i++) {
        best = fmax(best, run->means[i]);
    }
    return best;
}

// Everything that is to be evaluated now. The episodes that were played.
static uint32_t
play(learner_evals *evals, simulated *run, uint64_t now_ns, outcome *out)
{
    uint32_t played = 0;
    learner_eval_order order;
    while (learner_evals_order(evals, now_ns, now_ns, ONE, &order) == OCT_OK) {
        float returns[EPISODES];
        uint32_t lengths[EPISODES] = {0};
        uint64_t version = order.publication->version;
        for (uint32_t i = 0; i < order.episodes; i++) {
            returns[i] =
                (float)(run->means[version] + run->episode_std * (double)oct_rng_normal(&run->rng));
        }
        learner_eval_result result;
        bench_must(learner_evals_report(
                       evals, ONE, order.ticket, version,
                       &(learner_eval_answer){order.episodes, returns, lengths, NULL, 0, 0},
                       &result),
                   "report");
        if (result.stage == LEARNER_EVAL_RESULT) {
            out->of_result = result.mean - run->means[version];
        } else {
            played += result.episodes;
        }
    }
    return played;
}

static outcome
simulate(const config_experiment *config, simulated *run)
{
    outcome out = {0};
    learner_evals *evals = learner_evals_create(config, NULL);
    means_draw(run);
    for (uint32_t i = 1; i <= VERSIONS; i++) {
        quantizer_publication *publication = quantizer_publication_create();
        publication->version = i;
        learner_evals_newest(evals, publication);
        quantizer_publication_release(publication);
        out.training += play(evals, run, i * SECOND, &out);
    }
    learner_evals_finish(evals);
    out.after = play(evals, run, (VERSIONS + 1) * SECOND, &out);
    learner_eval_result result;
    const quantizer_publication *shipped = learner_evals_best(evals, &result);
    if (!learner_evals_done(evals) || shipped == NULL || result.stage != LEARNER_EVAL_RESULT) {
        bench_give_up("a run has no result", NULL);
    }
    out.shortfall = best_mean(run) - run->means[shipped->version];
    learner_evals_destroy(evals);
    return out;
}

static void
row(double version_std, double episode_std, double share, uint32_t runs)
{
    config_experiment config;
    config_default(&config);
    config.evaluation.episodes = EPISODES;
    config.evaluation.screen_episodes = SCREEN;
    config.evaluation.period_s = 0;
    config.evaluation.final_share = share;
    simulated run = {.version_std = version_std, .episode_std = episode_std};
    double sum = 0, squares = 0, bias = 0, training = 0, after = 0;
    for (uint32_t i = 0; i < runs; i++) {
        oct_rng_init(&run.rng, i, 0); // shares differ after training only
        outcome one = simulate(&config, &run);
        sum += one.shortfall;
        squares += one.shortfall * one.shortfall;
        bias += one.of_result;
        training += one.training;
        after += one.after;
    }
    double mean = sum / runs, error = sqrt(fmax(0, squares / runs - mean * mean) / runs);
    double result_error = episode_std / sqrt((double)EPISODES * runs);
    if (fabs(bias / runs) > 4 * result_error) {
        bench_give_up("the reported returns are not what the versions have", NULL);
    }
    printf("%8.0f %8.0f %6.1f   %6.1f ± %4.1f   %8.0f %8.0f\n", version_std, episode_std, share,
           mean, error, training / runs, after / runs);
}

int
main(int argc, char **argv)
{
    bool is_quick = argc == 2 && strcmp(argv[1], "quick") == 0;
    if (argc > 1 && !is_quick) {
        fprintf(stderr, "usage: bench_evals [quick]\n");
        return 2;
    }
    static const double version_stds[] = {20, 50, 80}, episode_stds[] = {50, 200};
    printf("commit %s, %u versions, short evaluations of %d episodes, full evaluations of %d\n"
           "spread of versions, of episodes; final_share; below the best version; episodes that "
           "choose, in training and after\n",
           OCT_COMMIT, VERSIONS, SCREEN, EPISODES);
    for (size_t i = 0; i < OCT_COUNTOF(version_stds); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(episode_stds); k++) {
            for (size_t s = 0; s < OCT_COUNTOF(shares); s++) {
                row(version_stds[i], episode_stds[k], shares[s], is_quick ? 20 : RUNS);
            }
        }
    }
    return 0;
}
