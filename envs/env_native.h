#ifndef ENVS_ENV_NATIVE_H
#define ENVS_ENV_NATIVE_H

#include <stdbool.h>

#include "common/oct_pcg64.h"
#include "envs/env_native_option.h"
#include "include/octet/env.h"

// What the native environments share: a handle of n environments, seeds, time limit, same-step
// autoreset, final observation, episode sums, save and load. A native environment is one const
// env_native_class: how one environment resets, steps and is observed.
//
// Threads: a handle is used by one thread at a time. Owns: its handle; nothing of the io.

#define ENV_NATIVE_STATE_MAX 8

typedef struct env_native_action {
    int32_t index; // of a discrete space
    float value;   // of a box with one number
} env_native_action;

// What the environments of a handle have in common.
typedef struct env_native_task {
    double options[ENV_NATIVE_OPTIONS_MAX]; // values, in the order of the class' options
    const void *model;                      // what configure made; NULL: nothing
} env_native_task;

typedef struct env_native_class {
    octet_env_spec spec; // state_count says how many numbers reset, step and observe use
    env_native_option options[ENV_NATIVE_OPTIONS_MAX]; // ends at the first without a key
    // Changes the spec according to the options' values, and may make a model, in one block that
    // free() releases. 0, or 1 with a line in error. NULL: nothing to do.
    int (*configure)(const octet_env_config *config, env_native_task *task, octet_env_spec *spec,
                     char *error, uint32_t error_size);
    void (*reset)(const env_native_task *task, oct_pcg64 *rng, double *state);
    // Answers the reward. elapsed: steps of this episode before this one.
    double (*step)(const env_native_task *task, oct_pcg64 *rng, double *state, uint32_t elapsed,
                   env_native_action action, bool *terminated);
    void (*observe)(const double *state, void *obs); // of the spec's dtype
    // Whether finite numbers are a state, of an episode that has ended or goes on. NULL: any are.
    bool (*is_sane)(const env_native_task *task, const double *state, bool has_ended);
} env_native_class;

int env_native_create(const env_native_class *class, const octet_env_config *config,
                      octet_env_handle **out, char *error, uint32_t error_size);

// Everything of the table but create is the same for all of them.
void env_native_destroy(octet_env_handle *handle);
const octet_env_spec *env_native_spec(const octet_env_handle *handle);
int env_native_reset(octet_env_handle *handle, const uint8_t *mask, const uint64_t *seeds,
                     octet_env_io *io);
int env_native_step(octet_env_handle *handle, octet_env_io *io);
int env_native_save(octet_env_handle *handle, uint32_t i, void *buf, uint32_t *length);
int env_native_load(octet_env_handle *handle, uint32_t i, const void *buf, uint32_t length);
const char *env_native_last_error(const octet_env_handle *handle);
int env_native_get_state(const octet_env_handle *handle, uint32_t i, double *state,
                         uint32_t *episode_step);
int env_native_set_state(octet_env_handle *handle, uint32_t i, const double *state,
                         uint32_t episode_step, octet_env_io *io);

// The task of a handle that env_native_create made; valid as long as it.
const env_native_task *env_native_task_of(const octet_env_handle *handle);

// Defines the table of a class: env_cartpole_api, say.
#define ENV_NATIVE_API(table, class)                                                               \
    static int table##_create(const octet_env_config *config, octet_env_handle **out, char *error, \
                              uint32_t error_size)                                                 \
    {                                                                                              \
        return env_native_create(&(class), config, out, error, error_size);                        \
    }                                                                                              \
    const octet_env_api table = {                                                                  \
        .size = sizeof(octet_env_api),                                                             \
        .abi = OCTET_ENV_ABI,                                                                      \
        .create = table##_create,                                                                  \
        .destroy = env_native_destroy,                                                             \
        .spec = env_native_spec,                                                                   \
        .reset = env_native_reset,                                                                 \
        .step = env_native_step,                                                                   \
        .save = env_native_save,                                                                   \
        .load = env_native_load,                                                                   \
        .last_error = env_native_last_error,                                                       \
        .get_state = env_native_get_state,                                                         \
        .set_state = env_native_set_state,                                                         \
    }

#define ENV_NATIVE_CAPABILITIES (OCTET_ENV_CAN_SAVE | OCTET_ENV_CAN_STATE | OCTET_ENV_HAS_REWARD64)

// pow(x, 2), which the references use in places and which now and then differs from x * x in the
// last bit. The volatile exponent keeps compilers from replacing the call by the product.
double env_native_pow2(double x);
float env_native_pow2f(float x); // powf(x, 2), likewise
double env_native_clip(double x, double low, double high);

#endif // ENVS_ENV_NATIVE_H
