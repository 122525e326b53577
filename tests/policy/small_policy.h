#ifndef TESTS_POLICY_SMALL_POLICY_H
#define TESTS_POLICY_SMALL_POLICY_H

#include "common/oct_bytes.h"
#include "tests/policy/random_image.h"

// Policies of any small shape, and bytes of policies that somebody has changed, for tests and
// fuzzing.

// Writes a kernel with any stride and padding for a map of size[2], and makes size[2] that of its
// outputs.
static inline void
random_small_kernel(char text[48], uint32_t size[2], oct_rng *rng)
{
    uint32_t kernel[2], stride[2], pad[2];
    for (int axis = 0; axis < 2; axis++) {
        kernel[axis] = 1 + oct_rng_below(rng, OCT_MIN(size[axis], 5u));
        stride[axis] = oct_rng_below(rng, 2) == 0 ? 1 : 1 + oct_rng_below(rng, 3);
        pad[axis] = oct_rng_below(rng, 2) == 0 ? 0 : oct_rng_below(rng, kernel[axis]);
        size[axis] = (size[axis] + 2 * pad[axis] - kernel[axis]) / stride[axis] + 1;
    }
    (void)snprintf(text, 48, "%ux%u/%ux%u+%ux%u", kernel[0], kernel[1], stride[0], stride[1],
                   pad[0], pad[1]);
}

// One or two convolutions, and maybe a pool, before the dense layers.
static inline policy_spec
random_small_conv_spec(oct_rng *rng)
{
    static const char *const pools[] = {"", "", "pool", "mean"};
    const uint32_t shape[3] = {2 + oct_rng_below(rng, 7), 2 + oct_rng_below(rng, 7),
                               1 + oct_rng_below(rng, 5)};
    uint32_t size[2] = {shape[0], shape[1]};
    const char *pool = pools[oct_rng_below(rng, OCT_COUNTOF(pools))];
    char text[256], kernels[3][48];
    random_small_kernel(kernels[0], size, rng);
    size_t end =
        (size_t)snprintf(text, sizeof(text), "conv %u %s", 1 + oct_rng_below(rng, 18), kernels[0]);
    if (pool[0] != '\0') {
        random_small_kernel(kernels[1], size, rng);
        end += (size_t)snprintf(text + end, sizeof(text) - end, ", %s %s", pool, kernels[1]);
    }
    if (oct_rng_below(rng, 2) == 0) {
        random_small_kernel(kernels[2], size, rng);
        end += (size_t)snprintf(text + end, sizeof(text) - end, ", conv %u %s",
                                1 + oct_rng_below(rng, 7), kernels[2]);
    }
    if (oct_rng_below(rng, 2) == 0) {
        (void)snprintf(text + end, sizeof(text) - end, ", dense %u", 1 + oct_rng_below(rng, 9));
    }
    return random_words_spec(shape, text,
                             (policy_activation)oct_rng_below(rng, POLICY_ACTIVATION_COUNT),
                             1 + oct_rng_below(rng, 9));
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
