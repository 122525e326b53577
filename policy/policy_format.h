#ifndef POLICY_POLICY_FORMAT_H
#define POLICY_POLICY_FORMAT_H

#include "policy/policy_spec.h"

// A policy as bytes: one format for file, export and (inside the protobuf envelope) the wire.
// docs/wire.md has it byte by byte. Little-endian; header, tensors, CRC-32 at the end.
//
// Threads: any, no shared state. Owns: an image holds its own copy of everything.
// Errors: OCT_EPROTO for bytes that are not a whole, sound policy (with one line in reason);
// OCT_EINVAL for a newer format version than this build knows.

#define POLICY_FORMAT_VERSION 1
#define POLICY_BYTES_MAX      (1u << 28)

typedef enum policy_precision { POLICY_FP32 = 1, POLICY_INT8 = 2 } policy_precision;

// Where a policy came from.
typedef struct policy_origin {
    uint64_t run_id;
    uint64_t version;      // grows within the run
    uint64_t base_version; // 0: complete
    uint64_t updates;      // learner updates
    uint64_t env_steps;    // that the learner had heard of
    float eval_return;     // mean of its evaluation, NaN when not evaluated
    char run_name[POLICY_NAME_MAX];
} policy_origin;

// A decoded policy. Weights as codes [outputs][inputs] and scales (INT8; architecture §4:
// scale_j = max|w_j| / 127, code = round-half-even(w / scale) in -127..127), or floats (FP32).
// per_tensor: all scales of a layer are equal.
typedef struct policy_image {
    policy_spec spec;
    policy_origin origin;
    policy_precision precision;
    bool per_tensor;
    float *obs_mean;                   // [obs_count], NULL unless spec.normalise
    float *obs_inverse_std;            // [obs_count], NULL unless spec.normalise
    int8_t *codes[POLICY_LAYERS_MAX];  // INT8: [outputs][inputs]
    float *scales[POLICY_LAYERS_MAX];  // INT8: [outputs]
    float *weights[POLICY_LAYERS_MAX]; // FP32: [outputs][inputs]
    float *bias[POLICY_LAYERS_MAX];    // [outputs]
    float *gain[POLICY_LAYERS_MAX];    // [outputs], NULL unless layer_norm
    float *offset[POLICY_LAYERS_MAX];  // [outputs], NULL unless layer_norm
    void *block;                       // the one allocation behind all of these
} policy_image;

// Allocates an image for spec (checked) with all tensors zero, to be filled by the quantizer.
OCT_CHECKED oct_err policy_image_create(policy_image **out, const policy_spec *spec,
                                        policy_precision precision);
void policy_image_destroy(policy_image *image); // NULL is a no-op

size_t policy_encoded_size(const policy_image *image);
// Writes exactly policy_encoded_size bytes.
void policy_encode(const policy_image *image, uint8_t *out);
OCT_CHECKED oct_err policy_decode(policy_image **out, const uint8_t *bytes, size_t length,
                                  char *reason, size_t reason_size);

#endif // POLICY_POLICY_FORMAT_H
