#ifndef COMMON_OCT_DISCRETE_H
#define COMMON_OCT_DISCRETE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Returns true if all of actions[count], int32 at any alignment, are within 0 .. action_count - 1.
// The loop does not stop at the first bad one, so that the compiler makes vector instructions of
// it. Threads: any.
static inline bool
oct_discrete_holds(const uint8_t *actions, size_t count, uint32_t action_count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        int32_t action;
        memcpy(&action, actions + i * sizeof(action), sizeof(action));
        good &= (uint32_t)action < action_count; // no negative one is
    }
    return good;
}

#endif // COMMON_OCT_DISCRETE_H
