#ifndef REPLAY_REPLAY_STALE_H
#define REPLAY_REPLAY_STALE_H

#include <stdbool.h>
#include <stdint.h>

// Whether a session that counts as replaced is the one that lives. Batches that an earlier life of
// an actor left behind end soon, or come between those of the newest (replay_dedupe.h). One that
// goes on alone is the actor, and was shut out by batches of a life that replay no longer knew: it
// resends for ever, at least once a minute. Only a new session lets it in.
//
// Threads: any, no shared state. Time is given.
#define REPLAY_STALE_S       30 // as long, …
#define REPLAY_STALE_BATCHES 4  // … and as many

// Of one actor; {0}: nothing has come.
typedef struct replay_stale {
    uint64_t session;
    uint64_t since_ns;
    uint32_t count;
    bool is_told;
} replay_stale;

// A batch of a replaced session came. True, once: it goes on alone.
bool replay_stale_came(replay_stale *stale, uint64_t session, uint64_t now_ns);
// A batch of the actor's newest session came.
void replay_stale_end(replay_stale *stale);

#endif // REPLAY_REPLAY_STALE_H
