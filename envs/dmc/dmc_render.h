#ifndef ENVS_DMC_DMC_RENDER_H
#define ENVS_DMC_DMC_RENDER_H

#include "common/oct_reason.h"
#include "envs/dmc/dmc_task.h"

// Pictures of the Control Suite by MuJoCo's renderer: the model as its camera "main" sees it (or
// from the side, if there is none), its lights, a chequered floor, a sky.
//
// Threads: any; pictures are drawn one at a time in the process. Owns: buffers in the OpenGL
// context (dmc_gl.h), made for the first picture and kept for the next; not the sim.
typedef struct dmc_render dmc_render;

#define DMC_RENDER_SIDE_MAX 4096u

// Draws the sim, which must show its cameras (dmc_sim_cameras) and is not changed, into
// rgb[height][width][3] from the top left. *render is NULL at first, and serves the models of one
// task. Returns false with one line in reason: the size is not possible, there is no OpenGL (reason
// names the packages), or MuJoCo raised an error.
bool dmc_render_draw(dmc_render **render, const dmc_sim *sim, uint32_t width, uint32_t height,
                     uint8_t *rgb, oct_reason *why);
void dmc_render_destroy(dmc_render *render); // NULL is a no-op

#endif // ENVS_DMC_DMC_RENDER_H
