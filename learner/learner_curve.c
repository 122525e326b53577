// Draws the learning curve of a run as an SVG file for light and dark pages.
#include "learner/learner_curve.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

// Readable on a light and on a dark page: the picture has its own ground, and viewers that know
// style sheets follow the reader's preference.

#define WIDTH       760
#define HEIGHT      430
#define LEFT        72.0 // of the plot
#define RIGHT       736.0
#define TOP         52.0
#define BOTTOM      346.0
#define TITLE_BYTES 160
#define TICKS_MAX   12
#define DOTS_MAX    80 // evaluations that get a dot each

// One axis: values low .. high on pixels from .. to, a tick every step.
typedef struct axis {
    double low, high;
    double from, to;
    double step;
} axis;

typedef struct plot {
    FILE *out;
    const learner_curve_point *points; // finite ones
    size_t count;
    const char *counted; // what env_steps are of
    double threshold;
    axis x, y;
} plot;

// ---- axes

// The least of 1, 2, 5 times a power of ten that cuts range into at most parts.
static double
nice_step(double range, double parts)
{
    double rough = range / parts;
    double power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

// Widens low .. high to whole ticks.
static axis
axis_make(double low, double high, double from, double to, double parts)
{
    double spread = fmax(fabs(low), fabs(high));
    if (!(high - low > 1e-9 * spread)) {
        double pad = fmax(0.05 * spread, 0.5);
        low -= pad;
        high += pad;
    }
    double step = nice_step(high - low, parts);
    return (axis){.low = step * floor(low / step + 1e-9),
                  .high = step * ceil(high / step - 1e-9),
                  .from = from,
                  .to = to,
                  .step = step};
}

static double
place(const axis *a, double value)
{
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

static size_t
tick_count(const axis *a)
{
    return (size_t)OCT_MIN((a->high - a->low) / a->step + 1.5, (double)TICKS_MAX);
}

static double
tick_value(const axis *a, size_t i)
{
    double value = a->low + (double)i * a->step;
    return fabs(value) < 1e-9 * a->step ? 0 : value;
}

// 250 k, 1.5 M.
static const char *
steps_text(char out[32], double value)
{
    return oct_text_count(out, 32, value, "");
}

// ---- wall time at a number of steps, between the two evaluations around it

static double
wall_at(const plot *p, double steps)
{
    const learner_curve_point *before = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const learner_curve_point *at = &p->points[i];
        if (at->env_steps >= steps) {
            double s0 = before != NULL ? before->env_steps : 0;
            double w0 = before != NULL ? before->wall_s : 0;
            double share = at->env_steps > s0 ? (steps - s0) / (at->env_steps - s0) : 1;
            return w0 + share * (at->wall_s - w0);
        }
        before = at;
    }
    return NAN;
}

// ---- parts of the drawing

static void
put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        default:
            (void)fputc(*text, out);
        }
    }
}

static void
put_head(const plot *p, const char *title)
{
    char clean[TITLE_BYTES];
    (void)oct_text_quote(clean, sizeof(clean), title, strlen(title));
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe "
            "UI', 'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"12\">\n<title>",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_text(p->out, clean);
    // The light colours are attributes, for viewers that know no style sheets.
    fprintf(p->out,
            "</title>\n<style>\n"
            "@media (prefers-color-scheme: dark) {\n"
            "  .ground { fill: #15181d } .ink { fill: #e8eaed } .soft { fill: #a3abb5 }\n"
            "  .grid { stroke: #2b3139 } .mean { stroke: #6cb2ff } .dot { fill: #6cb2ff }\n"
            "  .band { fill: #6cb2ff } .goal { stroke: #5fcf8a } .goalink { fill: #5fcf8a }\n"
            "}\n</style>\n");
    fprintf(p->out,
            "<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"#ffffff\"/>\n",
            WIDTH, HEIGHT);
    fprintf(p->out,
            "<text class=\"ink\" x=\"%.0f\" y=\"28\" font-size=\"16\" font-weight=\"600\" "
            "fill=\"#1c2128\">",
            LEFT);
    put_text(p->out, clean);
    fprintf(p->out, "</text>\n");
}

