// Groups runs by configuration, and computes the results of each group.

#include "cli/runs/cli_comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_json.h"
#include "cli/runs/cli_run_list.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_plot.h"
#include "common/oct_reason.h"
#include "common/oct_spread.h"
#include "common/oct_text.h"
#include "config/config_text.h"
#include "learner/learner_evals.h"

#define ROWS_MIN 512        // least rows of a run in memory
#define ROWS_ALL (1u << 18) // rows of all runs together

const char *const cli_comparison_by_words[] = {"steps", "updates", "time", NULL};
static const char *const by_columns[CLI_COMPARISON_BYS] = {"env_steps", "updates", "wall_s"};

// ---- mean and spread

// Finite numbers of a group's runs.
typedef struct numbers {
    double *value;
    uint32_t count;
} numbers;

static cli_comparison_spread
spread_of(const numbers *list)
{
    if (list->count == 0) {
        return (cli_comparison_spread){.mean = NAN, .std = NAN, .low = NAN, .high = NAN};
    }
    oct_spread of = oct_spread_of_f64(list->value, list->count);
    return (cli_comparison_spread){.count = list->count,
                                   .mean = of.mean,
                                   .std = list->count > 1 ? of.std : NAN,
                                   .low = of.min,
                                   .high = of.max};
}

static void
numbers_add(numbers *list, double value)
{
    if (isfinite(value)) {
        list->value[list->count++] = value;
    }
}

// Returns the return of a run, from episodes that decided nothing. NaN: not measured.
static double
result_of(const cli_series *series)
{
    const json_t *result = json_object_get(series->summary, "return");
    const json_t *mean = json_object_get(result, "mean");
    bool is_final = json_is_true(json_object_get(result, "final"));
    return is_final && json_is_number(mean) ? json_number_value(mean) : NAN;
}

// ---- groups

static void
keys_add(cli_comparison_keys *keys, const char *name)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->name[i], name) == 0) {
            return;
        }
    }
    if (keys->count < CLI_COMPARISON_KEYS_MAX && cli_series_is_compared(name)) {
        (void)snprintf(keys->name[keys->count++], CONFIG_NAME_MAX, "%s", name);
    }
}

// Finds the keys that differ between groups. Runs whose configuration is not known add none.
static void
keys_find(cli_comparison *compare)
{
    config_change change;
    const config_experiment *first = NULL;
    for (uint32_t g = 0; g < compare->groups; g++) {
        const cli_series *series = compare->runs->series[compare->group[g].first];
        if (series->has_config && first == NULL) {
            first = &series->config;
        } else if (series->has_config) {
            for (size_t at = 0; config_next_change(&change, first, &series->config, &at);) {
                keys_add(&compare->keys, change.name);
            }
        }
    }
}

static void
label_add(oct_text *text, const config_experiment *config, const cli_comparison_keys *keys)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        char value[CONFIG_VALUE_MAX];
        if (config_key_print(config, keys->name[i], value)) {
            oct_text_add(text, "%s%s=%s", i > 0 ? " " : "", keys->name[i], value);
        }
    }
}

static void
labels_make(cli_comparison *compare)
{
    keys_find(compare);
    for (uint32_t g = 0; g < compare->groups; g++) {
        cli_comparison_group *group = &compare->group[g];
        const cli_series *series = compare->runs->series[group->first];
        char label[CLI_COMPARISON_LABEL_MAX];
        oct_text text;
        oct_text_init(&text, label, sizeof(label));
        if (compare->keys.count > 0 && series->has_config) {
            label_add(&text, &series->config, &compare->keys);
        } else {
            oct_text_add(&text, "%s", series->name);
        }
        (void)oct_text_quote(group->label, sizeof(group->label), label, strlen(label));
    }
}

static const cli_bootstrap no_bootstrap = {.value = NAN, .low = NAN, .high = NAN};

// Returns the returns of a group's runs; the caller frees the list.
static numbers
results_of(const cli_comparison *compare, const cli_comparison_group *group)
{
    numbers list = {.value = oct_alloc((compare->runs->count + 1) * sizeof(double))};
    for (uint32_t i = 0; i < compare->runs->count; i++) {
        if (compare->group_of[i] == compare->group_of[group->first]) {
            numbers_add(&list, result_of(compare->runs->series[i]));
        }
    }
    return list;
}

