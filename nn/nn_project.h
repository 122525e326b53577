#ifndef NN_NN_PROJECT_H
#define NN_NN_PROJECT_H

// The projection of one distribution onto the atoms (nn_categorical.h), for nn_categorical.c, which
// is built once per instruction set.
//
// The image of atom j lies between two atoms. Part of its mass stays at the lower atom, and the
// rest moves to the upper atom. The masses that stay and the masses that move are summed
// separately, each in the order of j:
//   m[i] = (the sum of the masses that stay at i) + (the sum of the masses that move from i - 1)

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "nn/nn_atoms.h"
#if defined(__AVX512F__)
#include "nn/nn_categorical_avx512.h"
#endif

// The number of atoms whose images are computed together before their masses are added one by one.
#define IMAGES 64

// The operands for one row of the batch.
typedef struct project_row {
    float *m;       // [N]
    const float *p; // [N]
    float reward, discount;
} project_row;

// Computes the images of atoms [first, first + count): the mass stays[j] of atom first + j goes to
// atom below[j], and the mass moves[j] to atom below[j] + 1. A NaN image has below = 0, and both
// masses are NaN.
static inline void
images(int32_t *restrict below, float *restrict stays, float *restrict moves,
       const project_row *row, size_t first, size_t count, const nn_support *support)
{
    const float low = support->low, high = support->high, step = nn_support_step(support);
    const float per_step = 1.0f / step, last = (float)(support->N - 1);
    const float reward = row->reward, discount = row->discount;
    const float *restrict p = row->p + first;
    const int32_t below_max = (int32_t)support->N - 2;
    for (size_t j = 0; j < count; j++) {
        float z = FMA(discount, FMA((float)(int32_t)(first + j), step, low), reward);
        z = z < low ? low : z;
        z = z > high ? high : z;
        float at = (z - low) * per_step;
        at = at > last ? last : at;
        int32_t whole = (int32_t)(at > 0.0f ? at : 0.0f);
        below[j] = whole < below_max ? whole : below_max;
        moves[j] = p[j] * (at - (float)below[j]);
        stays[j] = p[j] - moves[j];
    }
}

// Projects any distribution, one mass after the other. Masses of consecutive atoms that go to the
// same atom are summed in registers, because a sum in memory would wait for each store.
static inline void
project_any(const project_row *row, const nn_support *support)
{
    const uint32_t N = support->N;
    int32_t below[IMAGES], last = -1;
    float stays[IMAGES], moves[IMAGES], stay = 0.0f, move = 0.0f;
    float stayed[NN_CATEGORICAL_ATOMS_MAX], moved[NN_CATEGORICAL_ATOMS_MAX];
    memset(stayed, 0, N * sizeof(*stayed));
    memset(moved, 0, N * sizeof(*moved));
    for (size_t first = 0; first < N; first += IMAGES) {
        size_t count = N - first < IMAGES ? N - first : IMAGES;
        images(below, stays, moves, row, first, count, support);
        for (size_t j = 0; j < count; j++) {
            if (below[j] != last) {
                last = below[j];
                stay = stayed[last];
                move = moved[last];
            }
            stay += stays[j];
            move += moves[j];
            stayed[last] = stay;
            moved[last] = move;
        }
    }
    row->m[0] = stayed[0];
    for (size_t j = 1; j < N; j++) {
        row->m[j] = stayed[j] + moved[j - 1];
    }
}

#if defined(__AVX512F__)

#define VECTORS (IMAGES / 16)
#define EACH_VECTOR                                                                                \
    POLICY_UNROLL                                                                                  \
    for (uint32_t v = 0; v < VECTORS; v++)

// What all rows of a batch share.
typedef struct project_plan {
    const nn_support *support;
    uint64_t atoms; // one bit per atom; 0: too many atoms for project_steady
    __m512 low, high, last, per_step;
    __m512i below_max;
    __m512 z[VECTORS]; // the atoms' values
} project_plan;

static inline void
project_plan_init(project_plan *plan, const nn_support *support)
{
    const uint32_t N = support->N;
    plan->support = support;
    plan->atoms = N > IMAGES ? 0 : N < IMAGES ? ((uint64_t)1 << N) - 1 : ~(uint64_t)0;
    plan->low = all16(support->low);
    plan->high = all16(support->high);
    plan->last = all16((float)(N - 1));
    plan->per_step = all16(1.0f / nn_support_step(support));
    plan->below_max = _mm512_set1_epi32((int)N - 2);
    EACH_VECTOR
    {
        plan->z[v] = values16(16 * v, support);
    }
}

// The images of one row; atoms beyond the last have no mass.
typedef struct image_row {
    __m512i below[VECTORS];
    __m512 stays[VECTORS], moves[VECTORS];
} image_row;

