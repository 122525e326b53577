// Writes sweep.json after each change, and reads it for --resume.

#include "cli/sweep/cli_sweep_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_json.h"
#include "cli/runs/cli_series.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "config/config_text.h"

#define FORMAT         1
#define FILE_BYTES_MAX (256u << 20)
#define SERIES_ROWS    16 // only the summary is read
#define MESSAGE_BYTES  4096
#define GENERATOR      "pcg32"

// ---- writing

// Writes each key as the user gave it ("values", which --resume parses again) and as it is drawn
// ("drawn", for a reader).
static json_t *
space_json(const cli_space *space)
{
    json_t *keys = json_array();
    for (size_t i = 0; i < space->count; i++) {
        char words[CLI_SPACE_VALUE_MAX * 4];
        cli_json_append(
            keys, CLI_JSON_OBJECT({"key", cli_json_text(space->key[i].name)},
                                  {"values", cli_json_text(space->key[i].spec)},
                                  {"drawn", cli_json_text(cli_space_words(&space->key[i], words,
                                                                          sizeof(words)))}));
    }
    return keys;
}

static json_t *
run_json(const cli_sweep_plan *plan, uint32_t trial, uint32_t seed)
{
    const cli_sweep_run *run = &plan->trial[trial]->run[seed];
    char name[CLI_SWEEP_NAME_MAX];
    return CLI_JSON_OBJECT(
        {"folder", cli_json_text(cli_sweep_plan_name(plan, trial, seed, name))},
        {"seed", cli_json_whole((plan->first_seed + seed))},
        {"state", cli_json_text(cli_sweep_state_words[run->state])},
        {"return", cli_json_number(run->mean)}, {"return_std", cli_json_number(run->std)},
        {"env_steps", cli_json_number(run->env_steps)}, {"updates", cli_json_number(run->updates)},
        {"wall_s", cli_json_number(run->wall_s)});
}

static json_t *
trials_json(const cli_sweep_plan *plan)
{
    json_t *trials = json_array();
    for (uint32_t i = 0; i < plan->count; i++) {
        json_t *trial = json_object(), *values = json_object(), *runs = json_array();
        for (size_t k = 0; k < plan->space.count; k++) {
            cli_json_put(values, plan->space.key[k].name,
                         cli_json_text(plan->trial[i]->point.value[k]));
        }
        for (uint32_t k = 0; k < plan->seeds; k++) {
            cli_json_append(runs, run_json(plan, i, k));
        }
        cli_json_put(trial, "number", json_integer(i + 1));
        cli_json_put(trial, "values", values);
        cli_json_put(trial, "return", cli_json_number(cli_sweep_plan_return(plan, i)));
        cli_json_put(trial, "told", json_boolean(plan->trial[i]->is_reported));
        cli_json_put(trial, "runs", runs);
        cli_json_append(trials, trial);
    }
    return trials;
}

char *
cli_sweep_file_print(const cli_sweep_plan *plan)
{
    json_t *root = json_object();
    cli_json_put(root, "format", json_integer(FORMAT));
    cli_json_put(root, "octet", cli_json_text(OCTET_VERSION));
    cli_json_put(root, "base", cli_json_text(CLI_SWEEP_BASE));
    cli_json_put(root, "method", cli_json_text(cli_sweep_method_words[plan->method]));
    cli_json_put(root, "generator", cli_json_text(GENERATOR));
    cli_json_put(root, "draw_seed", cli_json_whole(plan->draw_seed));
    cli_json_put(root, "trials_wanted", json_integer(plan->wanted));
    cli_json_put(root, "first_seed", cli_json_whole(plan->first_seed));
    cli_json_put(root, "seeds", json_integer(plan->seeds));
    cli_json_put(root, "over", space_json(&plan->space));
    cli_json_put(root, "trials", trials_json(plan));
    char *text =
        cli_json_print(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    json_decref(root);
    return text;
}

oct_err
cli_sweep_file_write(const char *folder, const cli_sweep_plan *plan)
{
    char path[CLI_PATH_MAX + 16];
    char *text = cli_sweep_file_print(plan);
    size_t length = strlen(text);
    text[length] = '\n'; // replaces the zero byte: the file ends with a newline
    (void)snprintf(path, sizeof(path), "%s/" CLI_SWEEP_FILE, folder);
    oct_err err = oct_file_write(path, text, length + 1);
    free(text);
    return err;
}

oct_err
cli_sweep_file_write_base(const char *folder, const config_experiment *base)
{
    char path[CLI_PATH_MAX + 16];
    char *text = config_print_base(base);
    (void)snprintf(path, sizeof(path), "%s/" CLI_SWEEP_BASE, folder);
    oct_err err = oct_file_write(path, text, strlen(text));
    free(text);
    return err;
}

// ---- reading

typedef struct reader {
    const char *path;
    oct_reason *why;
} reader;

// Reads a whole number within low .. high.
static oct_err
whole_read(const reader *r, const json_t *object, const char *name, uint64_t low, uint64_t high,
           uint64_t *out)
{
    const json_t *value = json_object_get(object, name);
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number < low ||
        (uint64_t)number > high) {
        return oct_refuse(r->why, "'%s': %s is not a whole number %" PRIu64 " .. %" PRIu64, r->path,
                          name, low, high);
    }
    *out = (uint64_t)number;
    return OCT_OK;
}

