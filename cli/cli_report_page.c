// octet report: writes the page of octet dash as one file, which can be mailed or archived.

#include "cli/cli_commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/dash/cli_dash_page.h"
#include "cli/dash/cli_dash_report.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define FOLDERS_MAX 256

typedef struct report_options {
    const char *html;
    char *folder[FOLDERS_MAX];
    uint32_t count;
} report_options;

static const oct_arg report_rows[] = {
    {OCT_ARG_OPERANDS("folders; name one folder that contains them all", report_options, folder,
                      count),
     .missing = "no RUN given; name a run folder, or a folder of run folders"},
    {OCT_ARG_PATH("html", "FILE", report_options, html),
     .help = "Write the report to FILE (default: report.html)"},
    {0},
};

static const oct_args report_args = {
    .rows = report_rows,
    .usage = "RUN...",
    .doc = "Writes what octet dash shows to one HTML file, which needs no server and no network, "
           "so that it can be mailed or published with a paper. RUN is a run folder, or contains "
           "run folders up to three levels deep.\v"
           "Example:\n"
           "  octet report runs/pole-1 runs/pole-2 runs/pole-3 --html pole.html",
};

int
cli_report_page(int argc, char **argv)
{
    static report_options options = {.html = "report.html"};
    cli_args_parse(&report_args, argc, argv, &options);
    if (!cli_dash_page_is_there()) {
        return cli_error("report", CLI_DASH_NO_PAGE);
    }
    for (uint32_t i = 0; i < options.count; i++) {
        if (access(options.folder[i], R_OK | X_OK) != 0) {
            return cli_error("report", "cannot read folder '%s': %s", options.folder[i],
                             oct_file_strerror(errno));
        }
    }
    cli_dash_runs *runs = cli_dash_runs_create(NULL, options.folder, options.count);
    uint32_t count = cli_dash_runs_count(runs), unshown = cli_dash_runs_unshown(runs);
    if (count == 0) {
        cli_error("report", "no run in '%s'%s; a run folder has a config.yaml", options.folder[0],
                  options.count > 1 ? " and the other folders" : "");
        cli_dash_runs_destroy(runs);
        return CLI_EXIT_FAILED;
    }
    size_t length;
    oct_err err = cli_dash_report_save(options.html, runs, &length);
    int why = errno;
    cli_dash_runs_destroy(runs);
    if (err != OCT_OK) {
        return cli_error("report", "cannot write '%s': %s", options.html, oct_file_strerror(why));
    }
    printf("%s: %u run%s, %s\n", options.html, count, oct_text_plural(count),
           cli_text_bytes((double)length).text);
    if (unshown > 0) {
        printf("%u older run%s left out; a report holds at most %d\n", unshown,
               unshown == 1 ? " is" : "s are", CLI_DASH_REPORT_RUNS_MAX);
    }
    return 0;
}
