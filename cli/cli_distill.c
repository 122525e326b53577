// octet distill: trains a small policy, the student, to act like a large one, the teacher, and
// compares both.
//
// Observations come from a file, from replay, or fresh from the environment; the teacher computes
// its outputs for each of them. Learning is divided into rounds. In each round some fresh
// observations are added, and the student is trained by supervised learning on all that there are.
// From the second round on the student acts (unless --acts names the teacher), so that it learns
// what to do in the states that its own mistakes lead to (DAgger, Ross et al. 2011). In the last
// updates the student is trained with the rounding of its precision (--aware). One of 32
// observations is never learned from; the comparison uses these, and episodes on seeds of its own
// if the environment can be opened.
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
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_observed.h"
#include "quantizer/quantizer_probe.h"

#define FP32_FILE   "policy.fp32.oct"
#define POLICY_FILE "policy.oct"
#define PROBE_ROWS  4096 // observations for one comparison of actions, at most
#define HELD_PERIOD 32u  // one in HELD_PERIOD observations is held back from learning

// Streams and purposes that are mixed with the seed, so that the order of observations, the
// episodes of a round and those of the report are independent.
#define ORDER_STREAM  0x646fu
#define ROUND_NUMBER  0x726f756eu
#define RETURN_NUMBER 0x72657475u

// The state of one command.
typedef struct distilling {
    cli_distill_options options;
    char path[CLI_PATH_MAX]; // path of the teacher
    char out[CLI_PATH_MAX];  // folder for the student
    cli_folder_env env;
    policy_image *teacher;
    distill_student *student;
    bool has_env;        // the environment can be opened, so episodes can be played
    bool is_found;       // the folder exists and is empty
    float *obs;          // [room][obs_count]: observations
    float *want;         // [room][outputs]: the teacher's answers to them
    uint32_t rows, room; // rows in use, rows allocated
    uint64_t done;       // updates done
    oct_rng rng;
    uint32_t *order; // [batch]: indices of the observations of an update
} distilling;

// ---- the teacher, and the student's folder

// Finds the teacher's file. In a run folder that is the fp32 policy or, if it is missing, the
// policy itself.
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
    oct_reason why;
    if (cli_folder_env_choose(&d->env, d->path, d->teacher->spec.env_id, d->options.env_id,
                              d->options.options, d->options.is_trusted, &why) != OCT_OK) {
        cli_error(CLI_DISTILL, "%s" CLI_FOLDER_ENV_HINT, why.text);
        return false;
    }
    d->options.env_id = d->env.id;
    d->options.options = d->env.options;
    return true;
}

// Makes the name of the student's folder: "runs/walk/policy.oct" with widths 32,32 and int8 gives
// "runs/walk/student-32-32-int8". False: the folder exists and is not empty.
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

// Checks, before hours of learning, that the folder can be made or written to. It is removed again,
// so that a command that fails leaves none.
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

// Makes the folder only now, when there is something to write; if that fails, the folder goes, too.
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

// Returns true if the environment is recorded beside the student, as config.yaml records that of a
// run. It is, if its options are known and it could be opened. If it could not, it is recorded only
// if it is the policy's own: an unchecked --env might be wrong, and a name that another user wrote
// would become trusted in a file of this user.
static bool
needs_env_file(const distilling *d)
{
    bool is_own = d->env.id == d->env.own_id && d->env.foreign[0] == '\0';
    return d->env.is_known && (d->has_env || is_own);
}

// Writes the environment's record. It is not called config.yaml, because a folder with that file
// counts as a run.
static bool
env_file_write(const distilling *d)
{
    char path[CLI_PATH_MAX + 32];
    config_experiment config;
    if (!cli_env_file_keys(&config, d->env.id, d->env.options)) {
        fprintf(stderr,
                "octet distill: note: no " CLI_ENV_FILE
                " was written: the name or the options of the student's environment are longer "
                "than %d bytes\n",
                CONFIG_TEXT_MAX - 1);
        return true;
    }
    (void)snprintf(path, sizeof(path), "%s/" CLI_ENV_FILE, d->out);
    if (cli_env_file_write(path, &config) != OCT_OK) {
        cli_error(CLI_DISTILL, "cannot write '%s': %s", path, oct_file_strerror(errno));
        return false;
    }
    return true;
}

