// Measures a run from the status of its daemons and from the CPU time that they use.

#include "cli/plan/cli_plan_meter.h"

#include <math.h>
#include <string.h>

#include "cli/run/cli_energy.h"
#include "cli/run/cli_report.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "config/config.h"

#define PARTS 4 // equal parts of a measurement, whose rates are compared
// from the start to the first update; if it takes longer, the measurement begins with the update
#define START_S_MOST 5.0

// ---- counters

// Adds the CPU time of the daemons to out, and sets the memory that they hold in rates.
static void
cpu_read(cli_plan_counts *out, cli_plan_rates *rates, cli_supervisor *supervisor)
{
    cli_supervisor_read_cpu(supervisor);
    rates->learner.resident = rates->replay.resident = 0;
    rates->actors.resident = rates->evaluator.resident = 0;
    for (uint32_t i = 0; i < cli_supervisor_count(supervisor); i++) {
        cli_daemon_report daemon = cli_supervisor_report(supervisor, i);
        bool is_actor = strncmp(daemon.name, "actor-", strlen("actor-")) == 0;
        bool is_learner = strcmp(daemon.name, "learner") == 0;
        bool is_evaluator = strcmp(daemon.name, "evaluator") == 0;
        double *cpu_s = is_actor       ? &out->actors_s
                        : is_learner   ? &out->learner_s
                        : is_evaluator ? &out->evaluator_s
                                       : &out->replay_s;
        cli_plan_part *part = is_actor       ? &rates->actors
                              : is_learner   ? &rates->learner
                              : is_evaluator ? &rates->evaluator
                                             : &rates->replay;
        *cpu_s += daemon.cpu_s;
        part->resident += daemon.resident;
    }
    out->own_cpu_s = cli_report_cpu_s(supervisor);
    out->machine_cpu_s = cli_energy_machine_cpu_s();
}

static double
number(const cli_snapshot *state, const char *name)
{
    return cli_snapshot_number(state, name);
}

static cli_plan_counts
counts_read(cli_plan_rates *rates, double wall_s, const cli_snapshot *state,
            cli_supervisor *supervisor)
{
    cli_plan_counts counts = {.wall_s = wall_s,
                              .experience_bytes = number(state, "replay.bytes_in"),
                              .policy_bytes = number(state, "learner.published_bytes"),
                              .evaluations = number(state, "learner.evaluations")};
    cpu_read(&counts, rates, supervisor);
    return counts;
}

// ---- samples

void
cli_plan_meter_init(cli_plan_meter *meter, double settle_s)
{
    *meter = (cli_plan_meter){.settle_s = settle_s, .first_s = NAN, .learns_s = NAN, .every = 1};
    meter->rates = (cli_plan_rates){
        .start_s = NAN,
        .env_steps_per_s = NAN,
        .updates_per_s = NAN,
        .spread = NAN,
        .learner_wait = NAN,
        .actor_wait = NAN,
        .env_share = NAN,
        .learner.cores = NAN,
        .replay.cores = NAN,
        .actors.cores = NAN,
        .evaluator.cores = NAN,
        .others_cores = NAN,
        .experience_bytes_per_s = NAN,
        .policy_bytes_per_s = NAN,
        .evaluations_per_s = NAN,
    };
}

// Keeps a point. When the array is full, every second point is dropped, and from then on only every
// second sample is kept.
static void
point_add(cli_plan_meter *meter, cli_plan_point added)
{
    if (++meter->skipped < meter->every) {
        return;
    }
    meter->skipped = 0;
    if (meter->count == CLI_PLAN_POINTS_MAX) {
        meter->count /= 2;
        for (uint32_t i = 0; i < meter->count; i++) {
            meter->point[i] = meter->point[2 * i];
        }
        meter->every *= 2;
    }
    meter->point[meter->count++] = added;
}

void
cli_plan_meter_from_start(cli_plan_meter *meter, const config_experiment *config, double wall_s)
{
    bool has_first = config_has_limiter(config) && !config_is_offline(config);
    double first = has_first ? (double)config->replay.min_size : 0;
    // The first steps are not limited, so the rate counts from there.
    point_add(meter, (cli_plan_point){.env_steps = first});
    meter->begin = (cli_plan_counts){.wall_s = wall_s,
                                     .machine_cpu_s = cli_energy_machine_cpu_s(),
                                     .own_cpu_s = 1e-9 * (double)oct_clock_process_cpu_ns()};
    meter->has_begun = true;
    meter->first_s = wall_s;
}

static void
share_add(double *sum, uint32_t *count, double share)
{
    if (isfinite(share)) {
        *sum += share;
        (*count)++;
    }
}

// Adds the shares of one sample, as far as they are known.
static void
shares_add(cli_plan_meter *meter, const cli_snapshot *state)
{
    double infer = number(state, "learner.actor_infer_share");
    double env = number(state, "learner.actor_env_share");
    double collect = number(state, "learner.actor_collect_share");
    share_add(&meter->learner_wait, &meter->learner_waits, number(state, "learner.wait_share"));
    share_add(&meter->actor_wait, &meter->actor_waits, number(state, "learner.actor_wait_share"));
    share_add(&meter->env_share, &meter->env_shares, env / (infer + env + collect));
}

