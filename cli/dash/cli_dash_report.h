#ifndef CLI_DASH_CLI_DASH_REPORT_H
#define CLI_DASH_CLI_DASH_REPORT_H

#include <stddef.h>

#include "cli/dash/cli_dash_runs.h"
#include "common/oct_err.h"

// The page of octet dash as one file that needs no server and no network. It holds all answers that
// the page asks for (cli_dash_json.h), of the columns that most people view. Its
// Content-Security-Policy lets nothing else run.
//
// Threads: any.

// Writes the page to a file, which is replaced whole. Errors are those of oct_file_write. *length:
// bytes of the page.
OCT_CHECKED oct_err cli_dash_report_save(const char *path, const cli_dash_runs *runs,
                                         size_t *length);

// Largest video in a report, in bytes of its file; its text is a third longer.
#define CLI_DASH_REPORT_VIDEO_MAX (4u << 20)

#endif // CLI_DASH_CLI_DASH_REPORT_H
