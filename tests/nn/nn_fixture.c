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

policy_spec
fixture_words_spec(const uint32_t *shape, uint32_t rank, const char *text,
                   policy_activation activation, uint32_t outputs)
{
    policy_spec spec = {
        .env_id = "Fixture-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = 1,
        .obs_rank = rank,
        .action_kind = POLICY_DISCRETE,
        .action_count = outputs,
        .head = POLICY_HEAD_VALUES,
    };
    for (uint32_t i = 0; i < rank; i++) {
        spec.obs_shape[i] = shape[i];
        spec.obs_count *= shape[i];
    }
    policy_words words;
    oct_reason why = {""};
    if (policy_words_parse(&words, text, &why) != OCT_OK ||
        policy_spec_set_words(&spec, &words, activation, outputs, &why) != OCT_OK) {
        fail_msg("%s: %s", text, why.text);
    }
    T_OK(policy_spec_check(&spec, NULL));
    return spec;
}

policy_spec
fixture_words_case(uint32_t i, policy_activation activation)
{
    static const struct {
        uint32_t shape[3], rank;
        const char *text;
    } cases[FIXTURE_WORDS] = {
        {{7, 6, 3}, 3, "conv 4 3x3/2"},
        {{7, 6, 3}, 3, "conv 4 3x3/2+1, dense 5"},
        {{5, 9, 2}, 3, "conv 3 2x4/1x2+1x0, conv 5 2x2"},
        {{8, 8, 1}, 3, "conv 9 4x4/2+3, conv 2 1x1"},
        {{6, 5, 2}, 3, "conv 3 1x5/3x1+0x4, dense 4"},
        {{11, 4, 0}, 2, "conv 5 4/2+1, dense 3"},
        {{11, 4, 0}, 2, "conv 17 3, pool 2/2, conv 3 2+1"},
        {{7, 6, 3}, 3, "conv 4 3x3, pool 2x2/2, dense 5"},
        {{7, 6, 3}, 3, "conv 4 3x3+1, pool 3x3/2+1, conv 3 2x2"},
        {{7, 6, 3}, 3, "conv 4 2x2, mean 2x3/1x2+1x2, dense 5"},
        {{6, 7, 2}, 3, "conv 70 2x2, pool 3x2/1 tanh, mean 2x2/3 silu, dense 3"},
        {{6, 7, 2}, 3, "conv 3 2x2, mean 4x5/2+3 relu"},
        {{6, 7, 2}, 3, "conv 5 3x3/3+2, pool 3x3+2 gelu, conv 4 2x2, pool 2x2 elu"},
        {{9, 3, 0}, 2, "conv 6 3+1, mean 3/2+2 mish, dense 4 norm"},
    };
    return fixture_words_spec(cases[i].shape, cases[i].rank, cases[i].text, activation, 3);
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
