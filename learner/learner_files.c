// The run folder: checkpoint, curve, summary, and the state that a resumed run continues from.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/oct_bytes.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "learner/learner_environment.h"
#include "learner/learner_run_state.h"
#include "learner/learner_summary.h"
#include "proto/wire_env.h"

#define RESERVE_AHEAD 1000u
#define RESERVE_LOW   200u
#define AGAIN_NS      1000000000u // delay before a failed write is tried again

#define SUMMARY_BYTES_MAX (1u << 22)
// How long a checkpoint may be in writing before that is reported as a failure.
#define WRITER_PATIENCE_NS 30000000000u

struct write_job {
    learner_run *run;
    learner_checkpoint checkpoint;
};

void
learner_files_path(const learner_run *run, const char *name, char out[LEARNER_PATH_MAX])
{
    (void)snprintf(out, LEARNER_PATH_MAX, "%s/%s", run->options.folder, name);
}

// ---- what cannot be written

static const char *const file_names[LEARNER_FILES] = {
    [LEARNER_FILE_CHECKPOINT] = "checkpoint.oct",
    [LEARNER_FILE_POLICIES] = "policy.oct, policy.fp32.oct or policy_last.oct",
    [LEARNER_FILE_VERSIONS] = "policy_versions",
    [LEARNER_FILE_ENVIRONMENT] = LEARNER_ENVIRONMENT_FILE,
    [LEARNER_FILE_METRICS] = "metrics.csv or its TensorBoard file",
    [LEARNER_FILE_CURVE] = "curve.svg",
    [LEARNER_FILE_SUMMARY] = "summary.json",
    [LEARNER_FILE_HASHES] = "hashes.csv",
};

void
learner_files_told(learner_run *run, learner_file file, int code)
{
    int before = atomic_exchange(&run->folder.failed[file], code);
    if (code != 0) {
        atomic_fetch_add(&run->folder.failures, 1);
    }
    if (code != 0 && code != before) {
        oct_log_error("LEARNER-WRITE",
                      "%s: %s: %s; the old file is kept, and the next write tries again",
                      run->options.folder, file_names[file], oct_file_strerror(code));
    } else if (code == 0 && before != 0) {
        oct_log_notice("LEARNER-WRITTEN", "%s: %s can be written again", run->options.folder,
                       file_names[file]);
    }
}

bool
learner_run_unsaved(const learner_run *run)
{
    for (int i = 0; i < LEARNER_FILES; i++) {
        if (atomic_load(&run->folder.failed[i]) != 0) {
            return true;
        }
    }
    return false;
}

const char *
learner_run_trouble(learner_run *run)
{
    for (int i = 0; i < LEARNER_FILES; i++) {
        int code = atomic_load(&run->folder.failed[i]);
        if (code != 0) {
            (void)snprintf(run->folder.trouble, sizeof(run->folder.trouble),
                           "%s cannot be written: %s", file_names[i], oct_file_strerror(code));
            return run->folder.trouble;
        }
    }
    const char *unkept = learner_run_unkept(run), *refused = learner_run_last_refused(run);
    bool has_nobody = !config_is_offline(run->config) &&
                      learner_actors_live_get(run->actors, oct_clock_ns()).actors == 0;
    if (unkept != NULL || refused[0] == '\0' || !has_nobody) {
        return unkept;
    }
    (void)snprintf(run->folder.trouble, sizeof(run->folder.trouble),
                   "no actor is running, and the last one was refused: %s", refused);
    return run->folder.trouble;
}

// ---- beginning

// Reads policy_versions. *version is 0 if no version was ever reserved.
static oct_err
reserve_read(const learner_run *run, uint64_t *version, oct_reason *why)
{
    char path[LEARNER_PATH_MAX];
    learner_files_path(run, "policy_versions", path);
    uint8_t *text = NULL;
    size_t length;
    *version = 0;
    oct_err err = oct_file_read(path, 4096, &text, &length);
    if (err == OCT_ENOTFOUND) {
        return OCT_OK;
    }
    if (err == OCT_EIO) {
        oct_reason_set(why, "%s: %s", path, oct_file_strerror(errno));
        return err;
    }
    bool is_read = err == OCT_OK && sscanf((const char *)text, "reserved %" SCNu64, version) == 1 &&
                   *version <= LEARNER_RESUMED_MAX;
    free(text);
    if (!is_read) {
        oct_reason_set(why,
                       "%s: damaged: it has no 'reserved VERSION', so it is unknown which versions "
                       "actors may have; remove it only if no actor of the run is alive",
                       path);
    }
    return is_read ? OCT_OK : OCT_EPROTO;
}

