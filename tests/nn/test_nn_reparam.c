// Dueling streams and noisy layers: the map from parameters to weights, its transpose, and the
// noise.
#include <stdlib.h>

#include "nn/nn_net.h"
#include "nn/nn_reparam.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 3 };

// Two hidden layers, the first with a layer norm; with dueling, stream is the width of each half.
static policy_spec
make_spec(uint32_t stream, uint32_t actions, uint32_t atoms)
{
    policy_spec spec = {
        .env_id = "Fixture-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = OBS,
        .action_kind = POLICY_DISCRETE,
        .action_count = actions,
        .head = atoms > 0 ? POLICY_HEAD_ATOMS : POLICY_HEAD_VALUES,
        .atoms = atoms,
        .value_min = 0,
        .value_max = 1,
    };
    uint32_t hidden[2] = {5, 2 * stream};
    T_OK(policy_spec_set_mlp(&spec, hidden, 2, POLICY_RELU, true, actions * OCT_MAX(atoms, 1)));
    return spec;
}

typedef struct trial {
    policy_spec spec;
    nn_reparam map;
    float *params, *noise, *weights;
    oct_rng rng;
} trial;

static float *
random_floats(oct_rng *rng, size_t count)
{
    float *x = oct_alloc(OCT_MAX(count, (size_t)1) * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = 2 * oct_rng_float(rng) - 1;
    }
    return x;
}

static void
trial_make(trial *t, const policy_spec *spec, bool dueling, bool noisy)
{
    nn_reparam_options options = {.dueling = dueling, .noisy = noisy, .sigma = 0.5f};
    *t = (trial){.spec = *spec};
    oct_rng_init(&t->rng, 11, 3);
    nn_reparam_init(&t->map, fixture_context(), spec, &options);
    t->params = random_floats(&t->rng, t->map.param_count);
    t->noise = random_floats(&t->rng, t->map.noise_count);
    t->weights = random_floats(&t->rng, t->map.weight_count);
}

static void
trial_free(trial *t)
{
    nn_reparam_fini(&t->map);
    free(t->params);
    free(t->noise);
    free(t->weights);
}

static double
dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum;
}

// <map(p), g> = <p, back(g)> for the linear map.
static void
check_transpose(uint32_t stream, uint32_t actions, uint32_t atoms)
{
    policy_spec spec = make_spec(stream, actions, atoms);
    for (int options = 0; options < 4; options++) {
        trial t;
        trial_make(&t, &spec, options & 1, options & 2);
        float *gradient = random_floats(&t.rng, t.map.weight_count);
        float *back = random_floats(&t.rng, t.map.param_count);
        nn_reparam_map(&t.map, t.weights, t.params, t.noise);
        nn_reparam_back(&t.map, back, gradient, t.noise);
        T_NEAR(dot(t.weights, gradient, t.map.weight_count), dot(t.params, back, t.map.param_count),
               2e-5, 0);
        free(gradient);
        free(back);
        trial_free(&t);
    }
}

static void
test_back_is_the_transpose_of_map(void **state)
{
    (void)state;
    static const uint32_t sizes[][3] = {{1, 1, 0}, {1, 2, 0},  {3, 4, 0}, {1, 1, 2},
                                        {4, 3, 5}, {17, 2, 3}, {8, 7, 16}};
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        check_transpose(sizes[i][0], sizes[i][1], sizes[i][2]);
    }
}

