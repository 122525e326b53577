#ifndef CLI_SWEEP_CLI_SWEEP_FILE_H
#define CLI_SWEEP_CLI_SWEEP_FILE_H

#include "cli/run/cli_folder.h"
#include "cli/sweep/cli_sweep_plan.h"
#include "common/oct_reason.h"
#include "config/config.h"

// The files of a sweep's folder. base.yaml is the configuration that the trials change. sweep.json
// is everything else that is needed to repeat the sweep, and the result of each run.
//
// Threads: main thread. Errors: reason gets one line for a person.

#define CLI_SWEEP_BASE "base.yaml"
#define CLI_SWEEP_FILE "sweep.json"

// Write the files, which are replaced whole. Errors are those of oct_file_write.
OCT_CHECKED oct_err cli_sweep_file_write(const char *folder, const cli_sweep_plan *plan);
OCT_CHECKED oct_err cli_sweep_file_write_base(const char *folder, const config_experiment *base);
// Print and parse the content of sweep.json. The printed text is malloc'd. The parser reads what
// cli_sweep_file_print writes, and ignores other members. name: the file's name in reason. plan
// must be empty, and must be freed also after an error.
char *cli_sweep_file_print(const cli_sweep_plan *plan);
OCT_CHECKED oct_err cli_sweep_file_parse(const char *name, const char *text, size_t length,
                                         const config_experiment *base, cli_sweep_plan *plan,
                                         oct_reason *why);
// Reads both files. plan must be empty, and must be freed also after an error.
//   OCT_ENOTFOUND, OCT_EIO  as oct_file_read
//   OCT_EINVAL  a file is not as cli_sweep_file_write has written it
OCT_CHECKED oct_err cli_sweep_file_read(const char *folder, cli_sweep_plan *plan,
                                        config_experiment *base, oct_reason *why);

// Reads the summary.json of a run: return, steps, seconds. Missing numbers are NaN. Returns true if
// the run has finished, by its supervisor's record.
bool cli_sweep_file_result(const char *run_folder, cli_sweep_run *out);

#endif // CLI_SWEEP_CLI_SWEEP_FILE_H
