#ifndef POLICY_POLICY_FORMAT_H
#define POLICY_POLICY_FORMAT_H

#include "policy/policy_spec.h"

// A policy as bytes: one format for file, export and (inside the protobuf envelope) the wire.
// docs/internals/wire.md has it byte by byte. Little-endian; header, tensors, CRC-32 at the end.
//
// Threads: any, no shared state. Owns: an image holds its own copy of everything.
// Errors: OCT_EPROTO for bytes that are not a whole, sound policy (with one line in reason);
// OCT_EINVAL for a newer format version than this build knows.

#define POLICY_FORMAT_VERSION 5
#define POLICY_BYTES_MAX      (1u << 28)

// How weights are kept. What a kernel computes with each (policy_math.h):
//   FP32, BF16, FP16  the weight as a float (widening is exact), times the activation as a float
//   INT8              int8 code times the uint8 code of the activation, exactly
//   INT4              the same as INT8 with the code multiplier * nibble, at most 15 * 7 = 105 in
//                     magnitude: a 4-bit policy is an 8-bit policy whose codes factor
typedef enum policy_precision {
    POLICY_FP32 = 1,
    POLICY_INT8 = 2,
    POLICY_BF16 = 3,
    POLICY_FP16 = 4,
    POLICY_INT4 = 5,
} policy_precision;

// INT4: inputs that share a multiplier. The last group of a row may be shorter.
#define POLICY_INT4_GROUP     32
#define POLICY_INT4_CODE_MAX  7
#define POLICY_MULTIPLIER_MAX 15

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

// Whether a run trained it. Imported policies have no run.
static inline bool
policy_origin_is_run(const policy_origin *origin)
{
    return origin->run_id != 0;
}

// A decoded policy. Weights of a layer are [rows][columns] (policy_layer_rows; a dense layer:
// outputs and inputs), as codes and scales (INT8: docs/internals/quantisation.md), or floats
// (FP32). per_tensor: all scales of a layer are equal.
typedef struct policy_image {
    policy_spec spec;
    policy_origin origin;
    policy_precision precision;
    bool per_tensor;
    float *obs_mean;                         // [obs_count], NULL unless spec.normalise
    float *obs_inverse_std;                  // [obs_count], NULL unless spec.normalise
    int8_t *codes[POLICY_LAYERS_MAX];        // INT8, INT4: [rows][columns]
    float *scales[POLICY_LAYERS_MAX];        // INT8, INT4: [rows]
    uint8_t *multipliers[POLICY_LAYERS_MAX]; // INT4: [rows][policy_int4_groups(columns)]
    uint16_t *halves[POLICY_LAYERS_MAX];     // BF16, FP16: [rows][columns]
    float *weights[POLICY_LAYERS_MAX];       // FP32: [rows][columns]
    float *bias[POLICY_LAYERS_MAX];          // [rows]
    float *gain[POLICY_LAYERS_MAX];          // [outputs], NULL unless layer_norm
    float *offset[POLICY_LAYERS_MAX];        // [outputs], NULL unless layer_norm
    float *deviation;                        // [action_count], NULL unless the head has its own
    uint8_t *contract;                       // policy_contract.h; NULL: none
    uint32_t contract_bytes;
    void *block; // the one allocation behind all of these
    size_t block_bytes;
} policy_image;

// Allocates an image for spec (checked) with all tensors zero, to be filled by the quantizer.
OCT_CHECKED oct_err policy_image_create(policy_image **out, const policy_spec *spec,
                                        policy_precision precision);
void policy_image_destroy(policy_image *image); // NULL is a no-op
// to becomes a copy of from; both of the same spec and precision. The contract is not copied
// (policy_contract_copy).
void policy_image_copy(policy_image *to, const policy_image *from);

// Whether weights are codes that multiply uint8 activations (INT8, INT4).
static inline bool
policy_is_integer(policy_precision precision)
{
    return precision == POLICY_INT8 || precision == POLICY_INT4;
}

static inline uint32_t
policy_int4_groups(uint32_t inputs)
{
    return (inputs + POLICY_INT4_GROUP - 1) / POLICY_INT4_GROUP;
}

// INT8, INT4: out[columns] = the codes of row j of layer l as int8 (INT4: multiplier * nibble).
void policy_image_row(const policy_image *image, uint32_t l, uint32_t j, int8_t *out);

const char *policy_precision_name(policy_precision precision); // "int8"
// False: name is none of fp32, bf16, fp16, int8, int4.
bool policy_precision_parse(policy_precision *out, const char *name);

size_t policy_encoded_size(const policy_image *image);
// Writes exactly policy_encoded_size bytes.
void policy_encode(const policy_image *image, uint8_t *out);
// What may come in as bytes, told from the header alone.
typedef struct policy_head_info {
    policy_spec spec;
    policy_origin origin; // base_version 0: complete
    policy_precision precision;
    bool per_tensor;
    const uint8_t *contract; // policy_contract.h; in the bytes that were read; NULL: none
    uint32_t contract_bytes;
} policy_head_info;

// Checks magic, format version, length, checksum and header; no tensor is looked at. Errors as of
// policy_decode.
OCT_CHECKED oct_err policy_peek(policy_head_info *out, const uint8_t *bytes, size_t length,
                                char *reason, size_t reason_size);

OCT_CHECKED oct_err policy_decode(policy_image **out, const uint8_t *bytes, size_t length,
                                  char *reason, size_t reason_size);
// The same into an image that was made for the same spec and precision and has no contract
// (others: OCT_EPROTO). Allocates nothing. After an error image holds nothing useful.
OCT_CHECKED oct_err policy_decode_into(policy_image *image, const uint8_t *bytes, size_t length,
                                       char *reason, size_t reason_size);

#endif // POLICY_POLICY_FORMAT_H
