// The status of a run as the lines of a block, or as one plain line.

#include "cli/run/cli_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL_CELLS 11
#define CURVE_CELLS 40

// ---- styles

#define BOLD  "\x1b[1m"
#define DIM   "\x1b[2m"
#define RED   "\x1b[31m"
#define GREEN "\x1b[32m"
#define CYAN  "\x1b[36m"
#define PLAIN "\x1b[0m"

static void
style_on(cli_line *line, const cli_view_style *style, const char *sequence)
{
    if (style->colour) {
        cli_line_style(line, sequence);
    }
}

static cli_line *
begin(cli_block *out, const cli_view_style *style, const char *label)
{
    OCT_ASSERT(out->count < CLI_VIEW_LINES_MAX);
    cli_line *line = &out->line[out->count++];
    // The last column stays empty: a terminal may wrap when it is written.
    size_t width = OCT_MIN(style->width, CLI_VIEW_WIDTH_MAX);
    cli_line_init(line, OCT_MAX(width, 2) - 1);
    style_on(line, style, DIM);
    cli_line_add(line, "%s", label);
    style_on(line, style, PLAIN);
    cli_line_pad(line, LABEL_CELLS);
    return line;
}

// ---- parts

double
cli_view_eta_s(const cli_run_status *status)
{
    const double *value = status->numbers.value;
    double left = value[CLI_ENV_STEPS_BUDGET] - value[CLI_ENV_STEPS];
    double rate = value[CLI_ENV_STEPS_PER_S];
    return left >= 0 && rate > 0 ? left / rate : NAN;
}

static void
view_head(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    cli_line *line = begin(out, style, "octet");
    style_on(line, style, BOLD);
    cli_line_add(line, "%s", status->run_name);
    style_on(line, style, PLAIN);
    cli_line_add(line, "  %s", status->state);
    cli_line_add(line, "  %s", cli_text_seconds(status->wall_s).text);
}

static void
view_progress(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    const double *value = status->numbers.value;
    cli_line *line = begin(out, style, "progress");
    size_t room = line->cells_max > LABEL_CELLS ? line->cells_max - LABEL_CELLS : 0;
    double fraction = value[CLI_ENV_STEPS] / value[CLI_ENV_STEPS_BUDGET];
    style_on(line, style, CYAN);
    cli_line_bar(line, room > 50 ? OCT_MIN(room - 40, 40) : room / 4, fraction, style->ascii);
    style_on(line, style, PLAIN);
    cli_line_add(line, " %s  %s / %s steps  ETA %s", cli_text_share(fraction).text,
                 cli_text_count(value[CLI_ENV_STEPS]).text,
                 cli_text_count(value[CLI_ENV_STEPS_BUDGET]).text,
                 cli_text_seconds(cli_view_eta_s(status)).text);
}

static void
view_rates(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    const double *value = status->numbers.value;
    cli_line *line = begin(out, style, "speed");
    cli_line_add(line, "%s env steps/s · %s updates/s · %s samples per insert",
                 cli_text_count(value[CLI_ENV_STEPS_PER_S]).text,
                 cli_text_count(value[CLI_UPDATES_PER_S]).text,
                 cli_text_value(value[CLI_SAMPLES_PER_INSERT]).text);
}

static void
view_policy(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    const double *value = status->numbers.value;
    cli_line *line = begin(out, style, "policy");
    char version[CLI_TEXT_NUMBER_MAX] = "-";
    if (isfinite(value[CLI_POLICY_VERSION])) {
        (void)snprintf(version, sizeof(version), "%.0f", value[CLI_POLICY_VERSION]);
    }
    char share[CLI_TEXT_NUMBER_MAX] = "";
    if (value[CLI_POLICY_RATIO] > 0) {
        (void)snprintf(share, sizeof(share), ", 1/%.3g of fp32", 1 / value[CLI_POLICY_RATIO]);
    }
    cli_line_add(line, "version %s · lag %s · %s/s%s · %s actor%s", version,
                 cli_text_value(value[CLI_POLICY_LAG]).text,
                 cli_text_bytes(value[CLI_PUBLISHED_BYTES_PER_S]).text, share,
                 cli_text_count(value[CLI_ACTORS]).text, value[CLI_ACTORS] == 1 ? "" : "s");
}

static void
view_waiting(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    const double *value = status->numbers.value;
    cli_line *line = begin(out, style, "waiting");
    double actors = value[CLI_ACTOR_WAIT_SHARE];
    int words =
        (int)strcspn(status->replay_state, ":"); // numbers follow that a line has no room for
    cli_line_add(line, "learner for data %s · actors for replay %s · replay: %.*s",
                 cli_text_share(value[CLI_WAIT_SHARE]).text,
                 cli_text_share(isnan(actors) ? status->insert_wait_share : actors).text,
                 words > 0 ? words : 1, words > 0 ? status->replay_state : "-");
}

