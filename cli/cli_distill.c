// octet distill: a small policy learns to act as a large one does, and both are compared.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_distill_rows.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_observe.h"
#include "cli/cli_options.h"
#include "cli/cli_returns.h"
#include "cli/cli_text.h"
#include "cli/run/cli_env_file.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_folder_env.h"
#include "common/oct_file.h"
#include "common/oct_rng.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_probe.h"

#define REASON_BYTES ENV_REASON_BYTES
#define FP32_FILE    "policy.fp32.oct"
#define POLICY_FILE  "policy.oct"
#define PROBE_ROWS   4096
#define HELD_PERIOD  32u // of the observations one in so many is not learned from

// Streams of the seed.
#define ORDER_STREAM  0x646fu
#define ROUND_NUMBER  0x726f756eu
#define RETURN_NUMBER 0x72657475u

// Everything of one command.
typedef struct distilling {
    cli_distill_options options;
    char path[CLI_PATH_MAX]; // of the teacher
    char out[CLI_PATH_MAX];  // folder
    cli_folder_env env;
    policy_image *teacher;
    distill_student *student;
    bool has_env;  // episodes can be played
    bool is_found; // the folder, empty
    float *obs;    // [room][obs_count]
    float *want;   // [room][outputs]
    uint32_t rows, room;
    uint64_t done; // updates
    oct_rng rng;
    uint32_t *order; // [batch]
} distilling;

// ---- the teacher, and where the student goes

// A run folder stands for its fp32 weights, or, where they are missing, for the policy itself.
static void
teacher_path(distilling *d)
{
    struct stat file;
    cli_folder_file(d->path, d->options.given, FP32_FILE);
    if (oct_file_stat(d->path, &file) != 0) {
        cli_folder_file(d->path, d->options.given, POLICY_FILE);
    }
}

static bool
env_choose(distilling *d)
{
    char reason[REASON_BYTES];
    if (cli_folder_env_choose(&d->env, d->path, d->teacher->spec.env_id, d->options.env_id,
                              d->options.options, d->options.is_trusted, reason,
                              sizeof(reason)) != OCT_OK) {
        cli_error(CLI_DISTILL, "%s" CLI_FOLDER_ENV_HINT, reason);
        return false;
    }
    d->options.env_id = d->env.id;
    d->options.options = d->env.options;
    return true;
}

// "runs/walk/policy.oct", 32,32 and int8 give "runs/walk/student-32-32-int8". False: it is there,
// and not empty.
static bool
out_name(distilling *d)
{
    struct stat file;
    if (d->options.out != NULL) {
        (void)snprintf(d->out, sizeof(d->out), "%s", d->options.out);
    } else {
        cli_folder_confine_beside(d->path);
        int used = cli_folder_beside(d->out, sizeof(d->out), d->path, "student");
        for (uint32_t i = 0; i < d->options.hidden.count && used < CLI_PATH_MAX - 32; i++) {
            used += snprintf(d->out + used, sizeof(d->out) - (size_t)used, "-%u",
                             d->options.hidden.value[i]);
        }
        (void)snprintf(d->out + used, sizeof(d->out) - (size_t)used, "-%s",
                       policy_precision_name(d->options.precision));
    }
    d->is_found = oct_file_stat(d->out, &file) == 0;
    if (d->is_found && !oct_file_is_empty_folder(d->out)) {
        cli_error(CLI_DISTILL, "'%s' already exists; name a new or empty folder with --out",
                  d->out);
        return false;
    }
    return true;
}

// Whether the folder can be made, with those above it, or written to: before hours of learning. It
// is made when there is something to write.
static bool
out_check(const distilling *d)
{
    uint32_t made = 0;
    bool can_write =
        d->is_found ? access(d->out, W_OK) == 0 : oct_file_make_folders(d->out, &made) == OCT_OK;
    oct_file_remove_folders(d->out, made);
    if (!can_write) {
        cli_error(CLI_DISTILL, "cannot %s folder '%s': %s; choose another with --out",
                  d->is_found ? "write to" : "make", d->out, oct_file_strerror(errno));
    }
    return can_write;
}

