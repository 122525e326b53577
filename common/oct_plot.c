// Draws curves with bands as an SVG picture. Lengths are in pixels.
#include "common/oct_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define WIDTH          760
#define HEIGHT         430  // without the legend, which is below
#define LEFT           72.0 // edges of the plot area
#define RIGHT          736.0
#define TOP            52.0
#define BOTTOM         346.0
#define TEXT_BYTES     160  // of the title
#define TICKS_MAX      12   // of an axis
#define DOTS_MAX       80   // a curve of more points has no dots
#define LEGEND_PIXELS  18   // height of a line of the legend
#define LEGEND_TEXT    24   // from the beginning of a column of the legend to its text
#define LETTER_PIXELS  7.5  // average width of a letter in the widest of the fonts
#define NAME_BYTES     2048 // of a curve's name
#define NAME_LINES_MAX 8    // of the legend for one name; the rest is cut

// Colours of the curves on a light and on a dark page. A single curve has the first.
static const char *const light[OCT_PLOT_COLOURS] = {"#0b6bcb", "#c2410c", "#7c3aed", "#0f766e",
                                                    "#b91c5c", "#a16207", "#475569", "#4d7c0f"};
static const char *const dark[OCT_PLOT_COLOURS] = {"#6cb2ff", "#ff9a5c", "#b794ff", "#4fd1c5",
                                                   "#ff8ab8", "#e6c34a", "#a8b3c4", "#a3e635"};

// ---- axes

