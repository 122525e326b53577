// octet import: makes a policy from a model of another library, compares it with the model,
// quantises it and writes it.
//
// The order of the steps is that of the last lines of this file: complete the request from the
// environment; read the normaliser and the model, and make the fp32 policy; observe, from a file,
// by playing, or at random; scale the observations; measure, quantise and calibrate; write both
// policies or none; and record the environment for octet eval. A step that fails prints a message,
// and nothing is written.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor/actor_evaluate.h"
#include "actor/actor_obs_encoder.h"
#include "cli/cli_commands.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_import_normaliser.h"
#include "cli/cli_import_options.h"
#include "cli/cli_import_read.h"
#include "cli/cli_import_report.h"
#include "cli/cli_observe.h"
#include "cli/cli_options.h"
#include "cli/run/cli_env_file.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_folder_env.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/import/import_npy.h"
#include "policy/import/import_rows.h"
#include "policy/policy_file.h"
#include "policy/policy_net.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_ptq.h"
#include "quantizer/quantizer_scaling.h"

#define REASON_BYTES  ENV_REASON_BYTES
#define OBSERVED_ROWS 4096 // observations for calibration and comparison
#define OBSERVED_TEXT (CLI_PATH_MAX + 64)

// One import, from the model to the files.
typedef struct import_run {
    cli_import_options options;
    cli_import_source source;
    import_normaliser normaliser; // count 0: there is none
    // what policies leave out of the normaliser; "": nothing
    char normaliser_note[IMPORT_NOTE_SIZE];
    import_graph *graph;
    import_result result;
    // the policy that is written: result.image, or the same with scaled observations
    policy_image *fp32;
    policy_image *image; // the quantised policy; NULL: fp32 was asked for
    quantizer_reservoir *observed;
    bool is_real; // the observations are not random numbers
    char observed_text[OBSERVED_TEXT];
    char fp32_path[CLI_PATH_MAX];
    char env_path[CLI_PATH_MAX + 16]; // "": not written
    char env_note[REASON_BYTES + 64]; // "": octet eval plays in the same environment
    cli_import_report report;
} import_run;

// Prints "import: 'PATH': reason"; control characters that the reason quotes are replaced.
static bool
failed(const char *path, const char *reason)
{
    char plain[REASON_BYTES];
    cli_error(CLI_IMPORT, "'%s': %s", path,
              oct_text_quote(plain, sizeof(plain), reason, strlen(reason)));
    return false;
}

// ---- the environment

// Copies the bounds of the environment's actions. An environment without bounds leaves bound_count
// at 0.
static void
request_bounds(import_request *request, const octet_env_space *space, uint32_t count)
{
    for (uint32_t i = 0; space->low != NULL && space->high != NULL && i < count; i++) {
        request->low[i] = (float)space->low[i];
        request->high[i] = (float)space->high[i];
        request->bound_count = i + 1;
    }
}

// Takes from the environment what the options leave open. Returns false after a message.
static bool
request_complete(cli_import_options *options)
{
    oct_reason why = {""};
    import_request *request = &options->request;
    request->env_id = options->env_id != NULL ? options->env_id : "";
    if (options->env_id == NULL) {
        return true;
    }
    env *e = NULL;
    env_request asked = {
        .id = options->env_id, .options = options->env_options, .count = 1, .seed = options->seed};
    if (env_open(&e, &asked, &why) != OCT_OK) {
        cli_error(CLI_IMPORT, "environment '%s': %s", options->env_id, why.text);
        return false;
    }
    const octet_env_spec *spec = env_spec(e);
    uint32_t actions = spec->action.n > 0 ? spec->action.n : env_space_count(&spec->action);
    if (request->action_count > 0 && request->action_count != actions) {
        cli_error(CLI_IMPORT, "--actions is %u; environment '%s' has %u", request->action_count,
                  options->env_id, actions);
        env_close(e);
        return false;
    }
    request->dtype = actor_obs_encoder_dtype(&spec->obs);
    request->action_kind = spec->action.n > 0 ? POLICY_DISCRETE : POLICY_BOX;
    request->action_count = actions;
    if (!options->has_shape) {
        bool is_one_hot = spec->obs.n > 0;
        request->obs_rank = is_one_hot ? 1 : spec->obs.rank;
        memcpy(request->obs_shape, spec->obs.shape, sizeof(request->obs_shape));
        request->obs_shape[0] =
            is_one_hot ? actor_obs_encoder_count(&spec->obs) : spec->obs.shape[0];
    }
    if (!options->has_bounds && spec->action.n == 0 && actions <= POLICY_ACTIONS_MAX) {
        request_bounds(request, &spec->action, actions);
    }
    env_close(e);
    return true;
}

