#ifndef REPLAY_REPLAY_DEDUPE_H
#define REPLAY_REPLAY_DEDUPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
// Threads: one user at a time. Full: the session that was silent longest is forgotten.
#define REPLAY_REPLACED_MAX 4

typedef struct replay_dedupe replay_dedupe;

typedef enum replay_verdict {
    REPLAY_NEXT,      // take it, then replay_dedupe_advance
    REPLAY_DUPLICATE, // held already: acknowledge again
    REPLAY_GAP,       // one before it is missing: acknowledge what is held
    REPLAY_STALE,     // of a session that was replaced
} replay_verdict;

typedef struct replay_session {
    uint32_t actor_id;
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

// 1 <= first_unacked <= sequence. Gives the verdict, and in *index the place of the actor's
// session, which stays the same while the session lives. O(1).
replay_verdict replay_dedupe_look(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session,
                                  uint64_t sequence, uint64_t first_unacked, uint32_t *index);
// The place of this session of the actor; REPLAY_SESSION_NONE: it is not known, or was replaced.
uint32_t replay_dedupe_find(const replay_dedupe *dedupe, uint32_t actor_id, uint64_t session);
// The batch that was REPLAY_NEXT is done with: acknowledge it.
void replay_dedupe_advance(replay_dedupe *dedupe, uint32_t index);
// NULL: no session there.
replay_session *replay_dedupe_session(replay_dedupe *dedupe, uint32_t index);

#endif // REPLAY_REPLAY_DEDUPE_H
