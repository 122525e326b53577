// Joins old rows of metrics.csv, so that a run of any length has a bounded number of them.
#include "learner/learner_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_pulse.h"

#define LENGTHS_FIRST 1024

typedef struct reader {
    FILE *in;
    char *line;
    size_t room;
    uint32_t columns;
    double *values; // [columns] of the last row that was read
} reader;

// One row that is made of several.
typedef struct joiner {
    const learner_rows_spec *spec;
    learner_row_fn fn;
    void *arg;
    double limit_s, length_s; // of joined rows; of this one so far
    bool is_empty;
    double *before; // [columns]: of the last row, where it had a value
    double *latest; // [columns]
    double *weighed, *weight;
    double *plain, *count;
    double *joined;
} joiner;

// ---- reading

static oct_err
reader_begin(reader *r)
{
    if (fseek(r->in, 0, SEEK_SET) != 0 || getline(&r->line, &r->room, r->in) < 0) {
        return OCT_EIO;
    }
    return OCT_OK;
}

static bool
row_parse(reader *r)
{
    char *at = r->line;
    for (uint32_t i = 0; i < r->columns; i++) {
        char *end = at;
        r->values[i] = *at == ',' || *at == '\n' ? NAN : strtod(at, &end);
        r->values[i] = isfinite(r->values[i]) ? r->values[i] : NAN; // no row is written so
        if (*end != (i + 1 < r->columns ? ',' : '\n')) {
            return false;
        }
        at = end + 1;
    }
    return *at == '\0';
}

// False: that was the last.
static bool
reader_next(reader *r)
{
    while (getline(&r->line, &r->room, r->in) >= 0) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        if (row_parse(r)) {
            return true;
        }
    }
    return false;
}

// What a counter grew by; it may have begun again.
static double
growth(double before, double now)
{
    return now > before ? now - before : 0; // NaN: none
}

// ---- how long

// The length of each row, and how many there are.
static double *
lengths_read(reader *r, uint32_t wall, uint64_t *count)
{
    uint64_t room = LENGTHS_FIRST;
    double *lengths = oct_alloc(room * sizeof(*lengths));
    double before = 0;
    for (*count = 0; reader_next(r); (*count)++) {
        if (*count == room) {
            double *more = oct_alloc(2 * room * sizeof(*more));
            memcpy(more, lengths, room * sizeof(*more));
            free(lengths);
            lengths = more;
            room *= 2;
        }
        double now = r->values[wall];
        lengths[*count] = growth(before, now);
        before = isnan(now) ? before : now;
    }
    return lengths;
}

static uint64_t
groups_count(const double *lengths, uint64_t count, double limit_s)
{
    uint64_t groups = count > 0;
    double length_s = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (length_s > 0 && length_s + lengths[i] > limit_s) {
            groups++;
            length_s = 0;
        }
        length_s += lengths[i];
    }
    return groups;
}

static double
limit_find(const double *lengths, uint64_t count, const learner_rows_spec *spec)
{
    double limit_s = spec->unit_s; // at last infinite: one group
    while (groups_count(lengths, count, limit_s) > spec->older) {
        limit_s *= 2;
    }
    return limit_s;
}

// ---- joining

static void
row_clear(joiner *j)
{
    size_t bytes = j->spec->columns * sizeof(double);
    for (uint32_t i = 0; i < j->spec->columns; i++) {
        j->latest[i] = NAN;
    }
    memset(j->weighed, 0, bytes);
    memset(j->weight, 0, bytes);
    memset(j->plain, 0, bytes);
    memset(j->count, 0, bytes);
    j->length_s = 0;
    j->is_empty = true;
}

static void
row_give(joiner *j)
{
    for (uint32_t i = 0; i < j->spec->columns; i++) {
        bool is_latest = j->spec->over[i] == LEARNER_ROWS_LATEST;
        j->joined[i] = is_latest          ? j->latest[i]
                       : j->weight[i] > 0 ? j->weighed[i] / j->weight[i]
                       : j->count[i] > 0  ? j->plain[i] / j->count[i]
                                          : NAN;
    }
    if (!j->is_empty) {
        j->fn(j->arg, j->joined);
    }
    row_clear(j);
}

static void
row_add(joiner *j, const double *values)
{
    for (uint32_t i = 0; i < j->spec->columns; i++) {
        uint32_t over = j->spec->over[i];
        double weight = over == LEARNER_ROWS_LATEST ? 0 : growth(j->before[over], values[over]);
        if (!isnan(values[i])) {
            j->latest[i] = values[i];
            j->weighed[i] += weight * values[i];
            j->weight[i] += weight;
            j->plain[i] += values[i];
            j->count[i]++;
        }
    }
    for (uint32_t i = 0; i < j->spec->columns; i++) {
        j->before[i] = isnan(values[i]) ? j->before[i] : values[i];
    }
    j->is_empty = false;
}

// As groups_count counts.
static void
row_take(joiner *j, const double *values, double length_s, bool is_old)
{
    if (!is_old || (j->length_s > 0 && j->length_s + length_s > j->limit_s)) {
        row_give(j);
    }
    row_add(j, values);
    j->length_s += length_s;
}

static void
join_all(reader *r, joiner *j, const double *lengths, uint64_t count)
{
    uint64_t old = count > j->spec->newest ? count - j->spec->newest : 0;
    j->limit_s = limit_find(lengths, old, j->spec);
    row_clear(j);
    for (uint64_t i = 0; i < count && reader_next(r); i++) {
        row_take(j, r->values, lengths[i], i < old);
    }
    row_give(j);
}

oct_err
learner_rows_join(FILE *in, const learner_rows_spec *spec, learner_row_fn fn, void *arg)
{
    OCT_ASSERT(spec->columns > 0 && spec->wall < spec->columns);
    OCT_ASSERT(spec->unit_s > 0 && spec->older >= 1);
    size_t n = spec->columns;
    double *room = oct_alloc(8 * n * sizeof(*room));
    reader r = {.in = in, .columns = spec->columns, .values = room};
    joiner j = {
        .spec = spec,
        .fn = fn,
        .arg = arg,
        .before = room + n,
        .latest = room + 2 * n,
        .weighed = room + 3 * n,
        .weight = room + 4 * n,
        .plain = room + 5 * n,
        .count = room + 6 * n,
        .joined = room + 7 * n,
    };
    uint64_t count = 0;
    double *lengths = NULL;
    oct_err err = reader_begin(&r);
    if (err == OCT_OK) {
        lengths = lengths_read(&r, spec->wall, &count);
        err = reader_begin(&r);
    }
    if (err == OCT_OK) {
        join_all(&r, &j, lengths, count);
        err = ferror(in) ? OCT_EIO : OCT_OK;
    }
    free(lengths);
    free(r.line);
    free(room);
    return err;
}
