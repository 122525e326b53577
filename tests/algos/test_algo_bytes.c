// Observations of bytes above 1 are learned from divided: every algorithm learns as from floats
// that are as small, and what leaves it reads the bytes themselves.
#include <stdlib.h>

#include "algos/algo_transfer.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { SIDES = 5, CHANNELS = 2, OBS = SIDES * SIDES * CHANNELS, DIM = 3, B = 12 };
enum { T = REINFORCE_STEPS, UPDATES = 3, HIGH = 255, DIVISOR = 256 };

typedef struct method {
    config_algo_name name;
    bool is_box, has_windows, is_rainbow, has_conv;
} method;

static const method methods[] = {
    {.name = CONFIG_ALGO_DQN},
    {.name = CONFIG_ALGO_DQN, .has_conv = true},
    {.name = CONFIG_ALGO_DQN, .is_rainbow = true},
    {.name = CONFIG_ALGO_D4PG, .is_box = true},
    {.name = CONFIG_ALGO_DDPG, .is_box = true},
    {.name = CONFIG_ALGO_TD3, .is_box = true},
    {.name = CONFIG_ALGO_SAC, .is_box = true},
    {.name = CONFIG_ALGO_REINFORCE, .has_windows = true},
    {.name = CONFIG_ALGO_VTRACE, .has_windows = true},
    {.name = CONFIG_ALGO_PPO, .has_windows = true},
    {.name = CONFIG_ALGO_PPO, .has_windows = true, .has_conv = true},
    {.name = CONFIG_ALGO_A2C, .has_windows = true},
    {.name = CONFIG_ALGO_TRPO, .has_windows = true},
};

typedef struct trial {
    method m;
    config_experiment config;
    policy_spec spec;
    algo *a;
    oct_rng rng;
} trial;

static config_experiment
config_of(const method *m)
{
    config_experiment config = m->has_windows ? reinforce_fixture_method(m->name)
                               : m->is_box    ? dpg_fixture_config(m->name)
                                              : fixture_config();
    if (m->is_rainbow) {
        fixture_set_rainbow(&config);
    }
    if (m->has_conv) {
        config.network.conv = (config_ints){.count = 1, .value = {2}};
    }
    config.learner.batch_size = B;
    return config;
}

// high 0: of floats.
static trial
trial_of(const method *m, uint32_t high, uint64_t seed)
{
    trial t = {.m = *m, .config = config_of(m)};
    t.spec = m->is_box ? fixture_box_env(OBS, DIM) : fixture_env(OBS, DIM);
    t.spec.obs_dtype = high > 0 ? POLICY_U8 : POLICY_F32;
    t.spec.obs_high = high;
    t.spec.obs_rank = 3;
    memcpy(t.spec.obs_shape, (uint32_t[]){SIDES, SIDES, CHANNELS}, 3 * sizeof(uint32_t));
    t.a = fixture_create(&t.spec, &t.config, seed);
    oct_rng_init(&t.rng, 3, 0);
    return t;
}

static void
trial_learn(trial *t)
{
    for (int i = 0; i < UPDATES; i++) {
        float priority[B], numbers[ALGO_NUMBERS_MAX];
        algo_batch batch = t->m.has_windows ? reinforce_fixture_batch(&t->rng, &t->spec, B, T)
                           : t->m.is_box    ? dpg_fixture_batch(&t->rng, B, OBS, DIM)
                                            : fixture_batch(&t->rng, B, OBS, DIM);
        T_OK(algo_update(t->a, &batch, 1e-2f, priority, numbers));
        fixture_batch_free(&batch);
    }
}

// But for the version and the checksum, which say that they are of other observations.
static void
expect_same_state(const trial *bytes, const trial *floats)
{
    size_t length, other;
    uint8_t *one = fixture_save(bytes->a, &length), *two = fixture_save(floats->a, &other);
    assert_int_equal(length, other);
    assert_memory_not_equal(one, two, 8);
    assert_memory_equal(one + 8, two + 8, length - 8 - FIXTURE_CHECKSUM_BYTES);
    free(one);
    free(two);
}

