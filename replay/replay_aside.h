#ifndef REPLAY_REPLAY_ASIDE_H
#define REPLAY_REPLAY_ASIDE_H

#include <stdint.h>

#include "common/oct_role.h"

// Whose rows were set aside (replay_range.h): sessions, with their certificates, and how many rows.
//
// Threads: one user at a time. Full: of REPLAY_ASIDE_MAX sessions the one with the fewest rows
// makes room; all counts the rows of every session.
#define REPLAY_ASIDE_MAX 32

typedef struct replay_aside_session {
    uint64_t session;
    uint32_t actor_id;
    uint64_t rows;
    char certificate[OCT_HOLDER_NAME_MAX + 1]; // "": the session came with none
} replay_aside_session;

// {0}: none.
typedef struct replay_aside {
    uint64_t all; // rows
    uint32_t count;
    replay_aside_session sessions[REPLAY_ASIDE_MAX];
} replay_aside;

// holder: NULL, the certificate is not known. Returns the session's entry.
const replay_aside_session *replay_aside_note(replay_aside *aside, uint64_t session,
                                              uint32_t actor_id, const oct_holder *holder,
                                              uint32_t rows);

#endif // REPLAY_REPLAY_ASIDE_H
