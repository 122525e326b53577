// Loads an environment from a shared object, and checks its function table and spec before use.
#include "envs/env_plugin.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_metric.h"
#include "common/oct_reason.h"

#define SYMBOL "octet_env_api_get"

#define STEP_SECONDS_MIN 1e-6 // a video has a whole number of steps for each frame
#define STEP_SECONDS_MAX 1e6

bool
env_plugin_is_path(const char *id)
{
    size_t length = strlen(id);
    if (length > 3 && strcmp(id + length - 3, ".so") == 0) {
        return true;
    }
    // "MinAtar/Brekout-v1" is a mistyped id rather than a missing file.
    return strchr(id, '/') != NULL && (id[0] == '/' || id[0] == '.' || oct_file_is_there(id));
}

static const char *
table_fault(const octet_env_api *api)
{
    if (api->size < offsetof(octet_env_api, get_state)) {
        return "its table is shorter than version 1 of the ABI";
    }
    if (api->abi != OCTET_ENV_ABI) {
        return "its table is of another ABI version";
    }
    const struct {
        bool missing;
        const char *what;
    } functions[] = {
        {api->create == NULL, "it has no create"},
        {api->destroy == NULL, "it has no destroy"},
        {api->spec == NULL, "it has no spec"},
        {api->reset == NULL, "it has no reset"},
        {api->step == NULL, "it has no step"},
        {api->last_error == NULL, "it has no last_error"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(functions); i++) {
        if (functions[i].missing) {
            return functions[i].what;
        }
    }
    return NULL;
}

static void (*_Atomic before)(void);

void
env_plugin_before(void (*fn)(void))
{
    atomic_store(&before, fn);
}

oct_err
env_plugin_load(const octet_env_api **out, const char *path, oct_reason *why)
{
    // dlopen searches a name without "/" in the system's folders; a plug-in is a file that was
    // named.
    size_t bytes = strlen(path) + sizeof("./");
    char *file = oct_alloc(bytes);
    snprintf(file, bytes, "%s%s", strchr(path, '/') != NULL ? "" : "./", path);
    if (!oct_file_is_there(file)) {
        oct_reason_set(why, "%s: no such file", path);
        free(file);
        return OCT_ENOTFOUND;
    }
    void (*first)(void) = atomic_exchange(&before, NULL);
    if (first != NULL) {
        first();
    }
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    free(file);
    if (object == NULL) {
        return oct_refuse(why, "%s: cannot be loaded: %s", path, dlerror());
    }
    octet_env_api_get_fn get;
    void *symbol = dlsym(object, SYMBOL);
    memcpy(&get, &symbol, sizeof(get)); // ISO C has no cast from an object to a function pointer
    const char *fault = NULL;
    const octet_env_api *api = NULL;
    if (symbol == NULL) {
        fault = "it exports no " SYMBOL;
    } else if ((api = get(OCTET_ENV_ABI)) == NULL) {
        fault = "it does not support ABI version 1";
    } else {
        fault = table_fault(api);
    }
    if (fault != NULL) {
        oct_reason_set(why, "%s: not an environment: %s", path, fault);
        (void)dlclose(object);
        return OCT_EINVAL;
    }
    *out = api;
    return OCT_OK;
}

static const char *
bounds_fault(const octet_env_space *space, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        double low = space->low != NULL ? space->low[k] : -INFINITY;
        double high = space->high != NULL ? space->high[k] : INFINITY;
        if (!(low <= high)) {
            return "has a low bound that is not below its high bound";
        }
    }
    return NULL;
}

static const char *
space_fault(const octet_env_space *space)
{
    if (space->size != sizeof(octet_env_space)) {
        return "has a size that is not octet_env_space's";
    }
    if (space->n > 0) {
        return space->n > INT32_MAX ? "has more than 2^31 - 1 values" : NULL;
    }
    if (space->dtype < OCTET_ENV_F32 || space->dtype > OCTET_ENV_I32) {
        return "has an unknown dtype";
    }
    if (space->rank > OCTET_ENV_RANK_MAX) {
        return "has a rank above OCTET_ENV_RANK_MAX";
    }
    uint64_t count = 1;
    for (uint32_t d = 0; d < space->rank; d++) {
        if (space->shape[d] == 0) {
            return "has a dimension of size 0";
        }
        count *= space->shape[d];
        if (count > ENV_PLUGIN_NUMBERS_MAX) {
            return "has more than 2^24 numbers";
        }
    }
    return bounds_fault(space, (uint32_t)count);
}

