#ifndef REPLAY_REPLAY_ADMIT_H
#define REPLAY_REPLAY_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire_token.h"

// Who may insert: sessions that the learner of this run registered, told by their token
// (docs/internals/decisions/0016-session-tokens.md). Looked at before anything else of a batch is.
//
// A token is computed for the first batch of a session; later ones are compared with what is
// remembered. Only a valid token is remembered, so strangers cost a computation and no memory.
//
// Threads: one user at a time. Owns: the key, and REPLAY_ADMIT_SLOTS remembered sessions, reserved
// by create. Full: two sessions of one slot take turns; each change costs a computation.
#define REPLAY_ADMIT_SLOTS 16384

typedef struct replay_admit replay_admit;

replay_admit *replay_admit_create(void);
void replay_admit_destroy(replay_admit *admit); // NULL is a no-op

// From now on tokens of this run under this key are valid, and no others. True: that is a change;
// what was remembered is forgotten.
bool replay_admit_set_key(replay_admit *admit, uint64_t run_id,
                          const uint8_t key[WIRE_TOKEN_KEY_BYTES]);
bool replay_admit_has_key(const replay_admit *admit);
// Whether the claim's token is that of its session. False before there is a key. O(1).
bool replay_admit_check(replay_admit *admit, const wire_claim *claim);
// Tokens computed so far.
uint64_t replay_admit_computed(const replay_admit *admit);

#endif // REPLAY_REPLAY_ADMIT_H
