// Makes, locks and clears run folders, and finds the executables of the daemons.

#include "cli/run/cli_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_text.h"
#include "cli/sweep/cli_sweep_file.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config_text.h"
#include "learner/learner_checkpoints.h"
#include "learner/learner_lock.h"
#include "replay/replay_file.h"

#define FREE_BYTES_MIN  (16ull << 20) // below this, no run starts
#define SAME_SECOND_MAX 1000          // runs that may begin in one second with the same name

// What a run that has begun leaves in its folder; patterns of the shell.
static const char *const results[] = {
    "checkpoint*.oct", "policy*.oct",           "policy_versions", "metrics.csv",     "curve.svg",
    "token.key",       "events.out.tfevents.*", "learner.lock",    "environment.oct",
};

// ---- run folder

// Returns true if what is in the way can be continued: a run that has begun, or a sweep.
static bool
can_resume(const char *path)
{
    return (cli_folder_has(path, "config.yaml") && cli_folder_has_begun(path)) ||
           cli_folder_has(path, CLI_SWEEP_FILE);
}

// Writes why a folder cannot be used, by errno, with a hint. Returns OCT_EIO.
static oct_err
refuse(oct_reason *why, const char *what, const char *path)
{
    int code = errno;
    const char *hint = code == EEXIST && can_resume(path)
                           ? "; --resume continues it, or name another folder"
                       : code == EEXIST                  ? "; name another folder"
                       : code == EROFS                   ? "; choose another folder"
                       : code == EACCES || code == EPERM ? "; choose a folder that you may write to"
                                                         : "";
    return oct_fail(why, OCT_EIO, "%s '%s': %s%s", what, path, oct_file_strerror(code), hint);
}

static oct_err
refuse_file(oct_reason *why, const char *path)
{
    return oct_refuse(why, "'%s' cannot be used: %s", path, oct_file_strerror(errno));
}

// Says how to stop or view what is live: its folder can be neither taken nor continued.
static oct_err
refuse_live(oct_reason *why, const char *path)
{
    if (cli_folder_has(path, CLI_SWEEP_FILE)) {
        oct_reason_set(why,
                       "an octet sweep is running in '%s'; Ctrl-C stops it, or name another folder",
                       path);
    } else {
        oct_reason_set(why,
                       "the run in '%s' is live: octet status %s shows it, octet stop %s stops it; "
                       "or name another folder",
                       path, cli_text_word(path).text, cli_text_word(path).text);
    }
    return OCT_EAGAIN;
}

// Makes a folder and the folders above it. OCT_EAGAIN: the name is taken.
static oct_err
make_new(const char *path, uint32_t *made, oct_reason *why)
{
    uint32_t above = 0;
    char parent[CLI_PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    if (oct_file_cut_last(parent) && oct_file_make_folders(parent, &above) != OCT_OK) {
        return refuse(why, "cannot make folder", parent);
    }
    if (oct_file_make_one_folder(path) != 0) {
        oct_err err = errno == EEXIST ? OCT_EAGAIN : OCT_EIO;
        (void)refuse(why, "cannot make folder", path);
        oct_file_remove_folders(parent, above);
        return err;
    }
    *made = above + 1;
    return OCT_OK;
}

// Makes runs/NAME-YYYYmmdd-HHMMSS, with -2, -3 … if another run took that name in the same second.
static oct_err
make_dated(char path[CLI_PATH_MAX], const char *name, uint32_t *made, oct_reason *why)
{
    char clean[128];
    size_t length = strnlen(name, sizeof(clean) - 1);
    for (size_t i = 0; i < length; i++) {
        bool plain = isalnum((unsigned char)name[i]) || strchr("._-", name[i]) != NULL;
        clean[i] = plain ? name[i] : '-';
    }
    clean[length] = '\0';
    time_t now = time(NULL);
    struct tm local;
    char date[32];
    (void)localtime_r(&now, &local);
    (void)strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local);
    for (unsigned k = 1; k <= SAME_SECOND_MAX; k++) {
        char again[16] = "";
        if (k > 1) {
            (void)snprintf(again, sizeof(again), "-%u", k);
        }
        (void)snprintf(path, CLI_PATH_MAX, "runs/%s-%s%s", clean, date, again);
        oct_err err = make_new(path, made, why);
        if (err != OCT_EAGAIN) {
            return err;
        }
    }
    return OCT_EIO;
}

