// Chooses the environment in which a policy is played: the one the user named, else the one named
// by a file beside the policy, else the one named by the policy itself.

#include "cli/run/cli_folder_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run/cli_folder.h"
#include "cli/run/cli_trust.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

// Loads a file beside the policy, if there is one (*is_there).
static oct_err
beside_load(cli_folder_env *out, const char *policy, const char *name, bool *is_there,
            oct_reason *why)
{
    char path[CLI_PATH_MAX + 32];
    struct stat file;
    uid_t owner = 0;
    config_experiment config;
    (void)cli_folder_beside(path, sizeof(path), policy, name);
    *is_there = oct_file_stat(path, &file) == 0 || errno != ENOENT;
    if (!*is_there) {
        return OCT_OK;
    }
    config_default(&config);
    oct_err err = config_load_owner(&config, path, &owner, why->text, sizeof(why->text));
    if (err != OCT_OK) {
        why->text[strcspn(why->text, "\n")] = '\0';
        return err;
    }
    bool has_options = config.env.options[0] != '\0', has_models = config.env.mjcf_dir[0] != '\0';
    (void)snprintf(out->own_id, sizeof(out->own_id), "%s", config.env.id);
    (void)snprintf(out->own_options, sizeof(out->own_options), "%s%s%s%s", config.env.options,
                   has_options && has_models ? "," : "", has_models ? "mjcf_dir=" : "",
                   config.env.mjcf_dir);
    out->max_steps = config.evaluation.max_steps;
    out->sampling = config.evaluation.sampling;
    (void)cli_trust_doubts(out->foreign, path, owner, out->own_id);
    return OCT_OK;
}

// config.yaml makes a run, and CLI_ENV_FILE a student of octet distill. Only if there is neither
// does the policy's own text count, which anyone may have written: it is trusted only for
// environments that come with Octet.
oct_err
cli_folder_env_choose(cli_folder_env *out, const char *policy, const char *trained_on,
                      const char *env_id, const char *options, bool is_trusted, oct_reason *why)
{
    bool is_run = false, is_student = false;
    bool is_given = options[0] != '\0', is_named = env_id != NULL;
    *out = (cli_folder_env){.is_trusted = is_trusted};
    if (!is_named) {
        OCT_TRY(beside_load(out, policy, "config.yaml", &is_run, why));
    }
    if (!is_named && !is_run) {
        OCT_TRY(beside_load(out, policy, CLI_ENV_FILE, &is_student, why));
    }
    if (!is_named && out->own_id[0] == '\0') {
        (void)snprintf(out->own_id, sizeof(out->own_id), "%s", trained_on);
        (void)snprintf(out->foreign, sizeof(out->foreign), "%s",
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

// A name from another user's file is not opened as code without --trust.
oct_err
cli_folder_env_open(env **out, const char *command, const cli_folder_env *chosen, uint64_t seed,
                    oct_reason *why)
{
    env_request request = {
        .id = chosen->id, .options = chosen->options, .count = 1, .seed = seed, .autoreset = true};
    if (chosen->foreign[0] == '\0') {
        return env_open(out, &request, why);
    }
    if (!env_is_code(chosen->id)) { // a name that no path leads to: the plug-in cannot be found
        return oct_fail(why, OCT_ENOTFOUND,
                        "the policy was trained on it, but it does not come with Octet; give the "
                        "path of its plug-in with --env PATH");
    }
    if (!chosen->is_trusted) {
        return oct_refuse(why,
                          "%s; the environment is code, which runs here only with --trust, or "
                          "with --env %s and --options K=V,...",
                          chosen->foreign, chosen->id);
    }
    cli_trust_note(command, chosen->foreign, chosen->id);
    return env_open(out, &request, why);
}
