// Answers what a page asks for, as JSON: runs, curves, means over seeds, and codes of weights.
#include "cli/dash/cli_dash_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_json.h"
#include "cli/run/cli_doubts.h"
#include "cli/status/cli_view.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_text.h"
#include "policy/policy_format.h"

#define JSON_TYPE "application/json"

const char *const cli_dash_axes[] = {"env_steps", "updates", "wall_s", NULL};

// ---- text

// Takes json and frees it. In JSON '<' occurs only within strings, so it can be replaced by an
// escape.
static void
text_take(cli_dash_text *out, char *json)
{
    size_t count = 0, length = strlen(json);
    oct_text_tame_lines(json, length);
    for (size_t i = 0; i < length; i++) {
        count += json[i] == '<';
    }
    char *bytes = oct_alloc(length + 5 * count + 1), *to = bytes;
    for (size_t i = 0; i < length; i++) {
        if (json[i] == '<') {
            memcpy(to, "\\u003c", 6);
            to += 6;
        } else {
            *to++ = json[i];
        }
    }
    free(json);
    *out = (cli_dash_text){.type = JSON_TYPE, .bytes = bytes, .length = (size_t)(to - bytes)};
}

// Takes the reference to json.
static void
text_take_json(cli_dash_text *out, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    OCT_ASSERT(text != NULL);
    json_decref(json);
    text_take(out, text);
}

// Prints enough digits for a curve, in few bytes. JSON has no number for infinity and NaN: null.
static void
number_print(FILE *out, double value, bool is_first)
{
    if (!is_first) {
        (void)fputc(',', out);
    }
    if (isfinite(value)) {
        fprintf(out, "%.7g", value);
    } else {
        (void)fputs("null", out);
    }
}

// ---- runs

// The keys in which two configurations differ, with the values of one of them.
static json_t *
changes_json(const config_experiment *from, const config_experiment *to, bool is_now)
{
    json_t *out = json_object();
    config_change change;
    for (size_t at = 0; config_next_change(&change, from, to, &at);) {
        cli_json_put(out, change.name, cli_json_text(is_now ? change.now : change.before));
    }
    return out;
}

// Returns the last number of each column: most columns have a value in every row, some only in a
// few.
static json_t *
last_json(const oct_csv *csv)
{
    json_t *out = json_object();
    for (uint32_t i = 0; i < csv->columns; i++) {
        double value = NAN;
        for (uint32_t row = csv->rows; row > 0 && isnan(value); row--) {
            value = csv->values[(size_t)(row - 1) * csv->columns + i];
        }
        if (!isnan(value)) {
            cli_json_put(out, csv->name[i], cli_json_number(value));
        }
    }
    return out;
}

// The same text as octet status --json prints, so that the page needs no second form of the state.
static json_t *
state_json(const cli_snapshot *state)
{
    char *text = state != NULL ? cli_snapshot_json(state) : NULL;
    json_t *out = text != NULL ? json_loads(text, 0, NULL) : json_null();
    free(text);
    return out;
}

static void
doubt_add(void *list, const char *label, const char *text)
{
    json_t *doubt = json_sprintf("%s: %s", label, text);
    cli_json_append(list, doubt != NULL ? doubt : cli_json_text(label));
}

static json_t *
doubts_json(const json_t *summary)
{
    json_t *list = json_array();
    cli_doubts(summary, doubt_add, list);
    return list;
}

// Returns when a file was written, in µs: another time means another file. Null: there is no file.
static json_t *
stamp_json(const cli_dash_stamp *stamp)
{
    return stamp->is_there ? cli_json_whole(stamp->written_us) : json_null();
}

