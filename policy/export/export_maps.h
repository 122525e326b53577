#ifndef POLICY_EXPORT_EXPORT_MAPS_H
#define POLICY_EXPORT_EXPORT_MAPS_H

#include <stdint.h>
#include <string.h>

// The functions with which an exported header moves the kernel of a convolution or a pool over a
// map (policy_spec.h), with the bits of policy_conv.c and policy_pool.c. The build divides this
// file into parts, as it does export_robot.h.

// One axis of a map and the kernel that moves along it; before: zeros before the first number.
typedef struct export_axis {
    uint32_t size, kernel, stride, before;
} export_axis;

typedef struct export_map {
    export_axis rows, columns;
    uint32_t across; // positions in one row
    uint32_t cell;   // bytes at each position of the map, and for a pool its channels
} export_map;

// The numbers of an axis that are under the kernel at one position: at least one is on the map.
typedef struct export_span {
    uint32_t first, end;
    uint32_t before; // zeros under the kernel before them
} export_span;

static inline export_span
export_span_of(const export_axis *axis, uint32_t p)
{
    export_span span;
    uint32_t from = p * axis->stride, end = from + axis->kernel - axis->before;
    span.before = from < axis->before ? axis->before - from : 0;
    span.first = from + span.before - axis->before;
    span.end = end < axis->size ? end : axis->size;
    return span;
}

// Copies the numbers of x that are under position `place` of the kernel, row by row. Zeros have no
// bits in codes and in floats.
static inline void
export_patch(const export_map *map, uint32_t place, const void *x, void *patch)
{
    export_span rows = export_span_of(&map->rows, place / map->across);
    export_span columns = export_span_of(&map->columns, place % map->across);
    uint32_t line = map->columns.size * map->cell, kernel = map->columns.kernel * map->cell;
    uint32_t run = (columns.end - columns.first) * map->cell;
    const uint8_t *from = (const uint8_t *)x + rows.first * line + columns.first * map->cell;
    uint8_t *to = (uint8_t *)patch;
    int has_zeros = run < kernel || rows.end - rows.first < map->rows.kernel;
    for (uint32_t i = 0; has_zeros && i < map->rows.kernel * kernel; i++) {
        to[i] = 0;
    }
    to += rows.before * kernel + columns.before * map->cell;
    for (uint32_t i = rows.first; i < rows.end; i++) {
        memcpy(to, from, run);
        to += kernel;
        from += line;
    }
}

// y[channels] = the largest numbers of x that are under position `place` of the kernel.
static inline void
export_max_pool(const export_map *map, uint32_t place, const float *x, float *y)
{
    export_span rows = export_span_of(&map->rows, place / map->across);
    export_span columns = export_span_of(&map->columns, place % map->across);
    for (uint32_t c = 0; c < map->cell; c++) {
        float most = x[(rows.first * map->columns.size + columns.first) * map->cell + c];
        for (uint32_t i = rows.first; i < rows.end; i++) {
            for (uint32_t j = columns.first; j < columns.end; j++) {
                float other = x[(i * map->columns.size + j) * map->cell + c];
                most = other > most ? other : most;
            }
        }
        y[c] = most;
    }
}

// y[channels] = the means of the numbers of x that are under position `place` of the kernel. -0 + x
// has the bits of x.
static inline void
export_mean_pool(const export_map *map, uint32_t place, const float *x, float *y)
{
    export_span rows = export_span_of(&map->rows, place / map->across);
    export_span columns = export_span_of(&map->columns, place % map->across);
    float count = (float)((rows.end - rows.first) * (columns.end - columns.first));
    for (uint32_t c = 0; c < map->cell; c++) {
        float sum = -0.0f;
        for (uint32_t i = rows.first; i < rows.end; i++) {
            for (uint32_t j = columns.first; j < columns.end; j++) {
                sum = sum + x[(i * map->columns.size + j) * map->cell + c];
            }
        }
        y[c] = sum / count;
    }
}

#endif // POLICY_EXPORT_EXPORT_MAPS_H
