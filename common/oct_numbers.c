// The registry of a process's numbers: a row is added once, and every output is a loop over the
// rows.
#include "common/oct_numbers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

typedef struct entry {
    oct_number row;
    char *status_name; // prefix and name
} entry;

struct oct_numbers {
    char *prefix;
    entry *entries;
    uint32_t count, room; // of entries: used and allocated
};

static char *
joined(const char *prefix, const char *name)
{
    size_t size = strlen(prefix) + strlen(name) + 1;
    char *text = oct_alloc(size);
    (void)snprintf(text, size, "%s%s", prefix, name);
    return text;
}

oct_numbers *
oct_numbers_create(const char *prefix)
{
    oct_numbers *numbers = oct_alloc(sizeof(*numbers));
    numbers->prefix = joined(prefix, "");
    return numbers;
}

void
oct_numbers_destroy(oct_numbers *numbers)
{
    if (numbers == NULL) {
        return;
    }
    for (uint32_t i = 0; i < numbers->count; i++) {
        free(numbers->entries[i].status_name);
    }
    free(numbers->entries);
    free(numbers->prefix);
    free(numbers);
}

static bool
is_name(const char *name)
{
    return name[0] != '\0' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] ==
               '\0';
}

// NULL equals nothing.
static bool
is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

// Stops the program if a row is malformed, or repeats a name or a sample.
static void
row_check(const oct_numbers *numbers, const oct_number *row)
{
    OCT_ASSERT(is_name(row->name) && row->unit != NULL && row->help[0] != '\0');
    OCT_ASSERT((row->label == NULL) == (row->label_value == NULL));
    OCT_ASSERT(row->shown != 0 || row->family != NULL);
    for (uint32_t i = 0; i < numbers->count; i++) {
        const oct_number *other = &numbers->entries[i].row;
        OCT_ASSERT((other->shown & row->shown) == 0 || !is_same(other->name, row->name));
        if (is_same(other->family, row->family)) {
            OCT_ASSERT(other->kind == row->kind && is_same(other->label, row->label) &&
                       !is_same(other->label_value, row->label_value));
        }
    }
}

void
oct_numbers_add(oct_numbers *numbers, const oct_number *row)
{
    row_check(numbers, row);
    if (numbers->count == numbers->room) {
        uint32_t room = numbers->room == 0 ? 64 : 2 * numbers->room;
        entry *entries = oct_alloc(room * sizeof(*entries));
        if (numbers->count > 0) {
            memcpy(entries, numbers->entries, numbers->count * sizeof(*entries));
        }
        free(numbers->entries);
        numbers->entries = entries;
        numbers->room = room;
    }
    numbers->entries[numbers->count++] =
        (entry){.row = *row, .status_name = joined(numbers->prefix, row->name)};
}

void
oct_numbers_add_all(oct_numbers *numbers, const oct_number *rows, size_t count, const void *base)
{
    for (size_t i = 0; i < count; i++) {
        oct_number row = rows[i];
        // without a function, the value is read from a field behind base
        row.arg = row.get == NULL ? (const char *)base + row.at : base;
        oct_numbers_add(numbers, &row);
    }
}

uint32_t
oct_numbers_count(const oct_numbers *numbers)
{
    return numbers->count;
}

const oct_number *
oct_numbers_row(const oct_numbers *numbers, uint32_t i)
{
    OCT_ASSERT(i < numbers->count);
    return &numbers->entries[i].row;
}

static double
value_of(const oct_numbers *numbers, uint32_t i)
{
    const oct_number *row = oct_numbers_row(numbers, i);
    return row->get != NULL ? row->get(row->arg) : *(const double *)row->arg;
}

double
oct_numbers_find(const oct_numbers *numbers, const char *name)
{
    for (uint32_t i = 0; i < numbers->count; i++) {
        if (is_same(numbers->entries[i].row.name, name)) {
            return value_of(numbers, i);
        }
    }
    return NAN;
}

uint32_t
oct_numbers_list(const oct_numbers *numbers, unsigned shown, const char **names, double *values,
                 uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < numbers->count && count < room; i++) {
        const entry *e = &numbers->entries[i];
        if ((e->row.shown & shown) == 0) {
            continue;
        }
        names[count] = shown == OCT_SHOWN_STATUS ? e->status_name : e->row.name;
        if (values != NULL) {
            values[count] = value_of(numbers, i);
        }
        count++;
    }
    return count;
}

// Families are written once, at their first row.
static bool
is_first_of_family(const oct_numbers *numbers, uint32_t i)
{
    for (uint32_t before = 0; before < i; before++) {
        if (is_same(numbers->entries[before].row.family, numbers->entries[i].row.family)) {
            return false;
        }
    }
    return numbers->entries[i].row.family != NULL;
}

void
oct_numbers_prometheus(const oct_numbers *numbers, oct_prometheus *text)
{
    for (uint32_t first = 0; first < numbers->count; first++) {
        if (!is_first_of_family(numbers, first)) {
            continue;
        }
        const oct_number *family = &numbers->entries[first].row;
        oct_prometheus_begin(text, family->kind, family->family,
                             family->family_help != NULL ? family->family_help : family->help);
        for (uint32_t i = first; i < numbers->count; i++) {
            const oct_number *row = &numbers->entries[i].row;
            if (is_same(row->family, family->family)) {
                const oct_prometheus_label label = {row->label, row->label_value};
                double factor = row->factor != 0 ? row->factor : 1;
                oct_prometheus_add(text, &label, row->label != NULL, factor * value_of(numbers, i));
            }
        }
    }
}

void
oct_numbers_print(const oct_numbers *numbers, FILE *out)
{
    // by the bits of OCT_SHOWN_…
    static const char *const places[] = {"csv",    "tensorboard", "status",
                                         "report", "evaluation",  "playing"};
    for (uint32_t i = 0; i < numbers->count; i++) {
        const oct_number *row = &numbers->entries[i].row;
        fprintf(out, "%s\t%s\t%s\t%s\t", numbers->prefix, row->name, row->unit,
                row->kind == OCT_PROMETHEUS_COUNTER ? "counter" : "gauge");
        const char *between = "";
        for (size_t p = 0; p < OCT_COUNTOF(places); p++) {
            if ((row->shown & (1u << p)) != 0) {
                fprintf(out, "%s%s", between, places[p]);
                between = ",";
            }
        }
        fprintf(out, "\t%s\t%s\t%s\t%s\t%s\n", row->family != NULL ? row->family : "",
                row->label != NULL ? row->label : "",
                row->label_value != NULL ? row->label_value : "", row->help,
                row->over != NULL ? row->over : "");
    }
}
