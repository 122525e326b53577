#ifndef LEARNER_LEARNER_METRICS_H
#define LEARNER_LEARNER_METRICS_H

#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_numbers.h"

// The run's numbers over time: metrics.csv and a TensorBoard event file, one row of named columns
// at a time. A number that was not measured is NaN: an empty cell, and no TensorBoard point.
//
// The columns are those of the registry (OCT_SHOWN_CSV, OCT_SHOWN_TENSORBOARD) when the first row
// is written, and stay. A metrics.csv with other columns, of another release or algorithm, is
// renamed to metrics-1.csv (the first number that is free), and a new one begins.
//
// Both files are bounded. When there are more than rows_max rows, older ones are merged
// (common/oct_csv.h): the newest quarter stays unchanged, the rest becomes a quarter. That happens
// once in rows_max / 2 rows at most. metrics.csv is then replaced by a rename, and one new event
// file with the same rows replaces those of the run; it begins with a start record, so that
// TensorBoard forgets what it had read of them.
//
// No program reads a metrics.csv larger than OCT_CSV_BYTES_MAX, and no run writes one.
//
// Threads: the loop thread. Owns: two open files, flushed row by row; the registry is borrowed.
// Errors: a row that cannot be written (on a full disk, say) is left out completely, and the next
// is tried. If rows cannot be merged, all stay, and merging is tried again some rows later.
typedef struct learner_metrics learner_metrics;

// Appends to folder/metrics.csv; folder/events.out.tfevents.… begins with the first row.
// step: the column that is TensorBoard's step, static. rows_max >= 16. row_s: usual seconds of a
// row.
//   OCT_EIO  metrics.csv cannot be opened or read; errno has the reason, EFBIG if it is too large
OCT_CHECKED oct_err learner_metrics_open(learner_metrics **out, const char *folder,
                                         const oct_numbers *numbers, const char *step,
                                         uint64_t rows_max, double row_s);
// Writes a row of the current numbers. Returns 0, or the errno of the first file that failed.
int learner_metrics_write(learner_metrics *metrics);
void learner_metrics_close(learner_metrics *metrics); // NULL is a no-op

#endif // LEARNER_LEARNER_METRICS_H
