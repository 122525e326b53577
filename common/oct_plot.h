#ifndef COMMON_OCT_PLOT_H
#define COMMON_OCT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_err.h"

// Curves with bands as an SVG file that needs nothing else. It is readable on a light and on a dark
// page: the picture has its own ground, and viewers that know style sheets follow the reader's
// preference.
//
// Order: begin, axes, then the parts in the order in which they cover each other, end. Numbers must
// be finite; texts may be anything, control characters are replaced.
//
// Threads: any, one user at a time. Owns: the text until oct_plot_end.

#define OCT_PLOT_COLOURS 8

typedef enum oct_plot_unit { OCT_PLOT_COUNT, OCT_PLOT_SECONDS } oct_plot_unit; // of the x axis

// One axis: values low .. high on pixels from .. to, a tick every step.
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
    double x_high;        // the x axis begins at 0 and ends here; 0: no data
    double y_low, y_high; // the y axis has these, and 0 if no value is below; low > high: no data
    const char *const *curve; // names for the legend, by colour
    uint32_t curves;          // at most OCT_PLOT_COLOURS; 0: no legend
} oct_plot_frame;

// Widens the ranges of frame to count points and their bands. Ranges begin with
// oct_plot_frame_clear.
void oct_plot_frame_clear(oct_plot_frame *frame);
void oct_plot_frame_add(oct_plot_frame *frame, const oct_plot_point *points, size_t count);

void oct_plot_begin(oct_plot *plot, const oct_plot_frame *frame);
// below, unless NULL, writes a second text for a tick of x, or "".
void oct_plot_axes(oct_plot *plot, oct_plot_unit unit, const char *x_label, const char *y_label,
                   void (*below)(void *arg, double x, char out[32]), void *arg);
// A line across that means solved; NaN: none.
void oct_plot_goal(oct_plot *plot, double value);
// Words in the middle.
void oct_plot_note(oct_plot *plot, const char *text);
void oct_plot_band(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
void oct_plot_line(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
// Points that were measured, as dots where there are few; a single point has a line for its band.
void oct_plot_dots(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
// A thin dashed line, for values of less than all that a curve is of.
void oct_plot_dashes(oct_plot *plot, uint32_t colour, const oct_plot_point *points, size_t count);
// Writes the file, replaced whole, and frees the text. Errors: as oct_file_replace.
OCT_CHECKED oct_err oct_plot_end(oct_plot *plot, const char *path);

#endif // COMMON_OCT_PLOT_H