// Reads a word, as its index in words.
static oct_err
word_read(const reader *r, const json_t *object, const char *name, const char *const *words,
          size_t count, unsigned *out)
{
    const char *word = json_string_value(json_object_get(object, name));
    for (unsigned i = 0; word != NULL && i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return OCT_OK;
        }
    }
    return oct_refuse(r->why, "'%s': %s is missing or unknown", r->path, name);
}

static double
number_read(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

// Adds each key as the user gave it, so that the checks of cli_space_add apply again.
static oct_err
space_read(const reader *r, const json_t *root, const config_experiment *base, cli_space *space)
{
    const json_t *keys = json_object_get(root, "over"), *key;
    size_t i;
    json_array_foreach(keys, i, key)
    {
        char over[CLI_SPACE_OVER_MAX];
        oct_reason said = {""};
        const char *name = json_string_value(json_object_get(key, "key"));
        const char *values = json_string_value(json_object_get(key, "values"));
        (void)snprintf(over, sizeof(over), "%s=%s", name != NULL ? name : "",
                       values != NULL ? values : "");
        if (cli_space_add(space, over, base, &said) != OCT_OK) {
            return oct_refuse(r->why, "'%s': %s", r->path, said.text);
        }
    }
    return space->count > 0 ? OCT_OK : oct_refuse(r->why, "'%s': over has no key", r->path);
}

static oct_err
run_read(const reader *r, const json_t *object, cli_sweep_run *out)
{
    unsigned state = 0;
    OCT_TRY(word_read(r, object, "state", cli_sweep_state_words, CLI_SWEEP_STATES, &state));
    *out = (cli_sweep_run){.state = (cli_sweep_state)state,
                           .mean = number_read(object, "return"),
                           .std = number_read(object, "return_std"),
                           .env_steps = number_read(object, "env_steps"),
                           .updates = number_read(object, "updates"),
                           .wall_s = number_read(object, "wall_s")};
    return OCT_OK;
}

// Adds a trial with the values and results of its runs.
static oct_err
trial_read(const reader *r, const json_t *object, cli_sweep_plan *plan)
{
    cli_point point;
    const json_t *values = json_object_get(object, "values");
    const json_t *runs = json_object_get(object, "runs");
    for (size_t i = 0; i < plan->space.count; i++) {
        const char *name = plan->space.key[i].name;
        const char *value = json_string_value(json_object_get(values, name));
        if (value == NULL || strlen(value) >= CLI_SPACE_VALUE_MAX) {
            return oct_refuse(r->why, "'%s': trial %u has no value for %s", r->path,
                              (unsigned)plan->count + 1, name);
        }
        (void)snprintf(point.value[i], CLI_SPACE_VALUE_MAX, "%s", value);
    }
    if (json_array_size(runs) != plan->seeds) {
        return oct_refuse(r->why, "'%s': trial %u does not have %u runs", r->path,
                          (unsigned)plan->count + 1, (unsigned)plan->seeds);
    }
    cli_sweep_trial *trial = cli_sweep_plan_add(plan, &point);
    trial->is_reported = json_is_true(json_object_get(object, "told"));
    for (uint32_t k = 0; k < plan->seeds; k++) {
        OCT_TRY(run_read(r, json_array_get(runs, k), &trial->run[k]));
    }
    return OCT_OK;
}

// Reads the whole plan.
static oct_err
plan_read(const reader *r, const json_t *root, const config_experiment *base, cli_sweep_plan *plan)
{
    uint64_t format, wanted = 0, seeds = 0;
    unsigned method = 0;
    if (whole_read(r, root, "format", FORMAT, FORMAT, &format) != OCT_OK) {
        return oct_refuse(r->why, "'%s' is not a sweep of this version of Octet", r->path);
    }
    OCT_TRY(word_read(r, root, "method", cli_sweep_method_words, CLI_SWEEP_METHODS, &method));
    OCT_TRY(whole_read(r, root, "draw_seed", 0, INT64_MAX, &plan->draw_seed));
    OCT_TRY(whole_read(r, root, "trials_wanted", 1, CLI_SWEEP_TRIALS_MAX, &wanted));
    OCT_TRY(
        whole_read(r, root, "first_seed", 0, INT64_MAX - CLI_SWEEP_SEEDS_MAX, &plan->first_seed));
    OCT_TRY(whole_read(r, root, "seeds", 1, CLI_SWEEP_SEEDS_MAX, &seeds));
    plan->method = (cli_sweep_method)method;
    plan->wanted = (uint32_t)wanted;
    plan->seeds = (uint32_t)seeds;
    OCT_TRY(space_read(r, root, base, &plan->space));
    const json_t *trials = json_object_get(root, "trials"), *trial;
    if (json_array_size(trials) > plan->wanted) {
        return oct_refuse(r->why, "'%s': more than %u trials", r->path, (unsigned)plan->wanted);
    }
    size_t i;
    json_array_foreach(trials, i, trial)
    {
        OCT_TRY(trial_read(r, trial, plan));
    }
    return OCT_OK;
}

// Nothing in the file is trusted: numbers have bounds, words must be known, and the counts must
// agree.
oct_err
cli_sweep_file_parse(const char *name, const char *text, size_t length,
                     const config_experiment *base, cli_sweep_plan *plan, oct_reason *why)
{
    reader r = {.path = name, .why = why};
    json_error_t where;
    json_t *root = json_loadb(text, length, 0, &where);
    if (root == NULL) {
        return oct_refuse(why, "'%s':%d: %s", name, where.line, where.text);
    }
    oct_err err = plan_read(&r, root, base, plan);
    json_decref(root);
    return err;
}

oct_err
cli_sweep_file_read(const char *folder, cli_sweep_plan *plan, config_experiment *base,
                    oct_reason *why)
{
    char path[CLI_PATH_MAX + 16], message[MESSAGE_BYTES] = "";
    uint8_t *bytes;
    size_t length;
    (void)snprintf(path, sizeof(path), "%s/" CLI_SWEEP_FILE, folder);
    oct_file_confine(folder);
    oct_err err = oct_file_read(path, FILE_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        return oct_fail(why, err, "cannot read '%s': %s", path, oct_file_strerror(errno));
    }
    char base_path[CLI_PATH_MAX + 16];
    (void)snprintf(base_path, sizeof(base_path), "%s/" CLI_SWEEP_BASE, folder);
    config_default(base);
    if (config_load(base, base_path, message, sizeof(message)) != OCT_OK) {
        free(bytes);
        message[strcspn(message, "\n")] = '\0';
        return oct_refuse(why, "%s", message);
    }
    err = cli_sweep_file_parse(path, (const char *)bytes, length, base, plan, why);
    free(bytes);
    return err;
}

// ---- results

// A run counts as finished only if its supervisor wrote so; a summary of the learner alone may be
// that of a run that was stopped.
bool
cli_sweep_file_result(const char *run_folder, cli_sweep_run *out)
{
    oct_reason why;
    cli_series *series;
    out->mean = out->std = out->env_steps = out->updates = out->wall_s = NAN;
    if (cli_series_open(&series, run_folder, SERIES_ROWS, &why) != OCT_OK) {
        return false;
    }
    (void)cli_series_read(series, 0); // reads the summary, and no rows
    const json_t *root = series->summary, *result = json_object_get(root, "return");
    out->mean = number_read(result, "mean");
    out->std = number_read(result, "std");
    out->env_steps = number_read(root, "env_steps");
    out->updates = number_read(root, "updates");
    out->wall_s = number_read(root, "learner_wall_s");
    const char *end =
        json_string_value(json_object_get(json_object_get(root, "supervisor"), "exit_reason"));
    bool is_finished = end != NULL && strncmp(end, "finished", strlen("finished")) == 0;
    cli_series_close(series);
    return is_finished;
}
