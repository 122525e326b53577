// Matrix products from tile kernels: packs panels and walks blocks that fit the caches.
//
// A product is cut three times. Columns of B are cut into groups of panels that fit the L2 cache;
// the rows of A into blocks; and each block and panel is one call of the kernel, which walks the
// whole of K. So a group is packed once and used by all rows, and every element of C is still one
// sum along K.
#include "nn/nn_tiled.h"

#include "common/oct_base.h"

// The most units in a group of panels, unless a single panel is larger: a group stays in L2 while
// all rows use it.
#define GROUP_UNITS_MAX (64 * 1024)
#define PANELS_MAX      64 // panels in a group
// The most rows of A in a block. Blocks that are packed across, where neighbouring rows share cache
// lines, are smaller.
#define BLOCK_ROWS        96
#define BLOCK_ROWS_ACROSS 48
// A transposed A with more rows than this is packed if more than one panel uses it: steps of more
// than STEP_MAX floats from unit to unit would fall into few sets of the cache.
#define STEP_MAX 256
// Packing B pays off only with more columns, and more rows of A, than these.
#define PACK_COLUMNS_MIN 512
#define PACK_ROWS_MIN    12
// The most columns of C in a product that is_thin transposes, and the most columns in a tile.
#define THIN_COLUMNS_MAX 4
#define TILE_COLUMNS_MAX 64

static size_t
units_of(const nn_tile_ops *ops, uint32_t K)
{
    size_t units = ((size_t)K + ops->unit - 1) / ops->unit;
    return (units + ops->depth - 1) / ops->depth * ops->depth;
}

static uint32_t
rounded(const nn_tile_ops *ops, uint32_t columns)
{
    return (columns + ops->width - 1) / ops->width * ops->width;
}

// Rows of A in each block but the last: blocks of nearly the same size, in whole vectors.
static uint32_t
block_rows(const nn_tile_ops *ops, uint32_t M, uint32_t most)
{
    uint32_t count = (M + most - 1) / most;
    return rounded(ops, (M + count - 1) / count);
}

// The location of the units of A.
typedef struct left {
    const uint32_t *at;
    size_t row, step;   // numbers from one row, and from one unit, to the next
    size_t block;       // numbers from one block to the next
    uint32_t rows;      // rows in a block
    bool packed_across; // each block has its own step
} left;

static left
left_packed(nn_context *context, const nn_tile_ops *ops, const nn_product *p)
{
    const size_t K = units_of(ops, p->K);
    left A = {.row = K, .step = 1};
    const bool across = p->transpose_a && ops->pack_rows_across == NULL;
    A.rows = block_rows(ops, p->M, across ? BLOCK_ROWS_ACROSS : BLOCK_ROWS);
    A.block = A.rows * K;
    uint32_t *units = nn_context_space(context, NN_SPACE_LEFT, K * rounded(ops, p->M));
    A.at = units;
    if (!across) {
        if (p->transpose_a) {
            ops->pack_rows_across(units, p->A, p->M, p->M, p->K);
        } else {
            ops->pack_rows(units, p->A, p->M, p->K);
        }
        return A;
    }
    A.row = 1;
    A.packed_across = true;
    for (uint32_t row = 0; row < p->M; row += A.rows) {
        uint32_t rows = OCT_MIN(p->M - row, A.rows);
        ops->pack(units + row * K, p->A + row, false, p->M, rows, p->K);
    }
    return A;
}

static left
left_of(nn_context *context, const nn_tile_ops *ops, const nn_product *p)
{
    if (ops->unit > 1 || (p->transpose_a && p->M > STEP_MAX && p->N > ops->columns)) {
        return left_packed(context, ops, p);
    }
    // Floats need no packing: a unit of a float table is the float itself.
    left A = {.at = (const uint32_t *)(const void *)p->A};
    A.rows = block_rows(ops, p->M, BLOCK_ROWS);
    A.row = p->transpose_a ? 1 : p->K;
    A.step = p->transpose_a ? p->M : 1;
    A.block = A.rows * A.row;
    return A;
}

// The location of a panel's units.
typedef struct right {
    const uint32_t *at;
    size_t step; // numbers from one unit along K to the next
} right;

// Returns true if B is used unpacked: its rows of floats are whole vectors, and packing would not
// pay off.
static bool
right_is_ready(const nn_tile_ops *ops, const nn_product *p)
{
    return ops->unit == 1 && !p->transpose_b && p->N % ops->width == 0 &&
           (p->N <= PACK_COLUMNS_MIN || p->M <= PACK_ROWS_MIN);
}

// Returns the panel from column on, packed into room unless it is packed there already.
static right
right_of(const nn_tile_ops *ops, const nn_product *p, uint32_t *room, bool packed, uint32_t column)
{
    if (right_is_ready(ops, p)) {
        return (right){(const uint32_t *)(const void *)(p->B + column), p->N};
    }
    uint32_t columns = OCT_MIN(p->N - column, ops->columns);
    const float *B = p->transpose_b ? p->B + (size_t)column * p->K : p->B + column;
    if (!packed) {
        ops->pack(room, B, p->transpose_b, p->transpose_b ? p->K : p->N, columns, p->K);
    }
    return (right){room, rounded(ops, columns)};
}

// One block of rows times one panel.
static void
part_product(const nn_tile_ops *ops, const nn_product *p, const left *A, const right *panel,
             uint32_t row, uint32_t column)
{
    uint32_t rows = OCT_MIN(p->M - row, A->rows);
    uint32_t columns = OCT_MIN(p->N - column, ops->columns);
    const uint32_t *at = A->at + row / A->rows * A->block;
    size_t step = A->packed_across ? rounded(ops, rows) : A->step;
    ops->product(p->C + (size_t)row * p->N + column, p->N, at, A->row, step, panel->at, panel->step,
                 rows, columns, (uint32_t)units_of(ops, p->K));
}

