#ifndef CLI_PLAN_CLI_PLAN_H
#define CLI_PLAN_CLI_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/plan/cli_plan_meter.h"
#include "cli/plan/cli_plan_needs.h"
#include "common/oct_config.h"

// What a run will take: how long, how much memory and disk, and which of its parts limits it. It
// follows from what was measured of the run (cli_plan_meter.h) and from what its daemons reserve
// (cli_plan_needs.h).
//
// The rule for the limit. Replay's limiter ties updates to environment steps, so of learner and
// actors the slower one works all the time and the other one waits (learner_demand.h). Where
// neither works all the time, the cores are busy, or the messages between them take the time. With
// rollouts of the newest policy (PPO, A2C, TRPO) and in lock-step (run.deterministic) learner and
// actors wait for each other by turns.
//
// Threads: any; no state.

#define CLI_PLAN_WAITS 0.1 // share of the time; less is not called waiting

typedef enum cli_plan_limit {
    CLI_PLAN_UNKNOWN, // too little was measured
    CLI_PLAN_LEARNER,
    CLI_PLAN_ACTORS,
    CLI_PLAN_CORES,    // all cores are busy, and more of either part would not help
    CLI_PLAN_TURNS,    // learner and actors wait for each other by turns
    CLI_PLAN_EXCHANGE, // both wait for messages, and there are idle cores
    CLI_PLAN_BALANCED, // neither waits
    CLI_PLAN_LIMITS,
} cli_plan_limit;
extern const char *const cli_plan_limit_words[CLI_PLAN_LIMITS]; // "learner", as in JSON

// low <= mid <= high; NaN: not known.
typedef struct cli_plan_range {
    double low, mid, high;
} cli_plan_range;

// Steps to the goal of an experiment whose learning was measured (cli_plan_goals.h).
typedef struct cli_plan_goal {
    double goal_return;    // run.stop_at_return; NaN: there is none
    uint32_t runs;         // that were measured; 0: the rest is not known
    cli_plan_range steps;  // lowest, median and highest of these runs
    cli_plan_range time_s; // that these steps take here
} cli_plan_goal;

typedef struct cli_plan_input {
    const oct_config *config;
    const cli_plan_rates *rates;
    const cli_plan_needs *needs;
    double cores;          // that may be used (oct_cores_usable)
    double env_steps_done; // of a run that continues
    double updates_done;
    uint64_t memory_available; // for what the run does not hold yet
    uint64_t disk_available;
} cli_plan_input;

typedef struct cli_plan {
    cli_plan_limit limit;
    bool cores_full;   // no core is idle
    double cores_used; // by the run; NaN: not measured
    cli_plan_range env_steps_per_s;
    cli_plan_range updates_per_s;
    double actors_max;     // env steps/s of actors that never wait; NaN: not known
    double learner_max;    // updates/s of a learner that never waits
    double actors_wanted;  // actors that could use the learner's time; NaN: not known
    cli_plan_range time_s; // until the budget is spent, with the start
    const char *ends_by;   // the key that ends the run: "run.env_steps"
    uint64_t memory_learner, memory_replay, memory_actors,
        memory_evaluator;  // bytes, without a table in a file
    uint64_t memory_total; // without a table in a file
    uint64_t disk_total;
    bool memory_fits, disk_fits;
    cli_plan_goal goal;
} cli_plan;

void cli_plan_make(cli_plan *out, const cli_plan_input *input);
// The time of a goal, once its steps are known.
void cli_plan_set_goal(cli_plan *plan, const cli_plan_input *input, const cli_plan_goal *goal);

// The parts, for tests.
cli_plan_limit cli_plan_limit_of(const oct_config *config, const cli_plan_rates *rates,
                                 double cores);
// Half the width of a range around what was measured, as a share of it.
double cli_plan_width(const cli_plan_rates *rates, double cores);

#endif // CLI_PLAN_CLI_PLAN_H
