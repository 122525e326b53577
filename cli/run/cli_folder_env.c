// The environment that a policy is played in: the one that was named, else what lies beside the
// policy tells, else the policy itself.

#include "cli/run/cli_folder_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run/cli_folder.h"
#include "common/oct_owner.h"

// Loads the file of that name beside the policy, if there is one (*is_there); *is_foreign: it is of
// another user, but not of root.
static oct_err
beside_load(cli_folder_env *out, const char *policy, const char *name, bool *is_there,
            bool *is_foreign, char *reason, size_t reason_size)
{
    char path[CLI_PATH_MAX + 32];
    struct stat file;
    uid_t owner = 0;
    oct_config config;
    (void)cli_folder_beside(path, sizeof(path), policy, name);
    *is_there = stat(path, &file) == 0 || errno != ENOENT;
    if (!*is_there) {
        return OCT_OK;
    }
    oct_config_default(&config);
    oct_err err = oct_config_load_plain(&config, path, &owner, reason, reason_size);
    if (err != OCT_OK) {
        reason[strcspn(reason, "\n")] = '\0';
        return err;
    }
    bool has_options = config.env.options[0] != '\0', has_models = config.env.mjcf_dir[0] != '\0';
    (void)snprintf(out->own_id, sizeof(out->own_id), "%s", config.env.id);
    (void)snprintf(out->own_options, sizeof(out->own_options), "%s%s%s%s", config.env.options,
                   has_options && has_models ? "," : "", has_models ? "mjcf_dir=" : "",
                   config.env.mjcf_dir);
    *is_foreign = !oct_owner_is_trusted(owner);
    return OCT_OK;
}

oct_err
cli_folder_env_choose(cli_folder_env *out, const char *policy, const char *trained_on,
                      const char *env_id, const char *options, char *reason, size_t reason_size)
{
    bool is_run = false, is_student = false, is_foreign = false;
    bool is_given = options[0] != '\0', is_named = env_id != NULL;
    *out = (cli_folder_env){.own_id = ""};
    if (!is_named) {
        OCT_TRY(beside_load(out, policy, "config.yaml", &is_run, &is_foreign, reason, reason_size));
    }
    if (!is_named && !is_run) {
        OCT_TRY(
            beside_load(out, policy, CLI_ENV_FILE, &is_student, &is_foreign, reason, reason_size));
    }
    const char *stranger = is_foreign && is_run ? "a config.yaml of another user"
                           : is_foreign         ? "an " CLI_ENV_FILE " of another user"
                                                : NULL;
    if (!is_named && out->own_id[0] == '\0') {
        (void)snprintf(out->own_id, sizeof(out->own_id), "%s", trained_on);
        stranger = "only the policy";
    }
    out->stranger = is_named || env_is_built_in(out->own_id) ? NULL : stranger;
    out->id = is_named ? env_id : out->own_id;
    out->options = is_given ? options : out->own_options;
    out->is_known = is_given || is_named || is_run || is_student;
    out->options_from = is_given     ? "--options"
                        : is_named   ? "with --env, only those of --options"
                        : is_run     ? "config.yaml beside the policy"
                        : is_student ? CLI_ENV_FILE " beside the policy"
                                     : "no config.yaml beside the policy";
    return OCT_OK;
}

void
cli_folder_env_print(const cli_folder_env *chosen)
{
    printf("environment %s, options %s (%s)\n", chosen->id,
           chosen->options[0] != '\0' ? chosen->options : "none", chosen->options_from);
}

oct_err
cli_folder_env_open(env **out, const cli_folder_env *chosen, uint64_t seed, char *reason,
                    size_t reason_size)
{
    env_request request = {
        .id = chosen->id, .options = chosen->options, .count = 1, .seed = seed, .autoreset = true};
    if (chosen->stranger != NULL && !env_is_code(chosen->id)) { // its own name, which is no path
        (void)snprintf(reason, reason_size,
                       "the policy was trained on it, but it does not come with Octet; give the "
                       "path of its plug-in with --env PATH");
        return OCT_ENOTFOUND;
    }
    if (chosen->stranger != NULL) {
        (void)snprintf(reason, reason_size,
                       "%s names it, and it is code that does not come with Octet; if it may run "
                       "here, give --env %s, with --options K=V,...",
                       chosen->stranger, chosen->id);
        return OCT_EINVAL;
    }
    return env_open(out, &request, reason, reason_size);
}
