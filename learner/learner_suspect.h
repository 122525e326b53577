#ifndef LEARNER_LEARNER_SUSPECT_H
#define LEARNER_LEARNER_SUSPECT_H

#include "learner/learner_batch.h"

// Whose rows made an update fail. Of the batch of a refused update, the window with the largest
// number is looked for; replay is asked for the session that its rows are of (window_origins).
//
// Threads: the loop thread. No memory of its own.
#define LEARNER_SUSPECT_PERIOD_S 1

// {0}: no update was refused.
typedef struct learner_suspect {
    // Of the last refused batch.
    double obs;                // the largest magnitude of an observation …
    uint32_t obs_index;        // … and which number of an observation it is
    double number;             // the largest magnitude of an observation or reward
    uint64_t key, incarnation; // of the window that has it
    bool is_wanted;            // the window's session is to be asked for
    bool is_asked;             // and has not been answered
    uint64_t asked_ns;
    double asked_number;
    // As replay answered last.
    uint64_t session; // 0: not known
    uint32_t actor_id;
    double session_number;
} learner_suspect;

// The update of batch was refused.
void learner_suspect_note(learner_suspect *suspect, const learner_batch *batch, uint64_t now_ns);
// What to ask replay for; out stands as long as suspect. False: nothing.
bool learner_suspect_ask(learner_suspect *suspect, uint64_t run_id, uint64_t epoch, uint64_t now_ns,
                         wire_priorities *out);
// Replay's answer; NULL: it has none. True: the session is another one than before.
bool learner_suspect_answered(learner_suspect *suspect, const wire_sessions *answer);

#endif // LEARNER_LEARNER_SUSPECT_H
