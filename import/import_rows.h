#ifndef IMPORT_IMPORT_ROWS_H
#define IMPORT_IMPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What rows of observations look like: numbers that never change, and rows that are random numbers
// rather than what an environment gave.
//
// Threads: any. Owns: nothing.

#define IMPORT_ROWS_NAMED 8

typedef struct import_rows {
    uint32_t constant_count;              // numbers that are the same in all rows
    uint32_t constant[IMPORT_ROWS_NAMED]; // the first of them
    // Independent numbers of one distribution: no number is correlated with another, nor with
    // itself in the row before. False where the rows are too few to tell, or have one number that
    // changes.
    bool is_noise;
} import_rows;

// rows[count][width], in the order in which they were recorded; rows that are not finite are passed
// over. O(count * width), and of at most 32 numbers pairs, too.
import_rows import_rows_examine(const float *rows, size_t count, uint32_t width);

#endif // IMPORT_IMPORT_ROWS_H
