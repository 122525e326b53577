#ifndef CLI_CLI_RETURNS_H
#define CLI_CLI_RETURNS_H

#include "actor/actor_evaluate.h"
#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_reservoir.h"

// Evaluates one policy in every precision: what each precision costs in return, and how far its
// actions are from fp32's, as a table on standard output that grows row by row. Ctrl-C ends it
// after the current step. On a terminal, a line on standard error shows the progress of the row.
//
// Threads: main thread, before any other starts.

typedef struct cli_returns_request {
    const policy_image *fp32;
    quantizer_method method;
    const char *command;         // for messages: "quantize"
    actor_evaluate_request play; // for each precision, on the same seeds; without callbacks
    const quantizer_reservoir *calibration; // NULL: biases are not corrected
} cli_returns_request;

// means[p] becomes the mean return in policy_precision p; NaN: its outputs overflow. Returns the
// exit code: 0, CLI_EXIT_FAILED after a message, or 128 + the signal's number.
#define CLI_RETURNS_MEANS (POLICY_INT4 + 1)
int cli_returns(const cli_returns_request *request, double means[CLI_RETURNS_MEANS]);
// Prints, below a row of a table, how many episodes failed, and are therefore not in the return,
// and how many were truncated. Prints nothing if there are none.
void cli_returns_print_notes(const actor_evaluate_result *result);

#endif // CLI_CLI_RETURNS_H