// Checks that the policy fits the environment. Returns false after a message.
static bool
env_check(const import_run *run)
{
    oct_reason why = {""};
    env *e = NULL;
    const cli_import_options *options = &run->options;
    if (options->env_id == NULL) {
        return true;
    }
    env_request asked = {
        .id = options->env_id, .options = options->env_options, .count = 1, .seed = options->seed};
    oct_err err = env_open(&e, &asked, &why);
    if (err == OCT_OK) {
        err = actor_fits(&run->result.image->spec, &run->result.image->origin, env_spec(e), &why);
        env_close(e);
    }
    return err == OCT_OK || failed(options->model, why.text);
}

// ---- the model

// Loads --normalizer, if it is given; the observations of the policy are then normalised as the
// model's were.
static bool
normaliser_load(import_run *run)
{
    oct_reason why = {""};
    const char *path = run->options.normalizer;
    return path == NULL ||
           cli_import_normaliser_load(&run->normaliser, run->normaliser_note,
                                      sizeof(run->normaliser_note), path, &why) ||
           failed(path, why.text);
}

// Reads the model and makes the fp32 policy of it.
static bool
model_take(import_run *run)
{
    oct_reason why = {""};
    cli_import_options *options = &run->options;
    const import_request *request = &options->request;
    oct_err err = cli_import_read(&run->source, options, &why);
    const import_model *model = run->source.model;
    if (err == OCT_OK && strcmp(model->producer, "octet") == 0) {
        oct_reason_set(&why,
                       "octet export wrote this file; use the policy that it was exported from");
        err = OCT_EINVAL;
    }
    if (err == OCT_OK) {
        err = import_graph_create(&run->graph, model, request->output, request->obs_shape,
                                  request->obs_rank,
                                  run->normaliser.count > 0 ? &run->normaliser : NULL, &why);
    }
    if (err == OCT_OK) {
        err = import_policy_make(&run->result, model, run->graph, request, &why);
    }
    if (err == OCT_OK && run->normaliser_note[0] != '\0') {
        import_note(&run->result, "%s", run->normaliser_note);
    }
    run->fp32 = run->result.image;
    return err == OCT_OK ? env_check(run) : failed(options->model, why.text);
}

// ---- observations

// Returns true if rows of the file are maps with their channels first, as the model reads them.
static bool
file_is_channels_first(const import_run *run, const import_npy *npy)
{
    const import_step *input = import_graph_observation(run->graph);
    return run->result.channels_first &&
           (npy->rank == 2 ||
            (npy->rank == input->rank + 1 &&
             memcmp(npy->shape + 1, input->shape, input->rank * sizeof(uint32_t)) == 0));
}

// Checks that the numbers are bytes, as the policy reads them. Returns false after a message.
static bool
file_is_bytes(const char *path, const import_npy *npy)
{
    for (size_t i = 0; i < (size_t)npy->rows * npy->width; i++) {
        float x = npy->numbers[i];
        if (!(x >= 0.0f && x <= 255.0f && x == floorf(x))) {
            cli_error(CLI_IMPORT,
                      "'%s': number %zu of row %zu is %g; the model reads bytes; allowed is a "
                      "whole number from 0 to 255 (if it was divided by 255, give the bytes)",
                      path, i % npy->width + 1, i / npy->width + 1, (double)x);
            return false;
        }
    }
    return true;
}

