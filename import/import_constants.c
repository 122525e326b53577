// Arithmetic on a model's constants.
#include "import/import_constants.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"

// A tensor of the shape of `like` with room for floats. NULL: no memory.
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
    return import_constant_floats(graph, &value, 1);
}

const import_tensor *
import_constant_ints(import_graph *graph, const int64_t *values, size_t count)
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
    *made = (import_tensor){
        .name = "", .rank = 1, .dims = {(uint32_t)count}, .count = count, .integers = integers};
    return made;
}

static float
combined(char op, float a, float b)
{
    return op == 'A' ? a + b : op == 'S' ? a - b : op == 'M' ? a * b : a / b;
}

const import_tensor *
import_constant_binary(import_graph *graph, char op, const import_tensor *x, const import_tensor *y)
{
    if (x->floats == NULL || y->floats == NULL || x->count == 0 || y->count == 0 ||
        (x->count != y->count && x->count != 1 && y->count != 1)) {
        return NULL;
    }
    const import_tensor *like = x->count >= y->count ? x : y;
    float *floats;
    import_tensor *made = floats_like(graph, like, &floats);
    for (size_t i = 0; made != NULL && i < like->count; i++) {
        floats[i] =
            combined(op, x->floats[x->count == 1 ? 0 : i], y->floats[y->count == 1 ? 0 : i]);
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

const import_tensor *
import_constant_reshape(import_graph *graph, const import_tensor *x, const import_tensor *shape)
{
    uint64_t count = 1;
    uint32_t open = UINT32_MAX;
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
        floats[i % x->dims[1] * x->dims[0] + i / x->dims[1]] = x->floats[i];
    }
    return made;
}

const import_tensor *
import_constant_slice(import_graph *graph, const import_tensor *x, int64_t first, int64_t end)
{
    int64_t count = (int64_t)x->count;
    first = first < 0 ? first + count : first;
    end = end < 0 ? end + count : OCT_MIN(end, count);
    if (x->integers == NULL || x->rank != 1 || first < 0 || first >= end) {
        return NULL;
    }
    return import_constant_ints(graph, x->integers + first, (size_t)(end - first));
}
