#ifndef CLI_PLAN_CLI_PLAN_METER_H
#define CLI_PLAN_CLI_PLAN_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_state.h"
#include "common/oct_config.h"

// Measures a run on this machine while it learns: what each part does, how long it waits, what CPU
// time and memory it takes. The numbers are those that the daemons report (docs/reference.md) and
// that the kernel counts.
//
// Threads: the loop thread. Owns: plain values. Full: it keeps CLI_PLAN_POINTS_MAX looks; when
// there are more, every second one is dropped.

#define CLI_PLAN_POINTS_MAX 128

// The daemons of one kind.
typedef struct cli_plan_part {
    double cores;      // CPUs that they kept busy, on average; NaN: not measured
    uint64_t resident; // memory that they hold, in bytes
} cli_plan_part;

// What was measured. Shares and rates that were not measured are NaN.
typedef struct cli_plan_rates {
    double seconds; // of learning that were measured, or of acting before the first update; 0: none
    double watched_s;          // from the first look to the last
    double start_s;            // from the first look until the learner began; NaN: it did not
    double env_steps, updates; // in these seconds
    double env_steps_per_s, updates_per_s;
    double spread;       // standard error of the faster changing of the two, as a share of the rate
    double learner_wait; // share of its time in which the training thread had no batch
    double actor_wait;   // share of their time in which actors had no room for another batch
    double env_share;    // share of the actors' working time that environments take
    cli_plan_part learner, replay, actors, evaluator;
    double others_cores;           // that programs outside the run kept busy
    double experience_bytes_per_s; // from all actors to replay
    double policy_bytes_per_s;     // from the learner to each actor
    double evaluations_per_s;
} cli_plan_rates;

typedef struct cli_plan_point {
    double s, env_steps, updates;
} cli_plan_point;

// The counters at the begin of the measurement.
typedef struct cli_plan_counts {
    double wall_s, machine_cpu_s, own_cpu_s;
    double learner_s, replay_s, actors_s, evaluator_s; // CPU time
    double experience_bytes, policy_bytes, evaluations;
} cli_plan_counts;

typedef struct cli_plan_meter {
    double settle_s;          // from the first update to the begin of the measurement
    double first_s, learns_s; // of the first look, and of the first with an update; NaN: none yet
    double acted;             // env steps before the first update
    bool has_begun;
    cli_plan_counts begin;
    cli_plan_point point[CLI_PLAN_POINTS_MAX];
    uint32_t count, every, skipped;                  // points; looks for each; looks since the last
    double learner_wait, actor_wait, env_share;      // sums
    uint32_t learner_waits, actor_waits, env_shares; // of so many
    cli_plan_rates rates;
} cli_plan_meter;

void cli_plan_meter_init(cli_plan_meter *meter, double settle_s);
// Of a new run whose daemons are about to start: the time before the first look counts, too, but
// for the steps before the first update (replay.min_size).
void cli_plan_meter_from_start(cli_plan_meter *meter, const oct_config *config, double wall_s);
// Call whenever the state has new numbers, wall_s after the run began. Reads the daemons' CPU time.
void cli_plan_meter_look(cli_plan_meter *meter, double wall_s, const cli_state *state,
                         cli_supervisor *supervisor);
// Measured so far. Valid until the next look.
const cli_plan_rates *cli_plan_meter_rates(cli_plan_meter *meter);

// The standard error of the mean rate of count points, as a share of it, from the rates of four
// parts of their time; NaN: too few points. value picks the counter. Pure.
double cli_plan_spread(const cli_plan_point *point, uint32_t count,
                       double (*value)(const cli_plan_point *point));

#endif // CLI_PLAN_CLI_PLAN_METER_H
