// Arithmetic on a model's constants.
#include "policy/import/import_constants.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"

// ---- new constants

// Makes a tensor with the shape of `like` and floats of 0. NULL: out of memory.
static import_tensor *
floats_like(import_graph *graph, const import_tensor *like, float **floats)
{
    import_tensor *made = import_graph_alloc(graph, sizeof(*made));
    *floats = import_graph_alloc(graph, OCT_MAX(like->count, (size_t)1) * sizeof(float));
    if (made == NULL || *floats == NULL) {
        return NULL;
    }
    *made = *like;
    made->floats = *floats;
    made->integers = NULL;
    return made;
}

const import_tensor *
import_constant_floats(import_graph *graph, const float *values, size_t count)
{
    if (count > IMPORT_WIDTH_MAX) {
        return NULL;
    }
    const import_tensor list = {.name = "", .rank = 1, .dims = {(uint32_t)count}, .count = count};
    float *floats;
    import_tensor *made = floats_like(graph, &list, &floats);
    for (size_t i = 0; made != NULL && i < count; i++) {
        floats[i] = values[i];
    }
    return made;
}

const import_tensor *
import_constant_float(import_graph *graph, float value)
{
    const import_tensor scalar = {.name = "", .count = 1};
    float *floats;
    import_tensor *made = floats_like(graph, &scalar, &floats);
    if (made != NULL) {
        floats[0] = value;
    }
    return made;
}

// Makes integers of rank 0 or 1.
static import_tensor *
ints_make(import_graph *graph, const int64_t *values, size_t count, uint32_t rank)
{
    if (count > IMPORT_WIDTH_MAX) {
        return NULL;
    }
    import_tensor *made = import_graph_alloc(graph, sizeof(*made));
    int64_t *integers = import_graph_alloc(graph, OCT_MAX(count, (size_t)1) * sizeof(*integers));
    if (made == NULL || integers == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        integers[i] = values[i];
    }
    *made = (import_tensor){.name = "",
                            .rank = rank,
                            .dims = {rank > 0 ? (uint32_t)count : 0},
                            .count = count,
                            .integers = integers};
    return made;
}

const import_tensor *
import_constant_ints(import_graph *graph, const int64_t *values, size_t count)
{
    return ints_make(graph, values, count, 1);
}

const import_tensor *
import_constant_int(import_graph *graph, int64_t value)
{
    return ints_make(graph, &value, 1, 0);
}

const import_tensor *
import_constant_to_floats(import_graph *graph, const import_tensor *x)
{
    float *floats;
    import_tensor *made = floats_like(graph, x, &floats);
    for (size_t i = 0; made != NULL && i < x->count; i++) {
        if (x->integers[i] == IMPORT_BATCH) {
            return NULL;
        }
        floats[i] = (float)x->integers[i];
    }
    return made;
}

// ---- broadcasting

// Dimension d, counted from the last; dimensions that are missing are 1.
static uint32_t
dim_from_end(const uint32_t *dims, uint32_t rank, uint32_t d)
{
    return d < rank ? dims[rank - 1 - d] : 1;
}

bool
import_constant_fits(const import_tensor *t, const uint32_t *shape, uint32_t rank)
{
    for (uint32_t d = 0; d < t->rank; d++) {
        uint32_t dim = dim_from_end(t->dims, t->rank, d);
        if (dim != 1 && dim != dim_from_end(shape, rank, d)) {
            return false;
        }
    }
    return true;
}

size_t
import_constant_at(const import_tensor *t, const uint32_t *shape, uint32_t rank, size_t i)
{
    size_t at = 0, unit = 1;
    // From the last axis to the first; a repeated axis adds nothing to the index.
    for (uint32_t d = 0; d < rank && d < t->rank; d++) {
        uint32_t dim = dim_from_end(t->dims, t->rank, d), own = dim_from_end(shape, rank, d);
        at += dim == 1 ? 0 : unit * (i % own);
        unit *= dim;
        i /= own;
    }
    return at;
}

// Finds the shape to which both are repeated. The limit keeps a small model from making large
// constants.
static bool
shapes_join(import_tensor *out, const import_tensor *x, const import_tensor *y)
{
    size_t most = OCT_MAX(OCT_MAX(x->count, y->count), (size_t)IMPORT_WIDTH_MAX);
    *out =
        (import_tensor){.name = "", .rank = OCT_MAX(x->rank, y->rank), .count = 1, .type = x->type};
    for (uint32_t d = 0; d < out->rank; d++) {
        uint32_t a = dim_from_end(x->dims, x->rank, d), b = dim_from_end(y->dims, y->rank, d);
        uint32_t dim = a == 1 ? b : a;
        if ((b != 1 && b != dim) || dim == 0 || out->count > most / dim) {
            return false;
        }
        out->dims[out->rank - 1 - d] = dim;
        out->count *= dim;
    }
    return true;
}

