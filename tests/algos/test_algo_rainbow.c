// DQN's options, C51, dueling and noisy: behaviour of every combination. Values are compared with
// numpy in test_algo_rainbow_golden.c.
#include <stdlib.h>

#include "common/oct_reason.h"
#include "nn/nn_net.h"
#include "policy/policy_net.h"
#include "tests/algos/algo_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 4, ACTIONS = 3, B = 16, COMBINATIONS = 8 };

static config_experiment
make_config(int combination)
{
    config_experiment config = fixture_config();
    config.algo.distributional = (combination & 1) != 0;
    config.algo.dueling = (combination & 2) != 0;
    config.algo.noisy = (combination & 4) != 0;
    config.algo.noisy_sigma = 0.5;
    config.algo.atoms = 11;
    config.algo.value_min = -3;
    config.algo.value_max = 4;
    config.algo.target_period = 5;
    return config;
}

typedef fixture_trial trial;

static trial
trial_make(const config_experiment *config, uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    algo_batch batch = fixture_batch(&rng, B, OBS, ACTIONS);
    return fixture_trial_make(config, fixture_env(OBS, ACTIONS), batch, seed);
}

static void
test_nan_or_infinity_in_any_column_changes_nothing(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int c = 0; c < COMBINATIONS; c++) {
        config_experiment config = make_config(c);
        config.network.activation = POLICY_ELU;
        trial t = trial_make(&config, 1);
        for (size_t b = 0; b < OCT_COUNTOF(bad); b++) {
            fixture_columns_refused(&t, bad[b]);
        }
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
        fixture_trial_free(&t);
    }
}

static void
test_nan_behind_a_terminal_row_changes_nothing(void **state)
{
    (void)state;
    for (int c = 0; c < COMBINATIONS; c++) {
        config_experiment config = make_config(c);
        trial t = trial_make(&config, 1);
        assert_true(t.batch.discount[0] == 0.0f);
        ((float *)t.batch.next)[0] = NAN;
        fixture_update_refused(t.a, &t.batch, OCT_EINTERNAL);
        fixture_trial_free(&t);
    }
}

static void
test_a_refused_batch_spends_no_noise(void **state)
{
    (void)state;
    config_experiment config = make_config(7);
    trial t = trial_make(&config, 1), u = trial_make(&config, 1);
    float kept = t.batch.reward[0];
    ((float *)t.batch.reward)[0] = NAN;
    fixture_update_refused(t.a, &t.batch, OCT_EINTERNAL);
    ((float *)t.batch.reward)[0] = kept;
    float one[ALGO_NUMBERS_MAX] = {0}, two[ALGO_NUMBERS_MAX] = {0};
    T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, one));
    T_OK(algo_update(u.a, &u.batch, 1e-2f, NULL, two));
    assert_memory_equal(&one, &two, sizeof(one));
    fixture_trial_free(&t);
    fixture_trial_free(&u);
}

static void
test_training_goes_on_with_the_same_bits_after_load(void **state)
{
    (void)state;
    for (int c = 0; c < COMBINATIONS; c++) {
        config_experiment config = make_config(c);
        trial t = trial_make(&config, 1), other = trial_make(&config, 99);
        (void)algo_behaviour_params(t.a, 0);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        oct_reader reader = {.at = bytes, .left = length};
        T_OK(algo_load(other.a, &reader));
        for (int i = 0; i < 12; i++) {
            float one[ALGO_NUMBERS_MAX] = {0}, two[ALGO_NUMBERS_MAX] = {0};
            T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, one));
            T_OK(algo_update(other.a, &t.batch, 1e-2f, NULL, two));
            assert_memory_equal(&one, &two, sizeof(one));
        }
        fixture_same_state(t.a, other.a);
        free(bytes);
        fixture_trial_free(&t);
        fixture_trial_free(&other);
    }
}

// Also where the chain is alike: [8, 16] is what dueling makes of [8, 8].
static void
test_load_refuses_the_state_of_other_options(void **state)
{
    (void)state;
    for (int from = 0; from < COMBINATIONS; from++) {
        config_experiment config = make_config(from);
        trial t = trial_make(&config, 1);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        for (int to = 0; to < COMBINATIONS; to++) {
            config_experiment other_config = make_config(to);
            if ((from & 2) != 0 && (to & 2) == 0) {
                other_config.network.hidden.value[1] = 16;
            }
            trial other = trial_make(&other_config, 1);
            oct_reader reader = {.at = bytes, .left = length};
            assert_int_equal(algo_load(other.a, &reader), from == to ? OCT_OK : OCT_EPROTO);
            fixture_trial_free(&other);
        }
        free(bytes);
        fixture_trial_free(&t);
    }
}

