// Damages sound policies at random, mends length and checksum so that the damage is looked at, and
// decodes. What is accepted must encode to the same bytes and run without leaving its memory.
// usage: fuzz_policy_decode [SECONDS] [SEED]

#include <time.h>

#include "common/oct_bytes.h"
#include "tests/policy/random_policy.h"

#define LENGTH_MAX 65536

static policy_spec
some_spec(oct_rng *rng)
{
    uint32_t widths[5], count = 2 + oct_rng_below(rng, 4);
    for (uint32_t i = 0; i < count; i++) {
        widths[i] = 1 + oct_rng_below(rng, 20);
    }
    policy_spec spec = random_spec(widths, count, (policy_activation)oct_rng_below(rng, 4),
                                   count > 2 && oct_rng_below(rng, 2) == 0);
    spec.normalise = oct_rng_below(rng, 2) == 0;
    spec.obs_dtype = oct_rng_below(rng, 3) == 0 ? POLICY_U8 : POLICY_F32;
    uint32_t head = oct_rng_below(rng, 3);
    if (head == 0) {
        spec.action_kind = POLICY_BOX;
        spec.head = POLICY_HEAD_TANH;
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

static size_t
some_policy(uint8_t *bytes, oct_rng *rng)
{
    policy_spec spec = some_spec(rng);
    policy_precision precision = (policy_precision)(POLICY_FP32 + oct_rng_below(rng, 5));
    bool per_tensor = precision == POLICY_INT8 && oct_rng_below(rng, 4) == 0;
    policy_image *image = random_image(&spec, precision, per_tensor, rng);
    size_t length = policy_encoded_size(image);
    assert_true(length <= LENGTH_MAX);
    policy_encode(image, bytes);
    policy_image_destroy(image);
    return length;
}

// Flips bits, sets bytes, writes whole numbers, cuts, extends: mostly in the first 400 bytes.
static size_t
damage(uint8_t *bytes, size_t length, oct_rng *rng)
{
    static const uint32_t numbers[] = {0,           1,           2,           127,        128,
                                       255,         256,         65535,       65536,      65537,
                                       0x7fffffffu, 0x80000000u, 0xffffffffu, 0x7f800000u};
    for (uint32_t n = 1 + oct_rng_below(rng, 4); n > 0; n--) {
        size_t reach = oct_rng_below(rng, 4) != 0 ? OCT_MIN(length, (size_t)400) : length;
        size_t at = oct_rng_below(rng, (uint32_t)reach);
        uint32_t number = numbers[oct_rng_below(rng, OCT_COUNTOF(numbers))];
        switch (oct_rng_below(rng, 5)) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << oct_rng_below(rng, 8));
            break;
        case 1:
            bytes[at] = (uint8_t)oct_rng_u32(rng);
            break;
        case 2:
            memcpy(bytes + at, &number, OCT_MIN(sizeof(number), length - at));
            break;
        case 3:
            length = oct_rng_below(rng, 8) == 0 ? 1 + oct_rng_below(rng, (uint32_t)length) : length;
            break;
        default:
            if (oct_rng_below(rng, 8) == 0 && length + 64 <= LENGTH_MAX) {
                memset(bytes + length, (int)oct_rng_below(rng, 256), 64);
                length += 1 + oct_rng_below(rng, 64);
            }
            break;
        }
    }
    return length;
}

static void
mend(uint8_t *bytes, size_t length)
{
    if (length >= 16) {
        uint32_t total = (uint32_t)length;
        memcpy(bytes + 8, &total, 4);
        uint32_t crc = oct_crc32(0, bytes, length - 4);
        memcpy(bytes + length - 4, &crc, 4);
    }
}

static void
use(policy_image *image, const uint8_t *bytes, size_t length)
{
    assert_int_equal(policy_encoded_size(image), length);
    uint8_t *again = oct_alloc(length);
    policy_encode(image, again);
    assert_memory_equal(again, bytes, length);
    free(again);
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(&image->spec, 2);
    void *obs = oct_alloc(2 * policy_spec_obs_bytes(&image->spec));
    float *y = malloc(2 * policy_spec_outputs(&image->spec) * sizeof(float));
    void *actions = malloc(2 * policy_spec_action_bytes(&image->spec));
    policy_forward(net, scratch, obs, policy_spec_obs_bytes(&image->spec), 2, y);
    policy_act(&image->spec, y, 2, actions);
    free(obs);
    free(y);
    free(actions);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

int
main(int argc, char **argv)
{
    static uint8_t bytes[LENGTH_MAX];
    double limit = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    oct_rng rng;
    oct_rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, 1);
    uint64_t tried = 0, accepted = 0;
    clock_t end = clock() + (clock_t)(limit * CLOCKS_PER_SEC);
    while (clock() < end) {
        size_t length = some_policy(bytes, &rng);
        for (int i = 0; i < 20; i++) {
            length = damage(bytes, length, &rng);
            if (oct_rng_below(&rng, 16) != 0) {
                mend(bytes, length);
            }
            // A copy of its exact size, so that the sanitizer sees a read past the end.
            uint8_t *copy = malloc(length);
            memcpy(copy, bytes, length);
            char reason[120] = "";
            policy_image *image = NULL;
            oct_err err = policy_decode(&image, copy, length, reason, sizeof(reason));
            assert_true((err == OCT_OK) == (image != NULL));
            assert_true((err == OCT_OK) == (reason[0] == '\0'));
            if (image != NULL) {
                use(image, copy, length);
                policy_image_destroy(image);
                accepted++;
            }
            free(copy);
            tried++;
        }
    }
    printf("%llu damaged policies, %llu sound enough\n", (unsigned long long)tried,
           (unsigned long long)accepted);
    return tried > accepted ? 0 : 1;
}
