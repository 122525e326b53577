#ifndef ENVS_ENV_STACK_H
#define ENVS_ENV_STACK_H

#include "envs/env_instance.h"

// A stack of frames, as an environment around any other: an observation is the inner environment's
// newest `frames` observations of the episode, from the oldest to the newest (Mnih et al. 2015,
// https://doi.org/10.1038/nature14236). The first observation of an episode stands for those before
// it, as in Gymnasium's FrameStackObservation with padding_type="reset".
//
//   [n]           becomes [frames * n]
//   [h][w]        becomes [h][w][frames], a picture with its channels last
//   [h][w][c]     becomes [h][w][frames * c]
//   [1][h][w]     becomes [h][w][frames]
//
// The spec is the inner one without names of observations. Saving, rendering, physical state and
// draws work where the inner environment has them. After set_state the stack is the new
// observation.
//
// Threads: as the handle. Owns: the inner instance.

#define ENV_STACK_KEY "frame_stack"
#define ENV_STACK_MAX 64

// Replaces *instance by an environment around it. count: environments; autoreset: of both.
// OCT_EINVAL, with a reason and *instance unchanged: its observations cannot be stacked.
OCT_CHECKED oct_err env_stack_around(env_instance *instance, uint32_t frames, uint32_t count,
                                     bool autoreset, oct_reason *why);

#endif // ENVS_ENV_STACK_H
