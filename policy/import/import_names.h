#ifndef POLICY_IMPORT_IMPORT_NAMES_H
#define POLICY_IMPORT_IMPORT_NAMES_H

#include <stddef.h>

// Sorted names, so that a lookup takes O(log count) comparisons for any choice of names. Threads:
// any. Owns: nothing; names are borrowed.

typedef struct import_name {
    const char *name;
    size_t place; // the caller's
} import_name;

void import_names_sort(import_name *names, size_t count);
// Returns the first entry with that name in sorted names, or NULL.
import_name *import_names_find(import_name *names, size_t count, const char *name);

#endif // POLICY_IMPORT_IMPORT_NAMES_H
