// The HTTP side of octet dash.
#include "cli/dash/cli_dash_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dash/cli_dash_json.h"
#include "cli/dash/cli_dash_page.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "net/net_http.h"

// An answer to /runs while it is sent to any number of readers.
typedef struct runs_text {
    cli_dash_text text;
    uint64_t changes; // value of cli_dash_runs_changes when it was made
    uint32_t users;   // answers in flight, and the server itself
} runs_text;

// At most two texts of /runs are in memory, and a third while it is made, even with many slow
// readers: at most 3 * CLI_DASH_RUNS_MAX * 6 * CLI_SERIES_SUMMARY_MAX bytes of summaries, because
// JSON may take six bytes for one. 600 usual runs take 3 * 600 * 4 KB = 7 MB.
struct cli_dash_server {
    cli_dash_runs *runs;
    net_http *http;
    runs_text *now, *before; // the newest text and the one before; NULL: none
    bool is_local;           // http://: only this machine is served
};

// Headers of every answer. The page may load and run only what this server serves.
static const char *const headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; media-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options",
    "nosniff",
    "Cross-Origin-Resource-Policy",
    "same-origin",
    "Referrer-Policy",
    "no-referrer",
    "Cache-Control",
    "no-store",
    NULL,
};

static void
runs_text_release(void *owner)
{
    runs_text *text = owner;
    if (text != NULL && --text->users == 0) {
        free(text->text.bytes);
        free(text);
    }
}

// Answers /runs. While both texts are being sent, a new request gets the newer one, and the page
// sees by /changes that it is not the latest. No new request gets the older one, so it is sent
// completely within NET_HTTP_DEADLINE_MS and can be replaced.
static void
runs_answer(cli_dash_server *dash, net_http_answer *out)
{
    runs_text *now = dash->now, *before = dash->before;
    uint64_t changes = cli_dash_runs_changes(dash->runs);
    bool is_spare = now == NULL || now->users == 1;
    if ((now == NULL || now->changes != changes) &&
        (is_spare || before == NULL || before->users == 1)) {
        runs_text_release(is_spare ? now : before);
        dash->before = is_spare ? before : now;
        dash->now = oct_alloc(sizeof(*dash->now));
        *dash->now = (runs_text){.changes = changes, .users = 1};
        OCT_ASSERT(cli_dash_answer(dash->runs, "/runs", &dash->now->text));
    }
    dash->now->users++;
    out->status = 200;
    out->content_type = dash->now->text.type;
    out->body = dash->now->text.bytes;
    out->length = dash->now->text.length;
    out->release = runs_text_release;
    out->owner = dash->now;
}

// Answers a request (net_http.h). Other paths keep the default answer, 404.
static void
asked(void *arg, const net_http_request *request, net_http_answer *out)
{
    cli_dash_server *dash = arg;
    cli_dash_text text;
    out->headers = headers;
    const cli_dash_file *file = cli_dash_file_find(request->path);
    if (file != NULL) {
        net_http_answer_copy(out, 200, file->type, file->bytes, file->length);
    } else if (strcmp(request->path, "/runs") == 0) {
        runs_answer(dash, out);
    } else if (cli_dash_answer(dash->runs, request->path, &text)) {
        out->status = 200;
        out->content_type = text.type;
        out->body = text.bytes;
        out->length = text.length;
    }
}

// The URL decides if only this machine is served: https:// needs certificates, which
// cli_dash_open's caller has loaded.
static cli_dash_server *
server_create(const char *url)
{
    cli_dash_server *dash = oct_alloc(sizeof(*dash));
    dash->is_local = strncmp(url, "http://", 7) == 0;
    return dash;
}

// Finishes an opening; the first request is answered when the loop runs.
static oct_err
server_begin(cli_dash_server **out, cli_dash_server *dash, oct_err err, net_loop *loop,
             const cli_dash_site *site)
{
    if (err != OCT_OK) {
        free(dash);
        return err;
    }
    dash->runs = cli_dash_runs_create(loop, site->folders, site->count);
    *out = dash;
    return OCT_OK;
}

oct_err
cli_dash_listen(int *fd, const char *url, oct_reason *why)
{
    if (strncmp(url, "http://", 7) != 0 || !net_http_is_local(url + 7)) {
        return oct_refuse(why,
                          "http:// is for this machine alone (http://127.0.0.1:PORT); others need "
                          "https:// and certificates");
    }
    return net_http_listen(fd, url, why);
}

oct_err
cli_dash_open_fd(cli_dash_server **out, net_loop *loop, const cli_dash_site *site, int take_fd)
{
    cli_dash_server *dash = server_create(site->url);
    oct_err err = net_http_open_fd(&dash->http, loop, take_fd, asked, dash);
    if (err == OCT_OK && dash->is_local) {
        net_http_set_local(dash->http);
    }
    return server_begin(out, dash, err, loop, site);
}

// For https:// net_http logs the reason of a failure itself.
oct_err
cli_dash_open(cli_dash_server **out, net_loop *loop, const cli_dash_site *site, oct_reason *why)
{
    cli_dash_server *dash = server_create(site->url);
    oct_reason_set(why, "the line above says why");
    if (dash->is_local) {
        int fd;
        free(dash);
        OCT_TRY(cli_dash_listen(&fd, site->url, why));
        return cli_dash_open_fd(out, loop, site, fd);
    }
    oct_err err = net_http_open(&dash->http, loop, site->url, asked, dash);
    return server_begin(out, dash, err, loop, site);
}

uint32_t
cli_dash_run_count(const cli_dash_server *dash)
{
    return cli_dash_runs_count(dash->runs);
}

void
cli_dash_close(cli_dash_server *dash)
{
    if (dash != NULL) {
        net_http_close(dash->http);
        runs_text_release(dash->now);
        runs_text_release(dash->before);
        cli_dash_runs_destroy(dash->runs);
        free(dash);
    }
}
