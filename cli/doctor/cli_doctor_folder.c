// Checks a folder for octet doctor: its disk, and the run in it.

#include "cli/doctor/cli_doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_text.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "learner/learner_checkpoints.h"

#define SPACE_LEAST (1ull << 30) // bytes below which there is a warning
#define SYNC_SLOW_S 0.1 // time to write, sync and rename a file, above which there is a warning

// ---- the disk

// Writes a small file as the learner writes a checkpoint: under another name, then synced and
// renamed. Locks it as octet train locks a run folder. Returns 0 or an errno; what names the step
// that failed.
static int
write_try(const char *folder, double *sync_s, bool *has_locks, const char **what)
{
    char draft[CLI_PATH_MAX + 64], path[CLI_PATH_MAX + 64];
    int code = 0;
    (void)snprintf(draft, sizeof(draft), "%s/.octet-doctor-%ld.new", folder, (long)getpid());
    (void)snprintf(path, sizeof(path), "%s/.octet-doctor-%ld", folder, (long)getpid());
    *what = "write a file";
    int fd = oct_file_open(draft, O_WRONLY | O_CREAT | O_EXCL, 0600, NULL);
    if (fd < 0) {
        return errno;
    }
    uint64_t begin_ns = oct_clock_ns();
    if (write(fd, "octet\n", 6) != 6) {
        code = errno;
    } else if (*what = "sync a file", fsync(fd) != 0) {
        code = errno;
    } else if (*what = "rename a file", oct_file_rename(draft, path) != 0) {
        code = errno;
    }
    *sync_s = 1e-9 * (double)(oct_clock_ns() - begin_ns);
    *has_locks = flock(fd, LOCK_EX | LOCK_NB) == 0;
    (void)close(fd);
    (void)oct_file_remove(draft);
    (void)oct_file_remove(path);
    return code;
}

// Replay waits for syncs, and the learner for checkpoints, so a slow sync slows a run down.
static void
write_check(cli_doctor *doctor)
{
    double sync_s;
    bool has_locks;
    const char *what;
    int code = write_try(doctor->folder, &sync_s, &has_locks, &what);
    if (code != 0) {
        cli_doctor_add(doctor, "disk", CLI_DOCTOR_FAIL, "choose another folder (--run-dir)",
                       "cannot %s in %s: %s", what, doctor->folder, oct_file_strerror(code));
        return;
    }
    bool is_slow = sync_s > SYNC_SLOW_S;
    cli_doctor_add(doctor, "disk", is_slow ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_slow ? "replay.sync=none, or a folder on a local disk, is faster" : "",
                   "a file is written, synced and renamed in %.1f ms", sync_s * 1000);
    if (!has_locks) {
        cli_doctor_add(doctor, "disk", CLI_DOCTOR_WARN,
                       "make sure that only one learner uses a run folder",
                       "the file system has no locks (flock)");
    }
}

static void
space_check(cli_doctor *doctor)
{
    uint64_t space = cli_folder_space(doctor->folder);
    if (space == UINT64_MAX) {
        cli_doctor_add(doctor, "space", CLI_DOCTOR_WARN, "", "the space of %s is unknown: %s",
                       doctor->folder, oct_file_strerror(errno));
        return;
    }
    bool is_small = space < SPACE_LEAST;
    cli_doctor_add(doctor, "space", is_small ? CLI_DOCTOR_WARN : CLI_DOCTOR_OK,
                   is_small ? "octet plan FILE says what a run needs" : "", "%s are free in %s",
                   cli_text_bytes((double)space).text, doctor->folder);
}

// ---- a run

// Says if a run uses the folder: a second one could not start there.
static void
state_check(cli_doctor *doctor)
{
    switch (cli_folder_state_of(doctor->folder)) {
    case CLI_FOLDER_LIVE:
        cli_doctor_add(doctor, "run", CLI_DOCTOR_OK, "", "a live run uses %s", doctor->folder);
        break;
    case CLI_FOLDER_UNKNOWN:
        cli_doctor_add(doctor, "run", CLI_DOCTOR_WARN, "ask its owner", CLI_FOLDER_UNKNOWN_TEXT);
        break;
    default:
        cli_doctor_add(doctor, "run", CLI_DOCTOR_OK, "", "no process uses the run folder%s",
                       cli_folder_has_summary(doctor->folder) ? ": the run has ended" : "");
        break;
    }
}

// A number above 0 means that the newest checkpoint is damaged, and an older one was read.
static void
checkpoint_check(cli_doctor *doctor)
{
    char words[CLI_PATH_MAX + 256];
    uint32_t number;
    learner_checkpoint last = {0};
    if (!learner_checkpoints_any(doctor->folder)) {
        cli_doctor_add(doctor, "checkpoint", CLI_DOCTOR_NOTE, "",
                       "the run has none yet: it cannot be resumed");
        return;
    }
    if (learner_checkpoints_read(doctor->folder, &last, &number, words, sizeof(words)) != OCT_OK) {
        cli_doctor_add(doctor, "checkpoint", CLI_DOCTOR_FAIL, "restore it from a backup", "%s",
                       words);
        return;
    }
    cli_doctor_add(doctor, "checkpoint", number == 0 ? CLI_DOCTOR_OK : CLI_DOCTOR_WARN, "",
                   "the run can be resumed from update %" PRIu64 "%s%s", last.updates,
                   number == 0 ? "" : ": ", number == 0 ? "" : words);
    learner_checkpoint_fini(&last);
}

// The owner of a folder can replace what lies in it, whatever the modes of its files are.
static void
owner_check(cli_doctor *doctor)
{
    struct stat folder;
    if (oct_file_stat(doctor->folder, &folder) == 0 && !oct_owner_is_trusted(folder.st_uid)) {
        cli_doctor_add(doctor, "owner", CLI_DOCTOR_WARN,
                       "run only experiments that you trust there",
                       "%s belongs to user %u, who can replace its contents", doctor->folder,
                       (unsigned)folder.st_uid);
    }
}

void
cli_doctor_folder(cli_doctor *doctor)
{
    space_check(doctor);
    if (doctor->is_writable) {
        write_check(doctor);
    } else {
        cli_doctor_add(doctor, "disk", CLI_DOCTOR_WARN,
                       "choose another folder for runs (--run-dir)", "this user cannot write to %s",
                       doctor->folder);
    }
    owner_check(doctor);
    if (cli_folder_has(doctor->folder, "config.yaml")) {
        state_check(doctor);
        checkpoint_check(doctor);
    }
}
