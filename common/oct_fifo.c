// Computes the rows that a replay needs for windows that it gives out once each, and the windows
// that rows hold.
#include "common/oct_fifo.h"

oct_fifo
oct_fifo_of_steps(uint64_t streams, uint32_t n)
{
    return (oct_fifo){.streams = streams, .each = 2, .open = n + 1};
}

oct_fifo
oct_fifo_of_sequences(uint64_t streams, uint32_t T, uint32_t stride)
{
    // A window of a single row begins only at a row with an action, and each of these may have an
    // end row beside it.
    uint32_t each = stride == 0 ? T + 1 : T == 1 ? 2 * stride : stride;
    return (oct_fifo){.streams = streams, .each = each, .open = T + 1};
}

oct_fifo
oct_fifo_of_rollouts(uint64_t streams, uint32_t T)
{
    return (oct_fifo){.streams = streams, .each = T + 1};
}

uint64_t
oct_fifo_rows(const oct_fifo *fifo, uint64_t windows)
{
    return windows * fifo->each + fifo->streams * fifo->open;
}

uint64_t
oct_fifo_windows(const oct_fifo *fifo, uint64_t rows)
{
    uint64_t open = fifo->streams * fifo->open;
    return rows < open ? 0 : (rows - open) / fifo->each;
}
