#ifndef COMMON_OCT_CSV_H
#define COMMON_OCT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/oct_err.h"

// metrics.csv, for the learner that writes it and the commands that read it: rows are printed,
// parsed, merged, and read while the file grows.
//
// Format. The first line has the names of the columns: letters, digits, _ and points, with commas
// between. Each further line is a row of numbers, with a decimal point in every locale. An empty
// cell is a number that was not measured; in memory it is NaN. A last line without '\n' is still
// being written, or was cut off when power failed. Readers leave out that line, and any other line
// that is no row.
//
// Merging. Neighbouring rows are merged into one so that a run of any length has a bounded number
// of rows. The merged row says of its whole time what each of its rows said of a part:
// - a counter or a state keeps its latest value;
// - a mean becomes the mean of the rows' means, and the weight of each is the growth of the counter
//   that the mean is over (seconds for a rate, updates for a loss). Sums over a run therefore stay
//   what they were. A counter that fell, because the run was resumed from an earlier checkpoint,
//   gives that row no weight. If no row has a weight, all count the same.
// - an empty cell changes nothing.
//
// Threads: any, one at a time for each object. Owns: its copies; files are borrowed.

#define OCT_CSV_COLUMNS_MAX 256
#define OCT_CSV_NAME_MAX    96 // bytes of a column's name, with the zero byte
#define OCT_CSV_HEADER_MAX  (OCT_CSV_COLUMNS_MAX * OCT_CSV_NAME_MAX)
#define OCT_CSV_BYTES_MAX   (UINT64_C(4) << 30) // of a file; no run writes a larger one

// How a column of rows is merged: one of these two, or else the index of the column that a mean is
// over.
#define OCT_CSV_LATEST UINT32_MAX
#define OCT_CSV_MEAN   (UINT32_MAX - 1) // over a counter that the file does not have

// ---- one line

// names: [columns].
void oct_csv_header(uint32_t columns, const char *const *names, char out[OCT_CSV_HEADER_MAX]);
// A number that is not finite becomes an empty cell.
void oct_csv_print(FILE *out, uint32_t columns, const double *values);
// Reads a row of length bytes with its '\n'; a zero byte follows somewhere. values: [columns].
// Returns false if the line is not a row of that many columns; then values are unspecified.
bool oct_csv_parse(const char *line, size_t length, uint32_t columns, double *values);

// ---- a file with fewer rows

typedef struct oct_csv_shrink_spec {
    uint32_t columns;
    const uint32_t *over; // [columns]
    uint32_t wall;        // column of seconds; its growth is the duration of a row
    double unit_s;        // > 0; merged rows last unit_s times a power of two, the least that works
    uint64_t newest;      // rows that stay as they are
    uint64_t older;       // >= 1: all others become this many at most
} oct_csv_shrink_spec;

// values: [columns].
typedef void (*oct_csv_row_fn)(void *arg, const double *values);

// Calls fn with the rows of a seekable file, oldest first, the older ones merged. The file is read
// twice. OCT_EIO: it has no header, or cannot be read.
OCT_CHECKED oct_err oct_csv_shrink(FILE *in, const oct_csv_shrink_spec *spec, oct_csv_row_fn fn,
                                   void *arg);

// ---- reading a file that grows

// The rows of a file, merged to at most rows_max: two by two whenever there are more, so that a
// run of any length needs the same memory.
typedef struct oct_csv {
    uint32_t columns;  // 0: the file has no header yet
    const char **name; // [columns]
    uint32_t rows;
    uint64_t merged; // rows of the file in each row here, 1, 2, 4, …; the last row may have fewer
    uint64_t rows_read; // of the file
    double *values;     // [rows][columns], oldest first
    uint64_t changes;   // grows whenever oct_csv_read finds something new

    struct oct_csv_state *state; // private
} oct_csv;

// Returns the name of the counter that a column is a mean over; NULL: it keeps its latest value.
typedef const char *(*oct_csv_over_fn)(const char *name);
// Receives each row before it is merged, values: [columns]; or NULL: the rows before it are void,
// because the file was replaced and is read from its beginning.
typedef void (*oct_csv_on_row_fn)(void *arg, const oct_csv *csv, const double *values);

// rows_max: even, >= 16.
void oct_csv_init(oct_csv *csv, uint32_t rows_max, oct_csv_over_fn over);
void oct_csv_on_row(oct_csv *csv, oct_csv_on_row_fn row, void *arg); // NULL: none
// Reads what is new since the last call, about bytes_max at most. Each call may have a newly opened
// fd; status: of fd. Another file, which the learner writes when it merges old rows, and a file
// that became shorter are read from their beginning. Returns true if there is more to read.
bool oct_csv_read(oct_csv *csv, int fd, const struct stat *status, uint64_t bytes_max);
// Index of a column; -1: there is none of that name.
int oct_csv_column(const oct_csv *csv, const char *name);
void oct_csv_fini(oct_csv *csv);

// Reads only the end of a seekable file, for its newest numbers: values[i] becomes the last number
// of column names[i], NaN if the last rows have none. count: 16 at most. Returns the number of rows
// that were found; -1: the file has no header.
int oct_csv_last(FILE *in, const char *const *names, uint32_t count, double *values);

#endif // COMMON_OCT_CSV_H
