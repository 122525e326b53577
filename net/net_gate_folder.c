// Makes and removes the private folder of the gate's local sockets, and removes folders that killed
// processes left.
#include "net/net_gate_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define NAME      "octet-XXXXXX"
#define PATTERN   "octet-??????"
#define TRIES     8 // a sweep by another process may remove a folder before it is locked
#define FOLDER_AT (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static_assert(sizeof(NAME) + 1 + NET_GATE_BASE_MAX == NET_GATE_FOLDER_MAX, "a path fits");

// Removes the sockets in the folder and leaves anything else, which is not ours. Returns false if
// something stays.
static bool
folder_empty(int fd) // closedir closes this descriptor
{
    int again = openat(fd, ".", FOLDER_AT); // closedir closes it
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (folder == NULL) {
        if (again >= 0) {
            (void)close(again);
        }
        return false;
    }
    bool all = true;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        struct stat status;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            bool is_socket = fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                             S_ISSOCK(status.st_mode);
            all = is_socket && unlinkat(fd, entry->d_name, 0) == 0 && all;
        }
    }
    (void)closedir(folder);
    return all;
}

// Removes the folder of that name if this user owns it and no process holds its lock.
static void
stale_remove(int base, const char *name)
{
    struct stat status;
    int fd = openat(base, name, FOLDER_AT);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 07777) == 0700 &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && folder_empty(fd)) {
        (void)unlinkat(base, name, AT_REMOVEDIR);
    }
    (void)close(fd);
}

static void
stale_sweep(const char *base)
{
    DIR *folder = opendir(base);
    if (folder == NULL) {
        return; // the folder may be entered and written, but not listed
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (fnmatch(PATTERN, entry->d_name, 0) == 0) {
            stale_remove(dirfd(folder), entry->d_name);
        }
    }
    (void)closedir(folder);
}

static oct_err
base_check(const char *base, oct_reason *why)
{
    if (base[0] != '/') {
        return oct_refuse(why, "'%s' is not an absolute path", base);
    }
    if (strlen(base) > NET_GATE_BASE_MAX) {
        return oct_refuse(why, "'%s' has %zu bytes, and the path of a socket has room for %d", base,
                          strlen(base), NET_GATE_BASE_MAX);
    }
    return oct_owner_check(base, true, why);
}

// Makes and locks a folder. False: errno is 0 if a sweep of another process removed it (try again),
// otherwise the cause.
static bool
folder_try(net_gate_folder *out, const char *base)
{
    struct stat status;
    (void)snprintf(out->path, sizeof(out->path), "%s/" NAME, base);
    if (mkdtemp(out->path) == NULL) {
        return false;
    }
    out->fd = open(out->path, FOLDER_AT);
    bool is_locked = out->fd >= 0 && flock(out->fd, LOCK_EX | LOCK_NB) == 0;
    int code = is_locked || errno == EWOULDBLOCK || errno == ENOENT ? 0 : errno;
    if (is_locked && fstat(out->fd, &status) == 0 && status.st_nlink > 0) {
        return true;
    }
    if (out->fd >= 0) {
        (void)close(out->fd);
    }
    (void)rmdir(out->path);
    errno = code;
    return false;
}

oct_err
net_gate_folder_make_in(net_gate_folder *out, const char *base, oct_reason *why)
{
    *out = (net_gate_folder){.fd = -1};
    OCT_TRY(base_check(base, why));
    stale_sweep(base);
    errno = 0;
    for (int i = 0; i < TRIES && errno == 0; i++) {
        if (folder_try(out, base)) {
            return OCT_OK;
        }
    }
    *out = (net_gate_folder){.fd = -1};
    return oct_refuse(why, "'%s': %s", base,
                      errno == 0 ? "folders made in it disappear" : strerror(errno));
}

oct_err
net_gate_folder_make(net_gate_folder *out, oct_reason *reason)
{
    const char *const names[] = {"TMPDIR", NULL, "XDG_RUNTIME_DIR"};
    oct_reason why;
    oct_text text;
    oct_text_init(&text, reason->text, sizeof(reason->text));
    oct_text_add(&text, "no folder can hold the private sockets");
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        const char *base = names[i] == NULL ? "/tmp" : getenv(names[i]);
        if (base == NULL || *base == '\0') {
            continue;
        }
        if (net_gate_folder_make_in(out, base, &why) == OCT_OK) {
            return OCT_OK;
        }
        oct_text_add(&text, "; %s%s%s", names[i] == NULL ? "" : names[i],
                     names[i] == NULL ? "" : ": ", why.text);
    }
    return OCT_EIO;
}

static bool
is_there(const net_gate_folder *folder)
{
    struct stat named, held;
    return folder->path[0] != '\0' && stat(folder->path, &named) == 0 &&
           fstat(folder->fd, &held) == 0 && named.st_dev == held.st_dev &&
           named.st_ino == held.st_ino;
}

oct_err
net_gate_folder_keep(net_gate_folder *folder, oct_reason *why)
{
    net_gate_folder made;
    if (is_there(folder)) {
        return OCT_OK;
    }
    OCT_TRY(net_gate_folder_make(&made, why));
    if (folder->path[0] != '\0') {
        (void)close(folder->fd);
    }
    *folder = made;
    return OCT_OK;
}

void
net_gate_folder_remove(net_gate_folder *folder)
{
    if (folder->path[0] == '\0') {
        return;
    }
    (void)folder_empty(folder->fd);
    (void)rmdir(folder->path);
    (void)close(folder->fd);
    *folder = (net_gate_folder){.fd = -1};
}
