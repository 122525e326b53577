// D4PG, DDPG, TD3 and SAC on normalised observations: scales, what ships, what is taken, refusals.
#include <stdlib.h>

#include "algos/algo_transfer.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 3, DIM = 2, B = 16 };

typedef struct trial {
    config_experiment config;
    policy_spec spec;
    algo *a;
    oct_rng rng;
} trial;

static trial
trial_of(config_experiment config, uint64_t seed)
{
    trial t = {.config = config};
    t.a = dpg_fixture_algo(&t.spec, &t.config, OBS, DIM, seed);
    oct_rng_init(&t.rng, 3, 0);
    return t;
}

static config_experiment
normalising(size_t method)
{
    config_experiment config = dpg_fixture_method(DPG_FIXTURE_RAW_METHODS + method);
    assert_true(config.algo.normalise_observations);
    config.network.first_layer_norm = true;
    config.learner.batch_size = B;
    return config;
}

// The middle number of each observation times factor, plus shift.
static void
stretch(const algo_batch *batch, float factor, float shift)
{
    float *rows[] = {(float *)(uintptr_t)batch->obs, (float *)(uintptr_t)batch->next};
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < batch->B; i++) {
            rows[k][i * OBS + 1] = factor * rows[k][i * OBS + 1] + shift;
        }
    }
}

static void
learn(trial *t, int updates, float rate, float factor, float shift)
{
    for (int i = 0; i < updates; i++) {
        float result[ALGO_NUMBERS_MAX];
        algo_batch batch = dpg_fixture_batch(&t->rng, B, OBS, DIM);
        stretch(&batch, factor, shift);
        T_OK(algo_update(t->a, &batch, rate, NULL, result));
        fixture_batch_free(&batch);
    }
}

// The outputs of the policy that ships, at x[B][OBS] as the environment gives it; malloc'd.
static float *
outputs(const trial *t, const float *x)
{
    nn_context *context = nn_context_create(NULL);
    nn_net net;
    nn_net_init(&net, context, &t->spec, B);
    memcpy(net.params, algo_policy_params(t->a), net.param_count * sizeof(*net.params));
    size_t count = (size_t)B * t->spec.layers[t->spec.layer_count - 1].outputs;
    float *y = oct_alloc(count * sizeof(*y));
    memcpy(y, nn_net_forward(&net, x, B), count * sizeof(*y));
    nn_net_fini(&net);
    nn_context_destroy(context);
    return y;
}

static void
expect_same_outputs(const trial *t, const float *x, const trial *other, const float *other_x,
                    double tolerance)
{
    float *y = outputs(t, x), *other_y = outputs(other, other_x);
    for (size_t i = 0; i < (size_t)B * t->spec.layers[t->spec.layer_count - 1].outputs; i++) {
        T_NEAR((double)other_y[i], (double)y[i], tolerance, tolerance);
    }
    free(y);
    free(other_y);
}

// Whatever units a number has: both learn the same, once there are statistics.
static void
test_units_do_not_matter(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        config_experiment config = normalising(n);
        config.algo.adam_beta1 = config.algo.adam_beta2 = 0; // nothing of the first gradient stays
        config.algo.adam_epsilon = 1e-2;                     // else Adam makes steps of roundings
        trial t = trial_of(config, 1), wide = trial_of(config, 1);
        for (int i = 0; i < 6; i++) {
            float rate = i == 0 ? 0.0f : 1e-2f; // before there are statistics, they do matter
            learn(&t, 1, rate, 1, 0);
            learn(&wide, 1, rate, 64, 8);
        }
        algo_batch batch = dpg_fixture_batch(&t.rng, B, OBS, DIM);
        algo_batch wide_batch = dpg_fixture_batch(&wide.rng, B, OBS, DIM);
        stretch(&wide_batch, 64, 8);
        expect_same_outputs(&t, batch.obs, &wide, wide_batch.obs, 1e-3);
        fixture_batch_free(&batch);
        fixture_batch_free(&wide_batch);
        algo_destroy(t.a);
        algo_destroy(wide.a);
    }
}

typedef struct grid {
    size_t count;
    float *params; // that it was given last
} grid;

static void
grid_project(void *arg, const float *params, float *out)
{
    grid *g = arg;
    memcpy(g->params, params, g->count * sizeof(*params));
    for (size_t i = 0; i < g->count; i++) {
        out[i] = roundf(params[i] / 0.125f) * 0.125f;
    }
}

// What is quantised is the policy that ships; and it learns with what became of it.
static void
test_a_projection_is_of_what_ships(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        trial t = trial_of(normalising(n), 1);
        size_t bytes = policy_spec_params(&t.spec) * sizeof(float);
        grid g = {.count = policy_spec_params(&t.spec), .params = oct_alloc(bytes)};
        learn(&t, 3, 1e-2f, 8, 4);
        algo_set_projection(t.a, &(algo_projection){.arg = &g, .project = grid_project});
        learn(&t, 4, 1e-2f, 8, 4);
        if (t.config.algo.name == CONFIG_ALGO_SAC) { // the others project the target last
            assert_memory_equal(g.params, algo_policy_params(t.a), bytes);
        }
        algo_network networks[ALGO_NETWORKS_MAX];
        (void)t.a->ops->networks(t.a, networks);
        const nn_net *net = networks[0].net;
        float *raw = oct_alloc(bytes), *wanted = oct_alloc(bytes);
        memcpy(raw, net->weights, bytes);
        algo_normaliser_leave(networks[0].inside, net, raw);
        grid_project(&g, algo_policy_params(t.a), wanted);
        for (size_t i = 0; i < g.count; i++) {
            T_NEAR((double)raw[i], (double)wanted[i], 1e-5, 1e-5);
        }
        free(raw);
        free(wanted);
        free(g.params);
        algo_destroy(t.a);
    }
}

