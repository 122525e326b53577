#ifndef POLICY_POLICY_DELTA_H
#define POLICY_POLICY_DELTA_H

#include "policy/policy_format.h"

// A policy as the change from an earlier version of the same run: new scales of single rows, and
// for every weight what has to be added to the code that the receiver can foresee. The bytes begin
// with the header of a complete policy (origin.base_version says which version is changed);
// docs/wire.md has the rest. Applying a delta to its base gives the new image bit for bit.
//
// Threads: any; a coder belongs to one thread. Owns: a coder its work space.
// Precisions: INT8 and INT4. Others are always sent complete.

// What may come in as bytes, told from the header alone.
typedef struct policy_head_info {
    policy_spec spec;
    policy_origin origin; // base_version 0: complete
    policy_precision precision;
    bool per_tensor;
} policy_head_info;

// Checks magic, format version, length, checksum and header; no tensor is looked at. Errors as of
// policy_decode.
OCT_CHECKED oct_err policy_peek(policy_head_info *out, const uint8_t *bytes, size_t length,
                                char *reason, size_t reason_size);

typedef struct policy_coder policy_coder;
policy_coder *policy_coder_create(const policy_spec *spec, policy_precision precision);
void policy_coder_destroy(policy_coder *coder); // NULL is a no-op

// Encodes next as a change of base (same run, spec, precision; an older version). *bytes belongs to
// the coder and is valid until its next use. No allocation. OCT_EAGAIN: the change would not be
// shorter than the complete policy, or the precision has no changes.
OCT_CHECKED oct_err policy_delta_encode(policy_coder *coder, const policy_image *base,
                                        const policy_image *next, const uint8_t **bytes,
                                        size_t *length);

// Decodes bytes, the change of base, into next (allocated for the same spec and precision; not
// base). OCT_ENOTFOUND: the bytes are a sound change of another version or run than base, or of a
// base of that version that is not this one, which their check value shows; OCT_EPROTO, OCT_EINVAL
// as of policy_decode, also when bytes are a complete policy. After an error next holds nothing
// useful, base is as it was.
OCT_CHECKED oct_err policy_delta_decode(policy_coder *coder, policy_image *next,
                                        const policy_image *base, const uint8_t *bytes,
                                        size_t length, char *reason, size_t reason_size);

#endif // POLICY_POLICY_DELTA_H
