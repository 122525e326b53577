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

enum { KEY_JSON = 256, KEY_TLS, KEY_TRUST };

typedef struct doctor_options {
    const char *what; // a folder, an experiment or a preset; NULL: the current folder
    const char *tls;
    bool json, is_trusted;
} doctor_options;

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "Print the checks as one line of JSON", 0},
    {"tls", KEY_TLS, "FOLDER", 0,
     "Check the certificates in FOLDER (default: $OCTET_TLS, else octet-certs if it exists)", 0},
    {"trust", KEY_TRUST, NULL, 0, CLI_TRUST_HELP, 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    doctor_options *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
        return 0;
    case KEY_TLS:
        options->tls = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->what != NULL) {
            cli_usage_error("doctor", "two arguments, '%s' and '%s'; name one", options->what, arg);
        }
        options->what = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp doctor_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "[FOLDER|FILE]",
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
    static oct_config config;
    cli_options_parse(&doctor_argp, argc, argv, &options);
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