static bool
save(const distilling *d, const policy_image *image, const char *name)
{
    char path[CLI_PATH_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", d->out, name);
    uint32_t made = 0;
    bool is_there = oct_file_make_folders(d->out, &made) == OCT_OK;
    bool is_saved = is_there && policy_file_write(path, image) == OCT_OK;
    if (!is_saved) {
        cli_error(CLI_DISTILL, "cannot write '%s': %s", path, oct_file_strerror(errno));
        oct_file_remove_folders(d->out, made);
    }
    return is_saved;
}

// Whether the student's environment is told beside it, as config.yaml tells a run's: where it is
// known which options it has, and unless it could not be opened though it was named, or a stranger
// named it: as a file of this user it would be this user's word.
static bool
is_env_told(const distilling *d)
{
    bool is_own = d->env.id == d->env.own_id && d->env.stranger[0] == '\0';
    return d->env.is_known && (d->has_env || is_own);
}

// A folder with a config.yaml is a run, which a student is not: the file has another name.
static bool
env_tell(const distilling *d)
{
    char path[CLI_PATH_MAX + 32];
    oct_config config;
    if (!cli_env_file_keys(&config, d->env.id, d->env.options)) {
        fprintf(stderr,
                "octet distill: note: no " CLI_ENV_FILE
                " was written: the name or the options of the student's environment are longer "
                "than %d bytes\n",
                OCT_CONFIG_TEXT_MAX - 1);
        return true;
    }
    (void)snprintf(path, sizeof(path), "%s/" CLI_ENV_FILE, d->out);
    if (cli_env_file_write(path, &config) != OCT_OK) {
        cli_error(CLI_DISTILL, "cannot write '%s': %s", path, oct_file_strerror(errno));
        return false;
    }
    return true;
}

// Both policies and their environment, or nothing.
static bool
all_save(const distilling *d, const policy_image *fp32, const policy_image *image)
{
    static const char *const names[] = {FP32_FILE, POLICY_FILE, CLI_ENV_FILE};
    if (save(d, fp32, FP32_FILE) && save(d, image, POLICY_FILE) &&
        (!is_env_told(d) || env_tell(d))) {
        return true;
    }
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char path[CLI_PATH_MAX + 32];
        (void)snprintf(path, sizeof(path), "%s/%s", d->out, names[i]);
        (void)oct_file_remove(path);
    }
    if (!d->is_found) {
        (void)oct_file_remove_folder(d->out);
    }
    return false;
}

// Whether episodes can be played. Without fresh observations it is only a pity if not.
static bool
env_begin(distilling *d)
{
    env *e = NULL;
    char reason[REASON_BYTES] = "";
    oct_err err =
        cli_folder_env_open(&e, CLI_DISTILL, &d->env, d->options.seed, reason, sizeof(reason));
    if (err == OCT_OK) {
        err =
            actor_fits(&d->teacher->spec, &d->teacher->origin, env_spec(e), reason, sizeof(reason));
        env_close(e);
    }
    d->has_env = err == OCT_OK;
    if (d->has_env) {
        cli_folder_env_print(&d->env);
        return true;
    }
    if (d->options.observations > 0) {
        cli_error(CLI_DISTILL, "environment '%s': %s", d->options.env_id, reason);
        return false;
    }
    fprintf(stderr, "octet distill: note: returns are not measured: environment '%s': %s\n",
            d->options.env_id, reason);
    return true;
}

