#ifndef LEARNER_LEARNER_SUSPECT_H
#define LEARNER_LEARNER_SUSPECT_H

#include "learner/learner_batch.h"

// The session whose rows made an update fail. In the batch of a refused update it finds the window
// with the largest number, and asks replay which session its rows are of (window_origins).
//
// Threads: the loop thread. Plain values.
#define LEARNER_SUSPECT_PERIOD_S 1

// {0}: no update was refused.
typedef struct learner_suspect {
    // Properties of the last batch for which an update was refused.
    double obs;         // the largest magnitude of an observation …
    uint32_t obs_index; // … and its index in the observation
    double number;      // the largest magnitude of an observation or reward
    // The window with that number. The caller sets which replay it came from.
    uint64_t key, incarnation;
    uint32_t member;
    bool is_wanted; // replay is to be asked for the window's session
    bool is_asked;  // and has not answered
    uint64_t asked_ns;
    double asked_number;
    // As replay answered last.
    uint64_t session; // 0: not known
    uint32_t actor_id;
    double session_number;
} learner_suspect;

// The update of batch was refused. Returns the window with the largest number; the caller sets its
// member and incarnation.
uint32_t learner_suspect_note(learner_suspect *suspect, const learner_batch *batch,
                              uint64_t now_ns);
// Makes a request to replay, valid as long as suspect. Returns false if there is nothing to ask, or
// one was made in the last LEARNER_SUSPECT_PERIOD_S.
bool learner_suspect_ask(learner_suspect *suspect, uint64_t run_id, uint64_t epoch, uint64_t now_ns,
                         wire_priorities *out);
// Takes replay's answer; NULL: it has none. Returns true if the session is another one than before.
bool learner_suspect_answered(learner_suspect *suspect, const wire_sessions *answer);

#endif // LEARNER_LEARNER_SUSPECT_H
