// Random actions: draws against their distributions (fixed seeds, bounds of 5 deviations), and
// log-probabilities against double precision.
#include "common/oct_reason.h"
#include "policy/policy_net.h"

#include "common/oct_rng.h"
#include "tests/policy/random_policy.h"

#define SAMPLES      200000u
#define DIM          3u
#define HALF_LOG_2PI 0.91893853320467274178

static const policy_head gaussians[] = {POLICY_HEAD_GAUSSIAN, POLICY_HEAD_TANH_GAUSSIAN};

static policy_spec
head_spec(policy_head head, bool state_deviation, uint32_t actions)
{
    bool is_double = head == POLICY_HEAD_TANH_GAUSSIAN || state_deviation;
    const uint32_t widths[] = {2, is_double ? 2 * actions : actions};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    spec.head = head;
    spec.state_deviation = state_deviation;
    spec.action_count = actions;
    spec.action_kind = head == POLICY_HEAD_LOGITS ? POLICY_DISCRETE : POLICY_BOX;
    for (uint32_t i = 0; spec.action_kind == POLICY_BOX && i < actions; i++) {
        spec.action_low[i] = -1.0f - (float)i;
        spec.action_high[i] = 2.0f;
    }
    oct_reason why = {""};
    T_OK(policy_spec_check(&spec, &why));
    return spec;
}

// ---- the generator

static void
test_the_generator_has_the_sequence_of_oct_rng(void **state)
{
    (void)state;
    policy_rng rng;
    oct_rng other;
    policy_rng_init(&rng, 12345, 678);
    oct_rng_init(&other, 12345, 678);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(policy_rng_u32(&rng), oct_rng_u32(&other));
    }
}

// The share above z of a standard normal.
static double
upper_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

// Newton's method from the answer: |z| of the tail p.
static double
exact_normal(double p, double z)
{
    for (int i = 0; i < 8; i++) {
        z += (upper_tail(z) - p) / (exp(-z * z / 2.0) / sqrt(2.0 * 3.14159265358979323846));
    }
    return z;
}

static void
test_a_normal_is_the_inverse_of_its_tail(void **state)
{
    (void)state;
    policy_rng rng, again;
    policy_rng_init(&rng, 1, 0);
    double worst = 0.0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        again = rng;
        uint32_t bits = policy_rng_u32(&again);
        double p = ((double)(bits & 0x7fffffffu) + 0.5) * 0x1p-32;
        double z = (double)policy_rng_normal(&rng);
        assert_int_equal(rng.state, again.state); // one draw
        assert_true(bits >> 31 != 0 ? z >= 0.0 : z <= 0.0);
        double want = exact_normal(p, fabs(z));
        worst = fmax(worst, fabs(fabs(z) - want) / fmax(want, 0.1));
    }
    assert_true(worst < 1e-6); // p has 24 bits where it is near 1/2, z 24 bits everywhere
}

static void
test_normals_have_the_moments_and_the_shape_of_theirs(void **state)
{
    (void)state;
    enum { BINS = 50 };
    uint32_t counts[BINS] = {0};
    policy_rng rng;
    policy_rng_init(&rng, 2, 7);
    double sum = 0.0, squares = 0.0, chi = 0.0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        double z = (double)policy_rng_normal(&rng);
        sum += z;
        squares += z * z;
        counts[(int)(upper_tail(z) * BINS)]++;
    }
    T_NEAR(sum / SAMPLES, 0.0, 5.0 / sqrt(SAMPLES), 0.0);
    T_NEAR(squares / SAMPLES, 1.0, 5.0 * sqrt(2.0 / SAMPLES), 0.0);
    for (int i = 0; i < BINS; i++) {
        double want = (double)SAMPLES / BINS;
        chi += (counts[i] - want) * (counts[i] - want) / want;
    }
    assert_true(chi < BINS - 1 + 5.0 * sqrt(2.0 * (BINS - 1)));
}

// ---- softmax

