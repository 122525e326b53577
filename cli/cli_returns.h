#ifndef CLI_CLI_RETURNS_H
#define CLI_CLI_RETURNS_H

#include "actor/actor_evaluate.h"
#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_reservoir.h"

// One policy in every precision: what each costs in return and how far it acts from fp32, as a
// table on standard output that grows row by row. Ctrl-C ends it after the row's next step; on a
// terminal a line on standard error tells how far the row is.
//
// Threads: main thread, before any other starts.

typedef struct cli_returns_request {
    const policy_image *fp32;
    quantizer_method method;
    const char *command;         // for messages: "quantize"
    actor_evaluate_request play; // of each precision, on the same seeds; without callbacks
    const quantizer_reservoir *calibration; // NULL: biases stay as they are
} cli_returns_request;

// means[p] = mean return in policy_precision p; NaN: its outputs overflow. Answers the exit code:
// 0, CLI_EXIT_FAILED after a message, 128 + the signal's number.
#define CLI_RETURNS_MEANS (POLICY_INT4 + 1)
int cli_returns(const cli_returns_request *request, double means[CLI_RETURNS_MEANS]);
// Below a row of a table: how many episodes failed, so that its return is not of them, and how many
// were truncated. Nothing where there are none.
void cli_returns_print_notes(const actor_evaluate_result *result);

#endif // CLI_CLI_RETURNS_H
