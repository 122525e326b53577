#ifndef COMMON_OCT_OWNER_H
#define COMMON_OCT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/oct_err.h"

// Whether others than this process's user and root decide what a file holds. Access lists are not
// looked at. Threads: any.

// Whether a file of that user is one's own or root's.
bool oct_owner_is_trusted(uid_t owner);
// Whether somebody else could replace what is at path, or (a folder) what is in it: it belongs to
// another user, or group or others may write. may_be_sticky: in a folder with the sticky bit (/tmp)
// each may replace only what is its own. OCT_EINVAL, with one line for a person in reason: they
// could, or there is nothing.
OCT_CHECKED oct_err oct_owner_check(const char *path, bool may_be_sticky, char *reason,
                                    size_t reason_size);

#endif // COMMON_OCT_OWNER_H
