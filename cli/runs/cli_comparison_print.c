// Prints a comparison of runs for a terminal: an aligned table, and curves of letters.

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_text.h"
#include "cli/runs/cli_comparison.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

#define COLUMNS      8
#define CELL_BYTES   128
#define CURVE_WIDTH  64 // cells
#define CURVE_HEIGHT 10 // lines
#define LABEL_BYTES  44 // of a label that fits into the table
#define NAME_BYTES   8  // of the letters that name a group

// ---- the table

typedef struct row {
    char cell[COLUMNS][CELL_BYTES];
} row;

// Counts the characters of UTF-8 by their first bytes.
static size_t
cells_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

// Returns true if all labels fit into the table, where they are not cut.
static bool
fits(const cli_comparison *compare)
{
    for (uint32_t g = 0; g < compare->groups; g++) {
        if (strlen(compare->group[g].label) > LABEL_BYTES) {
            return false;
        }
    }
    return true;
}

// Names a group by letters: A … Z, AA, AB …; returns out.
static const char *
name_of(uint32_t group, char out[NAME_BYTES])
{
    char reversed[NAME_BYTES];
    size_t length = 0;
    for (uint64_t rest = (uint64_t)group + 1; rest > 0; rest = (rest - 1) / 26) {
        reversed[length++] = (char)('A' + (rest - 1) % 26);
    }
    for (size_t i = 0; i < length; i++) {
        out[i] = reversed[length - 1 - i];
    }
    out[length] = '\0';
    return out;
}

typedef cli_number_text (*number_fn)(double value);

// "mean ± deviation"; without a deviation for one run, "-" for none.
static void
print_spread(char out[CELL_BYTES], const cli_comparison_spread *spread, number_fn print)
{
    if (spread->count == 0) {
        (void)snprintf(out, CELL_BYTES, "-");
    } else if (spread->count == 1) {
        (void)snprintf(out, CELL_BYTES, "%s", print(spread->mean).text);
    } else {
        (void)snprintf(out, CELL_BYTES, "%s ± %s", print(spread->mean).text,
                       print(spread->std).text);
    }
}

// Returns the unit, beside time, in which the way to the threshold is counted.
static cli_comparison_by
counted_by(const cli_comparison *compare)
{
    return compare->by == CLI_COMPARISON_TIME ? cli_comparison_by_default(compare->runs)
                                              : compare->by;
}

static void
head_fill(row *out, const cli_comparison *compare)
{
    static const char *const names[COLUMNS] = {"",           "configuration", "runs", "return",
                                               "min .. max", "reached",       "",     "time to it"};
    double goal = compare->group[0].threshold;
    for (int i = 0; i < COLUMNS; i++) {
        bool is_shown = i != 1 || fits(compare);
        (void)snprintf(out->cell[i], CELL_BYTES, "%s", is_shown ? names[i] : "");
    }
    (void)snprintf(out->cell[6], CELL_BYTES, "%s to it",
                   cli_comparison_by_words[counted_by(compare)]);
    // One threshold for all groups is named in the head.
    bool is_same = isfinite(goal);
    for (uint32_t g = 1; g < compare->groups; g++) {
        is_same = is_same && compare->group[g].threshold == goal;
    }
    if (is_same) {
        (void)snprintf(out->cell[5], CELL_BYTES, "reached %s", cli_text_value(goal).text);
    }
}

// Fills the row of a group. "runs" says of how many the return is, if not all have one.
static void
row_fill(row *out, const cli_comparison *compare, uint32_t g)
{
    const cli_comparison_group *group = &compare->group[g];
    (void)name_of(g, out->cell[0]);
    if (fits(compare)) {
        (void)snprintf(out->cell[1], CELL_BYTES, "%.*s", LABEL_BYTES, group->label);
    }
    if (group->result.count < group->runs) {
        (void)snprintf(out->cell[2], CELL_BYTES, "%" PRIu32 " of %" PRIu32, group->result.count,
                       group->runs);
    } else {
        (void)snprintf(out->cell[2], CELL_BYTES, "%" PRIu32, group->runs);
    }
    print_spread(out->cell[3], &group->result, cli_text_value);
    (void)snprintf(out->cell[4], CELL_BYTES, "%s .. %s", cli_text_value(group->result.low).text,
                   cli_text_value(group->result.high).text);
    (void)snprintf(out->cell[5], CELL_BYTES, "%" PRIu32 " of %" PRIu32,
                   group->to[CLI_COMPARISON_STEPS].count, group->runs);
    if (!isfinite(group->threshold)) {
        (void)snprintf(out->cell[5], CELL_BYTES, "-");
    }
    print_spread(out->cell[6], &group->to[counted_by(compare)], cli_text_count);
    print_spread(out->cell[7], &group->to[CLI_COMPARISON_TIME], cli_text_seconds);
    if (group->result.count < 2) {
        (void)snprintf(out->cell[4], CELL_BYTES, "-");
    }
}

