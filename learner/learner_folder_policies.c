// The policies of the run folder: policy.oct, the best version; policy.fp32.oct, the weights that
// it was made of; and policy_last.oct. policy.oct and its weights match even if the process is
// killed between the writes.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "learner/learner_folder_state.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_fold.h"

// Properties of the policy file that was written.
struct saved_file {
    uint32_t crc; // of its bytes
    policy_precision precision;
};

static bool
image_save(learner_folder *folder, const policy_image *image, const char *path, uint32_t *crc)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    oct_err err = oct_file_write(path, bytes, length);
    if (err != OCT_OK) {
        folder->policies_errno = errno;
    } else {
        *crc = policy_checksum(bytes, length);
    }
    free(bytes);
    return err == OCT_OK;
}

// Writes a published policy, with the return of its evaluation in the header.
static bool
policy_save(learner_folder *folder, const quantizer_publication *publication, double eval_return,
            const char *name, struct saved_file *out)
{
    char path[OCT_FILE_PATH_MAX];
    oct_reason why;
    learner_folder_path(folder, name, path);
    policy_image *image;
    if (policy_decode(&image, publication->bytes, publication->length, &why) != OCT_OK) {
        oct_log_error("LEARNER-POLICY", "%s: %s", path, why.text);
        return false;
    }
    image->origin.eval_return = (float)eval_return;
    bool is_saved = image_save(folder, image, path, &out->crc);
    out->precision = image->precision;
    policy_image_destroy(image);
    return is_saved;
}

// Converts the publication's fp32 weights, with the scaling that it was published with.
static oct_err
fp32_convert(policy_image *out, const quantizer_publication *publication)
{
    oct_reason why;
    policy_image *image;
    OCT_TRY(policy_decode(&image, publication->bytes, publication->length, &why));
    float *deviation = oct_alloc(out->spec.obs_count * sizeof(float));
    for (uint32_t i = 0; out->spec.normalise && i < out->spec.obs_count; i++) {
        deviation[i] = 1.0f / image->obs_inverse_std[i]; // powers of two
    }
    quantizer_scaling scaling = {.mean = image->obs_mean, .deviation = deviation};
    oct_err err = quantizer_convert_folded(
        out, publication->params, out->spec.normalise ? &scaling : NULL, &QUANTIZER_METHOD_DEFAULT);
    free(deviation);
    policy_image_destroy(image);
    return err;
}

// The result of writing the fp32 weights.
enum fp32 { FP32_WRITTEN, FP32_NONE, FP32_FAILED };

// Writes the fp32 weights, which were not evaluated themselves. FP32_NONE: there are none to write:
// an earlier process did not keep them, or they are too large.
static enum fp32
fp32_save(learner_folder *folder, const quantizer_publication *publication, const char *name)
{
    char path[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, name, path);
    if (publication->params == NULL) {
        return FP32_NONE;
    }
    policy_image *image;
    if (policy_image_create(&image, folder->options.spec, POLICY_FP32) != OCT_OK) {
        oct_log_error("LEARNER-POLICY", "%s: too large in fp32", path);
        return FP32_NONE;
    }
    image->origin = (policy_origin){
        .run_id = folder->resumed.run_id,
        .version = publication->version,
        .updates = publication->updates,
        .env_steps = publication->env_steps,
        .eval_return = NAN,
    };
    (void)snprintf(image->origin.run_name, POLICY_NAME_MAX, "%s", folder->options.run_name);
    uint32_t crc;
    enum fp32 done = fp32_convert(image, publication) != OCT_OK ? FP32_NONE
                     : image_save(folder, image, path, &crc)    ? FP32_WRITTEN
                                                                : FP32_FAILED;
    policy_image_destroy(image);
    return done;
}

// policy.oct now has another version: gives the weights drafted for it their name, and deletes the
// weights of the version before. False: the weights have to be written again.
static bool
fp32_replace(learner_folder *folder, enum fp32 drafted)
{
    char path[OCT_FILE_PATH_MAX], next[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, LEARNER_FP32_FILE, path);
    learner_folder_path(folder, LEARNER_FP32_NEXT_FILE, next);
    bool is_done = drafted == FP32_WRITTEN ? oct_file_adopt(next, path) == OCT_OK
                                           : oct_file_remove(path) == 0 || errno == ENOENT;
    if (!is_done) {
        folder->policies_errno = errno;
    }
    return is_done && drafted != FP32_FAILED;
}

// Writes policy.oct and policy.fp32.oct of another version. The weights are on disk, under another
// name, before the policy is: if a process is killed between two of the writes, the folder has the
// weights of the policy that is there (fp32_settle). False: policy.oct is unchanged.
static bool
pair_save(learner_folder *folder, const quantizer_publication *publication, double eval_return,
          struct saved_file *out)
{
    enum fp32 drafted = fp32_save(folder, publication, LEARNER_FP32_NEXT_FILE);
    if (!policy_save(folder, publication, eval_return, "policy.oct", out)) {
        return false;
    }
    folder->fp32_is_missing = !fp32_replace(folder, drafted);
    return true;
}