// The same results as images(), for all atoms at once.
static inline void
images16(image_row *out, const project_row *row, const project_plan *plan)
{
    const __m512 discount = all16(row->discount), reward = all16(row->reward);
    EACH_VECTOR
    {
        const __m512 p = _mm512_maskz_loadu_ps((__mmask16)(plan->atoms >> 16 * v), row->p + 16 * v);
        __m512 z = _mm512_fmadd_ps(discount, plan->z[v], reward);
        z = _mm512_min_ps(plan->high, _mm512_max_ps(plan->low, z)); // a NaN stays: second operand
        __m512 at = _mm512_mul_ps(_mm512_sub_ps(z, plan->low), plan->per_step);
        at = _mm512_min_ps(plan->last, at);
        const __m512i whole = _mm512_cvttps_epi32(_mm512_max_ps(at, _mm512_setzero_ps()));
        out->below[v] = _mm512_min_epi32(whole, plan->below_max);
        out->moves[v] = _mm512_mul_ps(p, _mm512_sub_ps(at, _mm512_cvtepi32_ps(out->below[v])));
        out->stays[v] = _mm512_sub_ps(p, out->moves[v]);
    }
}

// Moves each lane up by one; lane 0 receives lane 15 of last.
static inline __m512
before16(__m512 now, __m512 last)
{
    const __m512i all =
        _mm512_alignr_epi32(_mm512_castps_si512(now), _mm512_castps_si512(last), 15);
    return _mm512_castsi512_ps(all);
}

// Returns true if the images of consecutive atoms lie at the same atom or at consecutive ones, and
// never three at one atom. That is so for discounts between about 1/2 and 1, unless several images
// are clipped to an end of the support. Bit j of shared is set if atom j has the same lower atom as
// atom j - 1.
static inline bool
images_steady(uint64_t *shared, const image_row *image, uint64_t atoms)
{
    uint64_t same = 0, next = 1;
    __m512i last = _mm512_set1_epi32(-2);
    EACH_VECTOR
    {
        const __m512i before = _mm512_alignr_epi32(image->below[v], last, 15);
        const __m512i by = _mm512_sub_epi32(image->below[v], before);
        same |= (uint64_t)_mm512_testn_epi32_mask(by, by) << 16 * v;
        next |= (uint64_t)_mm512_cmpeq_epi32_mask(by, _mm512_set1_epi32(1)) << 16 * v;
        last = image->below[v];
    }
    *shared = same & atoms;
    return (*shared & (*shared << 1)) == 0 && (atoms & ~(same | next)) == 0;
}

// Projects one row with the bits of project_any and returns true, or returns false without writing
// m if images_steady fails. room: how many numbers from m on may be overwritten.
static inline bool
project_steady(const project_row *row, const project_plan *plan, size_t room)
{
    const uint32_t N = plan->support->N;
    image_row image;
    uint64_t shared;
    if (plan->atoms == 0) {
        return false;
    }
    images16(&image, row, plan);
    if (!images_steady(&shared, &image, plan->atoms)) {
        return false;
    }
    const uint64_t ends = ~(shared >> 1) & plan->atoms;
    float spare[2 * IMAGES], *m = room >= 2 * IMAGES ? row->m : spare;
    __m512 stays = _mm512_setzero_ps(), moves = stays, moved = stays;
    for (size_t at = 0; at < N; at += 16) {
        _mm512_storeu_ps(m + at, stays);
    }
    float *to = m + _mm512_cvtsi512_si32(image.below[0]);
    EACH_VECTOR
    {
        const __mmask16 both = (__mmask16)(shared >> 16 * v), end = (__mmask16)(ends >> 16 * v);
        const int count = __builtin_popcount(end);
        if (count == 0) {
            break;
        }
        const __m512 stay = _mm512_mask_add_ps(image.stays[v], both, image.stays[v],
                                               before16(image.stays[v], stays));
        const __m512 move = _mm512_mask_add_ps(image.moves[v], both, image.moves[v],
                                               before16(image.moves[v], moves));
        const __m512 away = _mm512_maskz_compress_ps(end, move);
        _mm512_storeu_ps(to,
                         _mm512_add_ps(_mm512_maskz_compress_ps(end, stay), before16(away, moved)));
        to += count;
        moved = _mm512_permutexvar_ps(_mm512_set1_epi32(count - 1), away);
        stays = image.stays[v];
        moves = image.moves[v];
    }
    _mm512_storeu_ps(to, _mm512_maskz_mov_ps(1, moved));
    if (m == spare) {
        memcpy(row->m, m, N * sizeof(*m));
    }
    return true;
}

#endif

#endif // NN_NN_PROJECT_H
