#ifndef IMPORT_IMPORT_POLICY_H
#define IMPORT_IMPORT_POLICY_H

#include "import/import_graph.h"
#include "policy/policy_format.h"

// A policy of precision fp32 from an ONNX model. Constant factors and summands go into the weights
// beside them; those before the first layer become the policy's normalisation; tanh, clipping and
// scaling behind the last one become its head and its bounds. What a policy cannot compute is
// refused, with the node.
//
// Threads: any. Owns: what import_policy_make gives, until import_policy_free.

typedef struct import_request {
    const char *env_id; // for the policy's name
    policy_dtype dtype; // of observations; 0: as the model says, float32 where it does not
    uint32_t obs_rank;  // of an observation as the environment has it; 0: as the model has it
    uint32_t obs_shape[POLICY_RANK_MAX];
    // 0: not known. A box where there are bounds; else discrete where the number of actions is
    // given or the model chooses; else a box where it ends in tanh.
    policy_action_kind action_kind;
    uint32_t action_count; // 0: as many as the model gives
    uint32_t bound_count;  // 0: none; 1: the same for all; or action_count
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    bool unit_actions;   // the model's actions are in [-1, 1], to be mapped onto the bounds
    policy_head head;    // POLICY_HEAD_VALUES or _LOGITS of discrete actions; 0: logits where the
                         // model has a softmax, else values
    const char *output;  // of the model, the mean or the scores; NULL: chosen
    const char *log_std; // output or initialiser with log deviations; NULL: none
} import_request;

#define IMPORT_NOTES_MAX 8
#define IMPORT_NOTE_SIZE 200

typedef struct import_result {
    policy_image *image; // fp32
    const char *output;  // of the model
    // Number i of an observation of the model is number order[i] of one of the policy.
    uint32_t *order;     // [obs_count]
    bool channels_first; // the model's observations are maps of the policy's, channels first
    // Below are lines for a person: what was dropped or assumed.
    char notes[IMPORT_NOTES_MAX][IMPORT_NOTE_SIZE];
    uint32_t note_count;
    // What import_policy_parity compares with; steps are the graph's.
    const import_step *scores;           // the chain up to scores or actions
    const import_step *observation_clip; // the last one; NULL: none
    double unit_scale[POLICY_ACTIONS_MAX], unit_shift[POLICY_ACTIONS_MAX]; // of unit_actions
} import_result;

// OCT_EINVAL, OCT_ENOTFOUND with one line in reason; *result is empty then.
OCT_CHECKED oct_err import_policy_make(import_result *result, const import_model *model,
                                       const import_graph *graph, const import_request *request,
                                       char *reason, size_t reason_size);
void import_policy_free(import_result *result);

// How the policy's answers differ from those of the model, which is computed in double precision.
typedef struct import_parity {
    uint32_t rows;
    double max_abs;   // discrete: of values or logits; box: of actions
    double mean_abs;  //
    double agreement; // share of rows with the same greedy action; box: within 1e-4 of its range
    double clipped; // share of rows in which the model clips an observation, which policies do not
} import_parity;

// obs[rows][obs_count] in the policy's order. Errors of policy_net_create.
OCT_CHECKED oct_err import_policy_parity(import_parity *out, const import_result *result,
                                         const policy_image *image, const float *obs,
                                         uint32_t rows);

#endif // IMPORT_IMPORT_POLICY_H
