// octet-actor: steps environments with the newest policy and sends the rows to replay, or
// (--evaluate) plays the learner's evaluations.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor/actor_io.h"
#include "common/oct_failure.h"
#include "common/oct_family.h"
#include "common/oct_reason.h"
#include "common/oct_start.h"
#include "net/net_metrics.h"
#include "net/net_url.h"
#include "proto/wire.h"

#define AWAIT_RELAY_S_MAX 3600
#define YEAR_S            31622400
#define ENVS_MAX          65536 // limit of actor.envs
#define ENVS_REMOTE_MAX   1024  // default of --envs-max for a learner on another host
#define PLUGINS_VARIABLE  "OCTET_PLUGINS"
#define RESTARTS_VARIABLE "OCTET_RESTARTS"
#define RESTARTS_MAX      1000000000
#define INDEX_MAX         (WIRE_PLACES_MAX - 1)
#define NOT_GIVEN         UINT32_MAX

struct arguments {
    net_daemon daemon;
    actor_io_options io;
    env_plugin_dirs plugins;
    uint32_t index, envs_max; // NOT_GIVEN: not given
};

static oct_err
take_plugins(const oct_arg_given *given)
{
    oct_reason why;
    oct_err err = env_plugin_dirs_add(given->field, given->text, &why);
    return err == OCT_OK ? OCT_OK : oct_refuse(given->why, "--plugins: %s", why.text);
}

// Takes lower-case digits only, as LEARNER-SIGNS logs them.
static oct_err
take_pin(const oct_arg_given *given)
{
    static const char digits[] = "0123456789abcdef";
    actor_io_options *io = given->field;
    const char *text = given->text;
    if (strlen(text) != (size_t)2 * WIRE_PUBLIC_KEY_BYTES ||
        strspn(text, digits) != (size_t)2 * WIRE_PUBLIC_KEY_BYTES) {
        return oct_refuse(given->why, "--pin is '%s'; a key is %d hexadecimal digits", text,
                          2 * WIRE_PUBLIC_KEY_BYTES);
    }
    for (size_t i = 0; i < WIRE_PUBLIC_KEY_BYTES; i++) {
        io->pin[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
                               (strchr(digits, text[2 * i + 1]) - digits));
    }
    io->has_pin = true;
    return OCT_OK;
}

// Reads a whole number of decimal digits.
static bool
number_read(double *out, const char *text, unsigned long min, unsigned long max)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *out = (double)number;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && number >= min && number <= max;
}

static oct_err
take_stuck(const oct_arg_given *given)
{
    actor_io_options *io = given->field;
    io->exit_when_stuck = true;
    io->exit_when_stuck_s = 0;
    return strcmp(given->text, "auto") == 0 ||
                   number_read(&io->exit_when_stuck_s, given->text, 1, YEAR_S)
               ? OCT_OK
               : OCT_EINVAL;
}

static const oct_arg actor_rows[] = {
    {OCT_ARG_TEXT("learner", "URL", struct arguments, io.learner),
     .help = "Connect to the learner at this base address (default ipc://learner.ipc); the learner "
             "sends all other settings"},
    {OCT_ARG_COUNT("index", "N", struct arguments, index, 0, INDEX_MAX),
     .help = "Set this actor's number within the run, from 0 to 16383 (default: the lowest free "
             "number). The number determines the actor's random numbers and its position in the "
             "exploration ladder. An actor that is restarted with the same number continues as the "
             "next incarnation"},
    {OCT_ARG_TEXT("relay", "URL", struct arguments, io.relay),
     .help = "Connect through the relay at this base address while it can be reached and "
             "acknowledges what is sent (default: the relay that the learner names, if any)"},
    {OCT_ARG_COUNT("await-relay", "S", struct arguments, io.await_relay_s, 0, AWAIT_RELAY_S_MAX),
     .help = "Wait up to this many seconds, from 0 to 3600, for the learner to name a relay before "
             "connecting to the learner and replay directly (default 0)"},
    {OCT_ARG_COUNT("envs-max", "N", struct arguments, envs_max, 0, ENVS_MAX),
     .help = "Refuse a learner that asks for more environments (actor.envs) than this, from 0 to "
             "65536; 0: any number (default: 1024 for a learner at tcp:// or tls+tcp://, any "
             "number otherwise)"},
    {OCT_ARG_FLAG("evaluate", struct arguments, io.evaluate),
     .help = "Play the learner's evaluations instead of collecting experience"},
    {OCT_ARG_TAKE("plugins", "DIR", struct arguments, plugins, take_plugins),
     .help =
         "Allow the learner, which chooses the environment by env.id, to load plug-in environments "
         "from this directory. May also name a single plug-in file or a Gymnasium environment, as "
         "gym:NAME. May be repeated (default $" PLUGINS_VARIABLE
         ", separated by ':'; without either, no plug-in is loaded)"},
    {OCT_ARG_TAKE("pin", "KEY", struct arguments, io, take_pin),
     .help = "Accept only the learner with this key, 64 hexadecimal digits that it logs as "
             "LEARNER-SIGNS; for tcp:// without TLS (default: the key of the first learner that "
             "answers)"},
    {OCT_ARG_TAKE("exit-when-stuck", "SECONDS", struct arguments, io, take_stuck),
     .allowed = "is auto, or a whole number from 1 to 31622400",
     .help = "Exit with code 4 when code of the environment has not returned for this many "
             "seconds, from 1 to 31622400, so that a supervisor starts the actor again. 'auto' "
             "takes the run's run.env_hang_s (default: never)"},
    {OCT_ARG_COUNT("give-up-after", "SECONDS", struct arguments, io.give_up_s, 1, YEAR_S),
     .help = "Exit with code 5 when no learner has answered for this many seconds, from 1 to "
             "31622400 (default: wait for the next learner for any time)"},
    {0},
};