// Returns true if all of B fits one group, so that it can be kept between products.
static bool
is_whole(const nn_tile_ops *ops, size_t K, size_t N)
{
    return K * N <= GROUP_UNITS_MAX && N <= (size_t)PANELS_MAX * ops->columns;
}

// Returns the number of columns in a group of panels: all columns if B is small.
static size_t
group_columns(const nn_tile_ops *ops, size_t K, size_t N)
{
    size_t panels = OCT_MAX(GROUP_UNITS_MAX / (K * ops->columns), (size_t)1);
    return is_whole(ops, K, N) ? N : OCT_MIN(panels, (size_t)PANELS_MAX) * ops->columns;
}

// Sets panels to those of B's columns [column, column + columns). Panels are packed into room, or
// into the caller's panels if all of B can be kept there.
static void
panels_of(right *panels, const nn_tile_ops *ops, const nn_product *p, uint32_t *room,
          uint32_t column, uint32_t columns)
{
    const size_t K = units_of(ops, p->K), N = rounded(ops, p->N);
    bool kept = p->panels != NULL && is_whole(ops, K, N) && p->panels->room >= K * N;
    bool packed = kept && p->panels->ops == ops;
    uint32_t *units = kept ? p->panels->units : room;
    for (uint32_t at = 0, i = 0; at < columns; at += ops->columns, i++) {
        panels[i] = right_of(ops, p, units + at * K, packed, column + at);
    }
    if (kept) {
        p->panels->ops = ops;
    }
}

// Returns true if C has so few columns that most of a tile would be empty. Such a product is
// computed as C^T = B^T A^T, where the rows of A are the columns of the panel.
static bool
is_thin(const nn_tile_ops *ops, const nn_product *p)
{
    return ops->unit == 1 && p->N <= THIN_COLUMNS_MAX && p->M >= ops->width;
}

static void
thin_product(nn_context *context, const nn_tile_ops *ops, const nn_product *p)
{
    float turned[THIN_COLUMNS_MAX * TILE_COLUMNS_MAX];
    uint32_t *room = nn_context_space(context, NN_SPACE_RIGHT, (size_t)p->K * ops->columns);
    const uint32_t *B = (const uint32_t *)(const void *)p->B;
    const size_t b_row = p->transpose_b ? p->K : 1, b_step = p->transpose_b ? 1 : p->N;
    OCT_ASSERT(ops->columns <= TILE_COLUMNS_MAX);
    for (uint32_t row = 0; row < p->M; row += ops->columns) {
        const uint32_t rows = OCT_MIN(p->M - row, ops->columns);
        const float *A = p->A + (p->transpose_a ? row : (size_t)row * p->K);
        right panel = {(const uint32_t *)(const void *)A, p->M};
        if (!p->transpose_a || rows % ops->width != 0) {
            ops->pack(room, A, !p->transpose_a, p->transpose_a ? p->M : p->K, rows, p->K);
            panel = (right){room, rounded(ops, rows)};
        }
        ops->product(turned, ops->columns, B, b_row, b_step, panel.at, panel.step, p->N, rows,
                     p->K);
        float *C = p->C + (size_t)row * p->N;
        for (uint32_t i = 0; i < rows; i++) {
            for (uint32_t j = 0; j < p->N; j++) {
                *C++ = turned[j * ops->columns + i];
            }
        }
    }
    if (p->then != NULL) {
        p->then(p->arg, 0, p->M);
    }
}

// `then` is called block by block if one group has all columns, and otherwise once at the end,
// because before that no row is complete.
void
nn_tiled_product(nn_context *context, const nn_tile_ops *ops, const nn_product *p)
{
    OCT_ASSERT(p->M >= 1 && p->N >= 1 && p->K >= 1);
    if (is_thin(ops, p)) {
        thin_product(context, ops, p);
        return;
    }
    const size_t K = units_of(ops, p->K), N = rounded(ops, p->N);
    const uint32_t columns = (uint32_t)group_columns(ops, K, N);
    uint32_t *room = nn_context_space(context, NN_SPACE_RIGHT, K * columns);
    right panels[PANELS_MAX];
    left A = left_of(context, ops, p);
    for (uint32_t column = 0; column < p->N; column += columns) {
        uint32_t end = OCT_MIN(p->N - column, columns);
        panels_of(panels, ops, p, room, column, end);
        for (uint32_t row = 0; row < p->M; row += A.rows) {
            for (uint32_t at = 0, i = 0; at < end; at += ops->columns, i++) {
                part_product(ops, p, &A, &panels[i], row, column + at);
            }
            if (p->then != NULL && end == p->N) {
                p->then(p->arg, row, OCT_MIN(p->M - row, A.rows));
            }
        }
    }
    if (p->then != NULL && columns < p->N) {
        p->then(p->arg, 0, p->M);
    }
}

size_t
nn_tiled_panel_units(const nn_tile_ops *ops, uint32_t N, uint32_t K)
{
    const size_t units = units_of(ops, K), columns = rounded(ops, N);
    return is_whole(ops, units, columns) ? units * columns : 0;
}

void
nn_tiled_reserve(nn_context *context, const nn_tile_ops *ops, uint32_t M, uint32_t N, uint32_t K)
{
    const size_t units = units_of(ops, K);
    size_t columns = group_columns(ops, units, rounded(ops, N));
    columns = N <= THIN_COLUMNS_MAX ? OCT_MAX(columns, (size_t)ops->columns) : columns;
    (void)nn_context_space(context, NN_SPACE_RIGHT, units * columns);
    (void)nn_context_space(context, NN_SPACE_LEFT, units * rounded(ops, M));
}