void
cli_plan_meter_sample(cli_plan_meter *meter, double wall_s, const cli_snapshot *state,
                      cli_supervisor *supervisor)
{
    double updates = number(state, "learner.updates"), steps = number(state, "learner.env_steps");
    bool is_learning = strcmp(state->learner.state, "training") == 0 ||
                       strcmp(state->learner.state, CLI_SNAPSHOT_OFFLINE) == 0;
    meter->first_s = isnan(meter->first_s) ? wall_s : meter->first_s;
    meter->rates.watched_s = wall_s - meter->first_s;
    meter->rates.evaluation_episodes = number(state, "learner.eval_played");
    meter->rates.evaluation_s = number(state, "learner.eval_played_s");
    if (!is_learning || !(updates > 0)) {
        meter->acted = is_learning ? steps : 0;
        return;
    }
    if (isnan(meter->learns_s)) {
        meter->learns_s = wall_s;
        meter->rates.start_s = wall_s - meter->first_s;
        if (meter->rates.start_s > START_S_MOST) { // the first steps took most of the time
            meter->count = 0;
            meter->has_begun = false;
        }
    }
    if (wall_s - meter->learns_s < meter->settle_s) {
        return;
    }
    if (!meter->has_begun) {
        meter->begin = counts_read(&meter->rates, wall_s, state, supervisor);
        meter->has_begun = true;
    }
    // The learner's clock was read with its counters. After an answer of replay both are unchanged.
    double learner_s = number(state, "learner.wall_s");
    if (meter->count > 0 && !(learner_s > meter->point[meter->count - 1].s)) {
        return;
    }
    point_add(meter, (cli_plan_point){learner_s, steps, updates});
    shares_add(meter, state);
    cli_plan_rates *rates = &meter->rates;
    cli_plan_counts now = counts_read(rates, wall_s, state, supervisor), *begin = &meter->begin;
    double span_s = now.wall_s - begin->wall_s;
    if (span_s <= 0) {
        return;
    }
    rates->learner.cores = (now.learner_s - begin->learner_s) / span_s;
    rates->replay.cores = (now.replay_s - begin->replay_s) / span_s;
    rates->actors.cores = (now.actors_s - begin->actors_s) / span_s;
    rates->evaluator.cores = (now.evaluator_s - begin->evaluator_s) / span_s;
    double machine = now.machine_cpu_s - begin->machine_cpu_s;
    rates->others_cores = fmax(0, (machine - (now.own_cpu_s - begin->own_cpu_s)) / span_s);
    rates->experience_bytes_per_s = (now.experience_bytes - begin->experience_bytes) / span_s;
    rates->policy_bytes_per_s = (now.policy_bytes - begin->policy_bytes) / span_s;
    rates->evaluations_per_s = (now.evaluations - begin->evaluations) / span_s;
}

// ---- what was measured

double
cli_plan_spread(const cli_plan_point *point, uint32_t count,
                double (*value)(const cli_plan_point *point))
{
    double rate[PARTS], sum = 0, squares = 0;
    if (count < 2 * PARTS + 1) {
        return NAN;
    }
    for (uint32_t part = 0; part < PARTS; part++) {
        const cli_plan_point *from = &point[part * (count - 1) / PARTS];
        const cli_plan_point *to = &point[(part + 1) * (count - 1) / PARTS];
        rate[part] = (value(to) - value(from)) / (to->s - from->s);
        sum += rate[part];
    }
    double mean = sum / PARTS;
    for (uint32_t part = 0; part < PARTS; part++) {
        squares += (rate[part] - mean) * (rate[part] - mean);
    }
    // standard error of the mean of PARTS rates, relative to the mean
    return sqrt(squares / (PARTS - 1) / PARTS) / mean;
}

static double
env_steps_of(const cli_plan_point *point)
{
    return point->env_steps;
}

static double
updates_of(const cli_plan_point *point)
{
    return point->updates;
}

static double
mean_of(double sum, uint32_t count)
{
    return count > 0 ? sum / count : NAN;
}

const cli_plan_rates *
cli_plan_meter_rates(cli_plan_meter *meter)
{
    cli_plan_rates *rates = &meter->rates;
    rates->seconds = 0;
    rates->learner_wait = mean_of(meter->learner_wait, meter->learner_waits);
    rates->actor_wait = mean_of(meter->actor_wait, meter->actor_waits);
    rates->env_share = mean_of(meter->env_share, meter->env_shares);
    if (isnan(meter->learns_s) && meter->acted > 0) { // the environment is too slow for an update
        rates->seconds = rates->watched_s;
        rates->env_steps = meter->acted;
        rates->env_steps_per_s = meter->acted / rates->watched_s;
        rates->learner_wait = 1;
        rates->actor_wait = 0;
    }
    if (meter->count < 2) {
        return rates;
    }
    const cli_plan_point *first = &meter->point[0], *last = &meter->point[meter->count - 1];
    rates->seconds = last->s - first->s;
    rates->env_steps = fmax(0, last->env_steps - first->env_steps);
    rates->updates = last->updates - first->updates;
    rates->env_steps_per_s = rates->env_steps / rates->seconds;
    rates->updates_per_s = rates->updates / rates->seconds;
    rates->spread = fmax(cli_plan_spread(meter->point, meter->count, env_steps_of),
                         cli_plan_spread(meter->point, meter->count, updates_of));
    return rates;
}
