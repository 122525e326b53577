// A projection has the weights that the published, quantised policy stands for.
#include "quantizer/quantizer_project.h"

#include "tests/quantizer/quantizer_plain.h"

static policy_spec
net_spec(void)
{
    policy_spec spec = plain_spec(20, 3);
    const uint32_t hidden[] = {50, 33};
    T_OK(policy_spec_set_mlp(&spec, hidden, 2, POLICY_ELU, true, 3));
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_GAUSSIAN; // the last parameters are its deviations
    spec.action_high[0] = spec.action_high[1] = spec.action_high[2] = 1.0f;
    return spec;
}

// Actions in a box: nothing is shared, nothing scaled, so the projection is the image's weights.
static void
test_a_projection_is_what_the_quantised_policy_stands_for(void **state)
{
    (void)state;
    policy_spec spec = net_spec();
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    spec.action_high[0] = spec.action_high[1] = spec.action_high[2] = 1.0f;
    size_t bytes = policy_spec_params(&spec) * sizeof(float);
    float *params = plain_params(&spec, 1, 0.3f);
    float *out = oct_alloc(bytes), *want = oct_alloc(bytes);
    for (int p = POLICY_FP32; p <= POLICY_INT4; p++) {
        quantizer_projector *projector;
        policy_image *image = plain_image(&spec, (policy_precision)p);
        T_OK(quantizer_projector_create(&projector, &spec, (policy_precision)p));
        T_OK(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT));
        quantizer_dequantize(image, want);
        T_OK(quantizer_project(projector, &QUANTIZER_METHOD_DEFAULT, NULL, params, out));
        assert_memory_equal(out, want, bytes);
        assert_true(plain_is_equal(quantizer_projector_image(projector), image));
        assert_int_equal(memcmp(out, params, bytes) == 0, p == POLICY_FP32);
        memcpy(out, params, bytes);
        T_OK(quantizer_project(projector, &QUANTIZER_METHOD_DEFAULT, NULL, out, out));
        assert_memory_equal(out, want, bytes);
        quantizer_projector_destroy(projector);
        policy_image_destroy(image);
    }
    free(params);
    free(out);
    free(want);
}

static void
test_parameters_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    policy_spec spec = net_spec();
    float *params = plain_params(&spec, 2, 0.3f);
    quantizer_projector *projector;
    T_OK(quantizer_projector_create(&projector, &spec, POLICY_INT4));
    params[policy_spec_params(&spec) - 1] = NAN;
    T_ERR(quantizer_project(projector, &QUANTIZER_METHOD_DEFAULT, NULL, params, params),
          OCT_EINVAL);
    quantizer_projector_destroy(projector);
    quantizer_projector_destroy(NULL);
    free(params);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_projection_is_what_the_quantised_policy_stands_for),
        cmocka_unit_test(test_parameters_that_are_not_finite_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
