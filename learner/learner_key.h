#ifndef LEARNER_LEARNER_KEY_H
#define LEARNER_LEARNER_KEY_H

#include "proto/wire_sign.h"

// The key that a run signs with (wire_sign.h): learner.key in its folder, of 32 bytes and mode
// 0600. It is made by the first learner that needs it and stays with the run, so that actors know a
// learner that comes back.
//
// Threads: the loop thread.

// *out is the caller's to destroy. OCT_EIO: it can be neither read nor made, or is no key; one line
// for a person in reason.
OCT_CHECKED oct_err learner_key_open(wire_signer **out, const char *folder, char *reason,
                                     size_t reason_size);
// 64 hexadecimal digits of the public key, as octet-actor --pin takes it.
#define LEARNER_KEY_TEXT_BYTES (2 * WIRE_PUBLIC_KEY_BYTES + 1)
void learner_key_print(const wire_signer *signer, char out[LEARNER_KEY_TEXT_BYTES]);

#endif // LEARNER_LEARNER_KEY_H
