// What the tests of algos/ share: small experiments, random batches, saving, loading, refusals.
#include "tests/algos/algo_fixture.h"
#include "common/oct_reason.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/oct_test.h"

config_experiment
fixture_config(void)
{
    config_experiment config = {0};
    config.network.hidden = (config_ints){.count = 2, .value = {8, 8}};
    config.network.activation = POLICY_RELU;
    config.algo.name = CONFIG_ALGO_DQN;
    config.algo.discount = 0.99;
    config.algo.n_step = 1;
    config.algo.double_q = true;
    config.algo.huber_delta = 1.0;
    config.algo.learning_rate = 1e-3;
    config.algo.adam_beta1 = 0.9;
    config.algo.adam_beta2 = 0.999;
    config.algo.adam_epsilon = 1e-8;
    config.algo.target_period = 100;
    config.algo.target_rate = 1.0;
    config.learner.batch_size = 16;
    return config;
}

void
fixture_set_rainbow(config_experiment *config)
{
    config->algo.distributional = config->algo.dueling = config->algo.noisy = true;
    config->algo.noisy_sigma = 0.5;
    config->algo.noisy_samples = 1;
    config->algo.atoms = 11;
    config->algo.value_min = -5;
    config->algo.value_max = 5;
}

policy_spec
fixture_env(uint32_t obs_count, uint32_t action_count)
{
    return (policy_spec){
        .env_id = "Fixture-v0",
        .obs_dtype = POLICY_F32,
        .obs_count = obs_count,
        .action_kind = POLICY_DISCRETE,
        .action_count = action_count,
    };
}

policy_spec
fixture_box_env(uint32_t obs_count, uint32_t dim)
{
    policy_spec spec = fixture_env(obs_count, dim);
    spec.action_kind = POLICY_BOX;
    for (uint32_t i = 0; i < dim; i++) {
        spec.action_low[i] = -2;
        spec.action_high[i] = 2;
    }
    return spec;
}

algo *
fixture_create(policy_spec *spec, const config_experiment *config, uint64_t seed)
{
    oct_reason why = {""};
    algo *a = NULL;
    if (algo_make_spec(config, spec, NULL, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    T_OK(algo_create(&a, NULL, config, spec, seed));
    return a;
}

algo *
fixture_algo(policy_spec *spec, const config_experiment *config, uint32_t obs_count,
             uint32_t action_count, uint64_t seed)
{
    *spec = fixture_env(obs_count, action_count);
    return fixture_create(spec, config, seed);
}

algo *
fixture_table(const config_experiment *config, uint32_t states, uint32_t actions)
{
    policy_spec spec = fixture_env(states, actions);
    spec.obs_dtype = POLICY_U8;
    spec.obs_rank = 1;
    spec.obs_shape[0] = states;
    return fixture_create(&spec, config, 1);
}

static float *
random_floats(oct_rng *rng, size_t count, float low, float high)
{
    float *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = low + (high - low) * oct_rng_float(rng);
    }
    return x;
}

algo_batch
fixture_batch(oct_rng *rng, uint32_t B, uint32_t obs_count, uint32_t action_count)
{
    size_t count = (size_t)B * obs_count;
    int32_t *action = oct_alloc(B * sizeof(*action));
    for (uint32_t i = 0; i < B; i++) {
        action[i] = (int32_t)oct_rng_below(rng, action_count);
    }
    float *discount = random_floats(rng, B, 0.8f, 1.0f);
    discount[0] = 0.0f;
    return (algo_batch){
        .B = B,
        .obs = random_floats(rng, count, -1.0f, 1.0f),
        .next = random_floats(rng, count, -1.0f, 1.0f),
        .action = action,
        .reward = random_floats(rng, B, -2.0f, 2.0f),
        .discount = discount,
        .weight = random_floats(rng, B, 0.1f, 1.0f),
    };
}

void
fixture_batch_free(algo_batch *batch)
{
    free((void *)batch->obs);
    free((void *)batch->next);
    free((void *)batch->action);
    free((void *)batch->reward);
    free((void *)batch->discount);
    free((void *)batch->weight);
    free((void *)batch->flags);
    free((void *)batch->version);
    free((void *)batch->extra);
}

uint8_t *
fixture_save(const algo *a, size_t *length)
{
    oct_writer measure = {0};
    algo_save(a, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used), .capacity = measure.used};
    algo_save(a, &writer);
    assert_false(writer.failed);
    assert_int_equal(writer.used, measure.used);
    *length = writer.used;
    return writer.base;
}

