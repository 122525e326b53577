// Sorts names, and finds one by binary search.
#include "policy/import/import_names.h"

#include <stdlib.h>
#include <string.h>

static int
name_compare(const void *a, const void *b)
{
    return strcmp(((const import_name *)a)->name, ((const import_name *)b)->name);
}

void
import_names_sort(import_name *names, size_t count)
{
    if (count > 0) {
        qsort(names, count, sizeof(*names), name_compare);
    }
}

import_name *
import_names_find(import_name *names, size_t count, const char *name)
{
    size_t first = 0, end = count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (strcmp(names[middle].name, name) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < count && strcmp(names[first].name, name) == 0 ? &names[first] : NULL;
}
