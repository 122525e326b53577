// Renders a Control Suite environment to an RGB picture with MuJoCo's own renderer.
#include "envs/dmc/dmc_render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/dmc/dmc_gl.h"
#include "envs/dmc/dmc_guard.h"
#include "envs/dmc/dmc_stage.h"

#define GEOMS_MAX 1000

struct dmc_render {
    mjrContext context;
    mjvScene scene;
    uint32_t width, height; // of the context's buffer; 0: there is no buffer
};

struct call {
    dmc_render *render;
    const dmc_sim *sim;
    uint32_t width, height;
    uint8_t *rgb;
    bool drawn; // false: the line in reason says why
    oct_reason *why;
};

// ---- in OpenGL's thread, under the guard

static void
buffer_free_work(void *arg)
{
    dmc_render *render = ((struct call *)arg)->render;
    if (render->width > 0) {
        mjr_freeContext(&render->context);
        mjv_freeScene(&render->scene);
        render->width = render->height = 0;
    }
}

static void
buffer_make_work(void *arg)
{
    struct call *call = arg;
    dmc_render *render = call->render;
    mjModel staged = dmc_stage_model(call->sim->m, call->width, call->height);
    mjv_defaultScene(&render->scene);
    mjr_defaultContext(&render->context);
    mjv_makeScene(&staged, &render->scene, GEOMS_MAX);
    mjr_makeContext(&staged, &render->context, mjFONTSCALE_100);
    render->width = call->width;
    render->height = call->height;
}

static void
picture_work(void *arg)
{
    struct call *call = arg;
    dmc_render *render = call->render;
    mjvOption option;
    mjvCamera camera;
    mjv_defaultOption(&option);
    mjModel staged = dmc_stage_model(call->sim->m, call->width, call->height);
    dmc_stage_camera(&camera, call->sim->m);
    mjv_updateScene(&staged, call->sim->d, &option, NULL, &camera, mjCAT_ALL, &render->scene);
    dmc_stage_scene(&render->scene, call->sim->m);
    mjrRect all = {0, 0, (int)call->width, (int)call->height};
    mjr_setBuffer(mjFB_OFFSCREEN, &render->context);
    mjr_render(all, &render->scene, &render->context);
    mjr_readPixels(call->rgb, NULL, all, &render->context);
}

// ---- one picture

// Reverses the rows, because OpenGL's begin at the bottom.
static void
rows_turn(uint8_t *rgb, uint32_t width, uint32_t height)
{
    size_t bytes = (size_t)width * 3;
    uint8_t *row = oct_alloc(bytes);
    for (uint32_t y = 0; y < height / 2; y++) {
        uint8_t *above = rgb + y * bytes, *below = rgb + (height - 1 - y) * bytes;
        memcpy(row, above, bytes);
        memcpy(above, below, bytes);
        memcpy(below, row, bytes);
    }
    free(row);
}

static bool
guarded(void (*work)(void *arg), struct call *call)
{
    return dmc_guard_run(work, call, call->why->text, sizeof(call->why->text));
}

static void
picture_draw(void *arg)
{
    struct call *call = arg;
    bool is_of_size = call->render->width == call->width && call->render->height == call->height;
    call->drawn =
        (is_of_size || (guarded(buffer_free_work, call) && guarded(buffer_make_work, call))) &&
        guarded(picture_work, call);
}

static void
buffer_free(void *arg)
{
    (void)guarded(buffer_free_work, arg);
}

bool
dmc_render_draw(dmc_render **render, const dmc_sim *sim, uint32_t width, uint32_t height,
                uint8_t *rgb, oct_reason *why)
{
    if (width == 0 || height == 0 || width > DMC_RENDER_SIDE_MAX || height > DMC_RENDER_SIDE_MAX) {
        oct_reason_set(why, "a picture of %ux%u; each side must be 1 to %u", width, height,
                       DMC_RENDER_SIDE_MAX);
        return false;
    }
    dmc_guard_install();
    if (*render == NULL) {
        *render = oct_alloc(sizeof(**render));
    }
    struct call call = {
        .render = *render, .sim = sim, .width = width, .height = height, .rgb = rgb, .why = why};
    if (!dmc_gl_run(picture_draw, &call, why) || !call.drawn) {
        return false;
    }
    rows_turn(rgb, width, height);
    return true;
}

void
dmc_render_destroy(dmc_render *render)
{
    if (render == NULL) {
        return;
    }
    oct_reason why;
    struct call call = {.render = render, .why = &why};
    if (render->width > 0) {
        (void)dmc_gl_run(buffer_free, &call, &why);
    }
    free(render);
}
