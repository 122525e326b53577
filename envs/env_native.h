#ifndef ENVS_ENV_NATIVE_H
#define ENVS_ENV_NATIVE_H

#include <stdbool.h>

#include "common/oct_pcg64.h"
#include "envs/env_native_option.h"
#include "include/octet/env.h"

// What the native environments share: a handle of n environments, seeds, time limit, same-step
// autoreset, final observation, episode sums, save and load. A native environment is one const
// env_native_class, which says how one environment resets, steps and is observed.
//
// Threads: a handle is used by one thread at a time. Owns: its handle; nothing of the io.

#define ENV_NATIVE_STATE_MAX 8 // numbers of a state

typedef struct env_native_turn {
    uint32_t elapsed; // steps of this episode before this one
    int32_t index;    // the action in a discrete space
    float value;      // the action in a box of one number
    bool terminated;  // step sets it if the episode has terminated; false before
} env_native_turn;

// What the environments of a handle have in common.
typedef struct env_native_task {            // values, in the order of the class's options
    double options[ENV_NATIVE_OPTIONS_MAX]; // made by configure; NULL: none
    const void *model;                      // what configure made; NULL: nothing
} env_native_task;

typedef struct env_native_class {
    octet_env_spec spec; // state_count is the count of numbers in state below
    env_native_option options[ENV_NATIVE_OPTIONS_MAX]; // ends at the first entry without a key
    // Changes the spec according to the options' values, and may make a model in one block that
    // free() releases. Returns 0, or 1 with a line in error. NULL: nothing to configure.
    int (*configure)(const octet_env_config *config, env_native_task *task, octet_env_spec *spec,
                     char *error, uint32_t error_size);
    void (*reset)(const env_native_task *task, oct_pcg64 *rng, double *state);
    // Returns the reward.
    double (*step)(const env_native_task *task, oct_pcg64 *rng, double *state,
                   env_native_turn *turn);
    void (*observe)(const double *state, void *obs); // in the dtype of the spec
    // Returns true if finite numbers are a state of an episode that has ended or still runs. NULL:
    // any finite numbers are.
    bool (*is_sane)(const env_native_task *task, const double *state, bool has_ended);
} env_native_class;

int env_native_create(const env_native_class *class, const octet_env_config *config,
                      octet_env_handle **out, char *error, uint32_t error_size);

// Entries of the table; all but create are the same for all native environments.
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

// Returns the task of a handle of env_native_create; valid as long as the handle.
const env_native_task *env_native_task_of(const octet_env_handle *handle);

// Defines the table of a class, for example env_cartpole_api.
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

// pow(x, 2), which the references use in places and which sometimes differs from x * x in the last
// bit. The volatile exponent keeps compilers from replacing the call by the product.
double env_native_pow2(double x);
float env_native_pow2f(float x); // powf(x, 2), with the same purpose
double env_native_clip(double x, double low, double high);

#endif // ENVS_ENV_NATIVE_H
