// Compares the shape of a batch with that of the table's rows.
#include "replay/replay_check.h"

#include <stddef.h>

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