static void
view_return(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    const double *value = status->numbers.value;
    cli_line *line = begin(out, style, "return");
    bool reached = value[CLI_EVAL_BEST] >= status->goal;
    style_on(line, style, reached ? GREEN : BOLD);
    cli_line_add(line, "%s ± %s", cli_text_value(value[CLI_EVAL_RETURN]).text,
                 cli_text_value(value[CLI_EVAL_RETURN_STD]).text);
    style_on(line, style, PLAIN);
    cli_line_add(line, "  best %s", cli_text_value(value[CLI_EVAL_BEST]).text);
    if (isfinite(status->goal)) {
        cli_line_add(line, "  goal %s", cli_text_value(status->goal).text);
    }
    cli_line_add(line, "  training %s", cli_text_value(value[CLI_TRAIN_RETURN]).text);
}

static void
view_curve(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    cli_line *line = begin(out, style, "curve");
    if (status->point_count == 0) {
        cli_line_add(line, "no evaluation yet");
        return;
    }
    double least = INFINITY, greatest = -INFINITY;
    for (size_t i = 0; i < status->point_count; i++) {
        least = OCT_MIN(least, status->point_return[i]);
        greatest = OCT_MAX(greatest, status->point_return[i]);
    }
    style_on(line, style, CYAN);
    cli_line_curve(line, CURVE_CELLS, status->point_return, status->point_count, style->ascii);
    style_on(line, style, PLAIN);
    cli_line_add(line, "  %s .. %s", cli_text_value(least).text, cli_text_value(greatest).text);
}

void
cli_view_block(cli_block *out, const cli_run_status *status, const cli_view_style *style)
{
    out->count = 0;
    view_head(out, status, style);
    view_progress(out, status, style);
    view_rates(out, status, style);
    view_policy(out, status, style);
    view_waiting(out, status, style);
    view_return(out, status, style);
    view_curve(out, status, style);
    if (status->warning[0] != '\0') {
        cli_line *line = begin(out, style, "warning");
        style_on(line, style, RED);
        cli_line_add(line, "%s", status->warning);
        style_on(line, style, PLAIN);
    }
    if (status->restarts > 0 || status->note[0] != '\0') {
        cli_line *line = begin(out, style, "restarts");
        cli_line_add(line, "%u  %s", (unsigned)status->restarts, status->note);
    }
}

// ---- plain line

static void
add_whole(cli_line *line, const char *name, double value)
{
    if (isfinite(value)) {
        cli_line_add(line, " %s=%.0f", name, value);
    } else {
        cli_line_add(line, " %s=-", name);
    }
}

void
cli_view_line(cli_line *out, const cli_run_status *status)
{
    const double *value = status->numbers.value;
    cli_line_init(out, CLI_TEXT_LINE_BYTES_MAX);
    cli_line_add(out, "t=%.1fs", status->wall_s);
    add_whole(out, "steps", value[CLI_ENV_STEPS]);
    add_whole(out, "budget", value[CLI_ENV_STEPS_BUDGET]);
    add_whole(out, "steps/s", value[CLI_ENV_STEPS_PER_S]);
    add_whole(out, "updates", value[CLI_UPDATES]);
    add_whole(out, "updates/s", value[CLI_UPDATES_PER_S]);
    cli_line_add(out, " samples/insert=%s", cli_text_value(value[CLI_SAMPLES_PER_INSERT]).text);
    add_whole(out, "policy", value[CLI_POLICY_VERSION]);
    cli_line_add(out, " lag=%s", cli_text_value(value[CLI_POLICY_LAG]).text);
    add_whole(out, "bytes/s", value[CLI_PUBLISHED_BYTES_PER_S]);
    cli_line_add(out, " return=%s±%s best=%s", cli_text_value(value[CLI_EVAL_RETURN]).text,
                 cli_text_value(value[CLI_EVAL_RETURN_STD]).text,
                 cli_text_value(value[CLI_EVAL_BEST]).text);
    cli_line_add(out, " training=%s", cli_text_value(value[CLI_TRAIN_RETURN]).text);
    cli_line_add(out, " wait=%s", cli_text_value(value[CLI_WAIT_SHARE]).text);
    add_whole(out, "restarts", status->restarts);
    cli_line_add(out, " state=\"%s\"", status->state);
    if (status->warning[0] != '\0') {
        cli_line_add(out, " warning=\"%s\"", status->warning);
    }
}
