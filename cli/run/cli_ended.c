// octet status of a run that has ended: its summary, or what else its folder knows.
#include "cli/run/cli_ended.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "cli/run/cli_report.h"
#include "common/oct_base.h"
#include "common/oct_csv.h"
#include "common/oct_file.h"

static void
print_json(FILE *out, const char *folder, const config_experiment *config)
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

enum { WALL_S, ENV_STEPS, UPDATES, EVAL_RETURN, NUMBERS };
static const char *const number_columns[NUMBERS] = {"wall_s", "env_steps", "updates",
                                                    "eval_return"};

static void
print_metrics(FILE *out)
{
    double number[NUMBERS];
    FILE *csv = oct_file_stream("metrics.csv", "r");
    int rows = csv != NULL ? oct_csv_last(csv, number_columns, NUMBERS, number) : -1;
    bool is_damaged = oct_file_is_there("summary.json");
    if (csv != NULL) {
        (void)fclose(csv);
    }
    if (rows < 0) {
        fputs(is_damaged ? "summary.json is damaged, and metrics.csv was not written\n"
                         : "neither summary.json nor metrics.csv was written\n",
              out);
        return;
    }
    fputs(
        is_damaged
            ? "summary.json is damaged; metrics.csv says:\n"
            : "no summary.json: the run was killed or could not be saved; --resume continues it\n",
        out);
    if (rows == 0) {
        fprintf(out, "  metrics.csv has no complete row\n");
        return;
    }
    cli_report_print_spent(out, number[WALL_S], number[ENV_STEPS], number[UPDATES]);
    if (isfinite(number[EVAL_RETURN])) { // the last rows may have no evaluation
        fprintf(out, "  return     %s in its last evaluation\n",
                cli_text_value(number[EVAL_RETURN]).text);
    }
}

void
cli_ended_show(FILE *out, const char *folder, const config_experiment *config, bool json)
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
