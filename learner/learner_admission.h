#ifndef LEARNER_LEARNER_ADMISSION_H
#define LEARNER_LEARNER_ADMISSION_H

#include "common/oct_reason.h"
#include "learner/learner_actors.h"
#include "learner/learner_report.h"
#include "proto/wire_token.h"

// Says who may take part in a run, and how much of it one certificate may use: registrations, the
// tokens of sessions, evaluations (tickets), and lines in the log. learner_admission.c explains the
// limits.
//
// Threads: the loop thread. Owns: the key of the tokens, and budgets per certificate.
typedef struct learner_admission learner_admission;

// Unanswered evaluations that one certificate's evaluators may have: evaluations in progress, and
// lost ones. One lost evaluation per minute is forgiven.
#define LEARNER_TICKETS_MAX      32
#define LEARNER_TICKETS_A_SECOND (1.0 / 60)

// Pointers are borrowed for as long as the admission.
typedef struct learner_admission_options {
    const config_experiment *config;
    uint64_t run_id;
    const uint8_t *key; // WIRE_TOKEN_KEY_BYTES bytes, which are copied
    learner_actors *actors;
    learner_tallies *tallies;
    const struct learner_pace *pace; // lock-step: gives the session of an actor's index
    struct learner_pacer *pacer;
} learner_admission_options;

learner_admission *learner_admission_create(const learner_admission_options *options);
void learner_admission_destroy(learner_admission *admission); // NULL is a no-op

// Returns the key that signs the sessions' tokens, borrowed. Replay has the same key.
const uint8_t *learner_admission_key(const learner_admission *admission);
// Writes the token of a registered session (wire_token.h).
void learner_admission_token(const learner_admission *admission, const learner_actor *actor,
                             uint8_t out[WIRE_TOKEN_BYTES]);
// Finds a registered actor by id and token. Returns NULL if none matches.
learner_actor *learner_admission_find(learner_admission *admission, uint32_t actor_id,
                                      const uint8_t token[WIRE_TOKEN_BYTES]);
// Registers an actor or evaluator with an environment that fits the run, and gives it a slot. Its
// session is that of its token, of this process or of an earlier one of the run, or in lock-step
// that of its index. holder is its certificate, or NULL where the transport uses none. Errors, each
// with one line in why:
//   OCT_EINVAL its session is registered in another role
//   OCT_EAGAIN no slot is free, or an actor with another certificate has its index
OCT_CHECKED oct_err learner_admission_register(learner_admission *admission,
                                               const wire_register *request,
                                               const oct_holder *holder, learner_actor **out,
                                               oct_reason *why);
// Counts a registration that was refused because the peer does not fit the run. Status and
// learner_run_trouble report why.
void learner_admission_refuse(learner_admission *admission, const wire_register *request,
                              const char *why);
// Returns the last reason passed to learner_admission_refuse: for LEARNER_PEER_GONE_S, and after
// that until an actor is live; "": there is none.
const char *learner_admission_last_refused(const learner_admission *admission);
// Rate limit for log lines about actors that connect and disconnect, one budget per certificate.
// Returns true if a line may be written now; suppressed lines are counted in a line before it.
// holder is all zeros where the transport uses no certificates.
bool learner_admission_may_tell(learner_admission *admission, const oct_holder *holder);
// Counts a report or request that is ignored, and logs the first; what says what is wrong.
void learner_admission_ignored(learner_admission *admission, const learner_actor *actor,
                               const char *what);
// Returns true if an evaluator may have an order: its certificate has not left too many unanswered.
// An evaluator that already has an order may request it again.
bool learner_admission_may_evaluate(learner_admission *admission, const learner_actor *actor);
void learner_admission_ordered(learner_admission *admission, learner_actor *actor, uint64_t ticket);
void learner_admission_answered(learner_admission *admission, learner_actor *actor);

#endif // LEARNER_LEARNER_ADMISSION_H
