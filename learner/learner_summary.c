// summary.json: the results of a run.
#include "learner/learner_summary.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_commit.h"
#include "common/oct_file.h"

static void
set_number(json_t *object, const char *key, double value)
{
    (void)json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

static void
set_count(json_t *object, const char *key, uint64_t value)
{
    (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void
set_text(json_t *object, const char *key, const char *value)
{
    json_t *text = json_string(value);
    (void)json_object_set_new(object, key, text != NULL ? text : json_null());
}

static json_t *
metrics_json(const learner_eval_result *result, const oct_metric_names *names)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < names->count; i++) {
        set_number(object, names->name[i], oct_metric_mean(&result->metrics[i]));
    }
    return object;
}

static json_t *
evaluation_json(const learner_summary *summary, const learner_eval_result *result,
                const char *precision)
{
    json_t *object = json_object();
    set_text(object, "precision", precision);
    set_number(object, "mean", result->mean);
    set_number(object, "std", result->std);
    set_number(object, "min", result->min);
    set_number(object, "max", result->max);
    set_count(object, "episodes", result->episodes);
    set_text(object, "actions", summary->config->evaluation.sampling ? "sampled" : "greedy");
    set_count(object, "failed_episodes", result->failed);
    set_count(object, "truncated_episodes", result->truncated);
    set_number(object, "mean_length", result->mean_length);
    set_count(object, "policy_version", result->version);
    (void)json_object_set_new(object, "metrics", metrics_json(result, summary->metrics));
    return object;
}

// Describes the return of policy.oct and its bias: it is from an independent evaluation, or from
// the evaluations by which the policy was chosen.
static json_t *
return_json(const learner_summary *summary)
{
    const learner_eval_result *result = &summary->result;
    if (result->episodes == 0) {
        return json_null();
    }
    json_t *object = evaluation_json(summary, result, summary->result_precision);
    set_text(object, "stage", learner_eval_stage_name[result->stage]);
    (void)json_object_set_new(object, "final", json_boolean(result->stage == LEARNER_EVAL_RESULT));
    return object;
}

static json_t *
screens_json(const learner_summary *summary)
{
    json_t *object = json_object();
    set_count(object, "count", summary->screens);
    set_number(object, "mean", summary->screens > 0 ? summary->screens_mean : NAN);
    return object;
}

static json_t *
bytes_json(const learner_summary *summary)
{
    json_t *object = json_object();
    set_number(object, "actor_to_replay", summary->actor_to_replay_bytes);
    set_number(object, "replay_to_learner", summary->replay_to_learner_bytes);
    set_number(object, "learner_to_replay", summary->learner_to_replay_bytes);
    set_number(object, "learner_to_each_actor", summary->learner_to_actors_bytes);
    return object;
}

static json_t *
actor_seconds_json(const learner_summary *summary)
{
    json_t *object = json_object();
    set_number(object, "infer", summary->actor_infer_s);
    set_number(object, "env", summary->actor_env_s);
    set_number(object, "collect", summary->actor_collect_s);
    set_number(object, "wait", summary->actor_wait_s);
    return object;
}

// Describes the cost and the error of quantizing the last version, layer by layer (zero for fp32).
static json_t *
publication_json(const quantizer_publication *last)
{
    if (last == NULL) {
        return json_null();
    }
    json_t *object = json_object(), *layers = json_array();
    set_count(object, "version", last->version);
    set_count(object, "bytes", last->length);
    set_count(object, "delta_bytes", last->delta_length);
    set_number(object, "encode_ms", last->encode_s * 1e3);
    for (uint32_t l = 0; l < last->layer_count; l++) {
        json_t *layer = json_object();
        set_number(layer, "relative_l2", last->error[l].relative_l2);
        set_number(layer, "max_abs", last->error[l].max_abs);
        (void)json_array_append_new(layers, layer);
    }
    (void)json_object_set_new(object, "layer_error", layers);
    return object;
}

static double
per_second(uint64_t count, double seconds)
{
    return seconds > 0 ? (double)count / seconds : NAN;
}

// Keeps the training results of an earlier summary, which describes the process that learned.
static void
keep_learned(json_t *root, const char *before)
{
    static const char *const keys[] = {
        "updates_refused", "env_failures",     "env_failures_why",
        "sampling_why",    "inserts",          "samples",
        "publications",    "deltas",           "actors",
        "training_s",      "env_steps_per_s",  "updates_per_s",
        "learner_cpu_s",   "agreement",        "learner_wait_share",
        "divergence",      "last_publication", "actor_seconds",
        "bytes",
    };
    json_t *earlier = json_loads(before, 0, NULL);
    bool is_of_run =
        json_equal(json_object_get(earlier, "run_id"), json_object_get(root, "run_id"));
    for (size_t i = 0; is_of_run && i < OCT_COUNTOF(keys); i++) {
        json_t *value = json_object_get(earlier, keys[i]);
        if (value != NULL) { // earlier releases do not write all keys
            (void)json_object_set(root, keys[i], value);
        }
    }
    json_decref(earlier);
}

oct_err
learner_summary_write(const char *path, const learner_summary *summary)
{
    json_t *root = json_object();
    char run_id[32];
    (void)snprintf(run_id, sizeof(run_id), "%016" PRIx64, summary->run_id);
    set_text(root, "env", summary->config->env.id);
    set_text(root, "run_id", run_id);
    set_count(root, "seed", summary->config->run.seed);
    set_text(root, "reason", summary->reason);
    set_text(root, "unevaluated_why", summary->unevaluated);
    set_text(root, "sampling_why", summary->sampling);
    (void)json_object_set_new(root, "solved", json_boolean(summary->solved));
    set_number(root, "goal", summary->config->run.stop_at_return);
    (void)json_object_set_new(root, "return", return_json(summary));
    (void)json_object_set_new(
        root, "last_return",
        summary->has_last ? evaluation_json(summary, &summary->last_result, summary->precision)
                          : json_null());
    (void)json_object_set_new(root, "last_screens", screens_json(summary));
    set_count(root, "env_steps", summary->env_steps);
    set_count(root, "updates", summary->updates);
    set_text(root, "unlearned_why", summary->unlearned);
    set_count(root, "updates_refused", summary->updates_refused);
    set_count(root, "env_failures", (uint64_t)summary->env_failures);
    set_count(root, "evaluation_failures", (uint64_t)summary->evaluation_failures);
    set_count(root, "inserts", summary->inserts);
    set_count(root, "samples", summary->samples);
    set_count(root, "policy_version", summary->policy_version);
    set_count(root, "publications", summary->publications);
    set_count(root, "deltas", summary->deltas);
    set_count(root, "actors", summary->actors);
    set_number(root, "learner_wall_s", summary->wall_s);
    set_number(root, "training_s", summary->training_s);
    set_number(root, "env_steps_per_s",
               per_second(summary->env_steps - summary->env_steps_base, summary->training_s));
    set_number(root, "updates_per_s",
               per_second(summary->updates - summary->updates_base, summary->training_s));
    set_number(root, "learner_wait_share", summary->wait_share);
    set_number(root, "learner_cpu_s", summary->cpu_s);
    (void)json_object_set_new(root, "last_publication", publication_json(summary->last));
    set_number(root, "agreement", summary->agreement);
    set_number(root, "divergence", summary->divergence);
    (void)json_object_set_new(root, "actor_seconds", actor_seconds_json(summary));
    (void)json_object_set_new(root, "bytes", bytes_json(summary));
    set_text(root, "blas", summary->blas);
    set_text(root, "version", OCTET_VERSION);
    set_text(root, "commit", OCT_COMMIT);
    if (summary->before != NULL && summary->updates == summary->updates_base &&
        summary->updates_refused == 0) {
        keep_learned(root, summary->before);
    }
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (text == NULL) {
        return OCT_EINTERNAL;
    }
    size_t length = strlen(text);
    text[length] = '\n'; // replaces the zero byte by the last line's end
    oct_err err = oct_file_write(path, text, length + 1);
    free(text);
    return err;
}
