#ifndef COMMON_OCT_OWNER_H
#define COMMON_OCT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Decides whether users other than this process's own and root could change a file. Access lists
// (ACLs) are ignored. A group whose number is that of the user, as Debian makes one for each user,
// counts as the user. Threads: any.

// Returns true if that user is this process's own or root.
bool oct_owner_is_trusted(uid_t owner);
// Returns OCT_OK if no other user can replace the file at path or, for a folder, its entries: it
// belongs to this user or root, and neither its group nor others may write. may_be_sticky: a folder
// with the sticky bit (/tmp) passes, because each user can replace only their own files there.
// OCT_EINVAL: another user could, or path does not exist; reason is one line about it.
OCT_CHECKED oct_err oct_owner_check(const char *path, bool may_be_sticky, oct_reason *why);
// Checks path, which is absolute and without links, and every folder above it. Only folders whose
// path is shorter than strict_length may be sticky.
OCT_CHECKED oct_err oct_owner_check_way(const char *path, size_t strict_length, oct_reason *why);

// octet run unpack puts a file of this name into the folder that it makes. It says that another
// user may have written the files, although they belong to this user now.
#define OCT_OWNER_UNPACKED ".unpacked"
// Every folder of a run or a sweep has a file of this name.
#define OCT_OWNER_LOCK ".lock"
// Returns true if path, which is absolute, is a folder that was unpacked, or is inside one.
bool oct_owner_is_unpacked(const char *path);

#endif // COMMON_OCT_OWNER_H
