// Finds and loads the module of the Control Suite (env_dmc.so), and lists the tasks in it.
#include "envs/env_module.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_nearest.h"
#include "envs/env_plugin.h"

#define PREFIX    "dmc:"
#define MODULE    "env_dmc.so"
#define ID_SYMBOL "octet_env_dmc_id"

bool
env_module_has(const char *id)
{
    return strncmp(id, PREFIX, strlen(PREFIX)) == 0;
}

const char *
env_module_task(const char *id)
{
    return id + strlen(PREFIX);
}

static bool
file_is_there(char out[ENV_MODULE_PATH_MAX], const char *folder, const char *below)
{
    int length = snprintf(out, ENV_MODULE_PATH_MAX, "%s%s/" MODULE, folder, below);
    return length > 0 && length < ENV_MODULE_PATH_MAX && oct_file_is_there(out);
}

// Relative to the program's folder, so that it may be moved. Installed modules come first, because
// a folder envs/dmc above an installed program may belong to anyone.
static const char *const near[] = {
    "/" ENV_MODULE_NEAR,                  // installed in bindir
    "/../../" ENV_MODULE_LIBDIR "/octet", // installed in libexec/octet/
    "/../lib/octet",                      // in a wheel
    "/../envs/dmc",                       // built in cli/, actor/ and bench/
    "/../../envs/dmc",                    // a test, built in tests/envs/
    "/../../../envs/dmc",                 // and in tests/envs/dmc/
};

// Finds the shared library that contains this code; "" in a program.
static void
library_file(char out[ENV_MODULE_PATH_MAX])
{
    static const char anchor;
    Dl_info info;
    void *map = NULL;
    out[0] = '\0';
    if (dladdr1(&anchor, &info, &map, RTLD_DL_LINKMAP) != 0 && map != NULL) {
        const struct link_map *object = map;
        snprintf(out, ENV_MODULE_PATH_MAX, "%s", object->l_name); // "" for the program itself
    }
}

// Relative to the folder of liboctet.so: installed, then built.
static const char *const near_library[] = {"/octet", "/../envs/dmc"};

static bool
is_near(char out[ENV_MODULE_PATH_MAX])
{
    char folder[ENV_MODULE_PATH_MAX], library[ENV_MODULE_PATH_MAX];
    library_file(library);
    const char *slash = strrchr(library, '/');
    snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - library) : 0, library);
    for (size_t k = 0; folder[0] != '\0' && k < OCT_COUNTOF(near_library); k++) {
        if (file_is_there(out, folder, near_library[k]) && oct_program_trusts(out, library)) {
            return true;
        }
    }
    (void)oct_program_folder(folder, sizeof(folder));
    for (size_t k = 0; k < OCT_COUNTOF(near); k++) {
        if (file_is_there(out, folder, near[k]) && oct_program_trusts(out, NULL)) {
            return true;
        }
    }
    return file_is_there(out, ENV_MODULE_DIR, "") && oct_program_trusts(out, NULL);
}

oct_err
env_module_path(char out[ENV_MODULE_PATH_MAX], oct_reason *why)
{
    const char *forced = getenv("OCTET_PLUGIN_DIR");
    if (forced != NULL && forced[0] != '\0') {
        if (file_is_there(out, forced, "")) {
            return OCT_OK;
        }
        return oct_fail(why, OCT_ENOTFOUND, "no " MODULE " in OCTET_PLUGIN_DIR, %.200s", forced);
    }
    if (is_near(out)) {
        return OCT_OK;
    }
    if (ENV_MODULE_BUILT) {
        oct_reason_set(
            why,
            "the Control Suite's module " MODULE " is missing: it is neither in %.100s nor in "
            "the build folder; build or install it, or set OCTET_PLUGIN_DIR to its folder",
            ENV_MODULE_DIR);
    } else {
        oct_reason_set(why,
                       "this build has no Control Suite: it was configured without MuJoCo; install "
                       "Debian's libmujoco-dev and build again (meson setup --reconfigure "
                       "-Dmujoco=enabled)");
    }
    return OCT_ENOTFOUND;
}

static oct_err
module_load(const octet_env_api **out, char path[ENV_MODULE_PATH_MAX], oct_reason *why)
{
    OCT_TRY(env_module_path(path, why));
    oct_reason text;
    oct_err err = env_plugin_load(out, path, &text);
    if (err != OCT_OK) {
        bool lacks = strstr(text.text, "libmujoco") != NULL;
        oct_reason_set(why, "%s%s", text.text, lacks ? "; install Debian's libmujoco-dev" : "");
    }
    return err;
}

oct_err
env_module_ids(const char *ids[ENV_MODULE_TASKS_MAX + 1], oct_reason *why)
{
    char path[ENV_MODULE_PATH_MAX];
    const octet_env_api *api;
    OCT_TRY(module_load(&api, path, why));
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL); // the module that is already loaded
    void *symbol = object != NULL ? dlsym(object, ID_SYMBOL) : NULL;
    if (symbol == NULL) {
        return oct_refuse(why, "%.200s: it exports no " ID_SYMBOL, path);
    }
    const char *(*id_at)(uint32_t i);
    memcpy(&id_at, &symbol, sizeof(id_at)); // ISO C has no cast to a function pointer
    uint32_t count = 0;
    while (count < ENV_MODULE_TASKS_MAX && id_at(count) != NULL) {
        ids[count] = id_at(count);
        count++;
    }
    ids[count] = NULL;
    return OCT_OK;
}

static bool
is_listed(const char *id, const char *const *ids)
{
    while (*ids != NULL && strcmp(*ids, id) != 0) {
        ids++;
    }
    return *ids != NULL;
}

oct_err
env_module_find(const octet_env_api **out, const char *id, oct_reason *why)
{
    const char *ids[ENV_MODULE_TASKS_MAX + 1];
    OCT_TRY(env_module_ids(ids, why));
    if (!is_listed(id, ids)) {
        const char *nearest = env_nearest(id, ids);
        oct_reason_set(why, "no environment \"%.63s\"%s%s%s (octet env list shows all)", id,
                       nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "?" : "");
        return OCT_ENOTFOUND;
    }
    char path[ENV_MODULE_PATH_MAX];
    return module_load(out, path, why);
}
