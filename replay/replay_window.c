// The rules by which rows of a stream form complete windows: n steps, sequences or rollouts.
#include "replay/replay_window.h"

#include <stdbool.h>

#include "common/oct_base.h"
#include "replay/replay_block.h"

replay_window
replay_window_of(const wire_configure *configure)
{
    uint32_t stride = configure->window == WIRE_WINDOW_N_STEP    ? 1
                      : configure->window == WIRE_WINDOW_ROLLOUT ? 0
                                                                 : configure->window_stride;
    return (replay_window){configure->window, configure->window_steps, stride};
}

uint32_t
replay_window_rows(const replay_window *window)
{
    return window->steps + 1;
}

uint32_t
replay_window_stride(const replay_window *window)
{
    return window->stride == 0 ? window->steps : window->stride;
}

static bool
is_by_episode(const replay_window *window)
{
    return window->kind == WIRE_WINDOW_SEQUENCE && window->stride == 0;
}

// Returns the first row from number where a window begins, if one may begin at open.
static uint64_t
begin_from(const replay_window *window, uint64_t open, uint64_t number)
{
    if (open >= number) {
        return open;
    }
    uint64_t stride = replay_window_stride(window);
    return open + (number - open + stride - 1) / stride * stride;
}

uint64_t
replay_window_open(const replay_window *window, uint64_t first, uint64_t episode)
{
    if (window->kind == WIRE_WINDOW_ROLLOUT) {
        return REPLAY_ROW_NONE; // the first row of a rollout sets it
    }
    if (is_by_episode(window)) {
        return episode == REPLAY_ROW_NONE ? REPLAY_ROW_NONE : begin_from(window, episode, first);
    }
    return begin_from(window, 0, first);
}

uint64_t
replay_window_lose(const replay_window *window, uint64_t *open, uint64_t first)
{
    if (*open == REPLAY_ROW_NONE || *open >= first) {
        return 0;
    }
    if (window->kind == WIRE_WINDOW_ROLLOUT) {
        *open = REPLAY_ROW_NONE;
        return 1;
    }
    uint64_t from = *open;
    *open = begin_from(window, from, first);
    return (*open - from) / replay_window_stride(window);
}

static void
extend_n_step(const replay_window *window, uint64_t *open, replay_stream_rows rows,
              replay_window_ready *ready, void *arg)
{
    for (uint32_t i = 0; i < rows.count; i++) {
        i += replay_flags_find(rows.flags + i, rows.count - i, WIRE_END);
        uint64_t end = rows.number + i; // an end row, or the row that comes next
        uint64_t complete = i < rows.count ? end : end > window->steps ? end - window->steps : 0;
        if (*open < complete) {
            ready(arg, *open, complete);
            *open = complete;
        }
        if (i < rows.count) {
            *open = end + 1;
        }
    }
}

static void
extend_by_episode(const replay_window *window, uint64_t *open, replay_stream_rows rows,
                  replay_window_ready *ready, void *arg)
{
    for (uint32_t i = 0; i < rows.count; i++) {
        uint64_t at = rows.number + i;
        bool is_end = (rows.flags[i] & WIRE_END) != 0;
        if (rows.flags[i] & WIRE_FIRST) {
            *open = at;
        }
        if (*open < at && (is_end || at - *open == window->steps)) {
            ready(arg, *open, *open + 1);
            *open = at;
        }
        if (is_end) {
            *open = REPLAY_ROW_NONE;
        }
    }
}

static void
extend_rollout(const replay_window *window, uint64_t *open, replay_stream_rows rows,
               replay_window_ready *ready, void *arg)
{
    for (uint32_t i = 0; i < rows.count; i++) {
        i += replay_flags_find(rows.flags + i, rows.count - i, WIRE_ROLLOUT);
        if (i == rows.count) {
            return;
        }
        uint64_t at = rows.number + i;
        bool is_end = (rows.flags[i] & WIRE_END) != 0;
        if (is_end && *open != REPLAY_ROW_NONE && at - *open <= window->steps) {
            ready(arg, *open, *open + 1);
        }
        *open = is_end ? REPLAY_ROW_NONE : at;
    }
}

// Sequences of one step: such a window has one row with an action, so it does not begin at an end
// row.
static void
extend_one_step(const replay_window *window, uint64_t *open, replay_stream_rows rows,
                replay_window_ready *ready, void *arg)
{
    for (uint32_t i = 0; i < rows.count; i++) {
        uint64_t at = rows.number + i;
        if (*open < at) {
            ready(arg, *open, *open + 1);
            *open += window->stride;
        }
        if (*open == at && (rows.flags[i] & WIRE_END)) {
            *open += window->stride;
        }
    }
}

void
replay_window_extend(const replay_window *window, uint64_t *open, replay_stream_rows rows,
                     replay_window_ready *ready, void *arg)
{
    if (window->kind == WIRE_WINDOW_N_STEP) {
        extend_n_step(window, open, rows, ready, arg);
    } else if (window->kind == WIRE_WINDOW_ROLLOUT) {
        extend_rollout(window, open, rows, ready, arg);
    } else if (window->stride == 0) {
        extend_by_episode(window, open, rows, ready, arg);
    } else if (window->steps == 1) {
        extend_one_step(window, open, rows, ready, arg);
    } else {
        for (; *open + window->steps < rows.number + rows.count; *open += window->stride) {
            ready(arg, *open, *open + 1);
        }
    }
}

uint32_t
replay_window_estimate(const replay_window *window, uint32_t rows, uint32_t ends)
{
    return window->kind == WIRE_WINDOW_N_STEP ? rows
           : window->stride == 0              ? rows / window->steps + ends
           : window->steps == 1               ? (rows - ends) / window->stride + 1
                                              : rows / window->stride + 1;
}