static const char *
id_fault(const char *id)
{
    if (id == NULL || id[0] == '\0' || strnlen(id, 64) == 64) {
        return "its spec's id is missing or longer than 63 characters";
    }
    for (const char *at = id; *at != '\0'; at++) {
        if (!isgraph((unsigned char)*at)) {
            return "its spec's id has a character that is not printable";
        }
    }
    return NULL;
}

static const char *
names_fault(const octet_env_spec *spec)
{
    for (uint32_t k = 0; k < spec->metric_count; k++) {
        if (spec->metric_names == NULL || spec->metric_names[k] == NULL) {
            return "a metric has no name";
        }
        if (!oct_metric_is_name(spec->metric_names[k])) {
            return "the name of a metric is not 1 to 63 printable characters of ASCII";
        }
    }
    if (!oct_metric_names_differ(spec->metric_names, spec->metric_count)) {
        return "two metrics have the same name";
    }
    uint32_t named = spec->state_names != NULL ? spec->state_count : 0;
    if (named > ENV_PLUGIN_NUMBERS_MAX) {
        return "its state has more than 2^24 numbers";
    }
    for (uint32_t k = 0; k < named; k++) {
        if (spec->state_names[k] == NULL) {
            return "a number of its state has no name";
        }
    }
    return NULL;
}

// Returns what is wrong with the spec beyond single spaces; NULL: nothing.
static const char *
spec_fault(const octet_env_spec *spec, const octet_env_api *api)
{
    const char *fault = id_fault(spec->id);
    if (fault != NULL) {
        return fault;
    }
    if (spec->action.n == 0 && spec->action.dtype != OCTET_ENV_F32 &&
        spec->action.dtype != OCTET_ENV_F64) {
        return "its box actions are neither f32 nor f64";
    }
    if (!(spec->reward_low <= spec->reward_high)) {
        return "its reward_low is not below its reward_high";
    }
    if (spec->metric_count > OCT_METRICS_MAX) {
        return "it has more than 64 metrics";
    }
    if (spec->step_seconds != 0 &&
        !(spec->step_seconds >= STEP_SECONDS_MIN && spec->step_seconds <= STEP_SECONDS_MAX)) {
        return "its step_seconds is neither 0 nor from 1e-6 to 1e6";
    }
    fault = names_fault(spec);
    if (fault != NULL) {
        return fault;
    }
    if ((spec->capabilities & OCTET_ENV_CAN_SAVE) != 0 &&
        (api->save == NULL || api->load == NULL)) {
        return "it claims OCTET_ENV_CAN_SAVE but has no save or no load";
    }
    if ((spec->capabilities & OCTET_ENV_CAN_STATE) != 0 &&
        (!OCTET_ENV_HAS(octet_env_api, api, set_state) || api->get_state == NULL ||
         api->set_state == NULL || spec->state_count == 0 ||
         spec->state_count > ENV_PLUGIN_NUMBERS_MAX)) {
        return "it claims OCTET_ENV_CAN_STATE but has no get_state, set_state or state_count";
    }
    if ((spec->capabilities & OCTET_ENV_CAN_DRAWS) != 0 &&
        (!OCTET_ENV_HAS(octet_env_api, api, set_draws) || api->set_draws == NULL)) {
        return "it claims OCTET_ENV_CAN_DRAWS but has no set_draws";
    }
    if ((spec->capabilities & OCTET_ENV_CAN_RENDER) != 0 &&
        (!OCTET_ENV_HAS(octet_env_api, api, render) || api->render == NULL)) {
        return "it claims OCTET_ENV_CAN_RENDER but has no render";
    }
    return NULL;
}

oct_err
env_plugin_spec_read(octet_env_spec *out, const octet_env_api *api, const octet_env_spec *theirs,
                     oct_reason *why)
{
    if (theirs == NULL || theirs->size < offsetof(octet_env_spec, state_count)) {
        return oct_refuse(why, "%s",
                          theirs == NULL ? "it has no spec" : "its spec is shorter than version 1");
    }
    octet_env_spec spec = {0};
    memcpy(&spec, theirs, OCT_MIN(theirs->size, sizeof(spec)));
    spec.size = sizeof(spec);
    const char *fault = space_fault(&spec.obs);
    if (fault != NULL) {
        return oct_refuse(why, "its observation space %s", fault);
    }
    fault = space_fault(&spec.action);
    if (fault != NULL) {
        return oct_refuse(why, "its action space %s", fault);
    }
    fault = spec_fault(&spec, api);
    if (fault != NULL) {
        return oct_refuse(why, "%s", fault);
    }
    *out = spec;
    return OCT_OK;
}
