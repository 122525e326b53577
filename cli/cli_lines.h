#ifndef CLI_CLI_LINES_H
#define CLI_CLI_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Observations as lines of text: the numbers of one, separated by blanks, tabs or commas. Bounded:
// a line has a longest length.
//
// Threads: main thread. Owns: the row; the stream is the caller's.
typedef struct cli_lines {
    const char *command; // for messages: "act"
    const char *name;    // of the file, for messages; NULL: standard input
    FILE *in;
    bool is_bytes; // observations are uint8, else float32
    uint32_t obs_count;
    const char *env_id;      // what the policy is for; for messages
    void *row;               // [obs_count] of the last line
    unsigned long long line; // its number, from 1
    bool failed;             // a message was printed
    char *text;
    size_t text_bytes;
} cli_lines;

// The fields up to env_id are set.
void cli_lines_begin(cli_lines *lines);
void cli_lines_end(cli_lines *lines);
// The next observation in row. False: the end, or (failed) a line that is none.
bool cli_lines_next(cli_lines *lines);

#endif // CLI_CLI_LINES_H