static void
test_actions_come_as_often_as_their_probabilities_say(void **state)
{
    (void)state;
    enum { ACTIONS = 6 };
    const float y[ACTIONS] = {0.3f, -1.7f, 2.2f, 2.2f, -5.5f, 0.9f};
    policy_spec spec = head_spec(POLICY_HEAD_LOGITS, false, ACTIONS);
    uint32_t counts[ACTIONS] = {0};
    double mass = 0.0, chi = 0.0;
    for (int a = 0; a < ACTIONS; a++) {
        mass += exp((double)y[a]);
    }
    policy_rng rng;
    policy_rng_init(&rng, 3, 1);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        int32_t action;
        float log_prob;
        policy_sample(&spec, NULL, y, 1, &rng, &action, &log_prob);
        assert_in_range(action, 0, ACTIONS - 1);
        counts[action]++;
        T_NEAR((double)log_prob, (double)y[action] - log(mass), 1e-6, 2e-7);
    }
    for (int a = 0; a < ACTIONS; a++) {
        double want = SAMPLES * exp((double)y[a]) / mass;
        chi += (counts[a] - want) * (counts[a] - want) / want;
    }
    assert_true(chi < ACTIONS - 1 + 5.0 * sqrt(2.0 * (ACTIONS - 1)));
}

static void
test_what_is_nearly_impossible_is_never_drawn(void **state)
{
    (void)state;
    const float y[] = {-30.0f, 4.0f, -300.0f, 4.0f, -3e38f};
    policy_spec spec = head_spec(POLICY_HEAD_LOGITS, false, OCT_COUNTOF(y));
    policy_rng rng;
    policy_rng_init(&rng, 4, 1);
    uint32_t ones = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        int32_t action;
        float log_prob;
        policy_sample(&spec, NULL, y, 1, &rng, &action, &log_prob);
        assert_true(action == 1 || action == 3);
        T_NEAR((double)log_prob, -log(2.0), 0.0, 2e-7);
        ones += action == 1;
    }
    T_NEAR(ones, SAMPLES / 2.0, 5.0 * sqrt(SAMPLES / 4.0), 0.0);
}

static void
test_one_action_is_certain_and_nan_stays_in_range(void **state)
{
    (void)state;
    policy_rng rng;
    policy_rng_init(&rng, 5, 1);
    int32_t action = -1;
    float log_prob = 1.0f;
    const float one = -7.0f, bad[] = {NAN, NAN, NAN};
    policy_spec spec = head_spec(POLICY_HEAD_LOGITS, false, 1);
    policy_sample(&spec, NULL, &one, 1, &rng, &action, &log_prob);
    assert_int_equal(action, 0);
    assert_true(log_prob == 0.0f);
    spec = head_spec(POLICY_HEAD_LOGITS, false, 3);
    policy_sample(&spec, NULL, bad, 1, &rng, &action, &log_prob);
    assert_int_equal(action, 0);
}

// ---- Gaussians

static double
normal_log(double y, double mean, double log_std)
{
    double z = (y - mean) / exp(log_std);
    return -0.5 * z * z - log_std - HALF_LOG_2PI;
}

static double
exact_squash(double u)
{
    return 2.0 * (log(2.0) - fabs(u) - log1p(exp(-2.0 * fabs(u))));
}

static void
test_the_squash_is_that_of_double_far_out(void **state)
{
    (void)state;
    for (int i = -4000; i <= 4000; i++) {
        float u = (float)i * 0.01f;
        T_NEAR((double)policy_log_squash(u), exact_squash((double)u), 3e-7, 2e-7);
    }
    // The plain form is off by .005 at 5 and of no use at 12.
    T_NEAR((double)policy_log_squash(12.0f), -22.613705638880109, 0.0, 2e-7);
    T_NEAR((double)policy_log_squash(0.5f), log(1.0 - tanh(0.5) * tanh(0.5)), 3e-7, 0.0);
}

// Draws of any spread around means up to 12, with log-probabilities of what was kept.
static void
expect_log_probs(const policy_spec *spec, const float *deviation, policy_rng *rng)
{
    const bool is_tanh = spec->head == POLICY_HEAD_TANH_GAUSSIAN;
    for (int n = 0; n < 20000; n++) {
        float y[2 * DIM], action[DIM], extra[1 + DIM];
        for (uint32_t i = 0; i < DIM; i++) {
            y[i] = (float)(n % 25) - 12.0f;
            y[DIM + i] = (float)((n + (int)i) % 60) * 0.1f - 4.0f; // also above 2, which is clamped
        }
        policy_sample(spec, deviation, y, 1, rng, action, extra);
        double want = 0.0, size = 1.0;
        for (uint32_t i = 0; i < DIM; i++) {
            double u = (double)extra[1 + i], m = (double)y[i];
            double log_std = deviation != NULL ? (double)deviation[i] : (double)y[DIM + i];
            log_std = fmin(fmax(log_std, -20.0), 2.0);
            double term = normal_log(u, m, log_std), z = (u - m) / exp(log_std);
            double squash = is_tanh ? exact_squash(u) : 0.0;
            want += term - squash;
            size += fabs(z * z) + fabs(log_std) + fabs(squash);
            double t = is_tanh ? tanh(u) : fmin(fmax(u, -1.0), 1.0);
            double low = (double)spec->action_low[i], high = (double)spec->action_high[i];
            T_NEAR((double)action[i], low + (t + 1.0) / 2.0 * (high - low), 2e-6, 0.0);
            assert_true((double)action[i] >= low && (double)action[i] <= high);
        }
        T_NEAR((double)extra[0], want, 4e-7 * size, 0.0);
    }
}

