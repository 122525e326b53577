// render_canvas.h in a build without cairo: creating a canvas fails and says why.
#include <stdio.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/render/render_canvas.h"

static oct_err
absent(oct_reason *why)
{
    return oct_fail(
        why, OCT_ENOTFOUND,
        "this octet was built without cairo and cannot draw; apt-get install libcairo2-dev, "
        "then configure the build again with -Drender=enabled");
}

oct_err
render_canvas_create(render_canvas **out, uint32_t width, uint32_t height, oct_reason *why)
{
    (void)out, (void)width, (void)height;
    return absent(why);
}

oct_err
render_png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height,
                 oct_reason *why)
{
    (void)path, (void)rgb, (void)width, (void)height;
    return absent(why);
}

void
render_canvas_destroy(render_canvas *canvas)
{
    OCT_ASSERT(canvas == NULL);
}

// The others are never called, because no canvas exists.

void
render_canvas_view(render_canvas *canvas, double x, double y, double width, double height)
{
    (void)x, (void)y, (void)width, (void)height;
    OCT_ASSERT(canvas == NULL);
}

render_point
render_canvas_pixel(const render_canvas *canvas, double x, double y)
{
    OCT_ASSERT(canvas == NULL);
    return (render_point){x, y};
}

void
render_canvas_clear(render_canvas *canvas, render_color color)
{
    (void)color;
    OCT_ASSERT(canvas == NULL);
}

void
render_canvas_polygon(render_canvas *canvas, const render_point *corners, uint32_t count,
                      render_color color)
{
    (void)corners, (void)count, (void)color;
    OCT_ASSERT(canvas == NULL);
}

void
render_canvas_circle(render_canvas *canvas, double x, double y, double radius, render_color color)
{
    (void)x, (void)y, (void)radius, (void)color;
    OCT_ASSERT(canvas == NULL);
}

void
render_canvas_path(render_canvas *canvas, const render_point *points, uint32_t count, double width,
                   render_color color)
{
    (void)points, (void)count, (void)width, (void)color;
    OCT_ASSERT(canvas == NULL);
}

void
render_canvas_box(render_canvas *canvas, render_point at, render_point size, render_color color)
{
    (void)at, (void)size, (void)color;
    OCT_ASSERT(canvas == NULL);
}

void
render_canvas_read(const render_canvas *canvas, uint8_t *rgb)
{
    (void)rgb;
    OCT_ASSERT(canvas == NULL);
}