// Writes this process's number into the lock file, for a parent process that waits until this
// process holds the folder.
static bool
holder_write(int fd)
{
    char pid[24];
    int length = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    return ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)length, 0) == length;
}

// Locks the folder, or says who has it.
static oct_err
lock(cli_folder *folder, oct_reason *why)
{
    char path[CLI_PATH_MAX + 8];
    (void)snprintf(path, sizeof(path), "%s/.lock", folder->path);
    if (oct_file_check_target(path) != 0) {
        return refuse_file(why, path);
    }
    folder->lock_fd = oct_file_lock_open(path);
    if (folder->lock_fd < 0) {
        return refuse(why, "cannot write in run folder", folder->path);
    }
    oct_lock got = oct_file_lock(folder->lock_fd, false);
    // a file system without locks: continue without
    bool is_ours = got == OCT_LOCK_HELD || got == OCT_LOCK_NONE;
    if (is_ours && holder_write(folder->lock_fd)) {
        return OCT_OK;
    }
    oct_err err =
        got == OCT_LOCK_TAKEN
            ? refuse_live(why, folder->path)
            : refuse(why, is_ours ? "cannot write in run folder" : "cannot lock run folder",
                     folder->path);
    (void)close(folder->lock_fd);
    return err;
}

// Tests the lock without taking it.
static oct_locked
lock_test(const char *path)
{
    char name[CLI_PATH_MAX + 8];
    (void)snprintf(name, sizeof(name), "%s/.lock", path);
    return oct_file_locked(name);
}

bool
cli_folder_is_locked(const char *path)
{
    return lock_test(path) == OCT_LOCKED_YES;
}

oct_err
cli_folder_check_free(const char *path, oct_reason *why)
{
    return cli_folder_state_of(path) == CLI_FOLDER_LIVE ? refuse_live(why, path) : OCT_OK;
}

// A summary that is older than config.yaml belongs to the run before the last resume.
bool
cli_folder_has_summary(const char *path)
{
    char name[CLI_PATH_MAX + 16];
    struct stat begun, ended;
    (void)snprintf(name, sizeof(name), "%s/config.yaml", path);
    bool has_begun = oct_file_stat(name, &begun) == 0;
    (void)snprintf(name, sizeof(name), "%s/summary.json", path);
    return has_begun && oct_file_stat(name, &ended) == 0 && ended.st_mtime >= begun.st_mtime;
}

// A run is live if the supervisor or the learner holds its lock. If this user cannot see the locks,
// a current summary still proves that the run has ended.
cli_folder_state
cli_folder_state_of(const char *path)
{
    oct_locked supervisor = lock_test(path), learner = learner_lock_is_taken(path);
    if (supervisor == OCT_LOCKED_YES || learner == OCT_LOCKED_YES) {
        return CLI_FOLDER_LIVE;
    }
    bool is_hidden = supervisor == OCT_LOCKED_UNKNOWN || learner == OCT_LOCKED_UNKNOWN;
    return is_hidden && !cli_folder_has_summary(path) ? CLI_FOLDER_UNKNOWN : CLI_FOLDER_ENDED;
}

uint64_t
cli_folder_space(const char *path)
{
    struct statvfs file_system;
    return statvfs(path, &file_system) == 0 ? (uint64_t)file_system.f_bavail * file_system.f_frsize
                                            : UINT64_MAX;
}

static oct_err
check_space(const char *path, oct_reason *why)
{
    unsigned long long bytes = cli_folder_space(path);
    if (bytes < FREE_BYTES_MIN) {
        return oct_fail(why, OCT_EIO,
                        "no space for a run in '%s': %llu KiB are free, %llu KiB are needed", path,
                        bytes >> 10, FREE_BYTES_MIN >> 10);
    }
    return OCT_OK;
}

