#ifndef REPLAY_DATA_DATA_NUMBERS_H
#define REPLAY_DATA_DATA_NUMBERS_H

#include "replay/data/data_episodes.h"

// Statistics of recorded steps.
//
// Threads: any; no state.

// Statistics of a set of values; all NaN if there are none.
typedef struct data_spread {
    double mean;
    double sd; // sample standard deviation (n - 1); 0 for one value
    double least, q25, median, q75, most;
} data_spread;

// Smallest and largest value; NaN if there are none.
typedef struct data_range {
    double least, most;
} data_range;

typedef struct data_numbers {
    uint64_t rows;           // with end rows
    uint64_t steps;          // rows with an action
    uint64_t random;         // of steps: actions that exploration chose
    uint64_t episodes;       // complete episodes
    uint64_t incomplete;     // incomplete episodes
    uint64_t steps_of_parts; // steps of the incomplete episodes
    uint64_t terminated;     // complete episodes that ended in a terminal state
    uint64_t truncated;      // complete episodes that were truncated, and not terminated
    uint64_t failed;         // complete episodes whose environment failed
    uint64_t streams;        // stretches of rows without a gap
    uint32_t version_least;  // of the policies that acted; least > most: there are no steps
    uint32_t version_most;
    data_range reward;
    data_range obs;         // over all numbers of all observations
    data_range *action;     // box: [action_count]
    uint64_t *action_steps; // discrete: [action_count] how often each action was taken
    data_spread returns;    // of the complete episodes
    data_spread lengths;    // of the complete episodes, in steps
} data_numbers;

void data_numbers_find(data_numbers *out, const data_source *source, const data_episodes *episodes);
void data_numbers_free(data_numbers *numbers);
// Statistics of values [n], which are sorted in place.
data_spread data_spread_of(double *values, uint64_t n);

#endif // REPLAY_DATA_DATA_NUMBERS_H