// Adds the rows of the file, in the policy's type and order of numbers.
static void
file_add(import_run *run, const import_npy *npy)
{
    const policy_spec *spec = &run->fp32->spec;
    bool is_moved = file_is_channels_first(run, npy), is_bytes = spec->obs_dtype == POLICY_U8;
    float *row = oct_alloc(npy->width * sizeof(float));
    uint8_t *bytes = oct_alloc(npy->width);
    for (uint32_t r = 0; r < npy->rows; r++) {
        for (uint32_t i = 0; i < npy->width; i++) {
            uint32_t at = is_moved ? run->result.order[i] : i;
            float x = npy->numbers[(size_t)r * npy->width + i];
            if (is_bytes) {
                bytes[at] = (uint8_t)x;
            } else {
                row[at] = x;
            }
        }
        quantizer_reservoir_add(run->observed, is_bytes ? (const void *)bytes : row,
                                policy_spec_obs_bytes(spec), 1);
    }
    free(row);
    free(bytes);
}

// Notes what is unusual about the rows of the file.
static void
file_remark(import_run *run, const import_npy *npy)
{
    uint32_t left_out = 0;
    for (size_t r = 0; r < npy->rows; r++) {
        const float *row = npy->numbers + r * npy->width;
        bool is_finite = true;
        for (uint32_t i = 0; i < npy->width; i++) {
            is_finite = is_finite && isfinite(row[i]);
        }
        left_out += !is_finite;
    }
    if (left_out > 0) {
        import_note(&run->result,
                    "%u of %u rows of observations have a number that is not finite (NaN or inf) "
                    "and are left out",
                    left_out, npy->rows);
    }
    if (import_rows_examine(npy->numbers, npy->rows, npy->width).is_noise) {
        import_note(&run->result,
                    "the observations look like random numbers (none is correlated with another or "
                    "with the row before), so neither agreement nor calibration says how the "
                    "policy acts; record observations of the policy at work");
    }
}

// Notes the numbers that are the same in all rows.
static void
constants_remark(import_run *run)
{
    import_rows rows =
        import_rows_examine(quantizer_reservoir_rows(run->observed),
                            quantizer_reservoir_count(run->observed), run->fp32->spec.obs_count);
    char list[128];
    oct_text text;
    oct_text_init(&text, list, sizeof(list));
    for (uint32_t i = 0; i < OCT_MIN(rows.constant_count, (uint32_t)IMPORT_ROWS_NAMED); i++) {
        oct_text_add(&text, "%s%u", i > 0 ? ", " : "", rows.constant[i]);
    }
    if (rows.constant_count > 0 && run->is_real) {
        import_note(&run->result,
                    "%u of %u numbers of an observation are the same in all rows: %s%s",
                    rows.constant_count, run->fp32->spec.obs_count, list,
                    rows.constant_count > IMPORT_ROWS_NAMED ? " …" : "");
    }
}

// Notes the actions that are the same in all rows.
static void
actions_remark(import_run *run)
{
    const policy_spec *spec = &run->fp32->spec;
    const import_parity *parity = &run->report.parity;
    for (uint32_t i = 0; spec->action_kind == POLICY_BOX && i < spec->action_count; i++) {
        const import_action *action = &parity->actions[i];
        if (action->deviation <= 1e-6 * OCT_MAX(fabs(action->least), fabs(action->most))) {
            import_note(&run->result, "action %u is the same in all rows: %.6g", i, action->least);
        }
    }
}

