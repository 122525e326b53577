#include "policy/policy_net.h"

#include "tests/policy/random_policy.h"

#define BATCH_MAX 80

// Outputs of image for obs[B][obs_count] on one instruction set, NULL when the CPU lacks it.
static float *
forward(const policy_image *image, policy_isa isa, const float *obs, uint32_t B)
{
    policy_net *net;
    if (policy_net_create(&net, image, isa) == OCT_ENOTFOUND) {
        return NULL;
    }
    assert_int_equal(policy_net_isa(net), isa);
    policy_scratch *scratch = policy_scratch_create(&image->spec, BATCH_MAX);
    float *y = oct_alloc((size_t)B * policy_spec_outputs(&image->spec) * sizeof(float));
    policy_forward(net, scratch, obs, image->spec.obs_count * sizeof(float), B, y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return y;
}

static void
test_an_unknown_instruction_set_is_refused(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    const uint32_t widths[] = {4, 8, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
    policy_net *net = NULL;
    setenv("OCTET_ISA", "sse9", 1);
    T_ERR(policy_net_create(&net, image, POLICY_ISA_BEST), OCT_EINVAL);
    setenv("OCTET_ISA", "best", 1);
    T_ERR(policy_net_create(&net, image, POLICY_ISA_BEST), OCT_EINVAL);
    T_ERR(policy_net_create(&net, image, (policy_isa)9), OCT_ENOTFOUND);
    assert_null(net);
    setenv("OCTET_ISA", "ref", 1);
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    assert_int_equal(policy_net_isa(net), POLICY_ISA_REF);
    assert_string_equal(policy_isa_name(policy_net_isa(net)), "ref");
    unsetenv("OCTET_ISA");
    policy_net_destroy(net);
    policy_image_destroy(image);
}

// One layer of 2 inputs and 2 outputs, worked by hand.
static void
test_the_reference_computes_what_architecture_says(void **state)
{
    (void)state;
    const uint32_t widths[] = {2, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    const int8_t codes[] = {127, -127, 10, 20};
    memcpy(image->codes[0], codes, sizeof(codes));
    image->scales[0][0] = 0.5f;
    image->scales[0][1] = 0.25f;
    image->bias[0][0] = 1.0f;
    image->bias[0][1] = -1.0f;
    // lo -1, hi 2: scale 3 / 255, zero point round(85) = 85, codes 85 - 85 = 0 and 255.
    const float obs[] = {-1.0f, 2.0f};
    float *y = forward(image, POLICY_ISA_REF, obs, 1);
    float scale = 3.0f / 255.0f;
    float first = (float)(255 * -127 - 85 * (127 - 127)) * (scale * 0.5f) + 1.0f;
    float second = (float)(255 * 20 - 85 * (10 + 20)) * (scale * 0.25f) + -1.0f;
    assert_true(y[0] == first);
    assert_true(y[1] == second);
    free(y);
    policy_image_destroy(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_unknown_instruction_set_is_refused),
        cmocka_unit_test(test_the_reference_computes_what_architecture_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
