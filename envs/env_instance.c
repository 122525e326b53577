// Finds an environment by id or path, creates its handle, and checks and copies its spec.
#include "envs/env_instance.h"

#include <stdio.h>
#include <string.h>

#include "common/oct_action_repeat.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "envs/env.h"
#include "envs/env_module.h"
#include "envs/env_nearest.h"
#include "envs/env_options.h"
#include "envs/env_plugin.h"
#include "envs/env_registry.h"
#include "envs/env_repeat.h"
#include "envs/env_stack.h"
#include "envs/gym/env_gym.h"

#define COUNT_MAX (1u << 20)

// Copies a plug-in's text: the first line, with control characters replaced.
static void
line_copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text != NULL && text[0] != '\0' ? text : "it gave no reason");
    oct_text_tame(out, strlen(out), ' ');
}

bool
env_is_plugin(const char *id)
{
    return env_registry_find(id) == NULL && !env_gym_has(id) && env_plugin_is_path(id);
}

bool
env_is_code(const char *id)
{
    return env_is_plugin(id) || env_gym_has(id);
}

bool
env_is_built_in(const char *id)
{
    return env_registry_find(id) != NULL || env_module_has(id);
}

// Explains that there is no such id; asks for the Control Suite's ids if none of the registered
// ones is near.
static void
unknown_explain(const char *id, oct_reason *why)
{
    const char *ids[ENV_MODULE_TASKS_MAX + 1], *nearest = NULL;
    env_registry_explain(id, why);
    oct_reason unused;
    if (env_nearest(id, env_ids()) == NULL && env_module_ids(ids, &unused) == OCT_OK) {
        nearest = env_nearest(id, ids);
    }
    if (nearest != NULL) {
        oct_reason_set(why, "no environment \"%.63s\"; did you mean %s? (octet env list shows all)",
                       id, nearest);
    }
}

