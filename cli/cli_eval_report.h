#ifndef CLI_CLI_EVAL_REPORT_H
#define CLI_CLI_EVAL_REPORT_H

#include "actor/actor_evaluate.h"

// Prints what octet eval measured to standard output, as text or as one line of JSON.
//
// Threads: main thread.

typedef struct cli_eval_report {
    const char *policy; // path of its file
    const policy_origin *origin;
    policy_precision precision;
    policy_isa isa;
    const char *env_id;
    const char *options;
    const char *options_from; // where the options come from, or why there are none
    uint64_t seed;
    bool sampling;                       // actions were sampled
    const actor_evaluate_result *result; // with returns and lengths of all episodes
    const char *video;                   // description of the video; NULL: there is none
} cli_eval_report;

void cli_eval_report_text(const cli_eval_report *report);
void cli_eval_report_json(const cli_eval_report *report);

#endif // CLI_CLI_EVAL_REPORT_H
