// Renders a Control Suite environment to an RGB picture with MuJoCo's own renderer.
#include "envs/dmc/dmc_render.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_gl.h"
#include "envs/dmc/dmc_guard.h"
#include "envs/dmc/dmc_stage.h"

#define GEOMS_MAX 1000

struct dmc_render {
    mjrContext context;
    mjvScene scene;
    uint32_t width, height; // of the context's buffer; 0: there is none
};

// OpenGL and MuJoCo's table of its functions are the process's.
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

struct call {
    dmc_render *render;
    const dmc_sim *sim;
    uint32_t width, height;
    uint8_t *rgb;
};

// ---- under the guard, with the context current

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

// OpenGL's rows begin at the bottom.
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
picture_draw(struct call *call, char *reason, size_t reason_size)
{
    dmc_render *render = call->render;
    bool drawn = true;
    if (render->width != call->width || render->height != call->height) {
        drawn = dmc_guard_run(buffer_free_work, call, reason, reason_size) &&
                dmc_guard_run(buffer_make_work, call, reason, reason_size);
    }
    drawn = drawn && dmc_guard_run(picture_work, call, reason, reason_size);
    if (drawn) {
        rows_turn(call->rgb, call->width, call->height);
    }
    return drawn;
}

static bool
draw_locked(dmc_render **render, struct call *call, char *reason, size_t reason_size)
{
    if (!dmc_gl_enter(reason, reason_size)) {
        return false;
    }
    if (*render == NULL) {
        *render = oct_alloc(sizeof(**render));
    }
    call->render = *render;
    bool drawn = picture_draw(call, reason, reason_size);
    dmc_gl_leave();
    return drawn;
}

bool
dmc_render_draw(dmc_render **render, const dmc_sim *sim, uint32_t width, uint32_t height,
                uint8_t *rgb, char *reason, size_t reason_size)
{
    if (width == 0 || height == 0 || width > DMC_RENDER_SIDE_MAX || height > DMC_RENDER_SIDE_MAX) {
        snprintf(reason, reason_size, "a picture of %ux%u; each side must be 1 to %u", width,
                 height, DMC_RENDER_SIDE_MAX);
        return false;
    }
    dmc_guard_install();
    struct call call = {.sim = sim, .width = width, .height = height, .rgb = rgb};
    OCT_ASSERT(pthread_mutex_lock(&one_at_a_time) == 0);
    bool drawn = draw_locked(render, &call, reason, reason_size);
    OCT_ASSERT(pthread_mutex_unlock(&one_at_a_time) == 0);
    return drawn;
}

void
dmc_render_destroy(dmc_render *render)
{
    if (render == NULL) {
        return;
    }
    OCT_ASSERT(pthread_mutex_lock(&one_at_a_time) == 0);
    struct call call = {.render = render};
    char reason[200];
    if (dmc_gl_enter(reason, sizeof(reason))) {
        (void)dmc_guard_run(buffer_free_work, &call, reason, sizeof(reason));
        dmc_gl_leave();
    }
    OCT_ASSERT(pthread_mutex_unlock(&one_at_a_time) == 0);
    free(render);
}
