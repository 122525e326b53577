// octet status of a run that has ended: its summary, or other information from its folder.

#include "cli/run/cli_ended.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/run/cli_report.h"
#include "common/oct_base.h"
#include "common/oct_text.h"

#define LINE_BYTES_MAX (1 << 16) // of metrics.csv

static void
print_json(FILE *out, const char *folder, const oct_config *config)
{
    json_t *summary = json_load_file("summary.json", 0, NULL);
    json_t *all = json_object();
    OCT_ASSERT(json_object_set_new(all, "folder", json_string(folder)) == 0 ||
               json_object_set_new(all, "folder", json_string("(not UTF-8)")) == 0);
    OCT_ASSERT(json_object_set_new(all, "ended", json_true()) == 0);
    OCT_ASSERT(json_object_set_new(all, "env", json_string(config->env.id)) == 0);
    OCT_ASSERT(json_object_set_new(all, "summary", summary != NULL ? summary : json_null()) == 0);
    char *line = json_dumps(all, JSON_COMPACT);
    OCT_ASSERT(line != NULL);
    fprintf(out, "%s\n", line);
    free(line);
    json_decref(all);
}

// Without what no terminal should get.
static void
print_line(FILE *out, const char *line, size_t length)
{
    static char quoted[LINE_BYTES_MAX + 4];
    fprintf(out, "%s\n", oct_text_quote(quoted, sizeof(quoted), line, length));
}

// "": there is only the header.
static void
print_last_line(FILE *out, const char *text, size_t length)
{
    const char *before = memrchr(text, '\n', length);
    const char *line = before != NULL ? before + 1 : text + length;
    print_line(out, line, length - (size_t)(line - text));
}

// The first and the last line of metrics.csv, which may have a million between them.
static void
print_metrics(FILE *out)
{
    static char text[LINE_BYTES_MAX];
    FILE *csv = fopen("metrics.csv", "re");
    size_t length = csv != NULL ? fread(text, 1, sizeof(text), csv) : 0;
    const char *names_end = memchr(text, '\n', length);
    if (names_end == NULL) {
        fprintf(out, "neither summary.json nor metrics.csv were written\n");
    } else {
        fprintf(out, "no summary.json: killed, or not saved; --resume continues it; last line of "
                     "metrics.csv:\n");
        print_line(out, text, (size_t)(names_end - text));
        if (fseek(csv, -LINE_BYTES_MAX, SEEK_END) != 0) { // it is shorter
            (void)fseek(csv, 0, SEEK_SET);
        }
        length = fread(text, 1, sizeof(text), csv);
        while (length > 0 && text[length - 1] == '\n') {
            length--;
        }
        print_last_line(out, text, length);
    }
    if (csv != NULL) {
        (void)fclose(csv);
    }
}

void
cli_ended_show(FILE *out, const char *folder, const oct_config *config, bool json)
{
    if (json) {
        print_json(out, folder, config);
        return;
    }
    fprintf(out, "%s: the run has ended\n", folder);
    if (!cli_report_print_ended(out, folder, config)) {
        print_metrics(out);
    }
}
