// Measures a run in its first moments and makes the line with its plan.

#include "cli/plan/cli_plan_begin.h"

#include <math.h>
#include <stdlib.h>

#include "cli/plan/cli_plan_print.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_cores.h"
#include "common/oct_memory.h"

#define SECONDS 0.2 // of learning, before the line is made
// of learning, after which the line does not wait for the next row of metrics
#define SECONDS_MOST 2.0

struct cli_plan_begin {
    const cli_run_request *request;
    uint64_t memory_available, disk_available; // before the daemons started
    cli_plan_meter meter;
    bool is_done; // the line was made
};

cli_plan_begin *
cli_plan_begin_create(const cli_run_request *request, double wall_s)
{
    cli_plan_begin *begin = oct_alloc(sizeof(*begin));
    begin->request = request;
    begin->memory_available = oct_memory_available();
    begin->disk_available = cli_folder_space(request->folder->path);
    cli_plan_meter_init(&begin->meter, 0);
    if (!request->resume) {
        cli_plan_meter_from_start(&begin->meter, request->config, wall_s);
    }
    return begin;
}

// Makes the line. False: the needs cannot be computed.
static bool
line_make(const cli_plan_begin *begin, const cli_plan_rates *rates, const cli_snapshot *state,
          char *line, size_t line_size)
{
    const cli_run_request *request = begin->request;
    const config_experiment *config = request->config;
    bool is_resumed = request->resume;
    cli_plan_needs needs;
    cli_plan plan;
    if (cli_plan_needs_make(&needs, request->environment, config, NULL) != OCT_OK) {
        return false;
    }
    const cli_plan_input input = {
        .config = config,
        .rates = rates,
        .needs = &needs,
        .cores = oct_cores_usable(""),
        .env_steps_done = is_resumed ? cli_snapshot_number(state, "learner.env_steps") : 0,
        .updates_done = is_resumed ? cli_snapshot_number(state, "learner.updates") : 0,
        .memory_available = begin->memory_available,
        .disk_available = begin->disk_available};
    const cli_plan_shown shown = {.plan = &plan, .input = &input, .folder = request->shown_as};
    cli_plan_make(&plan, &input);
    cli_plan_line(line, line_size, &shown);
    return true;
}

bool
cli_plan_begin_sample(cli_plan_begin *begin, double wall_s, const cli_snapshot *state,
                      cli_supervisor *supervisor, char *line, size_t line_size)
{
    if (begin->is_done) {
        return false;
    }
    cli_plan_meter_sample(&begin->meter, wall_s, state, supervisor);
    const cli_plan_rates *rates = cli_plan_meter_rates(&begin->meter);
    bool is_known = isfinite(rates->learner_wait) && isfinite(rates->learner.cores);
    if (!isfinite(rates->start_s) || rates->seconds < SECONDS ||
        (!is_known && rates->seconds < SECONDS_MOST)) {
        return false;
    }
    begin->is_done = true;
    return line_make(begin, rates, state, line, line_size);
}

void
cli_plan_begin_destroy(cli_plan_begin *begin)
{
    free(begin);
}
