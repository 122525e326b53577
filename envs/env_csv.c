// Reads a table of comma-separated numbers, row by row, with errors that name line and column.
#include "envs/env_csv.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define COLUMNS_MAX    (1u << 20)
#define FILE_BYTES_MAX (UINT64_C(4) << 30)

struct env_csv {
    FILE *file;
    char *header; // the first line, split into names
    char **names;
    bool *words; // [columns] true for columns of words
    uint32_t columns;
    env_csv_cell *cells;
    char *text; // the line that was read last
    size_t text_size;
    uint32_t line;
    char error[256];
};

// Reads one line without its line end. OCT_ECLOSED at the end of the file.
static oct_err
line_read(env_csv *csv)
{
    ssize_t length = getline(&csv->text, &csv->text_size, csv->file);
    if (length < 0) {
        if (ferror(csv->file) != 0) {
            snprintf(csv->error, sizeof(csv->error), "after line %u: %s", csv->line,
                     oct_file_strerror(errno));
            return OCT_EIO;
        }
        return OCT_ECLOSED;
    }
    csv->line++;
    if (strlen(csv->text) != (size_t)length) {
        snprintf(csv->error, sizeof(csv->error), "line %u: holds a zero byte", csv->line);
        return OCT_EINVAL;
    }
    while (length > 0 && (csv->text[length - 1] == '\n' || csv->text[length - 1] == '\r')) {
        csv->text[--length] = '\0';
    }
    return OCT_OK;
}

static uint32_t
cells_in(const char *text)
{
    uint32_t count = 1;
    for (; *text != '\0'; text++) {
        count += *text == ',';
    }
    return count;
}

static oct_err
header_read(env_csv *csv)
{
    oct_err err = line_read(csv);
    if (err == OCT_ECLOSED || (err == OCT_OK && csv->text[0] == '\0')) {
        snprintf(csv->error, sizeof(csv->error), "line 1: no column names");
        return OCT_EINVAL;
    }
    OCT_TRY(err);
    csv->columns = cells_in(csv->text);
    if (csv->columns > COLUMNS_MAX) {
        snprintf(csv->error, sizeof(csv->error), "line 1: more than %u columns", COLUMNS_MAX);
        return OCT_EINVAL;
    }
    csv->header = csv->text;
    csv->text = NULL;
    csv->text_size = 0;
    csv->names = oct_alloc(csv->columns * sizeof(*csv->names));
    csv->words = oct_alloc(csv->columns * sizeof(*csv->words));
    csv->cells = oct_alloc(csv->columns * sizeof(*csv->cells));
    char *rest = csv->header;
    for (uint32_t k = 0; k < csv->columns; k++) {
        csv->names[k] = strsep(&rest, ",");
        if (csv->names[k][0] == '\0') {
            snprintf(csv->error, sizeof(csv->error), "line 1: column %u has no name", k + 1);
            return OCT_EINVAL;
        }
        if (env_csv_find(csv, csv->names[k]) != (int32_t)k) {
            snprintf(csv->error, sizeof(csv->error), "column %.40s is given twice", csv->names[k]);
            return OCT_EINVAL;
        }
    }
    return OCT_OK;
}

oct_err
env_csv_open(env_csv **out, const char *path, oct_reason *why)
{
    FILE *file = oct_file_stream_bounded(path, FILE_BYTES_MAX);
    if (file == NULL) {
        oct_reason_set(why, "%s: %s", path, oct_file_strerror(errno));
        return errno == ENOENT ? OCT_ENOTFOUND : OCT_EIO;
    }
    env_csv *csv = oct_alloc(sizeof(*csv));
    csv->file = file;
    oct_err err = header_read(csv);
    if (err != OCT_OK) {
        oct_reason_set(why, "%s: %s", path, csv->error);
        env_csv_close(csv);
        return err;
    }
    *out = csv;
    return OCT_OK;
}

void
env_csv_close(env_csv *csv)
{
    if (csv == NULL) {
        return;
    }
    (void)fclose(csv->file);
    free(csv->header);
    free(csv->names);
    free(csv->words);
    free(csv->cells);
    free(csv->text);
    free(csv);
}

uint32_t
env_csv_columns(const env_csv *csv)
{
    return csv->columns;
}

const char *
env_csv_name(const env_csv *csv, uint32_t column)
{
    OCT_ASSERT(column < csv->columns);
    return csv->names[column];
}

int32_t
env_csv_find(const env_csv *csv, const char *name)
{
    // While the header is read, names after the current one are still NULL.
    for (uint32_t k = 0; k < csv->columns && csv->names[k] != NULL; k++) {
        if (strcmp(csv->names[k], name) == 0) {
            return (int32_t)k;
        }
    }
    return -1;
}

void
env_csv_words(env_csv *csv, uint32_t column)
{
    OCT_ASSERT(column < csv->columns);
    csv->words[column] = true;
}

static oct_err
cell_read(env_csv *csv, uint32_t column, const char *text)
{
    bool absent = text[0] == '\0';
    if (absent || csv->words[column]) {
        csv->cells[column] = (env_csv_cell){.text = text, .value = NAN, .absent = absent};
        return OCT_OK;
    }
    char *end;
    double value = oct_text_number(text, &end);
    if (*end != '\0' || end == text) {
        snprintf(csv->error, sizeof(csv->error), "line %u, column %.40s: \"%.40s\" is not a number",
                 csv->line, csv->names[column], text);
        return OCT_EINVAL;
    }
    csv->cells[column] = (env_csv_cell){.text = text, .value = value};
    return OCT_OK;
}

oct_err
env_csv_next(env_csv *csv, const env_csv_cell **cells)
{
    OCT_TRY(line_read(csv));
    uint32_t count = cells_in(csv->text);
    if (count != csv->columns) {
        snprintf(csv->error, sizeof(csv->error), "line %u: %u cells, the header has %u", csv->line,
                 count, csv->columns);
        return OCT_EINVAL;
    }
    char *rest = csv->text;
    for (uint32_t k = 0; k < csv->columns; k++) {
        OCT_TRY(cell_read(csv, k, strsep(&rest, ",")));
    }
    *cells = csv->cells;
    return OCT_OK;
}

uint32_t
env_csv_line(const env_csv *csv)
{
    return csv->line;
}

const char *
env_csv_error(const env_csv *csv)
{
    return csv->error;
}
