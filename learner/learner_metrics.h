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
// Both are bounded. When there are more than rows_max rows, old ones are joined
// (learner/learner_rows.h): the newest quarter stays as it is, the older ones become a quarter. So
// that is done once in rows_max / 2 rows at most. metrics.csv is then replaced by rename, and one
// new event file with the same rows takes the place of those that the run had; it begins with a
// start record, so that TensorBoard forgets what it had read of them.
//
// A metrics.csv of more than LEARNER_METRICS_BYTES_MAX is read by nobody: no run writes one.
//
// Threads: the loop thread. Owns: two open files, flushed row by row; the registry is borrowed.
// Errors: a row that cannot be written (no space, say) is left out whole, and the next is tried.
// When the rows cannot be joined, all stay, and it is tried again some rows later.
typedef struct learner_metrics learner_metrics;
#define LEARNER_METRICS_BYTES_MAX (UINT64_C(4) << 30)

// Appends to folder/metrics.csv; folder/events.out.tfevents.… begins with the first row. step: the
// column that is TensorBoard's step, static. rows_max >= 16; row_s: about how long a row is.
// OCT_EIO: metrics.csv cannot be written, or errno is EFBIG.
OCT_CHECKED oct_err learner_metrics_open(learner_metrics **out, const char *folder,
                                         const oct_numbers *numbers, const char *step,
                                         uint64_t rows_max, double row_s);
// A row of what the numbers are now. 0, or the errno of the first of the files that did not take
// it.
int learner_metrics_write(learner_metrics *metrics);
void learner_metrics_close(learner_metrics *metrics); // NULL is a no-op

#endif // LEARNER_LEARNER_METRICS_H