// Saves both policies and the environment's record, or nothing.
static bool
all_save(const distilling *d, const policy_image *fp32, const policy_image *image)
{
    static const char *const names[] = {FP32_FILE, POLICY_FILE, CLI_ENV_FILE};
    if (save(d, fp32, FP32_FILE) && save(d, image, POLICY_FILE) &&
        (!needs_env_file(d) || env_file_write(d))) {
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

// Opens the environment once, to find out whether episodes can be played. That is an error only if
// fresh observations are wanted.
static bool
env_begin(distilling *d)
{
    env *e = NULL;
    oct_reason why = {""};
    oct_err err = cli_folder_env_open(&e, CLI_DISTILL, &d->env, d->options.seed, &why);
    if (err == OCT_OK) {
        err = actor_fits(&d->teacher->spec, &d->teacher->origin, env_spec(e), &why);
        env_close(e);
    }
    d->has_env = err == OCT_OK;
    if (d->has_env) {
        cli_folder_env_print(&d->env);
        return true;
    }
    if (d->options.observations > 0) {
        cli_error(CLI_DISTILL, "environment '%s': %s", d->options.env_id, why.text);
        return false;
    }
    fprintf(stderr, "octet distill: note: returns are not measured: environment '%s': %s\n",
            d->options.env_id, why.text);
    return true;
}

// What the user left open follows from the teacher: its activation, and a loss and a temperature
// that suit its head.
static bool
student_begin(distilling *d)
{
    oct_reason why = {""};
    const policy_spec *spec = &d->teacher->spec;
    const cli_distill_options *options = &d->options;
    bool is_deep = spec->layer_count > 1;
    bool has_kl = distill_has_kl(spec->head);
    bool is_choice = spec->action_kind == POLICY_DISCRETE;
    distill_kind kind = options->loss > 0 ? (distill_kind)(options->loss - 1)
                        : has_kl          ? DISTILL_KL
                                          : DISTILL_SQUARES;
    if (options->temperature > 0 && (!is_choice || kind != DISTILL_KL)) {
        cli_error(CLI_DISTILL, "--temperature is for a softmax; %s",
                  is_choice ? "--loss squares has no temperature"
                            : "the teacher's actions are a box");
        return false;
    }
    distill_options student = {
        .hidden = options->hidden.value,
        .hidden_count = options->hidden.count,
        .activation = options->activation != POLICY_LINEAR ? options->activation
                      : is_deep ? spec->layers[spec->layer_count - 2].activation
                                : POLICY_RELU,
        .kind = kind,
        .temperature = options->temperature > 0           ? options->temperature
                       : spec->head == POLICY_HEAD_LOGITS ? 1.0
                                                          : 0.1,
        .precision = options->precision,
        .method = options->method,
        .batch = options->batch,
        .seed = options->seed,
    };
    if (distill_create(&d->student, d->teacher, &student, &why) != OCT_OK) {
        cli_error(CLI_DISTILL, "'%s': %s", d->path, why.text);
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

// Returns true if the teacher's outputs from row `first` on are finite. Otherwise prints which row
// is not.
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

// Appends observations and computes the teacher's outputs for them. False after a message.
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

// Allocates for all observations of the command, recorded and fresh ones.
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

// Returns how many fresh observations the first `rounds` rounds take in all. Rounds are equal, but
// the first takes at least as many as scales need.
static uint32_t
fresh_of(const cli_distill_options *options, uint32_t rounds)
{
    uint64_t all = options->observations, equal = rounds * all / options->rounds;
    return rounds == 0 ? 0 : (uint32_t)OCT_MIN(all, OCT_MAX(equal, QUANTIZER_OBSERVED_LEAST));
}

// Adds the fresh observations of a round, counted from 0. The teacher acts until the student has
// made its first update.
static bool
rows_fresh(distilling *d, uint32_t round)
{
    const cli_distill_options *options = &d->options;
    oct_reason why = {""};
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
    actor_evaluate_request play = // one observation each at least, so `wanted` episodes suffice
        cli_folder_env_request(&d->env, wanted, options->envs,
                               oct_rng_mix(oct_rng_mix(ROUND_NUMBER, options->seed), round));
    oct_err err = cli_distill_fresh(observed, &play, own != NULL ? own : d->teacher, &why);
    bool is_taken = err == OCT_OK && rows_add(d, observed);
    if (err != OCT_OK) {
        cli_error(CLI_DISTILL, "'%s': %s", options->env_id,
                  why.text[0] != '\0' ? why.text : oct_strerror(err));
    }
    quantizer_reservoir_destroy(observed);
    policy_image_destroy(own);
    return is_taken;
}

// ---- learning

// Returns the held-back observations, at most PROBE_ROWS; the caller frees them.
static float *
held_rows(const distilling *d, uint32_t *count)
{
    size_t inputs = d->teacher->spec.obs_count;
    uint32_t held = d->rows / HELD_PERIOD;
    uint32_t from = held > PROBE_ROWS ? held - PROBE_ROWS : 0; // the newest ones
    float *rows = oct_alloc((size_t)(held - from + 1) * inputs * sizeof(float));
    for (uint32_t i = from; i < held; i++) {
        size_t at = (size_t)i * HELD_PERIOD + HELD_PERIOD - 1;
        memcpy(rows + (i - from) * inputs, d->obs + at * inputs, inputs * sizeof(float));
    }
    *count = held - from;
    return rows;
}

// Compares actions on held-back observations, after each round: the user can stop when they no
// longer improve.
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

// Makes the updates of a round, on all observations except those held back. The learning rate falls
// to 0 over all rounds. False: a loss was not finite.
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
        // Skips each HELD_PERIOD-th row: the indices drawn are of rows without those held back.
        for (uint32_t i = 0; i < count; i++) {
            d->order[i] += d->order[i] / (HELD_PERIOD - 1);
        }
        double left = 1.0 - (double)d->done / (double)options->updates;
        double loss =
            distill_learn(d->student, &(distill_examples){d->obs, d->want, d->order, count},
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

// The scales of the student's inputs are measured once, on the rows of the first round.
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

// Plays the episodes of the report, with the same seeds for each policy. result->returns:
// [episodes]. observed: NULL or where observations go.
static oct_err
play(const distilling *d, const policy_image *image, quantizer_reservoir *observed,
     actor_evaluate_result *result, oct_reason *why)
{
    policy_net *net;
    OCT_TRY(policy_net_create(&net, image, POLICY_ISA_BEST));
    actor_evaluate_request request = cli_folder_env_request(
        &d->env, d->options.episodes, d->options.envs, oct_rng_mix(RETURN_NUMBER, d->options.seed));
    request.observe = observed != NULL ? cli_observe_row : NULL;
    request.observe_arg = observed;
    oct_err err = actor_evaluate(net, &request, result, why);
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

// Prints nothing if there are no rows.
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

// Plays teacher and student on the same seeds, which no round used, and prints their returns. mean
// becomes the student's.
static bool
report_returns(const distilling *d, const policy_image *image, double *mean)
{
    uint32_t episodes = d->options.episodes;
    oct_reason why = {""};
    float *its = oct_alloc(episodes * sizeof(float)), *own = oct_alloc(episodes * sizeof(float));
    actor_evaluate_result of_teacher = {.returns = its}, result = {.returns = own};
    quantizer_reservoir *observed =
        quantizer_reservoir_create(&d->teacher->spec, PROBE_ROWS, d->options.seed);
    printf("%s, %u episode%s of each on the same seeds, which were not used for learning\n",
           d->options.env_id, episodes, oct_text_plural(episodes));
    printf("%-8s %-5s %9s  %9s   %-8s %9s  %s\n", "", "", "bytes", "return", "", "least",
           "against the teacher");
    oct_err err = play(d, d->teacher, NULL, &of_teacher, &why);
    if (err == OCT_OK) {
        print_return("teacher", d->teacher, &of_teacher);
        printf("\n");
        cli_returns_print_notes(&of_teacher);
        (void)fflush(stdout);
        err = play(d, image, observed, &result, &why);
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
                  why.text[0] != '\0' ? why.text : oct_strerror(err));
    }
    quantizer_reservoir_destroy(observed);
    free(its);
    free(own);
    return err == OCT_OK;
}

// Compares the actions only, for an environment that cannot be opened.
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

// Saves the student before it is measured, so that it exists if the measurement is stopped, and
// again afterwards with its return.
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
    oct_reason why;
    cli_distill_options_parse(&d.options, argc, argv);
    teacher_path(&d);
    if (policy_file_load(&d.teacher, d.path, &why) != OCT_OK) {
        return cli_error(CLI_DISTILL, "'%s': %s", d.path, why.text);
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
