#ifndef OCTET_ENV_H
#define OCTET_ENV_H

/* Octet's environment ABI, version 1: plain C99, no other header of Octet.
 *
 * A plug-in is a shared object that exports one symbol:
 *     const octet_env_api *octet_env_api_get(uint32_t host_abi);
 * The function returns NULL if the plug-in does not support host_abi. Every struct begins with its
 * size in bytes, so that fields can be appended; no field is ever moved. octet_env_space is a field
 * of octet_env_spec and therefore never grows.
 *
 * A handle holds n environments and is used by one thread at a time; different handles may run in
 * parallel. A plug-in has no globals, prints nothing, does not exit and sets no signal handlers.
 * The host owns every io buffer.
 *
 * Each environment defines its own options; create returns an error for a key that it does not
 * know. A list or a section in an experiment is JSON ([1, 2.5], {"a": null}), and so are true,
 * false and null.
 *
 * Autoreset is same-step: when an episode ends, final_obs gets its true last observation and obs
 * the first one of the next episode. Without autoreset, the environment stays at the end of the
 * episode (reward 0, the same flags and observation) until it is reset.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCTET_ENV_ABI      1u
#define OCTET_ENV_RANK_MAX 6

typedef enum octet_env_dtype {
    OCTET_ENV_F32 = 1,
    OCTET_ENV_F64 = 2,
    OCTET_ENV_U8 = 3,
    OCTET_ENV_I32 = 4
} octet_env_dtype;

/* n > 0: discrete, 0 .. n-1 as int32. n == 0: box of dtype and shape. Policies read f32, u8 and
 * discrete observations and write f32 and discrete actions; only other programs can step an
 * environment with other types. */
typedef struct octet_env_space {
    uint32_t size;
    uint32_t dtype; /* octet_env_dtype */
    uint32_t rank;
    uint32_t shape[OCTET_ENV_RANK_MAX];
    uint32_t n;
    /* [product of shape]; NULL: unbounded. A policy can only learn actions with finite bounds. */
    const double *low;
    const double *high;
} octet_env_space;

/* Capability bits. */
#define OCTET_ENV_CAN_SAVE     1u  /* save and load work */
#define OCTET_ENV_CAN_STATE    2u  /* get_state and set_state work; spec.state_count is set */
#define OCTET_ENV_HAS_REWARD64 4u  /* step writes io.reward64 if it is not NULL */
#define OCTET_ENV_NO_RANDOM    8u  /* the environment is deterministic: a seed changes nothing */
#define OCTET_ENV_CAN_RENDER   16u /* render works on a machine with the necessary libraries */
#define OCTET_ENV_CAN_DRAWS    32u /* set_draws works */

typedef struct octet_env_spec {
    uint32_t size;
    const char *id;
    octet_env_space obs;
    octet_env_space action;
    uint32_t max_episode_steps; /* the environment truncates after these steps; 0: no limit */
    double reward_threshold;    /* mean return that counts as solved; NaN: none */
    double reward_low, reward_high;
    uint32_t metric_count;           /* at most 64 */
    const char *const *metric_names; /* 1 to 63 printable characters of ASCII each, all different */
    uint32_t capabilities;
    uint32_t state_count; /* count of numbers in the physical state of one environment */
    /* Names of the columns of recorded trajectories, by which columns are matched. NULL: s0.., o0..
     * and reward. A name that begins with "model." is recorded only in the first row of an
     * episode. */
    const char *const *state_names; /* [state_count], none of them NULL */
    const char *const *obs_names;   /* [numbers of one observation]; NULL: not in the files */
    const char *reward_name;
    double step_seconds; /* simulated time of one step, for videos: 1e-6 to 1e6; 0: unknown */
} octet_env_spec;

typedef struct octet_env_option {
    const char *key;
    const char *value;
} octet_env_option;

/* Flags of one environment after a step. */
#define OCTET_ENV_TERMINATED   1u
#define OCTET_ENV_TRUNCATED    2u
#define OCTET_ENV_OBS_IS_RESET 4u /* obs is the first observation of a new episode */
#define OCTET_ENV_FAILED       8u /* the step failed: do not learn from this transition */
/* A step that failed ends the episode; if TRUNCATED is not set, the host sets it. The host reads
 * the rows that are written at an end (final_obs, ep_return, ...) only if the environment set
 * TRUNCATED or TERMINATED. After a step with FAILED in its flags, last_error may give the reason in
 * one line; "" or NULL: it does not.
 * With autoreset, a failed environment begins its next episode at once (OBS_IS_RESET). FAILED
 * without OBS_IS_RESET means that it could not begin one: each of its steps fails and tries again
 * until an episode begins, while the other environments continue. A step that ends an episode also
 * fails if the next episode cannot begin. */

