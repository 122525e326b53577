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
 * One thread at a time uses a policy; different policies may run in parallel. A policy gives the
 * same bits on every machine, in every precision, alone or in a batch, if the thread rounds to
 * nearest and keeps denormals. Threads do so by default, but not in a program linked with
 * -ffast-math. The instruction set is chosen when the policy is loaded; the environment variable
 * OCTET_ISA=ref|avx2|avxvnni|vnni|neon forces one. If memory runs out during a load, the process
 * ends with a message.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_POLICY_OK = 0,
    OCTET_POLICY_EINVAL = 1,    /* newer format, unknown OCTET_ISA, an observation not finite */
    OCTET_POLICY_EDAMAGED = 5,  /* not a complete and valid policy, or a change as on the wire */
    OCTET_POLICY_ENOTFOUND = 6, /* no such file, or this CPU does not support OCTET_ISA */
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
    char env_id[OCTET_POLICY_NAME_MAX]; /* the environment of its training */
    char run_name[OCTET_POLICY_NAME_MAX];
    uint64_t run_id;
    uint64_t version;
    uint64_t updates;
    uint64_t env_steps;
    float eval_return; /* NaN: not evaluated */
    uint32_t precision;
    uint32_t obs_dtype;
    uint32_t obs_count; /* numbers in one observation; a map is row by row, channels innermost */
    uint32_t obs_bytes; /* bytes of one observation */
    uint32_t action_kind;
    uint32_t action_count; /* discrete: number of actions; box: dimension */
    uint32_t action_bytes; /* of one action: int32, or float for each dimension */
    uint32_t output_count; /* floats of octet_policy_outputs */
    const char *isa;       /* the instruction set that it uses */
    /* Rows, columns and channels of observations that are maps (the first layer is a convolution).
     * Otherwise 0, because a file does not contain a shape. */
    uint32_t obs_height, obs_width, obs_channels;
    /* Box: the bounds of actions, [action_count]; they belong to the policy and are valid until it
     * is freed. Otherwise NULL. */
    const float *action_low, *action_high;
    /* The metadata of an imported model, such as the names of joints and default positions, and
     * under "octet.input" and "octet.output" the names of its tensors. The texts are UTF-8, in the
     * model's order; they belong to the policy and are valid until it is freed. 0 entries: the
     * policy was not imported. */
    uint32_t metadata_count;
    const char *const *metadata_keys;  /* [metadata_count] */
    const char *const *metadata_texts; /* [metadata_count] */
} octet_policy_info;

typedef struct octet_policy octet_policy;

/* Load a policy from a file or from bytes. On failure *out is unchanged, and error (may be NULL
 * with size 0) has one line for the user. */
int octet_policy_load(octet_policy **out, const char *path, char *error, size_t error_size);
int octet_policy_load_bytes(octet_policy **out, const void *bytes, size_t length, char *error,
                            size_t error_size);
void octet_policy_free(octet_policy *policy); /* NULL is a no-op */

/* Writes only info->size bytes of info, so that programs built with an older header work. */
int octet_policy_get_info(const octet_policy *policy, octet_policy_info *info);

/* Writes the greedy action for obs[obs_count]: one int32, or float [action_count] within its
 * bounds. OCTET_POLICY_EINVAL: a number of obs is not finite; action is unchanged. */
int octet_policy_act(octet_policy *policy, const void *obs, void *action);

/* Writes the network's raw outputs [output_count]: Q-values, logits, box actions before tanh, or
 * means and, if the network computes them, log deviations. In other precisions than fp32, Q-values
 * and logits lack a number that is the same for all actions of an observation. */
int octet_policy_outputs(octet_policy *policy, const void *obs, float *outputs);

/* Do the same for any count of observations, obs[count][obs_count]: actions[count] of action_bytes
 * each, and outputs[count][output_count]. They are faster than single calls and give the same bits.
 * OCTET_POLICY_EINVAL: a number of an observation is not finite; nothing is written. */
int octet_policy_act_batch(octet_policy *policy, const void *obs, size_t count, void *actions);
int octet_policy_outputs_batch(octet_policy *policy, const void *obs, size_t count, float *outputs);

/* A random generator as a plain value (PCG32); a copy saves it. Streams of one seed are
 * independent. */
typedef struct octet_policy_rng {
    uint64_t state;
    uint64_t stream;
} octet_policy_rng;
void octet_policy_seed(octet_policy_rng *rng, uint64_t seed, uint64_t stream);

/* Samples an action from the policy's distribution, and writes the logarithm of its probability
 * (box: of its density, before the action is clipped, or on [-1, 1] if it is squashed); log_prob
 * may be NULL. The same policy and generator give the same bits on every machine.
 * OCTET_POLICY_EINVAL: a number of obs is not finite, or the policy has no distribution (Q-values
 * and deterministic box actions); nothing is written. */
int octet_policy_sample(octet_policy *policy, const void *obs, octet_policy_rng *rng, void *action,
                        float *log_prob);

/* Does the same for count observations. Row i draws from rngs[i] alone, so that its result does not
 * depend on other rows. log_probs[count], or NULL. */
int octet_policy_sample_batch(octet_policy *policy, const void *obs, size_t count,
                              octet_policy_rng *rngs, void *actions, float *log_probs);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_POLICY_H */