static bool
student_begin(distilling *d)
{
    char reason[REASON_BYTES] = "";
    const policy_spec *spec = &d->teacher->spec;
    const cli_distill_options *options = &d->options;
    bool is_deep = spec->layer_count > 1;
    bool has_kl = distill_has_kl(spec->head);
    bool is_choice = spec->action_kind == POLICY_DISCRETE;
    distill_kind kind = options->has_loss ? options->kind : has_kl ? DISTILL_KL : DISTILL_SQUARES;
    if (options->has_temperature && (!is_choice || kind != DISTILL_KL)) {
        cli_error(CLI_DISTILL, "--temperature is for a softmax; %s",
                  is_choice ? "--loss squares has no temperature"
                            : "the teacher's actions are a box");
        return false;
    }
    distill_options student = {
        .hidden = options->hidden.value,
        .hidden_count = options->hidden.count,
        .activation = options->has_activation ? options->activation
                      : is_deep               ? spec->layers[spec->layer_count - 2].activation
                                              : POLICY_RELU,
        .kind = kind,
        .temperature = options->has_temperature           ? options->temperature
                       : spec->head == POLICY_HEAD_LOGITS ? 1.0
                                                          : 0.1,
        .precision = options->precision,
        .method = options->method,
        .batch = options->batch,
        .seed = options->seed,
    };
    if (distill_create(&d->student, d->teacher, &student, reason, sizeof(reason)) != OCT_OK) {
        cli_error(CLI_DISTILL, "'%s': %s", d->path, reason);
        return false;
    }
    bool has_deviations = !is_choice && policy_spec_outputs(spec) > spec->action_count;
    if (kind == DISTILL_SQUARES && has_deviations) {
        fprintf(stderr, "octet distill: note: --loss squares compares means only: the student's "
                        "deviations are not learned; its greedy actions follow the teacher's, but "
                        "its sampled actions do not\n");
    }
    return true;
}

// ---- observing

// Whether the teacher's answers to rows from row `first` on are finite; says so where one is not.
static bool
answers_check(const distilling *d, uint32_t first)
{
    size_t inputs = d->teacher->spec.obs_count;
    size_t outputs = policy_spec_outputs(distill_spec(d->student));
    bool is_file = d->options.lines != NULL && d->options.replay == NULL;
    for (uint32_t r = first; r < d->rows; r++) {
        bool is_finite = true;
        for (size_t i = 0; i < outputs; i++) {
            is_finite = is_finite && isfinite(d->want[r * outputs + i]);
        }
        if (!is_finite) {
            float largest = 0;
            for (size_t i = 0; i < inputs; i++) {
                largest = fmaxf(largest, fabsf(d->obs[r * inputs + i]));
            }
            cli_error(CLI_DISTILL,
                      "%s%sthe teacher's output for observation %u is not finite; the largest "
                      "number in the observation is %g",
                      is_file ? d->options.lines : "", is_file ? ": " : "", r + 1, (double)largest);
            return false;
        }
    }
    return true;
}

// Behind those that are there, with the teacher's answers. False after a message.
static bool
rows_add(distilling *d, const quantizer_reservoir *observed)
{
    uint32_t first = d->rows;
    uint32_t count = OCT_MIN(quantizer_reservoir_count(observed), d->room - d->rows);
    size_t inputs = d->teacher->spec.obs_count;
    size_t outputs = policy_spec_outputs(distill_spec(d->student));
    float *obs = d->obs + d->rows * inputs, *want = d->want + d->rows * outputs;
    memcpy(obs, quantizer_reservoir_rows(observed), count * inputs * sizeof(float));
    distill_teach(d->student, obs, count, want);
    d->rows += count;
    return answers_check(d, first);
}

static bool
rows_begin(distilling *d)
{
    const policy_spec *spec = &d->teacher->spec;
    const cli_distill_options *options = &d->options;
    bool is_recorded = options->lines != NULL || options->replay != NULL;
    quantizer_reservoir *recorded =
        quantizer_reservoir_create(spec, is_recorded ? CLI_DISTILL_RECORDED_MAX : 1, options->seed);
    bool is_read = cli_distill_recorded(recorded, spec, options);
    d->room = quantizer_reservoir_count(recorded) + options->observations;
    d->obs = oct_alloc((size_t)d->room * spec->obs_count * sizeof(float));
    d->want =
        oct_alloc((size_t)d->room * policy_spec_outputs(distill_spec(d->student)) * sizeof(float));
    bool is_taken = is_read && (!is_recorded || rows_add(d, recorded));
    quantizer_reservoir_destroy(recorded);
    return is_taken;
}

