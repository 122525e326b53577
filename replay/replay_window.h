#ifndef REPLAY_REPLAY_WINDOW_H
#define REPLAY_REPLAY_WINDOW_H

#include <stdint.h>

#include "proto/wire_replay.h"

// Defines which windows exist: a rule over the numbers and flags of a stream's rows, which visits
// each row once, in order. A window is identified by its first row; the row after its last one
// belongs to it, too.
//   n_step    begins at every row with an action; complete with the row n rows later, or with the
//             end row of its episode
//   sequence  begins at every row whose number is a multiple of stride, for T = 1 only if the row
//             has an action; complete with the row T rows later
//   stride 0  a sequence that begins at the first row of an episode and at every T-th row with an
//             action after it; complete with the row T rows later, or with the episode's end row
//   rollout   begins at every row that is marked ROLLOUT and has an action; complete with the next
//             end row that is marked so, at most T rows later
// A window that is cut by a gap in the stream never completes.
//
// Threads: any; no state.
typedef struct replay_window {
    wire_window kind;
    uint32_t steps;  // n, or T
    uint32_t stride; // sequence; 0 also for rollout, 1 for n_step
} replay_window;

#define REPLAY_ROW_NONE UINT64_MAX // no row

// The flag of the end rows that a window with stride 0 ends with.
static inline uint8_t
replay_window_end_flag(const replay_window *window)
{
    return window->kind == WIRE_WINDOW_ROLLOUT ? WIRE_ROLLOUT : WIRE_END;
}

replay_window replay_window_of(const wire_configure *configure);
// The most rows that a window takes, including the row after it.
uint32_t replay_window_rows(const replay_window *window);
// Rows from the beginning of a window to the beginning of the next: what a fetched window uses up.
uint32_t replay_window_stride(const replay_window *window);

// Returns the row where the next window may begin, in a stream whose rows are held from first. This
// number is the rule's whole state. episode: number of the first row of the episode that row first
// belongs to; REPLAY_ROW_NONE: unknown.
uint64_t replay_window_open(const replay_window *window, uint64_t first, uint64_t episode);
// Rows below first have left. Returns how many windows that began there can never complete.
uint64_t replay_window_lose(const replay_window *window, uint64_t *open, uint64_t first);

// Called for the windows that begin at first .. end - 1, which are complete.
typedef void replay_window_ready(void *arg, uint64_t first, uint64_t end);
// Rows number .. number + count - 1 of a stream.
typedef struct replay_stream_rows {
    uint64_t number;
    const uint8_t *flags; // [count]
    uint32_t count;
} replay_stream_rows;
// These rows have arrived after all earlier rows. Calls ready in order.
void replay_window_extend(const replay_window *window, uint64_t *open, replay_stream_rows rows,
                          replay_window_ready *ready, void *arg);

// Estimates how many windows these rows complete, of which `ends` are end rows; exact in the long
// run.
uint32_t replay_window_estimate(const replay_window *window, uint32_t rows, uint32_t ends);

#endif // REPLAY_REPLAY_WINDOW_H
