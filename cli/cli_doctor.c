// octet doctor: checks this machine and a folder, and prints what to do.

#include "cli/doctor/cli_doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_options.h"
#include "cli/run/cli_experiment.h"
#include "cli/run/cli_trust.h"
#include "common/oct_file.h"
#include "net/net_loop.h"

typedef struct doctor_options {
    const char *what; // a folder, an experiment or a preset; NULL: the current folder
    const char *tls;
    bool json, is_trusted;
} doctor_options;

static const oct_arg doctor_rows[] = {
    {OCT_ARG_OPERAND("arguments", doctor_options, what)},
    {OCT_ARG_FLAG("json", doctor_options, json), .help = "Print the checks as one line of JSON"},
    {OCT_ARG_PATH("tls", "FOLDER", doctor_options, tls),
     .help =
         "Check the certificates in FOLDER (default: $OCTET_TLS, else octet-certs if it exists)"},
    {OCT_ARG_FLAG("trust", doctor_options, is_trusted), .help = CLI_TRUST_HELP},
    {0},
};

static const oct_args doctor_args = {
    .rows = doctor_rows,
    .usage = "[FOLDER|FILE]",
    .doc =
        "Checks whether this machine suits a run, and prints what to do if it does not: "
        "processor, memory, limits, disk, sockets, ports, certificates and programs. FOLDER is a "
        "run folder, or where runs will be (default: the current one). FILE is an experiment or "
        "a preset, whose environment must work. The exit code is 1 if a check fails.\v"
        "Example:\n"
        "  octet doctor runs",
};

static bool
is_folder(const char *path)
{
    struct stat status;
    return oct_file_stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int
cli_doctor_command(int argc, char **argv)
{
    static doctor_options options;
    static cli_doctor doctor;
    static cli_experiment experiment;
    static config_experiment config;
    cli_args_parse(&doctor_args, argc, argv, &options);
    bool has_folder = options.what != NULL && is_folder(options.what);
    if (options.what != NULL && !has_folder) {
        experiment = (cli_experiment){
            .command = "doctor", .file = options.what, .is_trusted = options.is_trusted};
        cli_experiment_load(&config, &experiment);
        doctor.config = &config;
    }
    if (realpath(has_folder ? options.what : ".", doctor.folder) == NULL) {
        cli_error("doctor", "cannot look at '%s': %s", has_folder ? options.what : ".",
                  strerror(errno));
        return CLI_EXIT_USAGE;
    }
    doctor.is_writable = access(doctor.folder, W_OK | X_OK) == 0;
    doctor.tls = options.tls != NULL ? options.tls : net_loop_tls_default();
    cli_doctor_machine(&doctor);
    cli_doctor_folder(&doctor);
    cli_doctor_network(&doctor);
    cli_doctor_programs(&doctor);
    if (options.json) {
        json_t *checks = cli_doctor_json(&doctor);
        char *text = cli_json_print(checks, JSON_COMPACT);
        puts(text);
        free(text);
        json_decref(checks);
    } else {
        cli_doctor_print(&doctor);
    }
    return cli_doctor_count(&doctor, CLI_DOCTOR_FAIL) > 0 ? CLI_EXIT_FAILED : 0;
}
