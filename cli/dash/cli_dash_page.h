#ifndef CLI_DASH_CLI_DASH_PAGE_H
#define CLI_DASH_CLI_DASH_PAGE_H

#include <stdbool.h>
#include <stddef.h>

// The page of octet dash, as bytes in this program. embed.py writes cli_dash_page.c when Octet is
// built, from the files in cli/dash/page and the library that draws the charts.
//
// Threads: any. Everything is static.
typedef struct cli_dash_file {
    const char *path; // of the URL: "/", "/dash.js" …
    const char *type; // MIME type
    const char *bytes;
    size_t length;
    const char *hash; // "'sha256-…'", for a Content-Security-Policy
} cli_dash_file;

extern const cli_dash_file cli_dash_files[];
extern const size_t cli_dash_file_count;

const cli_dash_file *cli_dash_file_find(const char *path); // NULL: there is none

// Returns false if the library that draws the charts was not found when Octet was built
// (meson_options.txt, dygraphs). The page cannot be shown then; CLI_DASH_NO_PAGE says why.
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
