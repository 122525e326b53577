#ifndef POLICY_POLICY_FILE_H
#define POLICY_POLICY_FILE_H

#include "common/oct_reason.h"
#include "policy/policy_format.h"

// Policy files: reads, decodes and writes them.
//
// Threads: any.

// Reads and decodes the policy in the file path. The caller frees *out with policy_image_destroy.
// Errors: OCT_ENOTFOUND, OCT_EIO, and those of policy_decode. On an error, why (may be NULL) has
// one line for the user, which does not repeat the path.
OCT_CHECKED oct_err policy_file_load(policy_image **out, const char *path, oct_reason *why);

// Reads only the bytes of the file. The caller frees *bytes with free. Errors as above, with
// OCT_EPROTO for a file of more than POLICY_BYTES_MAX bytes.
OCT_CHECKED oct_err policy_file_read(uint8_t **bytes, size_t *length, const char *path,
                                     oct_reason *why);

// Writes the policy to the file path, completely or not at all. OCT_EIO: errno has the cause.
OCT_CHECKED oct_err policy_file_write(const char *path, const policy_image *image);

#endif // POLICY_POLICY_FILE_H
