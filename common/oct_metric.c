// Names of the metrics that an environment measures.
#include "common/oct_metric.h"

#include <string.h>

#include "common/oct_text.h"

bool
oct_metric_is_name(const char *text)
{
    size_t length = strnlen(text, OCT_METRIC_NAME_BYTES);
    bool is_name = length > 0 && length < OCT_METRIC_NAME_BYTES;
    for (size_t i = 0; is_name && i < length; i++) {
        is_name = text[i] >= ' ' && text[i] <= '~';
    }
    return is_name;
}

bool
oct_metric_names_differ(const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k]) == 0) {
                return false;
            }
        }
    }
    return true;
}

void
oct_metric_names_of(oct_metric_names *out, const char *const *names, uint32_t count)
{
    out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        oct_text_copy(out->name[i], sizeof(out->name[i]), names[i]);
    }
}
