// octet env render: draws an environment to a PNG file.

#include "cli/cli_env_render.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_env_actions.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_space.h"
#include "envs/render/render_scene.h"

// Allocates the buffers of one environment, which the caller frees: the actions of all steps, and
// an observation.
static void
rig_reserve(octet_env_io *io, const octet_env_spec *spec, uint32_t steps)
{
    *io = (octet_env_io){
        .size = sizeof(*io),
        .action = oct_alloc((size_t)OCT_MAX(1u, steps) * env_space_bytes(&spec->action)),
        .action_stride = env_space_bytes(&spec->action),
        .obs = oct_alloc(env_space_bytes(&spec->obs)),
        .obs_stride = env_space_bytes(&spec->obs),
    };
}

// Steps the environment to where it is drawn; its observation is then in io->obs.
static oct_err
rig_play(env *e, octet_env_io *io, const cli_env_picture *picture, oct_reason *why)
{
    uint8_t *actions = (uint8_t *)(uintptr_t)io->action;
    cli_env_actions(&env_spec(e)->action, picture->seed, picture->steps, actions);
    oct_err err = env_reset(e, NULL, NULL, io);
    for (uint32_t k = 0; k < picture->steps && err == OCT_OK; k++) {
        io->action = actions + (size_t)k * io->action_stride;
        err = env_step(e, io);
    }
    io->action = actions;
    if (err != OCT_OK) {
        oct_reason_set(why, "%s", env_error(e));
    }
    return err;
}

static oct_err
picture_write(env *e, render_scene *scene, const octet_env_io *io, const cli_env_picture *picture,
              oct_reason *why)
{
    uint32_t width = render_scene_width(scene), height = render_scene_height(scene);
    uint8_t *rgb = oct_alloc((size_t)width * height * 3);
    oct_err err = render_scene_draw(scene, e, 0, io->obs, rgb, why);
    if (err == OCT_OK) {
        err = render_png_write(picture->path, rgb, width, height, why);
    }
    free(rgb);
    return err;
}

oct_err
cli_env_render(const cli_env_picture *picture, oct_reason *why)
{
    env *e;
    env_request request = {.id = picture->id,
                           .options = picture->options,
                           .count = 1,
                           .seed = picture->seed,
                           .autoreset = true};
    OCT_TRY(env_open(&e, &request, why));
    render_scene *scene = NULL;
    oct_err err = render_scene_open(&scene, e, picture->width, picture->height, why);
    if (err == OCT_OK) {
        octet_env_io io;
        rig_reserve(&io, env_spec(e), picture->steps);
        err = rig_play(e, &io, picture, why);
        if (err == OCT_OK) {
            err = picture_write(e, scene, &io, picture, why);
        }
        free((void *)(uintptr_t)io.action);
        free(io.obs);
    }
    render_scene_close(scene);
    env_close(e);
    return err;
}
