#ifndef PROTO_WIRE_CHECK_H
#define PROTO_WIRE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Checks of received values, shared by all decoders. Each returns true if the values are valid.
// Threads: any. Time: O(count).

bool wire_check_finite(const float *values, size_t count);
// Every value is at least low and at most high; NaN fails.
bool wire_check_range(const float *values, size_t count, float low, float high);
// Checks the flags of each row alone. A row has known flags only. An end row has reward 0 and,
// besides WIRE_END, at most WIRE_FAILED and WIRE_ROLLOUT. Any other row lacks WIRE_FAILED, and has
// WIRE_ROLLOUT only together with WIRE_FIRST.
bool wire_check_flags(const uint8_t *flags, const float *reward, size_t count);
// Checks the flags of count windows, each of `steps` rows: an end row follows an episode's last
// action, unless the window ends there.
bool wire_check_windows(const uint8_t *flags, size_t count, size_t steps);

// text is valid UTF-8 without control characters, of at most bytes_max bytes. length is the length
// on the wire: it differs from strlen if the text contains a NUL, and then the check fails.
bool wire_check_name(const char *text, size_t length, size_t bytes_max);
// The same, but tabs and ends of lines are allowed.
bool wire_check_text(const char *text, size_t length, size_t bytes_max);

#endif // PROTO_WIRE_CHECK_H
