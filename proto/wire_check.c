// Checks that all decoders share: finite numbers, ranges, names and texts.
#include "proto/wire_check.h"

#include <string.h>

#include "common/oct_text.h"
#include "proto/wire.h"

// The loops over columns have no early exit, so that compilers vectorise them.
bool
wire_check_finite(const float *values, size_t count)
{
    const uint32_t exponent = 0x7f800000u;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        bad |= (uint32_t)((bits & exponent) == exponent);
    }
    return bad == 0;
}

bool
wire_check_range(const float *values, size_t count, float low, float high)
{
    uint32_t good = 1;
    for (size_t i = 0; i < count; i++) {
        good &= (uint32_t)(values[i] >= low) & (uint32_t)(values[i] <= high);
    }
    return good != 0;
}

bool
wire_check_flags(const uint8_t *flags, const float *reward, size_t count)
{
    uint32_t good = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = flags[i], end = (row & WIRE_END) != 0;
        uint32_t edge = (row & (WIRE_ROLLOUT | WIRE_FIRST)) ==
                        WIRE_ROLLOUT; // a rollout begins on a row that is not first
        uint32_t failed = (row & WIRE_FAILED) != 0;
        uint32_t others = (row & ~(uint32_t)(WIRE_END | WIRE_FAILED | WIRE_ROLLOUT)) != 0;
        good &= (uint32_t)((row & ~(uint32_t)WIRE_FLAGS) == 0);
        good &= (uint32_t)(end != 0 ? others == 0 : (failed | edge) == 0);
        good &= (uint32_t)(end == 0) | (uint32_t)(reward[i] == 0.0f);
    }
    return good != 0;
}

bool
wire_check_windows(const uint8_t *flags, size_t count, size_t steps)
{
    uint32_t good = 1;
    for (size_t i = 1; i < count * steps; i++) {
        uint32_t inside = i % steps != 0;
        uint32_t after_last = (flags[i - 1] & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0;
        uint32_t is_end = (flags[i] & WIRE_END) != 0;
        good &= is_end | (uint32_t)((inside & after_last) == 0);
    }
    return good != 0;
}

static bool
text_is_clean(const char *text, size_t length, size_t bytes_max, const char *allowed_controls)
{
    if (length > bytes_max) {
        return false;
    }
    for (size_t at = 0; at < length;) {
        size_t control = oct_text_control(text + at, length - at);
        if (control > 0 && (text[at] == '\0' || strchr(allowed_controls, text[at]) == NULL)) {
            return false;
        }
        size_t step = oct_text_character((const uint8_t *)text + at, length - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

bool
wire_check_name(const char *text, size_t length, size_t bytes_max)
{
    return text_is_clean(text, length, bytes_max, "");
}

bool
wire_check_text(const char *text, size_t length, size_t bytes_max)
{
    return text_is_clean(text, length, bytes_max, "\t\n\r");
}
