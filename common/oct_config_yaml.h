#ifndef COMMON_OCT_CONFIG_YAML_H
#define COMMON_OCT_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include <yaml.h>

#include "common/oct_text.h"

// What is wrong with text that is not YAML, in plain sentences. libyaml names a rule of its grammar
// and often the line after the mistake; these functions look at the lines themselves. Private to
// oct_config*.c.
//
// Threads: any. Owns: nothing.

#define OCT_CONFIG_YAML_BYTES 256

// A mistake and its place. Lines and columns count from 0, as libyaml's marks do; columns are
// characters.
typedef struct oct_config_mistake {
    size_t line, column;
    size_t from; // the first line that may have been misread for it; from <= line
    char what[OCT_CONFIG_YAML_BYTES]; // what was found and what is expected
} oct_config_mistake;

// Explains the error of a parser. text is what the parser got. is_file: text is a whole file, of
// which each line stands for itself; false: the value of --set.
void oct_config_yaml_explain(oct_config_mistake *out, const yaml_parser_t *parser, const char *text,
                             size_t length, bool is_file);
// Looks at one line of a file for what people write by mistake: a tab at its start, no space after
// ':', '=' or nothing in place of ':', a quote that is not closed, a merge conflict. Returns false
// if the line has none of them; a line of good YAML may have one, so this is for lines near an
// error.
bool oct_config_yaml_look(oct_config_mistake *out, const char *text, size_t length, size_t line);
// Adds the line, with its number, and a mark below the column.
void oct_config_yaml_show(oct_text *message, const char *text, size_t length, size_t line,
                          size_t column);

#endif // COMMON_OCT_CONFIG_YAML_H
