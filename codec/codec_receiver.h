#ifndef CODEC_CODEC_RECEIVER_H
#define CODEC_CODEC_RECEIVER_H

#include "codec/codec_delta.h"

// The receiving end of published policies: keeps the newest version, applies changes to it, and
// says when a version was missed. Contract 1: never goes back, takes each version once.
//
// Threads: one user. Owns: two images (held and next) and a coder, made when the first policies
// need them and used again afterwards: no allocation later, unless the precision changes.
typedef struct codec_receiver codec_receiver;

codec_receiver *codec_receiver_create(void);
void codec_receiver_destroy(codec_receiver *receiver); // NULL is a no-op

// Takes the bytes of one policy, complete or a change.
//   OCT_OK         *image is the new version, borrowed until the next call
//   OCT_EAGAIN     not newer than what is held: nothing to do
//   OCT_ENOTFOUND  a change of a version that is not held, or of another one of that number: ask
//                  for a complete policy
//   OCT_EPROTO, OCT_EINVAL  as of policy_decode, also for a complete policy of another run or
//                  network than is held; one line in reason
// After an error what is held stays.
OCT_CHECKED oct_err codec_receiver_take(codec_receiver *receiver, const uint8_t *bytes,
                                        size_t length, const policy_image **image, char *reason,
                                        size_t reason_size);
uint64_t codec_receiver_version(const codec_receiver *receiver); // held; 0: none
// Policies of its run that were older than the one that was held: those that an answer overtook,
// or that somebody sends again.
uint64_t codec_receiver_older(const codec_receiver *receiver);
// Forgets what is held: the next policy may be of another run, and has to be complete.
void codec_receiver_reset(codec_receiver *receiver);

#endif // CODEC_CODEC_RECEIVER_H
