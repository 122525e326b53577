#ifndef COMMON_OCT_ACTION_REPEAT_H
#define COMMON_OCT_ACTION_REPEAT_H

#include <stdint.h>

// The option of every environment (env.options, --env-options) by which an action is taken for
// several steps: envs/env_repeat.h. Who counts environment steps asks here how many of them an
// action is. Pure functions. Threads: any.
#define OCT_ACTION_REPEAT_KEY "action_repeat"
#define OCT_ACTION_REPEAT_MAX 64

// Its value; 0: not a whole number 1 .. OCT_ACTION_REPEAT_MAX.
uint32_t oct_action_repeat_read(const char *value);
// Of "key=value,key=value": 1 where it is not among them, 0 where its value is none.
uint32_t oct_action_repeat_of(const char *options);

#endif // COMMON_OCT_ACTION_REPEAT_H
