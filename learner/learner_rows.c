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
    size_t room, length;
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

// As strtod, several times faster for what rows have: digits that fit into 53 bits, times a power
// of ten that a double holds exactly, so that one correctly rounded operation gives the nearest
// number (Clinger 1990). Anything else is strtod's.
static double
number_read(const char *text, const char **end)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = text + (*text == '-');
    uint64_t digits = 0;
    int places = 0, behind = 0, power = 0; // digits; those behind the point
    for (; *at >= '0' && *at <= '9'; at++, places++) {
        digits = 10 * digits + (uint64_t)(*at - '0');
    }
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++, places++, behind++) {
            digits = 10 * digits + (uint64_t)(*at - '0');
        }
    }
    if (*at == 'e' && places > 0) {
        bool is_less = at[1] == '-';
        at += 1 + (is_less || at[1] == '+');
        int count = 0;
        for (; *at >= '0' && *at <= '9' && count < 4; at++, count++) {
            power = 10 * power + (*at - '0');
        }
        power = is_less ? -power : power;
        places = count > 0 ? places : 0;
    }
    power -= behind;
    bool is_end = *at == ',' || *at == '\n';
    if (!is_end || places == 0 || places > 18 || digits > 1ull << 53 || abs(power) > 22) {
        char *stop;
        double value = strtod(text, &stop);
        *end = stop;
        return value;
    }
    *end = at;
    double value = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    return *text == '-' ? -value : value;
}

// An empty cell, and a number that is not finite, are NaN. False: it is no cell.
static bool
cell_read(const char *at, const char **end, double *value)
{
    *end = at;
    *value = *at == ',' || *at == '\n' ? NAN : number_read(at, end);
    *value = isfinite(*value) ? *value : NAN; // no row is written so
    return **end == ',' || **end == '\n';
}

bool
learner_rows_parse(const char *line, size_t length, uint32_t columns, double *values)
{
    const char *at = line;
    for (uint32_t i = 0; i < columns; i++) {
        const char *end;
        if (!cell_read(at, &end, &values[i]) || *end != (i + 1 < columns ? ',' : '\n')) {
            return false;
        }
        at = end + 1;
    }
    return at == line + length;
}

// Whether the line may be a row, by the number of its cells and the one of seconds, which is read.
static bool
row_scan(const reader *r, size_t length, uint32_t wall, double *wall_s)
{
    const char *at = r->line, *end;
    uint32_t commas = 0;
    for (size_t i = 0; i < length; i++) {
        commas += at[i] == ',';
    }
    if (commas + 1 != r->columns || at[length - 1] != '\n') {
        return false;
    }
    for (uint32_t i = 0; i < wall; i++) {
        at = (const char *)memchr(at, ',', length - (size_t)(at - r->line)) + 1;
    }
    return cell_read(at, &end, wall_s);
}

// False: that was the last.
static bool
reader_next(reader *r, uint32_t wall, double *wall_s)
{
    ssize_t length;
    while ((length = getline(&r->line, &r->room, r->in)) > 0) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        r->length = (size_t)length;
        if (row_scan(r, r->length, wall, wall_s)) {
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
    double before = 0, now;
    for (*count = 0; reader_next(r, wall, &now); (*count)++) {
        if (*count == room) {
            double *more = oct_alloc(2 * room * sizeof(*more));
            memcpy(more, lengths, room * sizeof(*more));
            free(lengths);
            lengths = more;
            room *= 2;
        }
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
    double wall_s;
    for (uint64_t i = 0; i < count && reader_next(r, j->spec->wall, &wall_s); i++) {
        if (learner_rows_parse(r->line, r->length, r->columns, r->values)) {
            row_take(j, r->values, lengths[i], i < old);
        }
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