static void
test_log_probabilities_of_gaussians_are_those_of_double(void **state)
{
    (void)state;
    policy_rng rng;
    policy_rng_init(&rng, 6, 1);
    const float deviation[DIM] = {-1.5f, 0.25f, 7.0f};
    policy_spec spec = head_spec(POLICY_HEAD_GAUSSIAN, false, DIM);
    expect_log_probs(&spec, deviation, &rng);
    spec = head_spec(POLICY_HEAD_GAUSSIAN, true, DIM);
    expect_log_probs(&spec, NULL, &rng);
    spec = head_spec(POLICY_HEAD_TANH_GAUSSIAN, false, DIM);
    expect_log_probs(&spec, NULL, &rng);
}

static void
test_gaussian_draws_have_their_mean_and_deviation(void **state)
{
    (void)state;
    for (size_t h = 0; h < OCT_COUNTOF(gaussians); h++) {
        policy_spec spec = head_spec(gaussians[h], gaussians[h] == POLICY_HEAD_GAUSSIAN, DIM);
        const float y[2 * DIM] = {0.5f, -2.0f, 0.0f, -0.7f, 0.4f, -3.0f};
        double sum[DIM] = {0}, squares[DIM] = {0};
        policy_rng rng;
        policy_rng_init(&rng, 7, h);
        for (uint32_t n = 0; n < SAMPLES; n++) {
            float action[DIM], extra[1 + DIM];
            policy_sample(&spec, NULL, y, 1, &rng, action, extra);
            for (uint32_t i = 0; i < DIM; i++) {
                double z = ((double)extra[1 + i] - (double)y[i]) / exp((double)y[DIM + i]);
                sum[i] += z;
                squares[i] += z * z;
            }
        }
        for (uint32_t i = 0; i < DIM; i++) {
            T_NEAR(sum[i] / SAMPLES, 0.0, 5.0 / sqrt(SAMPLES), 0.0);
            T_NEAR(squares[i] / SAMPLES, 1.0, 5.0 * sqrt(2.0 / SAMPLES), 0.0);
        }
    }
}

// ---- rows

static void
fill_outputs(float *y, size_t count, oct_rng *rng)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = 4.0f * oct_rng_float(rng) - 2.0f;
    }
}

static void
expect_rows_alone(policy_spec spec, const float *deviation)
{
    enum { ROWS = 9 };
    uint8_t together[ROWS * 64], alone[ROWS * 64];
    float y[ROWS * 8], extra[ROWS * 4], extra_alone[ROWS * 4];
    uint32_t outputs = policy_spec_outputs(&spec), k = policy_spec_extra_dim(&spec);
    size_t action_bytes = policy_spec_action_bytes(&spec);
    policy_rng rng[ROWS], again[ROWS];
    oct_rng source;
    oct_rng_init(&source, 8, 1);
    for (uint32_t b = 0; b < ROWS; b++) {
        policy_rng_init(&rng[b], 99, b);
    }
    memcpy(again, rng, sizeof(rng));
    fill_outputs(y, (size_t)ROWS * outputs, &source);
    policy_sample(&spec, deviation, y, ROWS, rng, together, extra);
    for (uint32_t b = ROWS; b-- > 0;) {
        policy_sample(&spec, deviation, y + b * outputs, 1, &again[b], alone + b * action_bytes,
                      extra_alone + b * k);
    }
    assert_memory_equal(together, alone, ROWS * action_bytes);
    assert_memory_equal(extra, extra_alone, ROWS * k * sizeof(float));
    assert_memory_equal(rng, again, sizeof(rng));
}

static void
test_a_row_depends_on_its_own_generator_alone(void **state)
{
    (void)state;
    const float deviation[DIM] = {0.1f, -0.2f, -1.0f};
    expect_rows_alone(head_spec(POLICY_HEAD_LOGITS, false, DIM), NULL);
    expect_rows_alone(head_spec(POLICY_HEAD_GAUSSIAN, false, DIM), deviation);
    expect_rows_alone(head_spec(POLICY_HEAD_GAUSSIAN, true, DIM), NULL);
    expect_rows_alone(head_spec(POLICY_HEAD_TANH_GAUSSIAN, false, DIM), NULL);
}

