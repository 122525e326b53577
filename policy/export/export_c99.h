#ifndef POLICY_EXPORT_EXPORT_C99_H
#define POLICY_EXPORT_EXPORT_C99_H

#include "policy/policy_format.h"

// Exports a policy as one C99 header for programs without an operating system: weights in constant
// arrays, the arithmetic of policy_math.h, no allocation. docs/robot.md shows how to use it.
//
// Threads: any. Exactness (contract 3): NAME_outputs and NAME_act of the header give the bits of
// policy_forward and policy_act in every precision, and NAME_sample gives those of policy_sample.
// NAME_self_test checks this on the machine that runs it.

#define EXPORT_NAME_MAX 40

typedef struct export_c99_sizes {
    size_t flash_bytes; // bytes of all constant arrays
    size_t ram_bytes;   // bytes of the work space NAME_work
} export_c99_sizes;

// Returns true if name can begin the identifiers of a header: a letter, then letters, digits and
// underscores, at most EXPORT_NAME_MAX characters.
bool export_c99_name_is_valid(const char *name);

typedef struct export_c99_options {
    const char *name; // passes export_c99_name_is_valid
    // Adds NAME_sample, which samples an action as policy_sample does. Only for heads with a
    // distribution (policy_spec_extra_dim above 0).
    bool with_sampling;
    uint32_t action_repeat; // control steps for which training held an action; 0: not known
} export_c99_options;

// Writes the header for image. The caller frees *out with free.
void export_c99(char **out, size_t *length, export_c99_sizes *sizes, const policy_image *image,
                const export_c99_options *options);

#endif // POLICY_EXPORT_EXPORT_C99_H
