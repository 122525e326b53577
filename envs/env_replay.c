// Compares an environment step by step with a recorded trajectory and reports the first difference.
#include "envs/env_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env_csv.h"
#include "envs/env_replay_columns.h"
#include "envs/env_space.h"
#include "envs/env_tape.h"

struct replay {
    env *e;
    const octet_env_spec *spec;
    const env_replay_request *request;
    env_csv *csv;
    env_replay_columns columns;
    double tolerance;
    // Rows of one environment.
    void *action_row, *obs_row;
    double *state_row;
    uint8_t *want_bits; // the recorded observation of bits
    env_tape tape;
    float reward32;
    double reward64;
    uint8_t flags;
    octet_env_io io;
    bool row_differs;
    env_replay_result result;
    oct_reason *why;
};

static oct_err
row_fault(struct replay *r, const char *column, const char *what)
{
    return oct_refuse(r->why, "%s: line %u%s%s: %s", r->request->path, env_csv_line(r->csv),
                      column[0] != '\0' ? ", column " : "", column, what);
}

static bool
bits_equal(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static void
difference_note(struct replay *r, const char *column, double got, double want)
{
    r->row_differs = true;
    if (r->result.line == 0) {
        r->result.line = env_csv_line(r->csv);
        snprintf(r->result.column, sizeof(r->result.column), "%s", column);
        r->result.got = got;
        r->result.want = want;
    }
}

// Compares one number. is_float: both were rounded to float.
static void
number_compare(struct replay *r, uint32_t column, double got, double want, double tolerance,
               bool is_float)
{
    double far = fabs(got - want);
    bool same =
        bits_equal(got, want) ||
        (tolerance > 0 && (far <= tolerance * fmax(1, fabs(want)) ||
                           (is_float && nextafterf((float)want, (float)got) == (float)got)));
    if (far > r->result.worst || isnan(far)) {
        r->result.worst = bits_equal(got, want) ? r->result.worst : far;
    }
    if (!same) {
        difference_note(r, env_csv_name(r->csv, column), got, want);
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

// Puts the environment into the recorded state.
static oct_err
state_restore(struct replay *r, const double *state, double t)
{
    if (env_state_set(r->e, 0, state, (uint32_t)t, &r->io) != OCT_OK) {
        return environment_fault(r);
    }
    return OCT_OK;
}

// Makes the next reset or step draw the recorded numbers of the row.
static oct_err
tape_feed(struct replay *r, const env_csv_cell *cells)
{
    uint32_t column = r->columns.tape;
    if (column == ENV_REPLAY_NONE) {
        return OCT_OK;
    }
    oct_reason what;
    if (env_tape_read(&r->tape, cells[column].text, &what) != OCT_OK) {
        return row_fault(r, env_csv_name(r->csv, column), what.text);
    }
    if (env_draws_set(r->e, 0, r->tape.draws, r->tape.count) != OCT_OK) {
        return environment_fault(r);
    }
    return OCT_OK;
}

static oct_err
episode_begin(struct replay *r, const env_csv_cell *cells, const double *state, double t)
{
    OCT_TRY(tape_feed(r, cells));
    if (r->columns.state.count > 0) {
        return state_restore(r, state, t);
    }
    if (t != 0) {
        return row_fault(r, "t", "an episode without state columns begins at 0");
    }
    return env_reset(r->e, NULL, NULL, &r->io) != OCT_OK ? environment_fault(r) : OCT_OK;
}

// Writes the name of the k-th number of the space, such as "state_hex[2][9][0]".
static void
bit_name(const octet_env_space *space, uint32_t k, char *out, size_t size)
{
    uint32_t block = env_space_count(space);
    size_t used = (size_t)snprintf(out, size, "state_hex");
    for (uint32_t d = 0; d < space->rank && used < size; d++) {
        block /= space->shape[d];
        used += (size_t)snprintf(out + used, size - used, "[%u]", k / block);
        k %= block;
    }
}

static oct_err
bits_compare(struct replay *r, const env_csv_cell *cells)
{
    uint32_t column = r->columns.bits, count = env_space_count(&r->spec->obs);
    oct_reason what;
    if (env_tape_bits(r->want_bits, count, cells[column].text, &what) != OCT_OK) {
        return row_fault(r, env_csv_name(r->csv, column), what.text);
    }
    const uint8_t *got = r->obs_row;
    for (uint32_t k = 0; k < count; k++) {
        if (got[k] != r->want_bits[k]) {
            char name[64];
            bit_name(&r->spec->obs, k, name, sizeof(name));
            r->result.worst = fmax(r->result.worst, fabs((double)got[k] - r->want_bits[k]));
            difference_note(r, name, got[k], r->want_bits[k]);
        }
    }
    return OCT_OK;
}

// Returns true if the row may lack this number of the state.
static bool
may_be_absent(struct replay *r, const env_csv_cell *cells, uint32_t column, bool begins)
{
    return !begins && cells[column].absent && env_replay_is_of_start(env_csv_name(r->csv, column));
}

static oct_err
state_compare(struct replay *r, const env_csv_cell *cells, bool begins)
{
    uint32_t step;
    if (r->columns.state.count > 0 && env_state_get(r->e, 0, r->state_row, &step) != OCT_OK) {
        return environment_fault(r);
    }
    for (uint32_t k = 0; k < r->columns.state.count; k++) {
        uint32_t column = r->columns.state.at[k];
        if (column != ENV_REPLAY_NONE && !may_be_absent(r, cells, column, begins)) {
            double want;
            OCT_TRY(cell_number(r, cells, column, &want));
            number_compare(r, column, r->state_row[k], want, r->tolerance, false);
        }
    }
    return OCT_OK;
}

static oct_err
obs_compare(struct replay *r, const env_csv_cell *cells)
{
    if (r->columns.bits != ENV_REPLAY_NONE) {
        return bits_compare(r, cells);
    }
    const octet_env_space *space = &r->spec->obs;
    bool is_float = env_space_dtype(space) == OCTET_ENV_F32;
    for (uint32_t k = 0; k < r->columns.obs.count; k++) {
        uint32_t column = r->columns.obs.at[k];
        if (column != ENV_REPLAY_NONE) {
            double want;
            OCT_TRY(cell_number(r, cells, column, &want));
            number_compare(r, column, env_space_get(space, r->obs_row, k),
                           env_space_round(space, want), r->tolerance, is_float);
        }
    }
    return OCT_OK;
}

static oct_err
flag_compare(struct replay *r, const env_csv_cell *cells, uint32_t column, uint32_t flag)
{
    double want;
    if (column == ENV_REPLAY_NONE) {
        return OCT_OK;
    }
    OCT_TRY(cell_whole(r, cells, column, 1, &want));
    number_compare(r, column, (r->flags & flag) != 0, want, 0, false);
    return OCT_OK;
}

static oct_err
results_compare(struct replay *r, const env_csv_cell *cells)
{
    double reward;
    uint32_t column = r->columns.reward;
    OCT_TRY(cell_number(r, cells, column, &reward));
    if ((r->flags & OCTET_ENV_FAILED) != 0) {
        char what[300];
        snprintf(what, sizeof(what), "the environment failed: %s", env_failure(r->e));
        return row_fault(r, "", what);
    }
    if ((r->spec->capabilities & OCTET_ENV_HAS_REWARD64) != 0) {
        number_compare(r, column, r->reward64, reward, r->tolerance, false);
    } else {
        number_compare(r, column, (double)r->reward32, (double)(float)reward, r->tolerance, true);
    }
    OCT_TRY(flag_compare(r, cells, r->columns.terminated, OCTET_ENV_TERMINATED));
    return flag_compare(r, cells, r->columns.truncated, OCTET_ENV_TRUNCATED);
}

static oct_err
row_step(struct replay *r, const env_csv_cell *cells)
{
    for (uint32_t k = 0; k < r->columns.action.count; k++) {
        double value;
        uint32_t column = r->columns.action.at[k];
        if (r->spec->action.n > 0) {
            OCT_TRY(cell_whole(r, cells, column, r->spec->action.n - 1.0, &value));
        } else {
            OCT_TRY(cell_number(r, cells, column, &value));
        }
        env_space_put(&r->spec->action, r->action_row, k, value);
    }
    OCT_TRY(tape_feed(r, cells));
    if (env_step(r->e, &r->io) != OCT_OK) {
        return environment_fault(r);
    }
    return results_compare(r, cells);
}

// The position in the file: episode, step and state of the row before this one.
struct position {
    bool any;
    double ep, t;
    double *state;
};

// Reads the row's state; numbers that only a start has keep their values.
static oct_err
state_read(struct replay *r, const env_csv_cell *cells, bool begins, double *state)
{
    for (uint32_t k = 0; k < r->columns.state.count; k++) {
        uint32_t column = r->columns.state.at[k];
        if (column != ENV_REPLAY_NONE && !may_be_absent(r, cells, column, begins)) {
            OCT_TRY(cell_number(r, cells, column, &state[k]));
        }
    }
    return OCT_OK;
}

static oct_err
row_compare(struct replay *r, const env_csv_cell *cells, struct position *before)
{
    double ep, t;
    OCT_TRY(cell_whole(r, cells, r->columns.ep, 9e15, &ep));
    OCT_TRY(cell_whole(r, cells, r->columns.t, 4e9, &t));
    bool begins = !before->any || ep != before->ep;
    if (!begins && t != before->t + 1) {
        return row_fault(r, "t", "the steps of an episode do not follow one another");
    }
    if (!begins && r->request->one_step) {
        OCT_TRY(state_restore(r, before->state, before->t));
    }
    OCT_TRY(state_read(r, cells, begins, before->state));
    r->row_differs = false;
    if (begins) {
        r->result.episodes++;
        OCT_TRY(episode_begin(r, cells, before->state, t));
    } else {
        OCT_TRY(row_step(r, cells));
    }
    OCT_TRY(state_compare(r, cells, begins));
    OCT_TRY(obs_compare(r, cells));
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
    struct position before = {.state = oct_alloc((r->columns.state.count + 1) * sizeof(double))};
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
        return oct_refuse(r->why, "%s: no rows", r->request->path);
    }
    if (env_csv_error(r->csv)[0] != '\0') {
        oct_reason_set(r->why, "%s: %s", r->request->path, env_csv_error(r->csv));
    }
    return err == OCT_ECLOSED ? OCT_OK : err;
}

static void
rows_prepare(struct replay *r)
{
    uint32_t obs_bytes = env_space_bytes(&r->spec->obs);
    uint32_t action_bytes = env_space_bytes(&r->spec->action);
    r->obs_row = oct_alloc(obs_bytes);
    r->action_row = oct_alloc(action_bytes);
    r->state_row = oct_alloc((r->spec->state_count + 1) * sizeof(*r->state_row));
    r->want_bits = oct_alloc(env_space_count(&r->spec->obs));
    env_tape_init(&r->tape);
    r->io = (octet_env_io){.size = sizeof(r->io),
                           .action = r->action_row,
                           .action_stride = action_bytes,
                           .obs = r->obs_row,
                           .obs_stride = obs_bytes,
                           .reward = &r->reward32,
                           .flags = &r->flags,
                           .reward64 = &r->reward64};
}

static void
rows_free(struct replay *r)
{
    env_tape_fini(&r->tape);
    free(r->obs_row);
    free(r->action_row);
    free(r->state_row);
    free(r->want_bits);
}

static oct_err
request_check(struct replay *r)
{
    bool has_state = (r->spec->capabilities & OCTET_ENV_CAN_STATE) != 0;
    bool has_draws = (r->spec->capabilities & OCTET_ENV_CAN_DRAWS) != 0;
    if (!has_state && (!has_draws || r->request->one_step)) {
        return oct_refuse(r->why, "%s cannot be put into a recorded state (no set_state%s)",
                          r->spec->id, has_draws ? "" : ", no set_draws");
    }
    r->tolerance = r->request->tolerance;
    if (r->tolerance < 0) {
        r->tolerance = r->spec->state_names != NULL ? ENV_REPLAY_TOLERANCE_NAMED : 0;
    }
    r->result.tolerance = r->tolerance;
    return OCT_OK;
}

static oct_err
header_understand(struct replay *r)
{
    oct_reason what;
    if (env_replay_columns_init(&r->columns, r->csv, r->spec, r->request->partial, &what) !=
        OCT_OK) {
        return oct_refuse(r->why, "%s: line 1: %s", r->request->path, what.text);
    }
    memcpy(r->result.ignored, r->columns.ignored, sizeof(r->result.ignored));
    memcpy(r->result.unrecorded, r->columns.unrecorded, sizeof(r->result.unrecorded));
    return OCT_OK;
}

oct_err
env_replay_run(env_replay_result *out, env *e, const env_replay_request *request, oct_reason *why)
{
    OCT_ASSERT(env_count(e) == 1);
    struct replay r = {.e = e, .spec = env_spec(e), .request = request, .why = why};
    OCT_TRY(request_check(&r));
    OCT_TRY(env_csv_open(&r.csv, request->path, why));
    rows_prepare(&r);
    oct_err err = header_understand(&r);
    if (err == OCT_OK) {
        err = rows_compare(&r);
        if (r.columns.tape != ENV_REPLAY_NONE && env_draws_set(e, 0, NULL, 0) != OCT_OK) {
            err = err != OCT_OK ? err : environment_fault(&r);
        }
    }
    if (err == OCT_OK) {
        *out = r.result;
    }
    rows_free(&r);
    env_replay_columns_fini(&r.columns);
    env_csv_close(r.csv);
    return err;
}