// Returns the smallest 1, 2 or 5 times a power of ten that divides range into at most `parts`
// parts.
static double
nice_step(double range, double parts)
{
    double rough = range / parts;
    double power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

// Widens low .. high to whole ticks. A range of (nearly) nothing is first widened by 5 %.
static oct_plot_axis
axis_make(double low, double high, double from, double to, double parts)
{
    double spread = fmax(fabs(low), fabs(high));
    if (!(high - low > 1e-9 * spread)) {
        double pad = fmax(0.05 * spread, 0.5);
        low -= pad;
        high += pad;
    }
    double step = nice_step(high - low, parts);
    return (oct_plot_axis){.low = step * floor(low / step + 1e-9),
                           .high = step * ceil(high / step - 1e-9),
                           .from = from,
                           .to = to,
                           .step = step};
}

// The pixel of a value.
static double
place(const oct_plot_axis *a, double value)
{
    return a->from + (value - a->low) / (a->high - a->low) * (a->to - a->from);
}

static size_t
tick_count(const oct_plot_axis *a)
{
    return (size_t)OCT_MIN((a->high - a->low) / a->step + 1 + 1e-9, (double)TICKS_MAX);
}

// The value of tick i. low is a whole number of steps. A step below 1 is the inverse of a whole
// number, and the tick is divided by this number: so 0.6 becomes the double nearest to 0.6 and is
// printed as such.
static double
tick_value(const oct_plot_axis *a, size_t i)
{
    double ticks = round(a->low / a->step) + (double)i;
    return a->step < 1 ? ticks / round(1 / a->step) : ticks * a->step;
}

// ---- the legend

// How names are set: in two columns if every name fits into one line of its column, else in one
// column, long names on several lines.
typedef struct legend {
    uint32_t columns;
    size_t letters; // most letters of a line
} legend;

// Returns the bytes of the first count characters of a UTF-8 text.
static size_t
bytes_of(const char *text, size_t count)
{
    size_t at = 0;
    while (text[at] != '\0' && count > 0) {
        do {
            at++;
        } while (((unsigned char)text[at] & 0xC0) == 0x80);
        count--;
    }
    return at;
}

// Returns the bytes of a name that fit into its next line: up to the last space in the line, or
// else the full line.
static size_t
line_bytes(const char *name, size_t letters)
{
    size_t most = bytes_of(name, letters), end = most;
    while (name[most] != '\0' && end > 0 && name[end] != ' ') {
        end--;
    }
    return end > 0 ? end : most;
}

static const char *
next_line(const char *name, size_t letters)
{
    name += line_bytes(name, letters);
    return name + strspn(name, " ");
}

// Replaces control characters, which SVG does not allow.
static const char *
clean_name(const char *name, char out[NAME_BYTES])
{
    return oct_text_quote(out, NAME_BYTES, name, strlen(name));
}

static legend
legend_of(const oct_plot_frame *frame)
{
    legend two = {.columns = 2}, one = {.columns = 1};
    two.letters = (size_t)(((RIGHT - LEFT) / 2 - LEGEND_TEXT) / LETTER_PIXELS);
    one.letters = (size_t)((RIGHT - LEFT - LEGEND_TEXT) / LETTER_PIXELS);
    for (uint32_t i = 0; i < frame->curves; i++) {
        char clean[NAME_BYTES];
        const char *name = clean_name(frame->curve[i], clean);
        if (name[bytes_of(name, two.letters)] != '\0') {
            return one;
        }
    }
    return two;
}

static uint32_t
lines_of(const legend *l, const char *name)
{
    uint32_t lines = 0;
    char clean[NAME_BYTES];
    for (name = clean_name(name, clean); *name != '\0' && lines < NAME_LINES_MAX; lines++) {
        name = next_line(name, l->letters);
    }
    return OCT_MAX(lines, 1u);
}

static uint32_t
legend_lines(const oct_plot_frame *frame)
{
    legend l = legend_of(frame);
    uint32_t lines = 0;
    for (uint32_t i = 0; i < frame->curves; i += l.columns) {
        lines += lines_of(&l, frame->curve[i]);
    }
    return lines;
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
put_style(const oct_plot *p, uint32_t curves)
{
    fprintf(p->out, "<style>\n@media (prefers-color-scheme: dark) {\n"
                    "  .ground { fill: #15181d } .ink { fill: #e8eaed } .soft { fill: #a3abb5 }\n"
                    "  .grid { stroke: #2b3139 } .goal { stroke: #5fcf8a } .goalink { fill: "
                    "#5fcf8a }\n");
    for (uint32_t i = 0; i < OCT_MAX(curves, 1u); i++) {
        fprintf(p->out, "  .mean%u { stroke: %s } .dot%u, .band%u { fill: %s }\n", i, dark[i], i, i,
                dark[i]);
    }
    fprintf(p->out, "}\n</style>\n");
}

// The light colours are attributes, because some viewers ignore style sheets. The style replaces
// them on a dark page.
static void
put_head(const oct_plot *p, const oct_plot_frame *frame)
{
    char clean[TEXT_BYTES];
    unsigned height = HEIGHT + legend_lines(frame) * LEGEND_PIXELS;
    (void)oct_text_quote(clean, sizeof(clean), frame->title, strlen(frame->title));
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
            "viewBox=\"0 0 %d %u\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe "
            "UI', 'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"12\">\n<title>",
            WIDTH, height, WIDTH, height);
    put_text(p->out, clean);
    fprintf(p->out, "</title>\n");
    put_style(p, frame->curves);
    fprintf(p->out,
            "<rect class=\"ground\" width=\"%d\" height=\"%u\" rx=\"6\" fill=\"#ffffff\"/>\n",
            WIDTH, height);
    fprintf(p->out,
            "<text class=\"ink\" x=\"%.0f\" y=\"28\" font-size=\"16\" font-weight=\"600\" "
            "fill=\"#1c2128\">",
            LEFT);
    put_text(p->out, clean);
    fprintf(p->out, "</text>\n");
}

static void
put_label(const oct_plot *p, const char *kind, const char *anchor, double x, double y,
          const char *text)
{
    bool is_ink = strcmp(kind, "ink") == 0;
    fprintf(p->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">",
            kind, x, y, anchor, is_ink ? "#1c2128" : "#5b6470");
    put_text(p->out, text);
    fprintf(p->out, "</text>\n");
}

static void
put_line(const oct_plot *p, double x1, double y1, double x2, double y2)
{
    fprintf(p->out,
            "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"#e1e5ea\"/>\n",
            x1, y1, x2, y2);
}

static void
put_legend(const oct_plot *p, const oct_plot_frame *frame)
{
    legend l = legend_of(frame);
    double y = HEIGHT;
    for (uint32_t i = 0; i < frame->curves; i++) {
        char clean[NAME_BYTES], line[NAME_BYTES];
        const char *name = clean_name(frame->curve[i], clean);
        double x = LEFT + (i % l.columns) * (RIGHT - LEFT) / l.columns;
        uint32_t lines = lines_of(&l, frame->curve[i]);
        fprintf(p->out,
                "<line class=\"mean%u\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                "stroke=\"%s\" stroke-width=\"3\"/>\n",
                i, x, y - 4, x + 18, y - 4, light[i]);
        for (uint32_t k = 0; k < lines; k++) {
            (void)snprintf(line, sizeof(line), "%.*s", (int)line_bytes(name, l.letters), name);
            put_label(p, "ink", "start", x + LEGEND_TEXT, y + (double)k * LEGEND_PIXELS, line);
            name = next_line(name, l.letters);
        }
        bool is_last = i % l.columns + 1 == l.columns;
        y += is_last ? (double)lines * LEGEND_PIXELS : 0;
    }
}

void
oct_plot_frame_clear(oct_plot_frame *frame)
{
    frame->x_high = 0;
    frame->y_low = INFINITY;
    frame->y_high = -INFINITY;
}

void
oct_plot_frame_add(oct_plot_frame *frame, const oct_plot_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        frame->x_high = fmax(frame->x_high, points[i].x);
        frame->y_low = fmin(frame->y_low, points[i].low);
        frame->y_high = fmax(frame->y_high, points[i].high);
    }
}

