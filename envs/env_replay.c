#include "envs/env_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_csv.h"
#include "envs/env_space.h"

// The columns of a run of numbers: name0, name1, ...
struct columns {
    uint32_t *at;
    uint32_t count;
};

struct replay {
    env *e;
    const octet_env_spec *spec;
    const env_replay_request *request;
    env_csv *csv;
    struct columns action, state, obs;
    uint32_t ep, t, reward, terminated, truncated;
    bool *used; // columns of the file that have been given a meaning
    // One environment's rows.
    void *action_row, *obs_row;
    double *state_row;
    float reward32;
    double reward64;
    uint8_t flags;
    octet_env_io io;
    bool row_differs;
    env_replay_result result;
    char *reason;
    size_t reason_size;
};

static oct_err
column_find(struct replay *r, const char *name, uint32_t *out)
{
    int32_t column = env_csv_find(r->csv, name);
    if (column < 0) {
        snprintf(r->reason, r->reason_size, "%s: line 1: no column %s", r->request->path, name);
        return OCT_EINVAL;
    }
    r->used[column] = true;
    *out = (uint32_t)column;
    return OCT_OK;
}

static oct_err
columns_find(struct replay *r, struct columns *out, const char *prefix, uint32_t count)
{
    out->at = oct_alloc(count * sizeof(*out->at));
    out->count = count;
    for (uint32_t k = 0; k < count; k++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%u", prefix, k);
        OCT_TRY(column_find(r, name, &out->at[k]));
    }
    return OCT_OK;
}

static oct_err
action_columns_find(struct replay *r)
{
    uint32_t count = env_space_count(&r->spec->action);
    if (count == 1 && env_csv_find(r->csv, "action") >= 0) {
        r->action.at = oct_alloc(sizeof(*r->action.at));
        r->action.count = 1;
        return column_find(r, "action", r->action.at);
    }
    bool short_name = env_csv_find(r->csv, "u0") >= 0;
    return columns_find(r, &r->action, short_name ? "u" : "action", count);
}

static oct_err
header_understand(struct replay *r)
{
    OCT_TRY(column_find(r, "ep", &r->ep));
    OCT_TRY(column_find(r, "t", &r->t));
    OCT_TRY(action_columns_find(r));
    OCT_TRY(columns_find(r, &r->state, "s", r->spec->state_count));
    OCT_TRY(columns_find(r, &r->obs, "o", env_space_count(&r->spec->obs)));
    OCT_TRY(column_find(r, "reward", &r->reward));
    OCT_TRY(column_find(r, "terminated", &r->terminated));
    OCT_TRY(column_find(r, "truncated", &r->truncated));
    for (uint32_t k = 0; k < env_csv_columns(r->csv); k++) {
        if (!r->used[k]) {
            snprintf(r->reason, r->reason_size, "%s: line 1: column %.40s is nothing that %s has",
                     r->request->path, env_csv_name(r->csv, k), r->spec->id);
            return OCT_EINVAL;
        }
    }
    return OCT_OK;
}

static oct_err
row_fault(struct replay *r, const char *column, const char *what)
{
    snprintf(r->reason, r->reason_size, "%s: line %u%s%s: %s", r->request->path,
             env_csv_line(r->csv), column[0] != '\0' ? ", column " : "", column, what);
    return OCT_EINVAL;
}

