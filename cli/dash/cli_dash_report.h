#ifndef CLI_DASH_CLI_DASH_REPORT_H
#define CLI_DASH_CLI_DASH_REPORT_H

#include <stdio.h>

#include "cli/dash/cli_dash_runs.h"

// The page of octet dash as one file that needs no server and no network: everything that it asks
// for is in it (the answers of cli_dash_json.h, of the columns that most people look at), and its
// Content-Security-Policy lets nothing else run.
//
// Threads: any. Writes to out and leaves errors to the caller (ferror).
void cli_dash_report_write(FILE *out, const cli_dash_runs *runs);

// Of a video in a report, which is there as text.
#define CLI_DASH_REPORT_VIDEO_MAX (4u << 20)

#endif // CLI_DASH_CLI_DASH_REPORT_H
