// octet compare: runs side by side, grouped by configuration.

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_options.h"
#include "cli/runs/cli_comparison.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define FOLDERS_MAX 1000
#define NOTE_BYTES  (2 * CLI_SERIES_FOLDER_MAX + CLI_SERIES_REASON_MAX)

typedef struct compare_options {
    const char *folder[FOLDERS_MAX];
    size_t folder_count;
    cli_comparison_by by; // CLI_COMPARISON_BYS: cli_comparison_by_default decides
    double threshold;     // NaN: run.stop_at_return of each configuration
    const char *svg;
    bool json;
} compare_options;

static const oct_arg compare_rows[] = {
    {OCT_ARG_OPERANDS("folders", compare_options, folder, folder_count),
     .missing = "no run folder given"},
    {OCT_ARG_WORD("by", "WHAT", compare_options, by, cli_comparison_by_words),
     .help = "Draw the curves over steps, updates or time (default: steps, or updates where every "
             "run learns from a data set alone)"},
    {OCT_ARG_NUMBER("threshold", "R", compare_options, threshold, -1e300, 1e300),
     .help =
         "Show when each run reaches return R (default: run.stop_at_return of the configuration)"},
    {OCT_ARG_PATH("svg", "FILE", compare_options, svg),
     .help = "Also draw the curves to an SVG file"},
    {OCT_ARG_FLAG("json", compare_options, json),
     .help = "Print the comparison as one line of JSON instead"},
    {0},
};

static const oct_args compare_args = {
    .rows = compare_rows,
    .usage = "RUN…",
    .doc = "Compares runs: returns, steps and time to a threshold, learning curves. Runs whose "
           "configurations differ only in the seed form a group. For each group, prints the mean "
           "and the spread and, with 95 % bootstrap intervals, the interquartile mean and the "
           "probability that a run is better than a run of the first group.\v"
           "RUN is a run folder, or a folder of runs, such as that of a sweep.\n\n"
           "Example:\n"
           "  octet compare runs/a runs/b --threshold 475 --svg compare.svg",
};

static int
show(const compare_options *options, const cli_comparison *compare)
{
    if (options->json) {
        json_t *json = cli_comparison_json(compare);
        char *text = cli_json_print(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
        printf("%s\n", text);
        free(text);
        json_decref(json);
    } else {
        cli_comparison_print(compare, stdout);
    }
    if (options->svg != NULL &&
        cli_comparison_draw(compare, "Comparison", options->svg) != OCT_OK) {
        return cli_error("compare", "cannot write '%s': %s", options->svg,
                         oct_file_strerror(errno));
    }
    return 0;
}

// ---- notes

static void OCT_PRINTF(1, 2) note(const char *format, ...)
{
    char line[NOTE_BYTES], plain[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "octet compare: note: %s\n",
            oct_text_quote(plain, sizeof(plain), line, strlen(line)));
}

// Returns true if two runs of one group have the same seed.
static bool
is_same_setup(const cli_comparison *compare, uint32_t a, uint32_t b)
{
    const cli_series *x = compare->runs->series[a], *y = compare->runs->series[b];
    return compare->group_of[a] == compare->group_of[b] && x->config.run.seed == y->config.run.seed;
}

// Notes runs with the same configuration and the same seed: they are one run done twice, and make
// the spread look smaller. All of them are in one note, which is printed with the first.
static void
note_same_setup(const cli_comparison *compare, uint32_t first)
{
    char more[32] = "";
    uint32_t second = 0, count = 1;
    for (uint32_t i = 0; i < compare->runs->count; i++) {
        if (i != first && is_same_setup(compare, first, i)) {
            if (i < first) {
                return;
            }
            second = count++ == 1 ? i : second;
        }
    }
    if (count == 1) {
        return;
    }
    if (count > 2) {
        (void)snprintf(more, sizeof(more), " and %u more", count - 2);
    }
    cli_series *const *series = compare->runs->series;
    note("%s%s%s%s have the same configuration and the same seed, %" PRIu64, series[first]->folder,
         count > 2 ? ", " : " and ", series[second]->folder, more, series[first]->config.run.seed);
}

static void
print_notes(const cli_comparison *compare)
{
    const cli_comparison_runs *runs = compare->runs;
    for (uint32_t i = 0; i < runs->copies; i++) {
        note("%s is a copy of %s and is not counted", runs->copy[i].series->folder,
             runs->copy[i].of->folder);
    }
    for (uint32_t i = 0; i < runs->count; i++) {
        if (runs->series[i]->why[0] != '\0') { // its configuration cannot be read
            note("%s: %s; it forms its own group", runs->series[i]->folder, runs->series[i]->why);
        }
        note_same_setup(compare, i);
    }
}

int
cli_compare_run(int argc, char **argv)
{
    static compare_options options = {.by = CLI_COMPARISON_BYS, .threshold = NAN};
    static cli_comparison_runs runs;
    oct_reason why;
    cli_args_parse(&compare_args, argc, argv, &options);
    if (cli_comparison_open(&runs, options.folder, options.folder_count, options.threshold, &why) !=
        OCT_OK) {
        return cli_error("compare", "%s", why.text);
    }
    cli_comparison_by by =
        options.by == CLI_COMPARISON_BYS ? cli_comparison_by_default(&runs) : options.by;
    cli_comparison *compare = cli_comparison_create(&runs, by, false);
    print_notes(compare);
    int exit_code = show(&options, compare);
    cli_comparison_destroy(compare);
    cli_comparison_close(&runs);
    return exit_code;
}
