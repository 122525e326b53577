#ifndef CLI_DASH_CLI_DASH_PAGE_H
#define CLI_DASH_CLI_DASH_PAGE_H

#include <stddef.h>

// The page of octet dash, as bytes of this program: cli_dash_page.c is written by embed.py, when
// Octet is built, of the files in cli/dash/page and of the library that draws its charts.
//
// Threads: any. All is static.
typedef struct cli_dash_file {
    const char *path; // "/", "/dash.js" …
    const char *type; // of HTTP
    const char *bytes;
    size_t length;
    const char *hash; // "'sha256-…'", as a Content-Security-Policy names it
} cli_dash_file;

extern const cli_dash_file cli_dash_files[];
extern const size_t cli_dash_file_count;

const cli_dash_file *cli_dash_file_find(const char *path); // NULL: there is none

#endif // CLI_DASH_CLI_DASH_PAGE_H
