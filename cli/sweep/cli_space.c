// The keys that a sweep varies: parses lists and ranges, makes the grid and draws points.

#include "cli/sweep/cli_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/runs/cli_series.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "common/oct_text.h"
#include "config/config_text.h"

#define MESSAGE_BYTES 4096
// least ratio of the ends of a range that is drawn by its logarithm by default
#define DECADE 10.0

// ---- checks of values

// A text of --over, and what it is checked against.
typedef struct given {
    const char *over;
    const config_experiment *base;
    oct_reason *why;
} given;

// Checks that a key takes a value. On an error, reason is config_set's message without its
// position. stored, unless NULL: the value in its one canonical form.
static oct_err
check_value(const given *g, const char *name, const char *value, char stored[CONFIG_VALUE_MAX])
{
    char assignment[4 * CLI_SPACE_VALUE_MAX], message[MESSAGE_BYTES] = "";
    config_experiment copy = *g->base;
    if (strlen(value) >= CLI_SPACE_VALUE_MAX) {
        return oct_refuse(g->why, "--over %s: a value has more than %d bytes", g->over,
                          CLI_SPACE_VALUE_MAX - 1);
    }
    (void)snprintf(assignment, sizeof(assignment), "%s=%s", name, value);
    if (config_set(&copy, assignment, message, sizeof(message)) == OCT_OK) {
        OCT_ASSERT(stored == NULL || config_key_print(&copy, name, stored));
        return OCT_OK;
    }
    char *said = strstr(message, "error: ");
    said = said != NULL ? said + strlen("error: ") : message;
    said[strcspn(said, "\n")] = '\0';
    return oct_refuse(g->why, "--over %s: %s", g->over, said);
}

// ---- lists

// Removes the spaces at both ends.
static void
trim(const char **text, size_t *length)
{
    while (*length > 0 && **text == ' ') {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && (*text)[*length - 1] == ' ') {
        (*length)--;
    }
}

// Adds a value of a list. Two values of one canonical form are an error.
static oct_err
list_add(cli_space_key *key, const char *text, size_t length, const given *g)
{
    trim(&text, &length);
    if (key->count == CLI_SPACE_VALUES_MAX) {
        return oct_refuse(g->why, "--over %s: more than %d values", g->over, CLI_SPACE_VALUES_MAX);
    }
    char *value = strndup(text, length);
    OCT_ASSERT(value != NULL);
    key->value[key->count++] = value; // cli_space_fini frees it
    char stored[CONFIG_VALUE_MAX];
    OCT_TRY(check_value(g, key->name, value, stored));
    if (strcmp(key->name, "algo.name") == 0 && config_is_algorithm(value)) {
        // c51 is stored as dqn, but is another algorithm
        (void)snprintf(stored, sizeof(stored), "%s", value);
    }
    key->stored[key->count - 1] = strdup(stored);
    OCT_ASSERT(key->stored[key->count - 1] != NULL);
    for (size_t i = 0; i + 1 < key->count; i++) {
        if (strcmp(key->stored[i], stored) == 0) {
            return oct_refuse(g->why, "--over %s: %s is given twice", g->over, value);
        }
    }
    return OCT_OK;
}

