#ifndef ENVS_RENDER_RENDER_CANVAS_H
#define ENVS_RENDER_RENDER_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// A picture to draw on, in units of the world that is drawn: render_canvas_view sets the part of
// the world that is visible; x grows to the right, y upwards. Uses cairo. In a build without cairo,
// render_canvas_create and render_png_write return OCT_ENOTFOUND and name the missing package.
//
// Threads: a canvas has one user at a time. Owns: its pixels.
typedef struct render_canvas render_canvas;

#define RENDER_SIDE_MAX 8192u // pixels of a picture's side

typedef struct render_color {
    double r, g, b; // 0 to 1
} render_color;

typedef struct render_point {
    double x, y;
} render_point;

// OCT_EINVAL: a side is 0 or above RENDER_SIDE_MAX. OCT_EINTERNAL: cairo has no memory. With one
// line in reason.
OCT_CHECKED oct_err render_canvas_create(render_canvas **out, uint32_t width, uint32_t height,
                                         oct_reason *why);
void render_canvas_destroy(render_canvas *canvas); // NULL is a no-op

// Shows the rectangle of the world with the lower left corner (x, y): it fills the picture as far
// as its shape allows, centred, so that circles stay round.
void render_canvas_view(render_canvas *canvas, double x, double y, double width, double height);
// Returns the position of a point of the world in the picture, in pixels from the top left.
render_point render_canvas_pixel(const render_canvas *canvas, double x, double y);

void render_canvas_clear(render_canvas *canvas, render_color color);
void render_canvas_polygon(render_canvas *canvas, const render_point *corners, uint32_t count,
                           render_color color);
void render_canvas_circle(render_canvas *canvas, double x, double y, double radius,
                          render_color color);
// Draws a line through all points, with round ends; width is in units of the world.
void render_canvas_path(render_canvas *canvas, const render_point *points, uint32_t count,
                        double width, render_color color);
void render_canvas_box(render_canvas *canvas, render_point at, render_point size,
                       render_color color);

// Copies the pixels to rgb[height][width][3], from the top left.
void render_canvas_read(const render_canvas *canvas, uint8_t *rgb);

// Writes rgb[height][width][3] as a PNG file and replaces an existing file. OCT_EINVAL: a side is 0
// or above RENDER_SIDE_MAX; OCT_EIO: it cannot be written; with one line in reason.
OCT_CHECKED oct_err render_png_write(const char *path, const uint8_t *rgb, uint32_t width,
                                     uint32_t height, oct_reason *why);

#endif // ENVS_RENDER_RENDER_CANVAS_H
