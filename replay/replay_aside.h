#ifndef REPLAY_REPLAY_ASIDE_H
#define REPLAY_REPLAY_ASIDE_H

#include <stdint.h>

#include "common/oct_role.h"

// Counts the rows that were set aside (replay_range.h), by session and with the session's
// certificate.
//
// Threads: one user at a time. Full: a new session takes the slot of the session with the fewest
// rows. `all` counts the rows of every session.
#define REPLAY_ASIDE_MAX 32

// A session with rows set aside.
typedef struct replay_aside_session {
    uint64_t session;
    uint32_t actor_id;
    uint64_t rows;
    // "": the session had no certificate, or its connection was closed.
    char certificate[OCT_HOLDER_NAME_MAX + 1];
} replay_aside_session;

// {0}: no rows were set aside.
typedef struct replay_aside {
    uint64_t all; // rows of all sessions
    uint32_t count;
    replay_aside_session sessions[REPLAY_ASIDE_MAX];
} replay_aside;

// Counts rows of a session and returns its entry. holder: NULL if the certificate is not known.
const replay_aside_session *replay_aside_note(replay_aside *aside, uint64_t session,
                                              uint32_t actor_id, const oct_holder *holder,
                                              uint32_t rows);

#endif // REPLAY_REPLAY_ASIDE_H