// How many the first `rounds` rounds have: the same in each, but in the first enough for scales.
static uint32_t
fresh_of(const cli_distill_options *options, uint32_t rounds)
{
    uint64_t all = options->observations, equal = rounds * all / options->rounds;
    return rounds == 0 ? 0 : (uint32_t)OCT_MIN(all, OCT_MAX(equal, QUANTIZER_OBSERVED_LEAST));
}

// Those of round number `round`, from 0 on. The teacher acts while the student has learned nothing.
static bool
rows_fresh(distilling *d, uint32_t round)
{
    const cli_distill_options *options = &d->options;
    char reason[REASON_BYTES] = "";
    uint32_t wanted = fresh_of(options, round + 1) - fresh_of(options, round);
    policy_image *own = NULL;
    if (wanted == 0) {
        return true;
    }
    if (options->student_acts && d->done > 0 &&
        distill_image(d->student, POLICY_FP32, &own) != OCT_OK) {
        cli_error(CLI_DISTILL, "a weight of the student is not finite; lower --learning-rate");
        return false;
    }
    quantizer_reservoir *observed = quantizer_reservoir_create(&d->teacher->spec, wanted, 0);
    actor_evaluate_request play = // each episode has one observation at least
        cli_folder_env_request(&d->env, wanted, options->envs,
                               oct_rng_mix(oct_rng_mix(ROUND_NUMBER, options->seed), round));
    oct_err err =
        cli_distill_fresh(observed, &play, own != NULL ? own : d->teacher, reason, sizeof(reason));
    bool is_taken = err == OCT_OK && rows_add(d, observed);
    if (err != OCT_OK) {
        cli_error(CLI_DISTILL, "'%s': %s", options->env_id,
                  reason[0] != '\0' ? reason : oct_strerror(err));
    }
    quantizer_reservoir_destroy(observed);
    policy_image_destroy(own);
    return is_taken;
}

// ---- learning

// The held-back observations; the caller frees them.
static float *
held_rows(const distilling *d, uint32_t *count)
{
    size_t inputs = d->teacher->spec.obs_count;
    uint32_t held = d->rows / HELD_PERIOD;
    uint32_t from = held > PROBE_ROWS ? held - PROBE_ROWS : 0; // the last ones
    float *rows = oct_alloc((size_t)(held - from + 1) * inputs * sizeof(float));
    for (uint32_t i = from; i < held; i++) {
        size_t at = (size_t)i * HELD_PERIOD + HELD_PERIOD - 1;
        memcpy(rows + (i - from) * inputs, d->obs + at * inputs, inputs * sizeof(float));
    }
    *count = held - from;
    return rows;
}

static void
round_print(const distilling *d, uint32_t round, double loss)
{
    policy_image *image;
    quantizer_divergence far = {0};
    uint32_t count;
    float *rows = held_rows(d, &count);
    printf("round %u of %u: %u observation%s, %" PRIu64 " update%s, loss %.4g", round + 1,
           d->options.rounds, d->rows, oct_text_plural(d->rows), d->done,
           oct_text_plural((double)d->done), loss);
    if (count > 0 && distill_image(d->student, d->options.precision, &image) == OCT_OK) {
        if (quantizer_probe(&far, image, d->teacher, rows, count) == OCT_OK) {
            bool is_box = d->teacher->spec.action_kind == POLICY_BOX;
            printf(is_box ? ", actions differ by %.3g standard deviations" : ", %.2f %% agree",
                   is_box ? far.action_l2 : 100 * far.agreement);
        }
        policy_image_destroy(image);
    }
    printf("\n");
    (void)fflush(stdout);
    free(rows);
}

