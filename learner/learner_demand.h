#ifndef LEARNER_LEARNER_DEMAND_H
#define LEARNER_LEARNER_DEMAND_H

#include <stdbool.h>

// How many actors a run can use: the number that an autoscaler follows.
//
// Replay's limiter ties samples to inserts, so that of learner and actors one waits, for the other.
// A live actor works for the share 1 - a of its time (a: actor_wait_share), the training thread for
// the share 1 - w (w: wait_share). As many actors as there are, times (1 - a) / (1 - w), are as
// many as make both work all the time. Where both wait for something else (replay, the network),
// the two shares cancel out, and nobody is asked for.
//
// Both shares are averaged over about LEARNER_DEMAND_S, so that a single row decides nothing.
//
// Threads: any, one at a time. Plain values; all zero: nothing is known.

#define LEARNER_DEMAND_S         30.0
#define LEARNER_DEMAND_RATIO_MAX 10.0 // never wanted: more than so many times what there are …
#define LEARNER_DEMAND_RATIO_MIN 0.1  // … nor less than this share of them

typedef struct learner_demand {
    bool is_known;
    double learner_wait, actor_wait; // shares of the time
} learner_demand;

// Takes a row of elapsed_s > 0 seconds. A share that is NaN was not measured in it; then the row
// counts for nothing.
void learner_demand_row(learner_demand *demand, double elapsed_s, double learner_wait,
                        double actor_wait);
// Actors wanted, when `actors` are alive: 1 at least, NaN as long as nothing is known of them.
double learner_demand_actors(const learner_demand *demand, double actors);

#endif // LEARNER_LEARNER_DEMAND_H
