// octet health: asks a daemon's /healthz and returns 0 if it is healthy, for HEALTHCHECK in
// containers and similar probes.

#include "cli/cli_commands.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli_options.h"
#include "common/oct_reason.h"
#include "net/net_http.h"

#define TIMEOUT_DEFAULT_S 3
#define TIMEOUT_MIN_S     0.001
#define TIMEOUT_MAX_S     60
#define HEALTHY           200
#define TROUBLED          503

typedef struct health_options {
    const char *url;
    double timeout_s;
    bool alive;
} health_options;

static const oct_arg health_rows[] = {
    {OCT_ARG_OPERAND("addresses", health_options, url),
     .missing = "no URL given; name the address of the daemon's --metrics"},
    {OCT_ARG_NUMBER("timeout", "SECONDS", health_options, timeout_s, TIMEOUT_MIN_S, TIMEOUT_MAX_S),
     .help = "Wait this long for the answer (default: 3)"},
    {OCT_ARG_FLAG("alive", health_options, alive),
     .help = "Check only that the daemon answers and that no environment hangs: another problem "
             "that it reports is not a failure"},
    {0},
};

static const oct_args health_args = {
    .rows = health_rows,
    .usage = "URL",
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
    cli_args_parse(&health_args, argc, argv, &options);
    char body[512] = "";
    oct_reason why;
    int status = 0;
    oct_err err = net_http_get(options.url, "/healthz", (uint32_t)(options.timeout_s * 1000),
                               &status, body, sizeof(body), &why);
    if (err == OCT_EINVAL) {
        cli_usage_error("health", "%s: %s", options.url, why.text);
    }
    if (err != OCT_OK) {
        return cli_error("health", "%s: %s", options.url, why.text);
    }
    body[strcspn(body, "\r\n")] = '\0';
    if (status != HEALTHY && !(options.alive && status == TROUBLED)) {
        return cli_error("health", "%s: %d %s", options.url, status, body);
    }
    printf("%s\n", body);
    return 0;
}