// Updates of a round on all that was observed. False: the loss was not finite.
static bool
round_learn(distilling *d, uint32_t round)
{
    const cli_distill_options *options = &d->options;
    uint64_t until = (round + 1) * options->updates / options->rounds;
    uint64_t aware_from = (uint64_t)((1.0 - options->aware) * (double)options->updates);
    uint32_t learned = d->rows - d->rows / HELD_PERIOD;
    uint32_t count = OCT_MIN(options->batch, learned);
    double sum = 0;
    uint64_t begin = d->done;
    for (; d->done < until; d->done++) {
        oct_rng_fill_below(&d->rng, learned, count, d->order);
        for (uint32_t i = 0; i < count; i++) {
            d->order[i] += d->order[i] / (HELD_PERIOD - 1);
        }
        double left = 1.0 - (double)d->done / (double)options->updates;
        double loss = distill_learn(d->student, d->obs, d->want, d->order, count,
                                    (float)(options->learning_rate * left), d->done >= aware_from);
        if (!isfinite(loss)) {
            cli_error(CLI_DISTILL,
                      "update %" PRIu64 ": the loss is not finite; lower --learning-rate", d->done);
            return false;
        }
        sum += loss;
    }
    round_print(d, round, sum / (double)(until - begin));
    return true;
}

static void
scales_begin(distilling *d)
{
    distill_begin(d->student, d->obs, d->want, d->rows);
    if (distill_spec(d->student)->normalise && d->rows < QUANTIZER_OBSERVED_LEAST) {
        fprintf(stderr,
                "octet distill: note: %u observations are too few to normalise by; %d are needed\n",
                d->rows, QUANTIZER_OBSERVED_LEAST);
    }
}

static bool
learn(distilling *d)
{
    d->order = oct_alloc(d->options.batch * sizeof(*d->order));
    oct_rng_init(&d->rng, d->options.seed, ORDER_STREAM);
    for (uint32_t round = 0; round < d->options.rounds; round++) {
        if (!rows_fresh(d, round)) {
            return false;
        }
        if (round == 0) {
            scales_begin(d);
        }
        if (!round_learn(d, round)) {
            return false;
        }
    }
    return true;
}

// ---- the report

// Plays episodes on the seeds of the report; returns[episodes]; observed may be NULL.
static oct_err
play(const distilling *d, const policy_image *image, quantizer_reservoir *observed,
     actor_evaluate_result *result, char *reason)
{
    policy_net *net;
    OCT_TRY(policy_net_create(&net, image, POLICY_ISA_BEST));
    actor_evaluate_request request = cli_folder_env_request(
        &d->env, d->options.episodes, d->options.envs, oct_rng_mix(RETURN_NUMBER, d->options.seed));
    request.observe = observed != NULL ? cli_observe_row : NULL;
    request.observe_arg = observed;
    oct_err err = actor_evaluate(net, &request, result, reason, REASON_BYTES);
    policy_net_destroy(net);
    return err;
}

static void
print_return(const char *who, const policy_image *image, const actor_evaluate_result *result)
{
    printf("%-8s %-5s %9zu  %9.2f ± %-8.2f %9.2f", who, policy_precision_name(image->precision),
           policy_encoded_size(image), result->mean, result->std, result->min);
}

static void
print_parity(const quantizer_divergence *far, bool is_box, const char *of)
{
    if (is_box) {
        printf("parity   %.2f %% of the actions within 0.1 standard deviations, mean distance %.3g",
               100 * far->agreement, far->action_l2);
    } else {
        printf("parity   %.2f %% of the greedy actions agree, KL %.3g", 100 * far->agreement,
               far->kl);
    }
    printf(", on %u observations %s\n", far->rows, of);
}

static void
report_parity(const distilling *d, const policy_image *image, const float *obs, uint32_t rows,
              const char *of)
{
    quantizer_divergence far = {0};
    oct_err err = rows > 0 ? quantizer_probe(&far, image, d->teacher, obs, rows) : OCT_EAGAIN;
    if (err == OCT_OK) {
        print_parity(&far, d->teacher->spec.action_kind == POLICY_BOX, of);
    }
}