static bool
same_result(const learner_eval_result *a, const learner_eval_result *b)
{
    bool same_mean = a->mean == b->mean || (isnan(a->mean) && isnan(b->mean));
    return a->version == b->version && a->stage == b->stage && a->episodes == b->episodes &&
           same_mean;
}

// Writes the best policy. A failed write is tried again the next time; saved describes policy.oct.
static void
best_save(learner_folder *folder, const quantizer_publication *best)
{
    learner_evals_saved now;
    learner_evals_save(folder->evals, &now);
    bool is_other = now.best.version != folder->saved.version;
    if (!same_result(&now.best, &folder->saved)) {
        struct saved_file file;
        bool is_saved = is_other ? pair_save(folder, best, now.best.mean, &file)
                                 : policy_save(folder, best, now.best.mean, "policy.oct", &file);
        if (!is_saved) {
            return;
        }
        folder->saved = now.best;
        folder->saved_confirmed = now.confirmed;
        folder->saved_crc = file.crc;
        folder->saved_precision = file.precision;
    }
    if (folder->fp32_is_missing) {
        folder->fp32_is_missing = fp32_save(folder, best, LEARNER_FP32_FILE) == FP32_FAILED;
    }
}

// Writes policy_last.oct. Until a version has been evaluated, policy.oct is the same policy.
static void
last_save(learner_folder *folder, const quantizer_publication *policy, bool is_best)
{
    struct saved_file file;
    bool is_saved = policy_save(folder, policy, NAN, "policy_last.oct", &file);
    if (is_best) {
        bool is_pair = pair_save(folder, policy, NAN, &file);
        folder->saved_crc = is_pair ? file.crc : folder->saved_crc;
        is_saved &= is_pair && !folder->fp32_is_missing;
    }
    folder->last_version = is_saved ? policy->version : folder->last_version;
}

void
learner_folder_policies(learner_folder *folder)
{
    if (folder->is_abandoned) {
        return;
    }
    folder->policies_errno = 0;
    learner_eval_result result;
    const quantizer_publication *best = learner_evals_best(folder->evals, &result);
    if (best != NULL) {
        best_save(folder, best);
    }
    const quantizer_publication *policy = learner_publisher_policy(folder->publisher);
    if (policy != NULL && policy->version != folder->last_version) {
        last_save(folder, policy, best == NULL);
    }
    learner_folder_wrote(folder, LEARNER_FILE_POLICIES, folder->policies_errno);
}

// ---- resuming

// Returns the version of a policy file in the folder; 0: there is none.
static uint64_t
version_of_file(const char *path)
{
    oct_reason why;
    policy_image *image;
    if (policy_file_load(&image, path, &why) != OCT_OK) {
        return 0;
    }
    uint64_t version = image->origin.version;
    policy_image_destroy(image);
    return version;
}

