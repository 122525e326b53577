// The run folder: files that a run leaves, and the state that a resumed run continues from.
// learner_folder_policies.c writes the policies.
//
// 1. Opening removes drafts that a killed process left, and reads the newest complete checkpoint
//    (learner_checkpoints.h) and policy_versions. The run continues above both: the checkpoint has
//    the last version at its time, and policy_versions the versions reserved since, which actors
//    may have.
// 2. Restoring gives the evaluations their state. policy.oct may be newer than the checkpoint,
//    because it is written more often: then the version in it is evaluated again. The same holds if
//    env.* differs from what the policy was evaluated on (task_crc).
// 3. While the run trains, the policies and a checkpoint are written every learner.checkpoint_s by
//    request of the pace. The caller copies the state; a thread writes it, so that a slow disk does
//    not stop training. A checkpoint that is requested meanwhile is dropped and begun
//    again if an operator waits for it (learner_folder_missed).
// 4. Versions are reserved RESERVE_AHEAD at a time, before the first of them is published.
//
// Failures. Every file is replaced whole, so a failed write keeps the old file.
// learner_folder_wrote has the last result of each file: the first failure is logged,
// learner_folder_trouble reports it, and the next write ends it. The environment and the reserve
// are tried again after a second, the other files when they are written next. A version that could
// not be reserved is held back. A writer that takes longer than WRITER_PATIENCE_NS counts as failed
// until it ends. After learner_folder_abandon no policy, checkpoint or reserve is written, because
// the folder belongs to another process.
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
#include "learner/learner_checkpoints.h"
#include "learner/learner_environment.h"
#include "learner/learner_folder_state.h"
#include "proto/wire_env.h"

#define CURVE_PERIOD_NS 2000000000u
#define RESERVE_AHEAD   1000u
#define RESERVE_LOW     200u
#define AGAIN_NS        1000000000u // delay before a failed write is tried again

#define SUMMARY_BYTES_MAX (1u << 22)
// How long a checkpoint may be in writing before that is reported as a failure.
#define WRITER_PATIENCE_NS 30000000000u

struct write_job {
    learner_folder *folder;
    learner_checkpoint checkpoint;
};

