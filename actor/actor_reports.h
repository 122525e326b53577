#ifndef ACTOR_ACTOR_REPORTS_H
#define ACTOR_ACTOR_REPORTS_H

#include "actor/actor_measurements.h"
#include "actor/actor_worker.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

// Reports of an actor or evaluator to the learner (ReportEpisodes).
//
// Threads: the loop thread. Owns: nothing; a plain value. Full: while too many calls are open, a
// report is dropped; the next one has all but its episodes.
typedef void (*actor_reports_fn)(void *arg, oct_err err, const char *detail,
                                 const wire_empty *answer);

typedef struct actor_reports {
    wire_client *client;
    const wire_claim *claim;   // the session that reports; the caller may renew its token
    actor_reports_fn answered; // gets the result of every report but the last
    void *arg;
    uint32_t timeout_ms;
    uint64_t sequence; // of the last report
    uint64_t sent_ns;  // last report of an actor's numbers
} actor_reports;

// Reports the numbers of the acting thread, with the actor's own. unreached: the address of replay
// without a connection, while nothing is acknowledged; else NULL.
void actor_reports_numbers(actor_reports *reports, const actor_numbers *numbers,
                           const actor_measurements *now, const char *unreached);
// Reports an evaluation: its returns, or 0 episodes if it failed. Sets now's numbers of it.
void actor_reports_evaluation(actor_reports *reports, const actor_job *job,
                              actor_measurements *now);
// Reports the progress of the current evaluation, so that the learner does not take an evaluation
// of hours for a dead evaluator. Sets now's numbers of it.
void actor_reports_playing(actor_reports *reports, const actor_playing *playing,
                           actor_measurements *now);
// Reports that this session ends. done gets the answer, or an error after timeout_ms.
OCT_CHECKED oct_err actor_reports_leave(actor_reports *reports, uint32_t timeout_ms,
                                        actor_reports_fn done);

#endif // ACTOR_ACTOR_REPORTS_H
