#ifndef IMPORT_IMPORT_POLICY_H
#define IMPORT_IMPORT_POLICY_H

#include "common/oct_base.h"
#include "import/import_graph.h"
#include "policy/policy_format.h"

// A policy of precision fp32 from an ONNX model. Constant factors and summands go into the weights
// beside them; those before the first layer become the policy's normalisation; tanh, clipping and
// scaling behind the last one become its head and its bounds. A box without bounds, or with bounds
// so wide that a mapping onto them would lose the low bits of actions, is not mapped. What a policy
// cannot compute is refused, with the node.
//
// Threads: any. Owns: what import_policy_make gives, until import_policy_free.

typedef struct import_request {
    const char *env_id; // for the policy's name
    policy_dtype dtype; // of observations; 0: as the model says, float32 where it does not
    uint32_t obs_rank;  // of an observation as the environment has it; 0: as the model has it
    uint32_t obs_shape[POLICY_RANK_MAX];
    // 0: not known. A box where there are bounds, a scale or an offset; else discrete where the
    // number of actions is given or the model chooses; else a box where it ends in tanh or its
    // output has the name of actions.
    policy_action_kind action_kind;
    uint32_t action_count; // 0: as many as the model gives
    uint32_t bound_count;  // 0: none; 1: the same for all; or action_count
    // In the environment's units, low below high; either may be infinite.
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    bool unit_actions; // the model's actions are in [-1, 1], to be mapped onto the bounds
    // The environment's action is scale times the model's, plus offset. 0: none; 1: the same for
    // all; or action_count. Finite; no scale is 0.
    uint32_t scale_count, offset_count;
    float scale[POLICY_ACTIONS_MAX], offset[POLICY_ACTIONS_MAX];
    policy_head head;    // POLICY_HEAD_VALUES or _LOGITS of discrete actions; 0: logits where the
                         // model has a softmax, else values
    const char *output;  // of the model, the mean or the scores; NULL: chosen
    const char *log_std; // output or initialiser with log deviations; NULL: none
} import_request;

#define IMPORT_NOTES_MAX 24
#define IMPORT_NOTE_SIZE 256

typedef struct import_result {
    policy_image *image; // fp32
    const char *output;  // of the model
    // Number i of an observation of the model is number order[i] of one of the policy.
    uint32_t *order;     // [obs_count]
    bool channels_first; // the model's observations are maps of the policy's, channels first
    // Below are lines for a person: what was dropped or assumed.
    char notes[IMPORT_NOTES_MAX][IMPORT_NOTE_SIZE];
    uint32_t note_count;
    // What import_parity_measure compares with; steps are the graph's.
    const import_step *scores;           // the chain up to scores or actions
    const import_step *observation_clip; // the last one; NULL: none
    // The environment's action is action_scale times the model's, plus action_shift.
    double action_scale[POLICY_ACTIONS_MAX], action_shift[POLICY_ACTIONS_MAX];
} import_result;

// OCT_EINVAL, OCT_ENOTFOUND with one line in reason; *result is empty then.
OCT_CHECKED oct_err import_policy_make(import_result *result, const import_model *model,
                                       const import_graph *graph, const import_request *request,
                                       char *reason, size_t reason_size);
void import_policy_free(import_result *result);

// Adds a line for a person to result; one beyond IMPORT_NOTES_MAX is dropped.
void import_note(import_result *result, const char *format, ...) OCT_PRINTF(2, 3);

#endif // IMPORT_IMPORT_POLICY_H
