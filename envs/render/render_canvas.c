// Draws shapes in world coordinates with cairo, and writes the picture as PNG.
#include "envs/render/render_canvas.h"

#include <cairo/cairo.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

struct render_canvas {
    uint32_t width, height;
    cairo_surface_t *surface;
    cairo_t *pen;
    double scale, left, bottom; // pixel = left + scale * x, bottom - scale * y
};

static oct_err
side_check(uint32_t width, uint32_t height, oct_reason *why)
{
    if (width == 0 || height == 0 || width > RENDER_SIDE_MAX || height > RENDER_SIDE_MAX) {
        return oct_refuse(why, "a picture of %ux%u; each side must be 1 to %u", width, height,
                          RENDER_SIDE_MAX);
    }
    return OCT_OK;
}

oct_err
render_canvas_create(render_canvas **out, uint32_t width, uint32_t height, oct_reason *why)
{
    OCT_TRY(side_check(width, height, why));
    render_canvas *canvas = oct_alloc(sizeof(*canvas));
    canvas->width = width;
    canvas->height = height;
    canvas->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    canvas->pen = cairo_create(canvas->surface);
    if (cairo_status(canvas->pen) != CAIRO_STATUS_SUCCESS) {
        oct_reason_set(why, "no picture of %ux%u: %s", width, height,
                       cairo_status_to_string(cairo_status(canvas->pen)));
        render_canvas_destroy(canvas);
        return OCT_EINTERNAL;
    }
    cairo_set_line_cap(canvas->pen, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(canvas->pen, CAIRO_LINE_JOIN_ROUND);
    render_canvas_view(canvas, 0, 0, width, height);
    *out = canvas;
    return OCT_OK;
}

void
render_canvas_destroy(render_canvas *canvas)
{
    if (canvas != NULL) {
        cairo_destroy(canvas->pen);
        cairo_surface_destroy(canvas->surface);
        free(canvas);
    }
}

void
render_canvas_view(render_canvas *canvas, double x, double y, double width, double height)
{
    double scale = fmin(canvas->width / width, canvas->height / height);
    canvas->scale = scale;
    canvas->left = canvas->width * 0.5 - scale * (x + width * 0.5);
    canvas->bottom = canvas->height * 0.5 + scale * (y + height * 0.5);
}

render_point
render_canvas_pixel(const render_canvas *canvas, double x, double y)
{
    return (render_point){canvas->left + canvas->scale * x, canvas->bottom - canvas->scale * y};
}

// ---- shapes

static void
color_set(render_canvas *canvas, render_color color)
{
    cairo_set_source_rgb(canvas->pen, color.r, color.g, color.b);
}

static void
points_follow(render_canvas *canvas, const render_point *points, uint32_t count)
{
    cairo_new_path(canvas->pen);
    for (uint32_t k = 0; k < count; k++) {
        render_point at = render_canvas_pixel(canvas, points[k].x, points[k].y);
        cairo_line_to(canvas->pen, at.x, at.y);
    }
}

void
render_canvas_clear(render_canvas *canvas, render_color color)
{
    color_set(canvas, color);
    cairo_paint(canvas->pen);
}

void
render_canvas_polygon(render_canvas *canvas, const render_point *corners, uint32_t count,
                      render_color color)
{
    color_set(canvas, color);
    points_follow(canvas, corners, count);
    cairo_close_path(canvas->pen);
    cairo_fill(canvas->pen);
}

void
render_canvas_circle(render_canvas *canvas, double x, double y, double radius, render_color color)
{
    render_point at = render_canvas_pixel(canvas, x, y);
    color_set(canvas, color);
    cairo_new_path(canvas->pen);
    cairo_arc(canvas->pen, at.x, at.y, radius * canvas->scale, 0, 2 * M_PI);
    cairo_fill(canvas->pen);
}

void
render_canvas_path(render_canvas *canvas, const render_point *points, uint32_t count, double width,
                   render_color color)
{
    color_set(canvas, color);
    points_follow(canvas, points, count);
    cairo_set_line_width(canvas->pen, width * canvas->scale);
    cairo_stroke(canvas->pen);
}

void
render_canvas_box(render_canvas *canvas, render_point at, render_point size, render_color color)
{
    render_point corners[4] = {
        {at.x, at.y}, {at.x + size.x, at.y}, {at.x + size.x, at.y + size.y}, {at.x, at.y + size.y}};
    render_canvas_polygon(canvas, corners, 4, color);
}

// ---- pixels

void
render_canvas_read(const render_canvas *canvas, uint8_t *rgb)
{
    cairo_surface_flush(canvas->surface);
    const unsigned char *rows = cairo_image_surface_get_data(canvas->surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(canvas->surface);
    for (uint32_t y = 0; y < canvas->height; y++) {
        for (uint32_t x = 0; x < canvas->width; x++, rgb += 3) {
            uint32_t pixel;
            memcpy(&pixel, rows + y * stride + 4 * (size_t)x, sizeof(pixel));
            rgb[0] = (uint8_t)(pixel >> 16);
            rgb[1] = (uint8_t)(pixel >> 8);
            rgb[2] = (uint8_t)pixel;
        }
    }
}

// Collects what cairo writes, so that the file appears whole or not at all.
struct png {
    uint8_t *bytes;
    size_t length, room; // bytes used and allocated
};

static cairo_status_t
png_take(void *arg, const unsigned char *bytes, unsigned int length)
{
    struct png *png = arg;
    if (png->length + length > png->room) {
        png->room = 2 * (png->length + length);
        uint8_t *more = realloc(png->bytes, png->room);
        if (more == NULL) {
            return CAIRO_STATUS_NO_MEMORY;
        }
        png->bytes = more;
    }
    memcpy(png->bytes + png->length, bytes, length);
    png->length += length;
    return CAIRO_STATUS_SUCCESS;
}

static cairo_status_t
png_encode(struct png *png, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    cairo_status_t status = cairo_surface_status(surface);
    if (status == CAIRO_STATUS_SUCCESS) {
        unsigned char *rows = cairo_image_surface_get_data(surface);
        size_t stride = (size_t)cairo_image_surface_get_stride(surface);
        for (uint32_t y = 0; y < height; y++) {
            for (uint32_t x = 0; x < width; x++, rgb += 3) {
                uint32_t pixel = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
                memcpy(rows + y * stride + 4 * (size_t)x, &pixel, sizeof(pixel));
            }
        }
        cairo_surface_mark_dirty(surface);
        status = cairo_surface_write_to_png_stream(surface, png_take, png);
    }
    cairo_surface_destroy(surface);
    return status;
}

oct_err
render_png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height,
                 oct_reason *why)
{
    OCT_TRY(side_check(width, height, why));
    struct png png = {0};
    cairo_status_t status = png_encode(&png, rgb, width, height);
    oct_err err = OCT_EIO;
    if (status != CAIRO_STATUS_SUCCESS) {
        oct_reason_set(why, "'%s': %s", path, cairo_status_to_string(status));
    } else {
        err = OCT_OK;
        if (oct_file_replace(path, png.bytes, png.length) != OCT_OK) {
            err = OCT_EIO;
            oct_reason_set(why, "cannot write '%s': %s", path, oct_file_strerror(errno));
        }
    }
    free(png.bytes);
    return err;
}