void
oct_plot_begin(oct_plot *plot, const oct_plot_frame *frame)
{
    OCT_ASSERT(frame->curves <= OCT_PLOT_COLOURS);
    bool has_y = frame->y_low <= frame->y_high;
    double x_high = frame->x_high > 0 ? frame->x_high : 1;
    plot->out = open_memstream(&plot->text, &plot->length);
    OCT_ASSERT(plot->out != NULL);
    plot->x = axis_make(0, x_high, LEFT, RIGHT, 8);
    plot->x.high = x_high; // the curve ends at the frame; ticks stay round
    plot->y =
        axis_make(has_y ? fmin(frame->y_low, 0) : 0, has_y ? frame->y_high : 1, BOTTOM, TOP, 7);
    put_head(plot, frame);
    put_legend(plot, frame);
}

// Prints a tick: 250 k, 1.5 M; 1:30.
static const char *
x_text(char out[32], oct_plot_unit unit, double value)
{
    return unit == OCT_PLOT_SECONDS ? oct_text_duration(out, 32, value)
                                    : oct_text_count(out, 32, value, "");
}

void
oct_plot_axes(oct_plot *plot, const oct_plot_labels *labels,
              void (*below)(void *arg, double x, char out[32]), void *arg)
{
    char text[32];
    for (size_t i = 0; i < tick_count(&plot->y); i++) {
        double value = tick_value(&plot->y, i), y = place(&plot->y, value);
        put_line(plot, LEFT, y, RIGHT, y);
        put_label(plot, "soft", "end", LEFT - 8, y + 4, oct_text_double(text, sizeof(text), value));
    }
    for (size_t i = 0; i < tick_count(&plot->x); i++) {
        double value = tick_value(&plot->x, i), x = place(&plot->x, value);
        put_line(plot, x, TOP, x, BOTTOM + 5);
        put_label(plot, "soft", "middle", x, BOTTOM + 20, x_text(text, labels->unit, value));
        text[0] = '\0';
        if (below != NULL) {
            below(arg, value, text);
        }
        if (text[0] != '\0') {
            put_label(plot, "soft", "middle", x, BOTTOM + 38, text);
        }
    }
    put_label(plot, "ink", "middle", (LEFT + RIGHT) / 2, BOTTOM + (below != NULL ? 64 : 44),
              labels->x);
    fprintf(plot->out,
            "<text class=\"ink\" transform=\"translate(20 %.1f) rotate(-90)\" "
            "text-anchor=\"middle\" fill=\"#1c2128\">",
            (TOP + BOTTOM) / 2);
    put_text(plot->out, labels->y);
    fprintf(plot->out, "</text>\n");
}