static void
test_heads_without_a_distribution_act_greedily_and_draw_nothing(void **state)
{
    (void)state;
    const float y[] = {0.5f, 2.0f, -1.0f};
    policy_spec spec = head_spec(POLICY_HEAD_TANH, false, DIM);
    float box[DIM], greedy_box[DIM];
    policy_sample(&spec, NULL, y, 1, NULL, box, NULL);
    policy_act(&spec, y, 1, greedy_box);
    assert_memory_equal(box, greedy_box, sizeof(box));
    spec = head_spec(POLICY_HEAD_LOGITS, false, DIM);
    spec.head = POLICY_HEAD_VALUES;
    int32_t action = -1;
    policy_sample(&spec, NULL, y, 1, NULL, &action, NULL);
    assert_int_equal(action, 1);
}

// ---- the spec

static void
test_extra_floats_and_parameters_are_counted(void **state)
{
    (void)state;
    policy_spec spec = head_spec(POLICY_HEAD_LOGITS, false, 4);
    assert_int_equal(policy_spec_extra_dim(&spec), 1);
    spec.head = POLICY_HEAD_VALUES;
    assert_int_equal(policy_spec_extra_dim(&spec), 0);
    size_t layers = 2 * DIM + DIM; // weights and biases of means
    spec = head_spec(POLICY_HEAD_GAUSSIAN, false, DIM);
    assert_int_equal(policy_spec_extra_dim(&spec), 1 + DIM);
    assert_true(policy_spec_has_deviation(&spec));
    assert_int_equal(policy_spec_deviation(&spec), layers);
    assert_int_equal(policy_spec_params(&spec), layers + DIM);
    spec = head_spec(POLICY_HEAD_GAUSSIAN, true, DIM);
    assert_false(policy_spec_has_deviation(&spec));
    assert_int_equal(policy_spec_params(&spec), 2 * layers);
    spec = head_spec(POLICY_HEAD_TANH_GAUSSIAN, false, DIM);
    assert_int_equal(policy_spec_extra_dim(&spec), 1 + DIM);
    assert_int_equal(policy_spec_params(&spec), 2 * layers);
}

static void
test_heads_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    oct_reason why = {""};
    policy_spec spec = head_spec(POLICY_HEAD_GAUSSIAN, false, DIM);
    spec.state_deviation = true; // half as many outputs as it needs
    T_ERR(policy_spec_check(&spec, &why), OCT_EINVAL);
    assert_string_equal(why.text, "the last layer has 3 outputs, the head needs 6");
    spec = head_spec(POLICY_HEAD_TANH_GAUSSIAN, false, DIM);
    spec.state_deviation = true;
    T_ERR(policy_spec_check(&spec, NULL), OCT_EINVAL);
    spec = head_spec(POLICY_HEAD_TANH_GAUSSIAN, false, DIM);
    spec.action_kind = POLICY_DISCRETE;
    T_ERR(policy_spec_check(&spec, NULL), OCT_EINVAL);
    spec = head_spec(POLICY_HEAD_GAUSSIAN, false, DIM);
    policy_spec other = head_spec(POLICY_HEAD_GAUSSIAN, false, DIM);
    assert_true(policy_spec_equal(&spec, &other));
    other.state_deviation = true;
    assert_false(policy_spec_equal(&spec, &other));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_generator_has_the_sequence_of_oct_rng),
        cmocka_unit_test(test_a_normal_is_the_inverse_of_its_tail),
        cmocka_unit_test(test_normals_have_the_moments_and_the_shape_of_theirs),
        cmocka_unit_test(test_actions_come_as_often_as_their_probabilities_say),
        cmocka_unit_test(test_what_is_nearly_impossible_is_never_drawn),
        cmocka_unit_test(test_one_action_is_certain_and_nan_stays_in_range),
        cmocka_unit_test(test_the_squash_is_that_of_double_far_out),
        cmocka_unit_test(test_log_probabilities_of_gaussians_are_those_of_double),
        cmocka_unit_test(test_gaussian_draws_have_their_mean_and_deviation),
        cmocka_unit_test(test_a_row_depends_on_its_own_generator_alone),
        cmocka_unit_test(test_heads_without_a_distribution_act_greedily_and_draw_nothing),
        cmocka_unit_test(test_extra_floats_and_parameters_are_counted),
        cmocka_unit_test(test_heads_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
