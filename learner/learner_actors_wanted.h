#ifndef LEARNER_LEARNER_ACTORS_WANTED_H
#define LEARNER_LEARNER_ACTORS_WANTED_H

#include <stdbool.h>

// How many actors a run can use: the number that an autoscaler follows.
//
// Replay's limiter ties samples to inserts, so that of learner and actors one waits for the other.
// A live actor works for the share 1 - a of its time (a: actor_wait_share), the training thread for
// the share 1 - w (w: wait_share). So (1 - a) / (1 - w) times the present number of actors makes
// both work all the time. Where both wait for something else (replay, the network), the two shares
// cancel out, and no more actors are wanted.
//
// Both shares are averaged over about LEARNER_WANTED_S, so that a single row decides nothing.
//
// Threads: any, one at a time. Plain values; all zero: nothing is known.

#define LEARNER_WANTED_S 30.0
#define LEARNER_WANTED_RATIO_MAX                                                                   \
    10.0 // never wanted: more than this many times the present number …
#define LEARNER_WANTED_RATIO_MIN 0.1 // … nor less than this share of it

typedef struct learner_actors_wanted {
    bool is_known;
    double learner_wait, actor_wait; // shares of the time
} learner_actors_wanted;

// Adds a row of elapsed_s > 0 seconds. If a share is NaN, it was not measured, and the row changes
// nothing.
void learner_actors_wanted_row(learner_actors_wanted *wanted, double elapsed_s, double learner_wait,
                               double actor_wait);
// Returns the number wanted when `actors` are alive: at least 1; NaN while nothing is known.
double learner_actors_wanted_get(const learner_actors_wanted *wanted, double actors);

#endif // LEARNER_LEARNER_ACTORS_WANTED_H
