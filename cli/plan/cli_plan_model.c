// Makes a plan from a measurement: the limit, the times, memory and disk.

#include "cli/plan/cli_plan.h"

#include <math.h>

#include "common/oct_base.h"
#include "common/oct_memory.h"
#include "config/config.h"

#define FULL_SHARE 0.9 // share of the cores that must be busy for none to count as idle
// A learner that never waits for a batch and still gets less of a core shares that core.
#define LEARNER_SHARE 0.8
// Half the width of a range is WIDTH_LEAST + WIDTH_SECONDS / seconds of the measurement, and more.
#define WIDTH_LEAST   0.1
#define WIDTH_SECONDS 0.1
#define WIDTH_MOST    0.6
#define FINAL_FULL    2 // full evaluations after training: of the last version, and the result
#define ERRORS        2 // standard errors of the rate by which a range is widened

const char *const cli_plan_limit_words[CLI_PLAN_LIMITS] = {
    [CLI_PLAN_UNKNOWN] = "unknown",   [CLI_PLAN_LEARNER] = "learner",
    [CLI_PLAN_ACTORS] = "actors",     [CLI_PLAN_CORES] = "cores",
    [CLI_PLAN_TURNS] = "turns",       [CLI_PLAN_EXCHANGE] = "exchange",
    [CLI_PLAN_BALANCED] = "balanced",
};

static const cli_plan_range unknown = {NAN, NAN, NAN};

// ---- cores

// An unknown number counts as 0.
static double
known(double value)
{
    return isfinite(value) ? value : 0;
}

static double
cores_used(const cli_plan_rates *rates)
{
    double learner = rates->learner.cores;
    return isnan(learner) ? NAN
                          : learner + known(rates->replay.cores) + known(rates->actors.cores) +
                                known(rates->evaluator.cores);
}

static bool
cores_are_full(const cli_plan_rates *rates, double cores)
{
    return cores_used(rates) + known(rates->others_cores) >= FULL_SHARE * cores;
}

// ---- the limit

// With rollouts of the newest policy and in lock-step, waiting is part of the design.
static cli_plan_limit
limit_of_turns(const cli_plan_rates *rates, bool is_full)
{
    if (rates->learner_wait < CLI_PLAN_WAITS) {
        return CLI_PLAN_LEARNER;
    }
    return rates->learner_wait > 1 - CLI_PLAN_WAITS ? is_full ? CLI_PLAN_CORES : CLI_PLAN_ACTORS
                                                    : CLI_PLAN_TURNS;
}

cli_plan_limit
cli_plan_limit_of(const config_experiment *config, const cli_plan_rates *rates, double cores)
{
    bool is_full = cores_are_full(rates, cores);
    bool learner_waits = rates->learner_wait >= CLI_PLAN_WAITS;
    bool actors_wait = rates->actor_wait >= CLI_PLAN_WAITS;
    if (!(rates->seconds > 0) || isnan(rates->learner_wait)) {
        return CLI_PLAN_UNKNOWN;
    }
    if (config_is_offline(config)) {
        return !learner_waits ? CLI_PLAN_LEARNER : is_full ? CLI_PLAN_CORES : CLI_PLAN_EXCHANGE;
    }
    if (config_takes_turns(config)) {
        return limit_of_turns(rates, is_full);
    }
    // See LEARNER_SHARE.
    if (!learner_waits && is_full && rates->learner.cores < LEARNER_SHARE) {
        return CLI_PLAN_CORES;
    }
    if (!learner_waits) {
        return actors_wait ? CLI_PLAN_LEARNER : is_full ? CLI_PLAN_CORES : CLI_PLAN_BALANCED;
    }
    return is_full ? CLI_PLAN_CORES : actors_wait ? CLI_PLAN_EXCHANGE : CLI_PLAN_ACTORS;
}

// ---- times