// Reads the key that this run's processes have sent to replay. False: there is none.
static bool
key_read(learner_run *run, const char *path)
{
    uint8_t *bytes;
    size_t length;
    if (oct_file_read(path, WIRE_TOKEN_KEY_BYTES, &bytes, &length) != OCT_OK) {
        return false;
    }
    bool is_whole = length == WIRE_TOKEN_KEY_BYTES;
    if (is_whole) {
        memcpy(run->token_key, bytes, WIRE_TOKEN_KEY_BYTES);
    }
    explicit_bzero(bytes, length);
    free(bytes);
    return is_whole;
}

// Begins with the key of the sessions' tokens. A resumed run keeps its key, so that actors that
// registered with the process before keep their tokens.
static oct_err
key_begin(learner_run *run, bool is_resumed, oct_reason *why)
{
    char path[LEARNER_PATH_MAX];
    learner_files_path(run, "token.key", path);
    if (!is_resumed || !key_read(run, path)) {
        if (getrandom(run->token_key, WIRE_TOKEN_KEY_BYTES, 0) != WIRE_TOKEN_KEY_BYTES) {
            return oct_fail(why, OCT_EIO, "no random bytes for %s: %s", path,
                            oct_file_strerror(errno));
        }
        if (oct_file_write_secret(path, run->token_key, WIRE_TOKEN_KEY_BYTES) != OCT_OK) {
            return oct_fail(why, OCT_EIO, "%s: %s", path, oct_file_strerror(errno));
        }
        if (is_resumed) {
            oct_log_notice("LEARNER-KEY",
                           "%s was missing or incomplete; a new one was written, and actors must "
                           "register again",
                           path);
        }
    }
    run->tokens = wire_token_maker_create(run->token_key);
    return OCT_OK;
}

// Deletes drafts of files that a killed learner was writing: a checkpoint may be large.
static void
folder_clear(const learner_run *run)
{
    static const char *const names[] = {
        "policy.oct",      LEARNER_FP32_FILE, LEARNER_FP32_NEXT_FILE,
        "policy_last.oct", "policy_versions", "summary.json",
        "curve.svg",       "token.key",       "learner.key"};
    learner_checkpoints_clear(run->options.folder);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char path[LEARNER_PATH_MAX];
        learner_files_path(run, names[i], path);
        oct_file_clear(path);
    }
}

static oct_err
resumed_read(learner_run *run, oct_reason *why)
{
    uint32_t number;
    OCT_TRY(learner_checkpoints_read(run->options.folder, &run->folder.resumed, &number, why->text,
                                     sizeof(why->text)));
    oct_log(number == 0 ? OCT_LOG_NOTICE : OCT_LOG_WARN, "LEARNER-RESUME", "from %s", why->text);
    return OCT_OK;
}

// Reads the checkpoint that the run continues from. OCT_ENOTFOUND: the run has none.
static oct_err
resume_begin(learner_run *run, oct_reason *why)
{
    learner_checkpoint *resumed = &run->folder.resumed;
    uint64_t reserved = 0;
    OCT_TRY(resumed_read(run, why));
    oct_err err = run->pace->resume_check(run, why);
    if (err == OCT_OK && !run->pace->repeats) { // else they are made again
        err = reserve_read(run, &reserved, why);
    }
    if (err != OCT_OK) {
        learner_checkpoint_fini(resumed);
        return err;
    }
    run->folder.versions.kept = resumed->policy_version;
    resumed->policy_version = OCT_MAX(resumed->policy_version, reserved);
    run->folder.versions.reserved = resumed->policy_version;
    return OCT_OK;
}

