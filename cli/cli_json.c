// Values of JSON, as the commands that print it need them.

#include "cli/cli_json.h"

#include <math.h>

#include "common/oct_base.h"

json_t *
cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *
cli_json_text(const char *bytes)
{
    json_t *out = json_string(bytes);
    return out != NULL ? out : json_string("(not UTF-8)");
}

json_t *
cli_json_hexadecimal(uint64_t value)
{
    return json_sprintf("%016llx", (unsigned long long)value);
}

void
cli_json_put(json_t *object, const char *name, json_t *value)
{
    OCT_ASSERT(json_object_set_new(object, name, value) == 0);
}

void
cli_json_append(json_t *array, json_t *value)
{
    OCT_ASSERT(json_array_append_new(array, value) == 0);
}
