// What D4PG, DDPG, TD3 and SAC save and load, and what they compute with under a projection.
#include <stdlib.h>

#include "tests/algos/dpg_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 3, DIM = 2, B = 8 };

typedef struct trial {
    config_experiment config;
    policy_spec spec;
    algo *a;
    oct_rng rng;
} trial;

static config_experiment
small_config(size_t method)
{
    config_experiment config = dpg_fixture_method(method);
    config.network.hidden = (config_ints){.count = 1, .value = {5}};
    config.network.critic_hidden = (config_ints){
        .count = config.network.critic_residual ? 3 : 1,
        .value = {6, 6, 6},
    };
    config.network.first_layer_norm = true;
    config.algo.atoms = 5;
    config.algo.target_period = 4;
    return config;
}

static trial
trial_make(size_t method, uint64_t seed)
{
    trial t = {.config = small_config(method)};
    t.a = dpg_fixture_algo(&t.spec, &t.config, OBS, DIM, seed);
    oct_rng_init(&t.rng, 3, 0);
    return t;
}

static void
train(algo *a, oct_rng *rng, int updates)
{
    for (int i = 0; i < updates; i++) {
        algo_batch batch = dpg_fixture_batch(rng, B, OBS, DIM);
        float result[ALGO_NUMBERS_MAX];
        T_OK(algo_update(a, &batch, 1e-2f, NULL, result));
        fixture_batch_free(&batch);
    }
}

static void
test_same_seed_and_batches_give_the_same_bits(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1), same = trial_make(n, 1);
        trial other = trial_make(n, 2);
        assert_memory_not_equal(algo_policy_params(t.a), algo_policy_params(other.a), 64);
        train(t.a, &t.rng, 9);
        train(same.a, &same.rng, 9);
        fixture_same_state(t.a, same.a);
        algo_destroy(t.a);
        algo_destroy(same.a);
        algo_destroy(other.a);
    }
}

// 9 updates into a run whose targets change every 4th: TD3 stands between two steps of its policy.
static void
test_a_loaded_state_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1), other = trial_make(n, 2);
        train(t.a, &t.rng, 9);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        oct_reader reader = {.at = bytes, .left = length};
        T_OK(algo_load(other.a, &reader));
        assert_int_equal(algo_updates(other.a), 9);
        fixture_same_state(t.a, other.a);
        other.rng = t.rng;
        train(t.a, &t.rng, 9);
        train(other.a, &other.rng, 9);
        fixture_same_state(t.a, other.a);
        free(bytes);
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

// The body shorter or longer than it says, under a checksum that holds.
static void
expect_body_refused(algo *other, const uint8_t *bytes, size_t length, uint64_t body)
{
    size_t head = FIXTURE_HEADER_BYTES + (size_t)body;
    uint8_t *changed = oct_alloc(head + FIXTURE_CHECKSUM_BYTES);
    memcpy(changed, bytes, OCT_MIN(head, length));
    memcpy(changed + FIXTURE_HEADER_BYTES - sizeof(body), &body, sizeof(body));
    fixture_seal(changed, head + FIXTURE_CHECKSUM_BYTES);
    fixture_load_refused(other, changed, head + FIXTURE_CHECKSUM_BYTES);
    free(changed);
}

static void
test_load_refuses_a_body_of_another_length(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1), other = trial_make(n, 2);
        train(t.a, &t.rng, 5);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        size_t body = length - FIXTURE_HEADER_BYTES - FIXTURE_CHECKSUM_BYTES;
        for (size_t shorter = 0; shorter < body; shorter++) {
            expect_body_refused(other.a, bytes, length, shorter);
        }
        expect_body_refused(other.a, bytes, length, body + 4);
        free(bytes);
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

