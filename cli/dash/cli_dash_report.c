// Writes the page of octet dash, with all that it would ask for, into one file.
#include "cli/dash/cli_dash_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/dash/cli_dash_json.h"
#include "cli/dash/cli_dash_page.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

// Columns whose curves are in a report, to keep it small; the live page has all columns.
static const char *const columns[] = {
    "eval_return",        "train_return", "loss",       "env_steps_per_s",
    "updates_per_s",      "policy_bytes", "divergence", "agreement",
    "policy_lag",         "replay_size",  "wait_share", "actor_wait_share",
    "samples_per_insert",
};

// A report that is being written. The page is the same as that of the server: it reads answers from
// a snapshot in the file instead of asking for them.
typedef struct report {
    FILE *out;
    const cli_dash_runs *runs;
} report;

// Other columns are left out of a report, but the list of columns names these, so that the page
// offers no others.
static bool
is_reported(const char *column)
{
    return oct_text_is_one_of(column, columns, OCT_COUNTOF(columns));
}

// ---- answers

static void
put_base64(FILE *out, const char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (i + k < length ? (unsigned char)bytes[i + k] : 0);
        }
        for (size_t k = 0; k < 4; k++) {
            (void)fputc(i + k <= length ? digits[bits >> (18 - 6 * k) & 63] : '=', out);
        }
    }
}

// Writes an answer as an entry of the snapshot, by its path: JSON as it is, a video as a data: URL.
static void
put_answer(const report *r, const char *path)
{
    cli_dash_text text;
    if (!cli_dash_answer(r->runs, path, &text)) {
        return;
    }
    if (strncmp(path, "/video/", 7) != 0) {
        fprintf(r->out, ",\n\"%s\":%.*s", path, (int)text.length, text.bytes);
    } else if (text.length <= CLI_DASH_REPORT_VIDEO_MAX) {
        fprintf(r->out, ",\n\"%s\":\"data:%s;base64,", path, text.type);
        put_base64(r->out, text.bytes, text.length);
        (void)fputc('"', r->out);
    }
    free(text.bytes);
}

typedef struct run_columns {
    const report *report;
    uint32_t id;
} run_columns;

// The curves of a run's column, one for each axis.
static void
put_curves(void *arg, const char *column)
{
    const run_columns *run = arg;
    for (size_t i = 0; cli_dash_axes[i] != NULL && is_reported(column); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "/curve/%u/%s/%s", run->id, cli_dash_axes[i], column);
        put_answer(run->report, path);
    }
}

// The curves of all columns of a run, its codes and its video.
static void
put_run(const report *r, const cli_dash_run *run)
{
    static const char *const kinds[] = {"codes", "video"};
    run_columns of = {.report = r, .id = run->id};
    cli_dash_columns(run, put_curves, &of);
    for (size_t i = 0; i < OCT_COUNTOF(kinds); i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/%s/%u", kinds[i], run->id);
        put_answer(r, path);
    }
}

// The mean curves of a group, one for each column and axis.
static void
put_means(const report *r, uint32_t group)
{
    for (size_t c = 0; c < OCT_COUNTOF(columns); c++) {
        for (size_t i = 0; cli_dash_axes[i] != NULL; i++) {
            char path[128];
            (void)snprintf(path, sizeof(path), "/mean/%u/%s/%s", group, cli_dash_axes[i],
                           columns[c]);
            put_answer(r, path);
        }
    }
}

// The snapshot that the page reads instead of asking a server: an object with an answer for each
// path.
static void
put_answers(const report *r)
{
    char made[32] = "";
    time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day) != NULL) {
        (void)strftime(made, sizeof(made), "%Y-%m-%d %H:%M UTC", &day);
    }
    fprintf(r->out, "{\"report\":{\"made\":\"%s\",\"columns\":[", made);
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        fprintf(r->out, "%s\"%s\"", i > 0 ? "," : "", columns[i]);
    }
    (void)fputs("]}", r->out);
    put_answer(r, "/runs");
    for (uint32_t i = 0; i < cli_dash_runs_count(r->runs); i++) {
        put_run(r, cli_dash_runs_at(r->runs, i));
    }
    // The mean of one run is the run itself.
    uint32_t groups = cli_dash_groups(r->runs);
    for (uint32_t i = 0; groups < cli_dash_runs_count(r->runs) && i < groups; i++) {
        put_means(r, i);
    }
    (void)fputs("}", r->out);
}

// ---- the page

// The page is complete, or this code is not reached (cli_dash_page_is_there).
static const cli_dash_file *
file_of(const char *path)
{
    const cli_dash_file *file = cli_dash_file_find(path);
    OCT_ASSERT(file != NULL);
    return file;
}

// The policy allows exactly the scripts and styles that are in the file, by their hashes.
static void
put_policy(FILE *out)
{
    fprintf(out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
            "%s %s; style-src %s %s; img-src data:; media-src data:; base-uri 'none'; form-action "
            "'none'\">\n",
            file_of("/dygraph.js")->hash, file_of("/dash.js")->hash, file_of("/dygraph.css")->hash,
            file_of("/dash.css")->hash);
}

// Writes a script or a style into the page. Neither contains its own closing tag.
static void
put_inline(FILE *out, const char *tag, const char *path)
{
    const cli_dash_file *file = file_of(path);
    fprintf(out, "<%s>", tag);
    (void)fwrite(file->bytes, 1, file->length, out);
    fprintf(out, "</%s>\n", tag);
}

// Writes a line of the page. A line that refers to a script or a style is replaced by its content.
static void
put_line(const report *r, const char *line, size_t length)
{
    static const struct {
        const char *line, *tag, *path;
    } parts[] = {
        {"<link rel=\"stylesheet\" href=\"/dygraph.css\">", "style", "/dygraph.css"},
        {"<link rel=\"stylesheet\" href=\"/dash.css\">", "style", "/dash.css"},
        {"<script src=\"/dygraph.js\"></script>", "script", "/dygraph.js"},
        {"<script src=\"/dash.js\"></script>", "script", "/dash.js"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(parts); i++) {
        if (length == strlen(parts[i].line) && memcmp(line, parts[i].line, length) == 0) {
            // the script reads the snapshot, which must come first
            if (strcmp(parts[i].path, "/dash.js") == 0) {
                (void)fputs("<script type=\"application/json\" id=\"snapshot\">", r->out);
                put_answers(r);
                (void)fputs("</script>\n", r->out);
            }
            put_inline(r->out, parts[i].tag, parts[i].path);
            return;
        }
    }
    fprintf(r->out, "%.*s\n", (int)length, line);
    if (length == 6 && memcmp(line, "<head>", 6) == 0) {
        put_policy(r->out);
    }
}

// The caller checks for errors (ferror).
static void
page_write(FILE *out, const cli_dash_runs *runs)
{
    const report r = {.out = out, .runs = runs};
    const cli_dash_file *page = file_of("/");
    const char *at = page->bytes, *stop = page->bytes + page->length, *end;
    while ((end = memchr(at, '\n', (size_t)(stop - at))) != NULL) {
        put_line(&r, at, (size_t)(end - at));
        at = end + 1;
    }
}

// errno stays that of the failed write.
oct_err
cli_dash_report_save(const char *path, const cli_dash_runs *runs, size_t *length)
{
    char *text;
    FILE *out = open_memstream(&text, length);
    OCT_ASSERT(out != NULL);
    page_write(out, runs);
    OCT_ASSERT(fclose(out) == 0);
    oct_err err = oct_file_write(path, text, *length);
    int why = errno;
    free(text);
    errno = why;
    return err;
}
