#ifndef OCTET_POLICY_H
#define OCTET_POLICY_H

/* Load and run a policy file of Octet: plain C99, no other header of Octet.
 *
 *     char error[256];
 *     octet_policy *policy;
 *     if (octet_policy_load(&policy, "policy.oct", error, sizeof(error)) != OCTET_POLICY_OK) ...
 *     octet_policy_act(policy, observation, action);      (as often as needed, allocates nothing)
 *     octet_policy_free(policy);
 *
 * A policy is used by one thread at a time; different policies may run in parallel. A policy gives
 * the same bits on every machine, in every precision, alone or in a batch, as long as the thread
 * rounds to nearest and keeps denormals, as threads do unless told otherwise (a program linked with
 * -ffast-math tells them). The instruction set is chosen when the policy is loaded; the environment
 * variable OCTET_ISA=ref|avx2|avxvnni|vnni|neon forces one. Where memory runs out while it is
 * loaded, the process ends with a message.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_POLICY_OK = 0,
    OCTET_POLICY_EINVAL = 1,    /* newer format, unknown OCTET_ISA, an observation not finite */
    OCTET_POLICY_EDAMAGED = 5,  /* not a whole, sound policy; or a change to one, as on the wire */
    OCTET_POLICY_ENOTFOUND = 6, /* no such file; or this CPU lacks what OCTET_ISA asks for */
    OCTET_POLICY_EIO = 7        /* the file cannot be read */
};

enum { OCTET_POLICY_F32 = 1, OCTET_POLICY_U8 = 2 };       /* obs_dtype */
enum { OCTET_POLICY_DISCRETE = 1, OCTET_POLICY_BOX = 2 }; /* action_kind */
enum {                                                    /* precision */
       OCTET_POLICY_FP32 = 1,
       OCTET_POLICY_INT8 = 2,
       OCTET_POLICY_BF16 = 3,
       OCTET_POLICY_FP16 = 4,
       OCTET_POLICY_INT4 = 5
};

#define OCTET_POLICY_NAME_MAX 128

typedef struct octet_policy_info {
    uint32_t size;                      /* set by the caller: sizeof(octet_policy_info) */
    char env_id[OCTET_POLICY_NAME_MAX]; /* what it was trained on */
    char run_name[OCTET_POLICY_NAME_MAX];
    uint64_t run_id;
    uint64_t version;
    uint64_t updates;
    uint64_t env_steps;
    float eval_return; /* NaN: not evaluated */
    uint32_t precision;
    uint32_t obs_dtype;
    uint32_t obs_count; /* numbers in one observation; maps: row by row, channels innermost */
    uint32_t obs_bytes; /* of one observation */
    uint32_t action_kind;
    uint32_t action_count; /* discrete: number of actions; box: dimension */
    uint32_t action_bytes; /* of one action: int32, or float for each dimension */
    uint32_t output_count; /* floats of octet_policy_outputs */
    const char *isa;       /* the instructions it runs on */
    /* Observations that are maps (the first layer is a convolution): rows, columns, channels; else
     * 0: the file does not keep a shape. */
    uint32_t obs_height, obs_width, obs_channels;
    /* Box: the bounds of actions, [action_count], the policy's own until it is freed; else NULL. */
    const float *action_low, *action_high;
    /* What an imported model said beside its network, such as the names of joints and default
     * positions, and under "octet.input" and "octet.output" the names of its tensors: UTF-8 in the
     * model's order, the policy's own until it is freed. 0 entries: the policy was not imported. */
    uint32_t metadata_count;
    const char *const *metadata_keys;  /* [metadata_count] */
    const char *const *metadata_texts; /* [metadata_count] */
} octet_policy_info;

typedef struct octet_policy octet_policy;

/* On failure *out is untouched and error (may be NULL with size 0) holds one line for a person. */
int octet_policy_load(octet_policy **out, const char *path, char *error, size_t error_size);
int octet_policy_load_bytes(octet_policy **out, const void *bytes, size_t length, char *error,
                            size_t error_size);
void octet_policy_free(octet_policy *policy); /* NULL is a no-op */

/* Writes info->size bytes of info, so that a caller built with an older header is served. */
int octet_policy_get_info(const octet_policy *policy, octet_policy_info *info);

/* The greedy action for obs[obs_count]: one int32, or float [action_count] within its bounds.
 * OCTET_POLICY_EINVAL, and action untouched, when a number of obs is not finite. */
int octet_policy_act(octet_policy *policy, const void *obs, void *action);

/* The network's raw outputs [output_count]: Q-values, logits, box actions before tanh, or means
 * and, where the network computes them, log deviations. In precisions other than fp32, Q-values and
 * logits are right up to one number, the same for all actions of an observation. */
int octet_policy_outputs(octet_policy *policy, const void *obs, float *outputs);

/* The same for count observations, obs[count][obs_count], any count: actions[count], each of
 * action_bytes, and outputs[count][output_count]. Faster than one by one, with the same bits.
 * OCTET_POLICY_EINVAL, and nothing written, when a number of any of them is not finite. */
int octet_policy_act_batch(octet_policy *policy, const void *obs, size_t count, void *actions);
int octet_policy_outputs_batch(octet_policy *policy, const void *obs, size_t count, float *outputs);

/* A generator as a plain value (PCG32): copy it to save it. Streams of one seed are independent. */
typedef struct octet_policy_rng {
    uint64_t state;
    uint64_t stream;
} octet_policy_rng;
void octet_policy_seed(octet_policy_rng *rng, uint64_t seed, uint64_t stream);

/* An action drawn from the policy's distribution, and the logarithm of its probability (box: of its
 * density, before the action is clipped, or on [-1, 1] where it is squashed); log_prob may be NULL.
 * OCTET_POLICY_EINVAL, and nothing written, when a number of obs is not finite, or when the policy
 * has no distribution: Q-values and deterministic box actions. The bits are those of the policy and
 * the generator, on every machine. */
int octet_policy_sample(octet_policy *policy, const void *obs, octet_policy_rng *rng, void *action,
                        float *log_prob);

/* The same for count observations: row i draws from rngs[i] alone, so that results do not depend on
 * the rows beside it. log_probs[count], or NULL. */
int octet_policy_sample_batch(octet_policy *policy, const void *obs, size_t count,
                              octet_policy_rng *rngs, void *actions, float *log_probs);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_POLICY_H */
