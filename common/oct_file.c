// Reads whole files, and replaces them atomically: the new content is written to a temporary file
// beside the old one, synced, and renamed over it. A crash therefore leaves the old or the new
// content, never a mixture; the temporary file that may stay is removed by oct_file_clear.
#include "common/oct_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_pulse.h"

#define READ_BYTES_FIRST 65536 // the first buffer of a read; it doubles until the file fits
// bytes between two reports of progress to the supervisor (oct_pulse.h)
#define WRITE_BYTES_MAX (4u << 20)
#define CHECK_BYTES     (1 << 20) // bytes compared at a time
#define OPEN_MODE       0666      // less the umask
#define SECRET_MODE     0600      // the owner alone
#define LINKS_MAX       40        // in a chain; the kernel follows as many

// Only a missing file is OCT_ENOTFOUND.
static oct_err
err_from_errno(void)
{
    return errno == ENOENT || errno == ENOTDIR ? OCT_ENOTFOUND : OCT_EIO;
}

// Closes fd and keeps the errno that is being reported.
static void
close_quietly(int fd)
{
    int saved = errno;
    (void)close(fd);
    errno = saved;
}

// Reads to the end of fd. The size from stat is only a first check: pipes have none, and files may
// grow.
static oct_err
read_all(int fd, size_t bytes_max, uint8_t **out, size_t *out_length)
{
    size_t capacity = OCT_MIN(bytes_max, (size_t)READ_BYTES_FIRST) + 1;
    size_t used = 0;
    uint8_t *bytes = malloc(capacity);
    while (bytes != NULL) {
        // The buffer has one byte more than allowed, so that a file that is too large shows. The
        // same byte holds the terminating zero.
        ssize_t got = read(fd, bytes + used, capacity - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            break;
        }
        if (got == 0) {
            bytes[used] = 0;
            *out = bytes;
            *out_length = used;
            return OCT_OK;
        }
        used += (size_t)got;
        oct_pulse_moved((size_t)got);
        if (used > bytes_max) {
            free(bytes);
            return OCT_EINVAL;
        }
        if (used == capacity) {
            capacity = OCT_MIN(capacity * 2, bytes_max + 1);
            uint8_t *grown = realloc(bytes, capacity);
            if (grown == NULL) {
                break;
            }
            bytes = grown;
        }
    }
    int saved = errno;
    free(bytes);
    errno = saved;
    return OCT_EIO;
}

oct_err
oct_file_read_owner(const char *path, size_t bytes_max, uint8_t **out, size_t *out_length,
                    uid_t *owner)
{
    OCT_ASSERT(bytes_max < SIZE_MAX / 2);
    struct stat found;
    int fd = oct_file_open_input(path, &found);
    if (fd < 0) {
        return err_from_errno();
    }
    *owner = found.st_uid;
    bool is_too_large =
        S_ISREG(found.st_mode) && !oct_file_check_size((uint64_t)found.st_size, bytes_max);
    oct_err err = is_too_large ? OCT_EINVAL : read_all(fd, bytes_max, out, out_length);
    close_quietly(fd);
    return err;
}

oct_err
oct_file_read(const char *path, size_t bytes_max, uint8_t **out, size_t *out_length)
{
    uid_t owner;
    return oct_file_read_owner(path, bytes_max, out, out_length, &owner);
}

// Writes in pieces. With sync it waits until each piece is on the disk, so that the supervisor sees
// a slow disk make progress, and not how fast memory takes the bytes. A file system that does not
// support sync_file_range waits in the caller's fsync instead.
static oct_err
write_all(int fd, const uint8_t *bytes, size_t length, bool sync)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, OCT_MIN(length, (size_t)WRITE_BYTES_MAX));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return OCT_EIO;
        }
        bytes += put;
        length -= (size_t)put;
        if (sync && length > 0) {
            (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
        }
        oct_pulse_moved((size_t)put);
    }
    return OCT_OK;
}

oct_err
oct_file_write_all(int fd, const void *bytes, size_t length)
{
    return write_all(fd, bytes, length, false);
}

