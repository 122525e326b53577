#ifndef CLI_SWEEP_CLI_SWEEP_PLAN_H
#define CLI_SWEEP_CLI_SWEEP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/sweep/cli_space.h"

// A sweep: its space, its trials (each a point), the runs of a trial (each a seed), and the results
// of the runs. It decides which run is next, without processes or files.
//
// Threads: main thread. Owns: trials and space; cli_sweep_plan_fini frees them.

#define CLI_SWEEP_TRIALS_MAX CLI_SPACE_GRID_MAX
#define CLI_SWEEP_SEEDS_MAX  64
#define CLI_SWEEP_NAME_MAX   64 // of a run's folder

typedef enum cli_sweep_method {
    CLI_SWEEP_GRID,
    CLI_SWEEP_RANDOM,
    CLI_SWEEP_OPTUNA,
    CLI_SWEEP_METHODS,
} cli_sweep_method;
extern const char *const cli_sweep_method_words[CLI_SWEEP_METHODS];

typedef enum cli_sweep_state {
    CLI_SWEEP_WAITING,
    CLI_SWEEP_RUNNING,
    CLI_SWEEP_STOPPED, // by a signal; --resume continues it
    CLI_SWEEP_FINISHED,
    CLI_SWEEP_PRUNED,
    CLI_SWEEP_FAILED, // --resume tries it again
    CLI_SWEEP_STATES,
} cli_sweep_state;
extern const char *const cli_sweep_state_words[CLI_SWEEP_STATES];

// The numbers are those of the run's summary.json; NaN: not known.
typedef struct cli_sweep_run {
    cli_sweep_state state;
    double mean, std;                  // return of policy.oct
    double env_steps, updates, wall_s; // of the whole run
} cli_sweep_run;

typedef struct cli_sweep_trial {
    cli_point point;
    bool is_reported; // Optuna: the sampler has its result
    cli_sweep_run run[CLI_SWEEP_SEEDS_MAX];
} cli_sweep_trial;

typedef struct cli_sweep_plan {
    cli_sweep_method method;
    uint64_t draw_seed;  // seed of the generator of points
    uint32_t wanted;     // trials
    uint32_t seeds;      // runs of each trial
    uint64_t first_seed; // run.seed of a trial's first run; the others follow
    cli_space space;
    cli_sweep_trial **trial;
    uint32_t count; // trials so far; with Optuna, those that were asked for
} cli_sweep_plan;

// Adds a trial with waiting runs.
cli_sweep_trial *cli_sweep_plan_add(cli_sweep_plan *plan, const cli_point *point);
// Adds all trials of a grid or a random search, each point once. If the space has fewer points than
// wanted, wanted becomes their number.
void cli_sweep_plan_fill(cli_sweep_plan *plan);
// Finds the run to start next: trials in order, and seeds in order. With Optuna the other seeds of
// a trial wait for the first, which may be pruned. False: none can be started now.
bool cli_sweep_plan_next(const cli_sweep_plan *plan, uint32_t *trial, uint32_t *seed);
// Prunes the trial's waiting runs, because its first run was pruned.
void cli_sweep_plan_prune(cli_sweep_plan *plan, uint32_t trial);
// Makes all runs wait that did not finish; they run again, or continue.
void cli_sweep_plan_resume(cli_sweep_plan *plan);
// Returns the number of runs in a state, of all trials so far.
uint32_t cli_sweep_plan_count(const cli_sweep_plan *plan, cli_sweep_state state);
// Returns true if no run of the trial waits, runs or was stopped.
bool cli_sweep_plan_is_over(const cli_sweep_plan *plan, uint32_t trial);
// Returns the mean of the mean returns of the trial's finished runs; NaN: there is none.
double cli_sweep_plan_return(const cli_sweep_plan *plan, uint32_t trial);
// Writes the name of a run's folder, "trial-0007-seed-2": trials count from 1, the seed is
// run.seed. Returns out.
const char *cli_sweep_plan_name(const cli_sweep_plan *plan, uint32_t trial, uint32_t seed,
                                char out[CLI_SWEEP_NAME_MAX]);
// Returns true if trials have different values of a key.
bool cli_sweep_plan_varies(const cli_sweep_plan *plan, const char *key);
// Writes the values of a trial for a person: "algo.learning_rate=0.001 algo.n_step=3". Returns out.
const char *cli_sweep_plan_words(const cli_sweep_plan *plan, uint32_t trial, char *out,
                                 size_t size);
void cli_sweep_plan_fini(cli_sweep_plan *plan);

#endif // CLI_SWEEP_CLI_SWEEP_PLAN_H
