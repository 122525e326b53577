#ifndef EXPORT_EXPORT_ONNX_H
#define EXPORT_EXPORT_ONNX_H

#include "policy/policy_contract.h"
#include "policy/policy_format.h"

// The discrete action where an observation has a number that is not finite; no table has such an
// index, from either end. All other outputs are NaN there.
#define EXPORT_ACTION_NONE INT32_MIN

// A policy as an ONNX model (opset 13): observation [batch][n] in, outputs [batch][m] and action
// ([batch] of int64, or [batch][dimensions]) out. docs/internals/exports.md says what each layer
// becomes.
//
// Threads: any. Exactness: INT8 and INT4 quantise in our order of operations; the integer products
// are added as floats, which is exact up to 518 inputs and beyond unless sums pass 2^24.

// action_repeat: control steps of an action in training, for the metadata; 0: not known, and left
// out. *out is malloc'd, the caller frees it.
void export_onnx(uint8_t **out, size_t *length, const policy_image *image, uint32_t action_repeat);

// Names of the model's input and of its first output, the action: those of the model that the
// policy was imported from (an action's name only for a box), else "observation" and "action".
typedef struct export_onnx_names {
    char input[POLICY_CONTRACT_KEY_MAX + 1];
    char action[POLICY_CONTRACT_KEY_MAX + 1];
} export_onnx_names;

export_onnx_names export_onnx_names_of(const policy_image *image);

#endif // EXPORT_EXPORT_ONNX_H