oct_err
oct_file_copy(int from, int to, uint64_t bytes_max)
{
    uint8_t piece[READ_BYTES_FIRST];
    ssize_t got = 1;
    for (uint64_t copied = 0; copied < bytes_max && got > 0; copied += (uint64_t)got) {
        got = read(from, piece, OCT_MIN(sizeof(piece), bytes_max - copied));
        if (got < 0 || oct_file_write_all(to, piece, (size_t)got) != OCT_OK) {
            return OCT_EIO;
        }
    }
    return OCT_OK;
}

// Splits a path, shorter than OCT_FILE_PATH_MAX, into its folder and its name. Returns the name.
static const char *
path_split(const char *path, char folder[OCT_FILE_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        memcpy(folder, ".", 2);
        return path;
    }
    (void)snprintf(folder, OCT_FILE_PATH_MAX, "%.*s", (int)(slash + 1 - path), path);
    return slash + 1;
}

// EINVAL: the file system cannot sync a folder, which is no error here.
oct_err
oct_file_sync_folder(const char *path)
{
    char folder[OCT_FILE_PATH_MAX];
    (void)path_split(path, folder);
    int fd = oct_file_open_folder(folder, false);
    if (fd < 0) {
        return OCT_EIO;
    }
    oct_err err = fsync(fd) == 0 || errno == EINVAL ? OCT_OK : OCT_EIO;
    close_quietly(fd);
    return err;
}

// Writes the parts one after the other and closes fd, which may be a failed open. A network file
// system may report a full disk or quota only in close, so a failing close fails the write.
static oct_err
parts_write(int fd, const oct_file_part *parts, size_t count, bool sync)
{
    if (fd < 0) {
        return err_from_errno();
    }
    oct_pulse_write_begin();
    oct_err err = OCT_OK;
    for (size_t i = 0; err == OCT_OK && i < count; i++) {
        err = write_all(fd, parts[i].bytes, parts[i].length, sync);
    }
    if (err == OCT_OK && sync && fsync(fd) != 0) {
        err = OCT_EIO;
    }
    if (err != OCT_OK) {
        close_quietly(fd);
    } else if (close(fd) != 0 && errno != EINTR) { // after EINTR Linux has closed it
        err = OCT_EIO;
    }
    oct_pulse_write_end();
    return err;
}

// Follows links by hand and writes the path of the file that path leads to, or would be created at,
// so that the link survives when the file is replaced. Beneath a run folder out is path itself,
// which must not be a link. OCT_EIO: there are too many links, a name is too long, or the kernel
// does not follow them for this user (fs.protected_symlinks).
static oct_err
links_follow(const char *path, char out[OCT_FILE_PATH_MAX])
{
    struct stat found;
    if (oct_file_is_confined(path)) {
        int length = snprintf(out, OCT_FILE_PATH_MAX, "%s", path);
        return length < OCT_FILE_PATH_MAX && oct_file_check_target(path) == 0 ? OCT_OK : OCT_EIO;
    }
    // The kernel judges the chain first, with the checks that are not repeated below.
    if (stat(path, &found) != 0 && errno != ENOENT && errno != ENOTDIR) {
        return OCT_EIO;
    }
    char target[OCT_FILE_PATH_MAX];
    size_t at = 0, length = strlen(path);
    const char *part = path;
    for (int links = 0; links <= LINKS_MAX; links++) {
        if (at + length >= OCT_FILE_PATH_MAX) {
            errno = ENAMETOOLONG;
            return OCT_EIO;
        }
        memcpy(out + at, part, length);
        out[at + length] = '\0';
        ssize_t got = readlink(out, target, sizeof(target));
        if (got < 0) {
            return errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? OCT_OK : OCT_EIO;
        }
        const char *slash = strrchr(out, '/');
        at = target[0] == '/' || slash == NULL ? 0 : (size_t)(slash + 1 - out);
        length = (size_t)got;
        part = target;
    }
    errno = ELOOP;
    return OCT_EIO;
}

