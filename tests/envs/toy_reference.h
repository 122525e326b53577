#ifndef TESTS_ENVS_TOY_REFERENCE_H
#define TESTS_ENVS_TOY_REFERENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/oct_pcg64.h"

// The recordings and exact values of tests/data/toy_text (its README.md says what they are): lines
// of its tables, and the variants of the environments.
//
// Threads: one. Owns: a table its file.

#define TOY_FOLDER     "tests/data/toy_text/"
#define TOY_CELLS_MAX  24
#define TOY_CELL_BYTES 512

typedef struct toy_table {
    FILE *file;
    unsigned count; // of the cells of the last line
    char cell[TOY_CELLS_MAX][TOY_CELL_BYTES];
} toy_table;

// A file of TOY_FOLDER; its first line has been read. Fails the test where it cannot.
void toy_table_open(toy_table *table, const char *name);
bool toy_table_next(toy_table *table); // false: no more lines
void toy_table_close(toy_table *table);

typedef struct toy_variant {
    char file[64], id[64];
    char options[256]; // as octet's: key=value,key=value; lists with / between their members
    unsigned cut;      // steps after which its recordings stop; 0: they do not
} toy_variant;

#define TOY_VARIANTS_MAX 32
unsigned toy_variants(toy_variant out[TOY_VARIANTS_MAX]);
const toy_variant *toy_variant_find(const toy_variant *all, unsigned count, const char *file);

// PCG64's state as the tables have it: 128 bits in decimal, and the buffered half.
oct_pcg64 toy_generator(const char *state, const char *increment, const char *has_half,
                        const char *half);
bool toy_generators_equal(const oct_pcg64 *a, const oct_pcg64 *b);

#endif // TESTS_ENVS_TOY_REFERENCE_H