static bool
bits_equal(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static void
number_compare(struct replay *r, uint32_t column, double got, double want, double tolerance)
{
    double far = fabs(got - want);
    bool same = bits_equal(got, want) || (tolerance > 0 && far <= tolerance);
    if (far > r->result.worst || isnan(far)) {
        r->result.worst = bits_equal(got, want) ? r->result.worst : far;
    }
    if (same) {
        return;
    }
    r->row_differs = true;
    if (r->result.line == 0) {
        r->result.line = env_csv_line(r->csv);
        snprintf(r->result.column, sizeof(r->result.column), "%s", env_csv_name(r->csv, column));
        r->result.got = got;
        r->result.want = want;
    }
}

static oct_err
cell_number(struct replay *r, const env_csv_cell *cells, uint32_t column, double *out)
{
    if (cells[column].absent) {
        return row_fault(r, env_csv_name(r->csv, column), "the cell is empty");
    }
    *out = cells[column].value;
    return OCT_OK;
}

static oct_err
cell_whole(struct replay *r, const env_csv_cell *cells, uint32_t column, double high, double *out)
{
    OCT_TRY(cell_number(r, cells, column, out));
    if (!(*out >= 0 && *out <= high && *out == floor(*out))) {
        char what[64];
        snprintf(what, sizeof(what), "%g is not an integer from 0 to %.0f", *out, high);
        return row_fault(r, env_csv_name(r->csv, column), what);
    }
    return OCT_OK;
}

static oct_err
environment_fault(struct replay *r)
{
    return row_fault(r, "", env_error(r->e));
}

// Puts the environment into the state that the cells record.
static oct_err
state_restore(struct replay *r, const double *state, double t)
{
    if (env_state_set(r->e, 0, state, (uint32_t)t, &r->io) != OCT_OK) {
        return environment_fault(r);
    }
    return OCT_OK;
}

static oct_err
state_and_obs_compare(struct replay *r, const env_csv_cell *cells)
{
    uint32_t step;
    if (env_state_get(r->e, 0, r->state_row, &step) != OCT_OK) {
        return environment_fault(r);
    }
    double want, tolerance = r->request->tolerance;
    for (uint32_t k = 0; k < r->state.count; k++) {
        OCT_TRY(cell_number(r, cells, r->state.at[k], &want));
        number_compare(r, r->state.at[k], r->state_row[k], want, tolerance);
    }
    for (uint32_t k = 0; k < r->obs.count; k++) {
        OCT_TRY(cell_number(r, cells, r->obs.at[k], &want));
        number_compare(r, r->obs.at[k], env_space_get(&r->spec->obs, r->obs_row, k),
                       env_space_round(&r->spec->obs, want), tolerance);
    }
    return OCT_OK;
}

static oct_err
results_compare(struct replay *r, const env_csv_cell *cells)
{
    double reward, terminated, truncated;
    OCT_TRY(cell_number(r, cells, r->reward, &reward));
    OCT_TRY(cell_whole(r, cells, r->terminated, 1, &terminated));
    OCT_TRY(cell_whole(r, cells, r->truncated, 1, &truncated));
    if ((r->flags & OCTET_ENV_FAILED) != 0) {
        return row_fault(r, "", "the environment failed: a number that is not finite, or flags");
    }
    if ((r->spec->capabilities & OCTET_ENV_HAS_REWARD64) != 0) {
        number_compare(r, r->reward, r->reward64, reward, r->request->tolerance);
    } else {
        number_compare(r, r->reward, (double)r->reward32, (double)(float)reward,
                       r->request->tolerance);
    }
    number_compare(r, r->terminated, (r->flags & OCTET_ENV_TERMINATED) != 0, terminated, 0);
    number_compare(r, r->truncated, (r->flags & OCTET_ENV_TRUNCATED) != 0, truncated, 0);
    return OCT_OK;
}

static oct_err
row_step(struct replay *r, const env_csv_cell *cells)
{
    for (uint32_t k = 0; k < r->action.count; k++) {
        double value;
        if (r->spec->action.n > 0) {
            OCT_TRY(cell_whole(r, cells, r->action.at[k], r->spec->action.n - 1.0, &value));
        } else {
            OCT_TRY(cell_number(r, cells, r->action.at[k], &value));
        }
        env_space_put(&r->spec->action, r->action_row, k, value);
    }
    if (env_step(r->e, &r->io) != OCT_OK) {
        return environment_fault(r);
    }
    return results_compare(r, cells);
}

// Where the file stands: the row before this one.
struct position {
    bool any;
    double ep, t;
    double *state;
};

static oct_err
row_compare(struct replay *r, const env_csv_cell *cells, struct position *before)
{
    double ep, t;
    OCT_TRY(cell_whole(r, cells, r->ep, 9e15, &ep));
    OCT_TRY(cell_whole(r, cells, r->t, 4e9, &t));
    bool begins = !before->any || ep != before->ep;
    if (!begins && t != before->t + 1) {
        return row_fault(r, "t", "the steps of an episode do not follow one another");
    }
    if (!begins && r->request->one_step) {
        OCT_TRY(state_restore(r, before->state, before->t));
    }
    for (uint32_t k = 0; k < r->state.count; k++) {
        OCT_TRY(cell_number(r, cells, r->state.at[k], &before->state[k]));
    }
    r->row_differs = false;
    if (begins) {
        r->result.episodes++;
        OCT_TRY(state_restore(r, before->state, t));
    } else {
        OCT_TRY(row_step(r, cells));
    }
    OCT_TRY(state_and_obs_compare(r, cells));
    r->result.rows++;
    r->result.rows_differing += r->row_differs;
    before->any = true;
    before->ep = ep;
    before->t = t;
    return OCT_OK;
}

static oct_err
rows_compare(struct replay *r)
{
    struct position before = {.state = oct_alloc(r->state.count * sizeof(double))};
    const env_csv_cell *cells;
    oct_err err;
    while ((err = env_csv_next(r->csv, &cells)) == OCT_OK) {
        err = row_compare(r, cells, &before);
        if (err != OCT_OK) {
            break;
        }
    }
    free(before.state);
    if (err == OCT_ECLOSED && r->result.rows == 0) {
        snprintf(r->reason, r->reason_size, "%s: no rows", r->request->path);
        return OCT_EINVAL;
    }
    if (env_csv_error(r->csv)[0] != '\0') {
        snprintf(r->reason, r->reason_size, "%s: %s", r->request->path, env_csv_error(r->csv));
    }
    return err == OCT_ECLOSED ? OCT_OK : err;
}

static void
rows_prepare(struct replay *r)
{
    uint32_t obs_bytes = env_space_bytes(&r->spec->obs);
    uint32_t action_bytes = env_space_bytes(&r->spec->action);
    r->used = oct_alloc(env_csv_columns(r->csv) * sizeof(*r->used));
    r->obs_row = oct_alloc(obs_bytes);
    r->action_row = oct_alloc(action_bytes);
    r->state_row = oct_alloc(r->spec->state_count * sizeof(*r->state_row));
    r->io = (octet_env_io){.size = sizeof(r->io),
                           .action = r->action_row,
                           .action_stride = action_bytes,
                           .obs = r->obs_row,
                           .obs_stride = obs_bytes,
                           .reward = &r->reward32,
                           .flags = &r->flags,
                           .reward64 = &r->reward64};
}

oct_err
env_replay_run(env_replay_result *out, env *e, const env_replay_request *request, char *reason,
               size_t reason_size)
{
    OCT_ASSERT(env_count(e) == 1);
    struct replay r = {.e = e,
                       .spec = env_spec(e),
                       .request = request,
                       .reason = reason,
                       .reason_size = reason_size};
    if ((r.spec->capabilities & OCTET_ENV_CAN_STATE) == 0) {
        snprintf(reason, reason_size, "%s cannot be put into a recorded state (no set_state)",
                 r.spec->id);
        return OCT_EINVAL;
    }
    OCT_TRY(env_csv_open(&r.csv, request->path, reason, reason_size));
    rows_prepare(&r);
    oct_err err = header_understand(&r);
    if (err == OCT_OK) {
        err = rows_compare(&r);
    }
    if (err == OCT_OK) {
        *out = r.result;
    }
    env_csv_close(r.csv);
    free(r.action.at);
    free(r.state.at);
    free(r.obs.at);
    free(r.used);
    free(r.obs_row);
    free(r.action_row);
    free(r.state_row);
    return err;
}