// Repairs the folder after a kill between two writes of pair_save: weights drafted for policy.oct
// get their name, and weights of another version are deleted.
static void
fp32_settle(learner_folder *folder, uint64_t version)
{
    char path[OCT_FILE_PATH_MAX], next[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, LEARNER_FP32_FILE, path);
    learner_folder_path(folder, LEARNER_FP32_NEXT_FILE, next);
    if (version_of_file(next) == version && oct_file_adopt(next, path) == OCT_OK) {
        return;
    }
    (void)oct_file_remove(next);
    uint64_t found = version_of_file(path);
    if (found != version && found != 0 && oct_file_remove(path) == 0) {
        oct_log_notice("LEARNER-FP32-OTHER",
                       "%s was not of the same version as policy.oct and was removed", path);
    }
    folder->fp32_is_missing = found != version;
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
policy_restore(learner_folder *folder, quantizer_publication *publication, uint32_t crc,
               float eval_return)
{
    const learner_eval_result *named = &folder->resumed.evals.best;
    bool is_named = crc == folder->resumed.policy_crc;
    if (named->version == 0 && (is_named || isnan(eval_return))) {
        return; // the newest version of its time, which had not been evaluated
    }
    static const learner_eval_result unknown = {.stage = LEARNER_EVAL_SCREEN};
    double confirmed = folder->resumed.evals.confirmed;
    if (!is_named) {
        oct_log_notice("LEARNER-POLICY-OTHER",
                       "policy.oct holds version %" PRIu64
                       ", which was written after the checkpoint (of version %" PRIu64
                       "); it is evaluated again",
                       publication->version, named->version);
    } else if (folder->resumed.task_crc != folder->task_crc) {
        oct_log_notice("LEARNER-TASK-OTHER",
                       "env.* is not what policy.oct (version %" PRIu64
                       ", return %g) was evaluated on; it is evaluated again",
                       publication->version, named->mean);
        is_named = false;
    }
    learner_evals_restore(folder->evals, publication, is_named ? named : &unknown,
                          is_named ? confirmed : NAN);
    (void)learner_evals_best(folder->evals, &folder->saved);
    folder->saved_confirmed = is_named ? confirmed : NAN;
    folder->saved_crc = crc;
}

static void
metrics_resume(learner_folder *folder)
{
    const learner_checkpoint *resumed = &folder->resumed;
    oct_reader reader = {.at = resumed->metrics, .left = resumed->metrics_length};
    if (resumed->metrics != NULL &&
        learner_evals_read_metrics(folder->evals, folder->options.metrics, &reader) != OCT_OK) {
        oct_log_warn("LEARNER-WORK-LOST",
                     "%s: its checkpoint has impossible values for the environment's metrics; "
                     "earlier evaluations are without them",
                     folder->options.path);
    }
}

// Restores the evaluations from the checkpoint, and the newest policy. False: the checkpoint has
// none, or policy.oct is of a later version, or they were evaluated on another task.
static bool
evals_resume(learner_folder *folder, const quantizer_publication *policy, uint32_t crc,
             float eval_return)
{
    const learner_checkpoint *resumed = &folder->resumed;
    const learner_eval_result *best = &resumed->evals.best;
    bool is_own = policy != NULL && crc == resumed->policy_crc;
    // A run that repeats makes the later version again.
    bool is_later = policy != NULL && !is_own && !isnan(eval_return) &&
                    policy->version > best->version && !folder->options.repeats;
    oct_reader reader = {.at = resumed->work, .left = resumed->work_length};
    if (resumed->work == NULL || is_later || resumed->task_crc != folder->task_crc) {
        return false;
    }
    if (learner_evals_read(folder->evals, &reader, oct_clock_ns()) != OCT_OK) {
        oct_log_warn("LEARNER-WORK-LOST",
                     "%s: its checkpoint has impossible values for evaluations; the list of "
                     "evaluations starts empty",
                     folder->options.path);
        return false;
    }
    oct_reader weights = {.at = resumed->weights, .left = resumed->weights_length};
    if (learner_evals_read_weights(folder->evals, &weights) != OCT_OK) {
        oct_log_warn("LEARNER-WORK-LOST",
                     "%s: its checkpoint has impossible values for the weights of "
                     "policies; " LEARNER_FP32_FILE " is written with the next best version",
                     folder->options.path);
    }
    metrics_resume(folder);
    if (is_own) {
        folder->saved = *best;
        learner_eval_result known;
        if (learner_evals_best(folder->evals, &known) != NULL && known.version == best->version &&
            known.stage == best->stage && known.episodes == best->episodes) {
            folder->saved = known; // with the environment's metrics
        }
        folder->saved_confirmed = resumed->evals.confirmed;
        folder->saved_crc = crc;
    } else if (policy != NULL) {
        folder->saved.version = policy->version; // written again with its return
    }
    quantizer_publication *newest = learner_evals_policy(folder->evals);
    if (newest != NULL && !folder->options.repeats) { // else each turn has its own version
        learner_publisher_restore(folder->publisher, newest);
    }
    return true;
}

void
learner_folder_restore(learner_folder *folder, learner_evals *evals, learner_publisher *publisher)
{
    folder->evals = evals;
    folder->publisher = publisher;
    if (!folder->is_resumed) {
        return;
    }
    char path[OCT_FILE_PATH_MAX];
    learner_folder_path(folder, "policy.oct", path);
    uint8_t *bytes;
    size_t length;
    float eval_return;
    quantizer_publication *publication = NULL;
    uint32_t crc = 0;
    if (oct_file_read(path, WIRE_MESSAGE_BYTES_MAX, &bytes, &length) == OCT_OK) {
        crc = policy_checksum(bytes, length);
        publication = publication_of_file(bytes, length, &eval_return, &folder->saved_precision);
    }
    if (evals_resume(folder, publication, crc, publication != NULL ? eval_return : NAN)) {
        if (publication != NULL) {
            fp32_settle(folder, publication->version);
            quantizer_publication_release(publication);
        }
    } else if (publication != NULL) {
        fp32_settle(folder, publication->version);
        policy_restore(folder, publication, crc, eval_return);
        quantizer_publication_release(publication);
    } else if (folder->resumed.evals.best.version != 0) {
        oct_log_warn("LEARNER-POLICY-LOST",
                     "%s is missing or damaged: version %" PRIu64
                     " with return %g is lost, and the best later version replaces it",
                     path, folder->resumed.evals.best.version, folder->resumed.evals.best.mean);
    }
}
