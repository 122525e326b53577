#ifndef LEARNER_LEARNER_KEY_H
#define LEARNER_LEARNER_KEY_H

#include "common/oct_reason.h"
#include "proto/wire_sign.h"

// The key that a run signs with (wire_sign.h): learner.key in its folder, of 32 bytes and mode
// 0600. The first learner of the run that needs the key makes it. It stays with the run, so that
//       actors recognize the learner after a restart.
//
// Threads: the loop thread.

// The caller destroys *out. OCT_EIO: the file can be neither read nor made, or is not a key; reason
// has one line.
OCT_CHECKED oct_err learner_key_open(wire_signer **out, const char *folder, oct_reason *why);
// 64 hexadecimal digits of the public key, as octet-actor --pin takes it.
#define LEARNER_KEY_TEXT_BYTES (2 * WIRE_PUBLIC_KEY_BYTES + 1)
void learner_key_print(const wire_signer *signer, char out[LEARNER_KEY_TEXT_BYTES]);

#endif // LEARNER_LEARNER_KEY_H
