// Who may change a file: its owner, and whom its mode lets write.
#include "common/oct_owner.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_text.h"

bool
oct_owner_is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

oct_err
oct_owner_check(const char *path, bool may_be_sticky, char *reason, size_t reason_size)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return oct_refuse(reason, reason_size, "'%s': %s", path, strerror(errno));
    }
    if (!oct_owner_is_trusted(status.st_uid)) {
        return oct_refuse(reason, reason_size, "'%s' belongs to user %u, who could change it", path,
                          (unsigned)status.st_uid);
    }
    bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if (others_write && !(may_be_sticky && is_sticky)) {
        return oct_refuse(reason, reason_size,
                          "'%s' can be written by other users: chmod go-w, or use another", path);
    }
    return OCT_OK;
}
