// Computes an INT4 layer of one row from packed nibbles on AVX-512 VNNI, and packs them. Nibbles
// have half the bytes of the codes that they represent.
//
// Groups of outputs are packed in passes of up to four groups. A pass of G groups has for each 32
// inputs, which share a multiplier,
//   multipliers  [G][16] bytes, padded to a multiple of 64
//   nibbles      [4][G][16 outputs][4] bytes: in block b, byte t has input 8 b + t in its low half
//                and input 8 b + 4 + t in its high half, each plus 8
// so that a pass reads one stream. A high half is used in its position, as sixteen times itself.
//
// vpdpbusd needs one unsigned operand. That is the nibble n + 8, and the activation code q becomes
// signed: q - 128. With S the sum of q - 128 over the 32 inputs,
//   sum of n (q - 128) = sum of (n + 8) (q - 128) - 8 S
// fits into 16 bits (32 * 7 * 128), so vpdpwssd multiplies it by the multiplier and adds the
// products. In the end 128 times the sum of a row's codes is missing, as if the zero point were 128
// less, and the correction of the zero point adds it.
#include "policy/kernels/policy_vnni.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_block.h"

#include "policy/kernels/policy_vnni_row.h"

#define GROUPS_MAX 4
#define BLOCKS     4     // of eight inputs each
#define LINE       64    // bytes of a cache line and of a register
#define BYTES_MIN  16384 // of a layer in INT8; a smaller layer is in L1 and gains nothing

static size_t
pass_step(size_t groups)
{
    return LINE + BLOCKS * groups * LINE;
}

size_t
policy_vnni_q4_bytes(const policy_dense *dense)
{
    if ((size_t)dense->inputs * dense->outputs < BYTES_MIN) {
        return 0;
    }
    size_t groups = policy_groups(dense), steps = policy_int4_groups(dense->inputs);
    size_t rest = groups % GROUPS_MAX;
    return steps * (groups / GROUPS_MAX * pass_step(GROUPS_MAX) + (rest > 0 ? pass_step(rest) : 0));
}

// Joins 32 nibbles plus 8 into four words, one for each block. Nibbles from index count are zero.
static POLICY_INLINE __m128i
nibbles_join(const int8_t *nibbles, uint32_t count)
{
    __mmask32 mask = count >= POLICY_INT4_GROUP ? 0xffffffffu : (1u << count) - 1u;
    __m256i n = _mm256_maskz_loadu_epi8(mask, nibbles);
    n = _mm256_add_epi8(n, _mm256_set1_epi8(8));
    // In each eight bytes, moves the low halves of the upper four bytes above those of the lower
    // four.
    return _mm256_cvtepi64_epi32(_mm256_or_si256(n, _mm256_srli_epi64(n, 28)));
}

void
policy_vnni_pack_q4(const policy_dense *dense, const int8_t *nibbles, const uint8_t *multipliers,
                    void *to)
{
    const size_t K = dense->inputs, steps = policy_int4_groups(dense->inputs);
    const size_t count = policy_groups(dense);
    uint8_t *pass = to;
    for (size_t g = 0; g < count; g += GROUPS_MAX) {
        const size_t groups = OCT_MIN(count - g, (size_t)GROUPS_MAX);
        for (size_t o = 0; o < groups * POLICY_LANES; o++) {
            const size_t j = g * POLICY_LANES + o;
            const bool is_output = j < dense->outputs;
            for (size_t s = 0; s < steps; s++) {
                uint8_t *step = pass + s * pass_step(groups);
                const size_t k = s * POLICY_INT4_GROUP;
                step[o] = is_output ? multipliers[j * steps + s] : 0;
                uint32_t words[BLOCKS];
                uint32_t inputs = is_output ? (uint32_t)(K - k) : 0;
                const int8_t *from = is_output ? nibbles + j * K + k : nibbles;
                _mm_storeu_si128((void *)words, nibbles_join(from, inputs));
                for (size_t b = 0; b < BLOCKS; b++) {
                    memcpy(step + LINE + b * groups * LINE + o * sizeof(uint32_t), &words[b],
                           sizeof(uint32_t));
                }
            }
        }
        for (size_t s = 0; s < steps; s++) {
            memset(pass + s * pass_step(groups) + groups * POLICY_LANES, 0,
                   LINE - groups * POLICY_LANES);
        }
        pass += steps * pass_step(groups);
    }
}