// Of bytes, and what it is of numbers that are as small as what was learned from.
static void
expect_divided(const trial *t, const float *bytes, const float *floats)
{
    size_t weights = policy_layer_weights(&t->spec.layers[0]);
    for (size_t i = 0; i < policy_spec_params(&t->spec); i++) {
        float want = i < weights ? floats[i] / DIVISOR : floats[i];
        assert_memory_equal(&bytes[i], &want, sizeof(want));
    }
}

static void
test_every_algorithm_learns_from_bytes_as_from_small_floats(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(methods); i++) {
        trial bytes = trial_of(&methods[i], HIGH, 1), floats = trial_of(&methods[i], 0, 1);
        trial_learn(&bytes);
        trial_learn(&floats);
        expect_same_state(&bytes, &floats);
        expect_divided(&bytes, algo_policy_params(bytes.a), algo_policy_params(floats.a));
        if (methods[i].is_rainbow) {
            expect_divided(&bytes, algo_behaviour_params(bytes.a, 0),
                           algo_behaviour_params(floats.a, 0));
        }
        algo_destroy(bytes.a);
        algo_destroy(floats.a);
    }
}

// ---- projections

#define GRID 0.001f // coarse for weights of bytes

typedef struct grid {
    size_t weights, params;
    float unit; // of the first layer's weights, where they are those of bytes
} grid;

static void
grid_project(void *arg, const float *params, float *out)
{
    const grid *g = arg;
    for (size_t i = 0; i < g->params; i++) {
        float unit = i < g->weights ? g->unit : 1.0f;
        out[i] = roundf(params[i] * unit / GRID) * GRID / unit;
    }
}

static void
test_what_ships_is_projected(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(methods); i++) {
        trial bytes = trial_of(&methods[i], HIGH, 1), floats = trial_of(&methods[i], 0, 1);
        grid own = {.weights = policy_layer_weights(&bytes.spec.layers[0]),
                    .params = policy_spec_params(&bytes.spec),
                    .unit = 1};
        grid its = own;
        its.unit = 1.0f / DIVISOR;
        algo_set_projection(bytes.a, &(algo_projection){.arg = &own, .project = grid_project});
        algo_set_projection(floats.a, &(algo_projection){.arg = &its, .project = grid_project});
        trial_learn(&bytes);
        trial_learn(&floats);
        expect_same_state(&bytes, &floats);
        algo_destroy(bytes.a);
        algo_destroy(floats.a);
    }
}

// ---- states, and layers of others

static void
test_a_state_of_other_observations_is_refused(void **state)
{
    (void)state;
    static const uint32_t highs[] = {0, 100, HIGH};
    const method dqn = {.name = CONFIG_ALGO_DQN};
    for (size_t i = 0; i < OCT_COUNTOF(highs); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(highs); k++) {
            trial from = trial_of(&dqn, highs[i], 1), to = trial_of(&dqn, highs[k], 2);
            size_t length;
            uint8_t *bytes = fixture_save(from.a, &length);
            oct_reader reader = {.at = bytes, .left = length};
            if (i == k) {
                T_OK(algo_load(to.a, &reader));
                fixture_same_state(from.a, to.a);
            } else {
                fixture_load_refused(to.a, bytes, length);
            }
            free(bytes);
            algo_destroy(from.a);
            algo_destroy(to.a);
        }
    }
}

static void
hear_nothing(void *arg, const algo_taken *taken)
{
    (void)arg;
    (void)taken;
}

static uint32_t
networks_of(const trial *t, algo_network out[ALGO_NETWORKS_MAX])
{
    return t->a->ops->networks(t->a, out);
}

