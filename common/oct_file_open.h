#ifndef COMMON_OCT_FILE_OPEN_H
#define COMMON_OCT_FILE_OPEN_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/oct_err.h"

// Opens, renames and removes files. No other code does (tools/tidy.py lists the exceptions).
//
// Links. A path that a user gives may lead through symbolic links. What lies in a run folder may be
// written by somebody else, so no link beneath it is followed: a process names the run folders that
// it works in (oct_file_confine), and every path that lies beneath one of them, as it is written,
// is opened from that folder on, one name after the other with O_NOFOLLOW. The folder itself may be
// reached through links. A path beneath it that has ".." fails.
//
// Types. Only regular files are opened, and an open never waits for the other end of a pipe.
//
// Owners. In a run folder that belongs to this user, files of other users are not written to
// (root's are). In a folder that belongs to another user, this user's files with a second hard link
// are not, because the other name may be outside.
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

// No link is followed beneath folder from now on. A relative path is of the current folder. A
// folder that is named again changes nothing.
void oct_file_confine(const char *folder);
// OCT_FILE_CONFINED=…, which confines a child that has it in its environment to the folders of this
// process. The caller frees it. NULL: there are none.
#define OCT_FILE_CONFINED "OCT_FILE_CONFINED"
char *oct_file_confined(void);
// True if path lies beneath a folder that was confined.
bool oct_file_is_confined(const char *path);

// What an error of these functions means; strerror for those of other calls. The text is valid
// until the thread's next call of a function of this header.
const char *oct_file_strerror(int code);

// Opens a regular file, close-on-exec; flags and mode are those of open. found, unless it is NULL,
// becomes its status.
int oct_file_open(const char *path, int flags, mode_t mode, struct stat *found);
// The same of a path beneath an open folder, as beneath a run folder.
int oct_file_open_at(int folder, const char *name, int flags, mode_t mode, struct stat *found);
// Opens what a user named as the input of a command: a regular file, or a pipe or a device that the
// process has open already (/dev/stdin, /dev/fd/N).
int oct_file_open_input(const char *path, struct stat *found);
// fopen with mode "r", "r+", "a", "w" or "wx".
FILE *oct_file_stream(const char *path, const char *mode);
// The same with mode "r" for a reader that reads to the end: the file has at most bytes_max bytes.
FILE *oct_file_stream_bounded(const char *path, uint64_t bytes_max);
// False, with EFBIG: a file of that many bytes is too large. A file with holes has its full size
// without using a disk.
bool oct_file_check_size(uint64_t bytes, uint64_t bytes_max);
// Opens a folder: to read it, or (is_path) only to open what is in it.
int oct_file_open_folder(const char *path, bool is_path);
DIR *oct_file_open_entries(const char *path);
// The same of a path beneath an open folder, or (an empty name) of the folder itself.
DIR *oct_file_open_entries_at(int folder, const char *name);

// Beneath a run folder the status of a link is ELOOP; elsewhere, that of what it leads to.
int oct_file_stat(const char *path, struct stat *found);
// True if something has that name, a link that leads nowhere as well beneath a run folder.
bool oct_file_is_there(const char *path);
// Fails as opening the file for writing would, or succeeds when nothing is there.
int oct_file_check_target(const char *path);

int oct_file_rename(const char *from, const char *to);
int oct_file_link(const char *from, const char *to);
int oct_file_remove(const char *path);
int oct_file_remove_at(int folder, const char *name); // beneath an open folder
int oct_file_make_one_folder(const char *path);
int oct_file_make_one_folder_at(int folder, const char *name); // beneath an open folder
int oct_file_remove_folder(const char *path);
// Removes a file, or a folder with all that is in it, on its own file system; what cannot be
// removed stays. keep_top: the folder itself stays.
void oct_file_remove_tree(const char *path, bool keep_top);

#endif // COMMON_OCT_FILE_OPEN_H
