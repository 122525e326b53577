#ifndef QUANTIZER_QUANTIZER_ROWS_H
#define QUANTIZER_QUANTIZER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The quantizer's inner loops over one row of weights. One source is compiled once for each
// instruction set. All tables give the same bits, because every operation is one IEEE-754 operation
// and every sum has a fixed order.
//
// Threads: any. Owns: nothing.

#define QUANTIZER_ROWS_LANES 16 // a sum adds element i to lane i mod 16, then the lanes as a tree

// rows->search4 tries the multipliers 1 .. 15, with results in errors[0 .. 14], and a larger
// multiplier, which is not allowed: if it is best, the scale is too small.
#define QUANTIZER_SEARCH_COUNT  16
#define QUANTIZER_SEARCH_BEYOND 20

// The difference between weights w and the weights that their codes represent (kept).
typedef struct quantizer_sums {
    double norm;  // sum of w^2
    double error; // sum of (w - kept)^2
    float most;   // largest |w - kept|
} quantizer_sums;

// The loops for one instruction set; n is the count of weights.
typedef struct quantizer_rows {
    const char *isa;            // its name
    bool (*is_supported)(void); // by this CPU
    // Returns the largest |w| as the bits of a float; 0x7f800000 or more if a weight is not finite.
    uint32_t (*most)(const float *w, size_t n);
    // Does the same for each group of POLICY_INT4_GROUP weights; returns the largest of groups.
    uint32_t (*most4)(uint32_t *groups, const float *w, size_t n);
    // Returns the count of |w| above bound.
    size_t (*count_above)(const float *w, size_t n, float bound);
    // INT8: returns the sum of (w * inverse - code)^2 with the nearest codes.
    float (*squares8)(const float *w, size_t n, float inverse);
    // INT4, one group: errors[i] = sum of (w * inverse - multiplier * code)^2.
    void (*search4)(float errors[QUANTIZER_SEARCH_COUNT], const float *w, size_t n, float inverse);
    // Adds n weights to sums: element i to one of eight lanes, which are then added in order.
    void (*compare)(quantizer_sums *sums, const float *w, const float *kept, size_t n);
    // INT8: the nearest codes. scale > 0. At least `ahead` more floats follow these n and are read
    // next: the loop prefetches them.
    void (*codes8)(int8_t *codes, const float *w, size_t n, float scale, size_t ahead);
    // In place: codes of step from become the nearest codes of step to, at most limit: round(code *
    // (from / to)), or 0 if to is 0. codec_delta.c predicts codes under a new scale in the same
    // way.
    void (*predict)(int8_t *codes, size_t n, float from, float to, float limit);
    // In place: codes are the predicted ones on entry. A code stays if it is at most band steps
    // from the weight (never if band < 0) and otherwise becomes the nearest. Returns how many
    // changed.
    uint32_t (*move8)(int8_t *codes, const float *w, size_t n, float scale, float band);
    // INT4: codes8 and move8 with one multiplier for each group; a multiplier of 0 gives codes of
    // 0.
    void (*codes4)(int8_t *codes, const float *w, size_t n, float scale,
                   const uint8_t *multipliers);
    uint32_t (*move4)(int8_t *codes, const float *w, size_t n, float scale,
                      const uint8_t *multipliers, float band);
    // Round to the nearest 16-bit float (policy_half.h).
    void (*bf16)(uint16_t *halves, const float *w, size_t n);
    void (*fp16)(uint16_t *halves, const float *w, size_t n);
} quantizer_rows;

extern const quantizer_rows quantizer_rows_base;
extern const quantizer_rows quantizer_rows_avx2;   // x86-64 builds only
extern const quantizer_rows quantizer_rows_avx512; // x86-64 builds only

// All tables of this build, from slow to fast, with NULL at the end; and the fastest one that this
// CPU supports.
extern const quantizer_rows *const quantizer_rows_all[];
const quantizer_rows *quantizer_rows_best(void);

#endif // QUANTIZER_QUANTIZER_ROWS_H
