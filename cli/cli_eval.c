// octet eval: plays episodes with a policy file and prints its return.

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
#include "envs/env.h"
#include "policy/policy_file.h"
#include "policy/policy_net.h"
#include "render/render_scene.h"

#define REASON_BYTES ENV_REASON_BYTES
#define EPISODES_MAX 1000000
#define SECONDS_MIN  0.001
#define ENVS_MAX     4096

enum {
    KEY_ENV = 256,
    KEY_EPISODES,
    KEY_SEED,
    KEY_ENVS,
    KEY_OPTIONS,
    KEY_SAMPLING,
    KEY_GREEDY,
    KEY_JSON,
    KEY_VIDEO,
    KEY_FRAMES,
    KEY_VIDEO_SIZE,
    KEY_VIDEO_EPISODES,
    KEY_VIDEO_SECONDS,
    KEY_TRUST
};

typedef struct eval_options {
    const char *policy;
    const char *env_id; // NULL: the one that the policy was trained on
    const char *options;
    const char *options_from; // where they come from, or why there are none
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
    bool sampling, greedy; // neither: as the run does
    bool json;
    bool is_trusted;
    cli_video_options video;
} eval_options;

static const struct argp_option option_table[] = {
    {"env", KEY_ENV, "ID", 0,
     "Use this environment or plug-in (default: that of the run, or of the policy)", 0},
    {"episodes", KEY_EPISODES, "N", 0, "Episodes (default: 100)", 0},
    {"seed", KEY_SEED, "S", 0,
     "Set the seed of the environments and of sampled actions (default: 1)", 0},
    {"envs", KEY_ENVS, "N", 0, "Step N environments together (default: 16)", 0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Set options of the environment", 0},
    {"trust", KEY_TRUST, NULL, 0, CLI_TRUST_HELP, 0},
    {"sampling", KEY_SAMPLING, NULL, 0,
     "Sample actions from the policy's distribution, as actors do in training (default: the run's "
     "evaluation.sampling)",
     0},
    {"greedy", KEY_GREEDY, NULL, 0, "Act greedily, even if evaluation.sampling of the run is true",
     0},
    {"json", KEY_JSON, NULL, 0, "Print one line of JSON, with the return of each episode", 0},
    {"video", KEY_VIDEO, "OUT.mp4|OUT.gif", 0, "Write a video of environment 0 (needs ffmpeg)", 0},
    {"frames", KEY_FRAMES, "DIR", 0,
     "Write the frames of the video as PNG files to the new folder DIR", 0},
    {"video-size", KEY_VIDEO_SIZE, "WxH", 0,
     "Set the size of the video in pixels (default: depends on the environment)", 0},
    {"video-episodes", KEY_VIDEO_EPISODES, "N", 0, "Show N episodes in the video (default: 1)", 0},
    {"video-seconds", KEY_VIDEO_SECONDS, "S", 0, "Show only the first S seconds (default: all)", 0},
    {0},
};

// The options of pictures.
static error_t
parse_video(int key, char *arg, cli_video_options *video)
{
    switch (key) {
    case KEY_VIDEO:
        video->path = arg;
        return 0;
    case KEY_FRAMES:
        video->folder = arg;
        return 0;
    case KEY_VIDEO_SIZE:
        if (!render_size_parse(arg, &video->width, &video->height)) {
            cli_usage_error("eval", "--video-size is '%s'; allowed is " RENDER_SIZE_ALLOWED, arg);
        }
        return 0;
    case KEY_VIDEO_EPISODES:
        video->episodes =
            (uint32_t)cli_option_number("eval", "--video-episodes", arg, 1, EPISODES_MAX);
        return 0;
    case KEY_VIDEO_SECONDS:
        video->seconds = cli_option_real("eval", "--video-seconds", arg, SECONDS_MIN, INFINITY);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    eval_options *options = state->input;
    switch (key) {
    case KEY_ENV:
        options->env_id = arg;
        return 0;
    case KEY_EPISODES:
        options->episodes = (uint32_t)cli_option_number("eval", "--episodes", arg, 1, EPISODES_MAX);
        return 0;
    case KEY_SEED:
        options->seed = cli_option_number("eval", "--seed", arg, 0, CLI_SEED_MAX);
        return 0;
    case KEY_ENVS:
        options->envs = (uint32_t)cli_option_number("eval", "--envs", arg, 1, ENVS_MAX);
        return 0;
    case KEY_OPTIONS:
        options->options = arg;
        return 0;
    case KEY_SAMPLING:
        options->sampling = true;
        return 0;
    case KEY_GREEDY:
        options->greedy = true;
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->policy != NULL) {
            cli_usage_error("eval", "two policies, '%s' and '%s'; name one", options->policy, arg);
        }
        options->policy = arg;
        return 0;
    default:
        return parse_video(key, arg, &options->video);
    }
}

// What only all options together show.
static void
options_check(const eval_options *options)
{
    const cli_video_options *video = &options->video;
    bool is_wanted = video->path != NULL || video->folder != NULL;
    if (options->policy == NULL) {
        cli_usage_error("eval", "no POLICY file given");
    }
    if (options->sampling && options->greedy) {
        cli_usage_error("eval", "--sampling and --greedy cannot be used together");
    }
    if (video->path != NULL && video->folder != NULL) {
        cli_usage_error("eval", "--video and --frames cannot be used together");
    }
    const char *detail = video->width > 0      ? "size"
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

static const struct argp eval_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "POLICY",
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

// Opens the video as well, if one is wanted: *video stays NULL otherwise.
static bool
env_fits(const policy_image *policy, const eval_options *options, const cli_folder_env *chosen,
         cli_video **video)
{
    env *e = NULL;
    char reason[REASON_BYTES] = "";
    oct_err err = cli_folder_env_open(&e, "eval", chosen, options->seed, reason, sizeof(reason));
    if (err != OCT_OK) {
        cli_error("eval", "environment '%s': %s", options->env_id, reason);
        return false;
    }
    err = actor_fits(&policy->spec, &policy->origin, env_spec(e), reason, sizeof(reason));
    if (err != OCT_OK) {
        cli_error("eval", "'%s' does not fit '%s': %s", options->policy, options->env_id, reason);
    } else if (options->video.path != NULL || options->video.folder != NULL) {
        err = cli_video_open(video, &options->video, e, reason, sizeof(reason));
        if (err != OCT_OK) {
            cli_error("eval", "%s", reason);
        }
    }
    env_close(e);
    return err == OCT_OK;
}

// ---- the result

static bool
is_stopped(void)
{
    return atomic_load_explicit(cli_signals_noted(), memory_order_relaxed) != 0;
}

// Takes the video, which may be NULL: what text says of it. The exit code; not 0 after a message.
static int
video_end(cli_video *video, char text[REASON_BYTES])
{
    char reason[REASON_BYTES];
    text[0] = '\0';
    if (video == NULL ||
        cli_video_close(video, text, REASON_BYTES, reason, sizeof(reason)) == OCT_OK) {
        return 0;
    }
    text[0] = '\0';
    if (is_stopped()) {
        return cli_signals_stopped("eval");
    }
    cli_error("eval", "the video: %s", reason);
    return CLI_EXIT_FAILED;
}

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

// Takes the video, which may be NULL.
static int
evaluate(const policy_image *image, const eval_options *options, const cli_folder_env *chosen,
         cli_video *video)
{
    policy_net *net = NULL;
    char reason[REASON_BYTES] = "";
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
    err = actor_evaluate(net, &request, &result, reason, sizeof(reason));
    if (err == OCT_OK) {
        exit_code = report(net, options, chosen, &result, video);
    } else if (is_stopped()) {
        exit_code = cli_signals_stopped("eval");
        cli_video_abandon(video);
    } else {
        cli_error("eval", "'%s': %s", options->env_id,
                  reason[0] != '\0' ? reason : oct_strerror(err));
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
    cli_options_parse(&eval_argp, argc, argv, &options);
    options_check(&options);
    char reason[REASON_BYTES], path[CLI_PATH_MAX];
    policy_image *image;
    cli_folder_file(path, options.policy, "policy.oct");
    options.policy = path;
    if (policy_file_load(&image, options.policy, reason, sizeof(reason)) != OCT_OK) {
        cli_error("eval", "'%s': %s", options.policy, reason);
        return CLI_EXIT_FAILED;
    }
    cli_folder_env chosen;
    if (cli_folder_env_choose(&chosen, options.policy, image->spec.env_id, options.env_id,
                              options.options, options.is_trusted, reason,
                              sizeof(reason)) != OCT_OK) {
        cli_error("eval", "%s" CLI_FOLDER_ENV_HINT, reason);
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
