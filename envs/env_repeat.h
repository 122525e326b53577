#ifndef ENVS_ENV_REPEAT_H
#define ENVS_ENV_REPEAT_H

#include "envs/env_instance.h"

// Action repeat, as an environment around any other: a step uses its action for `repeat` steps of
// the inner environment, or until that ends, and returns the sum of their rewards (Mnih et al.
// 2015, https://doi.org/10.1038/nature14236, "frame skipping"). Observations of the inner steps in
// between are not returned, but an unsound one fails the whole step.
//
// The spec is the inner one with ceil(max_episode_steps / repeat) steps of repeat * step_seconds.
// Saving, rendering and physical state work where the inner environment has them; episode_step
// counts the longer steps. There are no draws.
//
// Threads: as the handle. Owns: the inner instance, which must not reset by itself.
//
// Replaces *instance by an environment around it. count: environments; autoreset: of the outer
// environment.
void env_repeat_around(env_instance *instance, uint32_t repeat, uint32_t count, bool autoreset);

#endif // ENVS_ENV_REPEAT_H