// Python finds modules by name, not by path. The reason for refusing "./file.py:NAME", with or
// without "gym:", says what to write instead.
static oct_err
file_refuse(const char *id, oct_reason *why)
{
    const char *path = env_gym_has(id) ? env_gym_name(id) : id, *end = strstr(path, ".py");
    if (end == NULL || (end[3] != ':' && end[3] != '\0')) {
        return OCT_OK;
    }
    const char *slash = memrchr(path, '/', (size_t)(end - path));
    const char *module = slash != NULL ? slash + 1 : path;
    return oct_refuse(
        why,
        "%s: an environment of Python is named by its module: write gym:%.*s:%s, with "
        "the folder %.*s in PYTHONPATH",
        id, (int)(end - module), module, end[3] == ':' ? end + 4 : "NAME",
        slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
}

static oct_err
api_find(const octet_env_api **out, const env_request *request, oct_reason *why)
{
    const char *id = request->id;
    OCT_TRY(file_refuse(id, why));
    if (env_gym_has(id)) {
        if (request->plugins != NULL) {
            OCT_TRY(env_plugin_dirs_name(request->plugins, id, why));
        }
        *out = &env_gym_api;
        return OCT_OK;
    }
    if (env_is_plugin(id)) {
        char path[PATH_MAX];
        if (request->plugins != NULL) {
            OCT_TRY(env_plugin_dirs_find(request->plugins, id, path, why));
        }
        return env_plugin_load(out, request->plugins != NULL ? path : id, why);
    }
    *out = env_registry_find(id);
    if (*out == NULL && env_module_has(id)) {
        return env_module_find(out, id, why);
    }
    if (*out == NULL) {
        unknown_explain(id, why);
        return OCT_ENOTFOUND;
    }
    return OCT_OK;
}

#define OPTIONS_OURS 2

// Adds the options that follow from the id and the request, for Gymnasium and the Control Suite.
// Returns the new count.
static uint32_t
options_complete(octet_env_option *items, uint32_t count, const env_request *request)
{
    if (env_gym_has(request->id)) {
        items[count++] = (octet_env_option){ENV_GYM_NAME_KEY, env_gym_name(request->id)};
        return count;
    }
    if (!env_module_has(request->id)) {
        return count;
    }
    const char *folder = request->mjcf_dir;
    items[count++] = (octet_env_option){.key = "task", .value = env_module_task(request->id)};
    if (folder != NULL && folder[0] != '\0') {
        items[count++] = (octet_env_option){.key = "mjcf_dir", .value = folder};
    }
    return count;
}

// Removes the action repeat from the options: 1 if there is none.
static oct_err
repeat_take(env_options *options, uint32_t *repeat, oct_reason *why)
{
    const char *text = env_options_take(options, OCT_ACTION_REPEAT_KEY);
    *repeat = text != NULL ? oct_action_repeat_read(text) : 1;
    if (*repeat == 0) {
        return oct_refuse(why, "option " OCT_ACTION_REPEAT_KEY "=%s: not a whole number 1 .. %d",
                          text, OCT_ACTION_REPEAT_MAX);
    }
    return OCT_OK;
}

_Static_assert(ENV_STACK_MAX == OCT_ACTION_REPEAT_MAX, "one function reads both");

// Removes the view of observations from the options.
static oct_err
view_take(env_options *options, env_stack_view *view, oct_reason *why)
{
    const char *frames = env_options_take(options, ENV_STACK_KEY);
    const char *first = env_options_take(options, ENV_CHANNELS_KEY);
    bool is_on = first != NULL && (strcmp(first, "true") == 0 || strcmp(first, "1") == 0);
    bool is_off = first == NULL || strcmp(first, "false") == 0 || strcmp(first, "0") == 0;
    view->frames = frames != NULL ? oct_action_repeat_read(frames) : 1;
    view->is_channels_first = is_on;
    if (view->frames == 0) {
        return oct_refuse(why, "option " ENV_STACK_KEY "=%s: not a whole number 1 .. %d", frames,
                          ENV_STACK_MAX);
    }
    if (!is_on && !is_off) {
        return oct_refuse(why, "option " ENV_CHANNELS_KEY "=%s: not one of true, false", first);
    }
    return OCT_OK;
}

// With action repeat the inner environment is stepped one step at a time, so the outer one resets.
static uint32_t
autoreset_of(const env_request *request, uint32_t repeat)
{
    bool is_on = request->autoreset && repeat == 1;
    return is_on && request->takes_begins && env_gym_has(request->id) ? ENV_GYM_BEGINS : is_on;
}

static oct_err
handle_create(env_instance *instance, const env_request *request, uint32_t *repeat,
              env_stack_view *view, oct_reason *why)
{
    env_options options;
    OCT_TRY(env_options_init(&options, request->options, why));
    if (repeat_take(&options, repeat, why) != OCT_OK || view_take(&options, view, why) != OCT_OK ||
        (!env_gym_has(request->id) && env_options_decode(&options, why) != OCT_OK)) {
        env_options_fini(&options);
        return OCT_EINVAL;
    }
    octet_env_option items[ENV_OPTIONS_MAX + OPTIONS_OURS];
    memcpy(items, options.items, options.count * sizeof(*items));
    uint32_t count = options_complete(items, options.count, request);
    octet_env_config config = {.size = sizeof(config),
                               .count = request->count,
                               .seed = request->seed,
                               .autoreset = autoreset_of(request, *repeat),
                               .option_count = count,
                               .options = items};
    char text[ENV_REASON_BYTES] = "";
    int failed = instance->api->create(&config, &instance->handle, text, sizeof(text));
    env_options_fini(&options);
    text[sizeof(text) - 1] = '\0';
    if (failed != 0 || instance->handle == NULL) {
        instance->handle = NULL;
        if (why != NULL) {
            line_copy(why->text, sizeof(why->text), text);
        }
        return OCT_EINVAL;
    }
    return OCT_OK;
}

oct_err
env_instance_init(env_instance *out, const env_request *request, oct_reason *why)
{
    if (request->count == 0 || request->count > COUNT_MAX) {
        return oct_refuse(why, "%u environments: not in 1 .. %u", request->count, COUNT_MAX);
    }
    env_instance instance = {0};
    OCT_TRY(api_find(&instance.api, request, why));
    uint32_t repeat;
    env_stack_view view;
    OCT_TRY(handle_create(&instance, request, &repeat, &view, why));
    oct_reason fault;
    const octet_env_spec *theirs = instance.api->spec(instance.handle);
    if (env_plugin_spec_read(&instance.spec, instance.api, theirs, &fault) != OCT_OK) {
        oct_reason_set(why, "%s: not a usable environment: %s", request->id, fault.text);
        env_instance_fini(&instance);
        return OCT_EINVAL;
    }
    if (repeat > 1) {
        env_repeat_around(&instance, repeat, request->count, request->autoreset);
    }
    if ((view.frames > 1 || view.is_channels_first) &&
        env_stack_around(&instance, view, request->count, request->autoreset, why) != OCT_OK) {
        env_instance_fini(&instance);
        return OCT_EINVAL;
    }
    *out = instance;
    return OCT_OK;
}

void
env_instance_fini(env_instance *instance)
{
    if (instance->handle != NULL) {
        instance->api->destroy(instance->handle);
    }
    *instance = (env_instance){0};
}

void
env_instance_error(const env_instance *instance, char *out, size_t size)
{
    line_copy(out, size, instance->api->last_error(instance->handle));
}
