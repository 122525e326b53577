#ifndef COMMON_OCT_FILE_H
#define COMMON_OCT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_file_open.h"

// Reads and writes whole files, which are opened as oct_file_open.h says. Threads: any. Errors:
// OCT_ENOTFOUND; OCT_EIO (no space, not writable, not a regular file; errno stays set, for
// oct_file_strerror); OCT_EINVAL (larger than bytes_max).

// Reads all of path. The caller frees *out, which has one zero byte beyond its end. A pipe is read
// only if its path is /dev/stdin or /dev/fd/N.
OCT_CHECKED oct_err oct_file_read(const char *path, size_t bytes_max, uint8_t **out,
                                  size_t *out_length);
// The same; *owner becomes the user that the file belongs to.
OCT_CHECKED oct_err oct_file_read_owner(const char *path, size_t bytes_max, uint8_t **out,
                                        size_t *out_length, uid_t *owner);
// Writes to PATH.tmp.PID, syncs it, renames it to path and syncs the folder: at any instant path
// holds the whole old or the whole new content. If that fails, the temporary file is removed. Links
// are followed, except beneath a run folder: the file that the link leads to is replaced, or
// created, and the link stays. A device, a pipe, and what this process has open as its output
// (/dev/stdout, even if it is a file) are written into instead of replaced.
OCT_CHECKED oct_err oct_file_write(const char *path, const void *bytes, size_t length);
// The same without waiting for the disk, for a file that can be made again (a picture). After a
// power cut the content may be old, new or empty; after a crash of the process alone it is old or
// new. If the file system notices only at the end that the disk is full, the old content stays.
OCT_CHECKED oct_err oct_file_replace(const char *path, const void *bytes, size_t length);
// The same as oct_file_write for a secret: from the first byte on, only the owner can read or write
// the file (0600).
OCT_CHECKED oct_err oct_file_write_secret(const char *path, const void *bytes, size_t length);
// Writes a file in two steps, so that it is kept only if the disk holds it as intended.
// oct_file_draft writes the parts, one after the other, to PATH.tmp.PID, syncs it, and reads it
// back: from the disk, where the file system allows that, else from memory. oct_file_adopt renames
// it to path and syncs the folder. A draft that fails, or that cannot be adopted, is removed.
// OCT_EIO with errno EBADMSG: something else was read back. OCT_EIO with errno ENOTSUP: path is a
// device, a pipe or the output of this process, which a file must not replace.
//
// oct_file_draft_name only makes the name PATH.tmp.PID, for a draft that is written by other means.
// It is passed to oct_file_adopt, or to oct_file_clear if the write failed. OCT_EIO: the name would
// be too long, or ENOTSUP.
OCT_CHECKED oct_err oct_file_draft_name(const char *path, char draft[OCT_FILE_PATH_MAX]);
// Creates the draft and opens it for reading and writing. A file of that name, which an earlier
// process with this PID left, is removed first; a link is not followed. -1: errno says why.
int oct_file_draft_open(const char *path, mode_t mode, char draft[OCT_FILE_PATH_MAX]);
// A piece of the content; the bytes are borrowed.
typedef struct oct_file_part {
    const void *bytes;
    size_t length;
} oct_file_part;
OCT_CHECKED oct_err oct_file_draft(const char *path, const oct_file_part *parts, size_t count,
                                   char draft[OCT_FILE_PATH_MAX]);
OCT_CHECKED oct_err oct_file_adopt(const char *draft, const char *path);
// Syncs the folder of path, which is shorter than OCT_FILE_PATH_MAX: without this, a new file may
// have lost its name after a power cut.
OCT_CHECKED oct_err oct_file_sync_folder(const char *path);
// Removes the drafts of path that processes left when they died: files of this user named
// PATH.tmp.PID where no process has that PID now. A file that cannot be removed stays.
void oct_file_clear(const char *path);
// Calls fn with the path of each entry of folder whose name matches a pattern of the shell, in any
// order; fn may remove the entry. A folder that cannot be read counts as empty.
typedef void (*oct_file_fn)(void *arg, const char *path);
void oct_file_match(const char *folder, const char *pattern, oct_file_fn fn, void *arg);
// Returns true if both paths lead to one existing file, whatever their names: then one must not be
// written while the other is read.
bool oct_file_is_same(const char *a, const char *b);
// Returns true if path leads to the file that fd has open.
bool oct_file_is_open(const char *path, int fd);
// Returns true if writing b would replace what was written as a. Neither has to exist.
bool oct_file_is_same_place(const char *a, const char *b);
// Returns true if path is an empty folder that can be read.
bool oct_file_is_empty_folder(const char *path);
// Writes all of bytes[length] to an open file. OCT_EIO: errno says why, and some of the bytes may
// have been written.
OCT_CHECKED oct_err oct_file_write_all(int fd, const void *bytes, size_t length);
// Copies from the current position of one open file to another, at most bytes_max bytes. Errors: as
// above.
OCT_CHECKED oct_err oct_file_copy(int from, int to, uint64_t bytes_max);
// Locks an open file (flock). The lock lasts until the file is closed, however the process ends.
// Never waits. is_shared: any number of processes may hold a shared lock at once; over NFS, a file
// that is open only for reading cannot get an exclusive one.
typedef enum oct_lock {
    OCT_LOCK_HELD,
    OCT_LOCK_TAKEN,  // another process, or another descriptor of this one, has it
    OCT_LOCK_NONE,   // the file system has no locks (Lustre without -o flock): continue without
    OCT_LOCK_FAILED, // errno says why
} oct_lock;
oct_lock oct_file_lock(int fd, bool is_shared);
// Opens a file that is to be locked, or creates it. It belongs to its owner alone (0600), because a
// user who can read a file can also lock it; if a file of this user can be read by others, that is
// taken away. -1: errno says why. ELOOP: it is a link; ENOTSUP: it is not a regular file.
int oct_file_lock_open(const char *path);
// Says if another process holds a lock on the file at path. A file that does not exist, is not a
// regular file, or is on a file system without locks is not locked.
typedef enum oct_locked {
    OCT_LOCKED_NO,
    OCT_LOCKED_YES,
    OCT_LOCKED_UNKNOWN, // this user may not open the file
} oct_locked;
oct_locked oct_file_locked(const char *path);
// Cuts the last name off a path: "a/b/" becomes "a". False: the path has a single name, or none.
bool oct_file_cut_last(char *path);
// Makes a folder and those above it, as mkdir -p. If that fails, the folders made so far are
// removed.
OCT_CHECKED oct_err oct_file_make_folder(const char *path);
// The same; *made becomes the number of folders, counted from the end of path, that it has made.
OCT_CHECKED oct_err oct_file_make_folders(const char *path, uint32_t *made);
// Undoes this: removes the last `made` folders of path, from the last one up, as long as they are
// empty.
void oct_file_remove_folders(const char *path, uint32_t made);

#endif // COMMON_OCT_FILE_H
