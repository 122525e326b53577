// metrics.csv: rows of numbers are printed, parsed, merged, and read while the file grows.
//
// One object merges rows (csv_merge) for both who need fewer of them. The learner rewrites a
// file that became too long (oct_csv_shrink): a first pass over the file finds how long each row
// lasts and from that the duration of merged rows, a second pass merges. A reader (oct_csv) has one
// pass over a file that still grows, and cannot know how long it will become. It merges the same
// number of rows into each of its own, and doubles that number whenever it has rows_max of them.
// What it holds therefore depends on the file alone, and not on when it was read.
#include "common/oct_csv.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_locale.h"
#include "common/oct_pulse.h"
#include "common/oct_text.h"

#define LENGTHS_FIRST   1024
#define BLOCK_BYTES     (1u << 18) // read at once; no line may be longer
#define TAIL_BYTES      (1u << 16) // of oct_csv_last
#define TAIL_COLUMNS    16
#define WHOLE_MAX       9007199254740992.0 // below, whole numbers are written with all digits
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

// ---- one line

void
oct_csv_header(uint32_t columns, const char *const *names, char out[OCT_CSV_HEADER_MAX])
{
    size_t used = 0;
    for (uint32_t i = 0; i < columns; i++) {
        used += (size_t)snprintf(out + used, OCT_CSV_HEADER_MAX - used, "%s%s", i > 0 ? "," : "",
                                 names[i]);
        OCT_ASSERT(used + 1 < OCT_CSV_HEADER_MAX);
    }
    memcpy(out + used, "\n", sizeof("\n"));
}

void
oct_csv_print(FILE *out, uint32_t columns, const double *values)
{
    locale_t before = uselocale(oct_locale_plain());
    for (uint32_t i = 0; i < columns; i++) {
        bool is_whole = values[i] == floor(values[i]) && fabs(values[i]) < WHOLE_MAX;
        if (i > 0) {
            fputc(',', out);
        }
        if (isfinite(values[i])) {
            fprintf(out, is_whole ? "%.0f" : "%.9g", values[i]);
        }
    }
    (void)fputc('\n', out);
    (void)uselocale(before);
}

// Reads a cell; *end is behind it. Returns false if it is no number and not empty. A number that is
// not finite, which no learner writes, counts as empty.
static bool
cell_parse(const char *at, const char **end, double *value)
{
    char *stop = (char *)at;
    *value = *at == ',' || *at == '\n' ? NAN : oct_text_number(at, &stop);
    *value = isfinite(*value) ? *value : NAN;
    *end = stop;
    return *stop == ',' || *stop == '\n';
}

bool
oct_csv_parse(const char *line, size_t length, uint32_t columns, double *values)
{
    const char *at = line;
    for (uint32_t i = 0; i < columns; i++) {
        const char *end;
        if (!cell_parse(at, &end, &values[i]) || *end != (i + 1 < columns ? ',' : '\n')) {
            return false;
        }
        at = end + 1;
    }
    return at == line + length;
}

static uint32_t
cells_count(const char *line, size_t length)
{
    uint32_t count = 1;
    for (size_t i = 0; i < length; i++) {
        count += line[i] == ',';
    }
    return count;
}

// Splits the first line, length bytes with its '\n'. The names are in one block of memory, which
// the caller frees. Returns NULL if it is no header.
static const char **
header_parse(const char *line, size_t length, uint32_t *columns)
{
    uint32_t count = cells_count(line, length);
    if (count > OCT_CSV_COLUMNS_MAX) {
        return NULL;
    }
    const char **names = oct_alloc(count * sizeof(*names) + length);
    char *at = memcpy(names + count, line, length);
    for (uint32_t i = 0; i < count; i++) {
        size_t size = strspn(at, NAME_CHARACTERS);
        if (size == 0 || size >= OCT_CSV_NAME_MAX || at[size] != (i + 1 < count ? ',' : '\n')) {
            free(names);
            return NULL;
        }
        names[i] = at;
        at[size] = '\0';
        at += size + 1;
    }
    *columns = count;
    return names;
}