// Returns true if path must be written into instead of replaced, because a renamed file would not
// reach the processes that have it open: a device, a pipe, this process's own output, or a file
// without a name (/proc/self/fd/3 of a deleted file).
static bool
is_stream(const char *path)
{
    struct stat found;
    char file[OCT_FILE_PATH_MAX];
    if (oct_file_is_confined(path) || stat(path, &found) != 0 || S_ISDIR(found.st_mode)) {
        return false;
    }
    return !S_ISREG(found.st_mode) || oct_file_is_open(path, STDOUT_FILENO) ||
           oct_file_is_open(path, STDERR_FILENO) ||
           (links_follow(path, file) == OCT_OK && strcmp(path, file) != 0 &&
            !oct_file_is_same(path, file));
}

static void
unlink_quietly(const char *path)
{
    int saved = errno;
    (void)oct_file_remove(path);
    errno = saved;
}

// Refuses to make a draft for what can only be written into.
static oct_err
stream_refuse(const char *path)
{
    if (!is_stream(path)) {
        return OCT_OK;
    }
    errno = ENOTSUP;
    return OCT_EIO;
}

oct_err
oct_file_draft_name(const char *path, char draft[OCT_FILE_PATH_MAX])
{
    char file[OCT_FILE_PATH_MAX];
    OCT_TRY(stream_refuse(path));
    OCT_TRY(links_follow(path, file));
    int needed = snprintf(draft, OCT_FILE_PATH_MAX, "%s.tmp.%ld", file, (long)getpid());
    if (needed < 0 || needed >= OCT_FILE_PATH_MAX) {
        errno = ENAMETOOLONG;
        return OCT_EIO;
    }
    return OCT_OK;
}

int
oct_file_draft_open(const char *path, mode_t mode, char draft[OCT_FILE_PATH_MAX])
{
    if (oct_file_draft_name(path, draft) != OCT_OK ||
        (oct_file_remove(draft) != 0 && errno != ENOENT)) {
        return -1;
    }
    return oct_file_open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode, NULL);
}

// Writes the parts to a new temporary file; on failure the file is removed.
static oct_err
draft_write(const char *path, const oct_file_part *parts, size_t count, bool sync, mode_t mode,
            char draft[OCT_FILE_PATH_MAX])
{
    int fd = oct_file_draft_open(path, mode, draft);
    oct_err err = parts_write(fd, parts, count, sync);
    if (err != OCT_OK && fd >= 0) {
        unlink_quietly(draft);
    }
    return err;
}

// Renames a draft over path; on failure the draft is removed.
static oct_err
draft_rename(const char *draft, const char *path, bool sync)
{
    char file[OCT_FILE_PATH_MAX];
    if (links_follow(path, file) != OCT_OK || oct_file_rename(draft, file) != 0) {
        unlink_quietly(draft);
        return OCT_EIO;
    }
    return sync ? oct_file_sync_folder(file) : OCT_OK;
}

// Writes into path. This process's own output is written through the descriptor that is open:
// opening it again would truncate a file, and a socket cannot be opened.
static oct_err
stream_write(const char *path, const oct_file_part *whole)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (oct_file_is_open(path, fd)) {
            return write_all(fd, whole->bytes, whole->length, false);
        }
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, OPEN_MODE);
    return parts_write(fd, whole, 1, false);
}

static oct_err
replace_file(const char *path, const void *bytes, size_t length, bool sync, mode_t mode)
{
    const oct_file_part whole = {bytes, length};
    if (is_stream(path)) {
        return stream_write(path, &whole);
    }
    char draft[OCT_FILE_PATH_MAX];
    OCT_TRY(draft_write(path, &whole, 1, sync, mode, draft));
    return draft_rename(draft, path, sync);
}

// Returns true if the next bytes of fd equal these. False: errno is EBADMSG if they differ.
static bool
is_next(int fd, const uint8_t *bytes, size_t length, uint8_t *room)
{
    while (length > 0) {
        ssize_t got = read(fd, room, OCT_MIN(length, (size_t)CHECK_BYTES));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return false;
        }
        if (got == 0 || memcmp(room, bytes, (size_t)got) != 0) {
            errno = EBADMSG;
            return false;
        }
        bytes += got;
        length -= (size_t)got;
        oct_pulse_moved((size_t)got);
    }
    return true;
}

