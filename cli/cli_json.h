#ifndef CLI_CLI_JSON_H
#define CLI_CLI_JSON_H

#include <stdint.h>

#include <jansson.h>

// Helpers for output in JSON. Results are new references. Running out of memory ends the process.
// Threads: any.

json_t *cli_json_number(double value); // null if it is not finite
json_t *cli_json_whole(uint64_t value);
json_t *cli_json_text(const char *bytes); // "(not UTF-8)" if it is invalid
// "0123456789abcdef", 16 digits.
json_t *cli_json_hexadecimal(uint64_t value);
// Makes an object of fields, {"name", value}, and takes the references to their values.
#define CLI_JSON_OBJECT(...) cli_json_object((const cli_json_field[]){__VA_ARGS__, {NULL, NULL}})
typedef struct cli_json_field {
    const char *name;
    json_t *value;
} cli_json_field;
json_t *cli_json_object(const cli_json_field *fields); // a field without a name follows the last
// Returns the number that an object has under this name, or fallback.
double cli_json_number_of(const json_t *object, const char *name, double fallback);
// Reads a file of a run folder; NULL: there is none, or it is not JSON.
json_t *cli_json_read(const char *path);
// Prints like json_dumps, and escapes as \uXXXX the characters that a terminal obeys or that
// reorder text (oct_text_control). malloc'd.
char *cli_json_print(const json_t *value, size_t flags);
// Both take the reference to value.
void cli_json_put(json_t *object, const char *name, json_t *value);
void cli_json_append(json_t *array, json_t *value);

#endif // CLI_CLI_JSON_H
