#ifndef REPLAY_REPLAY_STALE_H
#define REPLAY_REPLAY_STALE_H

#include <stdbool.h>
#include <stdint.h>

// Decides whether a session that counts as replaced is the live session. Late batches of an
// earlier life of an actor end soon, or arrive between batches of the newest session
// (replay_dedupe.h). If only the replaced session keeps sending, it is the actor: late batches of a
// life that replay no longer knew have replaced it. It would send again forever, at least once a
// minute, and only a new session helps.
//
// Threads: any, no shared state. The caller supplies the time.
#define REPLAY_STALE_S       30 // the session must send at least this long, …
#define REPLAY_STALE_BATCHES 4  // … and this many batches

// State for one actor's slot; {0}: no batch of a replaced session has come.
typedef struct replay_stale {
    uint64_t session;  // the replaced session that sends
    uint64_t since_ns; // its first batch
    uint32_t count;    // its batches
    bool is_reported;  // replay_stale_came has returned true for it
} replay_stale;

// Notes a batch of a replaced session. Returns true once, when only that session keeps sending.
bool replay_stale_came(replay_stale *stale, uint64_t session, uint64_t now_ns);
// Notes a batch of the actor's newest session.
void replay_stale_end(replay_stale *stale);

#endif // REPLAY_REPLAY_STALE_H
