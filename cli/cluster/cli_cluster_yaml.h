#ifndef CLI_CLUSTER_CLI_CLUSTER_YAML_H
#define CLI_CLUSTER_CLI_CLUSTER_YAML_H

#include <stdbool.h>
#include <stdio.h>

// Writes any text as YAML for another program's parser. Threads: any.

// Returns true if YAML can hold text: UTF-8 without surrogates. The other functions must not be
// given anything else.
bool cli_yaml_is_text(const char *text);
// Writes text in double quotes on one line, so that it is not read as a number, a boolean or a
// comment.
void cli_yaml_string(FILE *out, const char *text);
// The same for a word of a container's command line or environment, in which Kubernetes replaces
// $(NAME), and $$ by $.
void cli_yaml_argument(FILE *out, const char *text);
// Writes text as the value of a key that was written with its colon: a literal block with lines
// indented by indent, or a quoted string if a block cannot hold the text. Ends the line.
void cli_yaml_block(FILE *out, const char *text, int indent);

#endif // CLI_CLUSTER_CLI_CLUSTER_YAML_H
