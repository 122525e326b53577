// Damages sound policies at random, mends length and checksum so that the damage is looked at, and
// decodes. What is accepted must encode to the same bytes and run without leaving its memory.
// usage: fuzz_policy_decode [SECONDS] [SEED]

#include <time.h>

#include "tests/policy/damaged_policy.h"

static size_t
some_policy(uint8_t *bytes, oct_rng *rng)
{
    policy_spec spec = random_small_spec(rng);
    policy_precision precision = (policy_precision)(POLICY_FP32 + oct_rng_below(rng, 5));
    bool per_tensor = precision == POLICY_INT8 && oct_rng_below(rng, 4) == 0;
    policy_image *image = random_image(&spec, precision, per_tensor, rng);
    size_t length = policy_encoded_size(image);
    assert_true(length <= DAMAGED_BYTES_MAX);
    policy_encode(image, bytes);
    policy_image_destroy(image);
    return length;
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
    static uint8_t bytes[DAMAGED_BYTES_MAX];
    double limit = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    oct_rng rng;
    oct_rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, 1);
    uint64_t tried = 0, accepted = 0;
    clock_t end = clock() + (clock_t)(limit * CLOCKS_PER_SEC);
    while (clock() < end) {
        size_t length = some_policy(bytes, &rng);
        for (int i = 0; i < 20; i++) {
            length = damage_bytes(bytes, length, &rng);
            if (oct_rng_below(&rng, 16) != 0) {
                mend_bytes(bytes, length);
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
