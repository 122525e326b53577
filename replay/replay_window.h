#ifndef REPLAY_REPLAY_WINDOW_H
#define REPLAY_REPLAY_WINDOW_H

#include <stdint.h>

#include "proto/wire_replay.h"

// Which windows exist: a rule over the numbers and flags of a stream's rows that sees each row
// once, in order. A window is known by its first row.
//   n_step    begins at every row with an action; complete with the row n behind it, or with the
//             end row of its episode
//   sequence  begins at every row whose number is a multiple of stride, of one step only where it
//             has an action; complete with the row T behind it
//   stride 0  begins at the first row of an episode and at every T-th row with an action behind
//             that; complete with the row T behind it or with the episode's end row
//   rollout   begins at every row that is marked so and has an action; complete with the next end
//             row that is marked so, which is at most the row T behind it
// A window that a gap in the stream cuts never completes.
//
// Threads: any; no state.
typedef struct replay_window {
    wire_window kind;
    uint32_t steps;  // n, or T
    uint32_t stride; // of sequences
} replay_window;

#define REPLAY_ROW_NONE UINT64_MAX

// The flag of the end rows that a window with stride 0 ends with.
static inline uint8_t
replay_window_end_flag(const replay_window *window)
{
    return window->kind == WIRE_WINDOW_ROLLOUT ? WIRE_ROLLOUT : WIRE_END;
}

replay_window replay_window_of(const wire_configure *configure);
// Rows that a window takes, the one behind it included: at most this many.
uint32_t replay_window_rows(const replay_window *window);
// Rows from the beginning of one window to that of the next: what a fetched window uses up.
uint32_t replay_window_stride(const replay_window *window);

// Where the first window may begin that has not begun yet, of a stream whose rows are held from
// first on: the whole memory of the rule. episode: number of the first row of the episode that row
// first is of, REPLAY_ROW_NONE when that is not known.
uint64_t replay_window_open(const replay_window *window, uint64_t first, uint64_t episode);
// Rows below first are gone: gives how many windows begun there will never be complete.
uint64_t replay_window_lose(const replay_window *window, uint64_t *open, uint64_t first);

// Windows that begin at first .. end - 1 are complete.
typedef void replay_window_ready(void *arg, uint64_t first, uint64_t end);
// Rows number .. number + count - 1 have come, behind all that came before. Calls ready in order.
void replay_window_extend(const replay_window *window, uint64_t *open, uint64_t number,
                          const uint8_t *flags, uint32_t count, replay_window_ready *ready,
                          void *arg);

// About how many windows this many rows complete, ends of them end rows: exact in the long run.
uint32_t replay_window_estimate(const replay_window *window, uint32_t rows, uint32_t ends);

#endif // REPLAY_REPLAY_WINDOW_H
