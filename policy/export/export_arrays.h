#ifndef POLICY_EXPORT_EXPORT_ARRAYS_H
#define POLICY_EXPORT_EXPORT_ARRAYS_H

#include <stdio.h>

#include "policy/policy_format.h"

// Writes the tensors of image as constant C arrays NAME_w0, NAME_b0 and so on: for each layer its
// weights w, multipliers m (INT4), scales s, bias b, gain g and offset o; with_sampling also the
// log deviations d0 of a head that has its own. Returns the bytes of all numbers.
//
// Threads: any.
size_t export_arrays_write(FILE *out, const policy_image *image, const char *name,
                           bool with_sampling);

#endif // POLICY_EXPORT_EXPORT_ARRAYS_H
