// Values of JSON, as the commands that print it need them.

#include "cli/cli_json.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define FILE_BYTES_MAX (1u << 22)

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

json_t *
cli_json_read(const char *path)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    json_t *value = NULL;
    if (oct_file_read_plain(path, FILE_BYTES_MAX, &bytes, &length, NULL) == OCT_OK) {
        value = json_loadb((const char *)bytes, length, 0, NULL);
        free(bytes);
    }
    return value;
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