static void
put_label(const plot *p, const char *kind, const char *anchor, double x, double y, const char *text)
{
    bool is_ink = strcmp(kind, "ink") == 0;
    fprintf(p->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">",
            kind, x, y, anchor, is_ink ? "#1c2128" : "#5b6470");
    put_text(p->out, text);
    fprintf(p->out, "</text>\n");
}

static void
put_line(const plot *p, double x1, double y1, double x2, double y2)
{
    fprintf(p->out,
            "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"#e1e5ea\"/>\n",
            x1, y1, x2, y2);
}

static void
put_axes(const plot *p)
{
    char text[32];
    for (size_t i = 0; i < tick_count(&p->y); i++) {
        double value = tick_value(&p->y, i), y = place(&p->y, value);
        put_line(p, LEFT, y, RIGHT, y);
        put_label(p, "soft", "end", LEFT - 8, y + 4, oct_text_double(text, sizeof(text), value));
    }
    for (size_t i = 0; i < tick_count(&p->x); i++) {
        double value = tick_value(&p->x, i), x = place(&p->x, value);
        put_line(p, x, TOP, x, BOTTOM + 5);
        put_label(p, "soft", "middle", x, BOTTOM + 20, steps_text(text, value));
        double wall_s = wall_at(p, value);
        if (isfinite(wall_s)) {
            put_label(p, "soft", "middle", x, BOTTOM + 38,
                      oct_text_duration(text, sizeof(text), fmax(wall_s, 0)));
        }
    }
    char words[64];
    (void)snprintf(words, sizeof(words), "%s, and wall time below", p->counted);
    put_label(p, "ink", "middle", (LEFT + RIGHT) / 2, BOTTOM + 64, words);
    fprintf(p->out,
            "<text class=\"ink\" transform=\"translate(20 %.1f) rotate(-90)\" "
            "text-anchor=\"middle\" fill=\"#1c2128\">evaluation return, mean ± std</text>\n",
            (TOP + BOTTOM) / 2);
}

static void
put_threshold(const plot *p)
{
    if (!isfinite(p->threshold)) {
        return;
    }
    char value[32];
    double y = place(&p->y, p->threshold);
    fprintf(p->out,
            "<line class=\"goal\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"#1a7f37\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"/>\n",
            LEFT, y, RIGHT, y);
    fprintf(p->out,
            "<text class=\"goalink\" x=\"%.1f\" y=\"%.1f\" fill=\"#1a7f37\">goal %s</text>\n",
            LEFT + 6, y - 5, oct_text_double(value, sizeof(value), p->threshold));
}

static void
put_band(const plot *p)
{
    fprintf(p->out, "<polygon class=\"band\" fill=\"#0b6bcb\" fill-opacity=\"0.18\" points=\"");
    for (size_t i = 0; i < p->count; i++) {
        const learner_curve_point *at = &p->points[i];
        fprintf(p->out, "%.1f,%.1f ", place(&p->x, at->env_steps),
                place(&p->y, at->mean + at->std));
    }
    for (size_t i = p->count; i > 0; i--) {
        const learner_curve_point *at = &p->points[i - 1];
        fprintf(p->out, "%.1f,%.1f ", place(&p->x, at->env_steps),
                place(&p->y, at->mean - at->std));
    }
    fprintf(p->out, "\"/>\n");
}

static void
put_mean(const plot *p)
{
    fprintf(p->out, "<polyline class=\"mean\" fill=\"none\" stroke=\"#0b6bcb\" stroke-width=\"2\" "
                    "stroke-linejoin=\"round\" points=\"");
    for (size_t i = 0; i < p->count; i++) {
        fprintf(p->out, "%.1f,%.1f ", place(&p->x, p->points[i].env_steps),
                place(&p->y, p->points[i].mean));
    }
    fprintf(p->out, "\"/>\n");
    for (size_t i = 0; i < p->count && p->count <= DOTS_MAX; i++) {
        fprintf(p->out,
                "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"#0b6bcb\"/>\n",
                place(&p->x, p->points[i].env_steps), place(&p->y, p->points[i].mean));
    }
    // One evaluation has no line to show its spread by.
    if (p->count == 1) {
        double x = place(&p->x, p->points[0].env_steps);
        fprintf(p->out,
                "<line class=\"mean\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                "stroke=\"#0b6bcb\" stroke-width=\"1.5\"/>\n",
                x, place(&p->y, p->points[0].mean - p->points[0].std), x,
                place(&p->y, p->points[0].mean + p->points[0].std));
    }
}

