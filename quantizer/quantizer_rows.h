#ifndef QUANTIZER_QUANTIZER_ROWS_H
#define QUANTIZER_QUANTIZER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The quantizer's inner loops over one row of weights. One source, compiled once for each
// instruction set: all give the same bits, as every operation is a single IEEE-754 one and every
// sum has one stated order.
//
// Threads: any. Owns: nothing.

#define QUANTIZER_ROWS_LANES 16 // a sum adds element i to lane i mod 16, then the lanes as a tree

// Multipliers that rows->search4 tries: 1..15 in errors[0..14], and one that no code can have, to
// see that the scale is too small.
#define QUANTIZER_SEARCH_COUNT  16
#define QUANTIZER_SEARCH_BEYOND 20

// How far weights and what was kept of them are apart.
typedef struct quantizer_sums {
    double norm;  // sum of w^2
    double error; // sum of (w - kept)^2
    float most;   // largest |w - kept|
} quantizer_sums;

typedef struct quantizer_rows {
    const char *isa;
    bool (*is_supported)(void);
    // The largest |w| as the bits of a float; 0x7f800000 and more: one is not finite.
    uint32_t (*most)(const float *w, size_t n);
    // The same for each group of POLICY_INT4_GROUP. Gives the largest of all.
    uint32_t (*most4)(uint32_t *groups, const float *w, size_t n);
    // How many |w| are larger than bound.
    size_t (*count_above)(const float *w, size_t n, float bound);
    // Sum of (w * inverse - code)^2.
    float (*squares8)(const float *w, size_t n, float inverse);
    // One group: errors[i] = sum of (w * inverse - multiplier * code)^2.
    void (*search4)(float errors[QUANTIZER_SEARCH_COUNT], const float *w, size_t n, float inverse);
    // Adds n weights to sums: element i to one of eight lanes, which are added in order.
    void (*compare)(quantizer_sums *sums, const float *w, const float *kept, size_t n);
    // INT8, scale above 0. The next `ahead` floats after w will be read soon.
    void (*codes8)(int8_t *codes, const float *w, size_t n, float scale, size_t ahead);
    // In place: codes at steps of from become the nearest ones at steps of to, at most limit:
    // round(code * (from / to)), 0 when to is. What codec_delta.h predicts for a renewed scale.
    void (*predict)(int8_t *codes, size_t n, float from, float to, float limit);
    // In place: codes are the predicted ones. A code stays when it is at most band steps from the
    // weight (band below 0: never). Gives how many changed.
    uint32_t (*move8)(int8_t *codes, const float *w, size_t n, float scale, float band);
    // INT4, the same with one multiplier for a group; 0: codes 0.
    void (*codes4)(int8_t *codes, const float *w, size_t n, float scale,
                   const uint8_t *multipliers);
    uint32_t (*move4)(int8_t *codes, const float *w, size_t n, float scale,
                      const uint8_t *multipliers, float band);
    void (*bf16)(uint16_t *halves, const float *w, size_t n);
    void (*fp16)(uint16_t *halves, const float *w, size_t n);
} quantizer_rows;

extern const quantizer_rows quantizer_rows_base;
extern const quantizer_rows quantizer_rows_avx2;   // x86-64 builds only
extern const quantizer_rows quantizer_rows_avx512; // x86-64 builds only

// All of this build, NULL at the end; and the best that this CPU has.
extern const quantizer_rows *const quantizer_rows_all[];
const quantizer_rows *quantizer_rows_best(void);

#endif // QUANTIZER_QUANTIZER_ROWS_H