// Goes to the folder and back, because a relative name is the only way around the length limit. No
// other thread runs yet.
int
cli_folder_try_socket(const char *path)
{
    int here = oct_file_open_folder(".", false), code = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // relative, because the path of the folder may be too long for a socket
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "octet-try-%ld.ipc", (long)getpid());
    if (here < 0 || fd < 0 || chdir(path) != 0) {
        code = errno;
    } else {
        code = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
        (void)oct_file_remove(address.sun_path);
        code = fchdir(here) == 0 ? code : errno;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (here >= 0) {
        (void)close(here);
    }
    return code;
}

static oct_err
make_log_folder(const char *path, oct_reason *why)
{
    char log[CLI_PATH_MAX + 8];
    (void)snprintf(log, sizeof(log), "%s/log", path);
    if (oct_file_make_folder(log) != OCT_OK) {
        return refuse(why, "cannot make folder", log);
    }
    return OCT_OK;
}

bool
cli_folder_has(const char *folder, const char *name)
{
    char path[CLI_PATH_MAX + 32];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return oct_file_is_there(path);
}

bool
cli_folder_has_begun(const char *path)
{
    return learner_checkpoints_any(path) || cli_folder_has(path, "policy.oct");
}

// Returns true if the folder can be read and is_ours accepts every name in it.
static bool
has_only(const char *path, bool (*is_ours)(const char *path, const char *name))
{
    DIR *folder = oct_file_open_entries(path);
    bool has_only = folder != NULL;
    for (const struct dirent *entry; has_only && (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        has_only = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_ours(path, name);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return has_only;
}

static bool
is_of_operator(const char *path, const char *name)
{
    (void)path;
    return strcmp(name, "operator") == 0;
}

// Returns true for what an octet train or octet cluster ssh leaves that was killed before the run
// began.
static bool
is_of_start(const char *path, const char *name)
{
    static const char *const names[] = {".lock", "log", ".collect", ".plan", ".owner"};
    char certs[CLI_PATH_MAX + 8];
    bool is_ours = strncmp(name, "config.yaml.tmp.", 16) == 0 ||
                   oct_text_is_one_of(name, names, OCT_COUNTOF(names));
    (void)snprintf(certs, sizeof(certs), "%s/certs", path);
    return is_ours || (strcmp(name, "certs") == 0 && has_only(certs, is_of_operator));
}

// Returns true if a new run may take the folder: the run in it never began, or it is empty.
static bool
may_take(const char *path)
{
    bool is_run = cli_folder_has(path, "config.yaml") && cli_folder_has(path, ".lock") &&
                  cli_folder_has(path, "log");
    return has_only(path, is_of_start) || (is_run && !cli_folder_has_begun(path));
}

oct_err
cli_folder_check_new(const char *wanted, oct_reason *why)
{
    struct stat file;
    OCT_TRY(cli_folder_check_free(wanted, why));
    if (may_take(wanted) || lstat(wanted, &file) != 0) {
        return OCT_OK;
    }
    errno = EEXIST;
    return refuse(why, "cannot make folder", wanted);
}

// Removes the tables of a run that never began, as its config.yaml names them: replay would refuse
// the table of another run. A table outside the folder stays, because it may belong to another run.
static void
tables_clear(const char *folder)
{
    static config_experiment config;
    char path[CLI_PATH_MAX + 32], name[CONFIG_TEXT_MAX + 32], message[256];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    config_default(&config);
    if (config_load(&config, path, message, sizeof(message)) != OCT_OK) {
        config_default(&config);
    }
    bool is_here =
        strchr(config.replay.path, '/') == NULL && strcmp(config.replay.path, "none") != 0;
    for (uint32_t i = 0; is_here && i < config_shards(&config); i++) {
        config_shard_name(config.replay.path, i, name, sizeof(name));
        int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (length < (int)sizeof(path) && replay_file_is_one(path)) {
            (void)oct_file_remove(path);
        }
    }
}

// Makes the folder, or takes one over.
static oct_err
make_or_take(const char *path, uint32_t *made, oct_reason *why)
{
    char summary[CLI_PATH_MAX + 16];
    OCT_TRY(cli_folder_check_free(path, why));
    if (!may_take(path)) {
        return make_new(path, made, why);
    }
    (void)snprintf(summary, sizeof(summary), "%s/summary.json", path);
    (void)oct_file_remove(summary); // of the run that failed there
    tables_clear(path);
    return OCT_OK;
}

// Removes drafts that a killed octet train left; the learner removes its own.
static void
drafts_clear(const cli_folder *folder)
{
    static const char *const names[] = {"config.yaml", "summary.json", "environment.oct"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char path[CLI_PATH_MAX + 32];
        (void)snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
        oct_file_clear(path);
    }
}

typedef struct file_check {
    oct_reason *why;
    oct_err err;
} file_check;

static void
check_one(void *arg, const char *path)
{
    file_check *check = arg;
    // a folder fails when it is opened as a file
    bool is_good = oct_file_check_target(path) == 0 || errno == EISDIR;
    if (check->err == OCT_OK && !is_good) {
        check->err = refuse_file(check->why, path);
    }
}

// Checks every file that a run reads or writes in its folder, so that a link, a pipe or a file of
// another user is found before anything starts.
static oct_err
check_files(const char *folder, oct_reason *why)
{
    static const char *const names[] = {"config.yaml", "summary.json", "learner.key",
                                        "metrics*.csv", "replay*.oct"};
    file_check check = {.why = why, .err = OCT_OK};
    char log[CLI_PATH_MAX + 8];
    for (size_t i = 0; i < OCT_COUNTOF(results); i++) {
        oct_file_match(folder, results[i], check_one, &check);
    }
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        oct_file_match(folder, names[i], check_one, &check);
    }
    (void)snprintf(log, sizeof(log), "%s/log", folder);
    oct_file_match(log, "*.log", check_one, &check);
    return check.err;
}

// Locks the folder and makes what every run has in it. On a failure nothing stays.
static oct_err
enter(cli_folder *folder, oct_reason *why)
{
    OCT_TRY(check_space(folder->path, why));
    OCT_TRY(lock(folder, why));
    drafts_clear(folder);
    oct_err err = make_log_folder(folder->path, why);
    if (err == OCT_OK) {
        err = check_files(folder->path, why);
    }
    if (err != OCT_OK) {
        cli_folder_take_back(folder);
        cli_folder_close(folder);
    }
    return err;
}

// Without wanted the folder is a new one under runs/. The path is confined before anything in the
// folder is opened.
oct_err
cli_folder_open(cli_folder *out, const char *wanted, const char *name, bool resume, oct_reason *why)
{
    char path[CLI_PATH_MAX];
    struct stat status;
    cli_folder folder = {.lock_fd = -1};
    if (wanted != NULL) {
        (void)snprintf(path, sizeof(path), "%s", wanted);
        if (!resume) {
            OCT_TRY(make_or_take(path, &folder.made, why));
        }
    } else {
        OCT_TRY(make_dated(path, name, &folder.made, why));
    }
    oct_file_confine(path);
    if (realpath(path, folder.path) == NULL || oct_file_stat(folder.path, &status) != 0) {
        return refuse(why, "no run folder", path);
    }
    folder.owner = status.st_uid;
    oct_err err = enter(&folder, why);
    if (err == OCT_OK) {
        *out = folder;
    } else { // files that others have put there meanwhile stay
        oct_file_remove_folders(folder.path, folder.made);
    }
    return err;
}

void
cli_folder_close(cli_folder *folder)
{
    if (folder->lock_fd >= 0) {
        (void)close(folder->lock_fd);
    }
    folder->lock_fd = -1;
}

void
cli_folder_warn(const cli_folder *folder, const char *command)
{
    if (!oct_owner_is_trusted(folder->owner)) {
        fprintf(stderr,
                "octet %s: warning: the folder '%s' belongs to user %u, who can replace its "
                "contents: config.yaml, checkpoints, keys\n",
                command, cli_text_plain(folder->path, SIZE_MAX).text, (unsigned)folder->owner);
    }
}

static void
remove_result(void *arg, const char *path)
{
    (void)arg;
    oct_file_remove_tree(path, false);
}

// Removes only what a run makes: the folder may have existed before, with other files.
static void
remove_results(const char *folder)
{
    for (size_t i = 0; i < OCT_COUNTOF(results); i++) {
        oct_file_match(folder, results[i], remove_result, NULL);
    }
}

// A folder that existed before stays as it is; only a folder that this process made is removed.
void
cli_folder_take_back(const cli_folder *folder)
{
    if (folder->made > 0) {
        oct_file_remove_tree(folder->path, true);
        oct_file_remove_folders(folder->path, folder->made);
    }
}

// Removes what a run that failed at its start has left, so that its folder can be used again. Logs
// stay unless with_logs, because they say why it failed.
void
cli_folder_clear(const cli_folder *folder, bool with_logs)
{
    if (with_logs && folder->made > 0) {
        cli_folder_take_back(folder);
    } else {
        remove_results(folder->path);
    }
}

// ---- paths

void
cli_folder_file(char out[CLI_PATH_MAX], const char *given, const char *name)
{
    struct stat file;
    size_t length = strlen(given);
    bool is_folder = oct_file_stat(given, &file) == 0 && S_ISDIR(file.st_mode);
    bool has_slash = length > 0 && given[length - 1] == '/';
    if (is_folder) {
        oct_file_confine(given);
    }
    (void)snprintf(out, CLI_PATH_MAX, "%s%s%s", given, is_folder && !has_slash ? "/" : "",
                   is_folder ? name : "");
}

int
cli_folder_beside(char *out, size_t size, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return snprintf(out, size, "%.*s%s", slash != NULL ? (int)(slash - path) + 1 : 0, path, name);
}

void
cli_folder_confine_beside(const char *path)
{
    char folder[CLI_PATH_MAX];
    (void)cli_folder_beside(folder, sizeof(folder), path, ".");
    oct_file_confine(folder);
}

// ---- executables

// Writes the real path of FOLDER/BELOW+NAME. Returns true if it is an executable file.
static bool
is_executable(char out[CLI_PATH_MAX], const char *folder, const char *below, const char *name)
{
    char path[CLI_PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s%s", folder, below, name);
    struct stat file;
    return length > 0 && (size_t)length < sizeof(path) && oct_file_stat(path, &file) == 0 &&
           S_ISREG(file.st_mode) && access(path, X_OK) == 0 && realpath(path, out) != NULL;
}

static bool
is_in_path(char out[CLI_PATH_MAX], const char *name)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ":");
        char folder[CLI_PATH_MAX];
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)length, at);
        if (length > 0 && is_executable(out, folder, "", name)) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

