#ifndef CLI_CLI_JSON_H
#define CLI_CLI_JSON_H

#include <stdint.h>

#include <jansson.h>

// What outputs in JSON share. New references; no room ends the process. Threads: any.

json_t *cli_json_number(double value);    // null unless it is finite
json_t *cli_json_text(const char *bytes); // "(not UTF-8)" where it is cut or foreign
json_t *cli_json_hexadecimal(uint64_t value);
// What an object has as a number by this name; otherwise fallback.
double cli_json_number_of(const json_t *object, const char *name, double fallback);
// What a plain file of a run folder holds; NULL: there is none, or it is no JSON.
json_t *cli_json_read(const char *path);
// json_dumps for output: what a terminal may obey, or what reorders text (oct_text_control), is
// escaped as \uXXXX. malloc'd.
char *cli_json_print(const json_t *value, size_t flags);
// Takes value.
void cli_json_put(json_t *object, const char *name, json_t *value);
void cli_json_append(json_t *array, json_t *value);

#endif // CLI_CLI_JSON_H
