#ifndef OCTET_ENV_H
#define OCTET_ENV_H

/* Octet's environment ABI, version 1: plain C99, no other header of Octet.
 *
 * A plug-in is a shared object that exports one symbol:
 *     const octet_env_api *octet_env_api_get(uint32_t host_abi);
 * It answers NULL when it does not support host_abi. Every struct begins with its size in bytes, so
 * that fields can be appended; no field is ever moved (octet_env_space lies inside octet_env_spec
 * and so never grows).
 *
 * A handle holds n environments and is used by one thread at a time; different handles may run in
 * parallel. No globals, no printing, no exit, no signal handlers. The host owns every io buffer.
 *
 * Options are words of the environment's own; create answers an error for a key it does not know.
 *
 * Autoreset is same-step: when an environment ends, final_obs gets its true last observation and
 * obs the first one of the next episode. With autoreset off it stays at its end (reward 0, the same
 * flags and observation) until reset.
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

/* n > 0: discrete, actions 0 .. n-1 as int32. n == 0: box of dtype and shape. Policies read f32, u8
 * and discrete observations, and give f32 and discrete actions: an environment of another type can
 * be stepped by other programs only. */
typedef struct octet_env_space {
    uint32_t size;
    uint32_t dtype; /* octet_env_dtype */
    uint32_t rank;
    uint32_t shape[OCTET_ENV_RANK_MAX];
    uint32_t n;
    /* [product of shape], or NULL: unbounded. Actions that a policy is to learn need finite ones.
     */
    const double *low;
    const double *high;
} octet_env_space;

/* Capability bits. */
#define OCTET_ENV_CAN_SAVE     1u  /* save and load work */
#define OCTET_ENV_CAN_STATE    2u  /* get_state and set_state work; spec.state_count is set */
#define OCTET_ENV_HAS_REWARD64 4u  /* step writes io.reward64 where the host wants it */
#define OCTET_ENV_NO_RANDOM    8u  /* nothing is drawn at random: a seed changes nothing */
#define OCTET_ENV_CAN_RENDER   16u /* render works, where the machine has what it needs */
#define OCTET_ENV_CAN_DRAWS    32u /* set_draws works */

typedef struct octet_env_spec {
    uint32_t size;
    const char *id;
    octet_env_space obs;
    octet_env_space action;
    uint32_t max_episode_steps; /* 0: none. The environment itself truncates there. */
    double reward_threshold;    /* mean return that counts as solved; NaN: none */
    double reward_low, reward_high;
    uint32_t metric_count;           /* at most 64 */
    const char *const *metric_names; /* 1 to 63 printable characters of ASCII each, all different */
    uint32_t capabilities;
    uint32_t state_count; /* numbers of the physical state of one environment */
    /* Columns of recorded trajectories, so that they can be matched by name. NULL: s0.., o0.. and
     * reward. A name that begins with "model." is recorded in the first row of an episode only. */
    const char *const *state_names; /* [state_count], none of them NULL */
    const char *const *obs_names;   /* [numbers of one observation]; NULL: this one is in no file */
    const char *reward_name;
    double step_seconds; /* simulated, of one step, for videos: 1e-6 to 1e6; 0: it does not say */
} octet_env_spec;

typedef struct octet_env_option {
    const char *key;
    const char *value;
} octet_env_option;

/* flags of one environment after a step */
#define OCTET_ENV_TERMINATED   1u
#define OCTET_ENV_TRUNCATED    2u
#define OCTET_ENV_OBS_IS_RESET 4u /* obs is the first of a new episode */
#define OCTET_ENV_FAILED       8u /* the step failed: do not learn from this transition */
/* With autoreset a failed environment begins its next episode at once (OBS_IS_RESET). Without that
 * flag it could not begin one: each of its steps fails, and tries again, until one begins; the
 * others are stepped as ever. A step that ends an episode fails where the next one cannot begin.
 * A step that failed ends the episode, whether TRUNCATED is set or not: the host sets it, and reads
 * the rows of an end only where TRUNCATED or TERMINATED was. After a step with FAILED in its flags
 * last_error may say why, in one line; "" or NULL: it does not. */

/* Rows of environment i begin at base + i * stride (bytes). Buffers that the host does not want are
 * NULL. */
