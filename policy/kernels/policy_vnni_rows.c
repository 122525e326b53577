// Computes one INT8 layer of many rows, one tile in registers after another (policy_vnni_tile.h).
#include "policy/kernels/policy_vnni.h"

#include "policy/kernels/policy_vnni_tile.h"

#define ROWS_MAX    8                 // rows of a tile
#define LARGE_BYTES ((size_t)1 << 19) // of weights; a larger layer may not stay in L2

// What policy_vnni_layer_products computes.
typedef struct layer_job {
    const policy_dense *dense;
    policy_work work;
    float (*hi)[POLICY_LANES];
} layer_job;

static POLICY_INLINE tile
tile_of(const layer_job *job, uint32_t r, size_t g)
{
    const policy_work *work = &job->work;
    return (tile){
        .dense = job->dense,
        .g = g,
        .codes = (const uint8_t *)work->codes + r * work->q_stride,
        .q_stride = work->q_stride,
        .rows = work->rows + r,
        .y = work->y + r * work->y_stride,
        .y_stride = work->y_stride,
        .hi = job->hi + r,
    };
}

// Computes ROWS rows of GROUPS groups of outputs.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, tile t, const int8_t *ahead)
{
    vint acc[POLICY_TILE_SUMS];
    tile_sums(ROWS, GROUPS, &t, ahead, acc);
    tile_correct(ROWS, GROUPS, &t, acc);
    tile_store(ROWS, GROUPS, &t, acc);
}

// Does the same for a last group of at most eight outputs. Half of each register would multiply by
// zero; registers of half the size suffice, and the CPU handles twice as many per clock.
static POLICY_INLINE void
tile_half_q8(const int ROWS, tile t)
{
    const size_t K = t.dense->inputs_padded;
    const int8_t *w = (const int8_t *)t.dense->weights + t.g * K * POLICY_LANES;
    __m256i acc[ROWS_MAX];
    vint sums[ROWS_MAX];
    POLICY_UNROLL
    for (int i = 0; i < ROWS; i++) {
        acc[i] = _mm256_setzero_si256();
    }
    for (size_t k = 0; k < K; k += POLICY_VNNI_UNIT) {
        __m256i weights = _mm256_load_si256((const void *)(w + k * POLICY_LANES));
        POLICY_PIN(weights);
        POLICY_UNROLL
        for (int i = 0; i < ROWS; i++) {
            int32_t four;
            memcpy(&four, t.codes + (size_t)i * t.q_stride + k, sizeof(four));
            acc[i] = _mm256_dpbusd_epi32(acc[i], _mm256_set1_epi32(four), weights);
            POLICY_PIN(acc[i]);
        }
    }
    POLICY_UNROLL
    for (int i = 0; i < ROWS; i++) {
        sums[i] = _mm512_zextsi256_si512(acc[i]);
    }
    tile_correct(ROWS, 1, &t, sums);
    tile_store(ROWS, 1, &t, sums);
}

typedef void tile_q8_fn(const layer_job *job, uint32_t r, size_t g);

#define TILE(ROWS, GROUPS)                                                                         \
    static void tile_q8_##ROWS##x##GROUPS(const layer_job *job, uint32_t r, size_t g)              \
    {                                                                                              \
        tile_q8(ROWS, GROUPS, tile_of(job, r, g), NULL);                                           \
    }
#define TILE_HALF(ROWS)                                                                            \
    static void tile_half_q8_##ROWS(const layer_job *job, uint32_t r, size_t g)                    \
    {                                                                                              \
        tile_half_q8(ROWS, tile_of(job, r, g));                                                    \
    }
#define TILES(ROWS) TILE(ROWS, 1) TILE(ROWS, 2) TILE(ROWS, 3) TILE(ROWS, 4) TILE_HALF(ROWS)
TILES(1)
TILES(2)
TILES(4)
TILE(8, 1)
TILE(8, 2)
TILE_HALF(8)
#undef TILES
#undef TILE_HALF
#undef TILE

// The tiles by groups of outputs (0: half a group) and by rows: 1, 2, 4, 8. The largest ones use
// all registers. Four or more sums hide the latency of vpdpbusd.
#define SIZES 4
static tile_q8_fn *const tiles_q8[POLICY_TILE_GROUPS + 1][SIZES] = {
    {tile_half_q8_1, tile_half_q8_2, tile_half_q8_4, tile_half_q8_8},
    {tile_q8_1x1, tile_q8_2x1, tile_q8_4x1, tile_q8_8x1},
    {tile_q8_1x2, tile_q8_2x2, tile_q8_4x2, tile_q8_8x2},
    {tile_q8_1x3, tile_q8_2x3, tile_q8_4x3, NULL},
    {tile_q8_1x4, tile_q8_2x4, tile_q8_4x4, NULL},
};

// Computes four rows by four groups and prefetches the weights of group next.
static void
tile_q8_4x4_ahead(const layer_job *job, uint32_t r, size_t g, size_t next)
{
    size_t group_bytes = (size_t)job->dense->inputs_padded * POLICY_LANES;
    tile_q8(4, 4, tile_of(job, r, g), (const int8_t *)job->dense->weights + next * group_bytes);
}

// Computes all rows of `groups` groups that begin at g, with the largest tiles that fit.
static void
groups_products(const layer_job *job, uint32_t R, size_t g, size_t groups, bool is_large)
{
    const policy_dense *dense = job->dense;
    bool is_half = groups == 1 && dense->outputs - g * POLICY_LANES <= POLICY_LANES / 2;
    uint32_t r = 0;
    size_t next = g + POLICY_TILE_GROUPS;
    size_t end = next + POLICY_TILE_GROUPS;
    for (; is_large && groups == 4 && R - r >= 4 && next < end && next < policy_groups(dense);
         r += 4) {
        tile_q8_4x4_ahead(job, r, g, next++);
    }
    for (int size = SIZES - 1; size >= 0; size--) {
        tile_q8_fn *compute = tiles_q8[is_half ? 0 : groups][size];
        for (; compute != NULL && R - r >= 1u << size; r += 1u << size) {
            compute(job, r, g);
        }
    }
}

// Groups are the outer loop and rows the inner one, so weights come from the outer caches once. In
// a large layer, the first tiles of rows prefetch the weights of the next groups into L2.
void
policy_vnni_layer_products(const policy_dense *dense, const policy_work *work, uint32_t R,
                           float (*hi)[POLICY_LANES])
{
    const layer_job job = {dense, *work, hi};
    const size_t count = policy_groups(dense);
    const bool is_large = (size_t)dense->inputs * dense->outputs >= LARGE_BYTES;
    for (size_t g = 0; g < count; g += POLICY_TILE_GROUPS) {
        size_t groups = count - g < POLICY_TILE_GROUPS ? count - g : POLICY_TILE_GROUPS;
        groups_products(&job, R, g, groups, is_large);
    }
}

void
policy_vnni_layer_q8(const policy_dense *dense, const policy_work *work, uint32_t R)
{
    float hi[POLICY_TILE_ROWS][POLICY_LANES];
    policy_vnni_layer_products(dense, work, R, hi);
    rows_finish(dense, work, R);
}