oct_err
learner_files_begin(learner_run *run, oct_reason *why)
{
    folder_clear(run);
    oct_err err = run->options.resume ? resume_begin(run, why) : OCT_ENOTFOUND;
    if (err != OCT_OK && err != OCT_ENOTFOUND) {
        return err;
    }
    oct_err key_err = key_begin(run, err == OCT_OK, why);
    if (key_err != OCT_OK) {
        learner_checkpoint_fini(&run->folder.resumed);
        return key_err;
    }
    run->folder.is_resumed = err == OCT_OK;
    if (err == OCT_ENOTFOUND) {
        run->folder.resumed = (learner_checkpoint){.evals = {.confirmed = NAN}};
        if (getrandom(&run->folder.resumed.run_id, sizeof(uint64_t), 0) != sizeof(uint64_t)) {
            run->folder.resumed.run_id = oct_clock_wall_us();
        }
        run->folder.resumed.run_id |= 1;
    }
    run->run_id = run->folder.resumed.run_id;
    run->env_steps_base = run->folder.resumed.env_steps;
    run->wall_base_s = run->folder.resumed.wall_s;
    run->updates = run->updates_base = run->folder.resumed.updates;
    run->folder.saved_confirmed = NAN;
    run->folder.curve = oct_alloc(LEARNER_CURVE_MAX * sizeof(*run->folder.curve));
    run->folder.curve_count = run->folder.resumed.curve_count;
    run->folder.curve_changes = run->folder.curve_count;
    if (run->folder.curve_count > 0) {
        memcpy(run->folder.curve, run->folder.resumed.curve,
               run->folder.curve_count * sizeof(*run->folder.curve));
    }
    return OCT_OK;
}

// Returns a checksum of the settings that returns depend on, beside the policy.
static uint32_t
task_crc(const config_experiment *config)
{
    const char *const texts[] = {config->env.id, config->env.options, config->env.mjcf_dir};
    uint32_t crc = 0;
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        crc = oct_crc32(crc, texts[i], strlen(texts[i]) + 1);
    }
    return crc;
}

// Makes a publication without fp32 weights from a policy file; takes bytes. NULL: it is no policy
// file.
static quantizer_publication *
publication_of_file(uint8_t *take, size_t length, float *eval_return, policy_precision *precision)
{
    oct_reason why;
    policy_image *image;
    if (policy_decode(&image, take, length, &why) != OCT_OK) {
        free(take);
        return NULL;
    }
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = image->origin.version;
    publication->updates = image->origin.updates;
    publication->env_steps = image->origin.env_steps;
    publication->bytes = take;
    publication->length = length;
    *eval_return = image->origin.eval_return;
    *precision = image->precision;
    policy_image_destroy(image);
    return publication;
}

static void
policy_restore(learner_run *run, quantizer_publication *publication, uint32_t crc,
               float eval_return)
{
    const learner_eval_result *named = &run->folder.resumed.evals.best;
    bool is_named = crc == run->folder.resumed.policy_crc;
    if (named->version == 0 && (is_named || isnan(eval_return))) {
        return; // the newest version of its time, which had not been evaluated
    }
    static const learner_eval_result unknown = {.stage = LEARNER_EVAL_SCREEN};
    double confirmed = run->folder.resumed.evals.confirmed;
    if (!is_named) {
        oct_log_notice("LEARNER-POLICY-OTHER",
                       "policy.oct holds version %" PRIu64
                       ", which was written after the checkpoint (of version %" PRIu64
                       "); it is evaluated again",
                       publication->version, named->version);
    } else if (run->folder.resumed.task_crc != task_crc(run->config)) {
        oct_log_notice("LEARNER-TASK-OTHER",
                       "env.* is not what policy.oct (version %" PRIu64
                       ", return %g) was evaluated on; it is evaluated again",
                       publication->version, named->mean);
        is_named = false;
    }
    learner_evals_restore(run->evals, publication, is_named ? named : &unknown,
                          is_named ? confirmed : NAN);
    (void)learner_evals_best(run->evals, &run->folder.saved);
    run->folder.saved_confirmed = is_named ? confirmed : NAN;
    run->folder.saved_crc = crc;
}

static void
metrics_resume(learner_run *run)
{
    const learner_checkpoint *resumed = &run->folder.resumed;
    oct_reader reader = {.at = resumed->metrics, .left = resumed->metrics_length};
    if (resumed->metrics != NULL &&
        learner_evals_read_metrics(run->evals, &run->metrics, &reader) != OCT_OK) {
        oct_log_warn("LEARNER-WORK-LOST",
                     "%s: its checkpoint has impossible values for the environment's metrics; "
                     "earlier evaluations are without them",
                     run->options.folder);
    }
}

