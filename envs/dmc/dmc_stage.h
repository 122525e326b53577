#ifndef ENVS_DMC_DMC_STAGE_H
#define ENVS_DMC_DMC_STAGE_H

#include <mujoco/mujoco.h>
#include <stdint.h>

// How the Control Suite is shown: the models have colours, a light and a camera, but no textures
// (they would lie in the memory of every environment). The chequers of the floor and the sky are
// made here and exist only while somebody looks.
//
// Threads: any. Owns: nothing; the pictures are static.

// m with the textures of the stage and a picture of width x height: a view for MuJoCo's renderer,
// valid as long as m, not to be deleted.
mjModel dmc_stage_model(const mjModel *m, uint32_t width, uint32_t height);
// The model's camera "main", else its first, else one that looks at the whole from the side.
void dmc_stage_camera(mjvCamera *out, const mjModel *m);
// Lays the chequers on the floor of a scene.
void dmc_stage_scene(mjvScene *scene, const mjModel *m);

#endif // ENVS_DMC_DMC_STAGE_H