// Observes the rows of --observations.
static bool
file_observe(import_run *run)
{
    oct_reason why = {""};
    const char *path = run->options.observations;
    import_npy npy;
    if (cli_import_read_observations(&npy, path, &why) != OCT_OK) {
        return failed(path, why.text);
    }
    uint32_t count = run->fp32->spec.obs_count;
    bool is_fit = npy.rank >= 2 && npy.width == count;
    if (npy.rank < 2) {
        cli_error(CLI_IMPORT,
                  "'%s' has an array of %u dimension%s; allowed are rows of observations", path,
                  npy.rank, oct_text_plural(npy.rank));
    } else if (!is_fit) {
        cli_error(CLI_IMPORT,
                  "'%s' has rows of %u number%s, but an observation of the model has %u", path,
                  npy.width, oct_text_plural(npy.width), count);
    } else if (run->fp32->spec.obs_dtype == POLICY_U8) {
        is_fit = file_is_bytes(path, &npy);
    }
    if (is_fit) {
        file_remark(run, &npy);
        file_add(run, &npy);
    }
    import_npy_free(&npy);
    if (is_fit && quantizer_reservoir_count(run->observed) == 0) {
        return failed(path, "no row has only finite numbers");
    }
    (void)snprintf(run->observed_text, sizeof(run->observed_text), "%u observations of %s",
                   quantizer_reservoir_count(run->observed), path);
    return is_fit;
}

// Observes the fp32 policy playing in the environment.
static bool
env_observe(import_run *run)
{
    oct_reason why = {""};
    const cli_import_options *options = &run->options;
    cli_observed of;
    if (cli_observe(&of, run->observed, run->fp32, options->env_id, options->env_options,
                    options->seed, &why) != OCT_OK) {
        cli_error(CLI_IMPORT, "environment '%s': %s", options->env_id, why.text);
        return false;
    }
    (void)snprintf(run->observed_text, sizeof(run->observed_text), "%u observations of %s of %s",
                   quantizer_reservoir_count(run->observed), of.text, options->env_id);
    return true;
}

// Fills run->observed: from the file, else from the environment, else with random numbers, which
// are good for a comparison but not for calibration.
static bool
observe(import_run *run)
{
    const cli_import_options *options = &run->options;
    run->observed = quantizer_reservoir_create(&run->fp32->spec, OBSERVED_ROWS, options->seed);
    run->is_real = options->observations != NULL || options->env_id != NULL;
    if (run->is_real) {
        bool is_observed = options->observations != NULL ? file_observe(run) : env_observe(run);
        if (is_observed) {
            constants_remark(run);
        }
        return is_observed;
    }
    quantizer_reservoir_fill(run->observed, run->fp32);
    (void)snprintf(run->observed_text, sizeof(run->observed_text),
                   "%u random observations; --observations FILE or --env ID calibrate the policy",
                   quantizer_reservoir_count(run->observed));
    return true;
}

// ---- conversion

// Scales the observations of an integer policy: less their mean, divided by their deviation, as in
// the policies that the learner publishes. Returns false after a message.
static bool
scale(import_run *run)
{
    const policy_spec *spec = &run->fp32->spec;
    if (!run->is_real || !policy_is_integer(run->options.precision) || spec->normalise ||
        !quantizer_is_scalable(spec) ||
        quantizer_reservoir_count(run->observed) < QUANTIZER_OBSERVED_LEAST) {
        return true;
    }
    policy_image *scaled;
    if (quantizer_ptq_scale(&scaled, run->fp32, run->observed) != OCT_OK) {
        return failed(run->options.model, "a weight is not finite once observations are scaled");
    }
    run->fp32 = scaled;
    run->report.is_scaled = true;
    return true;
}

