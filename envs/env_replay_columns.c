// Finds the column for each state, observation, action and flag of recorded trajectories.
#include "envs/env_replay_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"

struct finder {
    env_csv *csv;
    const octet_env_spec *spec;
    bool *used; // [columns] true for columns that have a meaning
    bool partial;
    char missing[200];
};

// Appends name to a list "a, b"; "..." replaces names that do not fit.
static void
name_append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);
    if (used + strlen(name) + sizeof(", , ...") > size) {
        bool is_cut = used >= 3 && strcmp(list + used - 3, "...") == 0;
        snprintf(list + used, size - used, "%s", is_cut ? "" : ", ...");
    } else {
        snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
    }
}

static uint32_t
column_may(struct finder *f, const char *name)
{
    int32_t column = env_csv_find(f->csv, name);
    if (column < 0) {
        return ENV_REPLAY_NONE;
    }
    f->used[column] = true;
    return (uint32_t)column;
}

static uint32_t
column_must(struct finder *f, const char *name)
{
    uint32_t column = column_may(f, name);
    if (column == ENV_REPLAY_NONE) {
        name_append(f->missing, sizeof(f->missing), name);
    }
    return column;
}

static uint32_t
words_may(struct finder *f, const char *name)
{
    uint32_t column = column_may(f, name);
    if (column != ENV_REPLAY_NONE) {
        env_csv_words(f->csv, column);
    }
    return column;
}

// Finds names[k], or prefix0, prefix1, ... without names.
static void
columns_must(struct finder *f, env_replay_run_of *out, const char *const *names, const char *prefix,
             uint32_t count)
{
    out->at = oct_alloc(OCT_MAX(count, 1u) * sizeof(*out->at));
    out->count = count;
    for (uint32_t k = 0; k < count; k++) {
        char plain[32];
        snprintf(plain, sizeof(plain), "%s%u", prefix, k);
        out->at[k] = column_must(f, names != NULL ? names[k] : plain);
    }
}

static void
actions_find(struct finder *f, env_replay_columns *out)
{
    uint32_t count = env_space_count(&f->spec->action);
    static const char *const one[] = {"action"};
    bool single = count == 1 && env_csv_find(f->csv, one[0]) >= 0;
    bool short_name = env_csv_find(f->csv, "u0") >= 0;
    columns_must(f, &out->action, single ? one : NULL, short_name ? "u" : "action", count);
}

// Returns the column of number k of the observation; plain is a buffer for a name that the spec
// lacks.
static const char *
observation_name(const octet_env_spec *spec, uint32_t k, char *plain, size_t plain_size)
{
    if (spec->obs_names != NULL && spec->obs_names[k] != NULL) {
        return spec->obs_names[k];
    }
    snprintf(plain, plain_size, "o%u", k);
    return plain;
}

// Returns true if columns of the observation may be missing: in a file of several tasks, numbers
// can belong to another task. A file with less than half of them belongs to another environment.
static bool
observations_may_lack(struct finder *f)
{
    uint32_t named = 0, there = 0, count = env_space_count(&f->spec->obs);
    for (uint32_t k = 0; f->spec->obs_names != NULL && k < count; k++) {
        const char *name = f->spec->obs_names[k];
        named += name != NULL;
        there += name != NULL && env_csv_find(f->csv, name) >= 0;
    }
    return f->partial || (there > 0 && 2 * there >= named);
}

