// What is known of a run on this machine: rates, waiting, warnings, evaluations.

#include "cli/run/cli_run_status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

#define WINDOW_S      1.0
#define STARVED_SHARE 0.5 // of the learner's time, without a batch to learn from
#define QUIET_MAX_S   10.0
#define HELD_SHARE    0.2 // of the time; held back so much, actors wait and nothing is wrong

void
cli_run_status_init(cli_run_status *status, const char *run_name)
{
    memset(status, 0, sizeof(*status));
    (void)snprintf(status->run_name, sizeof(status->run_name), "%s", run_name);
    (void)snprintf(status->state, sizeof(status->state), "starting");
    cli_numbers_clear(&status->numbers);
    status->goal = NAN;
    status->quiet_max_s = QUIET_MAX_S;
    status->stepped_count = NAN;
    status->insert_wait_share = NAN;
    status->sample_wait_share = NAN;
    status->window_insert_blocked_s = NAN;
    status->window_sample_blocked_s = NAN;
    status->first_env_steps = NAN;
    status->first_updates = NAN;
    status->first_published_bytes = NAN;
}

static void
point_add(cli_run_status *status, double value)
{
    if (status->point_count == CLI_RUN_STATUS_POINTS_MAX) {
        status->point_count /= 2;
        for (size_t i = 0; i < status->point_count; i++) {
            status->point_return[i] = status->point_return[2 * i];
        }
    }
    status->point_return[status->point_count++] = value;
}

// The share of window_s that grew from before to after; NaN when either is not known or the daemon
// began again in between.
static double
share(double before, double after, double window_s)
{
    return after >= before ? OCT_MIN((after - before) / window_s, 1.0) : NAN;
}

static void
fill_rate(double *rate, double first, double count, double span_s)
{
    if (!(*rate > 0) && count > first && span_s > 0) {
        *rate = (count - first) / span_s;
    }
}

// A learner that just started serves rates of 0 until its first window is over.
static void
fill_rates(cli_run_status *status, double wall_s)
{
    double *value = status->numbers.value;
    if (!(value[CLI_ENV_STEPS] >= status->first_env_steps)) { // the first, or it began again
        status->first_s = wall_s;
        status->first_env_steps = value[CLI_ENV_STEPS];
        status->first_updates = value[CLI_UPDATES];
        status->first_published_bytes = value[CLI_PUBLISHED_BYTES];
    }
    double span_s = wall_s - status->first_s;
    fill_rate(&value[CLI_ENV_STEPS_PER_S], status->first_env_steps, value[CLI_ENV_STEPS], span_s);
    fill_rate(&value[CLI_UPDATES_PER_S], status->first_updates, value[CLI_UPDATES], span_s);
    fill_rate(&value[CLI_PUBLISHED_BYTES_PER_S], status->first_published_bytes,
              value[CLI_PUBLISHED_BYTES], span_s);
}

static void
warn(cli_run_status *status, double wall_s)
{
    const double *value = status->numbers.value;
    bool is_training = strcmp(status->state, "training") == 0;
    bool is_held = status->insert_wait_share >= HELD_SHARE;
    if (!is_training || is_held || value[CLI_ENV_STEPS] != status->stepped_count) {
        status->stepped_s = wall_s;
        status->stepped_count = value[CLI_ENV_STEPS];
    }
    double quiet_s = wall_s - status->stepped_s;
    status->warning[0] = '\0';
    if (value[CLI_UNSAVED] > 0) {
        (void)snprintf(status->warning, sizeof(status->warning),
                       "a file of the run folder cannot be written, is the disk full? "
                       "(log/learner.log)");
    } else if (quiet_s >= status->quiet_max_s) {
        (void)snprintf(status->warning, sizeof(status->warning),
                       "no environment step for %.0f s, does the environment hang? "
                       "(log/actor-0.log)",
                       quiet_s);
    } else if (is_training && value[CLI_ACTORS] == 0) { // what a single look can tell
        (void)snprintf(status->warning, sizeof(status->warning),
                       "no actor has reported for 10 s, does the environment hang? "
                       "(log/actor-0.log)");
    } else if (is_training && !is_held && wall_s >= status->quiet_max_s &&
               value[CLI_ENV_STEPS_PER_S] == 0 && value[CLI_WAIT_SHARE] > STARVED_SHARE) {
        (void)snprintf(status->warning, sizeof(status->warning),
                       "the learner waits and no environment steps, does the environment hang? "
                       "(log/actor-0.log)");
    }
}

bool
cli_run_status_update(cli_run_status *status, double wall_s)
{
    const double *value = status->numbers.value;
    status->wall_s = wall_s;
    fill_rates(status, wall_s);
    double window_s = wall_s - status->window_s;
    if (window_s >= WINDOW_S) {
        status->insert_wait_share =
            share(status->window_insert_blocked_s, value[CLI_INSERT_BLOCKED_S], window_s);
        status->sample_wait_share =
            share(status->window_sample_blocked_s, value[CLI_SAMPLE_BLOCKED_S], window_s);
        status->window_insert_blocked_s = value[CLI_INSERT_BLOCKED_S];
        status->window_sample_blocked_s = value[CLI_SAMPLE_BLOCKED_S];
        status->window_s = wall_s;
    }
    warn(status, wall_s);
    double evaluations = value[CLI_EVALUATIONS];
    bool is_new = !isnan(evaluations) && evaluations > 0 &&
                  evaluations != status->evaluations_seen && isfinite(value[CLI_EVAL_RETURN]);
    if (is_new) {
        status->evaluations_seen = evaluations;
        point_add(status, value[CLI_EVAL_RETURN]);
    }
    return is_new;
}
