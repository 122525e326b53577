#ifndef ENVS_ENV_CSV_H
#define ENVS_ENV_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Reads a table of comma-separated numbers with one line of column names: unquoted cells, every row
// as long as the header, LF or CRLF. An empty cell is a NaN that is marked absent. A column may
// hold words instead (env_csv_words).
//
// Threads: one user at a time. Owns: its file and rows; names and cells are borrowed until the next
// call. Errors: env_csv_error is a line for a person, with the line number in the file.
typedef struct env_csv env_csv;

typedef struct env_csv_cell {
    const char *text; // without the commas; "" if absent
    double value;     // NaN if absent or in a column of words
    bool absent;
} env_csv_cell;

// Errors, with one line in reason: OCT_ENOTFOUND, OCT_EIO; OCT_EINVAL: no header, or an empty or
// repeated name.
OCT_CHECKED oct_err env_csv_open(env_csv **out, const char *path, oct_reason *why);
void env_csv_close(env_csv *csv); // NULL is a no-op
uint32_t env_csv_columns(const env_csv *csv);
const char *env_csv_name(const env_csv *csv, uint32_t column);
int32_t env_csv_find(const env_csv *csv, const char *name); // -1: no such column
// Makes a column hold words: its cells may be any text and are not parsed.
void env_csv_words(env_csv *csv, uint32_t column);
// Reads the next row. OCT_ECLOSED: there is none; OCT_EINVAL: it is malformed.
OCT_CHECKED oct_err env_csv_next(env_csv *csv, const env_csv_cell **cells);
// Line of the row that was just read; the header is line 1.
uint32_t env_csv_line(const env_csv *csv);
const char *env_csv_error(const env_csv *csv);

#endif // ENVS_ENV_CSV_H
