#ifndef REPLAY_REPLAY_DEDUPE_H
#define REPLAY_REPLAY_DEDUPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"

// Stores every batch exactly once (contract 4): decides which batch of an actor comes next.
//
// A batch carries actor id, session (random, one per life of an actor process), sequence (1, 2, 3 …
// within the session) and first_unacked, the lowest sequence that the actor still holds. Only the
// sequence after the last one held is taken. Everything below first_unacked was acknowledged, by
// this replay process or by an earlier one, so an unknown session begins there.
//
// A new session of an actor id replaces its old session. Late batches of the last
// REPLAY_REPLACED_MAX replaced sessions are recognized and dropped. After a restore only the last
// replaced session is known: of batches that waited at the killed process, only a relay may still
// have some.
//
// Full. A forgotten session would be taken for a new one, and its batches could be inserted twice.
// So a session is forgotten only after REPLAY_RESEND_S without a batch, because an actor sends
// again what it holds at least once a minute. The silent session of the same certificate leaves
// first; if there is none, a silent session of the certificate with the most sessions leaves, if
// that certificate has more than the new session's. If no session leaves, the new session is
// refused. The last sixteenth of the slots is reserved for certificates with fewer than 1/256 of
// all slots, so that one certificate cannot take every slot.
//
// Threads: one user at a time. The caller supplies the time (replay_dedupe_set_time).
#define REPLAY_REPLACED_MAX 4   // sessions of one actor
#define REPLAY_RESEND_S     600 // seconds

typedef struct replay_dedupe replay_dedupe;

typedef enum replay_verdict {
    REPLAY_NEXT,      // store it, then call replay_dedupe_advance
    REPLAY_DUPLICATE, // it is held: acknowledge it again
    REPLAY_GAP,       // a batch before it is missing: acknowledge what is held
    REPLAY_STALE,     // its session was replaced
    REPLAY_REFUSED,   // its session is new, and there is no slot
} replay_verdict;

typedef struct replay_session {
    uint32_t actor_id;
    uint32_t holder; // the session's certificate (replay_dedupe_holder); 0: none
    uint64_t session;
    uint64_t replaced; // the session that it replaced; 0: none
    uint64_t sequence; // highest contiguous sequence held
} replay_session;

#define REPLAY_SESSION_NONE UINT32_MAX

replay_dedupe *replay_dedupe_create(uint32_t sessions_max);
void replay_dedupe_destroy(replay_dedupe *dedupe);
size_t replay_dedupe_bytes(uint32_t sessions_max);
uint32_t replay_dedupe_count(const replay_dedupe *dedupe);

// Takes over the sessions of an earlier process; must come before anything else. sessions[i] gets
// slot i. order: [count] the slots by last use, the latest first. Returns false, and changes
// nothing, if order is invalid or two sessions have one actor.
bool replay_dedupe_restore(replay_dedupe *dedupe, const replay_session *sessions,
                           const uint32_t *order, uint32_t count);

// Sets the time that silence is measured by. Before the first call no session is silent.
void replay_dedupe_set_time(replay_dedupe *dedupe, uint64_t now_s);
// Returns a hash that stands for a certificate in sessions, never 0; 0 if holder is NULL.
uint32_t replay_dedupe_holder(const oct_holder *holder);
// Gives an unknown actor a slot, for a session of this certificate. Returns false if there is no
// slot. O(1), but while the table is full it visits all sessions once a second.
bool replay_dedupe_open(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session,
                        uint32_t holder);
bool replay_dedupe_knows(const replay_dedupe *dedupe, uint32_t actor_id);

// Judges a batch; 1 <= first_unacked <= sequence. *index receives the slot of the actor's session,
// which does not change while the session lasts, or REPLAY_SESSION_NONE if the session is refused.
// An unknown actor gets a slot as by replay_dedupe_open with holder 0. O(1).
replay_verdict replay_dedupe_look(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session,
                                  uint64_t sequence, uint64_t first_unacked, uint32_t *index);
// Returns the slot of this session; REPLAY_SESSION_NONE if it is unknown or was replaced.
uint32_t replay_dedupe_find(const replay_dedupe *dedupe, uint32_t actor_id, uint64_t session);
// The batch that was REPLAY_NEXT is done with and may be acknowledged.
void replay_dedupe_advance(replay_dedupe *dedupe, uint32_t index);
// Returns NULL if the slot is empty.
replay_session *replay_dedupe_session(replay_dedupe *dedupe, uint32_t index);

#endif // REPLAY_REPLAY_DEDUPE_H
