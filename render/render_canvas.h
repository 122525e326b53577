#ifndef RENDER_RENDER_CANVAS_H
#define RENDER_RENDER_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A picture to draw on, in the units of the world that is drawn: render_canvas_view says which part
// of it is seen; x grows to the right, y grows upwards. Over cairo; built without it, create and
// render_png_write answer OCT_ENOTFOUND and say which package is missing.
//
// Threads: a canvas is used by one thread at a time. Owns: its pixels.
typedef struct render_canvas render_canvas;

#define RENDER_SIDE_MAX 8192u // of a picture, in pixels

typedef struct render_color {
    double r, g, b; // 0 to 1
} render_color;

typedef struct render_point {
    double x, y;
} render_point;

// OCT_EINVAL: a side that is 0 or above RENDER_SIDE_MAX.
OCT_CHECKED oct_err render_canvas_create(render_canvas **out, uint32_t width, uint32_t height,
                                         char *reason, size_t reason_size);
void render_canvas_destroy(render_canvas *canvas); // NULL is a no-op

// The rectangle of the world from (x, y), its lower left corner, fills the picture as far as its
// shape allows, centred: circles stay round.
void render_canvas_view(render_canvas *canvas, double x, double y, double width, double height);
// Where a point of the world lies in the picture, in pixels from its top left.
render_point render_canvas_pixel(const render_canvas *canvas, double x, double y);

void render_canvas_clear(render_canvas *canvas, render_color color);
void render_canvas_polygon(render_canvas *canvas, const render_point *corners, uint32_t count,
                           render_color color);
void render_canvas_circle(render_canvas *canvas, double x, double y, double radius,
                          render_color color);
// Through all points, with round ends; width in units of the world.
void render_canvas_path(render_canvas *canvas, const render_point *points, uint32_t count,
                        double width, render_color color);
void render_canvas_box(render_canvas *canvas, double x, double y, double width, double height,
                       render_color color);

// The pixels, rgb[height][width][3] from the top left.
void render_canvas_read(const render_canvas *canvas, uint8_t *rgb);

// Writes rgb[height][width][3] as a PNG file; an existing one is replaced. OCT_EIO with a line in
// reason.
OCT_CHECKED oct_err render_png_write(const char *path, const uint8_t *rgb, uint32_t width,
                                     uint32_t height, char *reason, size_t reason_size);

#endif // RENDER_RENDER_CANVAS_H
