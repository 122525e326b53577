#ifndef IMPORT_IMPORT_NAMES_H
#define IMPORT_IMPORT_NAMES_H

#include <stddef.h>

// Names of a model in their order, so that one of them is found in O(log count) comparisons however
// a model chooses them. Threads: any. Owns: nothing.

typedef struct import_name {
    const char *name;
    size_t place; // for the caller
} import_name;

void import_names_sort(import_name *names, size_t count);
// Of names that are sorted: the first one of that name, or NULL.
import_name *import_names_find(import_name *names, size_t count, const char *name);

#endif // IMPORT_IMPORT_NAMES_H
