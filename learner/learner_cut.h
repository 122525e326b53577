#ifndef LEARNER_LEARNER_CUT_H
#define LEARNER_LEARNER_CUT_H

#include <stdbool.h>
#include <stdint.h>

// Whether the ends of the atoms have cut targets for so long that a person should know
// (algos/algo_cut.h). An update that takes the share s of the range off its targets' means, with
// returns over n steps, leaves values s / (1 - discount^n) of it too low: with the shares below,
// a discount of 0.99 and 5 steps, a tenth of the range. Critics that begin to learn expect
// anything, so a few thousand updates say nothing.
//
// Threads: any, one at a time. Plain values; all zero: none was cut yet.

#define LEARNER_CUT_SHARE   0.005 // of the range, mean of a row of metrics
#define LEARNER_CUT_UPDATES 5000  // in rows on end

typedef struct learner_cut { // of one end
    uint64_t updates;        // since a row had less than LEARNER_CUT_SHARE
    bool is_told;
} learner_cut;

// Takes a row: the mean share that was cut, NaN if none was measured, and its updates. True: it is
// time to tell, which comes once.
bool learner_cut_row(learner_cut *cut, double share, uint64_t updates);

#endif // LEARNER_LEARNER_CUT_H
