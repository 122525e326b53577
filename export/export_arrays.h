#ifndef EXPORT_EXPORT_ARRAYS_H
#define EXPORT_EXPORT_ARRAYS_H

#include <stdio.h>

#include "policy/policy_format.h"

// The tensors of image as constant C arrays NAME_w0, NAME_b0 and so on: of layer l its weights w,
// multipliers m (INT4), scales s, bias b, gain g and offset o; with_sampling the log deviations d0
// of a head that has its own. Returns the bytes of their numbers.
//
// Threads: any.
size_t export_arrays_write(FILE *out, const policy_image *image, const char *name,
                           bool with_sampling);

#endif // EXPORT_EXPORT_ARRAYS_H
