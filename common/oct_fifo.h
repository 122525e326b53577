#ifndef COMMON_OCT_FIFO_H
#define COMMON_OCT_FIFO_H

#include <stdint.h>

// Sizes a replay that gives out each window once. It has to hold a whole batch of windows, or it
// would drop windows while the learner still waits for more. Windows vary in length, and some rows
// of each stream belong to no complete window. So the rows are computed for the worst case: every
// window has its greatest length, and each stream has one more window in progress. With room for
// one message of an actor in addition, the replay always reaches that number of windows.
//
// Threads: any; plain value.
typedef struct oct_fifo {
    // How many environments send rows: each has its own stream.
    uint64_t streams;
    uint32_t each; // rows from the beginning of a window to that of the next, at most
    uint32_t open; // rows of each stream that belong to no complete window, at most
} oct_fifo;

// For windows of n steps. A window begins at every row with an action, and each of those may have
// an end row beside it.
oct_fifo oct_fifo_of_steps(uint64_t streams, uint32_t n);
// For windows of T rows and the one that follows. A window begins at every stride-th row; stride 0:
// windows are whole episodes, or T rows of one.
oct_fifo oct_fifo_of_sequences(uint64_t streams, uint32_t T, uint32_t stride);
// For windows of at most T rows and the one that follows. Each arrives complete.
oct_fifo oct_fifo_of_rollouts(uint64_t streams, uint32_t T);

// rows that hold that many windows in the worst case
uint64_t oct_fifo_rows(const oct_fifo *fifo, uint64_t windows);
// windows that fit in that many rows in the worst case
uint64_t oct_fifo_windows(const oct_fifo *fifo, uint64_t rows);

#endif // COMMON_OCT_FIFO_H
