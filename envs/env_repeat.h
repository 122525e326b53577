#ifndef ENVS_ENV_REPEAT_H
#define ENVS_ENV_REPEAT_H

#include "envs/env_instance.h"

// Action repeat, as an environment around any other: a step takes its action for `repeat` steps of
// the one inside, or until that ends, and gives the sum of their rewards (Mnih et al. 2015,
// https://doi.org/10.1038/nature14236, "frame skipping"). Between them nothing is seen, but an
// observation that is not sound is a failure of the whole step.
//
// Its spec is the one inside, with ceil(max_episode_steps / repeat) steps of repeat * step_seconds;
// it saves, renders and has a physical state where that does, whose episode_step counts the longer
// steps; it has no draws.
//
// Threads: as the handle. Owns: the instance inside, which must not reset by itself.
// Puts instance inside; it comes back as the one around it. count: environments; autoreset: of the
// one around.
void env_repeat_around(env_instance *instance, uint32_t repeat, uint32_t count, bool autoreset);

#endif // ENVS_ENV_REPEAT_H