// Restores the evaluations from the checkpoint, and the newest policy. False: the checkpoint has
// none, or policy.oct is of a later version, or they were evaluated on another task.
static bool
evals_resume(learner_run *run, const quantizer_publication *policy, uint32_t crc, float eval_return)
{
    const learner_checkpoint *resumed = &run->folder.resumed;
    const learner_eval_result *best = &resumed->evals.best;
    bool is_own = policy != NULL && crc == resumed->policy_crc;
    // A run that repeats makes the later version again.
    bool is_later = policy != NULL && !is_own && !isnan(eval_return) &&
                    policy->version > best->version && !run->pace->repeats;
    oct_reader reader = {.at = resumed->work, .left = resumed->work_length};
    if (resumed->work == NULL || is_later || resumed->task_crc != task_crc(run->config)) {
        return false;
    }
    if (learner_evals_read(run->evals, &reader, oct_clock_ns()) != OCT_OK) {
        oct_log_warn("LEARNER-WORK-LOST",
                     "%s: its checkpoint has impossible values for evaluations; the list of "
                     "evaluations starts empty",
                     run->options.folder);
        return false;
    }
    oct_reader weights = {.at = resumed->weights, .left = resumed->weights_length};
    if (learner_evals_read_weights(run->evals, &weights) != OCT_OK) {
        oct_log_warn("LEARNER-WORK-LOST",
                     "%s: its checkpoint has impossible values for the weights of "
                     "policies; " LEARNER_FP32_FILE " is written with the next best version",
                     run->options.folder);
    }
    metrics_resume(run);
    if (is_own) {
        run->folder.saved = *best;
        learner_eval_result known;
        if (learner_evals_best(run->evals, &known) != NULL && known.version == best->version &&
            known.stage == best->stage && known.episodes == best->episodes) {
            run->folder.saved = known; // with the environment's metrics
        }
        run->folder.saved_confirmed = resumed->evals.confirmed;
        run->folder.saved_crc = crc;
    } else if (policy != NULL) {
        run->folder.saved.version = policy->version; // written again with its return
    }
    quantizer_publication *newest = learner_evals_policy(run->evals);
    if (newest != NULL && !run->pace->repeats) { // else each turn has its own version
        learner_publisher_restore(run->publisher, newest);
    }
    return true;
}

void
learner_files_restore(learner_run *run)
{
    if (!run->folder.is_resumed) {
        return;
    }
    char path[LEARNER_PATH_MAX];
    learner_files_path(run, "policy.oct", path);
    uint8_t *bytes;
    size_t length;
    float eval_return;
    quantizer_publication *publication = NULL;
    uint32_t crc = 0;
    if (oct_file_read(path, WIRE_MESSAGE_BYTES_MAX, &bytes, &length) == OCT_OK) {
        crc = policy_checksum(bytes, length);
        publication =
            publication_of_file(bytes, length, &eval_return, &run->folder.saved_precision);
    }
    if (evals_resume(run, publication, crc, publication != NULL ? eval_return : NAN)) {
        if (publication != NULL) {
            learner_files_settle(run, publication->version);
            quantizer_publication_release(publication);
        }
    } else if (publication != NULL) {
        learner_files_settle(run, publication->version);
        policy_restore(run, publication, crc, eval_return);
        quantizer_publication_release(publication);
    } else if (run->folder.resumed.evals.best.version != 0) {
        oct_log_warn("LEARNER-POLICY-LOST",
                     "%s is missing or damaged: version %" PRIu64
                     " with return %g is lost, and the best later version replaces it",
                     path, run->folder.resumed.evals.best.version,
                     run->folder.resumed.evals.best.mean);
    }
}

void
learner_files_start(learner_run *run)
{
    char path[LEARNER_PATH_MAX];
    uint8_t *bytes;
    size_t length;
    learner_files_path(run, "summary.json", path);
    if (run->folder.is_resumed &&
        oct_file_read(path, SUMMARY_BYTES_MAX, &bytes, &length) == OCT_OK) {
        run->folder.summary_before = (char *)bytes;
    }
    if (oct_file_remove(path) != 0 && errno != ENOENT) {
        learner_files_told(run, LEARNER_FILE_SUMMARY, errno);
    }
}