void
fixture_same_state(const algo *a, const algo *b)
{
    size_t length, other;
    uint8_t *x = fixture_save(a, &length), *y = fixture_save(b, &other);
    assert_int_equal(length, other);
    assert_memory_equal(x, y, length);
    free(x);
    free(y);
}

float
fixture_number(const config_experiment *config, const float *numbers, const char *name)
{
    uint32_t count;
    const algo_number *list = algo_numbers(config, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return numbers[i];
        }
    }
    fail_msg("no number %s", name);
    return NAN;
}

size_t
fixture_part_at(const policy_spec *spec, fixture_part part)
{
    return fixture_learned_at(spec, policy_spec_params(spec), part);
}

size_t
fixture_learned_at(const policy_spec *spec, size_t learned, fixture_part part)
{
    size_t floats = learned * sizeof(float);
    size_t shape = 4 + (size_t)spec->layer_count * 10;
    size_t at = FIXTURE_HEADER_BYTES + shape;
    switch (part) {
    case FIXTURE_PARAMS:
        return at;
    case FIXTURE_FIRST_MOMENT:
        return at + floats + 8; // the count of steps lies between
    case FIXTURE_SECOND_MOMENT:
        return at + 2 * floats + 8;
    case FIXTURE_TARGET:
        return at + 3 * floats + 8 + shape;
    case FIXTURE_PARTS:
        break;
    }
    fail();
    return 0;
}

fixture_trial
fixture_trial_make(const config_experiment *config, policy_spec env, algo_batch batch,
                   uint64_t seed)
{
    fixture_trial t = {.config = *config, .spec = env, .batch = batch};
    t.a = fixture_create(&t.spec, config, seed);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 3; i++) {
        T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
    }
    return t;
}

void
fixture_trial_free(fixture_trial *t)
{
    fixture_batch_free(&t->batch);
    algo_destroy(t->a);
}

void
fixture_seal(uint8_t *bytes, size_t length)
{
    uint32_t crc = oct_crc32c(0, bytes, length - FIXTURE_CHECKSUM_BYTES);
    memcpy(bytes + length - FIXTURE_CHECKSUM_BYTES, &crc, sizeof(crc));
}

void
fixture_load_changed(algo *a, uint8_t *bytes, size_t length)
{
    fixture_seal(bytes, length);
    oct_reader reader = {.at = bytes, .left = length};
    T_OK(algo_load(a, &reader));
}

algo_batch
fixture_corridor_batch(fixture_corridor *c)
{
    *c = (fixture_corridor){0};
    for (int i = 0; i < CORRIDOR_ROWS; i++) {
        int cell = i / 2;
        bool right = i % 2 == 1;
        bool leaves = right && cell == CORRIDOR - 1;
        int to = right ? cell + 1 : OCT_MAX(cell - 1, 0);
        c->obs[i][cell] = 1.0f;
        c->next[i][leaves ? cell : to] = 1.0f;
        c->action[i] = right;
        c->reward[i] = leaves ? 1.0f : 0.0f;
        c->discount[i] = leaves ? 0.0f : CORRIDOR_DISCOUNT;
        c->weight[i] = 1.0f;
    }
    return (algo_batch){
        .B = CORRIDOR_ROWS,
        .obs = c->obs[0],
        .next = c->next[0],
        .action = c->action,
        .reward = c->reward,
        .discount = c->discount,
        .weight = c->weight,
    };
}

