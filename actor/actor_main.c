// octet-actor: steps environments with the newest policy and sends what happened, or (--evaluate)
// plays the learner's evaluations.

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor/actor_io.h"
#include "common/oct_family.h"
#include "common/oct_start.h"
#include "net/net_metrics.h"
#include "net/net_url.h"
#include "proto/wire.h"

#define AWAIT_RELAY_S_MAX 3600
#define YEAR_S            31622400
#define ENVS_MAX          65536 // of actor.envs
#define ENVS_REMOTE_MAX   1024  // that a learner on another host may ask for
#define PLUGINS_VARIABLE  "OCTET_PLUGINS"
#define RESTARTS_VARIABLE "OCTET_RESTARTS"
#define RESTARTS_MAX      1000000000

const char *argp_program_version = "octet-actor " OCTET_VERSION " " WIRE_SPEAKS_TEXT;

struct arguments {
    net_daemon daemon;
    actor_io_options io;
    env_plugin_dirs plugins;
    bool has_envs_max;
};

enum {
    KEY_LEARNER = 256,
    KEY_INDEX,
    KEY_RELAY,
    KEY_AWAIT_RELAY,
    KEY_ENVS_MAX,
    KEY_EVALUATE,
    KEY_PLUGINS,
    KEY_PIN,
    KEY_EXIT_WHEN_STUCK,
    KEY_GIVE_UP_AFTER
};

static const struct argp_option options[] = {
    {"learner", KEY_LEARNER, "URL", 0,
     "Connect to the learner at this base address (default ipc://learner.ipc); the learner sends "
     "all other settings",
     1},
    {"index", KEY_INDEX, "N", 0,
     "Set this actor's number within the run, from 0 to 16383 (default: the lowest free number). "
     "The number determines the actor's random numbers and its position in the exploration ladder. "
     "An actor that is restarted with the same number continues as the next incarnation",
     1},
    {"relay", KEY_RELAY, "URL", 0,
     "Connect through the relay at this base address while it can be reached and acknowledges what "
     "is sent (default: the relay that the learner names, if any)",
     1},
    {"await-relay", KEY_AWAIT_RELAY, "S", 0,
     "Wait up to this many seconds, from 0 to 3600, for the learner to name a relay before "
     "connecting to the learner and replay directly (default 0)",
     1},
    {"envs-max", KEY_ENVS_MAX, "N", 0,
     "Refuse a learner that asks for more environments (actor.envs) than this, from 0 to 65536; 0: "
     "any number (default: 1024 for a learner at tcp:// or tls+tcp://, any number otherwise)",
     1},
    {"evaluate", KEY_EVALUATE, NULL, 0,
     "Play the learner's evaluations instead of collecting experience", 1},
    {"plugins", KEY_PLUGINS, "DIR", 0,
     "Allow the learner, which chooses the environment by env.id, to load plug-in environments "
     "from this directory. May also name a single plug-in file or a Gymnasium environment, as "
     "gym:NAME. May be repeated (default $" PLUGINS_VARIABLE
     ", separated by ':'; without either, no plug-in is loaded)",
     1},
    {"pin", KEY_PIN, "KEY", 0,
     "Accept only the learner with this key, 64 hexadecimal digits that it logs as LEARNER-SIGNS; "
     "for tcp:// without TLS (default: the key of the first learner that answers)",
     1},
    {"exit-when-stuck", KEY_EXIT_WHEN_STUCK, "SECONDS", 0,
     "Exit with code 4 when code of the environment has not returned for this many seconds, from 1 "
     "to 31622400, so that a supervisor starts the actor again. 'auto' takes the run's "
     "run.env_hang_s (default: never)",
     1},
    {"give-up-after", KEY_GIVE_UP_AFTER, "SECONDS", 0,
     "Exit with code 5 when no learner has answered for this many seconds, from 1 to 31622400 "
     "(default: wait for the next learner for any time)",
     1},
    {0},
};

static uint32_t
number_parse(const char *option, const char *text, int least, int most,
             const struct argp_state *state)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > most) {
        argp_error(state, "%s is '%s'; allowed are whole numbers from %d to %d", option, text,
                   least, most);
    }
    return (uint32_t)number;
}

static void
pin_parse(uint8_t pin[WIRE_PUBLIC_KEY_BYTES], const char *text, const struct argp_state *state)
{
    static const char digits[] = "0123456789abcdef";
    bool is_key = strlen(text) == (size_t)2 * WIRE_PUBLIC_KEY_BYTES &&
                  strspn(text, digits) == (size_t)2 * WIRE_PUBLIC_KEY_BYTES;
    if (!is_key) {
        argp_error(state, "--pin is '%s'; a key is %d hexadecimal digits", text,
                   2 * WIRE_PUBLIC_KEY_BYTES);
    }
    for (size_t i = 0; is_key && i < WIRE_PUBLIC_KEY_BYTES; i++) {
        pin[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
                           (strchr(digits, text[2 * i + 1]) - digits));
    }
}