static void
test_load_refuses_nan_and_a_broken_generator_under_a_good_checksum(void **state)
{
    (void)state;
    const float nan = NAN;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1), other = trial_make(n, 2);
        train(t.a, &t.rng, 5);
        size_t length, last = 0;
        uint8_t *bytes = fixture_save(t.a, &length), kept[sizeof(nan)];
        for (uint32_t i = 0; i < dpg_fixture_nets(&t.config) * FIXTURE_PARTS; i++) {
            if (!dpg_fixture_has_part(&t.config, i / FIXTURE_PARTS, i % FIXTURE_PARTS)) {
                continue;
            }
            uint8_t *at = bytes + dpg_fixture_part_at(&t.config, &t.spec, i / FIXTURE_PARTS,
                                                      (fixture_part)(i % FIXTURE_PARTS));
            memcpy(kept, at, sizeof(kept));
            memcpy(at, &nan, sizeof(nan));
            fixture_seal(bytes, length);
            fixture_load_refused(other.a, bytes, length);
            memcpy(at, kept, sizeof(kept));
            last = (size_t)(at - bytes);
        }
        policy_spec critic = dpg_fixture_critic(&t.config, &t.spec);
        size_t behind =
            t.config.algo.name == CONFIG_ALGO_D4PG ? 2 * sizeof(float) : 0; // the support
        if (t.config.algo.normalise_observations) {
            behind += 1 + (1 + 2 * OBS) * sizeof(double);
        }
        assert_int_equal(last + policy_spec_params(&critic) * sizeof(float) + behind +
                             FIXTURE_CHECKSUM_BYTES,
                         length);
        bytes[FIXTURE_HEADER_BYTES + 8] ^= 1; // an even stream
        fixture_seal(bytes, length);
        fixture_load_refused(other.a, bytes, length);
        bytes[FIXTURE_HEADER_BYTES + 8] ^= 1;
        fixture_load_changed(other.a, bytes, length);
        free(bytes);
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

// What one has learned by now, the other does not take. Destroys both.
static void
expect_refused(trial *t, trial *other)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    fixture_load_refused(other->a, bytes, length);
    free(bytes);
    algo_destroy(t->a);
    algo_destroy(other->a);
}

static void
test_load_refuses_another_algorithm(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1);
        trial other = trial_make((n + 1) % DPG_FIXTURE_METHODS, 1);
        expect_refused(&t, &other);
    }
}

static void
test_load_refuses_other_critics(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1);
        trial other = trial_make((n + DPG_FIXTURE_NAMES) % DPG_FIXTURE_METHODS, 1);
        assert_int_equal(t.config.algo.name, other.config.algo.name);
        train(t.a, &t.rng, 2);
        expect_refused(&t, &other);
    }
}

// Naming the number that an algorithm has anyway changes no byte of what it saves.
static void
test_the_algorithms_own_number_of_critics_is_the_default(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        trial t = trial_make(n, 1), named = t;
        named.config.algo.critics = dpg_fixture_nets(&t.config) - 1;
        named.a = dpg_fixture_algo(&named.spec, &named.config, OBS, DIM, 1);
        train(t.a, &t.rng, 5);
        train(named.a, &named.rng, 5);
        fixture_same_state(t.a, named.a);
        algo_destroy(t.a);
        algo_destroy(named.a);
    }
}

// Logits mean nothing without their atoms.
static void
test_load_refuses_another_support(void **state)
{
    (void)state;
    trial t = trial_make(0, 1);
    assert_int_equal(t.config.algo.name, CONFIG_ALGO_D4PG);
    size_t length;
    uint8_t *bytes = fixture_save(t.a, &length);
    for (int end = 0; end < 2; end++) {
        config_experiment wider = small_config(0);
        *(end == 0 ? &wider.algo.value_min : &wider.algo.value_max) *= 2;
        policy_spec spec;
        algo *other = dpg_fixture_algo(&spec, &wider, OBS, DIM, 1);
        fixture_load_refused(other, bytes, length);
        algo_destroy(other);
    }
    free(bytes);
    algo_destroy(t.a);
}

// Rounds the policy and its target, as the projection does, in the algorithm itself.
static void
round_policy(trial *t)
{
    size_t length;
    fixture_grid g = {.count = policy_spec_params(&t->spec)};
    float *weights = oct_alloc(2 * g.count * sizeof(float)), *rounded = weights + g.count;
    uint8_t *bytes = fixture_save(t->a, &length);
    const fixture_part parts[] = {FIXTURE_PARAMS, FIXTURE_TARGET};
    for (size_t i = 0; i < OCT_COUNTOF(parts); i++) {
        if (!dpg_fixture_has_part(&t->config, 0, parts[i])) {
            continue;
        }
        uint8_t *at = bytes + dpg_fixture_part_at(&t->config, &t->spec, 0, parts[i]);
        memcpy(weights, at, g.count * sizeof(float));
        fixture_grid_project(&g, weights, rounded);
        memcpy(at, rounded, g.count * sizeof(float));
    }
    fixture_load_changed(t->a, bytes, length);
    free(bytes);
    free(weights);
}