// Reads $OCTET_PLUGINS if no --plugins was given.
static bool
plugins_of_environment(env_plugin_dirs *plugins)
{
    oct_reason why;
    const char *list = getenv(PLUGINS_VARIABLE);
    if (plugins->count > 0 || list == NULL ||
        env_plugin_dirs_add_list(plugins, list, &why) == OCT_OK) {
        return true;
    }
    oct_failure_print("octet-actor", PLUGINS_VARIABLE ": %s", why.text);
    return false;
}

// Reads $OCTET_RESTARTS, which a supervisor sets to the number of restarts so far.
static bool
restarts_of_environment(actor_io_options *io)
{
    const char *text = getenv(RESTARTS_VARIABLE);
    io->restarts = NAN;
    if (text == NULL || *text == '\0' || number_read(&io->restarts, text, 0, RESTARTS_MAX)) {
        return true;
    }
    oct_failure_print("octet-actor",
                      RESTARTS_VARIABLE " is '%s'; allowed are whole numbers from 0 to %d", text,
                      RESTARTS_MAX);
    return false;
}

static void
stop(void *arg, int signal_number)
{
    (void)signal_number;
    actor_io_end(arg);
}

static oct_err
metrics_open(net_metrics **out, const struct arguments *arguments, net_loop *loop, actor_io *io)
{
    const net_metrics_source source = {
        .daemon = arguments->io.evaluate ? "evaluator" : "actor",
        .write = actor_io_prometheus,
        .trouble = actor_io_trouble,
        .is_hung = actor_io_is_hung,
        .arg = io,
    };
    return net_metrics_open(out, &arguments->daemon, loop, &source);
}

// Exits with NET_DAEMON_EXIT_USAGE and a message if an option or a variable is wrong.
static void
arguments_read(struct arguments *arguments, int argc, char **argv)
{
    static const oct_args args = {
        .doc = "Runs environments for a learner. An actor needs only the learner's address.",
        .version = "octet-actor " OCTET_VERSION " " WIRE_SPEAKS_TEXT,
        .rows = actor_rows,
        .shared = {{net_daemon_rows, offsetof(struct arguments, daemon), NET_DAEMON_GROUP}},
    };
    *arguments = (struct arguments){
        .io = {.learner = "ipc://learner.ipc"}, .index = NOT_GIVEN, .envs_max = NOT_GIVEN};
    net_daemon_parse(&arguments->daemon, &args, argc, argv, arguments);
    actor_io_options *io = &arguments->io;
    bool insecure = io->insecure = arguments->daemon.insecure;
    if (!net_daemon_url("octet-actor", "--learner", io->learner, insecure, 0, WIRE_NAME_MAX - 1) ||
        (io->relay != NULL &&
         !net_daemon_url("octet-actor", "--relay", io->relay, insecure, 2, WIRE_NAME_MAX - 1)) ||
        !plugins_of_environment(&arguments->plugins) || !restarts_of_environment(io)) {
        exit(NET_DAEMON_EXIT_USAGE);
    }
    io->plugins = &arguments->plugins;
    io->place = arguments->index != NOT_GIVEN ? arguments->index + 1 : 0;
    io->envs_max = arguments->envs_max != NOT_GIVEN ? arguments->envs_max
                   : net_url_is_tcp(io->learner)    ? ENVS_REMOTE_MAX
                                                    : 0;
    net_metrics_check(&arguments->daemon, "octet-actor");
}

int
main(int argc, char **argv)
{
    struct arguments arguments;
    oct_start();
    arguments_read(&arguments, argc, argv);
    if (!net_daemon_begin(&arguments.daemon, arguments.io.evaluate ? "evaluator" : "actor")) {
        return EXIT_FAILURE;
    }
    oct_family_adopt(); // processes that a plug-in starts become children of this one
    net_loop *loop = net_loop_create();
    oct_role role = arguments.io.evaluate ? OCT_ROLE_EVALUATOR : OCT_ROLE_ACTOR;
    bool is_tls = net_url_is_tls(arguments.io.learner) ||
                  (arguments.io.relay != NULL && net_url_is_tls(arguments.io.relay));
    int unsecured = net_daemon_secure(&arguments.daemon, loop, role, is_tls);
    if (unsecured != 0) {
        net_loop_destroy(loop);
        return unsecured;
    }
    actor_io *io;
    if (actor_io_open(&io, loop, &arguments.io) != OCT_OK ||
        net_daemon_on_stop(&arguments.daemon, loop, stop, io) != OCT_OK) {
        oct_log_error("ACTOR-OPEN", "cannot dial %s", arguments.io.learner);
        return EXIT_FAILURE;
    }
    net_metrics *metrics;
    if (metrics_open(&metrics, &arguments, loop, io) != OCT_OK) {
        return EXIT_FAILURE;
    }
    net_loop_run(loop);
    int exit_code = actor_io_exit_code(io);
    bool start_over = actor_io_start_over(io);
    if (!start_over) {
        net_loop_exit_deadline(loop, NET_DAEMON_EXIT_MS, exit_code);
    }
    actor_io_log_totals(io);
    oct_log_notice("ACTOR-STOP", "exit=%d", exit_code);
    if (start_over) {
        net_loop_signals_end(loop); // from here on a signal ends the process at once
        actor_io_close_environments(io);
        oct_family_end(NULL, 0, false);
        (void)execv("/proc/self/exe", argv);
        return EXIT_FAILURE;
    }
    net_metrics_close(metrics);
    actor_io_close(io);
    oct_family_end(NULL, 0, false);
    net_loop_destroy(loop);
    env_plugin_dirs_fini(&arguments.plugins);
    return exit_code;
}