// Teacher and student on the same episodes, which nobody learned from. Gives the student's mean.
static bool
report_returns(const distilling *d, const policy_image *image, double *mean)
{
    uint32_t episodes = d->options.episodes;
    char reason[REASON_BYTES] = "";
    float *its = oct_alloc(episodes * sizeof(float)), *own = oct_alloc(episodes * sizeof(float));
    actor_evaluate_result of_teacher = {.returns = its}, result = {.returns = own};
    quantizer_reservoir *observed =
        quantizer_reservoir_create(&d->teacher->spec, PROBE_ROWS, d->options.seed);
    printf("%s, %u episode%s of each on the same seeds, which were not used for learning\n",
           d->options.env_id, episodes, oct_text_plural(episodes));
    printf("%-8s %-5s %9s  %9s   %-8s %9s  %s\n", "", "", "bytes", "return", "", "least",
           "against the teacher");
    oct_err err = play(d, d->teacher, NULL, &of_teacher, reason);
    if (err == OCT_OK) {
        print_return("teacher", d->teacher, &of_teacher);
        printf("\n");
        cli_returns_print_notes(&of_teacher);
        (void)fflush(stdout);
        err = play(d, image, observed, &result, reason);
    }
    if (err == OCT_OK) {
        oct_paired paired = oct_paired_of(own, its, episodes);
        print_return("student", image, &result);
        printf("  %+.2f ± %.2f\n", paired.mean, paired.error);
        cli_returns_print_notes(&result);
        report_parity(d, image, quantizer_reservoir_rows(observed),
                      quantizer_reservoir_count(observed), "of the student's episodes");
        *mean = result.mean;
    } else {
        cli_error(CLI_DISTILL, "'%s': %s", d->options.env_id,
                  reason[0] != '\0' ? reason : oct_strerror(err));
    }
    quantizer_reservoir_destroy(observed);
    free(its);
    free(own);
    return err == OCT_OK;
}

static bool
report_held(const distilling *d, const policy_image *image)
{
    uint32_t count;
    float *rows = held_rows(d, &count);
    printf("teacher  %-5s %9zu bytes\nstudent  %-5s %9zu bytes\n",
           policy_precision_name(d->teacher->precision), policy_encoded_size(d->teacher),
           policy_precision_name(image->precision), policy_encoded_size(image));
    report_parity(d, image, rows, count, "that were not used for learning");
    free(rows);
    return true;
}

// Written before it is measured, so that it is there if that is stopped, and again with its return.
static bool
finish(distilling *d)
{
    policy_image *fp32 = NULL, *image = NULL;
    double mean = NAN;
    bool is_done = distill_image(d->student, POLICY_FP32, &fp32) == OCT_OK &&
                   distill_image(d->student, d->options.precision, &image) == OCT_OK;
    if (!is_done) {
        cli_error(CLI_DISTILL, "a weight of the student is not finite; lower --learning-rate");
    }
    is_done = is_done && all_save(d, fp32, image);
    if (is_done) {
        is_done = d->has_env ? report_returns(d, image, &mean) : report_held(d, image);
    }
    if (is_done) {
        image->origin.eval_return = (float)mean;
        is_done = save(d, image, POLICY_FILE);
    }
    if (is_done) {
        printf("wrote    %s/" POLICY_FILE " and " FP32_FILE "\n", d->out);
    }
    policy_image_destroy(fp32);
    policy_image_destroy(image);
    return is_done;
}

int
cli_distill(int argc, char **argv)
{
    distilling d = {0};
    char reason[REASON_BYTES];
    cli_distill_options_parse(&d.options, argc, argv);
    teacher_path(&d);
    if (policy_file_load(&d.teacher, d.path, reason, sizeof(reason)) != OCT_OK) {
        cli_error(CLI_DISTILL, "'%s': %s", d.path, reason);
        return CLI_EXIT_FAILED;
    }
    if (!env_choose(&d)) {
        policy_image_destroy(d.teacher);
        return CLI_EXIT_FAILED;
    }
    cli_env_guard_begin(CLI_DISTILL, d.options.env_id);
    bool is_done = out_name(&d) && env_begin(&d) && student_begin(&d) && rows_begin(&d) &&
                   out_check(&d) && learn(&d) && finish(&d);
    cli_env_guard_end();
    distill_destroy(d.student);
    policy_image_destroy(d.teacher);
    free(d.obs);
    free(d.want);
    free(d.order);
    return is_done ? 0 : CLI_EXIT_FAILED;
}
