#ifndef CLI_CLUSTER_CLI_CLUSTER_YAML_H
#define CLI_CLUSTER_CLI_CLUSTER_YAML_H

#include <stdbool.h>
#include <stdio.h>

// Text in YAML that somebody else's parser reads, whatever is in it. Threads: any.

// Whether YAML can hold text: UTF-8 without surrogates. Nothing else may be given to the others.
bool cli_yaml_is_text(const char *text);
// In double quotes, on one line: also what YAML would read as a number, a truth or a comment.
void cli_yaml_string(FILE *out, const char *text);
// The same for a word of a container's command line or environment, where Kubernetes replaces
// $(NAME), and $$ by one.
void cli_yaml_argument(FILE *out, const char *text);
// As the value of a key that has been written with its colon: a literal block with its lines
// indented by indent, or a string in quotes where a block cannot hold it. Ends the line.
void cli_yaml_block(FILE *out, const char *text, int indent);

#endif // CLI_CLUSTER_CLI_CLUSTER_YAML_H
