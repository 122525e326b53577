#ifndef RENDER_RENDER_SCENE_H
#define RENDER_RENDER_SCENE_H

#include "envs/env.h"
#include "render/render_canvas.h"

// Pictures of an environment as it is now: by its own render function, else drawn from its state
// (classic control) or from its observation (boards of cells).
//
// Threads: one at a time, the one that uses the environment. Owns: its canvas, not the environment.
typedef struct render_scene render_scene;

// width and height 0: what suits the environment (render_scene_width says). OCT_ENOTFOUND: nothing
// here can draw this environment; OCT_EINVAL: the size; each with a line in reason.
OCT_CHECKED oct_err render_scene_open(render_scene **out, const env *e, uint32_t width,
                                      uint32_t height, char *reason, size_t reason_size);
void render_scene_close(render_scene *scene); // NULL is a no-op
uint32_t render_scene_width(const render_scene *scene);
uint32_t render_scene_height(const render_scene *scene);
// Steps of the environment in a second as it is watched: those of its own clock, else 10 (boards)
// or 30.
double render_scene_steps_per_second(const render_scene *scene);
// Environment i of e, whose current observation is obs, into rgb[height][width][3]. e has the same
// spec as the one that the scene was opened with.
OCT_CHECKED oct_err render_scene_draw(render_scene *scene, env *e, uint32_t i, const void *obs,
                                      uint8_t *rgb, char *reason, size_t reason_size);

// "640x480" as two numbers, each 1 to RENDER_SIDE_MAX; false: it is something else.
bool render_size_parse(const char *text, uint32_t *width, uint32_t *height);
#define RENDER_SIZE_ALLOWED "WIDTHxHEIGHT in pixels, each 1 to 8192, such as 640x480"

#endif // RENDER_RENDER_SCENE_H
