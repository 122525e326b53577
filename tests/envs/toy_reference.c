// Reads the tables of tests/data/toy_text.
#include "tests/envs/toy_reference.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

__extension__ typedef unsigned __int128 word128;

// Cells may be quoted; a quote inside them is doubled.
static void
line_split(toy_table *table, const char *line)
{
    table->count = 0;
    bool quoted = false;
    size_t used = 0;
    for (const char *at = line;; at++) {
        char *cell = table->cell[table->count];
        if (*at == '"' && quoted && at[1] == '"') {
            cell[used++] = *at++;
        } else if (*at == '"') {
            quoted = !quoted;
        } else if ((*at == ',' && !quoted) || *at == '\n' || *at == '\0') {
            cell[used] = '\0';
            used = 0;
            table->count++;
            if (*at != ',') {
                return;
            }
            assert_true(table->count < TOY_CELLS_MAX);
        } else {
            cell[used++] = *at;
        }
        assert_true(used < TOY_CELL_BYTES);
    }
}

void
toy_table_open(toy_table *table, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), TOY_FOLDER "%s", name);
    table->file = fopen(path, "r");
    if (table->file == NULL) {
        fail_msg("%s cannot be read", path);
    }
    assert_true(toy_table_next(table));
}

bool
toy_table_next(toy_table *table)
{
    char line[4096];
    if (fgets(line, sizeof(line), table->file) == NULL) {
        return false;
    }
    line_split(table, line);
    return true;
}

void
toy_table_close(toy_table *table)
{
    assert_int_equal(fclose(table->file), 0);
}

// {"map_name": "4x4", "is_slippery": true, "reward_schedule": [5, -2, 0]} becomes
// map_name=4x4,is_slippery=true,reward_schedule=5/-2/0.
static void
options_convert(char *out, size_t size, const char *json)
{
    size_t used = 0;
    bool in_list = false;
    for (const char *at = json; *at != '\0'; at++) {
        in_list = *at == '[' || (in_list && *at != ']');
        char letter = *at == ':' ? '=' : *at == ',' && in_list ? '/' : *at;
        if (strchr("{}[]\" ", *at) == NULL) {
            out[used++] = letter;
        }
        assert_true(used < size);
    }
    out[used] = '\0';
}

unsigned
toy_variants(toy_variant out[TOY_VARIANTS_MAX])
{
    toy_table table;
    unsigned count = 0;
    toy_table_open(&table, "variants.csv");
    while (toy_table_next(&table)) {
        assert_true(count < TOY_VARIANTS_MAX);
        toy_variant *variant = &out[count++];
        snprintf(variant->file, sizeof(variant->file), "%.63s", table.cell[0]);
        snprintf(variant->id, sizeof(variant->id), "%.63s", table.cell[1]);
        options_convert(variant->options, sizeof(variant->options), table.cell[2]);
        variant->cut = (unsigned)strtoul(table.cell[4], NULL, 10);
    }
    toy_table_close(&table);
    return count;
}

const toy_variant *
toy_variant_find(const toy_variant *all, unsigned count, const char *file)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(all[i].file, file) == 0) {
            return &all[i];
        }
    }
    fail_msg("%s is not in variants.csv", file);
    return NULL;
}

static word128
word128_read(const char *text)
{
    word128 value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (word128)(*text - '0');
    }
    return value;
}

oct_pcg64
toy_generator(const char *state, const char *increment, const char *has_half, const char *half)
{
    word128 s = word128_read(state), i = word128_read(increment);
    return (oct_pcg64){
        .state_high = (uint64_t)(s >> 64),
        .state_low = (uint64_t)s,
        .increment_high = (uint64_t)(i >> 64),
        .increment_low = (uint64_t)i,
        .has_half = strcmp(has_half, "1") == 0,
        .half = (uint32_t)strtoul(half, NULL, 10),
    };
}

bool
toy_generators_equal(const oct_pcg64 *a, const oct_pcg64 *b)
{
    return a->state_high == b->state_high && a->state_low == b->state_low &&
           a->increment_high == b->increment_high && a->increment_low == b->increment_low &&
           a->has_half == b->has_half && a->half == b->half;
}