// Everything that the page shows of a run, except its curves. copied: the run that this one is a
// copy of, or the run itself.
static json_t *
run_json(const cli_dash_run *run, const config_experiment *defaults, uint32_t group,
         const cli_dash_run *copied)
{
    static const char *const statuses[] = {"live", "ended", "silent", "unknown"};
    const cli_series *series = run->series;
    return CLI_JSON_OBJECT(
        {"id", json_integer(run->id)}, {"name", cli_json_text(series->name)},
        {"folder", cli_json_text(series->folder)}, {"group", json_integer(group)},
        {"copy_of", copied != run ? json_integer(copied->id) : json_null()},
        {"status", json_string(statuses[run->status])}, {"changes", cli_json_whole(run->changes)},
        {"env", cli_json_text(series->has_config ? series->config.env.id : "")},
        {"seed", series->has_config ? cli_json_whole(series->config.run.seed) : json_null()},
        {"offline", json_boolean(config_is_offline(&series->config))},
        {"config",
         series->has_config ? changes_json(defaults, &series->config, true) : json_null()},
        {"why", cli_json_text(series->why)}, {"rows", cli_json_whole(series->metrics.rows_read)},
        {"last", last_json(&series->metrics)},
        {"summary", series->summary != NULL ? json_incref(series->summary) : json_null()},
        {"doubts", doubts_json(series->summary)}, {"state", state_json(run->state)},
        {"policy", stamp_json(&run->policy)},
        {"video", run->video_type != NULL ? json_string(run->video_type) : json_null()},
        {"video_written", stamp_json(&run->video)});
}

// All runs, and which of them belong together.
typedef struct compared {
    uint32_t count, groups;
    cli_series **series;
    // of each run: number of its configuration; index of the run that it is a copy of, or its own
    uint32_t *group, *copy_of;
} compared;

static compared
runs_compare(const cli_dash_runs *runs)
{
    uint32_t count = cli_dash_runs_count(runs);
    compared out = {
        .count = count,
        // One element more, because an allocation of no bytes is not possible.
        .series = oct_alloc((count + 1) * sizeof(*out.series)),
        .group = oct_alloc((count + 1) * sizeof(*out.group)),
        .copy_of = oct_alloc((count + 1) * sizeof(*out.copy_of)),
    };
    for (uint32_t i = 0; i < count; i++) {
        out.series[i] = cli_dash_runs_at(runs, i)->series;
    }
    out.groups = cli_series_group(out.series, count, out.group);
    cli_series_copies(out.series, count, out.group, out.copy_of);
    return out;
}

static void
compared_free(compared *all)
{
    free(all->series);
    free(all->group);
    free(all->copy_of);
}

// Counts configurations, including those of copies.
uint32_t
cli_dash_groups(const cli_dash_runs *runs)
{
    compared all = runs_compare(runs);
    compared_free(&all);
    return all.groups;
}

static void
changes_put(json_t *all, const cli_dash_runs *runs)
{
    cli_json_put(all, "server", cli_json_whole(cli_dash_runs_began_us(runs)));
    cli_json_put(all, "changes", cli_json_whole(cli_dash_runs_changes(runs)));
}

// Answers /runs. Configurations are sent as differences from the defaults, which keeps the answer
// small.
static void
runs_answer(const cli_dash_runs *runs, cli_dash_text *out)
{
    static config_experiment defaults;
    compared of = runs_compare(runs);
    config_default(&defaults);
    json_t *all = json_object(), *list = json_array(), *before = json_object();
    for (uint32_t i = 0; i < of.count; i++) {
        json_t *differs = changes_json(&defaults, &of.series[i]->config, false);
        // The defaults of all keys that differ in any run, so that the page can show them.
        OCT_ASSERT(json_object_update(before, differs) == 0);
        json_decref(differs);
        cli_json_append(list, run_json(cli_dash_runs_at(runs, i), &defaults, of.group[i],
                                       cli_dash_runs_at(runs, of.copy_of[i])));
    }
    cli_json_put(all, "version", json_string(OCTET_VERSION));
    changes_put(all, runs);
    cli_json_put(all, "reading", json_boolean(cli_dash_runs_are_reading(runs)));
    cli_json_put(all, "unshown", json_integer(cli_dash_runs_unshown(runs)));
    cli_json_put(all, "groups", json_integer(of.groups));
    cli_json_put(all, "defaults", before);
    cli_json_put(all, "runs", list);
    compared_free(&of);
    text_take_json(out, all);
}

// Answers /changes, which a page asks again and again: if neither number has changed, it asks for
// nothing else. Another "server" means that run ids may be different ones.
static void
changes_answer(const cli_dash_runs *runs, cli_dash_text *out)
{
    json_t *all = json_object();
    changes_put(all, runs);
    text_take_json(out, all);
}

