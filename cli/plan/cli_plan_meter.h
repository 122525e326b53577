#ifndef CLI_PLAN_CLI_PLAN_METER_H
#define CLI_PLAN_CLI_PLAN_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_snapshot.h"
#include "config/config.h"

// Measures a run on this machine: the rates of its parts, how long they wait, and the CPU time and
// memory of their processes. Rates come from the status of the daemons (docs/reference.md), CPU
// time and memory from the supervisor.
//
// The measurement begins at the first sample that sees an update, or settle_s later. Until then
// only the environment steps are counted, for an environment that is too slow for an update.
//
// Threads: the loop thread. Owns: nothing; plain values. Full: when CLI_PLAN_POINTS_MAX points are
// kept, every second one is dropped, and from then on only every second sample is kept.

#define CLI_PLAN_POINTS_MAX 128

// The processes of one kind of daemon.
typedef struct cli_plan_part {
    double cores;      // CPUs that they keep busy on average; NaN: not measured
    uint64_t resident; // bytes of memory that they hold
} cli_plan_part;

// The result. A rate or a share is NaN if it was not measured.
typedef struct cli_plan_rates {
    double seconds;            // length of the measurement; 0: nothing was measured
    double watched_s;          // from the first sample to the last
    double start_s;            // from the first sample to the first update; NaN: there was none
    double env_steps, updates; // during the measurement
    double env_steps_per_s, updates_per_s;
    double spread;       // relative standard error of the rate that is less even
    double learner_wait; // share of time in which the training thread has no batch
    double actor_wait;   // share of time in which actors have no room for a batch
    double env_share;    // share of the actors' working time that the environments take
    cli_plan_part learner, replay, actors, evaluator;
    double others_cores;           // CPUs that programs outside the run keep busy
    double experience_bytes_per_s; // from all actors to replay
    double policy_bytes_per_s;     // from the learner to each actor
    double evaluations_per_s;
    // Since the start: episodes of evaluations, and the time of the evaluator that they took.
    double evaluation_episodes, evaluation_s;
} cli_plan_rates;

// Counters at one sample; s is the learner's clock.
typedef struct cli_plan_point {
    double s, env_steps, updates;
} cli_plan_point;

// Counters when the measurement begins.
typedef struct cli_plan_counts {
    double wall_s;
    double machine_cpu_s, own_cpu_s;                   // of all programs, and of the run's
    double learner_s, replay_s, actors_s, evaluator_s; // CPU seconds
    double experience_bytes, policy_bytes, evaluations;
} cli_plan_counts;

typedef struct cli_plan_meter {
    double settle_s; // from the first update to the start of the measurement
    double first_s;  // time of the first sample; NaN: none yet
    double learns_s; // time of the first sample that saw an update; NaN: none yet
    double acted;    // env steps before the first update
    bool has_begun;  // begin is set
    cli_plan_counts begin;
    cli_plan_point point[CLI_PLAN_POINTS_MAX];
    uint32_t count;                                  // points
    uint32_t every;                                  // samples for each point
    uint32_t skipped;                                // samples since the last point
    double learner_wait, actor_wait, env_share;      // sums over samples
    uint32_t learner_waits, actor_waits, env_shares; // numbers of terms in these sums
    cli_plan_rates rates;
} cli_plan_meter;

void cli_plan_meter_init(cli_plan_meter *meter, double settle_s);
// Starts the measurement of a new run just before its daemons start, at wall_s. The first
// replay.min_size steps do not count for the rate of steps, because the limiter does not hold them.
// Where these take more than five seconds, the measurement starts with the first update.
void cli_plan_meter_from_start(cli_plan_meter *meter, const config_experiment *config,
                               double wall_s);
// Takes the numbers in state. Call it after each answer; wall_s is the time since the run began.
// Reads the CPU time of the daemons.
void cli_plan_meter_sample(cli_plan_meter *meter, double wall_s, const cli_snapshot *state,
                           cli_supervisor *supervisor);
// Returns what was measured so far. The pointer stays the same; the next sample changes the values.
const cli_plan_rates *cli_plan_meter_rates(cli_plan_meter *meter);

// Returns the relative standard error of the rate of a counter, from the rates in four equal parts
// of the points; NaN if there are fewer than 9 points. value returns the counter of a point.
double cli_plan_spread(const cli_plan_point *point, uint32_t count,
                       double (*value)(const cli_plan_point *point));

#endif // CLI_PLAN_CLI_PLAN_METER_H
