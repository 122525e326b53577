#ifndef POLICY_IMPORT_IMPORT_ROWS_H
#define POLICY_IMPORT_IMPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Examines rows of observations: numbers that never change, and rows that look like random numbers
// instead of an environment's observations.
//
// Threads: any. Owns: nothing.

#define IMPORT_ROWS_NAMED 8 // of the constant numbers

// The findings.
typedef struct import_rows {
    uint32_t constant_count;              // numbers that are equal in all rows
    uint32_t constant[IMPORT_ROWS_NAMED]; // the first of them, by index
    // True if the numbers look independent and of one made-up distribution: none is correlated
    // with another, or with itself in the row before. False also with fewer than 64 rows, or with
    // fewer than two numbers that change.
    bool is_noise;
} import_rows;

// Examines rows[count][width], in the order in which they were recorded. Rows that are not finite
// are skipped. O(count * width), plus the pairs of at most 32 numbers.
import_rows import_rows_examine(const float *rows, size_t count, uint32_t width);

#endif // POLICY_IMPORT_IMPORT_ROWS_H