static uint32_t
name_find(const char *const *names, uint32_t columns, const char *name)
{
    uint32_t i = 0;
    while (i < columns && strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

// ---- merging

typedef struct merged_column {
    uint32_t over;
    double before; // value of the last row that had one, also of rows merged earlier
    double latest; // of this merged row; NaN: no row had a value
    double weighed, weight;
    double sum, count; // as weighed and weight, with a weight of 1 for each
} merged_column;

typedef struct csv_merge {
    uint32_t columns;
    bool is_empty;
    merged_column column[];
} csv_merge;

// Returns by how much a counter grew: 0 if it fell, or was not measured.
static double
growth(double before, double now)
{
    return now > before ? now - before : 0;
}

// Begins another merged row, after the rows that were added before.
static void
merge_begin(csv_merge *m)
{
    m->is_empty = true;
    for (uint32_t i = 0; i < m->columns; i++) {
        merged_column *c = &m->column[i];
        c->latest = NAN;
        c->weighed = c->weight = c->sum = c->count = 0;
    }
}

static csv_merge *
merge_create(uint32_t columns, const uint32_t *over)
{
    csv_merge *m = oct_alloc(sizeof(*m) + columns * sizeof(m->column[0]));
    m->columns = columns;
    for (uint32_t i = 0; i < columns; i++) {
        OCT_ASSERT(over[i] < columns || over[i] == OCT_CSV_LATEST || over[i] == OCT_CSV_MEAN);
        m->column[i].over = over[i];
    }
    merge_begin(m);
    return m;
}

static void
merge_add(csv_merge *m, const double *values)
{
    for (uint32_t i = 0; i < m->columns; i++) {
        merged_column *c = &m->column[i];
        if (isnan(values[i])) {
            continue;
        }
        c->latest = values[i];
        if (c->over != OCT_CSV_LATEST) {
            bool has_weight = c->over != OCT_CSV_MEAN;
            double weight = has_weight ? growth(m->column[c->over].before, values[c->over]) : 0;
            c->weighed += weight * values[i];
            c->weight += weight;
            c->sum += values[i];
            c->count++;
        }
    }
    for (uint32_t i = 0; i < m->columns; i++) {
        m->column[i].before = isnan(values[i]) ? m->column[i].before : values[i];
    }
    m->is_empty = false;
}

// Gives the merged row of what was added since merge_begin. Returns false if that was nothing.
static bool
merge_row(const csv_merge *m, double *values)
{
    for (uint32_t i = 0; i < m->columns; i++) {
        const merged_column *c = &m->column[i];
        values[i] = c->weight > 0  ? c->weighed / c->weight
                    : c->count > 0 ? c->sum / c->count
                                   : c->latest;
    }
    return !m->is_empty;
}

static void
merge_destroy(csv_merge *m)
{
    free(m);
}

// ---- a file with fewer rows

typedef struct lines {
    FILE *in;
    char *line;
    size_t room, length;
    uint32_t columns;
    uint32_t wall;
} lines;

static oct_err
lines_begin(lines *l)
{
    if (fseek(l->in, 0, SEEK_SET) != 0 || getline(&l->line, &l->room, l->in) < 0) {
        return OCT_EIO;
    }
    return OCT_OK;
}

// Returns true if the line may be a row. Only the cells are counted, and that of seconds is read.
static bool
line_scan(const lines *l, double *wall_s)
{
    const char *at = l->line, *end;
    if (cells_count(at, l->length) != l->columns || at[l->length - 1] != '\n') {
        return false;
    }
    for (uint32_t i = 0; i < l->wall; i++) {
        at = (const char *)memchr(at, ',', l->length - (size_t)(at - l->line)) + 1;
    }
    return cell_parse(at, &end, wall_s);
}

// The next line that may be a row. Returns false at the end.
static bool
lines_next(lines *l, double *wall_s)
{
    ssize_t length;
    while ((length = getline(&l->line, &l->room, l->in)) > 0) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        l->length = (size_t)length;
        if (line_scan(l, wall_s)) {
            return true;
        }
    }
    return false;
}

// Returns the seconds that each row lasts; the caller frees them.
static double *
lengths_read(lines *l, uint64_t *count)
{
    uint64_t room = LENGTHS_FIRST;
    double *lengths = oct_alloc(room * sizeof(*lengths));
    double before = 0, now;
    for (*count = 0; lines_next(l, &now); (*count)++) {
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

// Returns true if a row of length_s begins another merged row, behind one of merged_s so far.
static bool
is_beyond(double merged_s, double length_s, double limit_s)
{
    return merged_s > 0 && merged_s + length_s > limit_s;
}

static uint64_t
merged_count(const double *lengths, uint64_t count, double limit_s)
{
    uint64_t merged = count > 0;
    double merged_s = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (is_beyond(merged_s, lengths[i], limit_s)) {
            merged++;
            merged_s = 0;
        }
        merged_s += lengths[i];
    }
    return merged;
}

// An infinite limit gives one merged row, so that the loop ends.
static double
limit_find(const double *lengths, uint64_t count, const oct_csv_shrink_spec *spec)
{
    double limit_s = spec->unit_s;
    while (merged_count(lengths, count, limit_s) > spec->older) {
        limit_s *= 2;
    }
    return limit_s;
}

typedef struct shrink {
    csv_merge *merge;
    double *row, *merged; // [columns]: as it was parsed, and what fn gets
    oct_csv_row_fn fn;
    void *arg;
} shrink;

static void
shrink_end_row(shrink *s)
{
    if (merge_row(s->merge, s->merged)) {
        s->fn(s->arg, s->merged);
    }
    merge_begin(s->merge);
}

static void
shrink_all(shrink *s, lines *l, const oct_csv_shrink_spec *spec, const double *lengths,
           uint64_t count)
{
    uint64_t older = count > spec->newest ? count - spec->newest : 0;
    double limit_s = limit_find(lengths, older, spec), merged_s = 0, wall_s;
    for (uint64_t i = 0; i < count && lines_next(l, &wall_s); i++) {
        if (!oct_csv_parse(l->line, l->length, l->columns, s->row)) {
            continue;
        }
        if (i >= older || is_beyond(merged_s, lengths[i], limit_s)) {
            shrink_end_row(s);
            merged_s = 0;
        }
        merge_add(s->merge, s->row);
        merged_s += lengths[i];
    }
    shrink_end_row(s);
}

oct_err
oct_csv_shrink(FILE *in, const oct_csv_shrink_spec *spec, oct_csv_row_fn fn, void *arg)
{
    OCT_ASSERT(spec->columns > 0 && spec->wall < spec->columns);
    OCT_ASSERT(spec->unit_s > 0 && spec->older >= 1);
    lines l = {.in = in, .columns = spec->columns, .wall = spec->wall};
    uint64_t count = 0;
    if (lines_begin(&l) != OCT_OK) {
        free(l.line);
        return OCT_EIO;
    }
    double *lengths = lengths_read(&l, &count);
    shrink s = {.merge = merge_create(spec->columns, spec->over),
                .row = oct_alloc(spec->columns * sizeof(double)),
                .merged = oct_alloc(spec->columns * sizeof(double)),
                .fn = fn,
                .arg = arg};
    oct_err err = lines_begin(&l);
    if (err == OCT_OK) {
        shrink_all(&s, &l, spec, lengths, count);
        err = ferror(in) ? OCT_EIO : OCT_OK;
    }
    merge_destroy(s.merge);
    free(s.row);
    free(s.merged);
    free(lengths);
    free(l.line);
    return err;
}

// ---- reading a file that grows

struct oct_csv_state {
    uint32_t rows_max;
    oct_csv_over_fn over_of;
    oct_csv_on_row_fn on_row; // NULL: none
    void *on_row_arg;
    ino_t file;       // 0: none was read
    off_t offset;     // of the first line that was not read
    bool is_inside;   // offset is within a line that is too long for a row
    bool is_foreign;  // the first line is no header
    uint32_t *over;   // [columns]
    double *row;      // [columns]
    csv_merge *merge; // of the last row in memory
    uint64_t in_last; // rows of the file in it
};

static void
rows_clear(oct_csv *csv)
{
    struct oct_csv_state *state = csv->state;
    if (state->on_row != NULL) {
        state->on_row(state->on_row_arg, csv, NULL);
    }
    free(csv->name);
    free(csv->values);
    free(state->over);
    free(state->row);
    merge_destroy(state->merge);
    *state = (struct oct_csv_state){.rows_max = state->rows_max,
                                    .over_of = state->over_of,
                                    .on_row = state->on_row,
                                    .on_row_arg = state->on_row_arg};
    *csv = (oct_csv){.state = state, .merged = 1, .changes = csv->changes};
}

static uint32_t
over_find(const oct_csv *csv, const char *name)
{
    const char *over = csv->state->over_of(name);
    uint32_t found = over != NULL ? name_find(csv->name, csv->columns, over) : OCT_CSV_LATEST;
    return found == csv->columns ? OCT_CSV_MEAN : found;
}

static void
header_take(oct_csv *csv, const char *line, size_t length)
{
    struct oct_csv_state *state = csv->state;
    csv->name = header_parse(line, length, &csv->columns);
    if (csv->name == NULL) {
        state->is_foreign = true;
        return;
    }
    csv->values = oct_alloc((size_t)state->rows_max * csv->columns * sizeof(double));
    state->row = oct_alloc(csv->columns * sizeof(double));
    state->over = oct_alloc(csv->columns * sizeof(*state->over));
    for (uint32_t i = 0; i < csv->columns; i++) {
        state->over[i] = over_find(csv, csv->name[i]);
    }
    state->merge = merge_create(csv->columns, state->over);
}

// Merges the rows in memory two by two.
static void
rows_halve(oct_csv *csv)
{
    size_t n = csv->columns;
    csv_merge *merge = merge_create(csv->columns, csv->state->over);
    for (uint32_t row = 0; row < csv->rows / 2; row++) {
        merge_add(merge, csv->values + 2 * row * n);
        merge_add(merge, csv->values + (2 * row + 1) * n);
        (void)merge_row(merge, csv->values + row * n);
        merge_begin(merge);
    }
    merge_destroy(merge);
    csv->rows /= 2;
    csv->merged *= 2;
}

// Writes the last row in memory from the rows that were merged into it so far.
static void
last_row_write(oct_csv *csv)
{
    (void)merge_row(csv->state->merge, csv->values + (size_t)(csv->rows - 1) * csv->columns);
}

static void
row_take(oct_csv *csv, const double *values)
{
    struct oct_csv_state *state = csv->state;
    if (csv->rows == 0 || state->in_last == csv->merged) {
        if (csv->rows == state->rows_max) {
            rows_halve(csv);
        }
        csv->rows++;
        state->in_last = 0;
        merge_begin(state->merge);
    }
    merge_add(state->merge, values);
    state->in_last++;
    csv->rows_read++;
    if (state->in_last == csv->merged) { // otherwise oct_csv_read writes it at its end
        last_row_write(csv);
    }
}

// length: with the '\n'.
static void
line_take(oct_csv *csv, const char *line, size_t length)
{
    struct oct_csv_state *state = csv->state;
    if (state->is_inside) {
        state->is_inside = false;
    } else if (csv->columns == 0 && !state->is_foreign) {
        header_take(csv, line, length);
    } else if (csv->columns > 0 && oct_csv_parse(line, length, csv->columns, state->row)) {
        if (state->on_row != NULL) {
            state->on_row(state->on_row_arg, csv, state->row);
        }
        row_take(csv, state->row);
    }
}

// Takes the complete lines of a block, which a zero byte follows. Returns their bytes. A full block
// without an end of line is part of a line that is too long, and is skipped.
static size_t
block_take(oct_csv *csv, const char *block, size_t length)
{
    const char *at = block, *stop = block + length, *end;
    while ((end = memchr(at, '\n', (size_t)(stop - at))) != NULL) {
        line_take(csv, at, (size_t)(end + 1 - at));
        at = end + 1;
    }
    if (at == block && length == BLOCK_BYTES) {
        csv->state->is_inside = true;
        csv->state->is_foreign = csv->state->is_foreign || csv->columns == 0;
        return length;
    }
    return (size_t)(at - block);
}

static size_t
block_read(int fd, char *out, size_t room, off_t from)
{
    size_t length = 0;
    for (ssize_t got = 1; length < room && got > 0; length += got > 0 ? (size_t)got : 0) {
        got = pread(fd, out + length, room - length, from + (off_t)length);
    }
    out[length] = '\0';
    return length;
}

void
oct_csv_init(oct_csv *csv, uint32_t rows_max, oct_csv_over_fn over)
{
    OCT_ASSERT(rows_max >= 16 && rows_max % 2 == 0);
    *csv = (oct_csv){.state = oct_alloc(sizeof(*csv->state)), .merged = 1};
    csv->state->rows_max = rows_max;
    csv->state->over_of = over;
}

void
oct_csv_on_row(oct_csv *csv, oct_csv_on_row_fn row, void *arg)
{
    csv->state->on_row = row;
    csv->state->on_row_arg = arg;
}

bool
oct_csv_read(oct_csv *csv, int fd, const struct stat *status, uint64_t bytes_max)
{
    struct oct_csv_state *state = csv->state;
    if (state->file != status->st_ino || status->st_size < state->offset) {
        rows_clear(csv);
        state->file = status->st_ino;
        csv->changes++;
    }
    uint64_t before = csv->rows_read, done = 0;
    size_t room = OCT_MIN((size_t)(status->st_size - state->offset), BLOCK_BYTES), taken = 1;
    char *block = oct_alloc(room + 1);
    while (taken > 0 && done < bytes_max) {
        taken = block_take(csv, block, block_read(fd, block, room, state->offset));
        state->offset += (off_t)taken;
        done += taken;
    }
    free(block);
    if (csv->rows_read != before) {
        last_row_write(csv);
        csv->changes++;
    }
    return taken > 0;
}

int
oct_csv_column(const oct_csv *csv, const char *name)
{
    uint32_t found = name_find(csv->name, csv->columns, name);
    return found < csv->columns ? (int)found : -1;
}

void
oct_csv_fini(oct_csv *csv)
{
    oct_csv_on_row(csv, NULL, NULL);
    rows_clear(csv);
    free(csv->state);
}

// ---- the end of a file

// Takes the newest number of each column from the complete lines of text, last line first. The
// first line, which may have begun before text, is left out. Returns how many were rows.
static int
tail_take(const char *text, size_t length, uint32_t columns, const uint32_t *at, uint32_t count,
          double *values)
{
    int rows = 0;
    double *row = oct_alloc(columns * sizeof(*row));
    const char *end = memrchr(text, '\n', length), *before;
    for (; end != NULL && (before = memrchr(text, '\n', (size_t)(end - text))) != NULL;
         end = before) {
        if (oct_csv_parse(before + 1, (size_t)(end - before), columns, row)) {
            rows++;
            for (uint32_t i = 0; i < count; i++) {
                values[i] = isnan(values[i]) && at[i] < columns ? row[at[i]] : values[i];
            }
        }
    }
    free(row);
    return rows;
}

int
oct_csv_last(FILE *in, const char *const *names, uint32_t count, double *values)
{
    OCT_ASSERT(count <= TAIL_COLUMNS);
    uint32_t columns = 0, at[TAIL_COLUMNS];
    char *text = oct_alloc(TAIL_BYTES + 1);
    size_t length = fread(text, 1, TAIL_BYTES, in);
    const char *end = memchr(text, '\n', length);
    const char **found =
        end != NULL ? header_parse(text, (size_t)(end + 1 - text), &columns) : NULL;
    int rows = -1;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = NAN;
        at[i] = name_find(found, columns, names[i]);
    }
    if (found != NULL) {
        if (fseek(in, -(long)TAIL_BYTES, SEEK_END) != 0) { // the file is shorter
            (void)fseek(in, 0, SEEK_SET);
        }
        length = fread(text, 1, TAIL_BYTES, in);
        text[length] = '\0';
        rows = tail_take(text, length, columns, at, count, values);
    }
    free(found);
    free(text);
    return rows;
}
