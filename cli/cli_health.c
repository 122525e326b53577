// octet health: asks the /healthz of a daemon, for HEALTHCHECK and similar probes.

#include "cli/cli_commands.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli_options.h"
#include "net/net_http.h"

#define TIMEOUT_DEFAULT_S 3
#define TIMEOUT_MIN_S     0.001
#define TIMEOUT_MAX_S     60
#define HEALTHY           200
#define TROUBLED          503

enum { KEY_TIMEOUT = 256, KEY_ALIVE };

typedef struct health_options {
    const char *url;
    double timeout_s;
    bool alive;
} health_options;

static const struct argp_option option_table[] = {
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Wait this long for the answer (default: 3)", 0},
    {"alive", KEY_ALIVE, NULL, 0,
     "Check only that the daemon answers and that no environment hangs: another problem that it "
     "reports is not a failure",
     0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    health_options *options = state->input;
    switch (key) {
    case KEY_TIMEOUT:
        options->timeout_s =
            cli_option_real("health", "--timeout", arg, TIMEOUT_MIN_S, TIMEOUT_MAX_S);
        return 0;
    case KEY_ALIVE:
        options->alive = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->url != NULL) {
            cli_usage_error("health", "unexpected argument '%s'; name one address", arg);
        }
        options->url = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        cli_usage_error("health", "no URL given; name the address of the daemon's --metrics");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp health_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "URL",
    .doc = "Asks the daemon whose --metrics serves URL whether it is healthy. Prints ok and exits "
           "with code 0, or prints the reason and exits with code 1. Meant for HEALTHCHECK and "
           "similar probes.\v"
           "Example:\n"
           "  octet health http://127.0.0.1:9464",
};

int
cli_health(int argc, char **argv)
{
    health_options options = {.timeout_s = TIMEOUT_DEFAULT_S};
    cli_options_parse(&health_argp, argc, argv, &options);
    char body[512] = "", reason[256];
    int status = 0;
    oct_err err = net_http_get(options.url, "/healthz", (uint32_t)(options.timeout_s * 1000),
                               &status, body, sizeof(body), reason, sizeof(reason));
    if (err == OCT_EINVAL) {
        cli_usage_error("health", "%s: %s", options.url, reason);
    }
    if (err != OCT_OK) {
        cli_error("health", "%s: %s", options.url, reason);
        return CLI_EXIT_FAILED;
    }
    body[strcspn(body, "\r\n")] = '\0';
    if (status != HEALTHY && !(options.alive && status == TROUBLED)) {
        cli_error("health", "%s: %d %s", options.url, status, body);
        return CLI_EXIT_FAILED;
    }
    printf("%s\n", body);
    return 0;
}