// Q = V + A - mean A on hidden numbers of any kind, from the parameters' layout in the header.
static void
check_streams(uint32_t H, uint32_t A, uint32_t atoms)
{
    policy_spec spec = make_spec(H, A, atoms);
    uint32_t N = OCT_MAX(atoms, 1);
    trial t;
    trial_make(&t, &spec, true, false);
    nn_reparam_map(&t.map, t.weights, t.params, NULL);
    policy_offsets last = policy_spec_layer(&spec, spec.layer_count - 1);
    assert_memory_equal(t.weights, t.params, last.weight * sizeof(float));
    const float *Wv = t.params + last.weight, *bv = Wv + N * H, *Wa = bv + N;
    const float *ba = Wa + (size_t)A * N * H;
    assert_ptr_equal(ba + A * N, t.params + t.map.param_count);
    float *h = random_floats(&t.rng, 2 * H);
    for (uint32_t n = 0; n < N; n++) {
        double value = (double)bv[n] + dot(Wv + n * H, h, H), mean = 0;
        for (uint32_t a = 0; a < A; a++) {
            mean += ((double)ba[a * N + n] + dot(Wa + (a * N + n) * H, h + H, H)) / A;
        }
        for (uint32_t a = 0; a < A; a++) {
            uint32_t o = a * N + n;
            double q = value + (double)ba[o] + dot(Wa + o * H, h + H, H) - mean;
            double got = (double)t.weights[last.bias + o] +
                         dot(t.weights + last.weight + (size_t)o * 2 * H, h, (size_t)2 * H);
            T_NEAR(got, q, 1e-5, 0);
        }
    }
    free(h);
    trial_free(&t);
}

static void
test_the_last_layer_is_value_plus_advantage_less_its_mean(void **state)
{
    (void)state;
    check_streams(1, 1, 0);
    check_streams(1, 2, 0);
    check_streams(7, 3, 0);
    check_streams(4, 5, 6);
    check_streams(16, 2, 51);
}

static void
test_noise_is_the_outer_product_of_inputs_and_outputs(void **state)
{
    (void)state;
    policy_spec spec = make_spec(2, 3, 0);
    trial t;
    trial_make(&t, &spec, false, true);
    nn_reparam_map(&t.map, t.weights, t.params, t.noise);
    const float *mu = t.params, *sigma = t.params + t.map.weight_count;
    size_t sample = 0;
    for (uint32_t l = 0; l < spec.layer_count; l++) {
        policy_offsets at = policy_spec_layer(&spec, l);
        size_t I = spec.layers[l].inputs, O = spec.layers[l].outputs;
        const float *in = t.noise + sample, *out = in + I;
        for (size_t o = 0; o < O; o++) {
            for (size_t i = 0; i < I; i++) {
                size_t w = at.weight + o * I + i;
                T_NEAR(t.weights[w], mu[w] + sigma[w] * in[i] * out[o], 1e-6, 0);
            }
            size_t b = at.bias + o;
            T_NEAR(t.weights[b], mu[b] + sigma[b] * out[o], 1e-6, 0);
        }
        // A layer norm's gains and offsets have no noise.
        assert_memory_equal(t.weights + at.gain, mu + at.gain, (at.end - at.gain) * sizeof(float));
        sample += I + O;
    }
    assert_int_equal(sample, t.map.noise_count);
    trial_free(&t);
}

static void
test_without_noise_the_means_come_out(void **state)
{
    (void)state;
    policy_spec spec = make_spec(3, 2, 4);
    for (int dueling = 0; dueling < 2; dueling++) {
        trial t, plain;
        trial_make(&t, &spec, dueling, true);
        trial_make(&plain, &spec, dueling, false);
        nn_reparam_map(&t.map, t.weights, t.params, NULL);
        nn_reparam_map(&plain.map, plain.weights, t.params, NULL);
        assert_memory_equal(t.weights, plain.weights, t.map.weight_count * sizeof(float));
        trial_free(&t);
        trial_free(&plain);
    }
}

static void
test_streams_of_a_noisy_layer_have_noise_of_their_own(void **state)
{
    (void)state;
    policy_spec spec = make_spec(4, 3, 5);
    trial plain, dueling;
    trial_make(&plain, &spec, false, true);
    trial_make(&dueling, &spec, true, true);
    size_t hidden = OBS + 5 + 5 + 8;
    assert_int_equal(plain.map.noise_count, hidden + 8 + 15);
    assert_int_equal(dueling.map.noise_count, hidden + (4 + 5) + (4 + 15));
    trial_free(&plain);
    trial_free(&dueling);
}

