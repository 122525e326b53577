// octet eval: plays episodes with a policy file and prints the return. The environment is that of
// the policy unless --env names another one; the policy must fit it. A video of the first episodes
// is taken in the same pass, so that it shows exactly what was measured.

#include "cli/cli_commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "actor/actor_evaluate.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_json.h"
#include "cli/cli_options.h"
#include "cli/cli_signals.h"
#include "cli/cli_text.h"
#include "cli/cli_video.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_folder_env.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
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

typedef struct eval_report {
    const eval_options *options;
    const policy_net *net;
    bool sampling;                       // actions were sampled
    const actor_evaluate_result *result; // with returns and lengths of all episodes
    const char *video;                   // description of the video; NULL: there is none
} eval_report;

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

// ---- the report as text

// Prints the environment's own metrics, one a line.
static void
print_metrics(const actor_evaluate_result *result)
{
    for (uint32_t k = 0; k < result->metric_names.count; k++) {
        const oct_metric *metric = &result->metrics[k];
        const char *name = result->metric_names.name[k];
        if (metric->episodes == 0) {
            printf("  metric       %s: not measured\n", name);
        } else if (metric->episodes < result->episodes) {
            printf("  metric       %s: %.4g, measured in %u of the episodes\n", name,
                   oct_metric_mean(metric), (unsigned)metric->episodes);
        } else {
            printf("  metric       %s: %.4g\n", name, oct_metric_mean(metric));
        }
    }
}

// The time is that of the whole evaluation, so it includes the environment and the policy.
static double
steps_per_s(const actor_evaluate_result *result)
{
    return (double)result->env_steps / fmax(result->seconds, 1e-9);
}

static void
report_text(const eval_report *report)
{
    const actor_evaluate_result *result = report->result;
    printf("%s: %s policy, version %" PRIu64 ", %s kernel\n", report->options->policy,
           policy_precision_name(policy_net_precision(report->net)),
           policy_net_origin(report->net)->version, policy_isa_name(policy_net_isa(report->net)));
    printf("  environment  %s, seed %" PRIu64 "\n", report->options->env_id, report->options->seed);
    printf("  options      %s (%s)\n",
           report->options->options[0] != '\0' ? report->options->options : "none",
           report->options->options_from);
    if (report->sampling) {
        printf("  actions      sampled from the policy's distribution\n");
    }
    printf("  return       %.2f ± %.2f over %u episode%s (min %.2f, max %.2f)\n", result->mean,
           result->std, (unsigned)result->episodes, oct_text_plural(result->episodes), result->min,
           result->max);
    if (result->failed > 0) {
        printf("  failed       %u further episode%s, repeated (%s)\n", (unsigned)result->failed,
               oct_text_plural(result->failed), cli_text_plain(result->failure, SIZE_MAX).text);
    }
    if (result->truncated > 0) {
        printf("  truncated    %u of the episodes, after %u steps (evaluation.max_steps)\n",
               (unsigned)result->truncated, (unsigned)result->max_steps);
    }
    printf("  length       %.1f steps\n", result->mean_length);
    print_metrics(result);
    printf("  speed        %s steps/s (%s steps in %s)\n", cli_text_count(steps_per_s(result)).text,
           cli_text_count((double)result->env_steps).text, cli_text_seconds(result->seconds).text);
    if (report->video != NULL) {
        printf("  video        %s\n", report->video);
    }
}

// ---- the report as JSON

// By name: the mean, and the number of episodes that it is from.
static json_t *
metrics_json(const actor_evaluate_result *result)
{
    json_t *out = json_object();
    for (uint32_t k = 0; k < result->metric_names.count; k++) {
        const oct_metric *metric = &result->metrics[k];
        cli_json_put(out, result->metric_names.name[k],
                     CLI_JSON_OBJECT({"mean", cli_json_number(oct_metric_mean(metric))},
                                     {"episodes", json_integer(metric->episodes)}));
    }
    return out;
}

static void
episodes_put(json_t *out, const actor_evaluate_result *result)
{
    json_t *returns = json_array(), *lengths = json_array();
    for (uint32_t i = 0; i < result->episodes; i++) {
        cli_json_append(returns, cli_json_number((double)result->returns[i]));
        cli_json_append(lengths, json_integer(result->lengths[i]));
    }
    cli_json_put(out, "returns", returns);
    cli_json_put(out, "lengths", lengths);
}

static void
result_put(json_t *out, const actor_evaluate_result *result)
{
    cli_json_put(out, "episodes", json_integer(result->episodes));
    cli_json_put(out, "mean", cli_json_number(result->mean));
    cli_json_put(out, "std", cli_json_number(result->std));
    cli_json_put(out, "min", cli_json_number(result->min));
    cli_json_put(out, "max", cli_json_number(result->max));
    cli_json_put(out, "mean_length", cli_json_number(result->mean_length));
    episodes_put(out, result);
    cli_json_put(out, "failed_episodes", json_integer(result->failed));
    cli_json_put(out, "failure", result->failed > 0 ? cli_json_text(result->failure) : json_null());
    cli_json_put(out, "truncated_episodes", json_integer(result->truncated));
    cli_json_put(out, "metrics", metrics_json(result));
    cli_json_put(out, "env_steps", cli_json_whole(result->env_steps));
    cli_json_put(out, "seconds", cli_json_number(result->seconds));
    cli_json_put(out, "steps_per_s", cli_json_number(steps_per_s(result)));
}

// One line, so that several evaluations can be appended to a file. 15 digits keep doubles exact
// enough to compare runs.
static void
report_json(const eval_report *report)
{
    json_t *out = json_object();
    cli_json_put(out, "policy", cli_json_text(report->options->policy));
    cli_json_put(out, "policy_version", cli_json_whole(policy_net_origin(report->net)->version));
    cli_json_put(out, "precision",
                 cli_json_text(policy_precision_name(policy_net_precision(report->net))));
    cli_json_put(out, "kernel", cli_json_text(policy_isa_name(policy_net_isa(report->net))));
    cli_json_put(out, "environment", cli_json_text(report->options->env_id));
    cli_json_put(out, "options", cli_json_text(report->options->options));
    cli_json_put(out, "options_from", cli_json_text(report->options->options_from));
    cli_json_put(out, "seed", cli_json_whole(report->options->seed));
    cli_json_put(out, "sampling", json_boolean(report->sampling));
    result_put(out, report->result);
    cli_json_put(out, "video", report->video != NULL ? cli_json_text(report->video) : json_null());
    char *line = cli_json_print(out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    printf("%s\n", line);
    free(line);
    json_decref(out);
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
    return cli_error("eval", "the video: %s", why.text);
}

// The video is completed first, because its text is a part of the report.
static int
report(const policy_net *net, const eval_options *options, const cli_folder_env *chosen,
       const actor_evaluate_result *result, cli_video *video)
{
    char text[REASON_BYTES];
    int exit_code = video_end(video, text);
    const eval_report made = {.options = options,
                              .net = net,
                              .sampling = chosen->sampling,
                              .result = result,
                              .video = text[0] != '\0' ? text : NULL};
    (options->json ? report_json : report_text)(&made);
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
        return cli_error("eval", "'%s': %s", options.policy, why.text);
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
