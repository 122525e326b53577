#include "cli/cli_status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

#define WINDOW_S 1.0

void
cli_status_init(cli_status *status, const char *run_name)
{
    memset(status, 0, sizeof(*status));
    (void)snprintf(status->run_name, sizeof(status->run_name), "%s", run_name);
    (void)snprintf(status->state, sizeof(status->state), "starting");
    cli_numbers_clear(&status->numbers);
    status->goal = NAN;
    status->insert_wait_share = NAN;
    status->sample_wait_share = NAN;
    status->window_insert_blocked_s = NAN;
    status->window_sample_blocked_s = NAN;
    status->first_env_steps = NAN;
    status->first_updates = NAN;
    status->first_published_bytes = NAN;
}

static void
point_add(cli_status *status, double value)
{
    if (status->point_count == CLI_STATUS_POINTS_MAX) {
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
fill_rates(cli_status *status, double wall_s)
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

bool
cli_status_update(cli_status *status, double wall_s)
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
    double evaluations = value[CLI_EVALUATIONS];
    bool is_new = !isnan(evaluations) && evaluations > 0 &&
                  evaluations != status->evaluations_seen && isfinite(value[CLI_EVAL_RETURN]);
    if (is_new) {
        status->evaluations_seen = evaluations;
        point_add(status, value[CLI_EVAL_RETURN]);
    }
    return is_new;
}