// Columns without any text take no room.
static void
print_row(FILE *out, const row *r, const size_t *width)
{
    char line[COLUMNS * CELL_BYTES];
    oct_text text;
    oct_text_init(&text, line, sizeof(line));
    for (int i = 0; i < COLUMNS; i++) {
        int gap = (int)(width[i] - cells_of(r->cell[i]));
        bool is_left = i < 2;
        oct_text_add(&text, "%s%*s%s%*s", i > 0 && width[i] > 0 ? "  " : "", is_left ? 0 : gap, "",
                     r->cell[i], is_left ? gap : 0, "");
    }
    fprintf(out, "%s\n", line);
}

// The widths are those of the longest cells, so all rows are formatted before the first one is
// printed.
static void
print_rows(FILE *out, const row *rows, uint32_t count)
{
    size_t width[COLUMNS] = {0};
    for (uint32_t r = 0; r < count; r++) {
        for (int i = 0; i < COLUMNS; i++) {
            width[i] = OCT_MAX(width[i], cells_of(rows[r].cell[i]));
        }
    }
    for (uint32_t r = 0; r < count; r++) {
        print_row(out, &rows[r], width);
    }
}

static void
print_table(const cli_comparison *compare, FILE *out)
{
    row *rows = oct_alloc((compare->groups + 1) * sizeof(*rows));
    head_fill(&rows[0], compare);
    for (uint32_t g = 0; g < compare->groups; g++) {
        row_fill(&rows[g + 1], compare, g);
    }
    print_rows(out, rows, compare->groups + 1);
    free(rows);
}

// ---- bootstrap intervals

static cli_number_text
print_probability(double value)
{
    cli_number_text out;
    (void)snprintf(out.text, sizeof(out.text), "%.2f", value);
    return out;
}

// "value (low .. high)", or "-" if the group has no interval.
static void
print_bootstrap(char out[CELL_BYTES], const cli_bootstrap *of, number_fn print)
{
    (void)snprintf(out, CELL_BYTES, "-");
    if (isfinite(of->value)) {
        (void)snprintf(out, CELL_BYTES, "%s (%s .. %s)", print(of->value).text, print(of->low).text,
                       print(of->high).text);
    }
}

// Prints the intervals of the groups that have them; nothing if no group has.
static void
print_bootstraps(const cli_comparison *compare, FILE *out)
{
    row *rows = oct_alloc((compare->groups + 1) * sizeof(*rows));
    uint32_t count = 1;
    bool is_compared = false;
    for (uint32_t g = 0; g < compare->groups; g++) {
        const cli_comparison_group *group = &compare->group[g];
        if (isfinite(group->iqm.value)) {
            row *r = &rows[count++];
            (void)name_of(g, r->cell[0]);
            print_bootstrap(r->cell[2], &group->iqm, cli_text_value);
            print_bootstrap(r->cell[3], &group->improvement, print_probability);
            is_compared = is_compared || isfinite(group->improvement.value);
        }
    }
    for (uint32_t r = 1; r < count && !is_compared; r++) {
        rows[r].cell[3][0] = '\0';
    }
    (void)snprintf(rows[0].cell[2], CELL_BYTES, "interquartile mean (%d %%)",
                   CLI_BOOTSTRAP_PERCENT);
    if (is_compared) {
        (void)snprintf(rows[0].cell[3], CELL_BYTES, "better than A (%d %%)", CLI_BOOTSTRAP_PERCENT);
    }
    if (count > 1) {
        (void)fputc('\n', out);
        print_rows(out, rows, count);
    }
    free(rows);
}

