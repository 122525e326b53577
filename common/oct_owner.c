// Decides whether another user could change a file, by its owner and its mode.
#include "common/oct_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

bool
oct_owner_is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

oct_err
oct_owner_check(const char *path, bool may_be_sticky, oct_reason *why)
{
    struct stat status;
    if (oct_file_stat(path, &status) != 0) {
        return oct_refuse(why, "'%s': %s", path, oct_file_strerror(errno));
    }
    if (!oct_owner_is_trusted(status.st_uid)) {
        return oct_refuse(why, "'%s' belongs to user %u, who could change it", path,
                          (unsigned)status.st_uid);
    }
    // A group with the number of its user, as Debian makes one for each user.
    bool is_own_group =
        status.st_gid != 0 && status.st_gid == (gid_t)status.st_uid && status.st_gid == getegid();
    bool others_write = (status.st_mode & (is_own_group ? S_IWOTH : S_IWGRP | S_IWOTH)) != 0;
    bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if (others_write && !(may_be_sticky && is_sticky)) {
        return oct_refuse(why, "'%s' can be written by other users: chmod go-w, or use another",
                          path);
    }
    return OCT_OK;
}

oct_err
oct_owner_check_way(const char *path, size_t strict_length, oct_reason *why)
{
    char part[PATH_MAX];
    (void)snprintf(part, sizeof(part), "%s", path);
    // From the path up to the root; length is that of the part that is checked.
    for (size_t length = strlen(part); length > 0; length--) {
        if (length == strlen(path) || part[length] == '/') {
            part[length] = '\0';
            OCT_TRY(oct_owner_check(part, length < strict_length, why));
        }
    }
    return oct_owner_check("/", strict_length > 1, why);
}

bool
oct_owner_is_unpacked(const char *path)
{
    char mark[PATH_MAX + sizeof(OCT_OWNER_UNPACKED) + 1]; // the file that marks an unpacked folder
    size_t length = strlen(path);
    OCT_ASSERT(length < PATH_MAX);
    (void)snprintf(mark, sizeof(mark), "%s", path);
    for (;; length--) {
        if (length == strlen(path) || path[length] == '/') {
            (void)snprintf(mark + length, sizeof(mark) - length, "/" OCT_OWNER_UNPACKED);
            if (faccessat(AT_FDCWD, mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
                return true;
            }
        }
        if (length == 0) {
            return false;
        }
    }
}
