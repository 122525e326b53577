// Prints a run as the lines of a block, or as one plain line.

#include "cli/status/cli_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/status/cli_waiting.h"

#define BAR_CELLS       20 // at most; with its numbers and an ETA of years the line has 79 cells
#define CURVE_CELLS     40
#define PARAGRAPH_CELLS 20 // least width, also on a narrow terminal

// ---- lines

// Switches to a style where colours are used.
static void
style_on(const cli_view *view, cli_line *line, const char *sequence)
{
    if (view->style->colour) {
        cli_line_style(line, sequence);
    }
}

cli_line *
cli_view_begin(cli_view *view, const char *label)
{
    cli_block *out = view->out;
    cli_line *line = &out->line[out->count];
    out->count += out->count < CLI_VIEW_LINES_MAX; // the line after the last is overwritten
    // The last column stays empty, because a terminal may wrap when it is written.
    size_t width = OCT_MIN(view->style->width, (size_t)CLI_VIEW_WIDTH_MAX);
    cli_line_init(line, OCT_MAX(width, (size_t)2) - 1);
    line->ascii = view->style->ascii;
    if (label[0] != '\0') {
        style_on(view, line, CLI_VIEW_DIM);
        cli_line_add(line, "%s", label);
        style_on(view, line, CLI_VIEW_PLAIN);
    }
    cli_line_pad(line, CLI_VIEW_LABEL_CELLS);
    line->begin = CLI_VIEW_LABEL_CELLS;
    return line;
}

// Appends a field to a line, after " · " unless it is the first. A field that does not fit is left
// out as a whole.
void
cli_view_add(cli_line *line, const char *before, const char *value, const char *after)
{
    if (line->cells > line->begin) {
        cli_line_add_whole(line, " · %s%s%s", before, value, after);
    } else {
        cli_line_add(line, "%s%s%s", before, value, after);
    }
}

// The same, but leaves out a field whose value is unknown.
void
cli_view_add_known(cli_line *line, const char *before, const char *value, const char *after)
{
    if (strcmp(value, "-") != 0) {
        cli_view_add(line, before, value, after);
    }
}

