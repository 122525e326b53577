#ifndef POLICY_EXPORT_EXPORT_PARTS_H
#define POLICY_EXPORT_EXPORT_PARTS_H

#include <stddef.h>

// The functions, structs and macros of export_robot.h and of the files that it lists, as text.
// export_parts.py makes this table during the build.
//
// Threads: any; the table is constant.
typedef struct export_part {
    const char *name; // the identifier that the part defines
    const char *text; // its source, with the comment above it
} export_part;

extern const export_part export_parts[];
extern const size_t export_parts_count;

#endif // POLICY_EXPORT_EXPORT_PARTS_H
