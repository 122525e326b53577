// Reads a policy from a file and writes it to one.
#include "policy/policy_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

oct_err
policy_file_read(uint8_t **bytes, size_t *length, const char *path, char *reason,
                 size_t reason_size)
{
    errno = 0;
    oct_err err = oct_file_read(path, POLICY_BYTES_MAX, bytes, length);
    if (err == OCT_OK) {
        return OCT_OK;
    }
    if (reason_size > 0 && err == OCT_EINVAL) {
        (void)snprintf(reason, reason_size, "larger than %u bytes, the limit of a policy file",
                       POLICY_BYTES_MAX);
    } else if (reason_size > 0) {
        (void)snprintf(reason, reason_size, "%s",
                       errno != 0 ? oct_file_strerror(errno) : oct_strerror(err));
    }
    return err == OCT_EINVAL ? OCT_EPROTO : err;
}

oct_err
policy_file_load(policy_image **out, const char *path, char *reason, size_t reason_size)
{
    uint8_t *bytes;
    size_t length;
    OCT_TRY(policy_file_read(&bytes, &length, path, reason, reason_size));
    oct_err err = policy_decode(out, bytes, length, reason, reason_size);
    free(bytes);
    return err;
}

oct_err
policy_file_write(const char *path, const policy_image *image)
{
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    oct_err err = oct_file_write(path, bytes, length);
    int saved = errno;
    free(bytes);
    errno = saved;
    return err;
}