// Compares each group with the first, once the groups are in their final order.
static void
improvements_measure(cli_comparison *compare)
{
    numbers first = results_of(compare, &compare->group[0]);
    for (uint32_t g = 0; g < compare->groups; g++) {
        cli_comparison_group *group = &compare->group[g];
        group->improvement = no_bootstrap;
        if (g > 0 && first.count >= 2 && group->result.count >= 2) {
            numbers list = results_of(compare, group);
            group->improvement =
                cli_bootstrap_improvement(list.value, list.count, first.value, first.count);
            free(list.value);
        }
    }
    free(first.value);
}

// Measures a group, which still has its index of cli_series_group.
static void
group_measure(cli_comparison *compare, uint32_t g)
{
    cli_comparison_group *group = &compare->group[g];
    cli_series **members = oct_alloc((compare->runs->count + 1) * sizeof(cli_series *));
    for (uint32_t i = 0; i < compare->runs->count; i++) {
        if (compare->group_of[i] == g) {
            group->first = group->runs == 0 ? i : group->first;
            members[group->runs++] = compare->runs->series[i];
        }
    }
    numbers list = results_of(compare, group);
    group->threshold = compare->runs->threshold[group->first];
    group->result = spread_of(&list);
    group->iqm = list.count >= 2 ? cli_bootstrap_iqm(list.value, list.count) : no_bootstrap;
    for (int by = 0; by < CLI_COMPARISON_BYS; by++) {
        list.count = 0;
        for (uint32_t i = 0; i < compare->runs->count; i++) {
            numbers_add(&list, compare->group_of[i] == g ? compare->runs->to[i][by] : NAN);
        }
        group->to[by] = spread_of(&list);
    }
    group->points = cli_series_mean(members, group->runs, by_columns[compare->by], "eval_return",
                                    CLI_COMPARISON_POINTS, group->curve, &group->range);
    free(list.value);
    free(members);
}

// A group without a return comes last; equals keep the order of their first runs.
static int
better_first(const void *a, const void *b)
{
    const cli_comparison_group *x = a, *y = b;
    double left = isnan(x->result.mean) ? -INFINITY : x->result.mean;
    double right = isnan(y->result.mean) ? -INFINITY : y->result.mean;
    return left != right ? (left < right) - (left > right) : (x->first > y->first) * 2 - 1;
}

cli_comparison_by
cli_comparison_by_default(const cli_comparison_runs *runs)
{
    bool is_offline = true;
    for (uint32_t i = 0; i < runs->count; i++) {
        is_offline = is_offline && config_is_offline(&runs->series[i]->config);
    }
    return is_offline ? CLI_COMPARISON_UPDATES : CLI_COMPARISON_STEPS;
}

cli_comparison *
cli_comparison_create(const cli_comparison_runs *runs, cli_comparison_by by, bool best_first)
{
    OCT_ASSERT(runs->count > 0);
    cli_comparison *compare = oct_alloc(sizeof(*compare));
    *compare = (cli_comparison){.runs = runs, .by = by};
    compare->group_of = oct_alloc(runs->count * sizeof(*compare->group_of));
    compare->groups = cli_series_group(runs->series, runs->count, compare->group_of);
    compare->group = oct_alloc(compare->groups * sizeof(*compare->group));
    for (uint32_t g = 0; g < compare->groups; g++) {
        group_measure(compare, g);
    }
    labels_make(compare);
    if (best_first) {
        qsort(compare->group, compare->groups, sizeof(*compare->group), better_first);
    }
    improvements_measure(compare);
    return compare;
}

void
cli_comparison_destroy(cli_comparison *compare)
{
    free(compare->group_of);
    free(compare->group);
    free(compare);
}

// ---- as JSON

static json_t *
spread_json(const cli_comparison_spread *spread)
{
    return CLI_JSON_OBJECT(
        {"count", json_integer(spread->count)}, {"mean", cli_json_number(spread->mean)},
        {"std", cli_json_number(spread->std)}, {"min", cli_json_number(spread->low)},
        {"max", cli_json_number(spread->high)});
}

