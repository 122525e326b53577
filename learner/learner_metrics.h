#ifndef LEARNER_LEARNER_METRICS_H
#define LEARNER_LEARNER_METRICS_H

#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_numbers.h"

// The run's numbers over time: metrics.csv and a TensorBoard event file, one row of named columns
// at a time. A number that was not measured is NaN: an empty cell, and no TensorBoard point.
//
// The columns are what the registry has (OCT_SHOWN_CSV, OCT_SHOWN_TENSORBOARD) when the first row
// is written, and stay. A metrics.csv with other columns, of another release or algorithm, is kept
// as metrics-1.csv (the first number that is free), and a new one begins.
//
// Threads: the loop thread. Owns: two open files, flushed row by row; the registry is borrowed.
// Errors: a row that cannot be written (no space, say) is left out whole, and the next is tried.
typedef struct learner_metrics learner_metrics;

// Appends to folder/metrics.csv; folder/events.out.tfevents.… begins with the first row.
OCT_CHECKED oct_err learner_metrics_open(learner_metrics **out, const char *folder,
                                         const oct_numbers *numbers);
// A row of what the numbers are now; step is TensorBoard's. 0, or the errno of the first of the two
// files that did not take it.
int learner_metrics_write(learner_metrics *metrics, int64_t step);
void learner_metrics_close(learner_metrics *metrics); // NULL is a no-op

#endif // LEARNER_LEARNER_METRICS_H