// Returns true if the file holds exactly these parts. Its pages are first dropped from memory,
// which works because the file is synced; otherwise the comparison would read memory instead of the
// disk.
static bool
is_on_disk(const char *path, const oct_file_part *parts, size_t count)
{
    int fd = oct_file_open(path, O_RDONLY, 0, NULL);
    if (fd < 0) {
        return false;
    }
    oct_pulse_write_begin(); // until it is checked, the file counts as being written
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    uint8_t *room = oct_alloc(CHECK_BYTES);
    bool is_same = true;
    for (size_t i = 0; is_same && i < count; i++) {
        is_same = is_next(fd, parts[i].bytes, parts[i].length, room);
    }
    if (is_same && read(fd, room, 1) != 0) {
        is_same = false;
        errno = EBADMSG;
    }
    free(room);
    oct_pulse_write_end();
    close_quietly(fd);
    return is_same;
}

oct_err
oct_file_draft(const char *path, const oct_file_part *parts, size_t count,
               char draft[OCT_FILE_PATH_MAX])
{
    OCT_TRY(draft_write(path, parts, count, true, OPEN_MODE, draft));
    if (!is_on_disk(draft, parts, count)) {
        unlink_quietly(draft);
        return OCT_EIO;
    }
    return OCT_OK;
}

oct_err
oct_file_adopt(const char *draft, const char *path)
{
    oct_err err = stream_refuse(path);
    if (err != OCT_OK) {
        unlink_quietly(draft);
        return err;
    }
    return draft_rename(draft, path, true);
}

oct_err
oct_file_write(const char *path, const void *bytes, size_t length)
{
    return replace_file(path, bytes, length, true, OPEN_MODE);
}

oct_err
oct_file_write_secret(const char *path, const void *bytes, size_t length)
{
    return replace_file(path, bytes, length, true, SECRET_MODE);
}

oct_err
oct_file_replace(const char *path, const void *bytes, size_t length)
{
    return replace_file(path, bytes, length, false, OPEN_MODE);
}