// f(e) = sign(e) sqrt|e|: mean 0, mean square E|e| = sqrt(2 / pi), of variance 1 - 2 / pi.
static void
test_noise_has_the_moments_of_its_definition(void **state)
{
    (void)state;
    policy_spec spec = make_spec(2000, 2, 0);
    trial t;
    trial_make(&t, &spec, false, true);
    nn_reparam_draw(&t.map, t.noise, &t.rng);
    size_t n = t.map.noise_count;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)t.noise[i];
        squares += (double)t.noise[i] * (double)t.noise[i];
    }
    double want = sqrt(2 / 3.14159265358979);
    T_NEAR(sum / (double)n, 0, 5 * sqrt(want / (double)n), 0);
    T_NEAR(squares / (double)n, want, 5 * sqrt((1 - want * want) / (double)n), 0);
    trial_free(&t);
}

static void
test_deviations_begin_by_the_number_of_inputs(void **state)
{
    (void)state;
    policy_spec spec = make_spec(500, 3, 0);
    nn_net chain;
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    nn_net_init(&chain, fixture_context(), &spec, 1);
    nn_net_randomise(&chain, &rng);
    trial t;
    trial_make(&t, &spec, true, true);
    nn_reparam_begin(&t.map, t.params, chain.params);
    assert_memory_equal(t.params, chain.params, t.map.last * sizeof(float));
    const float *sigma = t.params + t.map.mean_count;
    policy_offsets first = policy_spec_layer(&spec, 0);
    T_NEAR(sigma[first.weight], 0.5 / sqrt(OBS), 1e-6, 0);
    T_NEAR(sigma[first.bias], 0.5 / sqrt(OBS), 1e-6, 0);
    assert_true(sigma[first.gain] == 0 && sigma[first.offset] == 0);
    T_NEAR(sigma[t.map.last], 0.5 / sqrt(500), 1e-6, 0);
    T_NEAR(sigma[t.map.mean_count - 1], 0.5 / sqrt(500), 1e-6, 0);
    // A stream has half of the chain's inputs, so its weights are sqrt(2) larger.
    double squares =
        dot(t.params + t.map.last, t.params + t.map.last, t.map.mean_count - t.map.last);
    T_NEAR(squares / (4 * 500), 0.774 / 500, 0, 0.15); // 0.774: of a normal cut at two deviations
    nn_net_fini(&chain);
    trial_free(&t);
}

static void
test_convolutions_and_pools_have_no_noise(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *words = i / 2 == 0 ? "conv 3 3x3, dense 8" : "conv 3 2x2, pool 2x2/2, dense 8";
        policy_spec spec = fixture_words_spec((uint32_t[]){5, 6, 2}, 3, words, POLICY_RELU, 12);
        spec.head = POLICY_HEAD_ATOMS;
        spec.action_count = 3;
        spec.atoms = 4;
        spec.value_max = 1;
        trial t;
        trial_make(&t, &spec, i % 2 == 1, true);
        float *gradient = random_floats(&t.rng, t.map.weight_count);
        float *back = random_floats(&t.rng, t.map.param_count);
        size_t end = policy_spec_layer(&spec, 0).end;
        nn_reparam_map(&t.map, t.weights, t.params, t.noise);
        nn_reparam_back(&t.map, back, gradient, t.noise);
        assert_memory_equal(t.weights, t.params, end * sizeof(float));
        for (size_t k = 0; k < end; k++) {
            assert_true(back[t.map.mean_count + k] == 0.0f);
        }
        assert_true(t.weights[end] != t.params[end]);
        T_NEAR(dot(t.weights, gradient, t.map.weight_count), dot(t.params, back, t.map.param_count),
               2e-5, 0);
        free(gradient);
        free(back);
        trial_free(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_is_the_transpose_of_map),
        cmocka_unit_test(test_the_last_layer_is_value_plus_advantage_less_its_mean),
        cmocka_unit_test(test_noise_is_the_outer_product_of_inputs_and_outputs),
        cmocka_unit_test(test_convolutions_and_pools_have_no_noise),
        cmocka_unit_test(test_without_noise_the_means_come_out),
        cmocka_unit_test(test_streams_of_a_noisy_layer_have_noise_of_their_own),
        cmocka_unit_test(test_noise_has_the_moments_of_its_definition),
        cmocka_unit_test(test_deviations_begin_by_the_number_of_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
