#ifndef CLI_SWEEP_CLI_SWEEP_FILE_H
#define CLI_SWEEP_CLI_SWEEP_FILE_H

#include "cli/run/cli_folder.h"
#include "cli/sweep/cli_sweep_plan.h"
#include "common/oct_config.h"

// The files of a sweep's folder: base.yaml, the configuration that trials change, and sweep.json,
// everything else that it takes to repeat the sweep, with what each run came to.
//
// Threads: main thread. Errors: one line for a person in reason.

#define CLI_SWEEP_BASE "base.yaml"
#define CLI_SWEEP_FILE "sweep.json"

// Replaced whole; errors as oct_file_write.
OCT_CHECKED oct_err cli_sweep_file_write(const char *folder, const cli_sweep_plan *plan);
OCT_CHECKED oct_err cli_sweep_file_write_base(const char *folder, const oct_config *base);
// The content of sweep.json; malloc'd. What is read of text is what a plan would print, whatever
// else stands there. name: what reason calls it. plan must be empty, and is to be freed in any
// case.
char *cli_sweep_file_print(const cli_sweep_plan *plan);
OCT_CHECKED oct_err cli_sweep_file_parse(const char *name, const char *text, size_t length,
                                         const oct_config *base, cli_sweep_plan *plan, char *reason,
                                         size_t reason_size);
// Both files. plan must be empty, and is to be freed in any case. OCT_EINVAL: something is not as
// cli_sweep_file_write has it; OCT_ENOTFOUND, OCT_EIO: as oct_file_read.
OCT_CHECKED oct_err cli_sweep_file_read(const char *folder, cli_sweep_plan *plan, oct_config *base,
                                        char *reason, size_t reason_size);

// What the summary.json of a run's folder says: returns, steps, seconds. Numbers that it does not
// have are NaN. True: its supervisor has seen it finish.
bool cli_sweep_file_result(const char *run_folder, cli_sweep_run *out);

#endif // CLI_SWEEP_CLI_SWEEP_FILE_H
