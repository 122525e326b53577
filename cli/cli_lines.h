#ifndef CLI_CLI_LINES_H
#define CLI_CLI_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Observations as lines of text: the numbers of an observation, separated by blanks, tabs or
// commas. The length of a line is bounded.
//
// Threads: main thread. Owns: the row and the text; the stream is borrowed.
typedef struct cli_lines {
    const char *command; // for messages: "act"
    const char *name;    // of the file, for messages; NULL: standard input
    FILE *in;
    bool is_bytes; // observations are uint8; otherwise float32
    uint32_t obs_count;
    const char *env_id;      // the policy's environment, for messages
    void *row;               // [obs_count] numbers of the last line
    unsigned long long line; // number of the last line, from 1
    bool failed;             // a message was printed
    char *text;
    size_t text_bytes; // allocated; the most of a line
} cli_lines;

// The caller has set the fields up to env_id.
void cli_lines_begin(cli_lines *lines);
void cli_lines_end(cli_lines *lines);
// Reads the next observation into row. False: the input has ended, or (failed) the line is invalid.
bool cli_lines_next(cli_lines *lines);

#endif // CLI_CLI_LINES_H
