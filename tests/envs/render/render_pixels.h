#ifndef TESTS_ENVS_RENDER_RENDER_PIXELS_H
#define TESTS_ENVS_RENDER_RENDER_PIXELS_H

#include <stdbool.h>
#include <stdlib.h>

#include "common/oct_reason.h"
#include "envs/render/render_canvas.h"
#include "tests/support/oct_test.h"

// Pictures looked at pixel by pixel.
typedef struct pixels {
    uint32_t width, height;
    uint8_t *rgb;
} pixels;

static inline pixels
pixels_of(const render_canvas *canvas, uint32_t width, uint32_t height)
{
    pixels p = {width, height, oct_alloc((size_t)width * height * 3)};
    render_canvas_read(canvas, p.rgb);
    return p;
}

static inline render_canvas *
canvas_of(uint32_t width, uint32_t height)
{
    render_canvas *canvas = NULL;
    oct_reason why = {""};
    oct_err err = render_canvas_create(&canvas, width, height, &why);
    assert_string_equal(why.text, "");
    T_OK(err);
    return canvas;
}

static inline const uint8_t *
pixel_at(const pixels *p, double x, double y)
{
    assert_true(x >= 0 && y >= 0 && x < p->width && y < p->height);
    return p->rgb + ((size_t)y * p->width + (size_t)x) * 3;
}

static inline bool
is_color(const uint8_t *pixel, render_color color)
{
    return abs(pixel[0] - (int)lround(255 * color.r)) <= 2 &&
           abs(pixel[1] - (int)lround(255 * color.g)) <= 2 &&
           abs(pixel[2] - (int)lround(255 * color.b)) <= 2;
}

#define T_COLOR(p, x, y, color)                                                                    \
    do {                                                                                           \
        const uint8_t *seen = pixel_at((p), (x), (y));                                             \
        if (!is_color(seen, (color))) {                                                            \
            fail_msg("(%g, %g) is %d %d %d", (double)(x), (double)(y), seen[0], seen[1], seen[2]); \
        }                                                                                          \
    } while (0)

#endif // TESTS_ENVS_RENDER_RENDER_PIXELS_H
