#ifndef COMMON_OCT_ACTION_REPEAT_H
#define COMMON_OCT_ACTION_REPEAT_H

#include <stdint.h>

// The option action_repeat of every environment (in env.options and --env-options): the number of
// environment steps for which an action is repeated (envs/env_repeat.h). Code that counts
// environment steps multiplies the number of actions by it. Pure functions. Threads: any.
#define OCT_ACTION_REPEAT_KEY "action_repeat"
#define OCT_ACTION_REPEAT_MAX 64

// Returns the number that an option's value says; 0: it is not a whole number from 1 to
// OCT_ACTION_REPEAT_MAX.
uint32_t oct_action_repeat_read(const char *value);
// Returns the number among the options "key=value,key=value": 1 if they do not have it, 0 if its
// value is refused.
uint32_t oct_action_repeat_of(const char *options);

#endif // COMMON_OCT_ACTION_REPEAT_H