// The first layer's parameters from at on, of columns of which the first `divided` read bytes.
static void
expect_first(const float *to, const float *from, const nn_layer *first, uint32_t divided,
             float factor)
{
    for (uint32_t u = 0; u < first->units; u++) {
        for (uint32_t i = 0; i < first->columns; i++) {
            size_t at = (size_t)u * first->columns + i;
            float want = i < divided ? from[at] * factor : from[at];
            assert_memory_equal(&to[at], &want, sizeof(want));
        }
    }
}

// Networks of bytes up to 255 (in 256ths), taken into those of bytes up to 100 (in 128ths).
static void
test_layers_stay_the_functions_that_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(methods); i++) {
        trial from = trial_of(&methods[i], HIGH, 1), to = trial_of(&methods[i], 100, 2);
        algo_network its[ALGO_NETWORKS_MAX], own[ALGO_NETWORKS_MAX];
        trial_learn(&from);
        assert_true(algo_take(to.a, &to.spec, &(algo_source){&from.spec, from.a, NULL},
                              hear_nothing, NULL) > 0);
        assert_memory_equal(algo_policy_params(to.a), algo_policy_params(from.a),
                            policy_spec_params(&to.spec) * sizeof(float));
        uint32_t count = networks_of(&from, its);
        assert_int_equal(networks_of(&to, own), count);
        for (uint32_t n = 0; n < count; n++) {
            const nn_layer *first = &own[n].net->layers[0];
            uint32_t divided = methods[i].has_conv ? first->columns : OBS;
            size_t at = nn_learned_layer(own[n].net, own[n].reparam, 0).at;
            expect_first(own[n].net->params + at, its[n].net->params + at, first, divided, 0.5f);
            if (own[n].target != NULL) {
                expect_first(own[n].target->params + at, its[n].target->params + at, first, divided,
                             0.5f);
            }
            if (methods[i].is_rainbow) { // the deviations
                at += own[n].reparam->mean_count;
                expect_first(own[n].net->params + at, its[n].net->params + at, first, divided,
                             0.5f);
            }
        }
        trial_learn(&to);
        algo_destroy(from.a);
        algo_destroy(to.a);
    }
}

// A policy file reads bytes, whatever was learned from.
static void
test_a_policy_of_bytes_stays_the_function_that_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(methods); i++) {
        trial from = trial_of(&methods[i], HIGH, 1), to = trial_of(&methods[i], HIGH, 2);
        size_t bytes = policy_spec_params(&from.spec) * sizeof(float);
        policy_spec file = from.spec;
        file.obs_high = 0; // it is in no file
        trial_learn(&from);
        const float *params = algo_policy_params(from.a);
        if (!methods[i].is_rainbow) { // whose streams are stored otherwise
            (void)algo_take(to.a, &to.spec, &(algo_source){&file, NULL, params}, hear_nothing,
                            NULL);
            assert_memory_equal(algo_policy_params(to.a), params, bytes);
        }
        algo_destroy(from.a);
        algo_destroy(to.a);
    }
}

static void
test_a_policy_that_is_set_reads_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(methods); i++) {
        trial from = trial_of(&methods[i], HIGH, 1), to = trial_of(&methods[i], HIGH, 2);
        size_t bytes = policy_spec_params(&from.spec) * sizeof(float);
        const float *params = algo_policy_params(from.a);
        assert_int_equal(algo_set_policy(to.a, params), !methods[i].is_rainbow);
        assert_int_equal(memcmp(algo_policy_params(to.a), params, bytes) == 0,
                         !methods[i].is_rainbow);
        algo_destroy(from.a);
        algo_destroy(to.a);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_algorithm_learns_from_bytes_as_from_small_floats),
        cmocka_unit_test(test_what_ships_is_projected),
        cmocka_unit_test(test_a_state_of_other_observations_is_refused),
        cmocka_unit_test(test_layers_stay_the_functions_that_they_are),
        cmocka_unit_test(test_a_policy_of_bytes_stays_the_function_that_it_is),
        cmocka_unit_test(test_a_policy_that_is_set_reads_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
