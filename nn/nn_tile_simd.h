#ifndef NN_NN_TILE_SIMD_H
#define NN_NN_TILE_SIMD_H

// The vectors of WIDTH units that nn_tile.c needs, for AVX-512 and for AVX2 with FMA. The file is
// empty, and NN_TILE_SIMD undefined, where it is compiled for other instruction sets.
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NN_TILE_SIMD 1

#if defined(__AVX512F__)

typedef __m512 vfloat;

#define WIDTH       16
#define VECTORS_MAX 4 // vectors in a row of a tile; more would spill registers

static inline vfloat
v_zero(void)
{
    return _mm512_setzero_ps();
}

static inline vfloat
v_load(const void *at)
{
    return _mm512_loadu_ps(at);
}

static inline __mmask16
v_mask(size_t count)
{
    return count >= WIDTH ? (__mmask16)0xffff : (__mmask16)((1u << count) - 1);
}

// Loads the first count floats; the other lanes are zero.
static inline vfloat
v_load_part(const float *at, size_t count)
{
    return _mm512_maskz_loadu_ps(v_mask(count), at);
}

static inline void
v_store(void *at, vfloat a)
{
    _mm512_storeu_ps(at, a);
}

static inline void
v_store_part(float *at, vfloat a, size_t count)
{
    _mm512_mask_storeu_ps(at, v_mask(count), a);
}

// Half a vector: CPUs that split 512-bit vectors compute it in half the time.
typedef __m256 vhalf;

static inline vhalf
half_of(vfloat a)
{
    return _mm512_castps512_ps256(a);
}

static inline vhalf
half_load(const void *at)
{
    return _mm256_loadu_ps(at);
}

static inline void
half_store_part(float *at, vhalf a, size_t count)
{
    _mm256_mask_storeu_ps(at, (__mmask8)v_mask(count), a);
}

// Transposes a square of WIDTH x WIDTH.
static inline void
v_transpose(vfloat a[WIDTH])
{
    __m512d t[WIDTH], u[WIDTH];
    for (int i = 0; i < WIDTH; i += 2) {
        t[i] = _mm512_castps_pd(_mm512_unpacklo_ps(a[i], a[i + 1]));
        t[i + 1] = _mm512_castps_pd(_mm512_unpackhi_ps(a[i], a[i + 1]));
    }
    for (int i = 0; i < WIDTH; i += 4) {
        u[i] = _mm512_unpacklo_pd(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_pd(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_pd(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_pd(t[i + 1], t[i + 3]);
    }
    // Part p (4 lanes) of u[4 g + j] holds rows 4 g .. 4 g + 3 of column 4 p + j.
    for (int j = 0; j < 4; j++) {
        __m512d low = _mm512_shuffle_f64x2(u[j], u[4 + j], 0x44);
        __m512d high = _mm512_shuffle_f64x2(u[j], u[4 + j], 0xee);
        __m512d low2 = _mm512_shuffle_f64x2(u[8 + j], u[12 + j], 0x44);
        __m512d high2 = _mm512_shuffle_f64x2(u[8 + j], u[12 + j], 0xee);
        a[j] = _mm512_castpd_ps(_mm512_shuffle_f64x2(low, low2, 0x88));
        a[4 + j] = _mm512_castpd_ps(_mm512_shuffle_f64x2(low, low2, 0xdd));
        a[8 + j] = _mm512_castpd_ps(_mm512_shuffle_f64x2(high, high2, 0x88));
        a[12 + j] = _mm512_castpd_ps(_mm512_shuffle_f64x2(high, high2, 0xdd));
    }
}

#else // AVX2 and FMA

typedef __m256 vfloat;

#define WIDTH           8
#define VECTORS_MAX     2

static inline vfloat
v_zero(void)
{
    return _mm256_setzero_ps();
}

static inline vfloat
v_load(const void *at)
{
    return _mm256_loadu_ps(at);
}

static inline __m256i
v_mask(size_t count)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count >= WIDTH ? WIDTH : (int)count), lane);
}

static inline vfloat
v_load_part(const float *at, size_t count)
{
    return _mm256_maskload_ps(at, v_mask(count));
}

static inline void
v_store(void *at, vfloat a)
{
    _mm256_storeu_ps(at, a);
}