static void
plugins_add(env_plugin_dirs *plugins, const char *path, const struct argp_state *state)
{
    char reason[PATH_MAX + 256];
    if (env_plugin_dirs_add(plugins, path, reason, sizeof(reason)) != OCT_OK) {
        argp_error(state, "--plugins: %s", reason);
    }
}

// Where no option names them.
static bool
plugins_of_environment(env_plugin_dirs *plugins)
{
    char reason[PATH_MAX + 256];
    const char *list = getenv(PLUGINS_VARIABLE);
    if (plugins->count > 0 || list == NULL ||
        env_plugin_dirs_add_list(plugins, list, reason, sizeof(reason)) == OCT_OK) {
        return true;
    }
    fprintf(stderr, "octet-actor: error: " PLUGINS_VARIABLE ": %s\n", reason);
    return false;
}

// How often its supervisor has started it again, where that says so.
static void
restarts_of_environment(actor_io_options *io, const struct argp_state *state)
{
    const char *text = getenv(RESTARTS_VARIABLE);
    io->restarts = text != NULL && *text != '\0'
                       ? number_parse(RESTARTS_VARIABLE, text, 0, RESTARTS_MAX, state)
                       : NAN;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->daemon;
        return 0;
    case ARGP_KEY_END:
        restarts_of_environment(&arguments->io, state);
        return 0;
    case KEY_LEARNER:
        arguments->io.learner = arg;
        return 0;
    case KEY_INDEX:
        arguments->io.place = number_parse("--index", arg, 0, WIRE_PLACES_MAX - 1, state) + 1;
        return 0;
    case KEY_RELAY:
        arguments->io.relay = arg;
        return 0;
    case KEY_AWAIT_RELAY:
        arguments->io.await_relay_s =
            number_parse("--await-relay", arg, 0, AWAIT_RELAY_S_MAX, state);
        return 0;
    case KEY_ENVS_MAX:
        arguments->io.envs_max = number_parse("--envs-max", arg, 0, ENVS_MAX, state);
        arguments->has_envs_max = true;
        return 0;
    case KEY_EVALUATE:
        arguments->io.evaluate = true;
        return 0;
    case KEY_PLUGINS:
        plugins_add(&arguments->plugins, arg, state);
        return 0;
    case KEY_EXIT_WHEN_STUCK:
        arguments->io.exit_when_stuck = true;
        arguments->io.exit_when_stuck_s =
            strcmp(arg, "auto") == 0 ? 0 : number_parse("--exit-when-stuck", arg, 1, YEAR_S, state);
        return 0;
    case KEY_GIVE_UP_AFTER:
        arguments->io.give_up_s = number_parse("--give-up-after", arg, 1, YEAR_S, state);
        return 0;
    case KEY_PIN:
        pin_parse(arguments->io.pin, arg, state);
        arguments->io.has_pin = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s': octet-actor takes options only", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
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

int
main(int argc, char **argv)
{
    struct arguments arguments = {.io = {.learner = "ipc://learner.ipc"}};
    oct_start();
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Runs environments for a learner. An actor needs only the learner's address.",
    };
    net_daemon_parse(&arguments.daemon, &argp, argc, argv, &arguments);
    arguments.io.insecure = arguments.daemon.insecure;
    bool insecure = arguments.io.insecure;
    if (!net_daemon_url("octet-actor", "--learner", arguments.io.learner, insecure, 0,
                        WIRE_NAME_MAX - 1) ||
        (arguments.io.relay != NULL && !net_daemon_url("octet-actor", "--relay", arguments.io.relay,
                                                       insecure, 2, WIRE_NAME_MAX - 1))) {
        return NET_DAEMON_EXIT_USAGE;
    }
    if (!plugins_of_environment(&arguments.plugins)) {
        return NET_DAEMON_EXIT_USAGE;
    }
    arguments.io.plugins = &arguments.plugins;
    if (!arguments.has_envs_max && net_url_is_tcp(arguments.io.learner)) {
        arguments.io.envs_max = ENVS_REMOTE_MAX;
    }
    net_metrics_check(&arguments.daemon, "octet-actor");
    if (!net_daemon_begin(&arguments.daemon, arguments.io.evaluate ? "evaluator" : "actor")) {
        return EXIT_FAILURE;
    }
    oct_family_adopt(); // what a plug-in starts
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
        net_loop_signals_end(loop); // a signal that nobody would see after the execv
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
