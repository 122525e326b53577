#include "policy/policy_vnni.h"

#include "policy/policy_simd_avx512.h"

#include "policy/policy_vnni_tile.h"

// A layer whose outputs are four groups (49 to 64 of them) with relu: a tile of four rows holds
// them all, so its floats go from sums to codes of the next layer without leaving the registers, in
// the shadow of the next tile's products.

#define GROUPS   POLICY_VNNI_NARROW_GROUPS
#define ROWS_MAX 4

// The greatest of v[r], none negative, in all four lanes of quarter r.
static POLICY_INLINE vfloat
quarters_greatest(const vfloat v[ROWS_MAX])
{
    vfloat a = greater_positive(_mm512_shuffle_f32x4(v[0], v[1], 0x44),
                                _mm512_shuffle_f32x4(v[0], v[1], 0xee));
    vfloat b = greater_positive(_mm512_shuffle_f32x4(v[2], v[3], 0x44),
                                _mm512_shuffle_f32x4(v[2], v[3], 0xee));
    vfloat c = greater_positive(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    c = greater_positive(c, _mm512_permute_ps(c, 0x4e));
    return greater_positive(c, _mm512_permute_ps(c, 0xb1));
}

// policy_affine_of(0, hi) of four rows; inverse is handed out, the rest is in rows.
static POLICY_INLINE void
rows_measure(const int ROWS, vfloat hi, float inverse[ROWS_MAX], policy_row *rows)
{
    const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128 most = _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, hi));
    const __m128 range = _mm_min_ps(most, _mm_set1_ps(POLICY_RANGE_MAX));
    const __mmask8 is_some = _mm_cmp_ps_mask(range, _mm_set1_ps(POLICY_RANGE_MIN), _CMP_NLT_UQ);
    float scale[ROWS_MAX];
    _mm_storeu_ps(inverse, _mm_maskz_div_ps(is_some, _mm_set1_ps(255.0f), range));
    _mm_storeu_ps(scale, _mm_maskz_div_ps(is_some, range, _mm_set1_ps(255.0f)));
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        rows[r] = (policy_row){.scale = scale[r]};
    }
}

// ROWS rows: their codes and grids are replaced by those of the outputs.
static POLICY_INLINE void
tile_narrow(const int ROWS, const policy_dense *dense, uint8_t *codes, size_t q_stride,
            policy_row *rows)
{
    vint acc[POLICY_TILE_SUMS];
    vfloat out[POLICY_TILE_SUMS], hi[ROWS_MAX];
    tile_sums(ROWS, GROUPS, dense, 0, codes, q_stride, acc);
    tile_finish(ROWS, GROUPS, dense, 0, rows, acc, out);
    POLICY_UNROLL
    for (int r = 0; r < ROWS_MAX; r++) {
        hi[r] = v_set(0.0f);
        POLICY_UNROLL
        for (int g = 0; r < ROWS && g < GROUPS; g++) {
            hi[r] = greater_positive(out[r * GROUPS + g], hi[r]);
        }
    }
    float inverse[ROWS_MAX];
    rows_measure(ROWS, quarters_greatest(hi), inverse, rows);
    POLICY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        const vfloat factor = v_set(inverse[r]), *x = out + r * GROUPS;
        v_store_codes4(codes + (size_t)r * q_stride, v_round(v_mul(x[0], factor)),
                       v_round(v_mul(x[1], factor)), v_round(v_mul(x[2], factor)),
                       v_round(v_mul(x[3], factor)));
    }
}

void
policy_vnni_layer_narrow(const policy_dense *dense, uint32_t R, uint8_t *codes, size_t q_stride,
                         policy_row *rows)
{
    uint32_t r = 0;
    for (; r + 4 <= R; r += 4) {
        tile_narrow(4, dense, codes + r * q_stride, q_stride, rows + r);
    }
    switch (R - r) {
    case 3:
        tile_narrow(3, dense, codes + r * q_stride, q_stride, rows + r);
        break;
    case 2:
        tile_narrow(2, dense, codes + r * q_stride, q_stride, rows + r);
        break;
    case 1:
        tile_narrow(1, dense, codes + r * q_stride, q_stride, rows + r);
        break;
    default:
        break;
    }
}
