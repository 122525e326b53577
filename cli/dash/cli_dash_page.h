#ifndef CLI_DASH_CLI_DASH_PAGE_H
#define CLI_DASH_CLI_DASH_PAGE_H

#include <stdbool.h>
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

// False if the library that draws the charts was not found when Octet was built (meson_options.txt,
// dygraphs): the page cannot be shown then, and CLI_DASH_NO_PAGE says why.
static inline bool
cli_dash_page_is_there(void)
{
    return cli_dash_file_find("/dygraph.js") != NULL;
}
#define CLI_DASH_NO_PAGE                                                                           \
    "this octet was built without dygraphs, which draws the charts of its page; install it "       \
    "(Debian: libjs-dygraphs) or name its folder by meson configure -Ddygraphs=FOLDER, and build " \
    "again"

#endif // CLI_DASH_CLI_DASH_PAGE_H
