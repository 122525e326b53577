#ifndef REPLAY_REPLAY_DEDUPE_H
#define REPLAY_REPLAY_DEDUPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"

// Exactly once (contract 4): which batch of an actor comes next.
//
// A batch carries actor id, session (random, one per life of an actor), sequence (1, 2, 3 … within
// it) and first_unacked, the lowest sequence that the actor still holds. Only the sequence after
// the last one held is taken. Everything below first_unacked was acknowledged, by this replay or by
// an earlier life of it, so an unknown session begins there. A new session of the same actor id
// replaces the old; a straggler of one of the last REPLAY_REPLACED_MAX that were replaced is told
// apart and dropped. After a restore it is the last one alone: of what waited with the replay that
// was killed, only a relay still has something.
//
// Full. A session that is forgotten would be taken for a new one, and its batches could be inserted
// twice. So a session is forgotten only after REPLAY_RESEND_S without a batch: an actor sends again
// what it holds at least once a minute. The sessions of a certificate give way to each other first,
// and then those of the certificate that has the most, if it has more than the newcomer's. A
// newcomer for which no session gives way is refused. The last sixteenth of the places is for
// certificates that have less than 1/256 of all, so that one certificate cannot take every place.
//
// Threads: one user at a time. Time is given (replay_dedupe_set_time).
#define REPLAY_REPLACED_MAX 4
#define REPLAY_RESEND_S     600

typedef struct replay_dedupe replay_dedupe;

typedef enum replay_verdict {
    REPLAY_NEXT,      // take it, then replay_dedupe_advance
    REPLAY_DUPLICATE, // held already: acknowledge again
    REPLAY_GAP,       // one before it is missing: acknowledge what is held
    REPLAY_STALE,     // of a session that was replaced
    REPLAY_REFUSED,   // of a new session for which there is no place
} replay_verdict;

typedef struct replay_session {
    uint32_t actor_id;
    uint32_t holder; // replay_dedupe_holder of the certificate that the session came with; 0: none
    uint64_t session;
    uint64_t replaced; // the session before it, 0 for none
    uint64_t sequence; // highest contiguous sequence held
} replay_session;

#define REPLAY_SESSION_NONE UINT32_MAX

replay_dedupe *replay_dedupe_create(uint32_t sessions_max);
void replay_dedupe_destroy(replay_dedupe *dedupe);
size_t replay_dedupe_bytes(uint32_t sessions_max);
uint32_t replay_dedupe_count(const replay_dedupe *dedupe);

// Takes over sessions of an earlier one, before anything else: sessions[i] gets place i. order:
// [count] the places by last use, the latest first. False, and nothing changes: no such order, or
// two sessions of one actor.
bool replay_dedupe_restore(replay_dedupe *dedupe, const replay_session *sessions,
                           const uint32_t *order, uint32_t count);

// The time by which sessions are silent. It begins with the first call; until then none is.
void replay_dedupe_set_time(replay_dedupe *dedupe, uint64_t now_s);
// A certificate as sessions name it; NULL: 0.
uint32_t replay_dedupe_holder(const oct_holder *holder);
// Gives an actor that is unknown a place, for a session of this certificate. False: no place.
// O(1), but for one look at all sessions in a second while the table is full.
bool replay_dedupe_open(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session,
                        uint32_t holder);
bool replay_dedupe_knows(const replay_dedupe *dedupe, uint32_t actor_id);

// 1 <= first_unacked <= sequence. Gives the verdict, and in *index the place of the actor's
// session, which stays the same while the session lives; REPLAY_SESSION_NONE if it is refused. An
// unknown actor gets a place as by replay_dedupe_open with holder 0. O(1).
replay_verdict replay_dedupe_look(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session,
                                  uint64_t sequence, uint64_t first_unacked, uint32_t *index);
// The place of this session of the actor; REPLAY_SESSION_NONE: it is not known, or was replaced.
uint32_t replay_dedupe_find(const replay_dedupe *dedupe, uint32_t actor_id, uint64_t session);
// The batch that was REPLAY_NEXT is done with: acknowledge it.
void replay_dedupe_advance(replay_dedupe *dedupe, uint32_t index);
// NULL: no session there.
replay_session *replay_dedupe_session(replay_dedupe *dedupe, uint32_t index);

#endif // REPLAY_REPLAY_DEDUPE_H