static void
fit_axes(plot *p)
{
    double low = isfinite(p->threshold) ? p->threshold : INFINITY;
    double high = isfinite(p->threshold) ? p->threshold : -INFINITY;
    double steps = 0;
    for (size_t i = 0; i < p->count; i++) {
        low = fmin(low, p->points[i].mean - p->points[i].std);
        high = fmax(high, p->points[i].mean + p->points[i].std);
        steps = fmax(steps, p->points[i].env_steps);
    }
    if (!(low <= high)) {
        low = 0;
        high = 1;
    }
    p->x = axis_make(0, steps > 0 ? steps : 1, LEFT, RIGHT, 8);
    p->x.high = steps > 0 ? steps : 1; // the curve ends at the frame, ticks where they fall
    p->y = axis_make(low, high, BOTTOM, TOP, 7);
}

static void
put_all(plot *p, const char *title)
{
    fit_axes(p);
    put_head(p, title);
    put_axes(p);
    put_threshold(p);
    if (p->count == 0) {
        put_label(p, "soft", "middle", (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, "no evaluation yet");
    } else {
        put_band(p);
        put_mean(p);
    }
    fprintf(p->out, "</svg>\n");
}

bool
learner_curve_is_due(uint64_t changes, uint64_t drawn)
{
    return changes > drawn + drawn / LEARNER_CURVE_PART;
}

// Points with a number that is not finite are left out; a spread that is not is 0.
oct_err
learner_curve_write(const char *path, const learner_curve_point *points, size_t count,
                    const char *title, const char *counted, double threshold)
{
    learner_curve_point *finite = oct_alloc((count + 1) * sizeof(*finite));
    plot p = {.points = finite, .counted = counted, .threshold = threshold};
    size_t step = count > LEARNER_CURVE_SHOWN ? count / (LEARNER_CURVE_SHOWN / 2) : 1;
    for (size_t i = 0; i < count; i++) {
        bool is_chosen = (count - 1 - i) % step == 0;
        if (is_chosen && isfinite(points[i].wall_s) && isfinite(points[i].env_steps) &&
            isfinite(points[i].mean)) {
            finite[p.count] = points[i];
            finite[p.count++].std = isfinite(points[i].std) ? fabs(points[i].std) : 0;
        }
    }
    char *text = NULL;
    size_t length = 0;
    p.out = open_memstream(&text, &length);
    OCT_ASSERT(p.out != NULL);
    put_all(&p, title);
    OCT_ASSERT(fclose(p.out) == 0);
    oct_err err = oct_file_replace(path, text, length);
    free(text);
    free(finite);
    return err;
}

void
learner_curve_add(learner_curve_point *points, uint32_t *count, uint32_t room,
                  const learner_curve_point *point)
{
    OCT_ASSERT(room >= 2 && *count <= room);
    uint32_t at = *count;
    while (at > 0 && points[at - 1].env_steps > point->env_steps) {
        at--;
    }
    if (at > 0 && points[at - 1].env_steps == point->env_steps) {
        points[at - 1] = *point;
        return;
    }
    if (*count == room) {
        for (uint32_t i = 0; i < room / 2; i++) {
            points[i] = points[2 * i];
        }
        *count = room / 2;
        at = OCT_MIN(at / 2, *count);
        while (at < *count && points[at].env_steps < point->env_steps) {
            at++;
        }
    }
    memmove(points + at + 1, points + at, (*count - at) * sizeof(*points));
    points[at] = *point;
    (*count)++;
}
