// The learning curve of a run: its points and their picture.
#include "learner/learner_curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_plot.h"
#include "common/oct_text.h"

typedef struct wall_times {
    const learner_curve_point *points; // with finite numbers only
    size_t count;
} wall_times;

// Writes the wall time at a number of steps, interpolated between the evaluations around it, or ""
// beyond the last.
static void
wall_text(void *arg, double steps, char out[32])
{
    const wall_times *times = arg;
    const learner_curve_point *before = NULL;
    for (size_t i = 0; i < times->count; i++) {
        const learner_curve_point *at = &times->points[i];
        if (at->env_steps >= steps) {
            double s0 = before != NULL ? before->env_steps : 0;
            double w0 = before != NULL ? before->wall_s : 0;
            double share = at->env_steps > s0 ? (steps - s0) / (at->env_steps - s0) : 1;
            (void)oct_text_duration(out, 32, fmax(w0 + share * (at->wall_s - w0), 0));
            return;
        }
        before = at;
    }
}

// Returns the frame of the points and the threshold (NAN: none). If no mean is below 0, bands are
// cut at 0, and the axis begins at 0.
static oct_plot_frame
frame_of(oct_plot_point *points, size_t count, const char *title, double threshold)
{
    oct_plot_frame frame = {.title = title};
    double least = 0;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, points[i].mean);
    }
    for (size_t i = 0; i < count && least == 0; i++) {
        points[i].low = fmax(points[i].low, 0);
    }
    oct_plot_frame_clear(&frame);
    oct_plot_frame_add(&frame, points, count);
    if (isfinite(threshold)) {
        frame.y_low = fmin(frame.y_low, threshold);
        frame.y_high = fmax(frame.y_high, threshold);
    }
    return frame;
}

bool
learner_curve_is_due(uint64_t changes, uint64_t drawn)
{
    return changes > drawn + drawn / LEARNER_CURVE_PART;
}

// A point without a finite mean, time or step count is left out. A standard deviation that is not
// finite counts as 0.
oct_err
learner_curve_write(const char *path, const learner_curve_point *points, size_t count,
                    const char *title, const char *counted, double threshold)
{
    learner_curve_point *finite = oct_alloc((count + 1) * sizeof(*finite));
    oct_plot_point *shown = oct_alloc((count + 1) * sizeof(*shown));
    wall_times times = {.points = finite};
    size_t step = count > LEARNER_CURVE_SHOWN ? count / (LEARNER_CURVE_SHOWN / 2) : 1;
    for (size_t i = 0; i < count; i++) {
        const learner_curve_point *at = &points[i];
        bool is_chosen = (count - 1 - i) % step == 0;
        if (is_chosen && isfinite(at->wall_s) && isfinite(at->env_steps) && isfinite(at->mean)) {
            double std = isfinite(at->std) ? fabs(at->std) : 0;
            shown[times.count] = (oct_plot_point){.x = at->env_steps,
                                                  .mean = at->mean,
                                                  .low = at->mean - std,
                                                  .high = at->mean + std};
            finite[times.count++] = *at;
        }
    }
    char words[64];
    oct_plot plot;
    oct_plot_frame frame = frame_of(shown, times.count, title, threshold);
    (void)snprintf(words, sizeof(words), "%s, and wall time below", counted);
    oct_plot_begin(&plot, &frame);
    oct_plot_axes(
        &plot,
        &(oct_plot_labels){OCT_PLOT_COUNT, words, "evaluation return: mean ± standard deviation"},
        wall_text, &times);
    oct_plot_goal(&plot, threshold);
    if (times.count == 0) {
        oct_plot_note(&plot, "no evaluation yet");
    } else {
        oct_plot_band(&plot, 0, shown, times.count);
        oct_plot_line(&plot, 0, shown, times.count);
        oct_plot_dots(&plot, 0, shown, times.count);
    }
    oct_err err = oct_plot_end(&plot, path);
    free(shown);
    free(finite);
    return err;
}

void
learner_curve_add(learner_curve_point *points, uint32_t *count, uint32_t room,
                  const learner_curve_point *point)
{
    OCT_ASSERT(room >= 2 && *count <= room);
    uint32_t at = *count;
    while (at > 0 && points[at - 1].env_steps > point->env_steps) {
        at--;
    }
    if (at > 0 && points[at - 1].env_steps == point->env_steps) {
        points[at - 1] = *point;
        return;
    }
    if (*count == room) {
        for (uint32_t i = 0; i < room / 2; i++) {
            points[i] = points[2 * i];
        }
        *count = room / 2;
        at = OCT_MIN(at / 2, *count);
        while (at < *count && points[at].env_steps < point->env_steps) {
            at++;
        }
    }
    memmove(points + at + 1, points + at, (*count - at) * sizeof(*points));
    points[at] = *point;
    (*count)++;
}