// Logits mean nothing without their atoms.
static void
test_load_refuses_another_support(void **state)
{
    (void)state;
    config_experiment config = make_config(1);
    trial t = trial_make(&config, 1);
    size_t length;
    uint8_t *bytes = fixture_save(t.a, &length);
    for (int end = 0; end < 2; end++) {
        config_experiment wider = config;
        *(end == 0 ? &wider.algo.value_min : &wider.algo.value_max) *= 2;
        trial other = trial_make(&wider, 1);
        oct_reader reader = {.at = bytes, .left = length};
        T_ERR(algo_load(other.a, &reader), OCT_EPROTO);
        fixture_trial_free(&other);
    }
    free(bytes);
    fixture_trial_free(&t);
}

static void
test_load_refuses_every_truncation(void **state)
{
    (void)state;
    config_experiment config = make_config(7);
    config.network.hidden = (config_ints){.count = 1, .value = {3}};
    trial t = trial_make(&config, 1), other = trial_make(&config, 2);
    size_t length, same;
    uint8_t *bytes = fixture_save(t.a, &length), *was = fixture_save(other.a, &same);
    for (size_t cut = 0; cut < length; cut++) {
        oct_reader reader = {.at = bytes, .left = cut};
        T_ERR(algo_load(other.a, &reader), OCT_EPROTO);
    }
    uint8_t *now = fixture_save(other.a, &same);
    assert_memory_equal(was, now, same);
    free(bytes);
    free(was);
    free(now);
    fixture_trial_free(&t);
    fixture_trial_free(&other);
}

static void
test_behaviour_is_drawn_anew_around_the_policy(void **state)
{
    (void)state;
    config_experiment config = make_config(4);
    trial t = trial_make(&config, 1);
    size_t count = policy_spec_params(&t.spec), length;
    float *mean = oct_alloc(count * sizeof(*mean)), *sum = oct_alloc(count * sizeof(*sum));
    memcpy(mean, algo_policy_params(t.a), count * sizeof(*mean));
    memset(sum, 0, count * sizeof(*sum));
    enum { DRAWS = 4000 };
    for (int i = 0; i < DRAWS; i++) {
        const float *p = algo_behaviour_params(t.a, (uint32_t)i);
        assert_true(p[0] != mean[0]);
        for (size_t k = 0; k < count; k++) {
            sum[k] += (p[k] - mean[k]) / DRAWS;
        }
    }
    // Deviations are 0.5 / sqrt(inputs) or so, times noise of mean 0 and mean square at most 0.8.
    for (size_t k = 0; k < count; k++) {
        T_NEAR(sum[k], 0, 5 * 0.3 / sqrt(DRAWS), 0);
    }
    assert_memory_equal(mean, algo_policy_params(t.a), count * sizeof(*mean));
    uint8_t *bytes = fixture_save(t.a, &length);
    free(bytes);
    free(mean);
    free(sum);
    fixture_trial_free(&t);
}

static void
behaviour_noise(algo *a, uint32_t sample, size_t count, float *noise)
{
    memcpy(noise, algo_behaviour_params(a, sample), count * sizeof(*noise));
    const float *mean = algo_policy_params(a);
    for (size_t k = 0; k < count; k++) {
        noise[k] -= mean[k];
    }
}

// Of noise that has nothing to do with the other, near a half; of the same noise with other
// deviations, few.
static double
unlike_in_sign(const float *a, const float *b, size_t count)
{
    size_t unlike = 0;
    for (size_t k = 0; k < count; k++) {
        unlike += a[k] * b[k] < 0;
    }
    return (double)unlike / (double)count;
}

// Nothing but the seed, the updates and the sample's number: not how often others were drawn.
static void
test_behaviour_follows_from_seed_updates_and_sample(void **state)
{
    (void)state;
    config_experiment config = make_config(7);
    trial t = trial_make(&config, 1), same = trial_make(&config, 1), other = trial_make(&config, 2);
    trial near =
        trial_make(&config, 6); // 6 with 3 updates, 1 with 4: both are 5 as bits that differ
    size_t count = policy_spec_params(&t.spec), bytes = count * sizeof(float);
    float *one = oct_alloc(bytes), *two = oct_alloc(bytes), numbers[ALGO_NUMBERS_MAX];
    behaviour_noise(t.a, 0, count, one);
    behaviour_noise(t.a, 2, count, two);
    assert_memory_not_equal(one, two, bytes);
    behaviour_noise(same.a, 2, count, one);
    assert_memory_equal(one, two, bytes);
    T_OK(algo_update(t.a, &t.batch, 0, NULL, numbers)); // moves nothing
    T_OK(algo_update(same.a, &t.batch, 0, NULL, numbers));
    behaviour_noise(t.a, 2, count, one);
    assert_memory_not_equal(one, two, bytes);
    behaviour_noise(same.a, 2, count, two);
    assert_memory_equal(one, two, bytes);
    // Another seed: many are unlike in sign, which other parameters alone would not make them.
    T_OK(algo_update(other.a, &t.batch, 0, NULL, numbers));
    behaviour_noise(other.a, 2, count, one);
    assert_true(unlike_in_sign(one, two, count) > 0.25);
    behaviour_noise(near.a, 2, count, one);
    assert_true(unlike_in_sign(one, two, count) > 0.25);
    free(one);
    free(two);
    fixture_trial_free(&t);
    fixture_trial_free(&same);
    fixture_trial_free(&other);
    fixture_trial_free(&near);
}

