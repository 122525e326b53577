// Opens, renames and removes files without following links beneath run folders.
//
// 1. oct_file_confine adds a folder to a list, under the name that it was given and under its real
//    one. A child process inherits the list through an environment variable.
// 2. Each function first makes its path absolute, as text (place_find). A path that lies beneath no
//    folder of the list is passed to the kernel unchanged.
// 3. Beneath such a folder, the folder is opened with O_PATH, and each name of the path with
//    O_NOFOLLOW from the folder before it (place_walk). What remains is one name in an open folder.
//    Nobody can exchange a folder on the way, because only descriptors are used from there on.
// 4. A file is opened by that name, again without following a link. Its type is checked before,
//    because opening a device may have effects, and after, because it may have been exchanged
//    between. Only then is it truncated.
// 5. A refusal that errno cannot express leaves a text for oct_file_strerror, one for each thread.
//
// Cost: one open for each folder in the path, and a lock that is held for a few comparisons.
#include "common/oct_file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"

#define CREATE_MODE 0666 // less the umask
#define FOLDER_MODE 0777
#define DEPTH_MAX   64 // nested folders that oct_file_remove_tree enters

// ---- confined folders

typedef struct root {
    char *path; // absolute, without a slash at its end
    struct root *next;
} root;

static pthread_mutex_t roots_mutex = PTHREAD_MUTEX_INITIALIZER; // guards roots and has_inherited
static root *roots;
static bool has_inherited; // the environment variable was read

static _Thread_local struct {
    int code; // errno of the last refusal; 0: the last call refused nothing
    char text[96];
} refusal;

// Records why a call fails. Returns false.
static bool
refuse(int code, const char *text)
{
    refusal.code = code;
    (void)snprintf(refusal.text, sizeof(refusal.text), "%s", text);
    errno = code;
    return false;
}

const char *
oct_file_strerror(int code)
{
    return code != 0 && code == refusal.code ? refusal.text : strerror(code);
}

// Adds the names in path to out, an absolute path of used bytes. ".." removes the name before it
// only where that is exact: while out holds no links (is_real) and no name of path was added.
// Elsewhere
// ".." stays, and is refused beneath a confined folder.
static bool
names_add(char out[OCT_FILE_PATH_MAX], size_t used, const char *path, bool is_real)
{
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        bool is_up = length == 2 && memcmp(path, "..", 2) == 0;
        if (is_up && is_real) {
            while (used > 0 && out[--used] != '/') {
            }
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            if (used + 1 + length >= OCT_FILE_PATH_MAX) {
                errno = ENAMETOOLONG;
                return false;
            }
            out[used++] = '/';
            memcpy(out + used, path, length);
            used += length;
            is_real = false;
        }
        path += length + (path[length] == '/');
    }
    out[used] = '\0';
    return true;
}

// Writes path from the root on, without "." and doubled slashes. The current folder, as the kernel
// gives it, has no links.
static bool
absolute_name(const char *path, char out[OCT_FILE_PATH_MAX])
{
    if (*path == '/') {
        return names_add(out, 0, path, false);
    }
    if (getcwd(out, OCT_FILE_PATH_MAX) == NULL) {
        return false;
    }
    size_t used = strlen(out);
    return names_add(out, used == 1 ? 0 : used, path, true);
}

// The caller holds roots_mutex.
static void
root_add(const char *path)
{
    for (const root *r = roots; r != NULL; r = r->next) {
        if (strcmp(r->path, path) == 0) {
            return;
        }
    }
    root *added = oct_alloc(sizeof(*added));
    added->path = strdup(path);
    OCT_ASSERT(added->path != NULL);
    added->next = roots;
    roots = added;
}

// Adds the folders that the parent process is confined to: absolute paths, one a line. The caller
// holds roots_mutex.
static void
roots_inherit(void)
{
    const char *at = has_inherited ? NULL : getenv(OCT_FILE_CONFINED);
    has_inherited = true;
    while (at != NULL && *at != '\0') {
        char path[OCT_FILE_PATH_MAX];
        size_t length = strcspn(at, "\n");
        if (*at == '/' && length < sizeof(path)) {
            memcpy(path, at, length);
            path[length] = '\0';
            root_add(path);
        }
        at += length + (at[length] == '\n');
    }
}

