// Keeps the last checkpoints of a run folder, and finds the newest that is intact.
#include "learner/learner_checkpoints.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

void
learner_checkpoints_path(const char *folder, uint32_t number, char out[OCT_FILE_PATH_MAX])
{
    if (number == 0) {
        (void)snprintf(out, OCT_FILE_PATH_MAX, "%s/checkpoint.oct", folder);
    } else {
        (void)snprintf(out, OCT_FILE_PATH_MAX, "%s/checkpoint.%u.oct", folder, number);
    }
}

bool
learner_checkpoints_any(const char *folder)
{
    char path[OCT_FILE_PATH_MAX];
    for (uint32_t i = 0; i < LEARNER_CHECKPOINTS_MAX; i++) {
        learner_checkpoints_path(folder, i, path);
        if (oct_file_is_there(path)) {
            return true;
        }
    }
    return false;
}

// ---- writing

// Increases the number of each checkpoint and drops the oldest. The newest also keeps its name
// until the next one takes it, so that checkpoint.oct exists at every instant.
static void
shift(const char *folder, uint32_t kept)
{
    char path[OCT_FILE_PATH_MAX], next[OCT_FILE_PATH_MAX];
    struct stat newest;
    learner_checkpoints_path(folder, 0, path);
    learner_checkpoints_path(folder, 1, next);
    if (kept == 1 || lstat(path, &newest) != 0 || !S_ISREG(newest.st_mode) ||
        oct_file_is_same(path, next)) { // a failed write has done this before
        return;
    }
    for (uint32_t i = kept - 1; i > 1; i--) {
        learner_checkpoints_path(folder, i - 1, path);
        learner_checkpoints_path(folder, i, next);
        (void)oct_file_rename(path, next); // there may be fewer checkpoints
    }
    learner_checkpoints_path(folder, 0, path);
    learner_checkpoints_path(folder, 1, next);
    (void)oct_file_remove(next); // exists if two are kept
    if (oct_file_link(path, next) != 0) {
        (void)oct_file_rename(path, next); // the file system has no links
    }
}

oct_err
learner_checkpoints_write(const char *folder, uint32_t kept, const learner_checkpoint *checkpoint)
{
    OCT_ASSERT(kept >= 1 && kept <= LEARNER_CHECKPOINTS_MAX);
    char path[OCT_FILE_PATH_MAX], draft[OCT_FILE_PATH_MAX];
    learner_checkpoints_path(folder, 0, path);
    OCT_TRY(learner_checkpoint_draft(path, checkpoint, draft));
    shift(folder, kept);
    OCT_TRY(oct_file_adopt(draft, path));
    for (uint32_t i = kept; i < LEARNER_CHECKPOINTS_MAX; i++) {
        learner_checkpoints_path(folder, i, path);
        (void)oct_file_remove(path);
    }
    return OCT_OK;
}

void
learner_checkpoints_clear(const char *folder)
{
    char path[OCT_FILE_PATH_MAX];
    learner_checkpoints_path(folder, 0, path);
    oct_file_clear(path);
}

// ---- reading

oct_err
learner_checkpoints_read(const char *folder, learner_checkpoint *out, uint32_t *number, char *words,
                         size_t words_size)
{
    char path[OCT_FILE_PATH_MAX];
    oct_reason why;
    char damaged[2048] = "";
    oct_text list;
    oct_text_init(&list, damaged, sizeof(damaged));
    for (uint32_t i = 0; i < LEARNER_CHECKPOINTS_MAX; i++) {
        learner_checkpoints_path(folder, i, path);
        oct_err err = learner_checkpoint_read(path, out, &why);
        if (err == OCT_OK) {
            *number = i;
            (void)snprintf(words, words_size,
                           "%s, of %" PRIu64 " updates and %" PRIu64 " environment steps%s%s", path,
                           out->updates, out->env_steps,
                           list.used > 0 ? "; newer ones cannot be used: " : "", damaged);
            return OCT_OK;
        }
        if (err == OCT_EPROTO) {
            oct_text_add(&list, "%s%s", list.used > 0 ? "; " : "", why.text);
        } else if (err != OCT_ENOTFOUND) {
            (void)snprintf(words, words_size, "%s", why.text);
            return err;
        }
    }
    if (list.used > 0) {
        (void)snprintf(words, words_size, "%s; there is no other checkpoint", damaged);
        return OCT_EPROTO;
    }
    (void)snprintf(words, words_size, "%s has no checkpoint", folder);
    return OCT_ENOTFOUND;
}
