#ifndef COMMON_OCT_FILE_H
#define COMMON_OCT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_file_open.h"

// Whole files, opened as oct_file_open.h says. Threads: any. Errors: OCT_ENOTFOUND, OCT_EIO (no
// space, not writable, not a regular file; errno is left set, for oct_file_strerror), OCT_EINVAL
// (larger than bytes_max).

// Reads all of path; *out is malloc'd (one zero byte beyond its end), the caller frees it. A pipe
// is read only as /dev/stdin or /dev/fd/N.
OCT_CHECKED oct_err oct_file_read(const char *path, size_t bytes_max, uint8_t **out,
                                  size_t *out_length);
// The same; *owner: the user that the file belongs to.
OCT_CHECKED oct_err oct_file_read_owner(const char *path, size_t bytes_max, uint8_t **out,
                                        size_t *out_length, uid_t *owner);
// Writes to PATH.tmp.PID, syncs it, renames it over path, syncs the folder: at any instant path
// holds the whole old or the whole new content. On failure the temporary file is removed. Links are
// followed, except beneath a run folder: the file that path leads to is replaced, or made, and the
// link stays. A device, a pipe,
// or what this process has open as its output (/dev/stdout, a file as well) is written into
// instead.
OCT_CHECKED oct_err oct_file_write(const char *path, const void *bytes, size_t length);
// The same without waiting for the disk: for what can be made again (a picture). After a power cut
// path may be old, new or empty, never after a crash of the process alone. A file system that
// learns only at the end that its disk is full keeps the old content, as any other failure does.
OCT_CHECKED oct_err oct_file_replace(const char *path, const void *bytes, size_t length);
// The same as oct_file_write for a secret: only the owner may read or write it (0600), from the
// first byte on.
OCT_CHECKED oct_err oct_file_write_secret(const char *path, const void *bytes, size_t length);
// oct_file_write in two steps, for what is kept only when it is on the disk as it was meant: draft
// writes the parts, one behind the other, to PATH.tmp.PID, syncs it, and reads it back from the
// disk (a file system that keeps nothing in memory besides). adopt renames it over path and syncs
// the folder. OCT_EIO of draft with errno EBADMSG: something else was read. A draft that fails, or
// that cannot be adopted, is removed. OCT_EIO with errno ENOTSUP: path is a device, a pipe or this
// process's output, which a file would replace.
// PATH.tmp.PID, for a draft that is written by other means: oct_file_adopt takes it, and
// oct_file_clear removes it when this process could not. OCT_EIO: it would be too long, or ENOTSUP.
OCT_CHECKED oct_err oct_file_draft_name(const char *path, char draft[OCT_FILE_PATH_MAX]);
// The same, new and open for reading and writing. What another process of this PID left there is
// removed, and a link is not followed. -1: errno says why.
int oct_file_draft_open(const char *path, mode_t mode, char draft[OCT_FILE_PATH_MAX]);
typedef struct oct_file_part {
    const void *bytes;
    size_t length;
} oct_file_part;
OCT_CHECKED oct_err oct_file_draft(const char *path, const oct_file_part *parts, size_t count,
                                   char draft[OCT_FILE_PATH_MAX]);
OCT_CHECKED oct_err oct_file_adopt(const char *draft, const char *path);
// Syncs the folder that path, shorter than OCT_FILE_PATH_MAX, is in: a file that is new there has
// its name after a power cut, too.
OCT_CHECKED oct_err oct_file_sync_folder(const char *path);
// Removes what processes that died while they wrote path left beside it: files of this user named
// PATH.tmp.PID, where no process has that PID now. What cannot be removed stays.
void oct_file_clear(const char *path);
// Calls fn with the path of each entry of folder whose name a pattern of the shell matches, in no
// order; fn may remove it. A folder that cannot be read has no entries.
typedef void (*oct_file_fn)(void *arg, const char *path);
void oct_file_match(const char *folder, const char *pattern, oct_file_fn fn, void *arg);
// Whether both paths are of one file that is there, by whatever names: one must not be written
// while the other is read.
bool oct_file_is_same(const char *a, const char *b);
// Whether path leads to what fd has open.
bool oct_file_is_open(const char *path, int fd);
// Whether what is written as a would be replaced by what is written as b, there or not.
bool oct_file_is_same_place(const char *a, const char *b);
// Whether path is a folder that can be read, with nothing in it.
bool oct_file_is_empty_folder(const char *path);
// All of bytes[length] to an open file. OCT_EIO: errno says why not, and a part may be there.
OCT_CHECKED oct_err oct_file_write_all(int fd, const void *bytes, size_t length);
// Copies what follows in from, at most bytes_max, to an open file. OCT_EIO: as above.
OCT_CHECKED oct_err oct_file_copy(int from, int to, uint64_t bytes_max);
// Locks an open file (flock) until it is closed, however the process ends; never waits. is_shared:
// of those several hold it at once; a file that is open for reading gets no other over NFS.
typedef enum oct_lock {
    OCT_LOCK_HELD,
    OCT_LOCK_TAKEN,  // another process, or another descriptor of this one, has it
    OCT_LOCK_NONE,   // the file system has no locks (Lustre without -o flock): go on without
    OCT_LOCK_FAILED, // errno says why
} oct_lock;
oct_lock oct_file_lock(int fd, bool is_shared);
// Opens a file to be locked, or makes it: its owner's alone (0600), since whoever can read a file
// can lock it. One of this user's that others could read is closed to them. -1: errno says why;
// ELOOP: it is a link, ENOTSUP: it is no plain file.
int oct_file_lock_open(const char *path);
// Whether another process has a file of that path locked; one that is not there, is no plain file,
// or is on a file system without locks, is not.
typedef enum oct_locked {
    OCT_LOCKED_NO,
    OCT_LOCKED_YES,
    OCT_LOCKED_UNKNOWN, // this user may not open it
} oct_locked;
oct_locked oct_file_locked(const char *path);
// "a/b/" becomes "a", the folder that it is in. False: the path names none, or the root.
bool oct_file_cut_last(char *path);
// mkdir -p. A failure leaves nothing behind.
OCT_CHECKED oct_err oct_file_make_folder(const char *path);
// The same; *made: how many folders at the end of path it has made.
OCT_CHECKED oct_err oct_file_make_folders(const char *path, uint32_t *made);
// Takes that back: removes these folders, from the last one on, as far as they are empty.
void oct_file_remove_folders(const char *path, uint32_t made);

#endif // COMMON_OCT_FILE_H