/* The row of environment i begins at base + i * stride (bytes). Buffers that the host does not need
 * are NULL. */
typedef struct octet_env_io {
    uint32_t size;
    const void *action;
    uint32_t action_stride;
    void *obs;
    uint32_t obs_stride;
    void *final_obs; /* written only for environments whose episode ended */
    uint32_t final_obs_stride;
    float *reward;  /* [n] */
    uint8_t *flags; /* [n] */
    /* Written when an episode ended: the undiscounted sum of its rewards, the count of its steps,
     * and the environment's own metrics (NaN: none in this episode). ep_return and ep_length are
     * for programs that step environments; training and evaluation add up the rewards
     * themselves. */
    float *ep_return;   /* [n] */
    int32_t *ep_length; /* [n] */
    float *metrics;     /* [n][metric_count] */
    double *reward64;   /* [n], the rewards before they are rounded to float */
} octet_env_io;

typedef struct octet_env_handle octet_env_handle; /* defined by the plug-in */

typedef struct octet_env_config {
    uint32_t size;
    uint32_t count; /* environments, >= 1 */
    uint64_t seed;  /* environment i starts from seed + i */
    uint32_t autoreset;
    uint32_t option_count;
    const octet_env_option *options;
} octet_env_config;

/* The functions return 0, or another number on an error; then error (of create) or last_error
 * (after the others) has one line for the user. */
typedef struct octet_env_api {
    uint32_t size;
    uint32_t abi;
    int (*create)(const octet_env_config *config, octet_env_handle **out, char *error,
                  uint32_t error_size);
    void (*destroy)(octet_env_handle *handle);
    const octet_env_spec *(*spec)(const octet_env_handle *handle);
    /* Resets the environments whose mask[n] is not 0 (NULL: all), with seeds[n] (NULL: their
     * generators continue), and writes their rows of obs. If an environment had to recover from a
     * failure, reset writes OCTET_ENV_FAILED into its flags unless flags is NULL; the host counts
     * that and reads the reason from last_error. */
    int (*reset)(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds,
                 octet_env_io *io);
    /* Steps all environments. A discrete action outside 0 .. n-1 is an error, and no environment is
     * stepped. A box action outside its bounds is clipped; the host passes no NaN or infinity. */
    int (*step)(octet_env_handle *handle, octet_env_io *io);
    /* Save and load the full state of environment i, including its generator. save with buf NULL
     * sets only *length. With autoreset, load of a state at the end of an episode begins the next
     * episode. */
    int (*save)(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length);
    int (*load)(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length);
    const char *(*last_error)(const octet_env_handle *handle);
    /* Optional (OCTET_ENV_CAN_STATE), for comparisons with recorded trajectories: read and set the
     * documented physical state of environment i, spec.state_count numbers, and the count of steps
     * in its episode. set_state does not change the generator, starts a new sum for ep_return, and
     * writes row i of obs if io and io->obs are not NULL. */
    int (*get_state)(const octet_env_handle *handle, uint32_t i, double *state,
                     uint32_t *episode_step);
    int (*set_state)(octet_env_handle *handle, uint32_t i, const double *state,
                     uint32_t episode_step, octet_env_io *io);
    /* Optional (OCTET_ENV_CAN_RENDER): draws the current state of environment i into
     * rgb[height][width][3], from the top left. It is an error if the machine lacks a library for
     * drawing. */
    int (*render)(octet_env_handle *handle, uint32_t i, uint32_t width, uint32_t height,
                  uint8_t *rgb);
    /* Optional (OCTET_ENV_CAN_DRAWS), for comparisons with recorded trajectories: until the next
     * call, each reset or step of environment i takes its random numbers from draws[count], in
     * order, instead of its generator; draws NULL: from the generator again. Each number is uniform
     * in [0, 1) or an integer in its final range, as the rules of the environment draw them. The
     * numbers are copied. A step or reset that needs more numbers, leaves some, or reads a number
     * out of range is an error and changes nothing. The call may be refused while autoreset is
     * on. */
    int (*set_draws)(octet_env_handle *handle, uint32_t i, const double *draws, uint32_t count);
} octet_env_api;

typedef const octet_env_api *(*octet_env_api_get_fn)(uint32_t host_abi);

/* Each plug-in defines this function; the host finds it by its name. */
const octet_env_api *octet_env_api_get(uint32_t host_abi);

/* True if *pointer, a struct of that type from another program, is long enough to have the field.
 * Check this before reading a field that was added after the first version: state_count and the
 * fields after it, reward64, get_state and the fields after it. */
#define OCTET_ENV_HAS(type, pointer, field)                                                        \
    ((pointer)->size >= offsetof(type, field) + sizeof((pointer)->field))

#ifdef __cplusplus
}
#endif

#endif /* OCTET_ENV_H */