void
oct_file_confine(const char *folder)
{
    char path[OCT_FILE_PATH_MAX], *real = realpath(folder, NULL);
    (void)pthread_mutex_lock(&roots_mutex);
    if (absolute_name(folder, path)) {
        root_add(path);
    }
    // A path may come with the real name of the folder as well as with the one that was given.
    if (real != NULL) {
        root_add(strcmp(real, "/") == 0 ? "" : real);
    }
    (void)pthread_mutex_unlock(&roots_mutex);
    free(real);
}

char *
oct_file_confined(void)
{
    (void)pthread_mutex_lock(&roots_mutex);
    roots_inherit();
    size_t size = sizeof(OCT_FILE_CONFINED "=");
    for (const root *r = roots; r != NULL; r = r->next) {
        size += strlen(r->path) + 1;
    }
    char *out = roots != NULL ? oct_alloc(size) : NULL;
    size_t used = out != NULL ? (size_t)snprintf(out, size, OCT_FILE_CONFINED "=") : 0;
    for (const root *r = roots; r != NULL; r = r->next) {
        used += (size_t)snprintf(out + used, size - used, "%s\n", r->path);
    }
    (void)pthread_mutex_unlock(&roots_mutex);
    return out;
}

// ---- positions

// Where a path leads: a name in an open folder. place_close ends it.
typedef struct place {
    int folder; // a descriptor; AT_FDCWD: name is the whole path, as its user gave it
    char name[OCT_FILE_PATH_MAX];
    uid_t owner;      // of the folder that confines it
    bool is_confined; // folder is a descriptor of this struct, and no link is followed
} place;

// Closes fd and keeps errno. fd < 0: there is nothing to close.
static void
descriptor_close(int fd)
{
    int saved = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = saved;
}

static void
place_close(const place *at)
{
    descriptor_close(at->folder);
}

// Returns the length of the outermost confined folder that an absolute path lies beneath. SIZE_MAX:
// none.
static size_t
root_of(const char *path)
{
    size_t found = SIZE_MAX;
    (void)pthread_mutex_lock(&roots_mutex);
    roots_inherit();
    for (const root *r = roots; r != NULL; r = r->next) {
        size_t length = strlen(r->path);
        bool is_beneath = strncmp(path, r->path, length) == 0 && path[length] == '/';
        found = is_beneath && length < found ? length : found;
    }
    (void)pthread_mutex_unlock(&roots_mutex);
    return found;
}

static bool
has_roots(void)
{
    (void)pthread_mutex_lock(&roots_mutex);
    roots_inherit();
    bool has = roots != NULL;
    (void)pthread_mutex_unlock(&roots_mutex);
    return has;
}

static bool
refuse_link(void)
{
    return refuse(ELOOP, "it is a symbolic link, and links in a run folder are not followed");
}

static bool
refuse_dots(void)
{
    return refuse(EXDEV, "its path has '..', which could lead out of the run folder");
}