static void
nobody(void *arg, const algo_taken *taken)
{
    (void)arg;
    (void)taken;
}

// From a run that normalises to one that does not, and on to one that does again, whose first
// statistics leave the policy what it is.
static void
test_layers_are_taken_as_what_they_compute(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        config_experiment raw = normalising(n);
        raw.algo.normalise_observations = false;
        trial from = trial_of(normalising(n), 1), plain = trial_of(raw, 2);
        trial again = trial_of(normalising(n), 3);
        learn(&from, 5, 1e-2f, 16, 4);
        assert_true(algo_take(plain.a, &plain.spec, &(algo_source){&from.spec, from.a, NULL},
                              nobody, NULL) > 0);
        assert_true(algo_take(again.a, &again.spec, &(algo_source){&plain.spec, plain.a, NULL},
                              nobody, NULL) > 0);
        algo_batch batch = dpg_fixture_batch(&from.rng, B, OBS, DIM);
        stretch(&batch, 16, 4);
        expect_same_outputs(&from, batch.obs, &plain, batch.obs, 1e-5);
        expect_same_outputs(&from, batch.obs, &again, batch.obs, 1e-5);
        learn(&again, 1, 0.0f, 16, 4);
        expect_same_outputs(&from, batch.obs, &again, batch.obs, 1e-4);
        fixture_batch_free(&batch);
        algo_destroy(from.a);
        algo_destroy(plain.a);
        algo_destroy(again.a);
    }
}

// All networks from the first on.
static void
expect_same_networks(const trial *one, const trial *other, uint32_t first)
{
    algo_network own[ALGO_NETWORKS_MAX], others[ALGO_NETWORKS_MAX];
    uint32_t count = one->a->ops->networks(one->a, own);
    assert_int_equal(other->a->ops->networks(other->a, others), count);
    for (uint32_t i = first; i < count; i++) {
        size_t bytes = own[i].net->param_count * sizeof(float);
        assert_memory_equal(own[i].net->params, others[i].net->params, bytes);
        if (own[i].target != NULL) {
            assert_memory_equal(own[i].target->params, others[i].target->params, bytes);
        }
    }
}

// Of a policy alone: it stays what it is, and critics begin as those of a run that took nothing.
static void
test_networks_that_begin_anew_begin_as_ever(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        trial from = trial_of(normalising(n), 1), fresh = trial_of(normalising(n), 2);
        trial t = trial_of(normalising(n), 2);
        assert_true(algo_take(t.a, &t.spec,
                              &(algo_source){&from.spec, NULL, algo_policy_params(from.a)}, nobody,
                              NULL) > 0);
        learn(&t, 1, 0.0f, 16, 4);
        learn(&fresh, 1, 0.0f, 16, 4);
        expect_same_networks(&t, &fresh, 1);
        algo_batch batch = dpg_fixture_batch(&t.rng, B, OBS, DIM);
        stretch(&batch, 16, 4);
        expect_same_outputs(&from, batch.obs, &t, batch.obs, 1e-4);
        fixture_batch_free(&batch);
        algo_destroy(from.a);
        algo_destroy(fresh.a);
        algo_destroy(t.a);
    }
}

// Which networks were taken is part of a state.
static void
test_a_state_tells_which_networks_were_taken(void **state)
{
    (void)state;
    static const uint8_t bad[] = {1, 3, 16, UINT8_MAX};
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        trial from = trial_of(normalising(n), 1), all = trial_of(normalising(n), 2);
        trial policy = trial_of(normalising(n), 2), loaded = trial_of(normalising(n), 3);
        size_t length, keeps_at = FIXTURE_CHECKSUM_BYTES + 1 + (1 + 2 * OBS) * sizeof(double);
        (void)algo_take(all.a, &all.spec, &(algo_source){&from.spec, from.a, NULL}, nobody, NULL);
        (void)algo_take(policy.a, &policy.spec,
                        &(algo_source){&from.spec, NULL, algo_policy_params(from.a)}, nobody, NULL);
        uint8_t *bytes = fixture_save(policy.a, &length);
        fixture_load_changed(loaded.a, bytes, length);
        learn(&policy, 1, 0.0f, 16, 4);
        learn(&loaded, 1, 0.0f, 16, 4);
        fixture_same_state(policy.a, loaded.a);
        free(bytes);
        bytes = fixture_save(all.a, &length);
        uint8_t *keeps = bytes + length - keeps_at;
        for (size_t i = 0; i < sizeof(bad); i++) {
            *keeps = bad[i];
            fixture_seal(bytes, length);
            fixture_load_refused(loaded.a, bytes, length);
        }
        free(bytes);
        algo_destroy(from.a);
        algo_destroy(all.a);
        algo_destroy(policy.a);
        algo_destroy(loaded.a);
    }
}

static void
test_what_cannot_be_normalised_is_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < DPG_FIXTURE_NAMES; n++) {
        config_experiment config = normalising(n);
        policy_spec spec = fixture_box_env(OBS, DIM);
        fixture_normalising_refused(config, spec);
        config.learner.count = 2;
        config.learner.asynchronous = true;
        fixture_spec_refused(&config, spec, "learner.asynchronous: learners do not share");
        config.learner.asynchronous = false;
        T_OK(algo_make_spec(&config, &spec, NULL, NULL));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_do_not_matter),
        cmocka_unit_test(test_a_projection_is_of_what_ships),
        cmocka_unit_test(test_layers_are_taken_as_what_they_compute),
        cmocka_unit_test(test_networks_that_begin_anew_begin_as_ever),
        cmocka_unit_test(test_a_state_tells_which_networks_were_taken),
        cmocka_unit_test(test_what_cannot_be_normalised_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
