#ifndef POLICY_POLICY_FORMAT_H
#define POLICY_POLICY_FORMAT_H

#include "common/oct_reason.h"
#include "policy/policy_spec.h"

// A policy as bytes: one format for files, exports and (inside the protobuf envelope) the wire. It
// is little-endian and has header, tensors, and a CRC-32 at the end; docs/internals/wire.md
// specifies each byte.
//
// Threads: any, no shared state. Owns: an image owns a copy of all its data.
// Errors: OCT_EPROTO for bytes that are not one complete and valid policy; OCT_EINVAL for a newer
// format version than this build knows. Both have one line in why (may be NULL).

#define POLICY_FORMAT_VERSION 7
#define POLICY_BYTES_MAX      (1u << 28)

// How weights are stored, and what a kernel computes with each weight (policy_math.h):
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

// INT4: this many inputs of a row share a multiplier. The last group of a row may be shorter.
#define POLICY_INT4_GROUP     32
#define POLICY_INT4_CODE_MAX  7
#define POLICY_MULTIPLIER_MAX 15

// The origin of a policy.
typedef struct policy_origin {
    uint64_t run_id;       // 0: not trained by a run, but imported
    uint64_t version;      // increases within the run
    uint64_t base_version; // the version that bytes change; 0: complete. Of an image always 0
    uint64_t updates;      // learner updates
    uint64_t env_steps;    // environment steps that the learner had received
    float eval_return;     // mean return of its evaluation; NaN: not evaluated; never infinite
    char run_name[POLICY_NAME_MAX];
} policy_origin;

// Returns true if a run trained the policy. Imported policies have no run.
static inline bool
policy_origin_is_run(const policy_origin *origin)
{
    return origin->run_id != 0;
}

// A decoded policy. The weights of a layer are [rows][columns] (policy_layer_rows; of a dense layer
// outputs and inputs). Arrays that the precision does not use are NULL. per_tensor (INT8 only,
// docs/internals/quantisation.md): all scales of a layer are equal.
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
    uint8_t *contract; // an allocation of its own (policy_contract.h); NULL: none
    uint32_t contract_bytes;
    void *block; // the allocation that contains all tensors
    size_t block_bytes;
} policy_image;

// Allocates an image for spec with all tensors zero, which the quantizer fills. OCT_EINVAL: spec
// does not pass policy_spec_check, precision is unknown, or the policy would exceed
// POLICY_BYTES_MAX.
OCT_CHECKED oct_err policy_image_create(policy_image **out, const policy_spec *spec,
                                        policy_precision precision);
void policy_image_destroy(policy_image *image); // NULL is a no-op
// Copies origin, per_tensor and tensors of from to an image of the same spec and precision. Does
// not copy the contract (policy_contract_copy).
void policy_image_copy(policy_image *to, const policy_image *from);

// Returns true if weights are codes that multiply uint8 activations (INT8, INT4).
static inline bool
policy_is_integer(policy_precision precision)
{
    return precision == POLICY_INT8 || precision == POLICY_INT4;
}

// Returns the count of groups in a row.
static inline uint32_t
policy_int4_groups(uint32_t inputs)
{
    return (inputs + POLICY_INT4_GROUP - 1) / POLICY_INT4_GROUP;
}

// INT8, INT4: out[columns] = the codes of row j of layer l as int8 (INT4: multiplier * nibble).
void policy_image_row(const policy_image *image, uint32_t l, uint32_t j, int8_t *out);

const char *policy_precision_name(policy_precision precision); // "int8"
// Returns false if name is not fp32, bf16, fp16, int8 or int4.
bool policy_precision_parse(policy_precision *out, const char *name);

// Returns the bytes of the complete policy, at most SIZE_MAX.
size_t policy_encoded_size(const policy_image *image);
// Writes exactly policy_encoded_size bytes, which are at most POLICY_BYTES_MAX.
void policy_encode(const policy_image *image, uint8_t *out);
// Returns the CRC-32 of the bytes before the checksum at the end, which tells policies apart: that
// of all bytes is the same for every policy. 0 if there are too few. O(length).
uint32_t policy_checksum(const uint8_t *bytes, size_t length);
// The content of the header of a policy or of a change.
typedef struct policy_head_info {
    policy_spec spec;
    policy_origin origin; // base_version 0: complete
    policy_precision precision;
    bool per_tensor;
    const uint8_t *contract; // points into the bytes that were read (policy_contract.h); NULL: none
    uint32_t contract_bytes;
} policy_head_info;

// Reads the header and checks magic, format version, length, checksum and header, but no tensor.
// Errors as policy_decode; *out is then unchanged.
OCT_CHECKED oct_err policy_peek(policy_head_info *out, const uint8_t *bytes, size_t length,
                                oct_reason *why);

// Decodes a complete policy. The caller frees *out with policy_image_destroy. All lengths are
// checked before anything is allocated. A change is refused with OCT_EPROTO.
OCT_CHECKED oct_err policy_decode(policy_image **out, const uint8_t *bytes, size_t length,
                                  oct_reason *why);
// Decodes into an image that was made for the same spec and precision. Allocates nothing.
// OCT_EPROTO also for another spec or precision, and if the bytes or image have a contract. After
// an error the tensors of image are undefined.
OCT_CHECKED oct_err policy_decode_into(policy_image *image, const uint8_t *bytes, size_t length,
                                       oct_reason *why);

#endif // POLICY_POLICY_FORMAT_H