// Replaces the folder that at has open by the folder of this name in it.
static bool
place_enter(place *at, const char *name, size_t length)
{
    char part[NAME_MAX + 1];
    struct stat found;
    if (length > NAME_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(part, name, length);
    part[length] = '\0';
    if (strcmp(part, "..") == 0) {
        return refuse_dots();
    }
    int next = openat(at->folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
        int code = errno;
        // O_DIRECTORY refuses a link with the same errno as a file.
        if (fstatat(at->folder, part, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode)) {
            return refuse(ELOOP, "it is in a folder that is a symbolic link, and links in a run "
                                 "folder are not followed");
        }
        errno = code;
        return false;
    }
    place_close(at);
    at->folder = next;
    return true;
}

// Enters the folders that name begins with, and keeps the last name. is_good: at has a folder; on
// false it is closed.
static bool
place_walk(place *at, const char *name, bool is_good)
{
    for (const char *slash; is_good && (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        is_good = place_enter(at, name, (size_t)(slash - name));
    }
    if (is_good && strcmp(name, "..") == 0) {
        is_good = refuse_dots();
    }
    int length = snprintf(at->name, sizeof(at->name), "%s", name);
    if (is_good && length >= (int)sizeof(at->name)) {
        errno = ENAMETOOLONG;
        is_good = false;
    }
    if (!is_good) {
        place_close(at);
    }
    return is_good;
}

// Finds the position of a path. False: errno says why, and nothing is open.
static bool
place_find(place *at, const char *path)
{
    char whole[OCT_FILE_PATH_MAX];
    size_t length = strlen(path), begin = SIZE_MAX;
    *at = (place){.folder = AT_FDCWD};
    refusal.code = 0;
    if (length >= sizeof(at->name)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (has_roots()) {
        if (!absolute_name(path, whole)) {
            return false;
        }
        begin = root_of(whole);
    }
    if (begin == SIZE_MAX) {
        memcpy(at->name, path, length + 1);
        return true;
    }
    // The confined folder itself may be reached through links.
    struct stat found;
    whole[begin] = '\0';
    at->is_confined = true;
    at->folder = open(begin == 0 ? "/" : whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_good = at->folder >= 0 && fstat(at->folder, &found) == 0;
    at->owner = is_good ? found.st_uid : 0;
    return place_walk(at, whole + begin + 1, is_good);
}

// The same for a path beneath an open folder.
static bool
place_find_at(place *at, int folder, const char *name)
{
    struct stat found;
    *at = (place){.is_confined = true};
    refusal.code = 0;
    at->folder = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_good = at->folder >= 0 && fstat(at->folder, &found) == 0;
    at->owner = is_good ? found.st_uid : 0;
    return place_walk(at, name, is_good);
}

bool
oct_file_is_confined(const char *path)
{
    char whole[OCT_FILE_PATH_MAX];
    return has_roots() && absolute_name(path, whole) && root_of(whole) != SIZE_MAX;
}

// ---- types and owners

// Only regular files pass.
static bool
type_check(const struct stat *found)
{
    switch (found->st_mode & S_IFMT) {
    case S_IFREG:
        return true;
    case S_IFDIR:
        return refuse(EISDIR, strerror(EISDIR));
    case S_IFIFO:
        return refuse(ENOTSUP, "it is a pipe, not a regular file");
    case S_IFSOCK:
        return refuse(ENOTSUP, "it is a socket, not a regular file");
    case S_IFLNK:
        return refuse_link();
    default:
        return refuse(ENOTSUP, "it is a device, not a regular file");
    }
}

// Decides whether this user may write to a file; the rules are in oct_file_open.h.
static bool
owner_check(const place *at, const struct stat *found)
{
    char text[sizeof(refusal.text)];
    uid_t self = geteuid();
    if (!at->is_confined || found->st_uid == at->owner) {
        return true;
    }
    // The other name of the file may be outside, and the folder's owner made it.
    if (at->owner != 0 && at->owner != self && found->st_nlink > 1) {
        (void)snprintf(text, sizeof(text),
                       "it has another hard link, and its folder belongs to user %u",
                       (unsigned)at->owner);
        return refuse(EPERM, text);
    }
    if (found->st_uid != 0 && found->st_uid != self) {
        (void)snprintf(text, sizeof(text), "it belongs to user %u, not to you",
                       (unsigned)found->st_uid);
        return refuse(EPERM, text);
    }
    return true;
}

static bool
place_stat(const place *at, struct stat *found)
{
    return fstatat(at->folder, at->name, found, at->is_confined ? AT_SYMLINK_NOFOLLOW : 0) == 0;
}

// The status is read before the open, because opening a device may have effects. The open file is
// checked again, because it may have been exchanged. O_TRUNC waits until the checks have passed.
// O_NONBLOCK: a pipe that appears in between does not block.
static int
file_open(const place *at, int flags, mode_t mode, struct stat *found)
{
    bool is_writing = (flags & O_ACCMODE) != O_RDONLY;
    int with =
        (flags & ~O_TRUNC) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (at->is_confined ? O_NOFOLLOW : 0);
    if (place_stat(at, found) && !type_check(found)) {
        return -1;
    }
    int fd = openat(at->folder, at->name, with, mode);
    if (fd < 0) {
        if (errno == ELOOP && at->is_confined) {
            (void)refuse_link();
        }
        return -1;
    }
    if (fstat(fd, found) != 0 || !type_check(found) || (is_writing && !owner_check(at, found)) ||
        ((flags & O_TRUNC) != 0 && found->st_size > 0 && ftruncate(fd, 0) != 0)) {
        descriptor_close(fd);
        return -1;
    }
    return fd;
}

// Opens a position and closes it. found may be NULL.
static int
place_open(const place *at, int flags, mode_t mode, struct stat *found)
{
    struct stat status;
    int fd = file_open(at, flags, mode, found != NULL ? found : &status);
    place_close(at);
    return fd;
}

// ---- opening

int
oct_file_open(const char *path, int flags, mode_t mode, struct stat *found)
{
    place at;
    return place_find(&at, path) ? place_open(&at, flags, mode, found) : -1;
}

int
oct_file_open_at(int folder, const char *name, int flags, mode_t mode, struct stat *found)
{
    place at;
    return place_find_at(&at, folder, name) ? place_open(&at, flags, mode, found) : -1;
}

// Returns true for the name of a descriptor that the process was started with.
static bool
is_descriptor(const char *path)
{
    static const char *const names[] = {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"};
    bool is_one = false;
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        is_one = is_one || strncmp(path, names[i], strlen(names[i])) == 0;
    }
    return is_one;
}

int
oct_file_open_input(const char *path, struct stat *found)
{
    struct stat status;
    if (!is_descriptor(path)) {
        return oct_file_open(path, O_RDONLY, 0, found);
    }
    refusal.code = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &status) != 0 || S_ISDIR(status.st_mode))) {
        (void)close(fd);
        errno = EISDIR;
        return -1;
    }
    if (fd >= 0 && found != NULL) {
        *found = status;
    }
    return fd;
}

bool
oct_file_check_size(uint64_t bytes, uint64_t bytes_max)
{
    if (bytes <= bytes_max) {
        return true;
    }
    char text[sizeof(refusal.text)];
    (void)snprintf(text, sizeof(text), "it has %" PRIu64 " bytes, and at most %" PRIu64 " are read",
                   bytes, bytes_max);
    return refuse(EFBIG, text);
}

FILE *
oct_file_stream_bounded(const char *path, uint64_t bytes_max)
{
    struct stat found;
    int fd = oct_file_open(path, O_RDONLY, 0, &found);
    bool is_read = fd >= 0 && oct_file_check_size((uint64_t)found.st_size, bytes_max);
    FILE *file = is_read ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        descriptor_close(fd);
    }
    return file;
}