// OCTET_LIBEXEC excludes all other folders, so that a test cannot run the wrong build by accident.
// Otherwise a daemon beside the program is preferred to one on the PATH.
oct_err
cli_folder_find_daemon(char out[CLI_PATH_MAX], const char *name, oct_reason *why)
{
    const char *forced = getenv("OCTET_LIBEXEC");
    if (forced != NULL && forced[0] != '\0') {
        if (is_executable(out, forced, "", name)) {
            return OCT_OK;
        }
        return oct_fail(why, OCT_ENOTFOUND, "no executable '%s' in OCTET_LIBEXEC, '%s'", name,
                        forced);
    }
    char self[CLI_PATH_MAX];
    bool is_known = oct_program_folder(self, sizeof(self));
    char built[64]; // in the build tree "octet-actor" is in actor/
    (void)snprintf(built, sizeof(built), "../%s/", name + strlen("octet-"));
    const char *const near[] = {built, "", "../libexec/octet/"};
    for (size_t i = 0; is_known && i < OCT_COUNTOF(near); i++) {
        if (is_executable(out, self, near[i], name) && oct_program_trusts(out, NULL)) {
            return OCT_OK;
        }
    }
    if (is_in_path(out, name)) {
        return OCT_OK;
    }
    if (!is_known) {
        return oct_fail(why, OCT_ENOTFOUND,
                        "cannot find the daemon '%s': " OCT_PROGRAM_UNKNOWN
                        "; it is not in $PATH either",
                        name);
    }
    return oct_fail(why, OCT_ENOTFOUND,
                    "cannot find the daemon '%s': looked in %s/%s, %s, %s/../libexec/octet and "
                    "$PATH; build or install it, or set OCTET_LIBEXEC to its folder",
                    name, self, built, self, self);
}