// ---- curves

void
cli_dash_columns(const cli_dash_run *run, void (*fn)(void *arg, const char *column), void *arg)
{
    const oct_csv *csv = &run->series->metrics;
    for (uint32_t i = 0; i < csv->columns; i++) {
        bool is_empty = true;
        for (uint32_t row = 0; row < csv->rows && is_empty; row++) {
            is_empty = isnan(csv->values[(size_t)row * csv->columns + i]);
        }
        if (!is_empty) {
            fn(arg, csv->name[i]);
        }
    }
}

// Prints every n-th point, so that CLI_DASH_POINTS remain, and always the last one.
static void
curve_print(FILE *out, const cli_series_point *points, uint32_t count)
{
    uint32_t step = (count + CLI_DASH_POINTS - 1) / CLI_DASH_POINTS;
    for (int part = 0; part < 2; part++) {
        fprintf(out, part == 0 ? "{\"x\":[" : "],\"y\":[");
        bool is_first = true;
        for (uint32_t i = 0; i < count; i++) {
            if ((count - 1 - i) % step == 0) {
                number_print(out, part == 0 ? points[i].x : points[i].y, is_first);
                is_first = false;
            }
        }
    }
    (void)fputs("]}", out);
}

// A run has at most CLI_DASH_ROWS rows in memory, so the points fit on the stack.
static void
curve_answer(const cli_dash_run *run, const char *x, const char *y, cli_dash_text *out)
{
    cli_series_point points[CLI_DASH_ROWS];
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    OCT_ASSERT(file != NULL);
    curve_print(file, points, cli_series_curve(run->series, x, y, points));
    OCT_ASSERT(fclose(file) == 0);
    text_take(out, text);
}

static void
mean_print(FILE *out, const cli_series_range *range, const cli_series_spread *at, uint32_t count)
{
    static const char *const names[] = {"],\"x\":[", "],\"mean\":[", "],\"std\":[", "],\"n\":["};
    (void)fputs("{\"range\":[", out);
    number_print(out, range->least, true);
    number_print(out, range->greatest, false);
    for (int part = 0; part < 4; part++) {
        (void)fputs(names[part], out);
        for (uint32_t i = 0; i < count; i++) {
            const double values[] = {at[i].x, at[i].mean, at[i].std, at[i].count};
            number_print(out, values[part], i == 0);
        }
    }
    (void)fputs("]}", out);
}

static bool
mean_answer(const cli_dash_runs *runs, uint32_t wanted, const char *x, const char *y,
            cli_dash_text *out)
{
    compared all = runs_compare(runs);
    uint32_t members = 0;
    // Copies of a run would count it twice.
    for (uint32_t i = 0; i < all.count; i++) {
        if (all.group[i] == wanted && all.copy_of[i] == i) {
            all.series[members++] = all.series[i];
        }
    }
    cli_series_spread spread[CLI_DASH_MEAN_POINTS];
    cli_series_range range;
    uint32_t count =
        cli_series_mean(all.series, members, x, y, CLI_DASH_MEAN_POINTS, spread, &range);
    compared_free(&all);
    if (members == 0) {
        return false;
    }
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    OCT_ASSERT(file != NULL);
    mean_print(file, &range, spread, count);
    OCT_ASSERT(fclose(file) == 0);
    text_take(out, text);
    return true;
}

// ---- files of a run

