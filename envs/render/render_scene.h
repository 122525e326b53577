#ifndef ENVS_RENDER_RENDER_SCENE_H
#define ENVS_RENDER_RENDER_SCENE_H

#include "common/oct_args.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/render/render_canvas.h"

// Pictures of an environment's present state: by its own render function, else from its state
// (classic control), else from its observation (boards of cells).
//
// Threads: one at a time, the one that uses the environment. Owns: its canvas, not the environment.
typedef struct render_scene render_scene;

// width or height 0 selects the environment's natural value (render_scene_width,
// render_scene_height). Errors, with one line in reason:
//   OCT_ENOTFOUND  this environment cannot be drawn, or this build has no cairo
//   OCT_EINVAL  the size is above RENDER_SIDE_MAX
OCT_CHECKED oct_err render_scene_open(render_scene **out, const env *e, uint32_t width,
                                      uint32_t height, oct_reason *why);
void render_scene_close(render_scene *scene); // NULL is a no-op
uint32_t render_scene_width(const render_scene *scene);
uint32_t render_scene_height(const render_scene *scene);
// Returns the environment's steps per second for viewing: those of its own clock, else the rate of
// classic control, else 10 for boards or 30.
double render_scene_steps_per_second(const render_scene *scene);
// Draws environment i of e, whose current observation is obs, into rgb[height][width][3]. e has the
// same spec as the environment that the scene was opened with. Errors: those of env_render and
// env_state_get, with one line in reason.
OCT_CHECKED oct_err render_scene_draw(render_scene *scene, env *e, uint32_t i, const void *obs,
                                      uint8_t *rgb, oct_reason *why);

// Stores the text of an option, "640x480", in the field, uint32_t[2]: width and height, each 1 to
// RENDER_SIDE_MAX. Returns OCT_EINVAL for any other text.
oct_err render_size_take(const oct_arg_given *given);
#define RENDER_SIZE_ALLOWED "is WIDTHxHEIGHT in pixels, each 1 to 8192, such as 640x480"

#endif // ENVS_RENDER_RENDER_SCENE_H
