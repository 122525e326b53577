// The environment that a policy is played in: the one that was named, else what lies beside the
// policy tells, else the policy itself.

#include "cli/run/cli_folder_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run/cli_folder.h"
#include "cli/run/cli_trust.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

// Loads the file of that name beside the policy, if there is one (*is_there).
static oct_err
beside_load(cli_folder_env *out, const char *policy, const char *name, bool *is_there, char *reason,
            size_t reason_size)
{
    char path[CLI_PATH_MAX + 32];
    struct stat file;
    uid_t owner = 0;
    oct_config config;
    (void)cli_folder_beside(path, sizeof(path), policy, name);
    *is_there = oct_file_stat(path, &file) == 0 || errno != ENOENT;
    if (!*is_there) {
        return OCT_OK;
    }
    oct_config_default(&config);
    oct_err err = oct_config_load_owner(&config, path, &owner, reason, reason_size);
    if (err != OCT_OK) {
        reason[strcspn(reason, "\n")] = '\0';
        return err;
    }
    bool has_options = config.env.options[0] != '\0', has_models = config.env.mjcf_dir[0] != '\0';
    (void)snprintf(out->own_id, sizeof(out->own_id), "%s", config.env.id);
    (void)snprintf(out->own_options, sizeof(out->own_options), "%s%s%s%s", config.env.options,
                   has_options && has_models ? "," : "", has_models ? "mjcf_dir=" : "",
                   config.env.mjcf_dir);
    out->max_steps = config.evaluation.max_steps;
    out->sampling = config.evaluation.sampling;
    (void)cli_trust_doubts(out->stranger, path, owner, out->own_id);
    return OCT_OK;
}

oct_err
cli_folder_env_choose(cli_folder_env *out, const char *policy, const char *trained_on,
                      const char *env_id, const char *options, bool is_trusted, char *reason,
                      size_t reason_size)
{
    bool is_run = false, is_student = false;
    bool is_given = options[0] != '\0', is_named = env_id != NULL;
    *out = (cli_folder_env){.is_trusted = is_trusted};
    if (!is_named) {
        OCT_TRY(beside_load(out, policy, "config.yaml", &is_run, reason, reason_size));
    }
    if (!is_named && !is_run) {
        OCT_TRY(beside_load(out, policy, CLI_ENV_FILE, &is_student, reason, reason_size));
    }
    if (!is_named && out->own_id[0] == '\0') {
        (void)snprintf(out->own_id, sizeof(out->own_id), "%s", trained_on);
        (void)snprintf(out->stranger, sizeof(out->stranger), "%s",
                       env_is_built_in(trained_on) ? "" : "only the policy names it");
    }
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

actor_evaluate_request
cli_folder_env_request(const cli_folder_env *chosen, uint32_t episodes, uint32_t envs,
                       uint64_t seed)
{
    return (actor_evaluate_request){
        .env_id = chosen->id,
        .options = chosen->options,
        .episodes = episodes,
        .envs = OCT_MIN(envs, episodes),
        .seed = seed,
        .sampling = chosen->sampling,
        .max_steps = chosen->max_steps,
    };
}

void
cli_folder_env_print(const cli_folder_env *chosen)
{
    printf("environment %s, options %s (%s)%s\n", chosen->id,
           chosen->options[0] != '\0' ? chosen->options : "none", chosen->options_from,
           chosen->sampling ? ", sampled actions (evaluation.sampling)" : "");
}

oct_err
cli_folder_env_open(env **out, const char *command, const cli_folder_env *chosen, uint64_t seed,
                    char *reason, size_t reason_size)
{
    env_request request = {
        .id = chosen->id, .options = chosen->options, .count = 1, .seed = seed, .autoreset = true};
    if (chosen->stranger[0] == '\0') {
        return env_open(out, &request, reason, reason_size);
    }
    if (!env_is_code(chosen->id)) { // its own name, which is no path
        (void)snprintf(reason, reason_size,
                       "the policy was trained on it, but it does not come with Octet; give the "
                       "path of its plug-in with --env PATH");
        return OCT_ENOTFOUND;
    }
    if (!chosen->is_trusted) {
        return oct_refuse(reason, reason_size,
                          "%s; the environment is code, which runs here only with --trust, or "
                          "with --env %s and --options K=V,...",
                          chosen->stranger, chosen->id);
    }
    cli_trust_note(command, chosen->stranger, chosen->id);
    return env_open(out, &request, reason, reason_size);
}
