#ifndef COMMON_OCT_PLOT_H
#define COMMON_OCT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_err.h"

// Draws curves with bands into an SVG file that needs no other file. It is readable on a light and
// on a dark page: the picture has its own background, and viewers that support style sheets follow
// the reader's preference.
//
// Order of calls: begin, axes, then the parts (later ones cover earlier ones), end. Numbers must be
// finite. Texts may contain anything; control characters are replaced.
//
// Threads: any, one user at a time. Owns: the text, until oct_plot_end.

#define OCT_PLOT_COLOURS 8

typedef enum oct_plot_unit { OCT_PLOT_COUNT, OCT_PLOT_SECONDS } oct_plot_unit; // of the x axis

// An axis: the values low .. high are at the pixels from .. to, and every step has a tick.
typedef struct oct_plot_axis {
    double low, high;
    double from, to;
    double step;
} oct_plot_axis;

typedef struct oct_plot_point {
    double x;
    double mean;
    double low, high; // the ends of the band; low <= mean <= high
} oct_plot_point;

typedef struct oct_plot {
    FILE *out;
    char *text;
    size_t length;
    oct_plot_axis x, y;
} oct_plot;

typedef struct oct_plot_frame {
    const char *title;
    double x_high; // end of the x axis, which begins at 0; 0: there is no data
    // range of the y axis, which begins at 0 at the latest; low > high: no data
    double y_low, y_high;
    const char *const *curve; // names for the legend, in the order of the colours
    uint32_t curves;          // at most OCT_PLOT_COLOURS; 0: no legend
} oct_plot_frame;

// oct_plot_frame_clear makes the ranges empty, and oct_plot_frame_add widens them so that count
// points and their bands fit.
void oct_plot_frame_clear(oct_plot_frame *frame);
void oct_plot_frame_add(oct_plot_frame *frame, const oct_plot_point *points, size_t count);

void oct_plot_begin(oct_plot *plot, const oct_plot_frame *frame);
// What the axes show.
typedef struct oct_plot_labels {
    oct_plot_unit unit; // of x
    const char *x, *y;
} oct_plot_labels;
// below, unless it is NULL, writes a second text under a tick of the x axis, or "".
void oct_plot_axes(oct_plot *plot, const oct_plot_labels *labels,
                   void (*below)(void *arg, double x, char out[32]), void *arg);
// Draws a line across, at the value from which a task counts as solved. NaN: none.
void oct_plot_goal(oct_plot *plot, double value);
// Writes a text in the middle of the picture.
void oct_plot_note(oct_plot *plot, const char *text);
void oct_plot_band(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
void oct_plot_line(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
// Draws points that were measured as dots, unless there are many. A single point gets a vertical
// line, because it has no band.
void oct_plot_dots(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
// Draws a thin dashed line, for values that come from fewer runs than the rest of the curve.
void oct_plot_dashes(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
// Writes the file, which is replaced as a whole, and frees the text. Errors: as oct_file_replace.
OCT_CHECKED oct_err oct_plot_end(oct_plot *plot, const char *path);

#endif // COMMON_OCT_PLOT_H
