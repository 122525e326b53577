#ifndef POLICY_CODEC_CODEC_RECEIVER_H
#define POLICY_CODEC_CODEC_RECEIVER_H

#include "common/oct_reason.h"
#include "policy/codec/codec_delta.h"

// The receiving end of published policies: it holds the newest version, applies changes to that
// version, and reports when a version was missed. It takes each version of a run once and never
// goes back to an older one.
//
// Threads: one user. Owns: two images (the held one and the next one) and a coder. The first
// policies allocate them; later policies allocate nothing unless the precision changes.
typedef struct codec_receiver codec_receiver;

codec_receiver *codec_receiver_create(void);
void codec_receiver_destroy(codec_receiver *receiver); // NULL is a no-op

// Takes the bytes of one policy, complete or a change. After an error the held version stays.
//   OCT_OK         *image is the new version, borrowed until the next call
//   OCT_EPROTO, OCT_EINVAL  as policy_decode, with one line in reason; also OCT_EPROTO for version
//                           0, and for a complete policy of another run or network than the held
//                           one
//   OCT_EAGAIN     the policy is not newer than the held version of its run: nothing to do
//   OCT_ENOTFOUND  the policy is a change of a version that is not held, or of a version with the
//                  same number but other content; ask for a complete policy
OCT_CHECKED oct_err codec_receiver_take(codec_receiver *receiver, const uint8_t *bytes,
                                        size_t length, const policy_image **image, oct_reason *why);
uint64_t codec_receiver_version(const codec_receiver *receiver); // the held version; 0: none
// Returns the count of policies that were refused because they were older than the held version of
// the same run: an answer to a request overtook them, or a peer repeated them.
uint64_t codec_receiver_older(const codec_receiver *receiver);
// Forgets the held version. The next policy must be complete and may belong to another run.
void codec_receiver_reset(codec_receiver *receiver);

#endif // POLICY_CODEC_CODEC_RECEIVER_H
