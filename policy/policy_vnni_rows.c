#include "policy/policy_vnni.h"

#include "policy/policy_simd_avx512.h"

#include "policy/policy_vnni_tile.h"

// Many rows through one INT8 layer, a tile in registers at a time.

#define ROWS_MAX 8 // of a tile

// y[ROWS][GROUPS * 16], outputs of group g on. After a plain relu also hi[ROWS][16], the greatest
// of the outputs so far, lane by lane.
static POLICY_INLINE void
tile_q8(const int ROWS, const int GROUPS, const policy_dense *dense, size_t g,
        const uint8_t *restrict codes, size_t q_stride, const policy_row *restrict rows,
        float *restrict y, size_t y_stride, float (*restrict hi)[POLICY_LANES])
{
    vint acc[POLICY_TILE_SUMS];
    vfloat out[POLICY_TILE_SUMS];
    tile_sums(ROWS, GROUPS, dense, g, codes, q_stride, acc);
    tile_finish(ROWS, GROUPS, dense, g, rows, acc, out);
    const bool is_relu = policy_has_plain_relu(dense);
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        vfloat most = g == 0 || !is_relu ? v_set(0.0f) : v_load(hi[r]);
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            vfloat one = out[r * GROUPS + i];
            v_store(y + (size_t)r * y_stride + (g + (size_t)i) * POLICY_LANES, one);
            most = greater_positive(one, most);
        }
        v_store(hi[r], most);
    }
}

// The same for the last group when it has at most eight outputs: half of each register would
// multiply by zero, so registers of half the size do, twice as many a clock.
static POLICY_INLINE void
tile_half_q8(const int ROWS, const policy_dense *dense, size_t g, const uint8_t *restrict codes,
             size_t q_stride, const policy_row *restrict rows, float *restrict y, size_t y_stride,
             float (*restrict hi)[POLICY_LANES])
{
    const size_t K = dense->inputs_padded;
    const int8_t *w = (const int8_t *)dense->weights + g * K * POLICY_LANES;
    __m256i acc[ROWS_MAX];
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        acc[r] = _mm256_setzero_si256();
    }
    for (size_t k = 0; k < K; k += POLICY_VNNI_UNIT) {
        __m256i weights = _mm256_load_si256((const void *)(w + k * POLICY_LANES));
        POLICY_PIN(weights);
        POLICY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            memcpy(&four, codes + (size_t)r * q_stride + k, sizeof(four));
            acc[r] = _mm256_dpbusd_epi32(acc[r], _mm256_set1_epi32(four), weights);
            POLICY_PIN(acc[r]);
        }
    }
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        vint sum = _mm512_zextsi256_si512(acc[r]);
        vfloat out;
        tile_finish(1, 1, dense, g, rows + r, &sum, &out);
        v_store(y + (size_t)r * y_stride + g * POLICY_LANES, out);
        v_store(hi[r], g == 0 ? out : greater_positive(out, v_load(hi[r])));
    }
}

typedef void tile_q8_fn(const policy_dense *dense, size_t g, const uint8_t *codes, size_t q_stride,
                        const policy_row *rows, float *y, size_t y_stride,
                        float (*hi)[POLICY_LANES]);

#define TILE(ROWS, GROUPS)                                                                         \
    static void tile_q8_##ROWS##x##GROUPS(                                                         \
        const policy_dense *dense, size_t g, const uint8_t *codes, size_t q_stride,                \
        const policy_row *rows, float *y, size_t y_stride, float(*hi)[POLICY_LANES])               \
    {                                                                                              \
        if (GROUPS == 0) {                                                                         \
            tile_half_q8(ROWS, dense, g, codes, q_stride, rows, y, y_stride, hi);                  \
        } else {                                                                                   \
            tile_q8(ROWS, GROUPS, dense, g, codes, q_stride, rows, y, y_stride, hi);               \
        }                                                                                          \
    }
#define TILES(ROWS) TILE(ROWS, 0) TILE(ROWS, 1) TILE(ROWS, 2) TILE(ROWS, 3) TILE(ROWS, 4)
TILES(1)
TILES(2)
TILES(4)
TILE(8, 0)
TILE(8, 1)
TILE(8, 2)
#undef TILES
#undef TILE

// By groups of outputs (0: half a group) and by rows: 1, 2, 4, 8. As many rows as there are
// registers, and four sums or more, which hide the latency of vpdpbusd.
#define SIZES 4
static tile_q8_fn *const tiles_q8[POLICY_TILE_GROUPS + 1][SIZES] = {
    {tile_q8_1x0, tile_q8_2x0, tile_q8_4x0, tile_q8_8x0},
    {tile_q8_1x1, tile_q8_2x1, tile_q8_4x1, tile_q8_8x1},
    {tile_q8_1x2, tile_q8_2x2, tile_q8_4x2, tile_q8_8x2},
    {tile_q8_1x3, tile_q8_2x3, tile_q8_4x3, NULL},
    {tile_q8_1x4, tile_q8_2x4, tile_q8_4x4, NULL},
};

// Groups outside, rows inside: weights come from the outer caches once.
void
policy_vnni_layer_products(const policy_dense *dense, uint32_t R, const uint8_t *codes,
                           size_t q_stride, const policy_row *rows, float *y, size_t y_stride,
                           float (*hi)[POLICY_LANES])
{
    const size_t count = policy_groups(dense);
    for (size_t g = 0; g < count; g += POLICY_TILE_GROUPS) {
        size_t groups = count - g < POLICY_TILE_GROUPS ? count - g : POLICY_TILE_GROUPS;
        if (groups == 1 && dense->outputs - g * POLICY_LANES <= POLICY_LANES / 2) {
            groups = 0;
        }
        uint32_t r = 0;
        for (int size = SIZES - 1; size >= 0; size--) {
            tile_q8_fn *tile = tiles_q8[groups][size];
            for (; tile != NULL && R - r >= 1u << size; r += 1u << size) {
                tile(dense, g, codes + r * q_stride, q_stride, rows + r, y + r * y_stride, y_stride,
                     hi + r);
            }
        }
    }
}

void
policy_vnni_layer_rows(const policy_dense *dense, uint32_t R, const uint8_t *codes, size_t q_stride,
                       const policy_row *rows, float *y, size_t y_stride)
{
    float hi[POLICY_TILE_ROWS_MAX][POLICY_LANES];
    for (uint32_t r = 0; r < R; r += POLICY_TILE_ROWS_MAX) {
        uint32_t some = R - r < POLICY_TILE_ROWS_MAX ? R - r : POLICY_TILE_ROWS_MAX;
        policy_vnni_layer_products(dense, some, codes + r * q_stride, q_stride, rows + r,
                                   y + r * y_stride, y_stride, hi);
    }
    rows_finish(dense, R, y, y_stride);
}
