#ifndef ENVS_DMC_DMC_STAGE_H
#define ENVS_DMC_DMC_STAGE_H

#include <mujoco/mujoco.h>
#include <stdint.h>

// The stage on which the Control Suite is drawn: the models have colours, a light and a camera, but
// no textures (every environment would keep them in memory). The chequers of the floor and the sky
// are made here, and only for drawing.
//
// Threads: any. Owns: nothing; the pictures are static.

// Returns m with the stage's textures and a picture size of width x height: a view for MuJoCo's
// renderer, valid as long as m, not to be deleted.
mjModel dmc_stage_model(const mjModel *m, uint32_t width, uint32_t height);
// Selects the model's camera "main", else its first, else a view of the whole model from the side.
void dmc_stage_camera(mjvCamera *out, const mjModel *m);
// Puts the chequers on the floor of a scene.
void dmc_stage_scene(mjvScene *scene, const mjModel *m);

#endif // ENVS_DMC_DMC_STAGE_H