void
learner_folder_path(const learner_folder *folder, const char *name, char out[OCT_FILE_PATH_MAX])
{
    (void)snprintf(out, OCT_FILE_PATH_MAX, "%s/%s", folder->options.path, name);
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
learner_folder_wrote(learner_folder *folder, learner_file file, int code)
{
    int before = atomic_exchange(&folder->failed[file], code);
    if (code != 0) {
        atomic_fetch_add(&folder->failures, 1);
    }
    if (code != 0 && code != before) {
        oct_log_error("LEARNER-WRITE",
                      "%s: %s: %s; the old file is kept, and the next write tries again",
                      folder->options.path, file_names[file], oct_file_strerror(code));
    } else if (code == 0 && before != 0) {
        oct_log_notice("LEARNER-WRITTEN", "%s: %s can be written again", folder->options.path,
                       file_names[file]);
    }
}

bool
learner_folder_has_failed(const learner_folder *folder, learner_file file)
{
    return atomic_load(&folder->failed[file]) != 0;
}

bool
learner_folder_is_unsaved(const learner_folder *folder)
{
    bool is_unsaved = false;
    for (int i = 0; i < LEARNER_FILES; i++) {
        is_unsaved = is_unsaved || learner_folder_has_failed(folder, (learner_file)i);
    }
    return is_unsaved;
}

uint64_t
learner_folder_failures(const learner_folder *folder)
{
    return atomic_load(&folder->failures);
}

const char *
learner_folder_trouble(learner_folder *folder)
{
    for (int i = 0; i < LEARNER_FILES; i++) {
        int code = atomic_load(&folder->failed[i]);
        if (code != 0) {
            (void)snprintf(folder->trouble, sizeof(folder->trouble), "%s cannot be written: %s",
                           file_names[i], oct_file_strerror(code));
            return folder->trouble;
        }
    }
    return NULL;
}

// ---- beginning

// Reads policy_versions. *version is 0 if no version was ever reserved.
static oct_err
reserve_read(const learner_folder *folder, uint64_t *version, oct_reason *why)
{
    char path[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, "policy_versions", path);
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
key_read(const char *path, uint8_t out[WIRE_TOKEN_KEY_BYTES])
{
    uint8_t *bytes;
    size_t length;
    if (oct_file_read(path, WIRE_TOKEN_KEY_BYTES, &bytes, &length) != OCT_OK) {
        return false;
    }
    bool is_whole = length == WIRE_TOKEN_KEY_BYTES;
    if (is_whole) {
        memcpy(out, bytes, WIRE_TOKEN_KEY_BYTES);
    }
    explicit_bzero(bytes, length);
    free(bytes);
    return is_whole;
}

oct_err
learner_folder_key(const learner_folder *folder, uint8_t out[WIRE_TOKEN_KEY_BYTES], oct_reason *why)
{
    char path[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, "token.key", path);
    if (folder->is_resumed && key_read(path, out)) {
        return OCT_OK;
    }
    if (getrandom(out, WIRE_TOKEN_KEY_BYTES, 0) != WIRE_TOKEN_KEY_BYTES) {
        return oct_fail(why, OCT_EIO, "no random bytes for %s: %s", path, oct_file_strerror(errno));
    }
    if (oct_file_write_secret(path, out, WIRE_TOKEN_KEY_BYTES) != OCT_OK) {
        return oct_fail(why, OCT_EIO, "%s: %s", path, oct_file_strerror(errno));
    }
    if (folder->is_resumed) {
        oct_log_notice("LEARNER-KEY",
                       "%s was missing or incomplete; a new one was written, and actors must "
                       "register again",
                       path);
    }
    return OCT_OK;
}

// Deletes drafts of files that a killed learner was writing: a checkpoint may be large.
static void
folder_clear(const learner_folder *folder)
{
    static const char *const names[] = {
        "policy.oct",      LEARNER_FP32_FILE, LEARNER_FP32_NEXT_FILE,
        "policy_last.oct", "policy_versions", "summary.json",
        "curve.svg",       "token.key",       "learner.key"};
    learner_checkpoints_clear(folder->options.path);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char path[OCT_FILE_PATH_MAX];
        learner_folder_path(folder, names[i], path);
        oct_file_clear(path);
    }
}

static oct_err
resumed_read(learner_folder *folder, oct_reason *why)
{
    uint32_t number;
    OCT_TRY(learner_checkpoints_read(folder->options.path, &folder->resumed, &number, why->text,
                                     sizeof(why->text)));
    oct_log(number == 0 ? OCT_LOG_NOTICE : OCT_LOG_WARN, "LEARNER-RESUME", "from %s", why->text);
    return OCT_OK;
}

// Reads the checkpoint that the run continues from. OCT_ENOTFOUND: the run has none.
static oct_err
resume_begin(learner_folder *folder, oct_reason *why)
{
    learner_checkpoint *resumed = &folder->resumed;
    uint64_t reserved = 0;
    OCT_TRY(resumed_read(folder, why));
    // A run that repeats makes later versions again.
    oct_err err = folder->options.repeats ? OCT_OK : reserve_read(folder, &reserved, why);
    if (err != OCT_OK) {
        learner_checkpoint_fini(resumed);
        return err;
    }
    folder->versions.kept = resumed->policy_version;
    resumed->policy_version = OCT_MAX(resumed->policy_version, reserved);
    folder->versions.reserved = resumed->policy_version;
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

oct_err
learner_folder_open(learner_folder **out, const learner_folder_options *options, oct_reason *why)
{
    learner_folder *folder = oct_alloc(sizeof(*folder));
    folder->options = *options;
    folder->config = options->config;
    folder->task_crc = task_crc(options->config);
    folder_clear(folder);
    oct_err err = options->resume ? resume_begin(folder, why) : OCT_ENOTFOUND;
    if (err != OCT_OK && err != OCT_ENOTFOUND) {
        free(folder);
        return err;
    }
    folder->is_resumed = err == OCT_OK;
    learner_checkpoint *resumed = &folder->resumed;
    if (err == OCT_ENOTFOUND) {
        *resumed = (learner_checkpoint){.evals = {.confirmed = NAN}};
        if (getrandom(&resumed->run_id, sizeof(uint64_t), 0) != sizeof(uint64_t)) {
            resumed->run_id = oct_clock_wall_us();
        }
        resumed->run_id |= 1;
    }
    folder->saved_confirmed = NAN;
    folder->curve = oct_alloc(LEARNER_CURVE_MAX * sizeof(*folder->curve));
    folder->curve_changes = folder->curve_count = resumed->curve_count;
    if (folder->curve_count > 0) {
        memcpy(folder->curve, resumed->curve, folder->curve_count * sizeof(*folder->curve));
    }
    *out = folder;
    return OCT_OK;
}

void
learner_folder_abandon(learner_folder *folder)
{
    folder->is_abandoned = true;
}

bool
learner_folder_is_abandoned(const learner_folder *folder)
{
    return folder->is_abandoned;
}

bool
learner_folder_is_resumed(const learner_folder *folder)
{
    return folder->is_resumed;
}

const learner_checkpoint *
learner_folder_resumed(const learner_folder *folder)
{
    return &folder->resumed;
}

void
learner_folder_forget_state(learner_folder *folder)
{
    free(folder->resumed.state);
    folder->resumed.state = NULL;
}

learner_versions
learner_folder_versions(const learner_folder *folder)
{
    return folder->versions;
}

void
learner_folder_start(learner_folder *folder)
{
    char path[OCT_FILE_PATH_MAX];
    uint8_t *bytes;
    size_t length;
    learner_folder_path(folder, "summary.json", path);
    if (folder->is_resumed && oct_file_read(path, SUMMARY_BYTES_MAX, &bytes, &length) == OCT_OK) {
        folder->summary_before = (char *)bytes;
    }
    if (oct_file_remove(path) != 0 && errno != ENOENT) {
        learner_folder_wrote(folder, LEARNER_FILE_SUMMARY, errno);
    }
}

static void
reserve_write(learner_folder *folder, uint64_t version)
{
    char path[OCT_FILE_PATH_MAX], text[64];
    learner_folder_path(folder, "policy_versions", path);
    int length = snprintf(text, sizeof(text), "reserved %" PRIu64 "\n", version);
    bool is_written = oct_file_write(path, text, (size_t)length) == OCT_OK;
    learner_folder_wrote(folder, LEARNER_FILE_VERSIONS, is_written ? 0 : errno);
    if (is_written) {
        folder->reserved_version = version;
    } else {
        folder->reserve_ns = oct_clock_ns() + AGAIN_NS;
    }
}

bool
learner_folder_reserve(learner_folder *folder, uint64_t version)
{
    bool is_low = version + RESERVE_LOW > folder->reserved_version;
    if (is_low && !folder->is_abandoned && oct_clock_ns() >= folder->reserve_ns) {
        reserve_write(folder, version + RESERVE_AHEAD);
    }
    bool is_reserved = version <= folder->reserved_version;
    if (!is_reserved && !folder->is_abandoned && !folder->is_holding) {
        oct_log_warn(
            "LEARNER-VERSIONS-HELD",
            "%s: policy_versions cannot be written, so versions from %" PRIu64
            " on are held back until it can; actors keep acting with the policies that they have",
            folder->options.path, version);
    }
    folder->is_holding = !is_reserved;
    return is_reserved;
}

// ---- checkpoint

static void
work_write(const learner_folder *folder, oct_writer *writer)
{
    learner_evals_write(folder->evals, writer);
}

static void
weights_write(const learner_folder *folder, oct_writer *writer)
{
    learner_evals_write_weights(folder->evals, policy_spec_params(folder->options.spec), writer);
}

static void
metrics_write(const learner_folder *folder, oct_writer *writer)
{
    learner_evals_write_metrics(folder->evals, folder->options.metrics, writer);
}

// Writes a part of the state into a block of its own. If the part is empty, *out is unchanged.
static void
evals_take(const learner_folder *folder,
           void (*write)(const learner_folder *folder, oct_writer *writer), uint8_t **out,
           size_t *length)
{
    oct_writer measure = {0};
    write(folder, &measure);
    if (measure.used == 0) {
        return;
    }
    *length = measure.used;
    *out = oct_alloc(measure.used);
    oct_writer writer = {.base = *out, .capacity = measure.used};
    write(folder, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
}

static void *
checkpoint_writer(void *arg)
{
    struct write_job *job = arg;
    learner_folder *folder = job->folder;
    bool is_written =
        learner_checkpoints_write(folder->options.path, folder->config->learner.checkpoints_kept,
                                  &job->checkpoint) == OCT_OK;
    int code = is_written ? 0 : errno;
    folder->writing.code = code;
    learner_folder_wrote(folder, LEARNER_FILE_CHECKPOINT, code);
    atomic_store_explicit(&folder->writer_busy, 0, memory_order_release);
    learner_checkpoint_fini(&job->checkpoint);
    free(job);
    return NULL;
}

static bool
is_writing(const learner_folder *folder)
{
    return atomic_load_explicit(&folder->writer_busy, memory_order_acquire) != 0;
}

static void
writer_join(learner_folder *folder)
{
    if (folder->writer_started) {
        (void)pthread_join(folder->writer, NULL);
        folder->writer_started = false;
        folder->written = folder->writing;
    }
}

// Drops a checkpoint, because the one before is still being written. The next checkpoint suffices,
// unless the disk does not respond at all.
static void
checkpoint_drop(learner_folder *folder)
{
    folder->writer_missed = true;
    if (oct_clock_ns() - folder->writer_begin_ns > WRITER_PATIENCE_NS) {
        learner_folder_wrote(folder, LEARNER_FILE_CHECKPOINT, EINPROGRESS);
    }
}

void
learner_folder_checkpoint(learner_folder *folder, const learner_checkpoint *take, bool async)
{
    bool is_busy = async && is_writing(folder);
    if (folder->is_abandoned || is_busy) {
        free(take->state);
        if (!folder->is_abandoned) {
            checkpoint_drop(folder);
        }
        return;
    }
    writer_join(folder);
    struct write_job *job = oct_alloc(sizeof(*job));
    learner_checkpoint *taken = &job->checkpoint;
    job->folder = folder;
    *taken = *take;
    taken->run_id = folder->resumed.run_id;
    taken->policy_crc = folder->saved_crc;
    taken->task_crc = folder->task_crc;
    taken->curve_count = folder->curve_count;
    taken->curve = oct_alloc(folder->curve_count * sizeof(*folder->curve));
    memcpy(taken->curve, folder->curve, folder->curve_count * sizeof(*folder->curve));
    evals_take(folder, work_write, &taken->work, &taken->work_length);
    evals_take(folder, weights_write, &taken->weights, &taken->weights_length);
    evals_take(folder, metrics_write, &taken->metrics, &taken->metrics_length);
    learner_evals_save(folder->evals, &taken->evals);
    taken->evals.best = folder->saved; // a better one may be unsaved
    taken->evals.confirmed = folder->saved_confirmed;
    folder->writer_begin_ns = oct_clock_ns();
    folder->writer_missed = false;
    folder->writing = (learner_written){
        .number = ++folder->writer_number,
        .place = {.updates = taken->updates, .env_steps = taken->env_steps},
    };
    atomic_store_explicit(&folder->writer_busy, 1, memory_order_release);
    if (async && pthread_create(&folder->writer, NULL, checkpoint_writer, job) == 0) {
        folder->writer_started = true;
        return;
    }
    (void)checkpoint_writer(job);
    folder->written = folder->writing;
}

uint64_t
learner_folder_checkpoint_next(const learner_folder *folder)
{
    return folder->writer_number + 1;
}

bool
learner_folder_missed(learner_folder *folder)
{
    if (is_writing(folder)) {
        return false;
    }
    writer_join(folder);
    bool was_missed = folder->writer_missed;
    folder->writer_missed = false;
    return was_missed;
}

oct_err
learner_folder_checkpointed(const learner_folder *folder, uint64_t number, wire_written *out,
                            oct_reason *why)
{
    if (folder->written.number < number) {
        return OCT_EAGAIN;
    }
    if (folder->written.code != 0) {
        return oct_fail(why, OCT_EIO, "%s: %s cannot be written: %s", folder->options.path,
                        file_names[LEARNER_FILE_CHECKPOINT],
                        oct_file_strerror(folder->written.code));
    }
    *out = folder->written.place;
    return OCT_OK;
}

// ---- curve, summary

void
learner_folder_curve_add(learner_folder *folder, const learner_curve_point *point)
{
    learner_curve_add(folder->curve, &folder->curve_count, LEARNER_CURVE_MAX, point);
    folder->curve_changes++;
}

void
learner_folder_curve(learner_folder *folder)
{
    char path[OCT_FILE_PATH_MAX], title[300];
    learner_folder_path(folder, "curve.svg", path);
    (void)snprintf(title, sizeof(title), "%s, seed %" PRIu64, folder->options.run_name,
                   folder->config->run.seed);
    oct_err err =
        learner_curve_write(path, folder->curve, folder->curve_count, title,
                            config_is_offline(folder->config) ? "updates" : "environment steps",
                            folder->config->run.stop_at_return);
    learner_folder_wrote(folder, LEARNER_FILE_CURVE, err == OCT_OK ? 0 : errno);
    if (err == OCT_OK) {
        folder->curve_drawn = folder->curve_changes;
    }
}

static void
environment_forget(learner_folder *folder)
{
    free(folder->environment);
    folder->environment = NULL;
}

static void
environment_write(learner_folder *folder)
{
    char path[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, LEARNER_ENVIRONMENT_FILE, path);
    bool is_written =
        oct_file_write(path, folder->environment, folder->environment_length) == OCT_OK;
    learner_folder_wrote(folder, LEARNER_FILE_ENVIRONMENT, is_written ? 0 : errno);
    folder->environment_ns = oct_clock_ns() + AGAIN_NS;
    if (is_written) {
        environment_forget(folder);
    }
}

void
learner_folder_environment(learner_folder *folder, const wire_env_spec *env)
{
    environment_forget(folder);
    folder->environment = wire_env_pack(env, &folder->environment_length);
    environment_write(folder);
}

static void
environment_again(learner_folder *folder, uint64_t now_ns)
{
    if (folder->environment != NULL && now_ns >= folder->environment_ns) {
        environment_write(folder);
    }
}

void
learner_folder_tick(learner_folder *folder, uint64_t now_ns)
{
    environment_again(folder, now_ns);
    if (learner_curve_is_due(folder->curve_changes, folder->curve_drawn) &&
        now_ns - folder->curve_ns > CURVE_PERIOD_NS) {
        folder->curve_ns = now_ns;
        learner_folder_curve(folder);
    }
}

void
learner_folder_finish(learner_folder *folder)
{
    for (int i = 0; i < LEARNER_FILES; i++) {
        atomic_store(&folder->failed[i], 0); // each file is written below, or never
    }
    environment_again(folder, UINT64_MAX);
}

const learner_eval_result *
learner_folder_saved(const learner_folder *folder)
{
    return &folder->saved;
}

void
learner_folder_summary(learner_folder *folder, learner_summary *summary)
{
    char path[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, "summary.json", path);
    summary->before = folder->summary_before;
    summary->result = folder->saved;
    summary->result_precision = policy_precision_name(folder->saved_precision);
    summary->metrics = folder->options.metrics;
    oct_err err = learner_summary_write(path, summary);
    learner_folder_wrote(folder, LEARNER_FILE_SUMMARY, err == OCT_OK ? 0 : errno);
}

void
learner_folder_close(learner_folder *folder)
{
    if (folder == NULL) {
        return;
    }
    writer_join(folder);
    learner_checkpoint_fini(&folder->resumed);
    environment_forget(folder);
    free(folder->summary_before);
    free(folder->curve);
    free(folder);
}