// Null: the group has none.
static json_t *
bootstrap_json(const cli_bootstrap *of)
{
    if (isnan(of->value)) {
        return json_null();
    }
    return CLI_JSON_OBJECT({"value", cli_json_number(of->value)}, {"low", cli_json_number(of->low)},
                           {"high", cli_json_number(of->high)});
}

static json_t *
runs_json(const cli_comparison *compare, const cli_comparison_group *group)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < compare->runs->count; i++) {
        if (compare->group_of[i] == compare->group_of[group->first]) {
            const cli_series *series = compare->runs->series[i];
            cli_json_append(runs, CLI_JSON_OBJECT({"folder", cli_json_text(series->folder)},
                                                  {"seed", cli_json_whole(series->config.run.seed)},
                                                  {"return", cli_json_number(result_of(series))}));
        }
    }
    return runs;
}

// The group's values of the keys that differ.
static json_t *
configuration_json(const cli_comparison *compare, const cli_comparison_group *group)
{
    json_t *values = json_object();
    const cli_series *series = compare->runs->series[group->first];
    for (uint32_t i = 0; i < compare->keys.count && series->has_config; i++) {
        char value[CONFIG_VALUE_MAX];
        if (config_key_print(&series->config, compare->keys.name[i], value)) {
            cli_json_put(values, compare->keys.name[i], cli_json_text(value));
        }
    }
    return values;
}

// Each point is [x, mean, deviation, runs].
static json_t *
curve_json(const cli_comparison_group *group)
{
    json_t *curve = json_array();
    for (uint32_t i = 0; i < group->points; i++) {
        const cli_series_spread *at = &group->curve[i];
        json_t *point = json_array();
        cli_json_append(point, cli_json_number(at->x));
        cli_json_append(point, cli_json_number(at->mean));
        cli_json_append(point, cli_json_number(at->count > 1 ? at->std : NAN));
        cli_json_append(point, json_integer(at->count));
        cli_json_append(curve, point);
    }
    return curve;
}

json_t *
cli_comparison_json(const cli_comparison *compare)
{
    json_t *groups = json_array();
    for (uint32_t g = 0; g < compare->groups; g++) {
        const cli_comparison_group *group = &compare->group[g];
        json_t *object = json_object(), *to = json_object();
        for (int by = 0; by < CLI_COMPARISON_BYS; by++) {
            cli_json_put(to, by_columns[by], spread_json(&group->to[by]));
        }
        cli_json_put(object, "label", cli_json_text(group->label));
        cli_json_put(object, "configuration", configuration_json(compare, group));
        cli_json_put(object, "return", spread_json(&group->result));
        cli_json_put(object, "iqm", bootstrap_json(&group->iqm));
        cli_json_put(object, "improvement", bootstrap_json(&group->improvement));
        cli_json_put(object, "threshold", cli_json_number(group->threshold));
        cli_json_put(object, "to_threshold", to);
        cli_json_put(object, "runs", runs_json(compare, group));
        cli_json_put(object, "curve", curve_json(group));
        cli_json_append(groups, object);
    }
    return CLI_JSON_OBJECT({"by", cli_json_text(cli_comparison_by_words[compare->by])},
                           {"groups", groups});
}

// ---- as a picture

// The band is one standard deviation, bounded by the smallest and the largest value of any run.
static oct_plot_point
plot_point(const cli_comparison_group *group, const cli_series_spread *at)
{
    return (oct_plot_point){.x = at->x,
                            .mean = at->mean,
                            .low = fmax(at->mean - at->std, group->range.least),
                            .high = fmin(at->mean + at->std, group->range.greatest)};
}

// Widens the frame to the curve. Returns true if a part of the curve is from only some of the
// group's runs.
static bool
frame_widen(oct_plot_frame *frame, const cli_comparison_group *group)
{
    bool is_partial = false;
    for (uint32_t i = 0; i < group->points; i++) {
        if (isfinite(group->curve[i].mean)) {
            oct_plot_point point = plot_point(group, &group->curve[i]);
            oct_plot_frame_add(frame, &point, 1);
            is_partial = is_partial || group->curve[i].count < group->runs;
        }
    }
    return is_partial;
}

