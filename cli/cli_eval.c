// octet eval: plays episodes with a policy file and prints the return. The environment is that of
// the policy unless --env names another one; the policy must fit it. A video of the first episodes
// is taken in the same pass, so that it shows exactly what was measured.

#include "cli/cli_commands.h"

#include <math.h>
#include <stdlib.h>

#include "actor/actor_evaluate.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_eval_report.h"
#include "cli/cli_options.h"
#include "cli/cli_signals.h"
#include "cli/cli_video.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_folder_env.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/render/render_scene.h"
#include "policy/policy_file.h"
#include "policy/policy_net.h"

#define REASON_BYTES ENV_REASON_BYTES
#define EPISODES_MAX 1000000
#define SECONDS_MIN  0.001
#define ENVS_MAX     4096

typedef struct eval_options {
    const char *policy;
    const char *env_id; // NULL: the one that the policy was trained on
    const char *options;
    const char *options_from; // says where options come from, or why there are none
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
    bool sampling, greedy; // neither: as in the run's own evaluations
    bool json;
    bool is_trusted;
    cli_video_options video;
} eval_options;

static const oct_arg eval_rows[] = {
    {OCT_ARG_OPERAND("policies", eval_options, policy), .missing = "no POLICY file given"},
    {OCT_ARG_PATH("env", "ID", eval_options, env_id),
     .help = "Use this environment or plug-in (default: that of the run, or of the policy)"},
    {OCT_ARG_COUNT("episodes", "N", eval_options, episodes, 1, EPISODES_MAX),
     .help = "Episodes (default: 100)"},
    {OCT_ARG_COUNT("seed", "S", eval_options, seed, 0, CLI_SEED_MAX),
     .help = "Set the seed of the environments and of sampled actions (default: 1)"},
    {OCT_ARG_COUNT("envs", "N", eval_options, envs, 1, ENVS_MAX),
     .help = "Step N environments together (default: 16)"},
    {OCT_ARG_TEXT("options", "K=V,...", eval_options, options),
     .help = "Set options of the environment"},
    {OCT_ARG_FLAG("trust", eval_options, is_trusted), .help = CLI_TRUST_HELP},
    {OCT_ARG_FLAG("sampling", eval_options, sampling),
     .help = "Sample actions from the policy's distribution, as actors do in training (default: "
             "the run's evaluation.sampling)"},
    {OCT_ARG_FLAG("greedy", eval_options, greedy),
     .help = "Act greedily, even if evaluation.sampling of the run is true"},
    {OCT_ARG_FLAG("json", eval_options, json),
     .help = "Print one line of JSON, with the return of each episode"},
    {OCT_ARG_PATH("video", "OUT.mp4|OUT.gif", eval_options, video.path),
     .help = "Write a video of environment 0 (needs ffmpeg)"},
    {OCT_ARG_PATH("frames", "DIR", eval_options, video.folder),
     .help = "Write the frames of the video as PNG files to the new folder DIR"},
    {OCT_ARG_TAKE("video-size", "WxH", eval_options, video.size, render_size_take),
     .allowed = RENDER_SIZE_ALLOWED,
     .help = "Set the size of the video in pixels (default: depends on the environment)"},
    {OCT_ARG_COUNT("video-episodes", "N", eval_options, video.episodes, 1, EPISODES_MAX),
     .help = "Show N episodes in the video (default: 1)"},
    {OCT_ARG_NUMBER("video-seconds", "S", eval_options, video.seconds, SECONDS_MIN, INFINITY),
     .help = "Show only the first S seconds (default: all)"},
    {0},
};

// Checks the options against each other.
static void
options_check(const eval_options *options)
{
    const cli_video_options *video = &options->video;
    bool is_wanted = video->path != NULL || video->folder != NULL;
    if (options->sampling && options->greedy) {
        cli_usage_error("eval", "--sampling and --greedy cannot be used together");
    }
    if (video->path != NULL && video->folder != NULL) {
        cli_usage_error("eval", "--video and --frames cannot be used together");
    }
    const char *detail = video->size[0] > 0    ? "size"
                         : video->episodes > 0 ? "episodes"
                         : video->seconds > 0  ? "seconds"
                                               : NULL;
    if (!is_wanted && detail != NULL) {
        cli_usage_error("eval", "--video-%s needs --video or --frames", detail);
    }
    uint32_t envs = OCT_MIN(options->envs, options->episodes);
    uint32_t played = (options->episodes + envs - 1) / envs;
    if (video->episodes > played) {
        cli_usage_error("eval",
                        "--video-episodes is '%u'; environment 0 plays %u of the %u episodes "
                        "(--envs %u)",
                        video->episodes, played, options->episodes, envs);
    }
}

static const oct_args eval_args = {
    .rows = eval_rows,
    .usage = "POLICY",
    .doc = "Measures the return of a policy file. POLICY is a file or a run folder. The "
           "environment, evaluation.max_steps and evaluation.sampling are those of the config.yaml "
           "beside it, unless --env names another environment; without a config.yaml, the policy "
           "acts greedily.\v"
           "Examples:\n"
           "  octet eval runs/pole/policy.oct --episodes 100\n"
           "  octet eval runs/pole/policy.oct --episodes 1 --video pole.mp4\n\n"
           "The video shows the measured policy from the first step of its first episode.",
};

// ---- whether the policy fits

