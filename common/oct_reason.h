#ifndef COMMON_OCT_REASON_H
#define COMMON_OCT_REASON_H

#include <stddef.h>

#include "common/oct_base.h"
#include "common/oct_err.h"

// Why something was refused or failed: one line for the user, without a full stop, which names the
// file, key or value and what is allowed. Functions that may fail for reasons that a user can mend
// take an `oct_reason *why`, which may be NULL; they write it only when they fail.
// Threads: any. Owns: nothing; text is cut to the struct and always 0-terminated.

#define OCT_REASON_BYTES 2048 // a sentence and a long path

typedef struct oct_reason {
    char text[OCT_REASON_BYTES];
} oct_reason;

void oct_reason_set(oct_reason *why, const char *format, ...) OCT_PRINTF(2, 3);
// Sets why; its value is err, for `return oct_fail(why, OCT_EIO, …)`. A macro, so that the compiler
// sees which error is returned.
#define oct_fail(why, err, ...) (oct_reason_set((why), __VA_ARGS__), (oct_err)(err))
// The same with OCT_EINVAL: the input is wrong.
#define oct_refuse(why, ...) oct_fail(why, OCT_EINVAL, __VA_ARGS__)

// Copies the text for a caller that has a plain buffer, as those of the public API; size may be 0.
void oct_reason_copy(const oct_reason *why, char *out, size_t size);

#endif // COMMON_OCT_REASON_H