static void
test_dueling_needs_a_hidden_layer(void **state)
{
    (void)state;
    oct_reason why = {""};
    config_experiment config = make_config(2);
    config.network.hidden.count = 0;
    policy_spec spec = fixture_env(OBS, ACTIONS);
    T_ERR(algo_make_spec(&config, &spec, NULL, &why), OCT_EINVAL);
    assert_string_equal(
        why.text, "algo.dueling needs a dense layer before the last one; network.hidden is []");
}

static void
test_dueling_doubles_the_last_hidden_layer(void **state)
{
    (void)state;
    config_experiment config = make_config(3);
    policy_spec spec = fixture_env(OBS, ACTIONS);
    T_OK(algo_make_spec(&config, &spec, NULL, NULL));
    assert_int_equal(spec.layers[0].outputs, 8);
    assert_int_equal(spec.layers[1].outputs, 16);
    assert_int_equal(spec.layers[2].outputs, ACTIONS * 11);
    assert_int_equal(spec.head, POLICY_HEAD_ATOMS);
}

// One batch again and again, behind convolutions: what is left of the loss is small, or with atoms
// near the entropy of what was wanted.
static void
test_every_combination_learns_behind_convolutions(void **state)
{
    (void)state;
    enum { PIXELS = 6 * 7 * 2 };
    for (int c = 0; c < COMBINATIONS; c++) {
        config_experiment config = make_config(c);
        config.network.conv = (config_ints){.count = 2, .value = {8, 4}};
        config.algo.noisy_sigma = 0.1;
        policy_spec spec = fixture_env(PIXELS, ACTIONS);
        spec.obs_rank = 3;
        memcpy(spec.obs_shape, (uint32_t[]){6, 7, 2}, 3 * sizeof(uint32_t));
        algo *a = fixture_create(&spec, &config, 3);
        oct_rng rng;
        oct_rng_init(&rng, 5, 0);
        algo_batch batch = fixture_batch(&rng, B, PIXELS, ACTIONS);
        memset((void *)batch.discount, 0, B * sizeof(float));
        float first[ALGO_NUMBERS_MAX] = {0}, last[ALGO_NUMBERS_MAX] = {0};
        T_OK(algo_update(a, &batch, 3e-3f, NULL, first));
        for (int i = 0; i < 300; i++) {
            T_OK(algo_update(a, &batch, 3e-3f, NULL, last));
        }
        assert_true(last[ALGO_LOSS] < ((c & 1) != 0 ? 0.5f : 0.1f) * first[ALGO_LOSS]);
        fixture_batch_free(&batch);
        algo_destroy(a);
    }
}

// Loss by parameter i, at h from where it is; the state is put back.
static double
loss_at(trial *t, uint8_t *bytes, size_t length, size_t at, float h)
{
    float kept, moved;
    memcpy(&kept, bytes + at, sizeof(kept));
    moved = kept + h;
    memcpy(bytes + at, &moved, sizeof(moved));
    fixture_load_changed(t->a, bytes, length);
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(t->a, &t->batch, 1e-3f, NULL, result));
    memcpy(bytes + at, &kept, sizeof(kept));
    return (double)result[ALGO_LOSS];
}

