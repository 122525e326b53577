#ifndef LEARNER_LEARNER_ATOMS_WARNING_H
#define LEARNER_LEARNER_ATOMS_WARNING_H

#include <stdbool.h>
#include <stdint.h>

// Decides when to warn that the ends of the atoms have cut targets for too long (algos/algo_cut.h).
// An update that takes the share s of the range off the means of its targets, with returns over n
// steps, leaves its values too low by s / (1 - discount^n): with the share below, a discount of
// 0.99 and 5 steps, by a tenth of the range. New critics predict arbitrary values, so cuts in the
// first few thousand updates mean nothing.
//
// Threads: any, one at a time. Plain values; all zero is the initial state.

#define LEARNER_ATOMS_WARNING_SHARE   0.005 // of the range, mean of a row of metrics
#define LEARNER_ATOMS_WARNING_UPDATES 5000  // in rows on end

typedef struct learner_atoms_warning { // of one end
    uint64_t updates;                  // since a row had less than LEARNER_ATOMS_WARNING_SHARE
    bool is_logged;
} learner_atoms_warning;

// Takes a row: the mean share that was cut, NaN if none was measured, and the row's updates.
// Returns true once, when it is time to warn.
bool learner_atoms_warning_row(learner_atoms_warning *cut, double share, uint64_t updates);

#endif // LEARNER_LEARNER_ATOMS_WARNING_H
