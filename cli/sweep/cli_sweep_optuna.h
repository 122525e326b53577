#ifndef CLI_SWEEP_CLI_SWEEP_OPTUNA_H
#define CLI_SWEEP_CLI_SWEEP_OPTUNA_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sweep/cli_sweep_plan.h"
#include "common/oct_err.h"
#include "common/oct_reason.h"

// Optuna (Akiba et al., KDD 2019) as the sampler of a sweep. A Python process, octet_optuna.py,
// answers each line of JSON with a line. Its study is a journal in the sweep's folder, optuna.log,
// so that a resumed sweep keeps what was learned. The sampler is a seeded tree-structured Parzen
// estimator, with a median pruner.
//
// Threads: main thread. Errors: OCT_EINVAL, OCT_EIO or OCT_ECLOSED, with one line in reason; the
// process must not be used afterwards. No answer within a minute is such an error.
typedef struct cli_sweep_optuna cli_sweep_optuna;

#define CLI_SWEEP_OPTUNA_JOURNAL "optuna.log"

// Starts the process. $OCTET_PYTHON must have optuna. folder: the sweep's.
OCT_CHECKED oct_err cli_sweep_optuna_start(cli_sweep_optuna **out, const char *folder,
                                           const cli_sweep_plan *plan, oct_reason *why);
// Asks for the point of a trial: different from those of earlier trials, and the same one again
// until its result is reported. OCT_ENOTFOUND, without a reason: there is no other point.
OCT_CHECKED oct_err cli_sweep_optuna_ask(cli_sweep_optuna *optuna, uint32_t trial, cli_point *out,
                                         oct_reason *why);
// Reports the trial's return at a step of its run, once for each step. *is_pruned: the run is not
// worth continuing.
OCT_CHECKED oct_err cli_sweep_optuna_report(cli_sweep_optuna *optuna, uint32_t trial, uint32_t step,
                                            double value, bool *is_pruned, oct_reason *why);
// Tells the trial's result, which is maximised; NaN: it has none, because it failed or was pruned.
OCT_CHECKED oct_err cli_sweep_optuna_tell(cli_sweep_optuna *optuna, uint32_t trial, double value,
                                          bool is_pruned, oct_reason *why);
// Ends the process. NULL is a no-op.
void cli_sweep_optuna_stop(cli_sweep_optuna *optuna);

#endif // CLI_SWEEP_CLI_SWEEP_OPTUNA_H