// Draws the points of all runs with their spread, and dashes where some runs have ended or not
// begun.
static void
draw_group(oct_plot *plot, uint32_t colour, const cli_comparison_group *group)
{
    oct_plot_point points[CLI_COMPARISON_POINTS];
    for (uint32_t from = 0, to; from < group->points; from = to) {
        bool is_whole = group->curve[from].count == group->runs;
        size_t count = 0;
        // The dashes lead to the point that follows them.
        for (to = from; to < group->points; to++) {
            const cli_series_spread *at = &group->curve[to];
            bool is_next = (at->count == group->runs) != is_whole;
            if (isfinite(at->mean) && (!is_next || !is_whole)) {
                points[count++] = plot_point(group, at);
            }
            if (is_next) {
                break;
            }
        }
        if (is_whole) {
            oct_plot_band(plot, colour, points, count);
            oct_plot_line(plot, colour, points, count);
            if (group->points == 1) { // of several points, most lie between evaluations
                oct_plot_dots(plot, colour, points, count);
            }
        } else {
            oct_plot_dashes(plot, colour, points, count);
        }
    }
}

oct_err
cli_comparison_draw(const cli_comparison *compare, const char *title, const char *path)
{
    static const char *const words[CLI_COMPARISON_BYS] = {"environment steps", "updates",
                                                          "wall time"};
    uint32_t shown = OCT_MIN(compare->groups, CLI_COMPARISON_DRAWN_MAX), drawn = 0;
    const char *names[CLI_COMPARISON_DRAWN_MAX];
    double goal = compare->group[0].threshold;
    oct_plot_frame frame = {.title = title, .curve = names, .curves = shown};
    bool is_partial = false;
    oct_plot_frame_clear(&frame);
    for (uint32_t g = 0; g < shown; g++) {
        names[g] = compare->group[g].label;
        is_partial = frame_widen(&frame, &compare->group[g]) || is_partial;
    }
    if (isfinite(goal)) {
        frame.y_low = fmin(frame.y_low, goal);
        frame.y_high = fmax(frame.y_high, goal);
    }
    char x_label[96];
    (void)snprintf(x_label, sizeof(x_label), "%s%s", words[compare->by],
                   is_partial ? " (thin dashes: the mean of only some of the runs)" : "");
    oct_plot plot;
    oct_plot_begin(&plot, &frame);
    oct_plot_axes(
        &plot,
        &(oct_plot_labels){compare->by == CLI_COMPARISON_TIME ? OCT_PLOT_SECONDS : OCT_PLOT_COUNT,
                           x_label, "evaluation return: mean ± std over seeds"},
        NULL, NULL);
    oct_plot_goal(&plot, goal);
    for (uint32_t g = 0; g < shown; g++) {
        if (compare->group[g].points > 0) {
            draw_group(&plot, g, &compare->group[g]);
            drawn++;
        }
    }
    if (drawn == 0) {
        oct_plot_note(&plot, "no evaluation yet");
    }
    return oct_plot_end(&plot, path);
}

// ---- folders

// Adds the runs in a folder. A folder without a run is an error.
static oct_err
folder_add(cli_run_list *list, const char *folder, oct_reason *why)
{
    if (cli_run_list_add(list, folder) > 0) {
        return OCT_OK;
    }
    int code = errno;
    char plain[CLI_SERIES_FOLDER_MAX];
    (void)oct_text_quote(plain, sizeof(plain), folder, strlen(folder));
    if (code != 0) {
        return oct_fail(why, OCT_EIO, "cannot enter '%s': %s", plain, oct_file_strerror(code));
    }
    return oct_refuse(why, "'%s' is not a run folder and contains no run: there is no config.yaml",
                      plain);
}

// Takes a row of metrics.csv. arg: a path for each of by_columns. A row of the result is skipped,
// because the result decides nothing.
static void
row_take(void *arg, const oct_csv *csv, const double *values)
{
    cli_series_path *path = arg;
    int stage = values != NULL ? oct_csv_column(csv, "eval_stage") : -1;
    if (stage >= 0 && values[stage] == LEARNER_EVAL_RESULT) {
        return;
    }
    for (int by = 0; by < CLI_COMPARISON_BYS; by++) {
        cli_series_path_add(&path[by], csv, values);
    }
}

