// The policies of the run folder: policy.oct, the best version; policy.fp32.oct, the weights that
// it was made of; and policy_last.oct. policy.oct and its weights match even if the process is
// killed between the writes.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "learner/learner_run_state.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_fold.h"

// Properties of the policy file that was written.
struct saved_file {
    uint32_t crc; // of its bytes
    policy_precision precision;
};

static bool
image_save(learner_run *run, const policy_image *image, const char *path, uint32_t *crc)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    oct_err err = oct_file_write(path, bytes, length);
    if (err != OCT_OK) {
        run->folder.policies_errno = errno;
    } else {
        *crc = policy_checksum(bytes, length);
    }
    free(bytes);
    return err == OCT_OK;
}

// Writes a published policy, with the return of its evaluation in the header.
static bool
policy_save(learner_run *run, const quantizer_publication *publication, double eval_return,
            const char *name, struct saved_file *out)
{
    char path[LEARNER_PATH_MAX];
    oct_reason why;
    learner_files_path(run, name, path);
    policy_image *image;
    if (policy_decode(&image, publication->bytes, publication->length, &why) != OCT_OK) {
        oct_log_error("LEARNER-POLICY", "%s: %s", path, why.text);
        return false;
    }
    image->origin.eval_return = (float)eval_return;
    bool is_saved = image_save(run, image, path, &out->crc);
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
fp32_save(learner_run *run, const quantizer_publication *publication, const char *name)
{
    char path[LEARNER_PATH_MAX];
    learner_files_path(run, name, path);
    if (publication->params == NULL) {
        return FP32_NONE;
    }
    policy_image *image;
    if (policy_image_create(&image, &run->spec, POLICY_FP32) != OCT_OK) {
        oct_log_error("LEARNER-POLICY", "%s: too large in fp32", path);
        return FP32_NONE;
    }
    image->origin = (policy_origin){
        .run_id = run->run_id,
        .version = publication->version,
        .updates = publication->updates,
        .env_steps = publication->env_steps,
        .eval_return = NAN,
    };
    (void)snprintf(image->origin.run_name, POLICY_NAME_MAX, "%s", run->run_name);
    uint32_t crc;
    enum fp32 done = fp32_convert(image, publication) != OCT_OK ? FP32_NONE
                     : image_save(run, image, path, &crc)       ? FP32_WRITTEN
                                                                : FP32_FAILED;
    policy_image_destroy(image);
    return done;
}

// policy.oct now has another version: gives the weights drafted for it their name, and deletes the
// weights of the version before. False: the weights have to be written again.
static bool
fp32_replace(learner_run *run, enum fp32 drafted)
{
    char path[LEARNER_PATH_MAX], next[LEARNER_PATH_MAX];
    learner_files_path(run, LEARNER_FP32_FILE, path);
    learner_files_path(run, LEARNER_FP32_NEXT_FILE, next);
    bool is_done = drafted == FP32_WRITTEN ? oct_file_adopt(next, path) == OCT_OK
                                           : oct_file_remove(path) == 0 || errno == ENOENT;
    if (!is_done) {
        run->folder.policies_errno = errno;
    }
    return is_done && drafted != FP32_FAILED;
}

// Writes policy.oct and policy.fp32.oct of another version. The weights are on disk, under another
// name, before the policy is: if a process is killed between two of the writes, the folder has the
// weights of the policy that is there (learner_files_settle). False: policy.oct is unchanged.
static bool
pair_save(learner_run *run, const quantizer_publication *publication, double eval_return,
          struct saved_file *out)
{
    enum fp32 drafted = fp32_save(run, publication, LEARNER_FP32_NEXT_FILE);
    if (!policy_save(run, publication, eval_return, "policy.oct", out)) {
        return false;
    }
    run->folder.fp32_is_missing = !fp32_replace(run, drafted);
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
best_save(learner_run *run, const quantizer_publication *best)
{
    learner_folder *folder = &run->folder;
    learner_evals_saved now;
    learner_evals_save(run->evals, &now);
    bool is_other = now.best.version != folder->saved.version;
    if (!same_result(&now.best, &folder->saved)) {
        struct saved_file file;
        bool is_saved = is_other ? pair_save(run, best, now.best.mean, &file)
                                 : policy_save(run, best, now.best.mean, "policy.oct", &file);
        if (!is_saved) {
            return;
        }
        folder->saved = now.best;
        folder->saved_confirmed = now.confirmed;
        folder->saved_crc = file.crc;
        folder->saved_precision = file.precision;
    }
    if (folder->fp32_is_missing) {
        folder->fp32_is_missing = fp32_save(run, best, LEARNER_FP32_FILE) == FP32_FAILED;
    }
}

// Writes policy_last.oct. Until a version has been evaluated, policy.oct is the same policy.
static void
last_save(learner_run *run, const quantizer_publication *policy, bool is_best)
{
    struct saved_file file;
    bool is_saved = policy_save(run, policy, NAN, "policy_last.oct", &file);
    if (is_best) {
        bool is_pair = pair_save(run, policy, NAN, &file);
        run->folder.saved_crc = is_pair ? file.crc : run->folder.saved_crc;
        is_saved &= is_pair && !run->folder.fp32_is_missing;
    }
    run->folder.last_version = is_saved ? policy->version : run->folder.last_version;
}

void
learner_files_policies(learner_run *run)
{
    run->folder.policies_errno = 0;
    learner_eval_result result;
    const quantizer_publication *best = learner_evals_best(run->evals, &result);
    if (best != NULL) {
        best_save(run, best);
    }
    const quantizer_publication *policy = learner_publisher_policy(run->publisher);
    if (policy != NULL && policy->version != run->folder.last_version) {
        last_save(run, policy, best == NULL);
    }
    learner_files_told(run, LEARNER_FILE_POLICIES, run->folder.policies_errno);
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
void
learner_files_settle(learner_run *run, uint64_t version)
{
    char path[LEARNER_PATH_MAX], next[LEARNER_PATH_MAX];
    learner_files_path(run, LEARNER_FP32_FILE, path);
    learner_files_path(run, LEARNER_FP32_NEXT_FILE, next);
    if (version_of_file(next) == version && oct_file_adopt(next, path) == OCT_OK) {
        return;
    }
    (void)oct_file_remove(next);
    uint64_t found = version_of_file(path);
    if (found != version && found != 0 && oct_file_remove(path) == 0) {
        oct_log_notice("LEARNER-FP32-OTHER",
                       "%s was not of the same version as policy.oct and was removed", path);
    }
    run->folder.fp32_is_missing = found != version;
}
