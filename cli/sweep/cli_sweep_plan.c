// The trials and runs of a sweep, and the choice of the next run.

#include "cli/sweep/cli_sweep_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

// consecutive draws without a new point, after which the space is taken to have none
#define AGAIN_MAX 100000

const char *const cli_sweep_method_words[CLI_SWEEP_METHODS] = {"grid", "random", "optuna"};
const char *const cli_sweep_state_words[CLI_SWEEP_STATES] = {"waiting",  "running", "stopped",
                                                             "finished", "pruned",  "failed"};

// Trials are allocated one by one and never move: running jobs point to them.
cli_sweep_trial *
cli_sweep_plan_add(cli_sweep_plan *plan, const cli_point *point)
{
    OCT_ASSERT(plan->count < CLI_SWEEP_TRIALS_MAX);
    if (plan->trial == NULL) {
        plan->trial = oct_alloc(CLI_SWEEP_TRIALS_MAX * sizeof(*plan->trial));
    }
    cli_sweep_trial *trial = oct_alloc(sizeof(*trial));
    trial->point = *point;
    for (uint32_t i = 0; i < CLI_SWEEP_SEEDS_MAX; i++) {
        trial->run[i] = (cli_sweep_run){
            .mean = NAN, .std = NAN, .env_steps = NAN, .updates = NAN, .wall_s = NAN};
    }
    plan->trial[plan->count++] = trial;
    return trial;
}

static bool
has_point(const cli_sweep_plan *plan, const cli_point *point)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        size_t k = 0;
        while (k < plan->space.count &&
               strcmp(plan->trial[i]->point.value[k], point->value[k]) == 0) {
            k++;
        }
        if (k == plan->space.count) {
            return true;
        }
    }
    return false;
}

static void
fill_grid(cli_sweep_plan *plan)
{
    cli_point point;
    for (uint32_t i = plan->count; i < plan->wanted; i++) {
        cli_space_grid(&plan->space, i, &point);
        (void)cli_sweep_plan_add(plan, &point);
    }
}

// Skips a point that was drawn before, so that the first trials are the same for any number of
// trials.
static void
fill_at_random(cli_sweep_plan *plan)
{
    cli_point point;
    uint32_t again = 0;
    for (uint64_t i = 0; plan->count < plan->wanted && again < AGAIN_MAX; i++) {
        cli_space_draw(&plan->space, plan->draw_seed, i, &point);
        if (has_point(plan, &point)) {
            again++;
        } else {
            again = 0;
            (void)cli_sweep_plan_add(plan, &point);
        }
    }
    plan->wanted = plan->count;
}

void
cli_sweep_plan_fill(cli_sweep_plan *plan)
{
    if (plan->method == CLI_SWEEP_GRID) {
        fill_grid(plan);
    } else {
        fill_at_random(plan);
    }
}

// The first seed decides whether a trial is pruned.
static bool
first_is_over(const cli_sweep_trial *trial)
{
    cli_sweep_state first = trial->run[0].state;
    return first == CLI_SWEEP_FINISHED || first == CLI_SWEEP_FAILED;
}

// Returns the first run that waits, trial by trial. With Optuna, the other seeds of a trial wait
// until its first seed is over, because that decides if they are needed.
bool
cli_sweep_plan_next(const cli_sweep_plan *plan, uint32_t *trial, uint32_t *seed)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        for (uint32_t k = 0; k < plan->seeds; k++) {
            bool may = plan->method != CLI_SWEEP_OPTUNA || k == 0 || first_is_over(plan->trial[i]);
            if (plan->trial[i]->run[k].state == CLI_SWEEP_WAITING && may) {
                *trial = i;
                *seed = k;
                return true;
            }
        }
    }
    return false;
}

void
cli_sweep_plan_prune(cli_sweep_plan *plan, uint32_t trial)
{
    for (uint32_t k = 0; k < plan->seeds; k++) {
        if (plan->trial[trial]->run[k].state == CLI_SWEEP_WAITING) {
            plan->trial[trial]->run[k].state = CLI_SWEEP_PRUNED;
        }
    }
}

// Runs that were running, stopped or failed become waiting again; finished and pruned ones stay.
void
cli_sweep_plan_resume(cli_sweep_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        for (uint32_t k = 0; k < plan->seeds; k++) {
            cli_sweep_state *state = &plan->trial[i]->run[k].state;
            bool is_over = *state == CLI_SWEEP_FINISHED || *state == CLI_SWEEP_PRUNED;
            *state = is_over ? *state : CLI_SWEEP_WAITING;
        }
        if (plan->trial[i]->run[0].state == CLI_SWEEP_PRUNED) {
            // the sweep was killed before it recorded this for the other seeds
            cli_sweep_plan_prune(plan, i);
        }
    }
}

uint32_t
cli_sweep_plan_count(const cli_sweep_plan *plan, cli_sweep_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        for (uint32_t k = 0; k < plan->seeds; k++) {
            count += plan->trial[i]->run[k].state == state;
        }
    }
    return count;
}

bool
cli_sweep_plan_is_over(const cli_sweep_plan *plan, uint32_t trial)
{
    for (uint32_t k = 0; k < plan->seeds; k++) {
        if (plan->trial[trial]->run[k].state < CLI_SWEEP_FINISHED) {
            return false;
        }
    }
    return true;
}

// The mean over the finished seeds; failed ones are left out.
double
cli_sweep_plan_return(const cli_sweep_plan *plan, uint32_t trial)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < plan->seeds; k++) {
        const cli_sweep_run *run = &plan->trial[trial]->run[k];
        if (run->state == CLI_SWEEP_FINISHED && isfinite(run->mean)) {
            sum += run->mean;
            count++;
        }
    }
    return count > 0 ? sum / count : NAN;
}

const char *
cli_sweep_plan_name(const cli_sweep_plan *plan, uint32_t trial, uint32_t seed,
                    char out[CLI_SWEEP_NAME_MAX])
{
    (void)snprintf(out, CLI_SWEEP_NAME_MAX, "trial-%04u-seed-%" PRIu64, (unsigned)trial + 1,
                   plan->first_seed + seed);
    return out;
}

bool
cli_sweep_plan_varies(const cli_sweep_plan *plan, const char *key)
{
    size_t i = 0;
    while (i < plan->space.count && strcmp(plan->space.key[i].name, key) != 0) {
        i++;
    }
    return i < plan->space.count;
}

const char *
cli_sweep_plan_words(const cli_sweep_plan *plan, uint32_t trial, char *out, size_t size)
{
    oct_text text;
    oct_text_init(&text, out, size);
    for (size_t i = 0; i < plan->space.count; i++) {
        oct_text_add(&text, "%s%s=%s", i > 0 ? " " : "", plan->space.key[i].name,
                     plan->trial[trial]->point.value[i]);
    }
    return out;
}

void
cli_sweep_plan_fini(cli_sweep_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        free(plan->trial[i]);
    }
    free(plan->trial);
    cli_space_fini(&plan->space);
    plan->trial = NULL;
    plan->count = 0;
}