// One update through the projection has the gradients (Adam's moments) of one whose policy and
// target have the projected weights themselves; but it moves the weights below the projection.
static void
test_gradients_are_those_at_projected_weights(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_RAW_METHODS; n++) {
        trial t = trial_make(n, 1), other = trial_make(n, 1);
        train(t.a, &t.rng, 5);
        train(other.a, &other.rng, 5);
        fixture_grid g = {.count = policy_spec_params(&t.spec)};
        algo_set_projection(t.a, &(algo_projection){.arg = &g, .project = fixture_grid_project});
        round_policy(&other);
        size_t count;
        float *was = dpg_fixture_part(t.a, &t.config, &t.spec, 0, FIXTURE_PARAMS, &count);
        train(t.a, &t.rng, 1);
        train(other.a, &other.rng, 1);
        for (uint32_t net = 0; net < dpg_fixture_nets(&t.config); net++) {
            float *m = dpg_fixture_part(t.a, &t.config, &t.spec, net, FIXTURE_FIRST_MOMENT, &count);
            float *want =
                dpg_fixture_part(other.a, &t.config, &t.spec, net, FIXTURE_FIRST_MOMENT, &count);
            assert_memory_equal(m, want, count * sizeof(*m));
            free(m);
            free(want);
        }
        const float *now = algo_policy_params(t.a), *rounded = algo_policy_params(other.a);
        assert_memory_not_equal(now, was, g.count * sizeof(float));
        assert_memory_not_equal(now, rounded, g.count * sizeof(float));
        for (size_t i = 0; i < g.count; i++) {
            T_NEAR((double)now[i], (double)was[i], 0.03, 0);
        }
        free(was);
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

static void
test_without_effect_a_projection_changes_no_bit(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_RAW_METHODS; n++) {
        trial t = trial_make(n, 1), other = trial_make(n, 1);
        fixture_grid g = {.count = policy_spec_params(&t.spec)};
        algo_set_projection(t.a,
                            &(algo_projection){.arg = &g, .project = fixture_identity_project});
        const bool has_target = dpg_fixture_has_part(&t.config, 0, FIXTURE_TARGET);
        const unsigned policy_steps = t.config.algo.name == CONFIG_ALGO_TD3 ? 6 : 12;
        assert_int_equal(g.calls, has_target ? 2 : 1);
        train(t.a, &t.rng, 12);
        train(other.a, &other.rng, 12);
        fixture_same_state(t.a, other.a);
        assert_int_equal(g.calls,
                         policy_steps + (has_target ? 2 + 3 : 1)); // the target every 4th
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

static void
test_a_loaded_state_is_projected_again(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_METHODS; n++) {
        trial t = trial_make(n, 1), other = trial_make(n, 2);
        fixture_grid g = {.count = policy_spec_params(&t.spec)}, h = g;
        algo_set_projection(t.a, &(algo_projection){.arg = &g, .project = fixture_grid_project});
        algo_set_projection(other.a,
                            &(algo_projection){.arg = &h, .project = fixture_grid_project});
        train(t.a, &t.rng, 9);
        size_t length;
        uint8_t *bytes = fixture_save(t.a, &length);
        oct_reader reader = {.at = bytes, .left = length};
        T_OK(algo_load(other.a, &reader));
        other.rng = t.rng;
        train(t.a, &t.rng, 5);
        train(other.a, &other.rng, 5);
        fixture_same_state(t.a, other.a);
        free(bytes);
        algo_destroy(t.a);
        algo_destroy(other.a);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_and_batches_give_the_same_bits),
        cmocka_unit_test(test_a_loaded_state_goes_on_to_the_same_bits),
        cmocka_unit_test(test_load_refuses_a_body_of_another_length),
        cmocka_unit_test(test_load_refuses_nan_and_a_broken_generator_under_a_good_checksum),
        cmocka_unit_test(test_load_refuses_another_algorithm),
        cmocka_unit_test(test_load_refuses_other_critics),
        cmocka_unit_test(test_the_algorithms_own_number_of_critics_is_the_default),
        cmocka_unit_test(test_load_refuses_another_support),
        cmocka_unit_test(test_gradients_are_those_at_projected_weights),
        cmocka_unit_test(test_without_effect_a_projection_changes_no_bit),
        cmocka_unit_test(test_a_loaded_state_is_projected_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
