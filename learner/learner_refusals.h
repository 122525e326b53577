#ifndef LEARNER_LEARNER_REFUSALS_H
#define LEARNER_LEARNER_REFUSALS_H

#include "learner/learner_actors.h"
#include "learner/learner_batches.h"
#include "learner/learner_suspect.h"

// Updates that were refused, because their loss or gradient was not finite or their batch did not
// fit: counts them, and finds the session whose rows may be the cause (learner_suspect.h).
//
// Threads: the loop thread. Owns: plain values.
typedef struct learner_refusals learner_refusals;

learner_refusals *learner_refusals_create(void);
void learner_refusals_destroy(learner_refusals *refusals); // NULL is a no-op

// Takes note of a batch with a refused update. The first is logged, with its reason.
void learner_refusals_note(learner_refusals *refusals, const learner_batch *batch,
                           const policy_spec *spec, const learner_batches *batches);
uint64_t learner_refusals_count(const learner_refusals *refusals); // of this process
// Makes a request to replay as learner_suspect_ask, if the window is from this member.
bool learner_refusals_ask(learner_refusals *refusals, uint32_t member, uint64_t run_id,
                          uint64_t epoch, wire_priorities *out);
// Takes replay's answer; NULL: it has none. Another session than before is logged, with the
// certificate of its actor.
void learner_refusals_answered(learner_refusals *refusals, const wire_sessions *answer,
                               const learner_actors *actors);
// Logs that the run diverged: in_a_row updates were refused. Names the observation or the session
// that may be the cause.
void learner_refusals_log(const learner_refusals *refusals, const policy_spec *spec,
                          uint32_t in_a_row);

#endif // LEARNER_LEARNER_REFUSALS_H