double
cli_plan_width(const cli_plan_rates *rates, double cores)
{
    double width = WIDTH_LEAST + WIDTH_SECONDS / rates->seconds;
    if (isnan(rates->start_s)) { // the learner has not begun
        return WIDTH_MOST;
    }
    width += ERRORS * known(rates->spread);
    width += known(rates->others_cores) / cores; // other programs may end, or others may start
    return fmin(width, WIDTH_MOST);
}

// Asymmetric, so that the times that follow from it are symmetric around the middle.
static cli_plan_range
rate_range(double rate, double width)
{
    return rate > 0 ? (cli_plan_range){rate / (1 + width), rate, rate / (1 - width)} : unknown;
}

// The lesser of two numbers, of which either may be NaN.
static double
least(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : fmin(a, b);
}

// Predicts the time until the run has done env_steps. The first replay.min_size of them come at the
// rate of actors that do not wait.
static cli_plan_range
time_of(const cli_plan *plan, const cli_plan_input *input, double env_steps)
{
    const config_experiment *config = input->config;
    const cli_plan_range *rate = &plan->env_steps_per_s;
    bool has_first = config_has_limiter(config) && input->env_steps_done == 0;
    double first = has_first ? fmin((double)config->replay.min_size, env_steps) : 0;
    double left = fmax(0, env_steps - first - input->env_steps_done);
    double first_s = isnan(plan->actors_max) ? first / rate->mid : first / plan->actors_max;
    double start_s = known(input->rates->start_s) + first_s;
    return (cli_plan_range){start_s + left / rate->high, start_s + left / rate->mid,
                            start_s + left / rate->low};
}

static cli_plan_range
time_of_updates(const cli_plan *plan, const cli_plan_input *input)
{
    const cli_plan_range *rate = &plan->updates_per_s;
    double left = fmax(0, (double)input->config->run.updates - input->updates_done);
    double start_s = known(input->rates->start_s);
    return (cli_plan_range){start_s + left / rate->high, start_s + left / rate->mid,
                            start_s + left / rate->low};
}

// Predicts when the first of the run's budgets is spent.
static void
time_make(cli_plan *plan, const cli_plan_input *input)
{
    const config_experiment *config = input->config;
    plan->time_s = unknown;
    plan->ends_by = "run.env_steps";
    if (!config_is_offline(config)) {
        plan->time_s = time_of(plan, input, (double)config->run.env_steps);
    }
    if (!(input->rates->seconds > 0) && input->rates->watched_s > 0) {
        // Fewer than one step of each environment came in watched_s.
        plan->time_s.low = (double)config->run.env_steps * input->rates->watched_s /
                           (double)config_environments(config);
    }
    if (config->run.updates > 0) {
        cli_plan_range updates = time_of_updates(plan, input);
        if (!(updates.mid >= plan->time_s.mid)) {
            plan->time_s = updates;
            plan->ends_by = "run.updates";
        }
    }
    if (config->run.wall_s > 0 && !(plan->time_s.low < config->run.wall_s)) {
        plan->ends_by = "run.wall_s";
    }
    if (config->run.wall_s > 0) {
        plan->time_s.low = least(plan->time_s.low, config->run.wall_s);
        plan->time_s.mid = least(plan->time_s.mid, config->run.wall_s);
        plan->time_s.high = least(plan->time_s.high, config->run.wall_s);
    }
}

// Predicts the final evaluation, from episodes that take as long as those of the measurement.
static cli_plan_range
final_of(const cli_plan *plan, const cli_plan_input *input)
{
    const config_experiment *config = input->config;
    const cli_plan_rates *rates = input->rates;
    if (!(rates->evaluation_episodes > 0 && rates->evaluation_s > 0)) {
        return unknown;
    }
    double low =
        FINAL_FULL * config->evaluation.episodes * rates->evaluation_s / rates->evaluation_episodes;
    // share of its time in which the evaluator played
    double busy = fmin(1, rates->evaluation_s / rates->watched_s);
    double high = low + config->evaluation.final_share * busy * known(plan->time_s.high);
    return (cli_plan_range){low, (low + high) / 2, high};
}

