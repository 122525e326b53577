#ifndef POLICY_POLICY_FILE_H
#define POLICY_POLICY_FILE_H

#include "policy/policy_format.h"

// Reads and decodes the policy in the file path, which the caller frees by policy_image_destroy.
// Errors: OCT_ENOTFOUND, OCT_EIO, and those of policy_decode, with one line for a person in reason
// (may be NULL with reason_size 0), which does not repeat the path.
//
// Threads: any.
OCT_CHECKED oct_err policy_file_load(policy_image **out, const char *path, char *reason,
                                     size_t reason_size);

// Only the bytes, at most POLICY_BYTES_MAX; *bytes is malloc'd, the caller frees it.
OCT_CHECKED oct_err policy_file_read(uint8_t **bytes, size_t *length, const char *path,
                                     char *reason, size_t reason_size);

// Writes the policy as the file path, completely or not at all. OCT_EIO: errno says why.
OCT_CHECKED oct_err policy_file_write(const char *path, const policy_image *image);

#endif // POLICY_POLICY_FILE_H