static void
reserve_write(learner_run *run, uint64_t version)
{
    char path[LEARNER_PATH_MAX], text[64];
    learner_files_path(run, "policy_versions", path);
    int length = snprintf(text, sizeof(text), "reserved %" PRIu64 "\n", version);
    bool is_written = oct_file_write(path, text, (size_t)length) == OCT_OK;
    learner_files_told(run, LEARNER_FILE_VERSIONS, is_written ? 0 : errno);
    if (is_written) {
        run->folder.reserved_version = version;
    } else {
        run->folder.reserve_ns = oct_clock_ns() + AGAIN_NS;
    }
}

bool
learner_files_reserve(learner_run *run, uint64_t version)
{
    learner_folder *folder = &run->folder;
    bool is_low = version + RESERVE_LOW > folder->reserved_version;
    if (is_low && !run->abandoned && oct_clock_ns() >= folder->reserve_ns) {
        reserve_write(run, version + RESERVE_AHEAD);
    }
    bool is_reserved = version <= folder->reserved_version;
    if (!is_reserved && !run->abandoned && !folder->is_holding) {
        oct_log_warn(
            "LEARNER-VERSIONS-HELD",
            "%s: policy_versions cannot be written, so versions from %" PRIu64
            " on are held back until it can; actors keep acting with the policies that they have",
            run->options.folder, version);
    }
    folder->is_holding = !is_reserved;
    return is_reserved;
}

// ---- checkpoint

static void
work_write(const learner_run *run, oct_writer *writer)
{
    learner_evals_write(run->evals, writer);
}

static void
weights_write(const learner_run *run, oct_writer *writer)
{
    if (run->train != NULL) {
        learner_evals_write_weights(run->evals, policy_spec_params(&run->spec), writer);
    }
}

static void
metrics_write(const learner_run *run, oct_writer *writer)
{
    learner_evals_write_metrics(run->evals, &run->metrics, writer);
}

