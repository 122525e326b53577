// octet status of a run that has ended: its summary, or other information from its folder.

#include "cli/run/cli_ended.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "cli/run/cli_report.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "learner/learner_rows.h"

#define LINE_BYTES_MAX (1 << 16) // of metrics.csv

static void
print_json(FILE *out, const char *folder, const oct_config *config)
{
    json_t *summary = cli_json_read("summary.json");
    json_t *all = json_object();
    OCT_ASSERT(json_object_set_new(all, "folder", json_string(folder)) == 0 ||
               json_object_set_new(all, "folder", json_string("(not UTF-8)")) == 0);
    OCT_ASSERT(json_object_set_new(all, "ended", json_true()) == 0);
    OCT_ASSERT(json_object_set_new(all, "env", json_string(config->env.id)) == 0);
    OCT_ASSERT(json_object_set_new(all, "summary", summary != NULL ? summary : json_null()) == 0);
    char *line = cli_json_print(all, JSON_COMPACT);
    fprintf(out, "%s\n", line);
    free(line);
    json_decref(all);
}

// What is told of a row of metrics.csv: of each number the newest value in its last rows.
enum { WALL_S, ENV_STEPS, UPDATES, EVAL_RETURN, NUMBERS };
static const char *const number_columns[NUMBERS] = {"wall_s", "env_steps", "updates",
                                                    "eval_return"};

// Where the columns are, and how many there are; -1: it is not there.
static uint32_t
columns_find(const char *line, size_t length, int at[NUMBERS])
{
    uint32_t count = 0;
    for (int i = 0; i < NUMBERS; i++) {
        at[i] = -1;
    }
    for (const char *name = line, *end = line + length; name <= end; count++) {
        const char *comma = memchr(name, ',', (size_t)(end - name));
        size_t size = (size_t)((comma != NULL ? comma : end) - name);
        for (int i = 0; i < NUMBERS; i++) {
            bool is_it =
                strlen(number_columns[i]) == size && memcmp(number_columns[i], name, size) == 0;
            at[i] = is_it ? (int)count : at[i];
        }
        name += size + 1;
    }
    return count;
}

// False: no line of text is a row. The first line may have begun before text, and the last one may
// not be whole.
static bool
rows_read(const char *text, size_t length, uint32_t columns, const int at[NUMBERS],
          double out[NUMBERS])
{
    double *row = oct_alloc(columns * sizeof(*row));
    bool has_row = false;
    for (int i = 0; i < NUMBERS; i++) {
        out[i] = NAN;
    }
    const char *end = memrchr(text, '\n', length), *before;
    for (; end != NULL && (before = memrchr(text, '\n', (size_t)(end - text))) != NULL;
         end = before) {
        if (learner_rows_parse(before + 1, (size_t)(end - before), columns, row)) {
            has_row = true;
            for (int i = 0; i < NUMBERS; i++) {
                out[i] = isnan(out[i]) && at[i] >= 0 ? row[at[i]] : out[i];
            }
        }
    }
    free(row);
    return has_row;
}

// The end of metrics.csv, which may have a million rows before it.
static void
print_metrics(FILE *out)
{
    static char text[LINE_BYTES_MAX + 1];
    double number[NUMBERS];
    int at[NUMBERS];
    FILE *csv = oct_file_stream("metrics.csv", "r");
    size_t length = csv != NULL ? fread(text, 1, LINE_BYTES_MAX, csv) : 0;
    const char *names_end = memchr(text, '\n', length);
    bool is_damaged = oct_file_is_there("summary.json");
    if (names_end == NULL) {
        fputs(is_damaged ? "summary.json is damaged, and metrics.csv was not written\n"
                         : "neither summary.json nor metrics.csv was written\n",
              out);
    } else {
        uint32_t columns = columns_find(text, (size_t)(names_end - text), at);
        fputs(is_damaged ? "summary.json is damaged; metrics.csv says:\n"
                         : "no summary.json: the run was killed or could not be saved; --resume "
                           "continues it\n",
              out);
        if (fseek(csv, -LINE_BYTES_MAX, SEEK_END) != 0) { // it is shorter
            (void)fseek(csv, 0, SEEK_SET);
        }
        length = fread(text, 1, LINE_BYTES_MAX, csv);
        text[length] = '\0';
        if (rows_read(text, length, columns, at, number)) {
            cli_report_print_spent(out, number[WALL_S], number[ENV_STEPS], number[UPDATES]);
            if (isfinite(number[EVAL_RETURN])) { // the last rows may have none
                fprintf(out, "  return     %s in its last evaluation\n",
                        cli_text_value(number[EVAL_RETURN]).text);
            }
        } else {
            fprintf(out, "  metrics.csv has no complete row\n");
        }
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
