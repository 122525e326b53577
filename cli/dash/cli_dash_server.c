// The HTTP side of octet dash.
#include "cli/dash/cli_dash_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dash/cli_dash_json.h"
#include "cli/dash/cli_dash_page.h"
#include "common/oct_base.h"
#include "net/net_http.h"

// What /runs answers, on its way to any number of readers.
typedef struct runs_text {
    cli_dash_text text;
    uint64_t changes; // as of which it is
    uint32_t users;   // answers, and the server's own
} runs_text;

// However many read, and however slowly, two texts of /runs are in memory, and one more while it is
// made: at most 3 * CLI_DASH_RUNS_MAX * 6 * CLI_SERIES_SUMMARY_MAX bytes of summaries, where JSON
// has six bytes for one; of 600 runs as they are, 3 * 600 * 4 KB = 7 MB.
struct cli_dash_server {
    cli_dash_runs *runs;
    net_http *http;
    runs_text *now, *before; // NULL: none
    bool is_local;           // http://
};

// Headers of every answer.
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

// While both are being sent, who asks gets the newer one, and the page sees by /changes that it is
// not the newest. Nobody gets the older one, so it has been sent in NET_HTTP_DEADLINE_MS.
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

static cli_dash_server *
server_create(const char *url)
{
    cli_dash_server *dash = oct_alloc(sizeof(*dash));
    dash->is_local = strncmp(url, "http://", 7) == 0;
    return dash;
}

// The first answer comes when the loop runs.
static oct_err
server_begin(cli_dash_server **out, cli_dash_server *dash, oct_err err, net_loop *loop,
             char *const *folders, uint32_t count)
{
    if (err != OCT_OK) {
        free(dash);
        return err;
    }
    dash->runs = cli_dash_runs_create(loop, folders, count);
    *out = dash;
    return OCT_OK;
}

oct_err
cli_dash_listen(int *fd, const char *url, char *reason, size_t reason_size)
{
    if (strncmp(url, "http://", 7) != 0 || !net_http_is_local(url + 7)) {
        (void)snprintf(reason, reason_size,
                       "http:// is for this machine alone (http://127.0.0.1:PORT); others need "
                       "https:// and certificates");
        return OCT_EINVAL;
    }
    return net_http_listen(fd, url, reason, reason_size);
}

oct_err
cli_dash_open_fd(cli_dash_server **out, net_loop *loop, const char *url, int take_fd,
                 char *const *folders, uint32_t count)
{
    cli_dash_server *dash = server_create(url);
    oct_err err = net_http_open_fd(&dash->http, loop, take_fd, asked, dash);
    if (err == OCT_OK && dash->is_local) {
        net_http_set_local(dash->http);
    }
    return server_begin(out, dash, err, loop, folders, count);
}

oct_err
cli_dash_open(cli_dash_server **out, net_loop *loop, const char *url, char *const *folders,
              uint32_t count, char *reason, size_t reason_size)
{
    cli_dash_server *dash = server_create(url);
    (void)snprintf(reason, reason_size, "the line above says why");
    if (dash->is_local) {
        int fd;
        free(dash);
        OCT_TRY(cli_dash_listen(&fd, url, reason, reason_size));
        return cli_dash_open_fd(out, loop, url, fd, folders, count);
    }
    oct_err err = net_http_open(&dash->http, loop, url, asked, dash);
    return server_begin(out, dash, err, loop, folders, count);
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
