#ifndef COMMON_OCT_OWNER_H
#define COMMON_OCT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/oct_err.h"

// Whether users other than this process's and root decide what a file holds. Access lists are not
// looked at. A group with the number of its user, which Debian makes for each user, is that user.
// Threads: any.

// Returns true if files of that user are this user's own or root's.
bool oct_owner_is_trusted(uid_t owner);
// Returns OCT_OK if nobody else could replace what is at path, or (a folder) what is in it: it
// belongs to this user or root, and neither group nor others may write. may_be_sticky: in a folder
// with the sticky bit (/tmp) each user may replace only their own files. OCT_EINVAL, with one line
// for a person in reason: somebody else could, or there is nothing.
OCT_CHECKED oct_err oct_owner_check(const char *path, bool may_be_sticky, char *reason,
                                    size_t reason_size);
// The same for path, which is resolved and absolute, and for everything above it. What is above the
// first strict_length bytes may be sticky.
OCT_CHECKED oct_err oct_owner_check_way(const char *path, size_t strict_length, char *reason,
                                        size_t reason_size);

// A file of this name in a folder says that octet run unpack made the folder: its files were
// written by the user who packed them, although they belong to this user.
#define OCT_OWNER_UNPACKED ".unpacked"
// The folder of a run or a sweep has a file of this name.
#define OCT_OWNER_LOCK ".lock"
// Returns true if path, which is absolute, is in a folder that was unpacked, or is that folder.
bool oct_owner_is_unpacked(const char *path);

#endif // COMMON_OCT_OWNER_H