// Central differences of the loss that the update itself reports. No row bootstraps, so that the
// greedy action, which jumps, plays no part. fp32: 1e-7 of rounding over 2h.
static void
test_the_gradient_is_the_slope_of_the_loss(void **state)
{
    (void)state;
    const float h = 8e-3f;
    for (int c = 0; c < COMBINATIONS; c++) {
        config_experiment config = make_config(c);
        config.network.activation = POLICY_TANH;
        trial t = trial_make(&config, 1);
        memset((void *)t.batch.discount, 0, B * sizeof(float));
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        size_t shape = 4 + (size_t)t.spec.layer_count * 10;
        size_t tail = ((c & 6) ? 1 + (c & 4) * 4 : 0) + (c & 1) * 8;
        size_t floats =
            (length - FIXTURE_HEADER_BYTES - FIXTURE_CHECKSUM_BYTES - 2 * shape - 8 - tail) /
            sizeof(float) / 4;
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(t.a, &t.batch, 1e-3f, NULL, result));
        uint8_t *after = fixture_save(t.a, &length);
        double most = 0;
        for (size_t i = 0; i < floats; i++) {
            float m0, m1;
            size_t m = fixture_learned_at(&t.spec, floats, FIXTURE_FIRST_MOMENT) + i * sizeof(m0);
            memcpy(&m0, bytes + m, sizeof(m0));
            memcpy(&m1, after + m, sizeof(m1));
            double gradient = ((double)m1 - 0.9 * (double)m0) / 0.1;
            size_t at = fixture_learned_at(&t.spec, floats, FIXTURE_PARAMS) + i * sizeof(m0);
            double slope =
                (loss_at(&t, bytes, length, at, h) - loss_at(&t, bytes, length, at, -h)) /
                (2 * (double)h);
            T_NEAR(gradient, slope, 1e-3, 1e-2);
            most = fmax(most, fabs(gradient));
        }
        assert_true(most > 0.05);
        free(bytes);
        free(after);
        fixture_trial_free(&t);
    }
}

// ---- a corridor

// Q(s, a) of the policy that is published: what its outputs stand for.
static double
value_of(const policy_spec *spec, const float *y, int action)
{
    if (spec->head == POLICY_HEAD_VALUES) {
        return (double)y[action];
    }
    double mass = 0, sum = 0;
    for (uint32_t j = 0; j < spec->atoms; j++) {
        double p = exp((double)y[(size_t)action * spec->atoms + j]);
        double z = (double)spec->value_min +
                   j * (double)(spec->value_max - spec->value_min) / (spec->atoms - 1);
        mass += p;
        sum += p * z;
    }
    return sum / mass;
}

static void
learn_corridor(int combination)
{
    config_experiment config = make_config(combination);
    config.network.hidden = (config_ints){.count = 1, .value = {32}};
    config.algo.target_period = 20;
    config.algo.value_min = -0.2;
    config.algo.value_max = 1.2;
    config.algo.noisy_sigma = 0.1;
    policy_spec spec;
    algo *a = fixture_algo(&spec, &config, CORRIDOR, 2, 1);
    fixture_corridor c;
    algo_batch batch = fixture_corridor_batch(&c);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 3000; i++) {
        T_OK(algo_update(a, &batch, i < 2000 ? 3e-3f : 3e-4f, NULL, result));
    }
    nn_net net;
    nn_context *context = nn_context_create(NULL);
    nn_net_init(&net, context, &spec, 1);
    memcpy(net.params, algo_policy_params(a), policy_spec_params(&spec) * sizeof(float));
    for (int i = 0; i < CORRIDOR_ROWS; i++) {
        int cell = i / 2, to = i % 2 == 1 ? cell : OCT_MAX(cell - 1, 0) - 1;
        double want = pow((double)CORRIDOR_DISCOUNT, CORRIDOR - 1 - to);
        const float *y = nn_net_forward(&net, c.obs[i], 1);
        T_NEAR(value_of(&spec, y, i % 2), want, 0.06, 0);
        int32_t greedy;
        policy_act(&spec, y, 1, &greedy);
        assert_int_equal(greedy, 1);
    }
    nn_net_fini(&net);
    nn_context_destroy(context);
    algo_destroy(a);
}

static void
test_every_combination_learns_the_values_of_a_corridor(void **state)
{
    (void)state;
    for (int c = 0; c < COMBINATIONS; c++) {
        learn_corridor(c);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan_or_infinity_in_any_column_changes_nothing),
        cmocka_unit_test(test_nan_behind_a_terminal_row_changes_nothing),
        cmocka_unit_test(test_a_refused_batch_spends_no_noise),
        cmocka_unit_test(test_load_refuses_the_state_of_other_options),
        cmocka_unit_test(test_load_refuses_another_support),
        cmocka_unit_test(test_load_refuses_every_truncation),
        cmocka_unit_test(test_dueling_needs_a_hidden_layer),
        cmocka_unit_test(test_dueling_doubles_the_last_hidden_layer),
        cmocka_unit_test(test_training_goes_on_with_the_same_bits_after_load),
        cmocka_unit_test(test_behaviour_is_drawn_anew_around_the_policy),
        cmocka_unit_test(test_behaviour_follows_from_seed_updates_and_sample),
        cmocka_unit_test(test_the_gradient_is_the_slope_of_the_loss),
        cmocka_unit_test(test_every_combination_learns_behind_convolutions),
        cmocka_unit_test(test_every_combination_learns_the_values_of_a_corridor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