static inline void
v_store_part(float *at, vfloat a, size_t count)
{
    _mm256_maskstore_ps(at, v_mask(count), a);
}

// On these CPUs half a vector takes as long as a whole one, so that no tile has a half.
typedef vfloat vhalf;
#define half_of(a)      (a)
#define half_load       v_load
#define half_accumulate v_accumulate
#define half_store_part v_store_part

static inline void
v_transpose(vfloat a[WIDTH])
{
    __m256d t[WIDTH];
    vfloat u[WIDTH];
    for (int i = 0; i < WIDTH; i += 2) {
        t[i] = _mm256_castps_pd(_mm256_unpacklo_ps(a[i], a[i + 1]));
        t[i + 1] = _mm256_castps_pd(_mm256_unpackhi_ps(a[i], a[i + 1]));
    }
    for (int i = 0; i < WIDTH; i += 4) {
        u[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(t[i], t[i + 2]));
        u[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(t[i], t[i + 2]));
        u[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(t[i + 1], t[i + 3]));
        u[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(t[i + 1], t[i + 3]));
    }
    for (int j = 0; j < 4; j++) {
        a[j] = _mm256_permute2f128_ps(u[j], u[4 + j], 0x20);
        a[4 + j] = _mm256_permute2f128_ps(u[j], u[4 + j], 0x31);
    }
}

#endif

// Reads a unit as an integer; memcpy, because the memory holds floats.
static inline int
unit_at(const uint32_t *at)
{
    int unit;
    memcpy(&unit, at, sizeof(unit));
    return unit;
}

#if defined(__AVX512BF16__)

#define UNIT 2

// Loads WIDTH units of a row, starting at unit; numbers at and beyond count are zero.
static inline vfloat
units_of_row(const float *row, size_t unit, size_t count)
{
    size_t at = 2 * unit, left = count > at ? count - at : 0;
    vfloat low = v_load_part(row + at, left);
    vfloat high = left > WIDTH ? v_load_part(row + at + WIDTH, left - WIDTH) : v_zero();
    return _mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(high, low));
}

// Loads one unit of each of WIDTH columns: rows 2 unit and 2 unit + 1 of B[K][stride], of which
// count columns are left.
static inline vfloat
units_of_columns(const float *B, size_t stride, size_t unit, size_t K, size_t count)
{
    const __m512i pairs =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const float *row = B + 2 * unit * stride;
    if (2 * unit >= K) {
        return v_zero();
    }
    vfloat first = v_load_part(row, count);
    vfloat second = 2 * unit + 1 < K ? v_load_part(row + stride, count) : v_zero();
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(pairs, both));
}

static inline vfloat
v_broadcast(const uint32_t *at)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32(unit_at(at)));
}

static inline vfloat
v_accumulate(vfloat sum, vfloat a, vfloat b)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

static inline vhalf
half_accumulate(vhalf sum, vhalf a, vhalf b)
{
    return _mm256_dpbf16_ps(sum, (__m256bh)a, (__m256bh)b);
}

#else

#define UNIT 1

static inline vfloat
units_of_row(const float *row, size_t unit, size_t count)
{
    return v_load_part(row + unit, count > unit ? count - unit : 0);
}

static inline vfloat
units_of_columns(const float *B, size_t stride, size_t unit, size_t K, size_t count)
{
    (void)K;
    return v_load_part(B + unit * stride, count);
}

#if defined(__AVX512F__)
static inline vfloat
v_broadcast(const uint32_t *at)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32(unit_at(at)));
}

static inline vfloat
v_accumulate(vfloat sum, vfloat a, vfloat b)
{
    return _mm512_fmadd_ps(a, b, sum);
}

static inline vhalf
half_accumulate(vhalf sum, vhalf a, vhalf b)
{
    return _mm256_fmadd_ps(a, b, sum);
}
#else
static inline vfloat
v_broadcast(const uint32_t *at)
{
    return _mm256_castsi256_ps(_mm256_set1_epi32(unit_at(at)));
}

static inline vfloat
v_accumulate(vfloat sum, vfloat a, vfloat b)
{
    return _mm256_fmadd_ps(a, b, sum);
}
#endif

#endif

#endif // an instruction set with tiles

#endif // NN_NN_TILE_SIMD_H