// Lists the groups' labels above a table that has no room for them.
static void
print_labels(const cli_comparison *compare, FILE *out)
{
    for (uint32_t g = 0; g < compare->groups; g++) {
        char name[NAME_BYTES];
        fprintf(out, "%s  %s\n", name_of(g, name), compare->group[g].label);
    }
    (void)fputc('\n', out);
}

// ---- the curves

// Curves share the cells; a later letter replaces an earlier one.
typedef struct canvas {
    char cell[CURVE_HEIGHT][CURVE_WIDTH + 1];
    double x_high, y_low, y_high;
} canvas;

// Only the curves that are drawn set the scale.
static void
canvas_fit(canvas *c, const cli_comparison *compare, uint32_t shown)
{
    c->y_low = INFINITY;
    c->y_high = -INFINITY;
    c->x_high = 0;
    for (uint32_t g = 0; g < shown; g++) {
        for (uint32_t i = 0; i < compare->group[g].points; i++) {
            const cli_series_spread *at = &compare->group[g].curve[i];
            if (isfinite(at->mean)) {
                c->y_low = fmin(c->y_low, at->mean);
                c->y_high = fmax(c->y_high, at->mean);
                c->x_high = fmax(c->x_high, at->x);
            }
        }
    }
}

// Draws a curve, in capitals where it is from all runs.
static void
canvas_draw(canvas *c, const cli_comparison_group *group, char letter)
{
    double height = c->y_high > c->y_low ? c->y_high - c->y_low : 1;
    for (uint32_t i = 0; i < group->points; i++) {
        const cli_series_spread *at = &group->curve[i];
        if (isfinite(at->mean)) {
            double x = c->x_high > 0 ? at->x / c->x_high : 0;
            double y = (c->y_high - at->mean) / height;
            size_t column = (size_t)fmin(x * CURVE_WIDTH, CURVE_WIDTH - 1);
            size_t line = (size_t)fmin(y * CURVE_HEIGHT, CURVE_HEIGHT - 1);
            bool is_whole = at->count == group->runs; // all runs of the group have a value here
            c->cell[line][column] = is_whole ? letter : (char)tolower((unsigned char)letter);
        }
    }
}

// Draws the curves of the first groups, one letter each.
static void
print_curves(const cli_comparison *compare, FILE *out)
{
    uint32_t shown = OCT_MIN(compare->groups, CLI_COMPARISON_DRAWN_MAX);
    canvas c;
    canvas_fit(&c, compare, shown);
    if (!(c.y_low <= c.y_high)) {
        fprintf(out, "no evaluation yet\n");
        return;
    }
    for (size_t i = 0; i < CURVE_HEIGHT; i++) {
        memset(c.cell[i], ' ', CURVE_WIDTH);
        c.cell[i][CURVE_WIDTH] = '\0';
    }
    for (uint32_t g = shown; g-- > 0;) { // the first on top
        canvas_draw(&c, &compare->group[g], (char)('A' + g));
    }
    for (size_t i = 0; i < CURVE_HEIGHT; i++) {
        bool is_end = i == 0 || i + 1 == CURVE_HEIGHT;
        double value = i == 0 ? c.y_high : c.y_low;
        fprintf(out, "%10s |%s\n", is_end ? cli_text_value(value).text : "", c.cell[i]);
    }
    bool is_time = compare->by == CLI_COMPARISON_TIME;
    fprintf(out, "%10s 0%*s%s%s\n", "", CURVE_WIDTH - 1,
            is_time ? cli_text_seconds(c.x_high).text : cli_text_count(c.x_high).text,
            is_time ? "" : " ", is_time ? "" : cli_comparison_by_words[compare->by]);
    if (shown < compare->groups) {
        fprintf(out, "the first %" PRIu32 " of %" PRIu32 " groups are drawn\n", shown,
                compare->groups);
    }
}

void
cli_comparison_print(const cli_comparison *compare, FILE *out)
{
    if (!fits(compare)) {
        print_labels(compare, out);
    }
    print_table(compare, out);
    print_bootstraps(compare, out);
    (void)fputc('\n', out);
    print_curves(compare, out);
}