// Makes codes[steps][32] signed and computes sums[steps] = -8 S.
static void
codes_sign(size_t steps, uint8_t *restrict codes, int32_t *restrict sums)
{
    for (size_t s = 0; s < steps; s++) {
        __m256i *at = (void *)(codes + s * POLICY_INT4_GROUP);
        __m256i q = _mm256_loadu_si256(at);
        __m256i four = _mm256_sad_epu8(q, _mm256_setzero_si256());
        __m128i two =
            _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        int32_t sum = _mm_cvtsi128_si32(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
        sums[s] = -8 * (sum - 128 * POLICY_INT4_GROUP);
        _mm256_storeu_si256(at, _mm256_xor_si256(q, _mm256_set1_epi8(-128)));
    }
}

// Returns where codes_sign stores its sums: after the codes.
static int32_t *
sums_of(const row_job *job)
{
    return (void *)(job->codes + policy_round_up(job->dense->inputs, LINE));
}

// Computes the outputs of the pass of GROUPS groups that begins at g.
static POLICY_INLINE void
pass_q4(const int GROUPS, const row_job *job, size_t g, vrange *range)
{
    const vint low_half = _mm512_set1_epi8(0x0f), high_half = _mm512_set1_epi8((char)0xf0);
    const size_t steps = policy_int4_groups(job->dense->inputs);
    const uint8_t *restrict pass =
        (const uint8_t *)job->dense->nibbles + g / GROUPS_MAX * steps * pass_step(GROUPS_MAX);
    const uint8_t *restrict codes = job->codes;
    const int32_t *restrict sums = sums_of(job);
    vint total[GROUPS_MAX];
    POLICY_UNROLL
    for (int i = 0; i < GROUPS; i++) {
        total[i] = _mm512_setzero_si512();
    }
    for (size_t s = 0; s < steps; s++) {
        vint low[GROUPS_MAX], high[GROUPS_MAX];
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            low[i] = v_set_int(sums[s]);
            high[i] = _mm512_setzero_si512();
        }
        POLICY_UNROLL
        for (int b = 0; b < BLOCKS; b++) {
            const vint first = codes_load(codes + 8 * b), second = codes_load(codes + 8 * b + 4);
            POLICY_UNROLL
            for (int i = 0; i < GROUPS; i++) {
                vint both = _mm512_load_si512(pass + LINE * (1 + b * GROUPS + i));
                POLICY_PIN(both);
                low[i] = _mm512_dpbusd_epi32(low[i], _mm512_and_si512(both, low_half), first);
                high[i] = _mm512_dpbusd_epi32(high[i], _mm512_and_si512(both, high_half), second);
            }
        }
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            vint sum = v_add_int(low[i], _mm512_srai_epi32(high[i], 4));
            const __m128i *multipliers = (const void *)(pass + POLICY_LANES * i);
            vint multiplier = _mm512_cvtepu8_epi32(_mm_load_si128(multipliers));
            total[i] = _mm512_dpwssd_epi32(total[i], sum, multiplier);
        }
        pass += LINE * (1 + BLOCKS * GROUPS);
        codes += POLICY_INT4_GROUP;
    }
    POLICY_UNROLL
    for (int i = 0; i < GROUPS; i++) {
        row_group_finish(job, g + (size_t)i, total[i], range);
    }
}

void
policy_vnni_row_q4(const row_job *job, vrange *range)
{
    const size_t count = policy_groups(job->dense);
    row_job shifted = *job;
    shifted.row.zero_point -= 128;
    codes_sign(policy_int4_groups(job->dense->inputs), job->codes, sums_of(job));
    *range = (vrange){v_set(0.0f), v_set(0.0f)};
    size_t g = 0;
    for (; g + GROUPS_MAX <= count; g += GROUPS_MAX) {
        pass_q4(4, &shifted, g, range);
    }
    switch (count - g) {
    case 3:
        pass_q4(3, &shifted, g, range);
        break;
    case 2:
        pass_q4(2, &shifted, g, range);
        break;
    case 1:
        pass_q4(1, &shifted, g, range);
        break;
    default:
        break;
    }
}