FILE *
oct_file_stream(const char *path, const char *mode)
{
    int flags = strcmp(mode, "r") == 0    ? O_RDONLY
                : strcmp(mode, "r+") == 0 ? O_RDWR
                : strcmp(mode, "a") == 0  ? O_WRONLY | O_CREAT | O_APPEND
                : strcmp(mode, "wx") == 0 ? O_WRONLY | O_CREAT | O_EXCL
                                          : O_WRONLY | O_CREAT | O_TRUNC;
    int fd = oct_file_open(path, flags, CREATE_MODE, NULL);
    // "wx" and "w" have done their work in the open.
    FILE *file = fd >= 0 ? fdopen(fd, mode[0] == 'w' ? "w" : mode) : NULL;
    if (file == NULL) {
        descriptor_close(fd);
    }
    return file;
}

// Opens a folder and closes the position.
static int
place_open_folder(const place *at, bool is_path)
{
    struct stat found;
    int flags = (is_path ? O_PATH : O_RDONLY) | O_DIRECTORY | O_CLOEXEC;
    int fd = openat(at->folder, at->name[0] != '\0' ? at->name : ".",
                    flags | (at->is_confined ? O_NOFOLLOW : 0));
    if (fd < 0 && errno == ENOTDIR && place_stat(at, &found) && S_ISLNK(found.st_mode)) {
        (void)refuse_link();
    }
    place_close(at);
    return fd;
}

int
oct_file_open_folder(const char *path, bool is_path)
{
    place at;
    return place_find(&at, path) ? place_open_folder(&at, is_path) : -1;
}

// Takes fd, also when it fails.
static DIR *
entries_of(int fd)
{
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (entries == NULL) {
        descriptor_close(fd);
    }
    return entries;
}

