#ifndef ENVS_ENV_H
#define ENVS_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "envs/env_plugin_dirs.h"
#include "include/octet/env.h"

// Environments by name: native ones from the registry, the Control Suite ("dmc:TASK") from its
// module, plug-ins by the path of a shared object, Gymnasium's ("gym:NAME") in a Python process.
//
// Threads: a handle is used by one thread at a time. Owns: nothing of the io; a plug-in stays
// loaded for the life of the process. A plug-in is not trusted further than a process can: its
// table and spec are checked when it is opened, its numbers at every step (env_step). Errors:
// OCT_ENOTFOUND (no such id, with the nearest ones), OCT_EINVAL (bad option, bad plug-in), each
// with one line for a person in reason.
typedef struct env env;

// In the flags of a step, only where the request takes it: the action was not used, reward is 0,
// and obs is the first observation of an episode. The step before ended one without OBS_IS_RESET.
#define ENV_BEGINS 16u

typedef struct env_request {
    const char *id; // "CartPole-v1", "dmc:cheetah_run", "./libmyenv.so" or "gym:LunarLander-v3"
    const char *options; // "key=value,key=value" or ""
    uint32_t count;      // environments stepped together
    uint64_t seed;
    bool autoreset;
    // With autoreset: the caller takes rows with ENV_BEGINS, so that a vector environment of
    // Gymnasium which begins episodes in the step after an end is stepped as one vector.
    bool takes_begins;
    const char *mjcf_dir; // of "dmc:TASK": a folder of model files, "auto"; NULL or "": Octet's own
    // Where a plug-in may come from when a peer chose id; NULL: from anywhere, the user of this
    // process chose it.
    const env_plugin_dirs *plugins;
} env_request;

#define ENV_REASON_BYTES 1024 // enough for every reason of env_open, long paths included
OCT_CHECKED oct_err env_open(env **out, const env_request *request, char *reason,
                             size_t reason_size);
void env_close(env *e); // NULL is a no-op
const octet_env_spec *env_spec(const env *e);
uint32_t env_count(const env *e);
// OCT_EINTERNAL when the environment answers an error or starts an episode with an observation that
// is not finite (env_error says what). A caller's buffer that is NULL is not written.
OCT_CHECKED oct_err env_reset(env *e, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io);
// OCT_EINVAL, and nothing was stepped: a discrete action outside its space, a box action that is
// not finite. An environment whose reward, observation or final observation is not finite, or whose
// flags are unknown, has failed: its flags get OCTET_ENV_FAILED and OCTET_ENV_TRUNCATED, reward,
// final_obs, ep_return and ep_length become 0, metrics NaN, with autoreset it is reset;
// env_failures counts it. One that says itself that it failed gets OCTET_ENV_TRUNCATED, and where
// its flags had no end, these rows become the same. Without autoreset both stay there, and count
// once, until they are reset, loaded or set: whatever they answer, flags and observation stay, and
// the other rows are those of a failure. With autoreset one that could not be reset fails in each
// further step, which tries again, until it begins an episode or its state is loaded or set.
// Metrics that an environment does not write are NaN, in every step.
OCT_CHECKED oct_err env_step(env *e, octet_env_io *io);
// As env_reset, where one that cannot begin does not keep the others from it: it has failed in the
// step that io has the answers of, with flags and reward (of the first reset: none yet), without
// OBS_IS_RESET.
void env_reset_each(env *e, const uint8_t *mask, const uint64_t *seeds, octet_env_io *io);
uint64_t env_failures(const env *e);
// Why an environment failed the last time: one line, what the environment says of it or what was
// unsound; "" while none has.
const char *env_failure(const env *e);
// OCT_EINVAL when the environment cannot save. *length in: room, out: bytes.
OCT_CHECKED oct_err env_save(env *e, uint32_t i, void *buf, uint32_t *length);
OCT_CHECKED oct_err env_load(env *e, uint32_t i, const void *buf, uint32_t length);
// The documented physical state, spec->state_count numbers (OCT_EINVAL without OCTET_ENV_CAN_STATE
// or when refused). env_state_set writes the obs row of i when io is not NULL.
OCT_CHECKED oct_err env_state_get(env *e, uint32_t i, double *state, uint32_t *episode_step);
OCT_CHECKED oct_err env_state_set(env *e, uint32_t i, const double *state, uint32_t episode_step,
                                  octet_env_io *io);
// The random numbers of the next resets and steps of environment i, see set_draws; NULL: its own
// generator. OCT_EINVAL without OCTET_ENV_CAN_DRAWS or when refused.
OCT_CHECKED oct_err env_draws_set(env *e, uint32_t i, const double *draws, uint32_t count);
// Environment i as it is now, rgb[height][width][3] from the top left. OCT_EINVAL without
// OCTET_ENV_CAN_RENDER, OCT_EINTERNAL where the machine lacks what it draws with (env_error).
OCT_CHECKED oct_err env_render(env *e, uint32_t i, uint32_t width, uint32_t height, uint8_t *rgb);
const char *env_error(const env *e); // one line, of the last call that failed

// Numbers in one flattened observation and bytes of one observation or action row.
uint32_t env_space_count(const octet_env_space *space);
uint32_t env_space_bytes(const octet_env_space *space); // 4 for discrete
// Whether id names a plug-in's file and not a registered environment (ids may hold a slash).
bool env_is_plugin(const char *id);
// Whether it runs code that is not Octet's: a plug-in, or "gym:NAME".
bool env_is_code(const char *id);
// Whether it is one that comes with Octet: a registered id, or "dmc:TASK".
bool env_is_built_in(const char *id);
// The registered ids, NULL-terminated.
const char *const *env_ids(void);
// The ids of the Control Suite, NULL-terminated, in static storage that lives on. OCT_ENOTFOUND,
// OCT_EINVAL (this build has none, its module is missing or cannot be loaded) with one line in
// reason.
#define ENV_MODULE_TASKS_MAX 63
OCT_CHECKED oct_err env_module_ids(const char *ids[ENV_MODULE_TASKS_MAX + 1], char *reason,
                                   size_t reason_size);

#endif // ENVS_ENV_H
