#ifndef EXPORT_EXPORT_C99_H
#define EXPORT_EXPORT_C99_H

#include "policy/policy_format.h"

// A policy as one C99 header for programs without an operating system: weights in constant arrays,
// the arithmetic of policy_math.h, no allocation. docs/robot.md shows how it is used.
//
// Threads: any. Exactness (contract 3): NAME_outputs and NAME_act of the header give the bits of
// policy_forward and policy_act, in every precision, NAME_sample those of policy_sample; and
// NAME_self_test tells on the machine that runs it whether they do.

#define EXPORT_NAME_MAX 40

typedef struct export_c99_sizes {
    size_t flash_bytes; // of all constant arrays
    size_t ram_bytes;   // of the work space NAME_work
} export_c99_sizes;

// Whether name can begin the identifiers of a header: a letter, then letters, digits and
// underscores, at most EXPORT_NAME_MAX.
bool export_c99_name_is_valid(const char *name);

typedef struct export_c99_options {
    const char *name; // valid
    // NAME_sample, too, which draws an action as policy_sample does; only where the head has a
    // distribution (policy_spec_extra_dim above 0).
    bool with_sampling;
    uint32_t action_repeat; // control steps of an action in training, 0: not known
} export_c99_options;

// Writes the header for image. *out is malloc'd, the caller frees it.
void export_c99(char **out, size_t *length, export_c99_sizes *sizes, const policy_image *image,
                const export_c99_options *options);

#endif // EXPORT_EXPORT_C99_H
