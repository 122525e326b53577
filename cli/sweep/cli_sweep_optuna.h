#ifndef CLI_SWEEP_CLI_SWEEP_OPTUNA_H
#define CLI_SWEEP_CLI_SWEEP_OPTUNA_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sweep/cli_sweep_plan.h"
#include "common/oct_err.h"

// Optuna (Akiba et al., KDD 2019) as the sampler of a sweep: a Python process, octet_optuna.py,
// that answers a line of JSON for each line. Its study is a journal in the sweep's folder,
// optuna.log, so that a resumed sweep has what was learned. Tree-structured Parzen estimator,
// seeded; median pruner.
//
// Threads: main thread. Errors: OCT_EINVAL, OCT_EIO or OCT_ECLOSED with one line in reason; the
// process is of no use then. An answer that does not come within a minute is such an error.
typedef struct cli_sweep_optuna cli_sweep_optuna;

#define CLI_SWEEP_OPTUNA_JOURNAL "optuna.log"

// $OCTET_PYTHON must have optuna. folder: the sweep's.
OCT_CHECKED oct_err cli_sweep_optuna_start(cli_sweep_optuna **out, const char *folder,
                                           const cli_sweep_plan *plan, char *reason,
                                           size_t reason_size);
// The point of trial number so, other than those of earlier trials; the same one again until it is
// told. OCT_ENOTFOUND, without a reason: it found no other point.
OCT_CHECKED oct_err cli_sweep_optuna_ask(cli_sweep_optuna *optuna, uint32_t trial, cli_point *out,
                                         char *reason, size_t reason_size);
// The trial's return at a step of its run, once for each step. is_pruned: it is not worth going on.
OCT_CHECKED oct_err cli_sweep_optuna_report(cli_sweep_optuna *optuna, uint32_t trial, uint32_t step,
                                            double value, bool *is_pruned, char *reason,
                                            size_t reason_size);
// The trial's result, to be maximised; NaN: it has none, because it failed or was pruned.
OCT_CHECKED oct_err cli_sweep_optuna_tell(cli_sweep_optuna *optuna, uint32_t trial, double value,
                                          bool is_pruned, char *reason, size_t reason_size);
// Ends the process. NULL is a no-op.
void cli_sweep_optuna_stop(cli_sweep_optuna *optuna);

#endif // CLI_SWEEP_CLI_SWEEP_OPTUNA_H