// Reads a whole file and closes it. False: it has another size than before; nothing is allocated.
static bool
file_read(int fd, uint64_t size, cli_dash_text *out)
{
    out->bytes = oct_alloc(size + 1);
    out->length = 0;
    ssize_t got = 1;
    while (got > 0 && out->length < size) {
        got = read(fd, out->bytes + out->length, size - out->length);
        out->length += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    if (out->length != size) {
        free(out->bytes);
    }
    return out->length == size;
}

static bool
video_answer(const cli_dash_run *run, cli_dash_text *out)
{
    uint64_t size;
    int fd = cli_dash_run_video(run, &out->type, &size);
    return fd >= 0 && file_read(fd, size, out);
}

static json_t *
layer_json(const policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    int end = image->precision == POLICY_INT4 ? POLICY_INT4_CODE_MAX : 127; // greatest code
    uint64_t counts[256] = {0}; // of each code, 128 behind
    json_t *list = json_array();
    for (size_t i = 0; i < policy_layer_weights(layer); i++) {
        counts[image->codes[l][i] + 128]++;
    }
    for (int code = -end; code <= end; code++) {
        cli_json_append(list, cli_json_whole(counts[code + 128]));
    }
    return CLI_JSON_OBJECT({"inputs", json_integer(layer->inputs)},
                           {"outputs", json_integer(layer->outputs)}, {"counts", list});
}

// Answers /codes/ID: the codes of policy.oct, without layers if it has no integers. False: there is
// no valid policy.
static bool
codes_answer(const cli_dash_run *run, cli_dash_text *out)
{
    uint64_t size;
    cli_dash_text file;
    policy_image *image;
    int fd = cli_series_file(run->series, "policy.oct", &size);
    if (fd >= 0 && size > CLI_DASH_POLICY_MAX) {
        (void)close(fd);
        return false;
    }
    if (fd < 0 || !file_read(fd, size, &file)) {
        return false;
    }
    oct_err err = policy_decode(&image, (const uint8_t *)file.bytes, file.length, NULL);
    free(file.bytes);
    if (err != OCT_OK) {
        return false;
    }
    json_t *all = json_object(), *layers = json_array();
    for (uint32_t l = 0; l < image->spec.layer_count && policy_is_integer(image->precision); l++) {
        cli_json_append(layers, layer_json(image, l));
    }
    cli_json_put(all, "precision", json_string(policy_precision_name(image->precision)));
    cli_json_put(all, "version", cli_json_whole(image->origin.version));
    cli_json_put(all, "layers", layers);
    policy_image_destroy(image);
    text_take_json(out, all);
    return true;
}

// ---- paths

// Returns the axis of this name, or NULL.
static const char *
axis_of(const char *name)
{
    for (size_t i = 0; cli_dash_axes[i] != NULL; i++) {
        if (strcmp(cli_dash_axes[i], name) == 0) {
            return cli_dash_axes[i];
        }
    }
    return NULL;
}

_Static_assert(OCT_CSV_NAME_MAX == 96, "the width below is that of a column's name");

// Answers "/KIND/NUMBER/X/COLUMN": a curve of a run, or the mean of a group. False: there is none.
static bool
curve_path(const cli_dash_runs *runs, const char *path, cli_dash_text *out)
{
    char kind[8], x[16], y[OCT_CSV_NAME_MAX];
    unsigned number;
    int end = 0;
    if (sscanf(path, "/%7[a-z]/%9u/%15[a-z_]/%95[A-Za-z0-9_.]%n", kind, &number, x, y, &end) != 4 ||
        path[end] != '\0' || axis_of(x) == NULL) {
        return false;
    }
    const cli_dash_run *run = cli_dash_runs_find(runs, number);
    if (strcmp(kind, "curve") == 0 && run != NULL) {
        curve_answer(run, x, y, out);
        return true;
    }
    return strcmp(kind, "mean") == 0 && mean_answer(runs, number, x, y, out);
}

// Answers "/KIND/ID": a file of a run. False: there is none.
static bool
file_path(const cli_dash_runs *runs, const char *path, cli_dash_text *out)
{
    char kind[8];
    unsigned number;
    int end = 0;
    if (sscanf(path, "/%7[a-z]/%9u%n", kind, &number, &end) != 2 || path[end] != '\0') {
        return false;
    }
    const cli_dash_run *run = cli_dash_runs_find(runs, number);
    return run != NULL && ((strcmp(kind, "codes") == 0 && codes_answer(run, out)) ||
                           (strcmp(kind, "video") == 0 && video_answer(run, out)));
}

// The path comes from the network. sscanf's widths bound its parts, and everything it can name is
// looked up in lists: no path of a file is made from it.
bool
cli_dash_answer(const cli_dash_runs *runs, const char *path, cli_dash_text *out)
{
    if (strcmp(path, "/runs") == 0) {
        runs_answer(runs, out);
        return true;
    }
    if (strcmp(path, "/changes") == 0) {
        changes_answer(runs, out);
        return true;
    }
    return curve_path(runs, path, out) || file_path(runs, path, out);
}
