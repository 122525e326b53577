#ifndef ENVS_ENV_H
#define ENVS_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "envs/env_plugin_dirs.h"
#include "include/octet/env.h"

// Environments by id: native ones from the registry, the Control Suite ("dmc:TASK") from its
// module, plug-ins by the path of a shared object, Gymnasium's ("gym:NAME") in a Python process.
//
// Threads: a handle is used by one thread at a time. Owns: nothing of the io; a plug-in stays
// loaded until the process ends. A plug-in is native code and runs with the rights of the process;
// its table and spec are checked when it is opened, its numbers at every step (env_step). Errors,
// with one line for a person in reason:
//   OCT_ENOTFOUND  no such id; reason names the nearest ones
//   OCT_EINVAL  an option is wrong, or the plug-in breaks a rule
typedef struct env env;

// A step's flag for callers that set takes_begins: the action was not used, reward is 0, and obs is
// the first observation of an episode. The step before it ended an episode without OBS_IS_RESET.
#define ENV_BEGINS 16u

typedef struct env_request {
    const char *id; // "CartPole-v1", "dmc:cheetah_run", "./libmyenv.so" or "gym:LunarLander-v3"
    const char *options; // "key=value,key=value" or ""
    uint32_t count;      // environments that are stepped together
    uint64_t seed;
    bool autoreset;
    // With autoreset: the caller accepts rows with ENV_BEGINS. A vector environment of Gymnasium
    // that begins episodes in the step after an end is then stepped as one vector.
    bool takes_begins;
    // Of "dmc:TASK": a folder of model files, or "auto"; NULL or "": Octet's own.
    const char *mjcf_dir;
    // The directories from which a plug-in may come if a peer chose id; NULL: any, because the user
    // of this process chose id.
    const env_plugin_dirs *plugins;
} env_request;

#define ENV_REASON_BYTES 1024 // enough for every reason of env_open, long paths included
OCT_CHECKED oct_err env_open(env **out, const env_request *request, oct_reason *why);
void env_close(env *e); // NULL is a no-op
const octet_env_spec *env_spec(const env *e);
uint32_t env_count(const env *e);
// Resets the environments in mask (NULL: all). A buffer of io that is NULL is not written.
// OCT_EINTERNAL: the environment returned an error, or an episode starts with an observation that
// is not finite; env_error says which.
OCT_CHECKED oct_err env_reset(env *e, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io);
// Steps all environments. OCT_EINVAL, and no environment was stepped: a discrete action is outside
// its space, or a box action is not finite.
//
// An environment fails when its reward, observation or final observation is not finite, or its
// flags are unknown: its flags become OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED; reward, final_obs,
// ep_return and ep_length become 0, metrics NaN; with autoreset it is reset; env_failures counts
// it. If an environment itself reports OCTET_ENV_FAILED, OCTET_ENV_TRUNCATED is added, and if its
// flags had no end, these rows become the same.
//
// Without autoreset a failed environment stays failed, and counts once, until it is reset, loaded
// or set: its flags and observation stay, and its other rows are those of a failure. With autoreset
// an environment that could not be reset fails in each further step, which tries the reset again,
// until it begins an episode or its state is loaded or set.
// Metrics that an environment does not write are NaN in every step.
OCT_CHECKED oct_err env_step(env *e, octet_env_io *io);
// Resets like env_reset, but an environment that cannot begin does not stop the others: it counts
// as failed in the step that io holds the answers of, with flags and reward (0 in the first reset)
// and without OBS_IS_RESET.
void env_reset_each(env *e, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io);
// Returns how many times an environment has failed.
uint64_t env_failures(const env *e);
// Returns why an environment failed last, in one line: its own message, or what was wrong with its
// numbers; "" before the first failure.
const char *env_failure(const env *e);
// Saves or loads environment i. *length is the size of buf and becomes the bytes written.
// OCT_EINVAL: the environment cannot save, or refuses.
OCT_CHECKED oct_err env_save(env *e, uint32_t i, void *buf, uint32_t *length);
OCT_CHECKED oct_err env_load(env *e, uint32_t i, const void *buf, uint32_t length);
// Gets or sets the documented physical state, spec->state_count numbers. env_state_set writes the
// obs row of i if io is not NULL. OCT_EINVAL: no OCTET_ENV_CAN_STATE, or the environment refuses.
OCT_CHECKED oct_err env_state_get(env *e, uint32_t i, double *state, uint32_t *episode_step);
OCT_CHECKED oct_err env_state_set(env *e, uint32_t i, const double *state, uint32_t episode_step,
                                  octet_env_io *io);
// Sets the random numbers of the next resets and steps of environment i (set_draws in
// include/octet/env.h); NULL returns to its own generator. OCT_EINVAL: no OCTET_ENV_CAN_DRAWS, or
// the environment refuses.
OCT_CHECKED oct_err env_draws_set(env *e, uint32_t i, const double *draws, uint32_t count);
// Draws environment i as it is now into rgb[height][width][3], from the top left. OCT_EINVAL: no
// OCTET_ENV_CAN_RENDER; OCT_EINTERNAL: the machine lacks what the environment draws with
// (env_error).
OCT_CHECKED oct_err env_render(env *e, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb);
const char *env_error(const env *e); // one line about the last call that failed

// Count of numbers in a flattened observation, and bytes of an observation or action row.
uint32_t env_space_count(const octet_env_space *space);
uint32_t env_space_bytes(const octet_env_space *space); // 4 for discrete
// Returns true if id names a plug-in's file and not a registered environment (ids may contain a
// slash).
bool env_is_plugin(const char *id);
// Returns true if id runs code that is not Octet's: a plug-in, or "gym:NAME".
bool env_is_code(const char *id);
// Returns true if id comes with Octet: a registered id, or "dmc:TASK".
bool env_is_built_in(const char *id);
// Returns the registered ids, NULL-terminated.
const char *const *env_ids(void);
// Lists the ids of the Control Suite, NULL-terminated, in static storage. Errors, with one line in
// reason: OCT_ENOTFOUND: this build has no module, or it is missing; OCT_EINVAL: it cannot be
// loaded.
#define ENV_MODULE_TASKS_MAX 63
OCT_CHECKED oct_err env_module_ids(const char *ids[ENV_MODULE_TASKS_MAX + 1], oct_reason *why);

#endif // ENVS_ENV_H
