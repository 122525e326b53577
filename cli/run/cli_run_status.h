#ifndef CLI_RUN_CLI_RUN_STATUS_H
#define CLI_RUN_CLI_RUN_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli_numbers.h"

// What is known of a run at this moment, and the evaluations seen so far: what cli_view shows.
// Threads: loop thread. Plain value.

#define CLI_RUN_STATUS_POINTS_MAX 512
#define CLI_RUN_STATUS_TEXT_MAX   160

typedef struct cli_run_status {
    char run_name[CLI_RUN_STATUS_TEXT_MAX];
    char state[CLI_RUN_STATUS_TEXT_MAX];        // in words
    char replay_state[CLI_RUN_STATUS_TEXT_MAX]; // who waits for it and why, in its words; "" at
                                                // first
    char note[CLI_RUN_STATUS_TEXT_MAX];         // the last thing that happened, or ""
    char warning[CLI_RUN_STATUS_TEXT_MAX];      // what is the matter now, or ""
    double wall_s;
    double goal; // evaluation mean that ends the run; NaN: none
    uint32_t restarts;
    cli_numbers numbers;
    double insert_wait_share; // of the last seconds, actors waited for replay; NaN: not known
    double sample_wait_share; // … samples waited for inserts
    size_t point_count;       // evaluations; every second one is dropped when there are too many
    double point_return[CLI_RUN_STATUS_POINTS_MAX];
    // The beginning of the window behind the two shares.
    double window_s;
    double window_insert_blocked_s;
    double window_sample_blocked_s;
    double evaluations_seen;
    // The last environment step that was heard of; longer without one than quiet_max_s is told.
    double quiet_max_s;
    double stepped_s;
    double stepped_count;
    // The first counts heard of, for rates until the learner has measured its own.
    double first_s;
    double first_env_steps;
    double first_updates;
    double first_published_bytes;
} cli_run_status;

void cli_run_status_init(cli_run_status *status, const char *run_name);
// Call after new numbers came in, at wall_s: notes a new evaluation, renews the shares and
// fills in rates that the learner has not measured yet, and says what is the matter. True when
// there was a new evaluation.
bool cli_run_status_update(cli_run_status *status, double wall_s);

#endif // CLI_RUN_CLI_RUN_STATUS_H
