#ifndef POLICY_IMPORT_IMPORT_POLICY_H
#define POLICY_IMPORT_IMPORT_POLICY_H

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "policy/import/import_graph.h"
#include "policy/policy_format.h"

// Makes a policy of precision fp32 from an ONNX model. Constant factors and summands go into the
// weights beside them. Those before the first layer become the policy's normalisation. A tanh,
// clip or scale after the last layer becomes its head and bounds. A box without bounds, or with
// bounds so wide that mapping onto them would lose the low bits of actions, is not mapped. What a
// policy cannot compute is refused, with the node that is to blame.
//
// Threads: any. Owns: the result of import_policy_make, until import_policy_free.

// What the caller knows about the policy.
typedef struct import_request {
    const char *env_id; // name of the environment in the policy
    policy_dtype dtype; // of observations; 0: as the model declares it, else float32
    uint32_t obs_rank;  // of an observation in the environment; 0: unknown
    uint32_t obs_shape[POLICY_RANK_MAX]; // [obs_rank]
    // 0: unknown. Then it is a box if there are bounds, a scale or an offset; else discrete if the
    // number of actions is given or the model chooses one; else a box if the model ends in tanh,
    // its output has a name of actions, or log_std is given; else the request is refused.
    policy_action_kind action_kind;
    uint32_t action_count; // 0: as many as the model has
    uint32_t bound_count;  // 0: no bounds; 1: the same for all actions; or action_count
    // Bounds in the environment's units, low below high; both may be infinite.
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    bool unit_actions; // the model's actions are in [-1, 1]; map them onto the bounds
    // The environment's action is scale times the model's, plus offset. Counts: 0: none; 1: the
    // same for all actions; or action_count. Finite; no scale is 0.
    uint32_t scale_count, offset_count;
    float scale[POLICY_ACTIONS_MAX], offset[POLICY_ACTIONS_MAX];
    policy_head head;    // POLICY_HEAD_VALUES or _LOGITS of discrete actions; 0: logits where the
                         // model has a softmax, else values
    const char *output;  // of the model, with the mean or the scores; NULL: chosen
    const char *log_std; // output or initialiser with log deviations; NULL: none
} import_request;

#define IMPORT_NOTES_MAX 24
#define IMPORT_NOTE_SIZE 256

// The policy, and what import_parity_measure needs to compare it with the model.
typedef struct import_result {
    policy_image *image; // fp32; the caller's, freed by import_policy_free
    const char *output;  // name of the model's output
    // Number i of the model's observation is number order[i] of the policy's.
    uint32_t *order;     // [obs_count]
    bool channels_first; // the model's observations are maps with channels first
    // Lines for the user: what was left out or assumed.
    char notes[IMPORT_NOTES_MAX][IMPORT_NOTE_SIZE];
    uint32_t note_count;
    // For import_parity_measure; the graph owns the steps.
    const import_step *scores;           // end of the chain, without softmax and argmax
    const import_step *observation_clip; // last clip before the first layer; NULL: none
    // The environment's action is action_scale times the model's, plus action_shift.
    double action_scale[POLICY_ACTIONS_MAX], action_shift[POLICY_ACTIONS_MAX];
} import_result;

// Makes the policy. model and graph outlive the result. With one line in reason, and an empty
// *result:
//   OCT_EINVAL  the request contradicts the model, or a policy cannot compute it
//   OCT_ENOTFOUND  the model has no value of that name
OCT_CHECKED oct_err import_policy_make(import_result *result, const import_model *model,
                                       const import_graph *graph, const import_request *request,
                                       oct_reason *why);
void import_policy_free(import_result *result);

// Adds a line for the user. Lines beyond IMPORT_NOTES_MAX are dropped.
void import_note(import_result *result, const char *format, ...) OCT_PRINTF(2, 3);

#endif // POLICY_IMPORT_IMPORT_POLICY_H