void
fixture_update_refused(algo *a, const algo_batch *batch, oct_err want)
{
    size_t bytes = 2 * OCT_MAX(batch->B, 16u) * sizeof(float); // more than an update may write
    float *priorities = oct_alloc(bytes);
    float result[ALGO_NUMBERS_MAX] = {12}, same[ALGO_NUMBERS_MAX] = {12};
    size_t length;
    uint8_t *was = fixture_save(a, &length);
    memset(priorities, 0x3f, bytes);
    T_ERR(algo_update(a, batch, 1e-2f, priorities, result), want);
    uint8_t *now = fixture_save(a, &length);
    assert_memory_equal(was, now, length);
    assert_memory_equal(&result, &same, sizeof(result));
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(((uint8_t *)priorities)[i], 0x3f);
    }
    free(priorities);
    free(was);
    free(now);
}

void
fixture_columns_refused(fixture_trial *t, float bad)
{
    float *columns[] = {(float *)t->batch.obs, (float *)t->batch.next, (float *)t->batch.reward,
                        (float *)t->batch.discount, (float *)t->batch.weight};
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        float kept = columns[i][7];
        columns[i][7] = bad;
        fixture_update_refused(t->a, &t->batch, OCT_EINTERNAL);
        columns[i][7] = kept;
    }
}

void
fixture_spec_refused(const config_experiment *config, policy_spec spec, const char *says)
{
    oct_reason why = {""};
    T_ERR(algo_make_spec(config, &spec, NULL, &why), OCT_EINVAL);
    if (strstr(why.text, says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", why.text, says);
    }
    T_ERR(algo_make_spec(config, &spec, NULL, NULL), OCT_EINVAL);
}

void
fixture_load_refused(algo *a, const uint8_t *bytes, size_t length)
{
    size_t saved;
    uint8_t *was = fixture_save(a, &saved);
    uint8_t *copy = malloc(OCT_MAX(length, (size_t)1));
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    oct_reader reader = {.at = copy, .left = length};
    T_ERR(algo_load(a, &reader), OCT_EPROTO);
    uint8_t *now = fixture_save(a, &saved);
    assert_memory_equal(was, now, saved);
    free(copy);
    free(was);
    free(now);
}

void
fixture_double_weights(void *arg, const float *params, float *out)
{
    size_t count = *(const size_t *)arg;
    for (size_t i = 0; i < count; i++) {
        out[i] = 2.0f * params[i];
    }
}

void
fixture_grid_project(void *arg, const float *params, float *out)
{
    fixture_grid *g = arg;
    g->calls++;
    for (size_t i = 0; i < g->count; i++) {
        out[i] = roundf(params[i] / FIXTURE_GRID) * FIXTURE_GRID;
    }
}

void
fixture_identity_project(void *arg, const float *params, float *out)
{
    fixture_grid *g = arg;
    g->calls++;
    memcpy(out, params, g->count * sizeof(float));
}

void
fixture_normalising_refused(config_experiment config, policy_spec spec)
{
    oct_reason why = {""};
    spec.obs_dtype = POLICY_U8;
    T_ERR(algo_make_spec(&config, &spec, NULL, &why), OCT_EINVAL);
    assert_string_equal(why.text, "algo.normalise_observations: only float32 observations into a "
                                  "dense first layer are normalised");
    spec.obs_dtype = POLICY_F32;
    config.learner.freeze = (config_ints){.count = 1, .value = {0}};
    T_ERR(algo_make_spec(&config, &spec, NULL, &why), OCT_EINVAL);
    assert_string_equal(
        why.text,
        "learner.freeze: layer 0 changes with the statistics of algo.normalise_observations");
    config.learner.freeze.value[0] = 1;
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
}