// ---- arithmetic

// op is the first letter of the operation's name.
static float
combined(char op, float a, float b)
{
    return op == 'A' ? a + b : op == 'S' ? a - b : op == 'M' ? a * b : a / b;
}

const import_tensor *
import_constant_binary(import_graph *graph, char op, const import_tensor *x, const import_tensor *y)
{
    import_tensor shape;
    if (x->floats == NULL || y->floats == NULL || !shapes_join(&shape, x, y)) {
        return NULL;
    }
    float *floats;
    import_tensor *made = floats_like(graph, &shape, &floats);
    for (size_t i = 0; made != NULL && i < shape.count; i++) {
        floats[i] = combined(op, x->floats[import_constant_at(x, shape.dims, shape.rank, i)],
                             y->floats[import_constant_at(y, shape.dims, shape.rank, i)]);
    }
    return made;
}

const import_tensor *
import_constant_root(import_graph *graph, const import_tensor *x)
{
    float *floats;
    import_tensor *made = x->floats != NULL ? floats_like(graph, x, &floats) : NULL;
    for (size_t i = 0; made != NULL && i < x->count; i++) {
        floats[i] = sqrtf(x->floats[i]);
    }
    return made;
}

// ---- other shapes

const import_tensor *
import_constant_expand(import_graph *graph, const import_tensor *x, const uint32_t *dims,
                       uint32_t rank)
{
    import_tensor shape, to = {.rank = rank};
    memcpy(to.dims, dims, rank * sizeof(*dims));
    if (x->floats == NULL || !shapes_join(&shape, x, &to)) {
        return NULL;
    }
    float *floats;
    import_tensor *made = floats_like(graph, &shape, &floats);
    for (size_t i = 0; made != NULL && i < shape.count; i++) {
        floats[i] = x->floats[import_constant_at(x, shape.dims, shape.rank, i)];
    }
    return made;
}

const import_tensor *
import_constant_shaped(import_graph *graph, const import_tensor *x, const uint32_t *dims,
                       uint32_t rank)
{
    import_tensor *made = import_graph_alloc(graph, sizeof(*made));
    if (made != NULL) {
        *made = *x;
        made->rank = rank;
        memcpy(made->dims, dims, rank * sizeof(*dims));
    }
    return made;
}

const import_tensor *
import_constant_reshape(import_graph *graph, const import_tensor *x, const import_tensor *shape)
{
    uint64_t count = 1;
    uint32_t open = UINT32_MAX; // index of the -1; UINT32_MAX: none
    import_tensor *made = import_graph_alloc(graph, sizeof(*made));
    if (made == NULL || shape->count > IMPORT_RANK_MAX) {
        return NULL;
    }
    *made = *x;
    made->rank = (uint32_t)shape->count;
    for (uint32_t i = 0; i < made->rank; i++) {
        int64_t dim = shape->integers[i];
        if (dim < -1 || dim == 0 || dim > (int64_t)x->count || (dim == -1 && open != UINT32_MAX)) {
            return NULL;
        }
        open = dim == -1 ? i : open;
        made->dims[i] = dim == -1 ? 1 : (uint32_t)dim;
        count *= made->dims[i];
        if (count > x->count) {
            return NULL;
        }
    }
    if (open != UINT32_MAX && count > 0) {
        made->dims[open] = (uint32_t)(x->count / count);
        count *= made->dims[open];
    }
    return count == x->count ? made : NULL;
}

const import_tensor *
import_constant_transpose(import_graph *graph, const import_tensor *x)
{
    float *floats;
    import_tensor *made = x->floats != NULL && x->rank == 2 ? floats_like(graph, x, &floats) : NULL;
    if (made == NULL) {
        return NULL;
    }
    made->dims[0] = x->dims[1];
    made->dims[1] = x->dims[0];
    for (size_t i = 0; i < x->count; i++) {
        // Number i is in row i / columns, column i % columns.
        floats[i % x->dims[1] * x->dims[0] + i / x->dims[1]] = x->floats[i];
    }
    return made;
}

// A negative number counts from the end; all are cut to 0 … count.
static int64_t
range_number(int64_t number, int64_t count)
{
    int64_t at = number < 0 ? number + count : number;
    return OCT_MIN(OCT_MAX(at, 0), count);
}

bool
import_constant_range(size_t count, int64_t *first, int64_t *end)
{
    *first = range_number(*first, (int64_t)count);
    *end = range_number(*end, (int64_t)count);
    return *first < *end;
}

const import_tensor *
import_constant_slice(import_graph *graph, const import_tensor *x, int64_t first, int64_t end)
{
    if (x->integers == NULL || x->rank != 1 || !import_constant_range(x->count, &first, &end)) {
        return NULL;
    }
    return import_constant_ints(graph, x->integers + first, (size_t)(end - first));
}
