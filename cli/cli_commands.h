#ifndef CLI_CLI_COMMANDS_H
#define CLI_CLI_COMMANDS_H

#include "cli/cli_options.h"

// The commands of `octet`. Each parses its own options and returns the exit code: 0 done, 1 failed,
// 2 wrong usage. argv[0] is the name of the command. Threads: main thread.

int cli_act(int argc, char **argv);
int cli_certs_run(int argc, char **argv);
int cli_checkpoint(int argc, char **argv);
int cli_cluster(int argc, char **argv);
int cli_compare_run(int argc, char **argv);
int cli_config(int argc, char **argv);
int cli_dash(int argc, char **argv);
int cli_data(int argc, char **argv);
int cli_distill(int argc, char **argv);
int cli_doctor_command(int argc, char **argv);
int cli_env(int argc, char **argv); // before any other thread starts, because check forks
int cli_eval(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_health(int argc, char **argv);
int cli_report_page(int argc, char **argv);
int cli_import(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_plan_command(int argc, char **argv);
int cli_presets(int argc, char **argv);
int cli_quantize(int argc, char **argv);
int cli_run_check(int argc, char **argv);
int cli_run_folder(int argc, char **argv);
int cli_set(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_sweep(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_track(int argc, char **argv);
int cli_train(int argc, char **argv);

// Runs octet completion: prints a script with which a shell completes the commands of family, or,
// for that script, the candidates at the cursor.
int cli_completion(const cli_family *family, int argc, char **argv);

#endif // CLI_CLI_COMMANDS_H
