#ifndef POLICY_EXPORT_EXPORT_ONNX_H
#define POLICY_EXPORT_EXPORT_ONNX_H

#include "policy/policy_contract.h"
#include "policy/policy_format.h"

// Exports a policy as an ONNX model (opset 13). Its input is observation [batch][n]; its outputs
// are action ([batch] of int64, or [batch][dimensions]) and outputs [batch][m].
// docs/internals/exports.md lists the operations of each layer.
//
// Threads: any. Exactness: INT8 and INT4 quantise with the operations of policy_math.h in their
// order. Integer products are added as floats, which is exact up to 518 inputs, and for more inputs
// unless a sum exceeds 2^24.

// The discrete action for an observation with a number that is not finite. No table has this index,
// not even counted from its end. All other outputs are NaN then.
#define EXPORT_ACTION_NONE INT32_MIN

// Writes the model. action_repeat, for the metadata, is the count of control steps for which
// training held an action; 0: not known and not written. The caller frees *out with free.
void export_onnx(uint8_t **out, size_t *length, const policy_image *image, uint32_t action_repeat);

// The names of the model's input and of its first output, the action: those of the model from which
// the policy was imported (for the action only if it is a box), else "observation" and "action".
typedef struct export_onnx_names {
    char input[POLICY_CONTRACT_KEY_MAX + 1];
    char action[POLICY_CONTRACT_KEY_MAX + 1];
} export_onnx_names;

export_onnx_names export_onnx_names_of(const policy_image *image);

#endif // POLICY_EXPORT_EXPORT_ONNX_H