// Splits a list at commas outside brackets and quotes.
static oct_err
parse_list(cli_space_key *key, const given *g)
{
    int depth = 0;
    bool is_quoted = false;
    const char *from = key->spec;
    key->kind = CLI_SPACE_LIST;
    key->value = oct_alloc(CLI_SPACE_VALUES_MAX * sizeof(*key->value));
    key->stored = oct_alloc(CLI_SPACE_VALUES_MAX * sizeof(*key->stored));
    for (const char *at = key->spec;; at++) {
        is_quoted = is_quoted != (*at == '"');
        depth += is_quoted ? 0 : (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        if (*at == '\0' || (*at == ',' && depth == 0 && !is_quoted)) {
            OCT_TRY(list_add(key, from, (size_t)(at - from), g));
            from = at + 1;
        }
        if (*at == '\0') {
            return OCT_OK;
        }
    }
}

// ---- ranges

// Splits "LOW..HIGH" into its ends. False: text is no range. For keys that are text, ".." may be
// part of a path, so they are never ranges.
static bool
range_ends(const char *text, char low[CLI_SPACE_VALUE_MAX], char high[CLI_SPACE_VALUE_MAX])
{
    const char *dots = strstr(text, "..");
    if (dots == NULL || (size_t)(dots - text) >= CLI_SPACE_VALUE_MAX ||
        strlen(dots + 2) >= CLI_SPACE_VALUE_MAX) {
        return false;
    }
    const char *above = dots + 2;
    size_t low_length = (size_t)(dots - text), high_length = strlen(above);
    trim(&text, &low_length);
    trim(&above, &high_length);
    (void)snprintf(low, CLI_SPACE_VALUE_MAX, "%.*s", (int)low_length, text);
    (void)snprintf(high, CLI_SPACE_VALUE_MAX, "%.*s", (int)high_length, above);
    return true;
}

// Parses a number as the configuration does (1_000 is a number). False: it is a word such as
// "same".
static bool
number_of(const char *text, double *out)
{
    char digits[64];
    size_t used = 0;
    for (; *text != '\0' && used + 1 < sizeof(digits); text++) {
        if (*text != '_') {
            digits[used++] = *text;
        }
    }
    digits[used] = '\0';
    char *end = NULL;
    *out = strtod(digits, &end);
    return end != digits && *end == '\0' && isfinite(*out);
}

// Parses a range; both ends must be valid values of the key.
static oct_err
parse_range(cli_space_key *key, const char *text, const given *g)
{
    char low[CLI_SPACE_VALUE_MAX], high[CLI_SPACE_VALUE_MAX];
    if (!range_ends(text, low, high)) {
        return oct_refuse(g->why, "--over %s: write a range as LOW..HIGH", g->over);
    }
    OCT_TRY(check_value(g, key->name, low, NULL));
    OCT_TRY(check_value(g, key->name, high, NULL));
    if (!number_of(low, &key->low) || !number_of(high, &key->high) || !(key->low < key->high)) {
        return oct_refuse(g->why, "--over %s: %s is not below %s", g->over, low, high);
    }
    bool can_be_log = key->low > 0;
    if (key->kind == CLI_SPACE_LOG && !can_be_log) {
        return oct_refuse(g->why, "--over %s: log: needs limits above 0, but the lower one is %s",
                          g->over, low);
    }
    if (!key->is_given) { // neither lin: nor log: was given
        key->kind = can_be_log && key->high >= DECADE * key->low ? CLI_SPACE_LOG : CLI_SPACE_LINEAR;
    }
    return OCT_OK;
}

// ---- one key

// Takes lin: or log: off the values. Returns what follows.
static const char *
take_prefix(cli_space_key *key)
{
    bool is_log = strncmp(key->spec, "log:", 4) == 0;
    key->is_given = is_log || strncmp(key->spec, "lin:", 4) == 0;
    key->kind = is_log ? CLI_SPACE_LOG : CLI_SPACE_LINEAR;
    return key->spec + (key->is_given ? 4 : 0);
}

// Keys that are numbers may have a range; all others have a list.
static oct_err
parse_values(cli_space_key *key, const given *g)
{
    char low[CLI_SPACE_VALUE_MAX], high[CLI_SPACE_VALUE_MAX];
    bool is_number = config_key_is_number(key->name, &key->is_whole);
    if (!is_number) {
        return parse_list(key, g);
    }
    const char *text = take_prefix(key);
    if (key->is_given || range_ends(text, low, high)) {
        return parse_range(key, text, g);
    }
    return parse_list(key, g);
}

static void
key_fini(cli_space_key *key)
{
    for (size_t i = 0; i < key->count; i++) {
        free(key->value[i]);
        free(key->stored[i]);
    }
    free(key->value);
    free(key->stored);
    free(key->spec);
    *key = (cli_space_key){.count = 0};
}

// Checks that a key may be varied. For an unknown key, config_set says which key was meant, or that
// it is an option of the environment; the value does not matter.
static oct_err
check_name(const cli_space *space, const char *name, const given *g)
{
    bool is_whole;
    if (!config_key_is_number(name, &is_whole)) {
        char first[CONFIG_NAME_MAX];
        bool is_known = config_key_in(first, name) && strcmp(first, name) == 0;
        if (!is_known) {
            OCT_TRY(check_value(g, name, "0", NULL));
        }
    }
    if (strcmp(name, "run.seed") == 0) {
        return oct_refuse(
            g->why, "--over %s: a seed cannot be varied; --seeds N runs each trial with N seeds",
            g->over);
    }
    if (!cli_series_is_compared(name)) {
        return oct_refuse(g->why,
                          "--over %s: %s does not change what a run learns, so trials that differ "
                          "only in it are the same",
                          g->over, name);
    }
    for (size_t i = 0; i < space->count; i++) {
        if (strcmp(space->key[i].name, name) == 0) {
            return oct_refuse(g->why, "--over %s: %s is already varied", g->over, name);
        }
    }
    return OCT_OK;
}

oct_err
cli_space_add(cli_space *space, const char *over, const config_experiment *base, oct_reason *why)
{
    cli_space_key *key = &space->key[space->count];
    const char *equals = strchr(over, '=');
    if (equals == NULL || equals[1] == '\0') {
        return oct_refuse(why,
                          "--over %s: values are missing, write section.key=LOW..HIGH or "
                          "section.key=a,b,c",
                          over);
    }
    if (space->count == CLI_SPACE_KEYS_MAX) {
        return oct_refuse(why, "--over %s: more than %d keys", over, CLI_SPACE_KEYS_MAX);
    }
    if (strlen(over) >= CLI_SPACE_OVER_MAX) {
        return oct_refuse(why, "--over %.*s has more than %d bytes", (int)(equals - over), over,
                          CLI_SPACE_OVER_MAX - 1);
    }
    *key = (cli_space_key){.count = 0};
    (void)oct_text_quote(key->name, sizeof(key->name), over, (size_t)(equals - over));
    const given g = {over, base, why};
    OCT_TRY(check_name(space, key->name, &g));
    key->spec = strdup(equals + 1);
    OCT_ASSERT(key->spec != NULL);
    oct_err err = parse_values(key, &g);
    if (err != OCT_OK) {
        key_fini(key);
        return err;
    }
    space->count++;
    return OCT_OK;
}

// ---- points

bool
cli_space_has_range(const cli_space *space)
{
    for (size_t i = 0; i < space->count; i++) {
        if (space->key[i].kind != CLI_SPACE_LIST) {
            return true;
        }
    }
    return false;
}

uint64_t
cli_space_grid_size(const cli_space *space)
{
    uint64_t size = 1;
    OCT_ASSERT(!cli_space_has_range(space));
    for (size_t i = 0; i < space->count; i++) {
        // cannot overflow
        size = OCT_MIN(size * space->key[i].count, (uint64_t)CLI_SPACE_GRID_MAX + 1);
    }
    return size;
}

// The index is a number whose digits, the last key's last, are indices in the lists.
void
cli_space_grid(const cli_space *space, uint64_t index, cli_point *out)
{
    for (size_t i = space->count; i-- > 0;) {
        const cli_space_key *key = &space->key[i];
        (void)snprintf(out->value[i], CLI_SPACE_VALUE_MAX, "%s", key->value[index % key->count]);
        index /= key->count;
    }
    OCT_ASSERT(index == 0);
}

// The number at a share, 0 .. 1, of a range. Each whole number gets the share that rounds to it,
// also those at the ends.
static double
range_at(const cli_space_key *key, double share)
{
    double half = key->is_whole ? 0.5 : 0, low = key->low - half, high = key->high + half;
    double value =
        key->kind == CLI_SPACE_LOG ? low * pow(high / low, share) : low + share * (high - low);
    // + 0.0: -0 becomes 0
    return key->is_whole ? fmin(fmax(round(value), key->low), key->high) + 0.0 : value;
}

// Four significant digits, but within the range.
static void
range_print(const cli_space_key *key, double share, char out[CLI_SPACE_VALUE_MAX])
{
    double value = range_at(key, share);
    if (key->is_whole) {
        (void)snprintf(out, CLI_SPACE_VALUE_MAX, "%.0f", value);
        return;
    }
    (void)snprintf(out, CLI_SPACE_VALUE_MAX, "%.4g", value);
    double printed = fmin(fmax(strtod(out, NULL), key->low), key->high);
    (void)oct_text_double(out, CLI_SPACE_VALUE_MAX, printed);
}

// Each key of each point has a generator of its own, so that point i is the same whatever other
// keys and points are drawn.
void
cli_space_draw(const cli_space *space, uint64_t seed, uint64_t index, cli_point *out)
{
    for (size_t i = 0; i < space->count; i++) {
        const cli_space_key *key = &space->key[i];
        oct_rng rng;
        // a generator for each key of each point
        oct_rng_init(&rng, oct_rng_mix(oct_rng_mix(0, seed), index), i);
        if (key->kind == CLI_SPACE_LIST) {
            (void)snprintf(out->value[i], CLI_SPACE_VALUE_MAX, "%s",
                           key->value[oct_rng_below(&rng, (uint32_t)key->count)]);
        } else {
            range_print(key, oct_rng_double(&rng), out->value[i]);
        }
    }
}

const char *
cli_space_words(const cli_space_key *key, char *out, size_t size)
{
    oct_text text;
    oct_text_init(&text, out, size);
    if (key->kind == CLI_SPACE_LIST) {
        oct_text_add(&text, "one of %s", key->spec);
        return out;
    }
    char low[32], high[32];
    oct_text_add(&text, "%s .. %s, %s%s", oct_text_double(low, sizeof(low), key->low),
                 oct_text_double(high, sizeof(high), key->high),
                 key->kind == CLI_SPACE_LOG ? "log-uniform" : "uniform",
                 key->is_whole ? ", whole numbers" : "");
    return out;
}

void
cli_space_fini(cli_space *space)
{
    for (size_t i = 0; i < space->count; i++) {
        key_fini(&space->key[i]);
    }
    space->count = 0;
}