// Returns true if the policy fits the environment. Also opens the video if one is wanted; *video is
// NULL otherwise.
static bool
env_fits(const policy_image *policy, const eval_options *options, const cli_folder_env *chosen,
         cli_video **video)
{
    env *e = NULL;
    oct_reason why = {""};
    oct_err err = cli_folder_env_open(&e, "eval", chosen, options->seed, &why);
    if (err != OCT_OK) {
        cli_error("eval", "environment '%s': %s", options->env_id, why.text);
        return false;
    }
    err = actor_fits(&policy->spec, &policy->origin, env_spec(e), &why);
    if (err != OCT_OK) {
        cli_error("eval", "'%s' does not fit '%s': %s", options->policy, options->env_id, why.text);
    } else if (options->video.path != NULL || options->video.folder != NULL) {
        err = cli_video_open(video, &options->video, e, &why);
        if (err != OCT_OK) {
            cli_error("eval", "%s", why.text);
        }
    }
    env_close(e);
    return err == OCT_OK;
}

// ---- the result

// Returns true once a signal has come; the evaluation ends at its next step.
static bool
is_stopped(void)
{
    return atomic_load_explicit(cli_signals_noted(), memory_order_relaxed) != 0;
}

// Closes the video, which may be NULL, and writes a line about it to text. Returns the exit code; a
// message was printed if it is not 0.
static int
video_end(cli_video *video, char text[REASON_BYTES])
{
    oct_reason why;
    text[0] = '\0';
    if (video == NULL || cli_video_close(video, text, REASON_BYTES, &why) == OCT_OK) {
        return 0;
    }
    text[0] = '\0';
    if (is_stopped()) {
        return cli_signals_stopped("eval");
    }
    cli_error("eval", "the video: %s", why.text);
    return CLI_EXIT_FAILED;
}

// The video is completed first, because its text is a part of the report.
static int
report(const policy_net *net, const eval_options *options, const cli_folder_env *chosen,
       const actor_evaluate_result *result, cli_video *video)
{
    char text[REASON_BYTES];
    int exit_code = video_end(video, text);
    const cli_eval_report made = {.policy = options->policy,
                                  .origin = policy_net_origin(net),
                                  .precision = policy_net_precision(net),
                                  .isa = policy_net_isa(net),
                                  .env_id = options->env_id,
                                  .options = options->options,
                                  .options_from = options->options_from,
                                  .seed = options->seed,
                                  .sampling = chosen->sampling,
                                  .result = result,
                                  .video = text[0] != '\0' ? text : NULL};
    if (options->json) {
        cli_eval_report_json(&made);
    } else {
        cli_eval_report_text(&made);
    }
    return exit_code;
}

// Plays the episodes and prints the report. Closes the video, which may be NULL.
static int
evaluate(const policy_image *image, const eval_options *options, const cli_folder_env *chosen,
         cli_video *video)
{
    policy_net *net = NULL;
    oct_reason why = {""};
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        cli_error("eval", "cannot run the policy here: %s", policy_isa_refused().text);
        cli_video_abandon(video);
        return CLI_EXIT_FAILED;
    }
    actor_evaluate_request request =
        cli_folder_env_request(chosen, options->episodes, options->envs, options->seed);
    request.stop = cli_signals_noted();
    request.look = video != NULL ? cli_video_frame : NULL;
    request.look_arg = video;
    actor_evaluate_result result = {.returns = oct_alloc(options->episodes * sizeof(float)),
                                    .lengths = oct_alloc(options->episodes * sizeof(uint32_t))};
    int exit_code = CLI_EXIT_FAILED;
    err = actor_evaluate(net, &request, &result, &why);
    if (err == OCT_OK) {
        exit_code = report(net, options, chosen, &result, video);
    } else if (is_stopped()) {
        exit_code = cli_signals_stopped("eval");
        cli_video_abandon(video);
    } else {
        cli_error("eval", "'%s': %s", options->env_id,
                  why.text[0] != '\0' ? why.text : oct_strerror(err));
        cli_video_abandon(video);
    }
    free(result.returns);
    free(result.lengths);
    policy_net_destroy(net);
    return exit_code;
}

int
cli_eval(int argc, char **argv)
{
    eval_options options = {.options = "", .episodes = 100, .envs = 16, .seed = 1};
    cli_args_parse(&eval_args, argc, argv, &options);
    options_check(&options);
    oct_reason why;
    char path[CLI_PATH_MAX];
    policy_image *image;
    cli_folder_file(path, options.policy, "policy.oct");
    options.policy = path;
    if (policy_file_load(&image, options.policy, &why) != OCT_OK) {
        cli_error("eval", "'%s': %s", options.policy, why.text);
        return CLI_EXIT_FAILED;
    }
    cli_folder_env chosen;
    if (cli_folder_env_choose(&chosen, options.policy, image->spec.env_id, options.env_id,
                              options.options, options.is_trusted, &why) != OCT_OK) {
        cli_error("eval", "%s" CLI_FOLDER_ENV_HINT, why.text);
        policy_image_destroy(image);
        return CLI_EXIT_FAILED;
    }
    chosen.sampling = options.sampling || (chosen.sampling && !options.greedy);
    options.env_id = chosen.id;
    options.options = chosen.options;
    options.options_from = chosen.options_from;
    options.video.env_options = options.options;
    int exit_code = CLI_EXIT_FAILED;
    cli_video *video = NULL;
    cli_env_guard_begin("eval", options.env_id);
    if (env_fits(image, &options, &chosen, &video)) {
        exit_code = evaluate(image, &options, &chosen, video);
    }
    cli_env_guard_end();
    policy_image_destroy(image);
    return exit_code;
}