// Returns the first x at which y reaches the threshold, or NaN.
static double
reached_at(const cli_series_path *path, double threshold)
{
    for (uint32_t i = 0; i < path->count; i++) {
        if (path->points[i].y >= threshold) {
            return path->points[i].x;
        }
    }
    return NAN;
}

// Reads a run. All its evaluations are in memory only during this call.
static void
run_read(cli_comparison_runs *runs, uint32_t i, double threshold)
{
    cli_series *series = runs->series[i];
    cli_series_path path[CLI_COMPARISON_BYS];
    for (int by = 0; by < CLI_COMPARISON_BYS; by++) {
        path[by] = (cli_series_path){.x = by_columns[by], .y = "eval_return"};
    }
    oct_csv_on_row(&series->metrics, row_take, path);
    while (cli_series_read(series, UINT64_MAX)) {
    }
    oct_csv_on_row(&series->metrics, NULL, NULL);
    runs->threshold[i] = isfinite(threshold)  ? threshold
                         : series->has_config ? series->config.run.stop_at_return
                                              : NAN;
    for (int by = 0; by < CLI_COMPARISON_BYS; by++) {
        runs->to[i][by] = reached_at(&path[by], runs->threshold[i]);
        free(path[by].points);
    }
}

// Moves copies of runs out of the list.
static void
copies_take(cli_comparison_runs *runs)
{
    uint32_t group_of[CLI_COMPARISON_SERIES_MAX], copy_of[CLI_COMPARISON_SERIES_MAX], kept = 0;
    cli_series *all[CLI_COMPARISON_SERIES_MAX];
    memcpy(all, runs->series, sizeof(all));
    (void)cli_series_group(all, runs->count, group_of);
    cli_series_copies(all, runs->count, group_of, copy_of);
    for (uint32_t i = 0; i < runs->count; i++) {
        if (copy_of[i] != i) {
            runs->copy[runs->copies++] =
                (cli_comparison_copy){.series = all[i], .of = all[copy_of[i]]};
            continue;
        }
        runs->series[kept] = all[i];
        runs->threshold[kept] = runs->threshold[i];
        memcpy(runs->to[kept++], runs->to[i], sizeof(runs->to[i]));
    }
    runs->count = kept;
}

static oct_err
open_all(const cli_run_list *list, double threshold, cli_comparison_runs *out, oct_reason *reason)
{
    // Even, because oct_csv merges pairs of rows when there is no room for more.
    uint32_t found = cli_run_list_count(list), rows = ROWS_ALL / OCT_MAX(found, 1u) / 2 * 2;
    rows = OCT_MIN(OCT_MAX(rows, ROWS_MIN), CLI_COMPARISON_ROWS);
    for (uint32_t i = 0; i < found; i++) {
        OCT_TRY(cli_series_open(&out->series[i], cli_run_list_at(list, i), rows, reason));
        out->count = i + 1;
        run_read(out, i, threshold);
        const cli_series *series = out->series[i];
        if (series->has_config && series->why[0] != '\0') {
            return oct_refuse(reason, "%s/%s", series->folder, series->why);
        }
    }
    copies_take(out);
    return OCT_OK;
}

oct_err
cli_comparison_open(cli_comparison_runs *out, const char *const *folders, size_t folder_count,
                    double threshold, oct_reason *why)
{
    cli_run_list *list = cli_run_list_create(CLI_COMPARISON_SERIES_MAX);
    oct_err err = OCT_OK;
    out->count = out->copies = 0;
    for (size_t i = 0; i < folder_count && err == OCT_OK; i++) {
        err = folder_add(list, folders[i], why);
    }
    if (err == OCT_OK && cli_run_list_beyond(list) > 0) {
        err = oct_refuse(why, "more than %d runs", CLI_COMPARISON_SERIES_MAX);
    }
    if (err == OCT_OK) {
        err = open_all(list, threshold, out, why);
    }
    if (err != OCT_OK) {
        cli_comparison_close(out);
    }
    cli_run_list_destroy(list);
    return err;
}

void
cli_comparison_close(cli_comparison_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        cli_series_close(runs->series[i]);
    }
    for (uint32_t i = 0; i < runs->copies; i++) {
        cli_series_close(runs->copy[i].series);
    }
    runs->count = runs->copies = 0;
}
