#ifndef COMMON_OCT_FIFO_H
#define COMMON_OCT_FIFO_H

#include <stdint.h>

// How many windows a replay that gives out each once comes to hold at a time: as many as a batch
// has, or it drops some while the learner waits. Windows differ in length, and some of each
// stream's rows are of none that is complete. So each counts as the longest, and of each stream one
// more is under way: where one actor's batch fits beside them, no fewer than these are together.
//
// Threads: any; plain value.
typedef struct oct_fifo {
    uint64_t streams;
    uint32_t each; // rows from the beginning of a window to that of the next, at most
    uint32_t open; // rows of each stream that are of no complete window, at most
} oct_fifo;

// Windows of n steps, which begin at every row with an action: beside each may be an end row.
oct_fifo oct_fifo_of_steps(uint64_t streams, uint32_t n);
// Windows of T rows and the one behind them, which begin at every stride-th row; stride 0: of whole
// episodes, or T rows of one.
oct_fifo oct_fifo_of_sequences(uint64_t streams, uint32_t T, uint32_t stride);
// Windows of at most T rows and the one behind them, each of which comes whole.
oct_fifo oct_fifo_of_rollouts(uint64_t streams, uint32_t T);

uint64_t oct_fifo_rows(const oct_fifo *fifo, uint64_t windows); // that can hold so many
uint64_t oct_fifo_windows(const oct_fifo *fifo, uint64_t rows); // that so many can hold

#endif // COMMON_OCT_FIFO_H
