// Policies as bytes. The first byte of an input says whether length and checksum are mended, so
// that what is wrong behind them is looked at. What is accepted encodes to the same bytes and runs
// without leaving its memory.
#include <stdlib.h>
#include <string.h>

#include "common/oct_reason.h"
#include "policy/policy_net.h"
#include "tests/fuzz/fuzz.h"
#include "tests/policy/small_policy.h"

#define BATCH      2
#define SEED_MAX   65536
#define SEED_COUNT 40

static void
expect_same_bytes(const policy_image *image, const uint8_t *bytes, size_t length)
{
    OCT_ASSERT(policy_encoded_size(image) == length);
    uint8_t *again = oct_alloc(length);
    policy_encode(image, again);
    OCT_ASSERT(memcmp(again, bytes, length) == 0);
    free(again);
}

static void
act(policy_image *image)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, image, POLICY_ISA_BEST);
    OCT_ASSERT(err == OCT_OK);
    const policy_spec *spec = &image->spec;
    policy_scratch *scratch = policy_scratch_create(spec, BATCH);
    void *obs = oct_alloc(BATCH * policy_spec_obs_bytes(spec));
    float *y = oct_alloc(BATCH * policy_spec_outputs(spec) * sizeof(float));
    void *actions = oct_alloc(BATCH * policy_spec_action_bytes(spec));
    policy_forward(net, scratch, obs, policy_spec_obs_bytes(spec), BATCH, y);
    policy_act(spec, y, BATCH, actions);
    free(obs);
    free(y);
    free(actions);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

// The same image again, without memory of its own.
static void
expect_into(const policy_image *image, const uint8_t *bytes, size_t length)
{
    policy_image *again;
    oct_err err = policy_image_create(&again, &image->spec, image->precision);
    OCT_ASSERT(err == OCT_OK);
    err = policy_decode_into(again, bytes, length, NULL);
    OCT_ASSERT(err == OCT_OK);
    expect_same_bytes(again, bytes, length);
    policy_image_destroy(again);
}

// Whether the header alone is sound must not depend on how it is read.
static void
expect_peek(const uint8_t *bytes, size_t length, oct_err decoded)
{
    policy_head_info head;
    oct_err err = policy_peek(&head, bytes, length, NULL);
    OCT_ASSERT(err == OCT_OK || decoded != OCT_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t length = size - 1;
    uint8_t *bytes = fuzz_copy(data + 1, length);
    if (data[0] % 2 != 0) {
        mend_bytes(bytes, length);
    }
    oct_reason why = {""};
    policy_image *image = NULL;
    oct_err err = policy_decode(&image, bytes, length, &why);
    OCT_ASSERT((err == OCT_OK) == (image != NULL));
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    expect_peek(bytes, length, err);
    if (image != NULL) {
        expect_same_bytes(image, bytes, length);
        expect_into(image, bytes, length);
        act(image);
        policy_image_destroy(image);
        fuzz_accept();
    }
    free(bytes);
    return 0;
}

void
fuzz_seeds(void)
{
    static uint8_t seed[1 + SEED_MAX];
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (uint32_t i = 0; i < SEED_COUNT; i++) {
        policy_spec spec = random_small_spec(&rng);
        policy_precision precision = (policy_precision)(POLICY_FP32 + i % 5);
        bool per_tensor = precision == POLICY_INT8 && i % 2 == 0;
        policy_image *image = random_image(&spec, precision, per_tensor, &rng);
        size_t length = policy_encoded_size(image);
        if (length <= SEED_MAX) { // a fuzzer learns little from long inputs
            seed[0] = 1;
            policy_encode(image, seed + 1);
            fuzz_seed(seed, 1 + length);
        }
        policy_image_destroy(image);
    }
}
