#ifndef CONFIG_CONFIG_YAML_H
#define CONFIG_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include <yaml.h>

#include "common/oct_text.h"

// Explains in plain sentences what is wrong with text that is not YAML. libyaml names a rule of its
// grammar, and often the line after the mistake, so these functions examine the lines themselves.
// Private to config/.
//
// Threads: any. Owns: nothing.

#define CONFIG_YAML_BYTES 256

// A mistake and its position. Lines and columns count from 0, as libyaml's marks do; columns are
// characters.
typedef struct config_mistake {
    size_t line, column;
    size_t from; // first line that may have been misread because of the mistake; <= line
    char what[CONFIG_YAML_BYTES]; // what was found and what is expected
} config_mistake;

// Explains the error of a parser that read text. is_file: text is a file, whose lines can be
// examined one by one; false: text is the value of --set.
void config_yaml_explain(config_mistake *out, const yaml_parser_t *parser, const char *text,
                         size_t length, bool is_file);
// Searches one line of a file for common mistakes: a tab at its start, no space after ':', '=' or
// nothing instead of ':', a quote that is not closed, a merge conflict. Returns false if the line
// has none. Call it for lines near an error only, because a line of good YAML may match, too.
bool config_yaml_check_line(config_mistake *out, const char *text, size_t length, size_t line);
// Adds the line to message, with its number, and a mark below the column.
void config_yaml_show(oct_text *message, const char *text, size_t length, size_t line,
                      size_t column);

#endif // CONFIG_CONFIG_YAML_H
