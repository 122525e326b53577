// DQN's options against numpy float64, all combinations: tools/golden_rainbow.py.
#include <stdlib.h>

#include "tests/algos/algo_fixture.h"
#include "tests/algos/golden_file.h"
#include "tests/support/oct_test.h"

#define BEHAVIOUR_SAMPLE 5 // as in the tool

enum { ATOMS, DUELING, NOISY, DOUBLE, GRID, OPTIONS };
static const char *const option_names[OPTIONS] = {"atoms", "dueling", "noisy", "double", "grid"};

typedef struct grid {
    size_t count;
    float step;
} grid;

typedef struct trial {
    golden_file *golden;
    bool options[OPTIONS];
    uint32_t obs, actions, B, steps;
    size_t learned; // floats
    config_experiment config;
    policy_spec spec;
    grid grid;
    algo *a;
} trial;

static config_experiment
golden_config(const trial *t)
{
    const golden_file *g = t->golden;
    config_experiment config = fixture_config();
    const double *shape = golden_array(g, "shape", 6);
    const double *support = golden_array(g, "support", 3);
    const double *moves = golden_array(g, "target_moves", 2);
    config.network.hidden =
        (config_ints){.count = 2, .value = {(uint32_t)shape[4], (uint32_t)shape[5]}};
    config.network.activation = POLICY_TANH;
    config.algo.double_q = t->options[DOUBLE];
    config.algo.distributional = t->options[ATOMS];
    config.algo.dueling = t->options[DUELING];
    config.algo.noisy = t->options[NOISY];
    config.algo.atoms = (uint32_t)support[0];
    config.algo.value_min = support[1];
    config.algo.value_max = support[2];
    config.algo.huber_delta = golden_number(g, "huber_delta");
    config.algo.target_period = (uint32_t)moves[0];
    config.algo.target_rate = moves[1];
    golden_adam(g, &config);
    config.learner.batch_size = t->B;
    return config;
}

static void
grid_project(void *arg, const float *params, float *out)
{
    const grid *g = arg;
    for (size_t i = 0; i < g->count; i++) {
        out[i] = roundf(params[i] / g->step) * g->step;
    }
}

// The golden file's first parameters go in the way a checkpoint does.
static void
trial_begin(trial *t)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    golden_put_floats(bytes + fixture_learned_at(&t->spec, t->learned, FIXTURE_PARAMS),
                      golden_array(t->golden, "params", t->learned), t->learned);
    golden_put_floats(bytes + fixture_learned_at(&t->spec, t->learned, FIXTURE_TARGET),
                      golden_array(t->golden, "target", t->learned), t->learned);
    fixture_load_changed(t->a, bytes, length);
    free(bytes);
}

static void
trial_make(trial *t, const char *name)
{
    *t = (trial){.golden = golden_open(name)};
    const double *shape = golden_array(t->golden, "shape", 6);
    for (int i = 0; i < OPTIONS; i++) {
        t->options[i] = golden_array(t->golden, "options", OPTIONS)[i] != 0;
    }
    t->obs = (uint32_t)shape[0];
    t->actions = (uint32_t)shape[1];
    t->B = (uint32_t)shape[2];
    t->steps = (uint32_t)shape[3];
    t->learned = golden_count(t->golden, "params");
    t->config = golden_config(t);
    t->a = fixture_algo(&t->spec, &t->config, t->obs, t->actions, 1);
    t->grid = (grid){policy_spec_params(&t->spec), (float)golden_number(t->golden, "grid")};
    if (t->options[GRID]) {
        algo_set_projection(t->a, &(algo_projection){.arg = &t->grid, .project = grid_project});
    }
    trial_begin(t);
}

static void
expect_saved(const trial *t, fixture_part part, const double *want, double tolerance,
             double relative)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    golden_near_floats(bytes + fixture_learned_at(&t->spec, t->learned, part), want, t->learned,
                       tolerance, relative);
    free(bytes);
}

static void
expect_weights(const trial *t, const float *got, const char *name)
{
    size_t count = policy_spec_params(&t->spec);
    golden_near_floats(got, golden_array(t->golden, name, count), count, 5e-6, 0);
}

static void
check_step(const trial *t, uint32_t step)
{
    algo_batch batch = golden_step_batch(t->golden, step, t->B, t->obs, 0);
    float result[ALGO_NUMBERS_MAX];
    float *priorities = oct_alloc(t->B * sizeof(*priorities));
    T_OK(algo_update(t->a, &batch, (float)t->config.algo.learning_rate, priorities, result));
    double mean = 0;
    for (uint32_t i = 0; i < t->B; i++) {
        double error = fabs(golden_step(t->golden, step, "error", t->B)[i]);
        T_NEAR((double)priorities[i], error, 3e-6, 3e-6);
        mean += error / t->B;
    }
    T_NEAR((double)result[ALGO_TD_ABS], mean, 3e-6, 3e-6);
    T_NEAR((double)result[ALGO_LOSS], golden_step(t->golden, step, "loss", 1)[0], 3e-6, 3e-6);
    T_NEAR((double)result[ALGO_VALUE], golden_step(t->golden, step, "value", 1)[0], 3e-6, 3e-6);
    T_NEAR((double)result[ALGO_GRAD_NORM], golden_step(t->golden, step, "grad_norm", 1)[0], 3e-6,
           3e-6);
    if (t->options[ATOMS]) {
        const double *cut = golden_step(t->golden, step, "cut", 2);
        T_NEAR((double)result[ALGO_CUT_BELOW], cut[0], 1e-6, 4e-6);
        T_NEAR((double)result[ALGO_CUT_ABOVE], cut[1], 1e-6, 4e-6);
    } else {
        assert_true(isnan(result[ALGO_CUT_BELOW]) && isnan(result[ALGO_CUT_ABOVE]));
    }
    // After the first step an eighth of the gradient.
    expect_saved(t, FIXTURE_FIRST_MOMENT, golden_step(t->golden, step, "m", t->learned), 3e-7,
                 1e-5);
    free(priorities);
    fixture_batch_free(&batch);
}

// fp32 against float64, tolerances as in test_algo_dqn_golden.c.
static void
check_combination(unsigned bits)
{
    char name[96] = "rainbow";
    for (unsigned i = 0; i < OPTIONS; i++) {
        if ((bits >> i & 1) != 0) {
            (void)strcat(strcat(name, "_"), option_names[i]);
        }
    }
    trial t;
    trial_make(&t, name);
    for (uint32_t step = 1; step <= t.steps; step++) {
        check_step(&t, step);
    }
    expect_saved(&t, FIXTURE_PARAMS, golden_array(t.golden, "end.params", t.learned), 4e-6, 0);
    expect_saved(&t, FIXTURE_TARGET, golden_array(t.golden, "end.target", t.learned), 4e-6, 0);
    expect_weights(&t, algo_policy_params(t.a), "end.policy");
    const float *behaviour = algo_behaviour_params(t.a, BEHAVIOUR_SAMPLE);
    if (t.options[NOISY]) {
        assert_non_null(behaviour);
        expect_weights(&t, behaviour, "end.behaviour");
    } else {
        assert_null(behaviour);
    }
    algo_destroy(t.a);
    golden_close(t.golden);
}

static void
test_all_combinations_of_options_equal_numpy(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 1u << OPTIONS; bits++) {
        check_combination(bits);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_combinations_of_options_equal_numpy),
    };
    golden_begin(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