// Prints a text over several lines, of which only the first has the label.
void
cli_view_paragraph(cli_view *view, const char *label, const char *text)
{
    // beyond this, lines are hard to read
    size_t width = OCT_MIN(view->style->width, (size_t)CLI_VIEW_TEXT_MAX + 1);
    size_t room = OCT_MAX(width, (size_t)CLI_VIEW_LABEL_CELLS + PARAGRAPH_CELLS + 1) -
                  CLI_VIEW_LABEL_CELLS - 1;
    do {
        size_t length = cli_text_wrap(text, room);
        cli_line_add(cli_view_begin(view, label), "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
        label = "";
    } while (*text != '\0');
}

// ---- parts

static double
number(const cli_snapshot *state, const char *name)
{
    return cli_snapshot_number(state, name);
}

// The budget by which the run comes to its end: environment steps or updates.
typedef struct progress {
    double done, budget, rate;
    const char *unit;
} progress;

// Returns the budget that is nearer to its end; the other one will not be reached.
static progress
progress_of(const cli_snapshot *state)
{
    const progress steps = {number(state, "learner.env_steps"),
                            number(state, "learner.env_steps_budget"),
                            number(state, "learner.env_steps_per_s"), "steps"};
    const progress updates = {number(state, "learner.updates"),
                              number(state, "learner.updates_budget"),
                              number(state, "learner.updates_per_s"), "updates"};
    // The budget of which a larger part is used.
    bool by_updates =
        updates.budget > 0 && updates.done / updates.budget >= steps.done / steps.budget;
    return by_updates ? updates : steps;
}

// Returns the seconds left at the present rate. NaN: the run is over, or there is no rate.
double
cli_view_eta_s(const cli_snapshot *state)
{
    progress p = progress_of(state);
    double left = p.budget - p.done;
    bool is_over = strcmp(state->learner.state, "final evaluation") == 0 ||
                   strcmp(state->learner.state, "done") == 0;
    return !is_over && left >= 0 && p.rate > 0 ? left / p.rate : NAN;
}

static void
view_head(cli_view *view)
{
    const cli_snapshot *state = view->state;
    cli_line *line = cli_view_begin(view, "run");
    char id[32] = "-";
    if (state->run_id != 0) {
        (void)snprintf(id, sizeof(id), "%016" PRIx64, state->run_id);
    }
    style_on(view, line, CLI_VIEW_BOLD);
    cli_line_add(line, "%s", state->folder[0] != '\0' ? state->folder : id);
    style_on(view, line, CLI_VIEW_PLAIN);
    cli_view_add(line, "", state->env[0] != '\0' ? state->env : "-", "");
    cli_view_add(line, "", state->learner.state[0] != '\0' ? state->learner.state : "not known",
                 "");
    cli_view_add(line, "", cli_text_seconds(state->wall_s).text, "");
}

// Prints the bar. Its width leaves 48 cells for the numbers; a very narrow terminal gets a short
// bar.
static void
view_progress(cli_view *view)
{
    const cli_snapshot *state = view->state;
    cli_line *line = cli_view_begin(view, "progress");
    size_t room =
        line->cells_max > CLI_VIEW_LABEL_CELLS ? line->cells_max - CLI_VIEW_LABEL_CELLS : 0;
    progress p = progress_of(state);
    style_on(view, line, CLI_VIEW_CYAN);
    cli_line_bar(line, room > 58 ? OCT_MIN(room - 48, (size_t)BAR_CELLS) : room / 4,
                 p.done / p.budget);
    style_on(view, line, CLI_VIEW_PLAIN);
    cli_line_add(line, " %s  %s / %s %s  ETA %s", cli_text_share(p.done / p.budget).text,
                 cli_text_count(p.done).text, cli_text_count(p.budget).text, p.unit,
                 cli_text_seconds(cli_view_eta_s(state)).text);
}

// The mean of the last evaluation, green once the best one has reached the goal.
static void
view_evaluation(cli_view *view)
{
    const cli_snapshot *state = view->state;
    double best = number(state, "learner.eval_best"), goal = number(state, "learner.goal");
    double evaluations = number(state, "learner.evaluations");
    double failed = number(state, "learner.eval_failed");
    double truncated = number(state, "learner.eval_truncated");
    cli_line *line = cli_view_begin(view, "evaluation");
    cli_line_add(line, number(state, "learner.eval_sampling") > 0 ? "sampled return " : "return ");
    style_on(view, line, best >= goal ? CLI_VIEW_GREEN : CLI_VIEW_BOLD);
    cli_line_add(line, "%s ± %s", cli_text_value(number(state, "learner.eval_return")).text,
                 cli_text_value(number(state, "learner.eval_return_std")).text);
    style_on(view, line, CLI_VIEW_PLAIN);
    if (evaluations > 0) {
        cli_line_add(line, " · best of %s:", cli_text_count(evaluations).text);
        cli_line_add(line, " %s", cli_text_value(best).text);
    }
    cli_view_add_known(line, "goal ", cli_text_value(goal).text, "");
    if (failed > 0) {
        cli_view_add(line, "", cli_text_count(failed).text,
                     failed == 1 ? " failed episode" : " failed episodes");
    }
    if (truncated > 0) {
        cli_view_add(line, "", cli_text_count(truncated).text, " truncated");
    }
    if (cli_snapshot_evaluators(state) == 0) {
        cli_view_add(line, "no evaluator", "", "");
    }
}

static void
view_training(cli_view *view)
{
    double mean = number(view->state, "learner.train_return");
    cli_line_add(cli_view_begin(view, "training"), "return %s, with exploration",
                 cli_text_value(mean).text);
}

// Draws the evaluations that this process has seen.
static void
view_curve(cli_view *view)
{
    const cli_snapshot *state = view->state;
    if (state->point_count < 2) { // octet status without --watch sees one evaluation at most
        return;
    }
    cli_line *line = cli_view_begin(view, "curve");
    double least = INFINITY, greatest = -INFINITY;
    for (size_t i = 0; i < state->point_count; i++) {
        least = OCT_MIN(least, state->point_return[i]);
        greatest = OCT_MAX(greatest, state->point_return[i]);
    }
    style_on(view, line, CLI_VIEW_CYAN);
    cli_line_curve(line, CURVE_CELLS, state->point_return, state->point_count);
    style_on(view, line, CLI_VIEW_PLAIN);
    cli_line_add(line, "  %s .. %s", cli_text_value(least).text, cli_text_value(greatest).text);
}

// At the top, so that it fits any terminal.
static void
view_warning(cli_view *view)
{
    const cli_snapshot *state = view->state;
    if (state->warning[0] != '\0') {
        cli_line *line = cli_view_begin(view, "warning");
        style_on(view, line, CLI_VIEW_RED);
        cli_line_add(line, "%s", state->warning);
        style_on(view, line, CLI_VIEW_PLAIN);
    }
}

static void
view_restarts(cli_view *view)
{
    const cli_snapshot *state = view->state;
    if (state->restarts > 0 || state->given_up > 0 || state->note[0] != '\0') {
        bool is_counted = state->restarts > 0 || state->given_up > 0; // only the supervisor counts
        cli_line *line = cli_view_begin(view, is_counted ? "restarts" : "note");
        if (is_counted) {
            cli_line_add(line, "%u", (unsigned)state->restarts);
        }
        if (state->given_up > 0) {
            cli_line_add(line, ", %u given up", (unsigned)state->given_up);
        }
        cli_line_add(line, "%s%s", is_counted ? "  " : "", state->note);
    }
}

// The order is by importance: a low terminal shows only the first lines.
void
cli_view_block(cli_block *out, const cli_snapshot *state, const cli_view_style *style)
{
    cli_view view = {.state = state, .style = style, .out = out};
    cli_waiting waiting;
    out->count = 0;
    cli_waiting_judge(&waiting, state);
    view_head(&view);
    view_warning(&view);
    view_progress(&view);
    cli_view_learner(&view);
    cli_view_replay(&view);
    cli_view_data(&view);
    cli_view_actors(&view);
    cli_view_relays(&view);
    view_training(&view);
    view_evaluation(&view);
    view_curve(&view);
    cli_view_paragraph(&view, "waiting", waiting.text);
    view_restarts(&view);
    cli_view_peers(&view);
}

// ---- plain line

// Adds " name=12", or "-" if the value is not known.
static void
add_whole(cli_line *line, const char *name, double value)
{
    if (isfinite(value)) {
        cli_line_add(line, " %s=%.0f", name, value);
    } else {
        cli_line_add(line, " %s=-", name);
    }
}

static void
add_value(cli_line *line, const char *name, double value)
{
    cli_line_add(line, " %s=%s", name, cli_text_value(value).text);
}

// The line is for logs and pipes: name=value, separated by blanks.
void
cli_view_line(cli_line *out, const cli_snapshot *state)
{
    cli_line_init(out, CLI_TEXT_LINE_BYTES_MAX);
    cli_line_add(out, "t=%.1fs", state->wall_s);
    add_whole(out, "steps", number(state, "learner.env_steps"));
    add_whole(out, "budget", number(state, "learner.env_steps_budget"));
    add_whole(out, "steps/s", number(state, "learner.env_steps_per_s"));
    add_whole(out, "updates", number(state, "learner.updates"));
    add_whole(out, "updates/s", number(state, "learner.updates_per_s"));
    add_value(out, "samples/insert", number(state, "replay.samples_per_insert"));
    add_whole(out, "policy", number(state, "learner.policy_version"));
    add_value(out, "lag", number(state, "learner.policy_lag"));
    add_whole(out, "bytes/s", number(state, "learner.published_bytes_per_s"));
    cli_line_add(out, " evaluation=%s±%s",
                 cli_text_value(number(state, "learner.eval_return")).text,
                 cli_text_value(number(state, "learner.eval_return_std")).text);
    add_value(out, "best_evaluation", number(state, "learner.eval_best"));
    add_value(out, "training", number(state, "learner.train_return"));
    add_value(out, "wait", number(state, "learner.wait_share"));
    if (number(state, "learner.learners") > 1) {
        add_whole(out, "learners", number(state, "learner.learners"));
    }
    if (isfinite(number(state, "learner.staleness"))) {
        add_value(out, "staleness", number(state, "learner.staleness"));
    }
    add_whole(out, "restarts", state->restarts);
    if (state->given_up > 0) {
        add_whole(out, "given_up", state->given_up);
    }
    cli_line_add(out, " state=\"%s\"", state->learner.state);
    if (state->warning[0] != '\0') {
        cli_line_add(out, " warning=\"%s\"", state->warning);
    }
}
