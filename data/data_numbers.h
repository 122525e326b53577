#ifndef DATA_DATA_NUMBERS_H
#define DATA_DATA_NUMBERS_H

#include "data/data_episodes.h"

// What is in recorded steps, in numbers. Threads: any; no state.

// Of values that there are none of: all NaN.
typedef struct data_spread {
    double mean;
    double sd; // n - 1; 0 for one value
    double least, q25, median, q75, most;
} data_spread;

typedef struct data_range {
    double least, most;
} data_range;

typedef struct data_numbers {
    uint64_t rows;
    uint64_t steps;          // rows with an action
    uint64_t random;         // of them, those whose action exploration chose
    uint64_t episodes;       // complete
    uint64_t incomplete;     // parts of episodes
    uint64_t steps_of_parts; // steps of these
    uint64_t terminated;     // of the complete ones: how they ended
    uint64_t truncated;      // and not terminated
    uint64_t failed;         // their environment failed
    uint64_t streams;        // stretches of rows without a gap
    uint32_t version_least;  // of the policies that acted; least > most: no step
    uint32_t version_most;
    data_range reward;
    data_range obs;         // over all numbers of all observations
    data_range *action;     // box: [action_count]
    uint64_t *action_steps; // discrete: [action_count] how often each was taken
    data_spread returns;    // of the complete episodes
    data_spread lengths;    // their steps
} data_numbers;

void data_numbers_find(data_numbers *out, const data_source *source, const data_episodes *episodes);
void data_numbers_free(data_numbers *numbers);
// Sorts values[n].
data_spread data_spread_of(double *values, uint64_t n);

#endif // DATA_DATA_NUMBERS_H
