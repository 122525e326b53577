// Makes, reads and prints values of JSON for the commands.

#include "cli/cli_json.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define FILE_BYTES_MAX (1u << 22)

json_t *
cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *
cli_json_whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *
cli_json_object(const cli_json_field *fields)
{
    json_t *object = json_object();
    for (; fields->name != NULL; fields++) {
        cli_json_put(object, fields->name, fields->value);
    }
    return object;
}

json_t *
cli_json_text(const char *bytes)
{
    json_t *out = json_string(bytes);
    return out != NULL ? out : json_string("(not UTF-8)");
}

double
cli_json_number_of(const json_t *object, const char *name, double fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
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
    if (oct_file_read(path, FILE_BYTES_MAX, &bytes, &length) == OCT_OK) {
        value = json_loadb((const char *)bytes, length, 0, NULL);
        free(bytes);
    }
    return value;
}

// Returns the code point of a character of one to three bytes of UTF-8; one byte may also be
// invalid UTF-8.
static unsigned
code_of(const char *text, size_t length)
{
    const uint8_t *bytes = (const uint8_t *)text;
    return length == 1   ? bytes[0]
           : length == 2 ? (bytes[0] & 0x1Fu) << 6 | (bytes[1] & 0x3Fu)
                         : (bytes[0] & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
}

char *
cli_json_print(const json_t *value, size_t flags)
{
    char *text = json_dumps(value, flags);
    OCT_ASSERT(text != NULL);
    size_t length = strlen(text), used = 0;
    char *out = oct_alloc(6 * length + 1); // "\\uXXXX" for each byte
    for (size_t i = 0, step; i < length; i += step) {
        // of JSON_INDENT; within strings a newline is already escaped
        bool is_layout = text[i] == '\n';
        size_t control = is_layout ? 0 : oct_text_control(text + i, length - i);
        size_t whole = oct_text_character((const uint8_t *)text + i, length - i);
        step = control > 0 ? control : OCT_MAX(whole, (size_t)1);
        if (control > 0) {
            used += (size_t)snprintf(out + used, 7, "\\u%04x", code_of(text + i, control));
        } else {
            memcpy(out + used, text + i, step);
            used += step;
        }
    }
    out[used] = '\0';
    free(text);
    return out;
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