void
cli_plan_set_goal(cli_plan *plan, const cli_plan_input *input, const cli_plan_goal *goal)
{
    plan->goal = *goal;
    if (goal->runs > 0) {
        plan->goal.time_s = (cli_plan_range){time_of(plan, input, goal->steps.low).low,
                                             time_of(plan, input, goal->steps.mid).mid,
                                             time_of(plan, input, goal->steps.high).high};
    }
}

// ---- memory and disk

// A part has not used all that it reserves yet, and holds more than it reserves in its budget.
static uint64_t
memory_of(const cli_plan_part *part, uint64_t reserved)
{
    return OCT_MAX(part->resident, reserved);
}

static void
memory_make(cli_plan *plan, const cli_plan_input *input)
{
    const cli_plan_rates *rates = input->rates;
    const cli_plan_needs *needs = input->needs;
    uint64_t replay = needs->replay + (needs->table_in_file ? 0 : needs->table);
    plan->memory_learner = memory_of(&rates->learner, needs->learner);
    plan->memory_replay = memory_of(&rates->replay, needs->shards * replay);
    plan->memory_actors = memory_of(&rates->actors, needs->actors * needs->actor);
    plan->memory_evaluator = rates->evaluator.resident;
    plan->memory_total =
        plan->memory_learner + plan->memory_replay + plan->memory_actors + plan->memory_evaluator;
    plan->memory_fits = oct_memory_suffices(input->memory_available, plan->memory_total);
}

// metrics.csv and TensorBoard's file grow until they have learner.metrics_rows rows.
static void
disk_make(cli_plan *plan, const cli_plan_input *input)
{
    const cli_plan_needs *needs = input->needs;
    double rows = (double)input->config->learner.metrics_rows;
    double made = plan->time_s.high / input->config->learner.metrics_s;
    double share = isnan(made) ? 1 : fmin(1, made / rows);
    plan->disk_total = needs->disk_table + needs->disk_checkpoints +
                       (uint64_t)(share * (double)needs->disk_metrics);
    plan->disk_fits = plan->disk_total <= input->disk_available;
}

// ---- the whole plan

// Returns how many actors would keep the learner busy (learner_demand.h).
static double
actors_wanted(const cli_plan_input *input)
{
    const cli_plan_rates *rates = input->rates;
    double works = 1 - rates->actor_wait, learns = 1 - rates->learner_wait;
    return learns > 0 ? input->needs->actors * works / learns : NAN;
}

void
cli_plan_make(cli_plan *out, const cli_plan_input *input)
{
    const cli_plan_rates *rates = input->rates;
    double width = cli_plan_width(rates, input->cores);
    cli_plan plan = {
        .limit = cli_plan_limit_of(input->config, rates, input->cores),
        .cores_used = cores_used(rates),
        .env_steps_per_s = rate_range(rates->env_steps_per_s, width),
        .updates_per_s = rate_range(rates->updates_per_s, width),
        .actors_max = NAN,
        .learner_max = NAN,
        .actors_wanted = NAN,
        .goal = {.goal_return = input->config->run.stop_at_return,
                 .steps = unknown,
                 .time_s = unknown},
    };
    if (rates->actor_wait < 1) {
        plan.actors_max = rates->env_steps_per_s / (1 - rates->actor_wait);
    }
    if (rates->learner_wait < 1) {
        plan.learner_max = rates->updates_per_s / (1 - rates->learner_wait);
    }
    if (plan.limit == CLI_PLAN_ACTORS) {
        plan.actors_wanted = actors_wanted(input);
    }
    time_make(&plan, input);
    plan.final_s = final_of(&plan, input);
    memory_make(&plan, input);
    disk_make(&plan, input);
    *out = plan;
}
