#ifndef EXPORT_EXPORT_PARTS_H
#define EXPORT_EXPORT_PARTS_H

#include <stddef.h>

// The functions, structs and macros of export_robot.h and what it lists as text, made by
// export_parts.py when this is built.
//
// Threads: any, constant.
typedef struct export_part {
    const char *name;
    const char *text;
} export_part;

extern const export_part export_parts[];
extern const size_t export_parts_count;

#endif // EXPORT_EXPORT_PARTS_H
