#ifndef ENVS_ENV_STACK_H
#define ENVS_ENV_STACK_H

#include "envs/env_instance.h"

// A view of observations, as an environment around any other: a stack of frames, and pictures with
// their channels last.
//
// An observation is the inner environment's newest `frames` observations of the episode, from the
// oldest to the newest (Mnih et al. 2015, https://doi.org/10.1038/nature14236). The first
// observation of an episode stands for those before it, as in Gymnasium's FrameStackObservation
// with padding_type="reset".
//
//   [n]                            becomes [frames * n]
//   [h][w]                         becomes [h][w][frames], a picture with its channels last
//   [h][w][c]                      becomes [h][w][frames * c]
//   [c][h][w], is_channels_first   becomes [h][w][frames * c]
//
// The spec is the inner one without names of observations. Saving, rendering, physical state and
// draws work where the inner environment has them. After set_state the stack is the new
// observation.
//
// Threads: as the handle. Owns: the inner instance.

#define ENV_STACK_KEY    "frame_stack"
#define ENV_STACK_MAX    64
#define ENV_CHANNELS_KEY "channels_first"

typedef struct env_stack_view {
    uint32_t frames;        // 1..ENV_STACK_MAX
    bool is_channels_first; // of the inner environment
} env_stack_view;

// Replaces *instance by an environment around it. count: environments; autoreset: of both.
// OCT_EINVAL, with a reason and *instance unchanged: its observations have no such view.
OCT_CHECKED oct_err env_stack_around(env_instance *instance, env_stack_view view, uint32_t count,
                                     bool autoreset, oct_reason *why);

#endif // ENVS_ENV_STACK_H