// Returns true for a regular file of this user; a link is not one.
static bool
is_own_file(DIR *folder, const char *name)
{
    struct stat found;
    return fstatat(dirfd(folder), name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

void
oct_file_clear(const char *path)
{
    char file[OCT_FILE_PATH_MAX], parent[OCT_FILE_PATH_MAX];
    if (links_follow(path, file) != OCT_OK) {
        return;
    }
    const char *name = path_split(file, parent);
    DIR *folder = oct_file_open_entries(parent);
    size_t length = strlen(name);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char *end;
        if (strncmp(entry->d_name, name, length) != 0 ||
            strncmp(entry->d_name + length, ".tmp.", 5) != 0) {
            continue;
        }
        long pid = strtol(entry->d_name + length + 5, &end, 10);
        // The process that wrote the file no longer exists.
        if (pid > 0 && *end == '\0' && kill((pid_t)pid, 0) != 0 && errno == ESRCH &&
            is_own_file(folder, entry->d_name)) {
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

void
oct_file_match(const char *folder, const char *pattern, oct_file_fn fn, void *arg)
{
    DIR *opened = oct_file_open_entries(folder);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        char path[OCT_FILE_PATH_MAX + NAME_MAX + 2];
        int length = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) == 0 && (size_t)length < sizeof(path)) {
            fn(arg, path);
        }
    }
    if (opened != NULL) {
        (void)closedir(opened);
    }
}

bool
oct_file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return oct_file_stat(a, &x) == 0 && oct_file_stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

bool
oct_file_is_open(const char *path, int fd)
{
    struct stat x, y;
    return oct_file_stat(path, &x) == 0 && fstat(fd, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

// Equal names in the same folder. The files need not exist.
bool
oct_file_is_same_place(const char *a, const char *b)
{
    char x[OCT_FILE_PATH_MAX], y[OCT_FILE_PATH_MAX], its[OCT_FILE_PATH_MAX],
        other[OCT_FILE_PATH_MAX];
    return links_follow(a, x) == OCT_OK && links_follow(b, y) == OCT_OK &&
           strcmp(path_split(x, its), path_split(y, other)) == 0 && oct_file_is_same(its, other);
}

bool
oct_file_is_empty_folder(const char *path)
{
    DIR *folder = oct_file_open_entries(path);
    bool empty = folder != NULL;
    const struct dirent *entry;
    while (empty && (entry = readdir(folder)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return empty;
}

oct_lock
oct_file_lock(int fd, bool is_shared)
{
    int result;
    do {
        result = flock(fd, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
        return OCT_LOCK_HELD;
    }
    // the file system has no locks, or the server has none left
    bool has_none = errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP;
    return errno == EWOULDBLOCK ? OCT_LOCK_TAKEN : has_none ? OCT_LOCK_NONE : OCT_LOCK_FAILED;
}

int
oct_file_lock_open(const char *path)
{
    struct stat found = {0};
    int fd = oct_file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, SECRET_MODE, &found);
    if (fd >= 0 && found.st_uid == geteuid() && (found.st_mode & 07777) != SECRET_MODE) {
        // on a file system without modes this fails, and changes nothing
        (void)fchmod(fd, SECRET_MODE);
    }
    return fd;
}

oct_locked
oct_file_locked(const char *path)
{
    int fd = oct_file_open(path, O_RDONLY, 0, NULL);
    if (fd < 0) {
        return errno == EACCES ? OCT_LOCKED_UNKNOWN : OCT_LOCKED_NO;
    }
    bool is_locked = oct_file_lock(fd, true) == OCT_LOCK_TAKEN;
    (void)close(fd);
    return is_locked ? OCT_LOCKED_YES : OCT_LOCKED_NO;
}

// Makes one folder. *is_new: it did not exist before.
static oct_err
make_one(const char *path, bool *is_new)
{
    *is_new = oct_file_make_one_folder(path) == 0;
    if (*is_new) {
        return OCT_OK;
    }
    // An existing folder is fine, whatever mkdir said: on a read-only file system mkdir may fail
    // with EROFS first.
    int saved = errno;
    struct stat found;
    if (oct_file_stat(path, &found) == 0) {
        if (S_ISDIR(found.st_mode)) {
            return OCT_OK;
        }
        saved = ENOTDIR;
    } else if (errno == ELOOP) {
        saved = ELOOP;
    }
    errno = saved;
    return OCT_EIO;
}

// Removes slashes at the end, except the root's own.
static void
cut_slashes(char *path)
{
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--) {
        path[length - 1] = '\0';
    }
}

bool
oct_file_cut_last(char *path)
{
    cut_slashes(path);
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return false;
    }
    *slash = '\0';
    cut_slashes(path);
    return true;
}

oct_err
oct_file_make_folders(const char *path, uint32_t *made)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(part)) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return OCT_EIO;
    }
    memcpy(part, path, length + 1);
    uint32_t count = 0; // folders at the end of part that are new
    for (size_t i = 1; i <= length; i++) {
        if ((part[i] != '/' && part[i] != '\0') || part[i - 1] == '/') { // not the end of a name
            continue;
        }
        bool is_new;
        part[i] = '\0';
        if (make_one(part, &is_new) != OCT_OK) {
            int saved = errno;
            if (oct_file_cut_last(part)) { // part's last name is what could not be made
                oct_file_remove_folders(part, count);
            }
            errno = saved;
            return OCT_EIO;
        }
        count = is_new ? count + 1 : 0;
        part[i] = path[i];
    }
    *made = count;
    return OCT_OK;
}

oct_err
oct_file_make_folder(const char *path)
{
    uint32_t made;
    return oct_file_make_folders(path, &made);
}

void
oct_file_remove_folders(const char *path, uint32_t made)
{
    char part[PATH_MAX];
    bool is_part = true;
    (void)snprintf(part, sizeof(part), "%s", path);
    for (; made > 0 && is_part && oct_file_remove_folder(part) == 0; made--) {
        is_part = oct_file_cut_last(part);
    }
}
