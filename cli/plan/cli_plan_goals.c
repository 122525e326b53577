// Looks up the steps to the goal of a preset.

#include "cli/plan/cli_plan_goals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_presets.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_program.h"

#define FILE_NAME      "presets/goals.csv"
#define FILE_BYTES_MAX (1u << 16)

// The file (bench/preset_goals.py prints it) has a line "preset,runs,low,median,high" for each
// preset: environment steps to the goal, over runs with different seeds. Comments begin with #. A
// line that does not parse counts as missing, so its preset has no estimate.
bool
cli_plan_goals_parse(cli_plan_goal *out, const char *text, const char *preset)
{
    size_t length = strlen(preset);
    for (const char *line = text; *line != '\0';) {
        size_t line_length = strcspn(line, "\n");
        unsigned runs;
        double low, mid, high;
        int end = 0;
        if (line[0] != '#' && strncmp(line, preset, length) == 0 && line[length] == ',' &&
            sscanf(line + length, ",%u,%lf,%lf,%lf%n", &runs, &low, &mid, &high, &end) == 4 &&
            length + (size_t)end == line_length && runs > 0 && low > 0 && low <= mid &&
            mid <= high && isfinite(high)) {
            out->runs = runs;
            out->steps = (cli_plan_range){low, mid, high};
            return true;
        }
        line += line_length + (line[line_length] == '\n');
    }
    return false;
}

// Returns true if a setting does not change what is learned.
static bool
is_neutral(const char *setting)
{
    static const char *const keys[] = {
        "run.seed",    "run.name",          "run.hang_s",           "run.env_hang_s",
        "run.wall_s",  "learner.metrics_s", "learner.metrics_rows", "learner.threads",
        "replay.path", "replay.sync"};
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        size_t length = strlen(keys[i]);
        if (strncmp(setting, keys[i], length) == 0 && setting[length] == '=') {
            return true;
        }
    }
    return false;
}

// Gets the name of a preset, such as "dmc/cheetah_run", from its path.
static bool
preset_name(char out[CLI_PATH_MAX], const char *path)
{
    static const char folder[] = "/presets/", suffix[] = ".yaml";
    const char *name = NULL;
    for (const char *at = path; (at = strstr(at, folder)) != NULL; at++) {
        name = at + strlen(folder);
    }
    size_t length = name != NULL ? strlen(name) : 0;
    if (length <= strlen(suffix) || !cli_preset_is(path)) {
        return false;
    }
    (void)snprintf(out, CLI_PATH_MAX, "%.*s", (int)(length - strlen(suffix)), name);
    return true;
}

// The steps hold only for the preset as it is, so one setting that changes what is learned makes
// them unknown.
void
cli_plan_goals_find(cli_plan_goal *out, const cli_experiment *experiment,
                    const config_experiment *config)
{
    // from the folder of the program, in a build tree
    static const char *const built[] = {"../..", "../../..", NULL};
    char path[CLI_PATH_MAX], preset[CLI_PATH_MAX];
    uint8_t *bytes;
    size_t length;
    *out = (cli_plan_goal){.goal_return = config->run.stop_at_return,
                           .steps = {NAN, NAN, NAN},
                           .time_s = {NAN, NAN, NAN}};
    bool is_preset = !isnan(config->run.stop_at_return) && preset_name(preset, experiment->path);
    for (size_t i = 0; i < experiment->setting_count; i++) {
        is_preset = is_preset && is_neutral(experiment->settings[i]);
    }
    if (is_preset && oct_program_find(path, sizeof(path), FILE_NAME, built, NULL) == OCT_OK &&
        oct_file_read(path, FILE_BYTES_MAX, &bytes, &length) == OCT_OK) {
        char *text = strndup((const char *)bytes, length);
        OCT_ASSERT(text != NULL);
        (void)cli_plan_goals_parse(out, text, preset);
        free(text);
        free(bytes);
    }
}
