#ifndef CODEC_CODEC_DELTA_H
#define CODEC_CODEC_DELTA_H

#include "policy/policy_header.h"

// A policy as the change from an earlier version of the same run: new scales of single rows, and
// for every weight what has to be added to the code that the receiver can predict. The bytes begin
// with the header of a complete policy (origin.base_version says which version is changed);
// docs/internals/wire.md has the rest. Applying a delta to its base gives the new image bit for
// bit.
//
// Threads: any; a coder belongs to one thread. Owns: a coder its work space.
// Precisions: INT8 and INT4. Others are always sent complete.

typedef struct codec_coder codec_coder;
codec_coder *codec_coder_create(const policy_spec *spec, policy_precision precision);
void codec_coder_destroy(codec_coder *coder); // NULL is a no-op

// Encodes next as a change of base (same run, spec, precision; an older version). *bytes belongs to
// the coder and is valid until its next use. No allocation. OCT_EAGAIN: the change would not be
// shorter than the complete policy, or the precision has no changes.
OCT_CHECKED oct_err codec_delta_encode(codec_coder *coder, const policy_image *base,
                                       const policy_image *next, const uint8_t **bytes,
                                       size_t *length);

// Decodes bytes, the change of base, into next (allocated for the same spec and precision; not
// base). OCT_ENOTFOUND: the bytes are a sound change of another version or run than base, or of a
// base of that version that is not this one, which their check value shows; OCT_EPROTO, OCT_EINVAL
// as of policy_decode, also when bytes are a complete policy. After an error next holds nothing
// useful, base is as it was.
OCT_CHECKED oct_err codec_delta_decode(codec_coder *coder, policy_image *next,
                                       const policy_image *base, const uint8_t *bytes,
                                       size_t length, char *reason, size_t reason_size);
// The same for a change whose header the parser has read.
OCT_CHECKED oct_err codec_delta_read(policy_parser *parser, codec_coder *coder, policy_image *next,
                                     const policy_image *base, const policy_head_info *head);

#endif // CODEC_CODEC_DELTA_H