void
oct_plot_goal(oct_plot *plot, double goal)
{
    if (!isfinite(goal)) {
        return;
    }
    char value[32];
    double y = place(&plot->y, goal);
    fprintf(plot->out,
            "<line class=\"goal\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"#1a7f37\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"/>\n",
            LEFT, y, RIGHT, y);
    fprintf(plot->out,
            "<text class=\"goalink\" x=\"%.1f\" y=\"%.1f\" fill=\"#1a7f37\">goal %s</text>\n",
            LEFT + 6, y - 5, oct_text_double(value, sizeof(value), goal));
}

void
oct_plot_note(oct_plot *plot, const char *text)
{
    put_label(plot, "soft", "middle", (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, text);
}

void
oct_plot_band(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count)
{
    fprintf(plot->out, "<polygon class=\"band%u\" fill=\"%s\" fill-opacity=\"0.18\" points=\"",
            colour, light[colour]);
    for (size_t i = 0; i < count; i++) {
        fprintf(plot->out, "%.1f,%.1f ", place(&plot->x, points[i].x),
                place(&plot->y, points[i].high));
    }
    for (size_t i = count; i > 0; i--) { // back along the lower edge
        const oct_plot_point *at = &points[i - 1];
        fprintf(plot->out, "%.1f,%.1f ", place(&plot->x, at->x), place(&plot->y, at->low));
    }
    fprintf(plot->out, "\"/>\n");
}

static void
put_polyline(const oct_plot *plot, uint32_t colour, const char *style, const oct_plot_point *points,
             size_t count)
{
    fprintf(plot->out,
            "<polyline class=\"mean%u\" fill=\"none\" stroke=\"%s\" %s stroke-linejoin=\"round\" "
            "points=\"",
            colour, light[colour], style);
    for (size_t i = 0; i < count; i++) {
        fprintf(plot->out, "%.1f,%.1f ", place(&plot->x, points[i].x),
                place(&plot->y, points[i].mean));
    }
    fprintf(plot->out, "\"/>\n");
}

void
oct_plot_dashes(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count)
{
    put_polyline(plot, colour, "stroke-width=\"1\" stroke-dasharray=\"3 3\"", points, count);
}

void
oct_plot_line(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count)
{
    put_polyline(plot, colour, "stroke-width=\"2\"", points, count);
}

void
oct_plot_dots(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count)
{
    for (size_t i = 0; i < count && count <= DOTS_MAX; i++) {
        fprintf(plot->out,
                "<circle class=\"dot%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", colour,
                place(&plot->x, points[i].x), place(&plot->y, points[i].mean), light[colour]);
    }
    // A single point has no band to draw: a vertical line shows it.
    if (count == 1) {
        double x = place(&plot->x, points[0].x);
        fprintf(plot->out,
                "<line class=\"mean%u\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                "stroke=\"%s\" stroke-width=\"1.5\"/>\n",
                colour, x, place(&plot->y, points[0].low), x, place(&plot->y, points[0].high),
                light[colour]);
    }
}

oct_err
oct_plot_end(oct_plot *plot, const char *path)
{
    fprintf(plot->out, "</svg>\n");
    OCT_ASSERT(fclose(plot->out) == 0);
    oct_err err = oct_file_replace(path, plot->text, plot->length);
    free(plot->text);
    plot->text = NULL;
    return err;
}
