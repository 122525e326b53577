#ifndef CLI_DASH_CLI_DASH_REPORT_H
#define CLI_DASH_CLI_DASH_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "cli/dash/cli_dash_runs.h"
#include "common/oct_err.h"

// The page of octet dash as one file that needs no server and no network: everything that it asks
// for is in it (the answers of cli_dash_json.h, of the columns that most people look at), and its
// Content-Security-Policy lets nothing else run.
//
// Threads: any. Writes to out and leaves errors to the caller (ferror).
void cli_dash_report_write(FILE *out, const cli_dash_runs *runs);
// The same into a file, which is replaced whole. Errors: as oct_file_write. length: of the text.
OCT_CHECKED oct_err cli_dash_report_save(const char *path, const cli_dash_runs *runs,
                                         size_t *length);

// Of a video in a report, which is there as text.
#define CLI_DASH_REPORT_VIDEO_MAX (4u << 20)

#endif // CLI_DASH_CLI_DASH_REPORT_H
