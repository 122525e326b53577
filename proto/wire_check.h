#ifndef PROTO_WIRE_CHECK_H
#define PROTO_WIRE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Checks of a received value, shared by all decoders. Threads: any. O(count).

bool wire_check_finite(const float *values, size_t count);
// Every value is at least low and at most high; NaN is not.
bool wire_check_range(const float *values, size_t count, float low, float high);
// Flags of rows, each for itself: known ones only; an end row has no others but failed, and reward
// 0; no other row is failed.
bool wire_check_flags(const uint8_t *flags, const float *reward, size_t count);
// Flags of count windows of so many rows: behind an episode's last action is an end row, unless the
// window ends there.
bool wire_check_windows(const uint8_t *flags, size_t count, size_t steps);

// Valid UTF-8 without control characters, of at most bytes_max bytes. length is what came over the
// wire: it differs from strlen when a NUL was inside, and the text is refused.
bool wire_check_name(const char *text, size_t length, size_t bytes_max);
// The same, but tabs and ends of lines are allowed.
bool wire_check_text(const char *text, size_t length, size_t bytes_max);

#endif // PROTO_WIRE_CHECK_H
