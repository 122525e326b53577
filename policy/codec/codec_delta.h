#ifndef POLICY_CODEC_CODEC_DELTA_H
#define POLICY_CODEC_CODEC_DELTA_H

#include "common/oct_reason.h"
#include "policy/policy_header.h"

// Encodes a policy as the change from an earlier version of the same run, the base, and decodes
// such a change: the differences of all floats, and for every weight the difference between its
// code and the code that the receiver predicts from the base. Applying a change to its base gives
// the new image bit for bit. The bytes begin with the header of a complete policy, in which
// origin.base_version names the base; docs/internals/wire.md describes the rest.
//
// Threads: any; a coder belongs to one thread. Owns: a coder owns its work space.
// Precisions: INT8 and INT4. Policies of other precisions are always sent complete.

typedef struct codec_coder codec_coder;
// Reserves the work space for policies of spec and precision. The coder keeps no pointer to spec.
codec_coder *codec_coder_create(const policy_spec *spec, policy_precision precision);
void codec_coder_destroy(codec_coder *coder); // NULL is a no-op

// Encodes next as a change of base, which is an older version with the same run, spec, precision
// and per_tensor. *bytes belongs to the coder and is valid until the next encode. No allocation.
// OCT_EAGAIN: the precision has no changes, or the change would not be shorter than the complete
// policy. *bytes and *length are then unchanged.
OCT_CHECKED oct_err codec_delta_encode(codec_coder *coder, const policy_image *base,
                                       const policy_image *next, const uint8_t **bytes,
                                       size_t *length);

// Decodes bytes, a change of base, into next, another image that was allocated for the same spec
// and precision. After an error the content of next is undefined and base is unchanged. Errors,
// with one line in reason:
//   OCT_EPROTO, OCT_EINVAL  as policy_decode; also OCT_EPROTO for a complete policy, and for a
//                           network or precision that differs from that of base
//   OCT_ENOTFOUND  the bytes change another run or version than base, or their check value shows
//                  that the sender's base had the same version but other content
OCT_CHECKED oct_err codec_delta_decode(codec_coder *coder, policy_image *next,
                                       const policy_image *base, const uint8_t *bytes,
                                       size_t length, oct_reason *why);
// Does the same with a change whose header policy_header_read has read: parser is at its first byte
// after the header, head is the header.
OCT_CHECKED oct_err codec_delta_read(policy_parser *parser, codec_coder *coder, policy_image *next,
                                     const policy_image *base, const policy_head_info *head);

#endif // POLICY_CODEC_CODEC_DELTA_H
