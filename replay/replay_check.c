// Whether a batch has the shape of the table's rows, and numbers that can be learned from.
#include "replay/replay_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/oct_discrete.h"

const char *
replay_check_shape(const wire_configure *configure, const wire_batch *batch, uint32_t rows_max)
{
    return batch->count > 0 && batch->obs_bytes != configure->obs_bytes
               ? "observations of the wrong size"
           : batch->count > 0 && batch->action_bytes != configure->action_bytes
               ? "actions of the wrong size"
           : batch->count > 0 && batch->extra_dim != configure->extra_dim ? "the wrong extra_dim"
           : batch->count > rows_max ? "more rows than the table holds"
                                     : NULL;
}

// float32 values, at any alignment: every exponent below all ones.
static bool
is_finite(const void *floats, size_t count)
{
    const uint8_t *at = floats;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return bad == 0;
}

const char *
replay_check_content(const wire_configure *configure, const wire_batch *batch)
{
    size_t obs = (size_t)batch->count * batch->obs_bytes;
    size_t action = (size_t)batch->count * batch->action_bytes;
    return configure->obs_is_float && !is_finite(batch->obs, obs / sizeof(float))
               ? "an observation is not finite"
           : configure->action_is_float && !is_finite(batch->action, action / sizeof(float))
               ? "an action is not finite"
           // Those of end rows, which nobody reads, too: the learner looks at all rows of a window.
           : configure->action_count > 0 &&
                   !oct_discrete_holds(batch->action, batch->count, configure->action_count)
               ? "an action that the environment does not have"
               : NULL;
}
