// Prints what octet eval measured, as text and as JSON.

#include "cli/cli_eval_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

// ---- text

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

void
cli_eval_report_text(const cli_eval_report *report)
{
    const actor_evaluate_result *result = report->result;
    printf("%s: %s policy, version %" PRIu64 ", %s kernel\n", report->policy,
           policy_precision_name(report->precision), report->origin->version,
           policy_isa_name(report->isa));
    printf("  environment  %s, seed %" PRIu64 "\n", report->env_id, report->seed);
    printf("  options      %s (%s)\n", report->options[0] != '\0' ? report->options : "none",
           report->options_from);
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

// ---- JSON

// By name: the mean, and the number of episodes that it is from.
static json_t *
metrics_json(const actor_evaluate_result *result)
{
    json_t *out = json_object();
    for (uint32_t k = 0; k < result->metric_names.count; k++) {
        const oct_metric *metric = &result->metrics[k];
        json_t *one = json_object();
        cli_json_put(one, "mean", cli_json_number(oct_metric_mean(metric)));
        cli_json_put(one, "episodes", json_integer(metric->episodes));
        cli_json_put(out, result->metric_names.name[k], one);
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
    cli_json_put(out, "env_steps", json_integer((json_int_t)result->env_steps));
    cli_json_put(out, "seconds", cli_json_number(result->seconds));
    cli_json_put(out, "steps_per_s", cli_json_number(steps_per_s(result)));
}

// One line, so that several evaluations can be appended to a file. 15 digits keep doubles exact
// enough to compare runs.
void
cli_eval_report_json(const cli_eval_report *report)
{
    json_t *out = json_object();
    cli_json_put(out, "policy", cli_json_text(report->policy));
    cli_json_put(out, "policy_version", json_integer((json_int_t)report->origin->version));
    cli_json_put(out, "precision", cli_json_text(policy_precision_name(report->precision)));
    cli_json_put(out, "kernel", cli_json_text(policy_isa_name(report->isa)));
    cli_json_put(out, "environment", cli_json_text(report->env_id));
    cli_json_put(out, "options", cli_json_text(report->options));
    cli_json_put(out, "options_from", cli_json_text(report->options_from));
    cli_json_put(out, "seed", json_integer((json_int_t)report->seed));
    cli_json_put(out, "sampling", json_boolean(report->sampling));
    result_put(out, report->result);
    cli_json_put(out, "video", report->video != NULL ? cli_json_text(report->video) : json_null());
    char *line = cli_json_print(out, JSON_COMPACT | JSON_REAL_PRECISION(15));
    printf("%s\n", line);
    free(line);
    json_decref(out);
}
