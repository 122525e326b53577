// octet dash: serves a page that shows the runs of some folders in a browser.

#include "cli/cli_commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/dash/cli_dash_page.h"
#include "cli/dash/cli_dash_server.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "net/net_daemon.h"
#include "net/net_http.h"
#include "net/net_url.h"

#define CLOSE_MS    500
#define FOLDERS_MAX 256

typedef struct dash_options {
    char url[NET_URL_MAX];
    uint32_t port;      // --port; 0: not given
    const char *listen; // an address; NULL: not given
    const char *tls;    // a folder of certificates; NULL: not given
    char *folder[FOLDERS_MAX];
    uint32_t count;
} dash_options;

static const oct_arg dash_rows[] = {
    {OCT_ARG_OPERANDS("folders; name one folder that contains them all", dash_options, folder,
                      count)},
    {OCT_ARG_COUNT("port", "N", dash_options, port, 1, 65535),
     .help = "Serve the page on this port of this machine only (default: 8260)"},
    {OCT_ARG_TEXT("listen", "URL", dash_options, listen),
     .help = "Serve the page at URL instead, such as https://0.0.0.0:8260 for operators on other "
             "hosts"},
    {OCT_ARG_PATH("tls", "FOLDER", dash_options, tls),
     .help = "Read the certificate for https, of a role that accepts connections, from FOLDER "
             "(default: $OCTET_TLS)"},
    {0},
};

static const oct_args dash_args = {
    .rows = dash_rows,
    .usage = "[FOLDER...]",
    .doc = "Shows the live and ended runs in FOLDER (default: runs) on a web page: "
           "learning curves and their mean over seeds, who waits for whom, actors, policies, "
           "replay and differences in configuration. FOLDER is a run folder, or contains run "
           "folders up to three levels deep. Ctrl-C stops it.\v"
           "Examples:\n"
           "  octet dash\n"
           "  octet dash runs sweeps/pole --port 9000",
};

static void
check(dash_options *options)
{
    static char runs[] = "runs";
    oct_reason why;
    if (options->port > 0 && options->listen != NULL) {
        cli_usage_error(
            "dash",
            "--port and --listen cannot be used together; the URL of --listen contains the port");
    }
    if (options->listen != NULL && strlen(options->listen) >= sizeof(options->url)) {
        cli_usage_error("dash", "--listen is longer than %d bytes", NET_URL_MAX - 1);
    }
    (void)snprintf(options->url, sizeof(options->url), "http://127.0.0.1:%u",
                   (unsigned)(options->port > 0 ? options->port : CLI_DASH_PORT));
    if (options->listen != NULL) {
        (void)snprintf(options->url, sizeof(options->url), "%s", options->listen);
    }
    if (options->count == 0) {
        options->folder[options->count++] = runs;
    }
    for (uint32_t i = 0; i < options->count; i++) {
        if (access(options->folder[i], R_OK | X_OK) != 0) {
            exit(cli_error("dash", "cannot read folder '%s': %s", options->folder[i],
                           strerror(errno)));
        }
    }
    bool is_plain = strncmp(options->url, "http://", 7) == 0;
    if (options->tls != NULL && is_plain) {
        cli_usage_error("dash", "--tls is for https; give --listen https://HOST:PORT");
    }
    options->tls = options->tls != NULL ? options->tls : net_loop_tls_default();
    // A plain http:// address needs no further check here: cli_dash_listen reports what is wrong
    // with it.
    const net_http_terms terms = {is_plain, options->tls != NULL, NULL, NET_DAEMON_TLS};
    if (net_http_check(options->url, &terms, &why) != OCT_OK) {
        cli_usage_error("dash", "--listen is '%s': %s", options->url, why.text);
    }
}

static void
stop_wanted(void *arg, int signal_number)
{
    (void)signal_number;
    net_loop_stop(arg);
}

int
cli_dash(int argc, char **argv)
{
    static dash_options options;
    oct_reason why;
    cli_args_parse(&dash_args, argc, argv, &options);
    if (!cli_dash_page_is_there()) {
        return cli_error("dash", CLI_DASH_NO_PAGE);
    }
    check(&options);
    net_loop *loop = net_loop_create();
    cli_dash_server *dash;
    bool is_secure = strncmp(options.url, "https://", 8) == 0;
    if (is_secure && net_loop_use_tls(loop, options.tls, &why) != OCT_OK) {
        return cli_error("dash", "--tls %s: %s", options.tls, why.text);
    }
    if (is_secure && net_loop_role(loop) == OCT_ROLE_OPERATOR) {
        return cli_error("dash",
                         "--tls %s: the certificate has the role operator, which cannot accept "
                         "connections; use a daemon's certificate",
                         options.tls);
    }
    if (net_loop_on_signal(loop, SIGINT, stop_wanted, loop) != OCT_OK ||
        net_loop_on_signal(loop, SIGTERM, stop_wanted, loop) != OCT_OK) {
        return cli_error("dash", "cannot watch signals");
    }
    const cli_dash_site site = {options.url, options.folder, options.count};
    if (cli_dash_open(&dash, loop, &site, &why) != OCT_OK) {
        return cli_error("dash", "cannot serve %s: %s", options.url, why.text);
    }
    uint32_t count = cli_dash_run_count(dash);
    printf("%s shows %u run%s; Ctrl-C stops it\n", options.url, count, oct_text_plural(count));
    (void)fflush(stdout);
    net_loop_run(loop);
    net_loop_exit_deadline(loop, CLOSE_MS, 0);
    cli_dash_close(dash);
    net_loop_destroy(loop);
    return 0;
}