static void
observations_find(struct finder *f, env_replay_columns *out)
{
    bool bytes = f->spec->obs.n == 0 && f->spec->obs.dtype == OCTET_ENV_U8;
    out->bits = bytes ? words_may(f, "state_hex") : ENV_REPLAY_NONE;
    if (out->bits != ENV_REPLAY_NONE) {
        return;
    }
    out->obs.count = env_space_count(&f->spec->obs);
    out->obs.at = oct_alloc(out->obs.count * sizeof(*out->obs.at));
    const char *const *names = f->spec->obs_names;
    bool any_may_lack = observations_may_lack(f);
    for (uint32_t k = 0; k < out->obs.count; k++) {
        char plain[32];
        const char *name = observation_name(f->spec, k, plain, sizeof(plain));
        bool may_lack = any_may_lack || (names != NULL && names[k] == NULL);
        out->obs.at[k] = may_lack ? column_may(f, name) : column_must(f, name);
        if (out->obs.at[k] == ENV_REPLAY_NONE && may_lack) {
            name_append(out->unrecorded, sizeof(out->unrecorded), name);
        }
    }
}

static void
flags_find(struct finder *f, env_replay_columns *out)
{
    out->terminated = column_may(f, "terminated");
    if (out->terminated == ENV_REPLAY_NONE) {
        out->terminated = column_may(f, "terminal");
    }
    out->truncated = column_may(f, "truncated");
    if (out->terminated == ENV_REPLAY_NONE) {
        name_append(out->unrecorded, sizeof(out->unrecorded), "terminated");
    }
    if (out->truncated == ENV_REPLAY_NONE) {
        name_append(out->unrecorded, sizeof(out->unrecorded), "truncated");
    }
}

// Lists columns without a meaning. An environment that names its columns may share a file with
// others (the tasks of one domain); otherwise such a column is a mistake.
static const char *
leftovers_take(struct finder *f, env_replay_columns *out)
{
    bool named =
        f->spec->state_names != NULL || f->spec->obs_names != NULL || f->spec->reward_name != NULL;
    for (uint32_t k = 0; k < env_csv_columns(f->csv); k++) {
        if (f->used[k]) {
            continue;
        }
        if (!named) {
            return env_csv_name(f->csv, k);
        }
        env_csv_words(f->csv, k);
        name_append(out->ignored, sizeof(out->ignored), env_csv_name(f->csv, k));
    }
    return NULL;
}

oct_err
env_replay_columns_init(env_replay_columns *out, env_csv *csv, const octet_env_spec *spec,
                        bool partial, oct_reason *why)
{
    env_replay_columns columns = {0};
    struct finder f = {.csv = csv, .spec = spec, .partial = partial};
    f.used = oct_alloc(env_csv_columns(csv) * sizeof(*f.used));
    bool has_state = (spec->capabilities & OCTET_ENV_CAN_STATE) != 0;
    bool has_draws = (spec->capabilities & OCTET_ENV_CAN_DRAWS) != 0;
    columns.ep = column_must(&f, "ep");
    columns.t = column_must(&f, "t");
    actions_find(&f, &columns);
    columns_must(&f, &columns.state, spec->state_names, "s", has_state ? spec->state_count : 0);
    observations_find(&f, &columns);
    columns.reward = column_must(&f, spec->reward_name != NULL ? spec->reward_name : "reward");
    flags_find(&f, &columns);
    columns.tape = has_draws ? words_may(&f, "random_tape") : ENV_REPLAY_NONE;
    if (!has_state && columns.tape == ENV_REPLAY_NONE) {
        name_append(f.missing, sizeof(f.missing), "random_tape");
    }
    const char *unknown = leftovers_take(&f, &columns);
    free(f.used);
    if (f.missing[0] == '\0' && unknown == NULL) {
        *out = columns;
        return OCT_OK;
    }
    if (f.missing[0] != '\0') {
        oct_reason_set(why, "no column %s", f.missing);
    } else {
        oct_reason_set(why, "column %.40s does not exist in %s", unknown, spec->id);
    }
    env_replay_columns_fini(&columns);
    return OCT_EINVAL;
}

void
env_replay_columns_fini(env_replay_columns *columns)
{
    free(columns->action.at);
    free(columns->state.at);
    free(columns->obs.at);
    *columns = (env_replay_columns){0};
}

bool
env_replay_is_of_start(const char *name)
{
    static const char prefix[] = "model.";
    return strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}