DIR *
oct_file_open_entries(const char *path)
{
    return entries_of(oct_file_open_folder(path, false));
}

DIR *
oct_file_open_entries_at(int folder, const char *name)
{
    place at;
    return place_find_at(&at, folder, name) ? entries_of(place_open_folder(&at, false)) : NULL;
}

// ---- status

int
oct_file_stat(const char *path, struct stat *found)
{
    place at;
    if (!place_find(&at, path)) {
        return -1;
    }
    bool is_there = place_stat(&at, found);
    if (is_there && S_ISLNK(found->st_mode)) {
        is_there = refuse_link();
    }
    place_close(&at);
    return is_there ? 0 : -1;
}

bool
oct_file_is_there(const char *path)
{
    struct stat found;
    return oct_file_stat(path, &found) == 0 || refusal.code == ELOOP;
}

int
oct_file_check_target(const char *path)
{
    place at;
    struct stat found;
    if (!place_find(&at, path)) {
        return errno == ENOENT ? 0 : -1; // a folder on the way is missing: nothing is there
    }
    bool is_good = !place_stat(&at, &found) || (type_check(&found) && owner_check(&at, &found));
    place_close(&at);
    return is_good ? 0 : -1;
}

// ---- changing

// Renames a file, or (is_link) gives it a second name.
static int
name_give(const char *from, const char *to, bool is_link)
{
    place a, b;
    if (!place_find(&a, from)) {
        return -1;
    }
    int code = -1;
    if (place_find(&b, to)) {
        code = is_link ? linkat(a.folder, a.name, b.folder, b.name, 0)
                       : renameat(a.folder, a.name, b.folder, b.name);
        place_close(&b);
    }
    place_close(&a);
    return code;
}

int
oct_file_rename(const char *from, const char *to)
{
    return name_give(from, to, false);
}

int
oct_file_link(const char *from, const char *to)
{
    return name_give(from, to, true);
}

static int
place_remove(const place *at, int flags)
{
    int code = unlinkat(at->folder, at->name, flags);
    place_close(at);
    return code;
}

int
oct_file_remove(const char *path)
{
    place at;
    return place_find(&at, path) ? place_remove(&at, 0) : -1;
}

int
oct_file_remove_at(int folder, const char *name)
{
    place at;
    return place_find_at(&at, folder, name) ? place_remove(&at, 0) : -1;
}

int
oct_file_remove_folder(const char *path)
{
    place at;
    return place_find(&at, path) ? place_remove(&at, AT_REMOVEDIR) : -1;
}

static int
place_make_folder(const place *at)
{
    int code = mkdirat(at->folder, at->name, FOLDER_MODE);
    place_close(at);
    return code;
}

int
oct_file_make_one_folder(const char *path)
{
    place at;
    return place_find(&at, path) ? place_make_folder(&at) : -1;
}

int
oct_file_make_one_folder_at(int folder, const char *name)
{
    place at;
    return place_find_at(&at, folder, name) ? place_make_folder(&at) : -1;
}

// Removes everything in a folder, as far as it can. Takes fd. Other file systems and folders deeper
// than DEPTH_MAX stay.
static void
entries_remove(int fd, dev_t device, int depth)
{
    struct stat found;
    DIR *entries = entries_of(fd);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            unlinkat(dirfd(entries), name, 0) == 0 || depth == DEPTH_MAX) {
            continue;
        }
        int below = openat(dirfd(entries), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0 && fstat(below, &found) == 0 && found.st_dev == device) {
            entries_remove(below, device, depth + 1);
            (void)unlinkat(dirfd(entries), name, AT_REMOVEDIR);
        } else if (below >= 0) {
            (void)close(below);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

void
oct_file_remove_tree(const char *path, bool keep_top)
{
    struct stat found;
    if (!keep_top && oct_file_remove(path) == 0) { // a file, or a link, is removed as such
        return;
    }
    int fd = oct_file_open_folder(path, false);
    if (fd >= 0 && fstat(fd, &found) == 0) {
        entries_remove(fd, found.st_dev, 0);
    } else if (fd >= 0) {
        (void)close(fd);
    }
    if (!keep_top) {
        (void)oct_file_remove_folder(path);
    }
}
