#ifndef REPLAY_REPLAY_COMPLAINTS_H
#define REPLAY_REPLAY_COMPLAINTS_H

#include <stdint.h>

#include "common/oct_bucket.h"
#include "common/oct_log_limit.h"
#include "common/oct_role.h"
#include "replay/replay_aside.h"
#include "replay/replay_stale.h"
#include "replay/replay_table.h"

// Counts what replay refuses, and logs it within limits: messages, requests, and batches of
// sessions. The last reason also goes into the status.
//
// Threads: one user at a time. Owns: nothing; a plain value. Full: log lines are left out and
// counted.
typedef struct replay_complaints {
    oct_log_limit bad_batch;   // malformed batches
    uint64_t bad_header_count; // of bad_batch: those that the table counted, too
    oct_log_limit bad_token;   // batches without the token of a registered session
    oct_log_limit no_place;    // batches of sessions without a slot
    oct_log_limit bad_ask;     // requests for acks that were refused
    oct_log_limit bad_request; // requests that were malformed or not for the caller's role
    oct_log_limit fenced;      // requests of learners that may not use the table
    oct_log_limit bad_copy;    // copies that could not be written
    // Why the last batch was rejected; "": none was.
    char rejected[WIRE_NAME_MAX + 1];
    replay_aside aside;  // rows with numbers outside the run's range
    oct_bucket reported; // rate limit of log lines about sessions
    // By session index: the session whose rejected batch was logged.
    uint64_t reported_session[REPLAY_SESSIONS_MAX];
    // By session index: batches of sessions that it replaced.
    replay_stale stale[REPLAY_SESSIONS_MAX];
} replay_complaints;

void replay_complaints_init(replay_complaints *complaints);
// Another table is in use: its sessions have other indexes.
void replay_complaints_begin(replay_complaints *complaints);

// Counts a complaint, and logs it if a line is due.
void replay_complain(oct_log_limit *complaint, const char *id, const char *reason);
// Logs a complaint that is due, with the peer's certificate.
void replay_complain_of(const oct_log_limit *complaint, const char *id, const oct_holder *holder,
                        const char *reason);

// Keeps a reason for the status.
void replay_complaints_note(replay_complaints *complaints, const char *reason);
// Handles a batch that the table rejected: logs the first of each session; later ones are only
// counted. holder: of a batch with a number outside the run's range, the sender's certificate;
// NULL: it has none.
void replay_complaints_rejected(replay_complaints *complaints, const wire_batch *batch,
                                const replay_insert *result, const oct_holder *holder);
// Notes a batch of a session that counts as replaced. It is not acknowledged.
void replay_complaints_stale(replay_complaints *complaints, const wire_batch *batch,
                             uint32_t session);
// Returns the number of batches that were rejected, for any reason. stats: of the table, or of this
// process.
uint64_t replay_complaints_count(const replay_complaints *complaints,
                                 const replay_table_stats *stats);

#endif // REPLAY_REPLAY_COMPLAINTS_H