// Compares fp32 with the model, and quantises fp32 unless fp32 was asked for.
static bool
convert(import_run *run)
{
    const cli_import_options *options = &run->options;
    const float *rows = quantizer_reservoir_rows(run->observed);
    uint32_t count = quantizer_reservoir_count(run->observed);
    oct_err err = import_parity_measure(&run->report.parity, &run->result, run->fp32, rows, count);
    if (err == OCT_OK) {
        actions_remark(run);
    }
    if (err == OCT_OK && options->precision != POLICY_FP32) {
        if (quantizer_ptq_convert(&run->image, run->fp32, options->precision,
                                  &QUANTIZER_METHOD_DEFAULT,
                                  run->is_real ? run->observed : NULL) != OCT_OK) {
            return failed(options->model, "a weight is not finite once it is quantised");
        }
        run->report.is_calibrated = run->is_real;
        err = quantizer_probe(&run->report.far, run->image, run->fp32, rows, count);
    }
    if (err != OCT_OK) {
        cli_error(CLI_IMPORT, "cannot run policies here: %s", policy_isa_refused().text);
    }
    return err == OCT_OK;
}

// ---- files

// Writes the path of the fp32 policy: "pole.oct" gives "pole.fp32.oct".
static void
fp32_path(char out[CLI_PATH_MAX], const char *path)
{
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".oct") == 0) {
        length -= 4;
    }
    (void)snprintf(out, CLI_PATH_MAX, "%.*s.fp32.oct", (int)OCT_MIN(length, CLI_PATH_MAX - 16),
                   path);
}

static bool
cannot_write(const char *path)
{
    cli_error(CLI_IMPORT, "cannot write '%s': %s", path, oct_file_strerror(errno));
    return false;
}

// Checks that path is neither a folder nor the model. Returns false after a message.
static bool
file_check(const import_run *run, const char *path)
{
    struct stat to;
    if (oct_file_stat(path, &to) == 0 && S_ISDIR(to.st_mode)) {
        return failed(path, "this is a folder; name a file in it");
    }
    return !oct_file_is_same(path, run->options.model) ||
           failed(path, "this is the model itself; name another file");
}

// Writes both policies or none: the fp32 policy is a draft until the other one is written.
static bool
both_save(const import_run *run)
{
    char draft[OCT_FILE_PATH_MAX];
    const char *out = run->options.out;
    size_t length = policy_encoded_size(run->fp32);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(run->fp32, bytes);
    const oct_file_part whole = {bytes, length};
    oct_err err = oct_file_draft(run->fp32_path, &whole, 1, draft);
    int saved = errno;
    free(bytes);
    errno = saved;
    if (err != OCT_OK) {
        return cannot_write(run->fp32_path);
    }
    if (policy_file_write(out, run->image) != OCT_OK) {
        (void)cannot_write(out);
        (void)oct_file_remove(draft);
        return false;
    }
    return oct_file_adopt(draft, run->fp32_path) == OCT_OK || cannot_write(run->fp32_path);
}

// Writes the policy, or both. Nothing is written if one of them cannot be.
static bool
files_write(import_run *run)
{
    const char *out = run->options.out;
    if (!file_check(run, out)) {
        return false;
    }
    if (run->image == NULL) {
        return policy_file_write(out, run->fp32) == OCT_OK || cannot_write(out);
    }
    fp32_path(run->fp32_path, out);
    return file_check(run, run->fp32_path) && both_save(run);
}

// Returns true if octet eval, by the files beside the policy, plays it in this environment.
static bool
env_is_stated(const cli_folder_env *chosen, const config_experiment *config)
{
    config_experiment other;
    return chosen->foreign[0] == '\0' && strcmp(chosen->id, config->env.id) == 0 &&
           cli_env_file_keys(&other, chosen->id, chosen->options) &&
           strcmp(other.env.options, config->env.options) == 0 &&
           strcmp(other.env.mjcf_dir, config->env.mjcf_dir) == 0;
}

typedef struct others {
    const import_run *run;
    bool are_there;
} others;

static void
policy_found(void *arg, const char *path)
{
    others *o = arg;
    o->are_there = o->are_there || (!oct_file_is_same(path, o->run->options.out) &&
                                    !oct_file_is_same(path, o->run->fp32_path));
}

