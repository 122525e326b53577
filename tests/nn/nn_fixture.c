// What the tests of nn/ share: the context, specs of networks, and random floats.
#include "tests/nn/nn_fixture.h"

#include "nn/nn_gemm.h"
#include "nn/nn_net.h"
#include "tests/support/oct_test.h"

nn_context *
fixture_context(void)
{
    static nn_context *context;
    if (context == NULL) {
        context = nn_context_create(NULL);
    }
    return context;
}

int
fixture_one_thread(void **state)
{
    (void)state;
    char warning[200];
    (void)nn_blas_init(1, warning, sizeof(warning));
    return 0;
}

policy_spec
fixture_spec(uint32_t inputs, const uint32_t *hidden, uint32_t hidden_count,
             policy_activation activation, fixture_norm norm, uint32_t outputs)
{
    policy_spec spec = {
        .env_id = "Fixture-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = inputs,
        .action_kind = POLICY_DISCRETE,
        .action_count = outputs,
        .head = POLICY_HEAD_VALUES,
    };
    T_OK(policy_spec_set_mlp(&spec, hidden, hidden_count, activation, norm == FIXTURE_FIRST_NORM,
                             outputs));
    for (uint32_t l = 0; norm == FIXTURE_ALL_NORM && l < hidden_count; l++) {
        spec.layers[l].layer_norm = true;
    }
    T_OK(policy_spec_check(&spec, NULL));
    return spec;
}

policy_spec
fixture_residual_spec(uint32_t inputs, uint32_t width, uint32_t blocks,
                      policy_activation activation, uint32_t outputs)
{
    uint32_t hidden[POLICY_LAYERS_MAX];
    for (uint32_t i = 0; i < 1 + 2 * blocks; i++) {
        hidden[i] = width;
    }
    policy_spec spec =
        fixture_spec(inputs, hidden, 1 + 2 * blocks, activation, FIXTURE_NO_NORM, outputs);
    T_OK(nn_net_make_residual(&spec));
    return spec;
}

policy_spec
fixture_conv_spec(uint32_t height, uint32_t width, uint32_t channels, const uint32_t *filters,
                  uint32_t conv_count, uint32_t hidden, policy_activation activation,
                  uint32_t outputs)
{
    policy_spec spec = {
        .env_id = "Fixture-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = height * width * channels,
        .obs_rank = 3,
        .obs_shape = {height, width, channels},
        .action_kind = POLICY_DISCRETE,
        .action_count = outputs,
        .head = POLICY_HEAD_VALUES,
    };
    policy_words words;
    T_OK(policy_words_short(&words, filters, conv_count, &hidden, 1, NULL));
    T_OK(policy_spec_set_words(&spec, &words, activation, outputs, NULL));
    T_OK(policy_spec_check(&spec, NULL));
    return spec;
}

float *
fixture_floats(oct_rng *rng, size_t count, float low, float high)
{
    float *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = low + (high - low) * oct_rng_float(rng);
    }
    return x;
}

void
fixture_backward_near(const float *gradient, const float *dx, const nn_double *want,
                      const double *want_dx, size_t inputs)
{
    double largest = 1;
    for (size_t i = 0; i < want->param_count; i++) {
        largest = fmax(largest, fabs(want->gradient[i]));
    }
    for (size_t i = 0; i < want->param_count; i++) {
        T_NEAR((double)gradient[i], want->gradient[i], 1e-5 * largest, 1e-5);
    }
    for (size_t i = 0; i < inputs; i++) {
        T_NEAR((double)dx[i], want_dx[i], 1e-5 * largest, 1e-5);
    }
}
