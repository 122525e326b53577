#ifndef CLI_PLAN_CLI_PLAN_H
#define CLI_PLAN_CLI_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/plan/cli_plan_meter.h"
#include "cli/plan/cli_plan_needs.h"
#include "config/config.h"

// Makes the plan of a run: how long it takes, how much memory and disk it needs, and which of its
// parts limits its speed. The input is what a meter measured (cli_plan_meter.h) and what the
// daemons reserve (cli_plan_needs.h).
//
// How the limit is found. Replay's limiter ties updates to environment steps, so the slower side,
// learner or actors, works all the time and the other side waits (learner_demand.h). If neither
// side works all the time, either all cores are busy, or the messages between the two sides take
// the time. With rollouts of the newest policy (PPO, A2C, TRPO) and in lock-step
// (run.deterministic) learner and actors take turns by design.
//
// How times are predicted. The rate that was measured is taken for the rest of the budget. The
// range around it is wider if the measurement was short, the rate uneven, or other programs busy.
//
// Threads: any; no state.

#define CLI_PLAN_WAITS 0.1 // share of its time; a side that waits less counts as working

typedef enum cli_plan_limit {
    CLI_PLAN_UNKNOWN, // too little was measured
    CLI_PLAN_LEARNER,
    CLI_PLAN_ACTORS,
    CLI_PLAN_CORES,    // all cores are busy: more actors or learners would not help
    CLI_PLAN_TURNS,    // learner and actors take turns
    CLI_PLAN_EXCHANGE, // both sides wait for messages, and cores are idle
    CLI_PLAN_BALANCED, // neither side waits
    CLI_PLAN_LIMITS,
} cli_plan_limit;
extern const char *const cli_plan_limit_words[CLI_PLAN_LIMITS]; // "learner", for JSON

// low <= mid <= high, or NaN where a number is not known.
typedef struct cli_plan_range {
    double low, mid, high;
} cli_plan_range;

// Environment steps to run.stop_at_return, measured in earlier runs (cli_plan_goals.h).
typedef struct cli_plan_goal {
    double goal_return;    // run.stop_at_return; NaN: none
    uint32_t runs;         // number of earlier runs; 0: steps and time_s are not known
    cli_plan_range steps;  // lowest, median and highest of these runs
    cli_plan_range time_s; // predicted for these steps; seconds
} cli_plan_goal;

typedef struct cli_plan_input {
    const config_experiment *config;
    const cli_plan_rates *rates;
    const cli_plan_needs *needs;
    double cores;          // usable CPUs (oct_cores_usable)
    double env_steps_done; // before this process; 0 for a new run
    double updates_done;
    uint64_t memory_available; // bytes, before the daemons start
    uint64_t disk_available;   // bytes
} cli_plan_input;

typedef struct cli_plan {
    cli_plan_limit limit;
    double cores_used; // CPUs that the run keeps busy; NaN: not measured
    cli_plan_range env_steps_per_s;
    cli_plan_range updates_per_s;
    double actors_max;     // env steps/s that the actors could do without waiting; NaN: not known
    double learner_max;    // updates/s that the learner could do without waiting; NaN: not known
    double actors_wanted;  // with limit ACTORS: actors that would keep the learner busy; else NaN
    cli_plan_range time_s; // seconds from the start of the daemons until the budget is spent
    const char *ends_by;   // the key whose budget is spent first: "run.env_steps"
    // Seconds of the evaluations after that; NaN: no evaluation was measured. They play the last
    // version and the result, and at most evaluation.final_share of what was played before.
    cli_plan_range final_s;
    // Memory in bytes. A table in a file is not included, because the kernel can evict its pages.
    uint64_t memory_learner, memory_replay, memory_actors, memory_evaluator;
    uint64_t memory_total; // the sum of these four
    uint64_t disk_total;   // bytes
    bool memory_fits, disk_fits;
    cli_plan_goal goal;
} cli_plan;

// Makes the plan. The goal's steps are not known yet (cli_plan_set_goal).
void cli_plan_make(cli_plan *out, const cli_plan_input *input);
// Adds the goal and predicts its time. The input is that of cli_plan_make.
void cli_plan_set_goal(cli_plan *plan, const cli_plan_input *input, const cli_plan_goal *goal);

// Finds the limit; cores as in cli_plan_input. Public for tests.
cli_plan_limit cli_plan_limit_of(const config_experiment *config, const cli_plan_rates *rates,
                                 double cores);
// Returns half the width of a range as a share of its middle, at most 0.6. Public for tests.
double cli_plan_width(const cli_plan_rates *rates, double cores);

#endif // CLI_PLAN_CLI_PLAN_H
