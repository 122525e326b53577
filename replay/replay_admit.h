#ifndef REPLAY_REPLAY_ADMIT_H
#define REPLAY_REPLAY_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire_token.h"

// Decides who may insert: sessions that the learner of this run registered, recognized by their
// token (docs/internals/decisions/0016-session-tokens.md). The check comes before anything else in
// a batch is read.
//
// A token is computed for the first batch of a session and remembered; the tokens of later batches
// are compared with it. Only a valid token is remembered, so an unknown sender costs a computation
// and no memory.
//
// Threads: one user at a time. Owns: the key, and REPLAY_ADMIT_SLOTS remembered sessions, reserved
// by create. Full: two sessions that share a slot replace each other, and each replacement costs a
// computation.
#define REPLAY_ADMIT_SLOTS 16384

typedef struct replay_admit replay_admit;

replay_admit *replay_admit_create(void);
void replay_admit_destroy(replay_admit *admit); // NULL is a no-op

// From now on, tokens of this run under this key are valid, and no others. Returns true if the run
// or the key changed; then all remembered sessions are forgotten.
bool replay_admit_set_key(replay_admit *admit, uint64_t run_id,
                          const uint8_t key[WIRE_TOKEN_KEY_BYTES]);
bool replay_admit_has_key(const replay_admit *admit);
// Returns true if the claim's token is that of its session; false before there is a key. O(1).
bool replay_admit_check(replay_admit *admit, const wire_claim *claim);
// Tokens computed so far.
uint64_t replay_admit_computed(const replay_admit *admit);

#endif // REPLAY_REPLAY_ADMIT_H
