// Draws an environment in the first of these ways that it allows: its own render function, its
// state, its observation.
#include "envs/render/render_scene.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/gym/env_gym.h"
#include "envs/render/render_board.h"
#include "envs/render/render_classic.h"

// Steps per second of an environment that does not give step_seconds.
#define BOARD_STEPS 10.0
#define OTHER_STEPS 30.0

enum painter { PAINTER_ITSELF, PAINTER_CLASSIC, PAINTER_BOARD };

struct render_scene {
    enum painter painter;
    const render_classic *classic;
    uint32_t width, height;
    double steps_per_second;
    render_canvas *canvas; // NULL where the environment draws itself
    double *state;         // [state_count]
};

static oct_err
painter_choose(render_scene *scene, const octet_env_spec *spec, oct_reason *why)
{
    const render_classic *classic = render_classic_find(spec->id);
    scene->width = scene->height = 480;
    scene->steps_per_second = OTHER_STEPS;
    if ((spec->capabilities & OCTET_ENV_CAN_RENDER) != 0) {
        scene->painter = PAINTER_ITSELF;
        scene->width = 640;
    } else if (classic != NULL && (spec->capabilities & OCTET_ENV_CAN_STATE) != 0 &&
               spec->state_count == classic->state_count) {
        scene->painter = PAINTER_CLASSIC;
        scene->classic = classic;
        scene->width = classic->width;
        scene->height = classic->height;
        scene->steps_per_second = classic->frames_per_second;
    } else if (render_board_fits(&spec->obs)) {
        scene->painter = PAINTER_BOARD;
        scene->steps_per_second = BOARD_STEPS;
    } else if (env_gym_has(spec->id)) {
        return oct_fail(
            why, OCT_ENOTFOUND,
            "%s cannot be drawn here: gymnasium.wrappers.RecordVideo does it in Python, with "
            "the actions of octet.Policy(FILE).act (docs/gymnasium.md)",
            spec->id);
    } else {
        return oct_fail(
            why, OCT_ENOTFOUND,
            "%s cannot be drawn: it does not claim OCTET_ENV_CAN_RENDER (include/octet/env.h), is "
            "not classic control and observes no board of cells",
            spec->id);
    }
    if (spec->step_seconds > 0) {
        scene->steps_per_second = 1 / spec->step_seconds;
    }
    return OCT_OK;
}

oct_err
render_scene_open(render_scene **out, const env *e, uint32_t width, uint32_t height,
                  oct_reason *why)
{
    const octet_env_spec *spec = env_spec(e);
    render_scene scene = {0};
    OCT_TRY(painter_choose(&scene, spec, why));
    scene.width = width > 0 ? width : scene.width;
    scene.height = height > 0 ? height : scene.height;
    if (scene.painter != PAINTER_ITSELF) {
        OCT_TRY(render_canvas_create(&scene.canvas, scene.width, scene.height, why));
    }
    scene.state = oct_alloc((spec->state_count + 1u) * sizeof(double));
    *out = oct_alloc(sizeof(scene));
    **out = scene;
    return OCT_OK;
}

void
render_scene_close(render_scene *scene)
{
    if (scene != NULL) {
        render_canvas_destroy(scene->canvas);
        free(scene->state);
        free(scene);
    }
}

uint32_t
render_scene_width(const render_scene *scene)
{
    return scene->width;
}

uint32_t
render_scene_height(const render_scene *scene)
{
    return scene->height;
}

double
render_scene_steps_per_second(const render_scene *scene)
{
    return scene->steps_per_second;
}

oct_err
render_scene_draw(render_scene *scene, env *e, uint32_t i, const void *obs, uint8_t *rgb,
                  oct_reason *why)
{
    oct_err err = OCT_OK;
    uint32_t step;
    switch (scene->painter) {
    case PAINTER_ITSELF:
        err = env_render(e, i, scene->width, scene->height, rgb);
        break;
    case PAINTER_CLASSIC:
        err = env_state_get(e, i, scene->state, &step);
        if (err == OCT_OK) {
            scene->classic->draw(scene->canvas, scene->state);
        }
        break;
    case PAINTER_BOARD:
        render_board_draw(scene->canvas, &env_spec(e)->obs, obs);
        break;
    }
    if (err != OCT_OK) {
        oct_reason_set(why, "%s", env_error(e));
    } else if (scene->canvas != NULL) {
        render_canvas_read(scene->canvas, rgb);
    }
    return err;
}

static bool
side_parse(const char *text, char **end, uint32_t *out)
{
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    unsigned long value = strtoul(text, end, 10);
    *out = (uint32_t)value;
    return errno == 0 && value >= 1 && value <= RENDER_SIDE_MAX;
}

oct_err
render_size_take(const oct_arg_given *given)
{
    uint32_t *size = given->field;
    char *end;
    return side_parse(given->text, &end, &size[0]) && *end == 'x' &&
                   side_parse(end + 1, &end, &size[1]) && *end == '\0'
               ? OCT_OK
               : OCT_EINVAL;
}
