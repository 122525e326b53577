// Reasons for the user: formatted into a struct that is passed on as it is.
#include "common/oct_reason.h"

#include <stdarg.h>
#include <stdio.h>

void
oct_reason_set(oct_reason *why, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(why->text, sizeof(why->text), format, args);
        va_end(args);
    }
}

void
oct_reason_copy(const oct_reason *why, char *out, size_t size)
{
    (void)snprintf(out, size, "%s", why->text);
}
