#ifndef TESTS_POLICY_SMALL_POLICY_H
#define TESTS_POLICY_SMALL_POLICY_H

#include "common/oct_bytes.h"
#include "tests/policy/random_image.h"

// Policies of any small shape, and bytes of policies that somebody has changed, for tests and
// fuzzing.

// One or two convolutions before the dense layers.
static inline policy_spec
random_small_conv_spec(oct_rng *rng)
{
    const uint32_t filters[2] = {1 + oct_rng_below(rng, 7), 1 + oct_rng_below(rng, 18)};
    const uint32_t hidden = 1 + oct_rng_below(rng, 9), conv_count = 1 + oct_rng_below(rng, 2);
    const uint32_t kernel = 1 + oct_rng_below(rng, 3);
    const uint32_t height = 2 * kernel + oct_rng_below(rng, 3);
    const uint32_t width = 2 * kernel + oct_rng_below(rng, 3);
    return random_conv_spec(height, width, 1 + oct_rng_below(rng, 4), kernel, filters, conv_count,
                            &hidden, oct_rng_below(rng, 2), 1 + oct_rng_below(rng, 9),
                            (policy_activation)oct_rng_below(rng, POLICY_ACTIVATION_COUNT));
}

static inline policy_spec
random_small_dense_spec(oct_rng *rng)
{
    uint32_t widths[5], count = 2 + oct_rng_below(rng, 4);
    for (uint32_t i = 0; i < count; i++) {
        widths[i] = 1 + oct_rng_below(rng, 20);
    }
    return random_spec(widths, count,
                       (policy_activation)oct_rng_below(rng, POLICY_ACTIVATION_COUNT),
                       count > 2 && oct_rng_below(rng, 2) == 0);
}

static inline policy_spec
random_small_spec(oct_rng *rng)
{
    policy_spec spec =
        oct_rng_below(rng, 3) == 0 ? random_small_conv_spec(rng) : random_small_dense_spec(rng);
    spec.normalise = oct_rng_below(rng, 2) == 0;
    spec.obs_dtype = oct_rng_below(rng, 3) == 0 ? POLICY_U8 : POLICY_F32;
    uint32_t head = oct_rng_below(rng, 5);
    if (head == 0 || head > 2) {
        static const policy_head box_heads[] = {POLICY_HEAD_TANH, POLICY_HEAD_GAUSSIAN};
        spec.action_kind = POLICY_BOX;
        spec.head = box_heads[oct_rng_below(rng, 2)];
        if (head > 2 && spec.action_count % 2 == 0) {
            spec.action_count /= 2;
            spec.head = head == 3 ? POLICY_HEAD_GAUSSIAN : POLICY_HEAD_TANH_GAUSSIAN;
            spec.state_deviation = head == 3;
        }
        for (uint32_t i = 0; i < spec.action_count; i++) {
            spec.action_high[i] = 1.0f;
        }
    } else if (head == 1 && spec.action_count % 2 == 0) {
        spec.head = POLICY_HEAD_ATOMS;
        spec.atoms = 2;
        spec.action_count /= 2;
        spec.value_max = 1.0f;
    }
    return spec;
}

// Length and checksum as they should be, so that the changes behind them are looked at.
static inline void
mend_bytes(uint8_t *bytes, size_t length)
{
    if (length >= 16) {
        uint32_t total = (uint32_t)length;
        memcpy(bytes + 8, &total, 4);
        uint32_t crc = oct_crc32(0, bytes, length - 4);
        memcpy(bytes + length - 4, &crc, 4);
    }
}

#endif // TESTS_POLICY_SMALL_POLICY_H