// Returns true if the folder of --out contains other policies.
static bool
has_others(const import_run *run)
{
    char folder[CLI_PATH_MAX + 2];
    others o = {.run = run};
    (void)cli_folder_beside(folder, sizeof(folder), run->options.out, ".");
    oct_file_match(folder, "*.oct", policy_found, &o);
    return o.are_there;
}

// Writes the environment's record beside --out.
static bool
env_write(import_run *run, const config_experiment *config)
{
    (void)cli_folder_beside(run->env_path, sizeof(run->env_path), run->options.out, CLI_ENV_FILE);
    return cli_env_file_write(run->env_path, config) == OCT_OK || cannot_write(run->env_path);
}

// Records the environment for octet eval, unless the policy alone names it. CLI_ENV_FILE applies to
// all policies beside it, so an existing one stays, and none is written beside other policies.
// Returns false after a message.
static bool
env_file_write(import_run *run)
{
    oct_reason why = {""};
    const cli_import_options *options = &run->options;
    cli_folder_env chosen;
    config_experiment config;
    if (options->env_id == NULL) {
        return true;
    }
    if (!cli_env_file_keys(&config, options->env_id, options->env_options)) {
        oct_reason_set(&why, "they are longer than the %d bytes of a key of " CLI_ENV_FILE,
                       CONFIG_TEXT_MAX - 1);
    } else if (cli_folder_env_choose(&chosen, options->out, run->fp32->spec.env_id, NULL, "", false,
                                     &why) == OCT_OK &&
               !env_is_stated(&chosen, &config)) {
        if (chosen.is_known) {
            oct_reason_set(&why, "%s, options %s, is in the %s", chosen.id,
                           chosen.options[0] != '\0' ? chosen.options : "none",
                           chosen.options_from);
        } else if (has_others(run)) {
            oct_reason_set(&why, "this folder has other policies, to which " CLI_ENV_FILE
                                 " would apply, too");
        } else {
            return env_write(run, &config);
        }
    }
    if (why.text[0] != '\0') {
        (void)snprintf(run->env_note, sizeof(run->env_note),
                       "octet eval needs --env and --options here: %s", why.text);
    }
    return true;
}

// Prints the report at the very end, because earlier steps still add notes.
static void
report(import_run *run)
{
    run->report.model = run->options.model;
    run->report.observed = run->observed_text;
    run->report.notes = run->source.notes;
    run->report.note_count = run->source.note_count;
    run->report.result = &run->result;
    run->report.fp32 = run->fp32;
    run->report.image = run->image;
    run->report.path = run->options.out;
    run->report.env_path = run->env_path[0] != '\0' ? run->env_path : NULL;
    run->report.env_note = run->env_note[0] != '\0' ? run->env_note : NULL;
    run->report.fp32_path = run->image != NULL ? run->fp32_path : run->options.out;
    if (run->options.json) {
        cli_import_report_json(&run->report);
    } else {
        cli_import_report_text(&run->report);
    }
}

int
cli_import(int argc, char **argv)
{
    import_run *run = oct_alloc(sizeof(*run));
    cli_import_options_parse(&run->options, argc, argv);
    bool has_env = run->options.env_id != NULL;
    if (has_env) {
        cli_env_guard_begin(CLI_IMPORT, run->options.env_id);
    }
    bool is_done = request_complete(&run->options) && normaliser_load(run) && model_take(run) &&
                   observe(run) && scale(run) && convert(run) && files_write(run) &&
                   env_file_write(run);
    if (has_env) {
        cli_env_guard_end();
    }
    if (is_done) {
        report(run);
    }
    if (run->fp32 != run->result.image) {
        policy_image_destroy(run->fp32);
    }
    policy_image_destroy(run->image);
    quantizer_reservoir_destroy(run->observed);
    import_policy_free(&run->result);
    import_graph_destroy(run->graph);
    cli_import_source_free(&run->source);
    cli_import_normaliser_free(&run->normaliser);
    free(run);
    return is_done ? 0 : CLI_EXIT_FAILED;
}
