#ifndef ENVS_DMC_DMC_MODEL_H
#define ENVS_DMC_DMC_MODEL_H

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/oct_reason.h"

// Models of the Control Suite: Octet's own MJCF, which is part of the program, or dm_control's
// files from a folder. Of the latter the common files (materials, skybox, visual) and skyboxes are
// left out: they take 12 MB of texture for every environment and change no number.
//
// Threads: any (MuJoCo's compiler runs one at a time). Owns: nothing; the caller deletes the model.

// Compiles the model of that name. folder: NULL or "" for Octet's own; "auto" for the installed
// Python dm_control's, which is searched once per process. Data made of the model is small (at most
// DMC_CONTACTS_MAX contacts). A file must have joints, actuators and sensors of the same count and
// kinds as Octet's own model. Returns false with one line in reason.
#define DMC_CONTACTS_MAX 60
bool dmc_model_load(mjModel **out, const char *name, const char *folder, oct_reason *why);

// Finds the folder with the MJCF files of the dm_control that python3 finds, without importing it.
bool dmc_python_folder(char *out, size_t out_size, oct_reason *why);

#endif // ENVS_DMC_DMC_MODEL_H
