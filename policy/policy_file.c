// Reads a policy from a file and writes it to one.
#include "policy/policy_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

oct_err
policy_file_read(uint8_t **bytes, size_t *length, const char *path, oct_reason *why)
{
    errno = 0;
    oct_err err = oct_file_read(path, POLICY_BYTES_MAX, bytes, length);
    if (err == OCT_OK) {
        return OCT_OK;
    }
    if (err == OCT_EINVAL) {
        oct_reason_set(why, "larger than %u bytes, the limit of a policy file", POLICY_BYTES_MAX);
    } else {
        oct_reason_set(why, "%s", errno != 0 ? oct_file_strerror(errno) : oct_strerror(err));
    }
    return err == OCT_EINVAL ? OCT_EPROTO : err;
}

oct_err
policy_file_load(policy_image **out, const char *path, oct_reason *why)
{
    uint8_t *bytes;
    size_t length;
    OCT_TRY(policy_file_read(&bytes, &length, path, why));
    oct_err err = policy_decode(out, bytes, length, why);
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