// Writes a part of the state into a block of its own. If the part is empty, *out is unchanged.
static void
evals_take(const learner_run *run, void (*write)(const learner_run *run, oct_writer *writer),
           uint8_t **out, size_t *length)
{
    oct_writer measure = {0};
    write(run, &measure);
    if (measure.used == 0) {
        return;
    }
    *length = measure.used;
    *out = oct_alloc(measure.used);
    oct_writer writer = {.base = *out, .capacity = measure.used};
    write(run, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
}

static void *
checkpoint_writer(void *arg)
{
    struct write_job *job = arg;
    const learner_run_options *options = &job->run->options;
    bool is_written =
        learner_checkpoints_write(options->folder, options->config->learner.checkpoints_kept,
                                  &job->checkpoint) == OCT_OK;
    int code = is_written ? 0 : errno;
    job->run->folder.writing.code = code;
    learner_files_told(job->run, LEARNER_FILE_CHECKPOINT, code);
    atomic_store_explicit(&job->run->folder.writer_busy, 0, memory_order_release);
    learner_checkpoint_fini(&job->checkpoint);
    free(job);
    return NULL;
}

static void
writer_join(learner_run *run)
{
    if (run->folder.writer_started) {
        (void)pthread_join(run->folder.writer, NULL);
        run->folder.writer_started = false;
        run->folder.written = run->folder.writing;
    }
}

void
learner_files_checkpoint(learner_run *run, learner_state_bytes *take, bool async)
{
    if (run->abandoned) {
        free(take);
        return;
    }
    if (async && atomic_load_explicit(&run->folder.writer_busy, memory_order_acquire) != 0) {
        free(take); // the disk is slow: the next checkpoint suffices, unless the disk does not
                    // respond at all
        run->folder.writer_missed = true;
        if (oct_clock_ns() - run->folder.writer_begin_ns > WRITER_PATIENCE_NS) {
            learner_files_told(run, LEARNER_FILE_CHECKPOINT, EINPROGRESS);
        }
        return;
    }
    writer_join(run);
    struct write_job *job = oct_alloc(sizeof(*job));
    job->run = run;
    // The next process assigns higher numbers, even if this is the first checkpoint that it
    // resumes.
    uint32_t given = learner_actors_incarnations(run->actors);
    job->checkpoint = (learner_checkpoint){
        .run_id = run->run_id,
        .policy_version =
            OCT_MAX(learner_publisher_version(run->publisher), run->folder.resumed.policy_version),
        .updates = take != NULL ? take->updates : 0,
        .env_steps = learner_run_env_steps(run),
        .incarnations = OCT_MAX(given, run->folder.resumed.incarnations + 1),
        .wall_s = learner_run_wall_s(run),
        .shards = config_shards(run->config),
        .gone = learner_batches_gone(run->batches),
        .policy_crc = run->folder.saved_crc,
        .task_crc = task_crc(run->config),
        .curve_count = run->folder.curve_count,
        .curve = oct_alloc(run->folder.curve_count * sizeof(*run->folder.curve)),
        .state = take,
    };
    for (uint32_t i = 0; i < job->checkpoint.shards; i++) {
        job->checkpoint.replay[i] =
            learner_batches_place_after(run->batches, i, take != NULL ? take->batches : 0);
    }
    memcpy(job->checkpoint.curve, run->folder.curve,
           run->folder.curve_count * sizeof(*run->folder.curve));
    learner_checkpoint *taken = &job->checkpoint;
    evals_take(run, work_write, &taken->work, &taken->work_length);
    evals_take(run, weights_write, &taken->weights, &taken->weights_length);
    evals_take(run, metrics_write, &taken->metrics, &taken->metrics_length);
    learner_evals_save(run->evals, &job->checkpoint.evals);
    job->checkpoint.evals.best = run->folder.saved; // a better one may be unsaved
    job->checkpoint.evals.confirmed = run->folder.saved_confirmed;
    run->pace->place(run, &job->checkpoint.turn);
    if (run->is_ending) {
        (void)snprintf(job->checkpoint.end, LEARNER_END_MAX, "%.*s", LEARNER_END_MAX - 1,
                       run->reason);
    }
    run->folder.writer_begin_ns = oct_clock_ns();
    run->folder.writer_missed = false;
    run->folder.writing = (learner_written){
        .number = ++run->folder.writer_number,
        .place = {.updates = job->checkpoint.updates, .env_steps = job->checkpoint.env_steps},
    };
    atomic_store_explicit(&run->folder.writer_busy, 1, memory_order_release);
    if (async && pthread_create(&run->folder.writer, NULL, checkpoint_writer, job) == 0) {
        run->folder.writer_started = true;
        return;
    }
    (void)checkpoint_writer(job);
    run->folder.written = run->folder.writing;
}

oct_err
learner_run_checkpointed(learner_run *run, uint64_t number, wire_written *out, oct_reason *why)
{
    learner_folder *folder = &run->folder;
    if (atomic_load_explicit(&folder->writer_busy, memory_order_acquire) == 0) {
        writer_join(run);
        if (folder->writer_missed) {
            folder->writer_missed = false;
            (void)learner_run_checkpoint(run);
        }
    }
    if (folder->written.number < number) {
        return OCT_EAGAIN;
    }
    if (folder->written.code != 0) {
        return oct_fail(why, OCT_EIO, "%s: %s cannot be written: %s", run->options.folder,
                        file_names[LEARNER_FILE_CHECKPOINT],
                        oct_file_strerror(folder->written.code));
    }
    *out = folder->written.place;
    return OCT_OK;
}

// ---- curve, summary

void
learner_files_curve(learner_run *run)
{
    char path[LEARNER_PATH_MAX], title[300];
    learner_files_path(run, "curve.svg", path);
    (void)snprintf(title, sizeof(title), "%s, seed %" PRIu64, run->run_name, run->config->run.seed);
    oct_err err =
        learner_curve_write(path, run->folder.curve, run->folder.curve_count, title,
                            config_is_offline(run->config) ? "updates" : "environment steps",
                            run->config->run.stop_at_return);
    learner_files_told(run, LEARNER_FILE_CURVE, err == OCT_OK ? 0 : errno);
    if (err == OCT_OK) {
        run->folder.curve_drawn = run->folder.curve_changes;
    }
}

static void
environment_forget(learner_folder *folder)
{
    free(folder->environment);
    folder->environment = NULL;
}

static void
environment_write(learner_run *run)
{
    learner_folder *folder = &run->folder;
    char path[LEARNER_PATH_MAX];
    learner_files_path(run, LEARNER_ENVIRONMENT_FILE, path);
    bool is_written =
        oct_file_write(path, folder->environment, folder->environment_length) == OCT_OK;
    learner_files_told(run, LEARNER_FILE_ENVIRONMENT, is_written ? 0 : errno);
    folder->environment_ns = oct_clock_ns() + AGAIN_NS;
    if (is_written) {
        environment_forget(folder);
    }
}

void
learner_files_environment(learner_run *run, const wire_env_spec *env)
{
    environment_forget(&run->folder);
    run->folder.environment = wire_env_pack(env, &run->folder.environment_length);
    environment_write(run);
}

void
learner_files_environment_again(learner_run *run, bool now)
{
    const learner_folder *folder = &run->folder;
    if (folder->environment != NULL && (now || oct_clock_ns() >= folder->environment_ns)) {
        environment_write(run);
    }
}

void
learner_files_summary(learner_run *run)
{
    char path[LEARNER_PATH_MAX], why[LEARNER_WHY_BYTES], sampling[LEARNER_WHY_BYTES];
    learner_files_path(run, "summary.json", path);
    learner_actors_totals totals;
    uint64_t version = learner_publisher_version(run->publisher);
    const learner_publishing publishing = learner_publisher_counts(run->publisher);
    learner_actors_totals_get(run->actors, oct_clock_ns(), version, &totals);
    double update_s = 0, wait_s = 0;
    if (run->train != NULL) {
        learner_train_times(run->train, &update_s, &wait_s);
    }
    learner_source_counts source = learner_run_source_counts(run);
    uint64_t end_ns = run->training_end_ns != 0 ? run->training_end_ns : oct_clock_ns();
    learner_summary summary = {
        .config = run->config,
        .reason = run->reason,
        .unlearned = run->unlearned[0] != '\0' ? run->unlearned : NULL,
        .unevaluated = learner_end_unevaluated(run, why, sizeof(why)),
        .sampling = learner_end_sampling(run, sampling, sizeof(sampling)),
        .precision = learner_publisher_precision(run->publisher),
        .result_precision = policy_precision_name(run->folder.saved_precision),
        .metrics = &run->metrics,
        .blas = run->blas != NULL ? run->blas : "",
        .run_id = run->run_id,
        .before = run->folder.summary_before,
        .env_steps = learner_run_env_steps(run),
        .env_steps_base = run->env_steps_base + source.first_sample_steps * run->action_repeat,
        .updates = run->updates,
        .updates_base = run->updates_base,
        .updates_refused = run->updates_refused,
        .env_failures = totals.failures,
        .evaluation_failures = totals.evaluation_failures,
        .policy_version = version,
        .inserts = source.inserts,
        .samples = source.samples,
        .wall_s = learner_run_wall_s(run),
        .training_s =
            source.first_sample_ns != 0 ? (double)(end_ns - source.first_sample_ns) * 1e-9 : 0,
        .replay_to_learner_bytes = (double)run->traffic.from_replay,
        .learner_to_replay_bytes = (double)run->traffic.to_replay,
        .actor_to_replay_bytes = totals.bytes,
        .learner_to_actors_bytes = (double)run->traffic.published,
        .publications = publishing.publications,
        .actors = totals.actors,
        .actor_infer_s = totals.infer_s,
        .actor_env_s = totals.env_s,
        .actor_collect_s = totals.collect_s,
        .actor_wait_s = totals.wait_s,
        .wait_share = update_s + wait_s > 0 ? wait_s / (update_s + wait_s) : NAN,
        .agreement = publishing.divergence.agreement,
        .divergence = publishing.divergence.relative_l2,
        .deltas = publishing.deltas,
        .cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9,
        .last = learner_publisher_policy(run->publisher),
    };
    summary.solved = learner_evals_solved(run->evals);
    summary.result = run->folder.saved;
    summary.has_last = learner_evals_last(run->evals, &summary.last_result);
    summary.screens = learner_evals_screens(run->evals, &summary.screens_mean);
    oct_err err = learner_summary_write(path, &summary);
    learner_files_told(run, LEARNER_FILE_SUMMARY, err == OCT_OK ? 0 : errno);
}

void
learner_files_end(learner_run *run)
{
    writer_join(run);
    wire_token_maker_destroy(run->tokens);
    explicit_bzero(run->token_key, sizeof(run->token_key));
    learner_checkpoint_fini(&run->folder.resumed);
    environment_forget(&run->folder);
    free(run->folder.summary_before);
    free(run->folder.curve);
}