typedef struct octet_env_io {
    uint32_t size;
    const void *action;
    uint32_t action_stride;
    void *obs;
    uint32_t obs_stride;
    void *final_obs; /* written only for environments that ended */
    uint32_t final_obs_stride;
    float *reward;  /* [n] */
    uint8_t *flags; /* [n] */
    /* Written when an episode ended: the sum of its rewards, undiscounted; its steps; and what the
     * environment itself measures (NaN: not in this episode). ep_return and ep_length are for
     * programs that step environments: training and evaluation add up the rewards themselves. */
    float *ep_return;   /* [n] */
    int32_t *ep_length; /* [n] */
    float *metrics;     /* [n][metric_count] */
    double *reward64;   /* [n] the rewards before they were rounded to float */
} octet_env_io;

typedef struct octet_env_handle octet_env_handle; /* the plug-in defines it */

typedef struct octet_env_config {
    uint32_t size;
    uint32_t count; /* environments, >= 1 */
    uint64_t seed;  /* environment i starts from seed + i */
    uint32_t autoreset;
    uint32_t option_count;
    const octet_env_option *options;
} octet_env_config;

/* Functions answer 0, or another number after writing one line for a person to error (create) or
 * last_error (the others). */
typedef struct octet_env_api {
    uint32_t size;
    uint32_t abi;
    int (*create)(const octet_env_config *config, octet_env_handle **out, char *error,
                  uint32_t error_size);
    void (*destroy)(octet_env_handle *handle);
    const octet_env_spec *(*spec)(const octet_env_handle *handle);
    /* mask[n] (NULL: all) says which; seeds[n] (NULL: go on with their generators). Writes obs rows
     * of those, and, where it had to recover from something in one of them, OCTET_ENV_FAILED into
     * its flags where they are not NULL: the host counts that and asks last_error why. */
    int (*reset)(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds,
                 octet_env_io *io);
    /* A discrete action outside 0 .. n-1 is an error: nothing has been stepped then. A box action
     * outside its bounds is clipped; the host lets no NaN or infinity through. */
    int (*step)(octet_env_handle *handle, octet_env_io *io);
    /* The full state of environment i, generator included. save with buf NULL gives the length.
     * With autoreset, load of a state at its end begins the next episode. */
    int (*save)(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length);
    int (*load)(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length);
    const char *(*last_error)(const octet_env_handle *handle);
    /* Optional (OCTET_ENV_CAN_STATE), for comparing with recorded trajectories: the documented
     * physical state of environment i, spec.state_count numbers, and the steps its episode has had.
     * set_state leaves the generator alone, starts a new sum for ep_return, and writes the obs row
     * of i when io and io->obs are not NULL. */
    int (*get_state)(const octet_env_handle *handle, uint32_t i, double *state,
                     uint32_t *episode_step);
    int (*set_state)(octet_env_handle *handle, uint32_t i, const double *state,
                     uint32_t episode_step, octet_env_io *io);
    /* Optional (OCTET_ENV_CAN_RENDER), for people: environment i as it is now,
     * rgb[height][width][3] from the top left. An error where the machine lacks what it draws with.
     */
    int (*render)(octet_env_handle *handle, uint32_t i, uint32_t width, uint32_t height,
                  uint8_t *rgb);
    /* Optional (OCTET_ENV_CAN_DRAWS), for comparing with recorded trajectories: every reset or step
     * of environment i takes its random numbers from draws[count], in order, instead of from its
     * generator, until the next call; draws NULL: the generator again. Each number is a uniform one
     * in [0, 1) or an integer in its final range, as the rules of the environment draw them.
     * Copied. A step or reset that wants more than there are, leaves some, or meets a number out of
     * range is an error and has changed nothing. May be refused while autoreset is on. */
    int (*set_draws)(octet_env_handle *handle, uint32_t i, const double *draws, uint32_t count);
} octet_env_api;

typedef const octet_env_api *(*octet_env_api_get_fn)(uint32_t host_abi);

/* A plug-in defines it; the host looks it up by name. */
const octet_env_api *octet_env_api_get(uint32_t host_abi);

/* Whether *pointer, a struct of that type made by somebody else, is long enough to have the field.
 * Ask before reading a field that came later than the first version: state_count and those behind
 * it, reward64, get_state and those behind it. */
#define OCTET_ENV_HAS(type, pointer, field)                                                        \
    ((pointer)->size >= offsetof(type, field) + sizeof((pointer)->field))

#ifdef __cplusplus
}
#endif

#endif /* OCTET_ENV_H */
