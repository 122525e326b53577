#ifndef COMMON_OCT_FILE_OPEN_H
#define COMMON_OCT_FILE_OPEN_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/oct_err.h"

// Opens, renames and removes files. No other code does that (tools/tidy.py lists the exceptions).
//
// Links. A path that a user gives may lead through symbolic links. The content of a run folder may
// have been written by another user, so no link inside is followed: a process names the run folders
// that it works in (oct_file_confine), and every path that begins with one of them, as it is
// written, is opened from that folder on, one name after the other with O_NOFOLLOW. The folder
// itself may be reached through links. A path beneath it that contains ".." fails.
//
// Types. Only regular files are opened, and an open never waits for the other end of a pipe.
//
// Owners. In a run folder that belongs to this user, files of other users except root are not
// written to. In a folder that belongs to another user, files of this user that have a second hard
// link are not written to, because the other name may be outside the folder.
//
// Errors: as the system call of the same name (-1, NULL or false, errno is set), and
//   ELOOP    a link beneath a run folder
//   EXDEV    ".." beneath a run folder
//   EISDIR   a folder
//   ENOTSUP  a pipe, a socket or a device
//   EPERM    it may not be written to, as above
//   EFBIG    it is larger than its reader allows
// oct_file_strerror returns a text for them. Threads: any; oct_file_confine before others start.

#define OCT_FILE_PATH_MAX 4096

// Follows no link beneath folder from now on. A relative path counts from the current folder.
// Naming a folder twice changes nothing.
void oct_file_confine(const char *folder);
// Returns the environment variable OCT_FILE_CONFINED=…, which confines a child to the same folders.
// The caller frees it. NULL: there are none.
#define OCT_FILE_CONFINED "OCT_FILE_CONFINED"
char *oct_file_confined(void);
// Returns true if path is beneath a confined folder.
bool oct_file_is_confined(const char *path);

// Returns a text for an error of these functions, and strerror's text for any other. It is valid
// until the thread's next call of a function of this header.
const char *oct_file_strerror(int code);

// Opens a regular file, close-on-exec. flags and mode are those of open. *found, unless it is NULL,
// becomes the status of the file.
int oct_file_open(const char *path, int flags, mode_t mode, struct stat *found);
// The same for a path beneath an open folder, with the rules for a run folder.
int oct_file_open_at(int folder, const char *name, int flags, mode_t mode, struct stat *found);
// Opens what a user named as the input of a command: a regular file, or a pipe or device that the
// process already has open (/dev/stdin, /dev/fd/N).
int oct_file_open_input(const char *path, struct stat *found);
// fopen with mode "r", "r+", "a", "w" or "wx".
FILE *oct_file_stream(const char *path, const char *mode);
// The same with mode "r", for a reader that reads to the end. Fails with EFBIG if the file is
// larger than bytes_max.
FILE *oct_file_stream_bounded(const char *path, uint64_t bytes_max);
// Returns false, with EFBIG, if a file of that many bytes is too large. The size is what its reader
// would get: a file with holes uses less of the disk.
bool oct_file_check_size(uint64_t bytes, uint64_t bytes_max);
// Opens a folder: to list it, or with is_path (O_PATH) only as the start of other paths.
int oct_file_open_folder(const char *path, bool is_path);
DIR *oct_file_open_entries(const char *path);
// The same for a path beneath an open folder. An empty name is the folder itself.
DIR *oct_file_open_entries_at(int folder, const char *name);

// Beneath a run folder the status of a link is the error ELOOP; elsewhere it is the status of the
// file that the link leads to.
int oct_file_stat(const char *path, struct stat *found);
// Returns true if the name exists. Beneath a run folder a link that leads nowhere counts, too.
bool oct_file_is_there(const char *path);
// Fails as opening the file for writing would; succeeds if it does not exist.
int oct_file_check_target(const char *path);

int oct_file_rename(const char *from, const char *to);
int oct_file_link(const char *from, const char *to);
int oct_file_remove(const char *path);
int oct_file_remove_at(int folder, const char *name); // beneath an open folder
int oct_file_make_one_folder(const char *path);
int oct_file_make_one_folder_at(int folder, const char *name); // beneath an open folder
int oct_file_remove_folder(const char *path);
// Removes a file, or a folder with its whole content, on one file system only. What cannot be
// removed stays. keep_top: the folder itself stays.
void oct_file_remove_tree(const char *path, bool keep_top);

#endif // COMMON_OCT_FILE_OPEN_H
