// Sample replies are copied, converted and weighted, and refused when they do not fit the
// experiment.
#include <stdlib.h>

#include "tests/learner/batch_fixture.h"
#include "tests/support/oct_test.h"

enum { B = 3, OBS = 2, ROWS = 7 };

static policy_spec spec;
static struct {
    float obs[ROWS][OBS], next[ROWS][OBS], reward[ROWS], discount[ROWS], probability[ROWS];
    float extra[ROWS];
    uint8_t obs8[ROWS][OBS], next8[ROWS][OBS];
    int32_t action[ROWS];
    uint64_t key[ROWS];
} columns;

static wire_sampled
sampled_of(policy_dtype dtype)
{
    spec = (policy_spec){
        .obs_dtype = dtype, .obs_count = OBS, .action_kind = POLICY_DISCRETE, .action_count = 4};
    for (uint32_t i = 0; i < ROWS; i++) {
        for (uint32_t k = 0; k < OBS; k++) {
            columns.obs[i][k] = (float)(10 * i + k);
            columns.next[i][k] = (float)(10 * i + k) + 0.5f;
            columns.obs8[i][k] = (uint8_t)(250 + k - i);
            columns.next8[i][k] = (uint8_t)(10 * i + k);
        }
        columns.extra[i] = (float)(100 * i);
        columns.reward[i] = (float)i;
        columns.discount[i] = 0.9f;
        columns.probability[i] = 0.01f * (float)(i + 1);
        columns.action[i] = (int32_t)(i % 4);
        columns.key[i] = 1000 + i;
    }
    return (wire_sampled){
        .configured = true,
        .count = ROWS,
        .obs_bytes = dtype == POLICY_F32 ? sizeof(columns.obs[0]) : sizeof(columns.obs8[0]),
        .action_bytes = 4,
        .obs = dtype == POLICY_F32 ? (uint8_t *)columns.obs : &columns.obs8[0][0],
        .next = dtype == POLICY_F32 ? (uint8_t *)columns.next : &columns.next8[0][0],
        .action = (uint8_t *)columns.action,
        .reward = columns.reward,
        .discount = columns.discount,
        .probability = columns.probability,
        .key = columns.key,
        .extra = columns.extra,
        .size = 200,
    };
}

static void
assert_refused(const wire_sampled *sampled, uint32_t first)
{
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    T_ERR(batch_fill(batch, &spec, sampled, first, 0.5), OCT_EPROTO);
    learner_batch_destroy(batch);
}

// More extra columns than the batch has room for would be written beyond its end.
static void
test_batch_refuses_other_shapes(void **state)
{
    (void)state;
    const wire_sampled good = sampled_of(POLICY_F32);
    wire_sampled bad = good;
    bad.extra_dim = 2;
    assert_refused(&bad, 0);
    bad = good;
    bad.obs_bytes = 4;
    assert_refused(&bad, 0);
    bad = good;
    bad.action_bytes = 8;
    assert_refused(&bad, 0);
    assert_refused(&good, ROWS - B + 1);
    assert_refused(&good, ROWS + 1);
    assert_refused(&good, UINT32_MAX);
    bad = good;
    bad.window_steps = 2; // sequences
    assert_refused(&bad, 0);
    bad = good;
    bad.count = 0;
    assert_refused(&bad, 0);
}

static void
test_batch_refuses_an_action_that_is_none(void **state)
{
    (void)state;
    static const int32_t bad[] = {-1, 4, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        wire_sampled sampled = sampled_of(POLICY_F32);
        columns.action[B - 1] = bad[i];
        assert_refused(&sampled, 0);
        learner_batch *batch = learner_batch_create(&spec, B, 0);
        T_OK(batch_fill(batch, &spec, &sampled, B, 0.5)); // it is not in these rows
        learner_batch_destroy(batch);
    }
}

static void
test_batch_destroy_of_nothing(void **state)
{
    (void)state;
    learner_batch_destroy(NULL);
}

static void
test_batch_copies_its_rows(void **state)
{
    (void)state;
    wire_sampled sampled = sampled_of(POLICY_F32);
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    T_OK(batch_fill(batch, &spec, &sampled, 2, 0.5));
    assert_int_equal(batch->view.B, B);
    assert_memory_equal(batch->view.obs, columns.obs[2], sizeof(float) * B * OBS);
    assert_memory_equal(batch->view.next, columns.next[2], sizeof(float) * B * OBS);
    assert_memory_equal(batch->view.action, &columns.action[2], 4 * B);
    assert_memory_equal(batch->view.reward, &columns.reward[2], 4 * B);
    assert_memory_equal(batch->view.discount, &columns.discount[2], 4 * B);
    assert_memory_equal(batch->key, &columns.key[2], 8 * B);
    learner_batch_destroy(batch);
}

static void
test_batch_takes_extra_columns_that_it_has(void **state)
{
    (void)state;
    wire_sampled sampled = sampled_of(POLICY_F32);
    sampled.extra_dim = 1;
    spec.head = POLICY_HEAD_LOGITS; // the action's log-probability
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    T_OK(batch_fill(batch, &spec, &sampled, 4, 0.5));
    assert_memory_equal(batch->view.extra, &columns.extra[4], sizeof(float) * B);
    sampled.extra_dim = 0; // a data set that a policy without a distribution recorded
    T_OK(batch_fill(batch, &spec, &sampled, 4, 0.5));
    for (uint32_t i = 0; i < B; i++) {
        T_NEAR(batch->view.extra[i], 0, 0, 0);
    }
    sampled.extra_dim = 2;
    T_ERR(batch_fill(batch, &spec, &sampled, 4, 0.5), OCT_EPROTO);
    learner_batch_destroy(batch);
}

// A window is of one episode: the rows of a few would be alike. An end row, and what fills the
// window behind it, is nothing to act on.
static void
test_batch_probe_is_spread_over_windows_and_leaves_out_end_rows(void **state)
{
    (void)state;
    enum { T = 4, WINDOWS = 3 };
    sampled_of(POLICY_F32);
    learner_batch *batch = learner_batch_create(&spec, WINDOWS, T);
    static const uint8_t flags[WINDOWS * T] = {
        ALGO_FIRST, 0,        ALGO_TERMINATED,
        ALGO_END, // 3 actions
        ALGO_FIRST, 0,        0,
        0, // 4
        0,          ALGO_END, ALGO_END,
        ALGO_END, // 1
    };
    static const float actions[] = {0, 1, 2, 5, 6, 7, 8, 10}; // their observations' rows
    memcpy(batch->flags, flags, sizeof(flags));
    for (uint32_t i = 0; i < WINDOWS * (T + 1) * OBS; i++) {
        batch->obs[i] = (float)(i / OBS);
    }
    float probe[WINDOWS * T][OBS];
    assert_int_equal(learner_batch_probe(batch, WINDOWS * T, probe[0]), OCT_COUNTOF(actions));
    for (uint32_t i = 0; i < OCT_COUNTOF(actions); i++) {
        assert_true(probe[i][0] == actions[i] && probe[i][1] == actions[i]);
    }
    assert_int_equal(learner_batch_probe(batch, 4, probe[0]), 4); // of each two the second
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(probe[i][0] == actions[2 * i + 1]);
    }
    memset(batch->flags, ALGO_END, sizeof(flags));
    assert_int_equal(learner_batch_probe(batch, 4, probe[0]), 0);
    learner_batch_destroy(batch);
}

static void
test_batch_probe_of_steps_is_their_observations(void **state)
{
    (void)state;
    const wire_sampled sampled = sampled_of(POLICY_F32);
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    T_OK(batch_fill(batch, &spec, &sampled, 0, 0));
    float probe[B][OBS];
    assert_int_equal(learner_batch_probe(batch, B + 10, probe[0]), B);
    assert_memory_equal(probe, columns.obs, sizeof(probe));
    learner_batch_destroy(batch);
}

static void
test_batch_reads_bytes_as_numbers(void **state)
{
    (void)state;
    wire_sampled sampled = sampled_of(POLICY_U8);
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    T_OK(batch_fill(batch, &spec, &sampled, 1, 0.5));
    for (uint32_t i = 0; i < B; i++) {
        for (uint32_t k = 0; k < OBS; k++) {
            assert_true(batch->obs[i * OBS + k] == (float)(249 + k - i));
            assert_true(batch->next[i * OBS + k] == (float)(10 * (i + 1) + k));
        }
    }
    learner_batch_destroy(batch);
}

// Of pictures: in 256ths, and to try a policy on as they came. A small bound has a larger unit.
static void
test_batch_divides_bytes_by_their_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t high;
        float divisor;
    } bounds[] = {{0, 1}, {1, 1}, {2, 2}, {3, 4}, {100, 128}, {128, 128}, {129, 256}, {255, 256}};
    for (size_t i = 0; i < OCT_COUNTOF(bounds); i++) {
        wire_sampled sampled = sampled_of(POLICY_U8);
        spec.obs_high = bounds[i].high;
        learner_batch *batch = learner_batch_create(&spec, B, 0);
        float probe[B][OBS];
        T_OK(batch_fill(batch, &spec, &sampled, 1, 0.5));
        assert_int_equal(learner_batch_probe(batch, B, probe[0]), B);
        for (uint32_t k = 0; k < B * OBS; k++) {
            float byte = (float)columns.obs8[1 + k / OBS][k % OBS];
            float next = (float)columns.next8[1 + k / OBS][k % OBS];
            assert_true(batch->obs[k] == byte / bounds[i].divisor);
            assert_true(batch->next[k] == next / bounds[i].divisor);
            assert_true(probe[k / OBS][k % OBS] == byte);
        }
        learner_batch_destroy(batch);
    }
}

// T rows of a window and the observation behind them, one window after the other.
static void
test_batch_copies_sequences(void **state)
{
    (void)state;
    enum { T = 4, WINDOWS = 3, TAKEN = 2, FIRST = 1 };
    static float obs[WINDOWS][T + 1][OBS], reward[WINDOWS][T], extra[WINDOWS][T];
    static float probability[WINDOWS];
    static uint8_t flags[WINDOWS][T];
    static uint32_t version[WINDOWS][T];
    static int32_t action[WINDOWS][T];
    static uint64_t key[WINDOWS];
    wire_sampled sampled = sampled_of(POLICY_F32);
    spec.head = POLICY_HEAD_LOGITS;
    for (int w = 0; w < WINDOWS; w++) {
        for (int t = 0; t <= T; t++) {
            obs[w][t][0] = (float)(100 * w + t);
            obs[w][t][1] = -obs[w][t][0];
        }
        for (int t = 0; t < T; t++) {
            reward[w][t] = (float)(10 * w + t);
            extra[w][t] = -(float)(10 * w + t);
            flags[w][t] = t == 2 ? WIRE_END : 0;
            version[w][t] = (uint32_t)(1000 * w + t);
            action[w][t] = (w + t) % 4;
        }
        probability[w] = 0.1f;
        key[w] = (uint64_t)(77 + w);
    }
    sampled.count = WINDOWS;
    sampled.window_steps = T;
    sampled.extra_dim = 1;
    sampled.obs = (uint8_t *)obs;
    sampled.next = NULL;
    sampled.discount = NULL;
    sampled.action = (uint8_t *)action;
    sampled.reward = &reward[0][0];
    sampled.extra = &extra[0][0];
    sampled.flags = &flags[0][0];
    sampled.version = &version[0][0];
    sampled.probability = probability;
    sampled.key = key;
    learner_batch *batch = learner_batch_create(&spec, TAKEN, T);
    T_OK(batch_fill(batch, &spec, &sampled, FIRST, 0));
    assert_int_equal(batch->view.B, TAKEN);
    assert_int_equal(batch->view.T, T);
    assert_memory_equal(batch->view.obs, obs[FIRST], TAKEN * sizeof(obs[0]));
    assert_memory_equal(batch->view.action, action[FIRST], TAKEN * sizeof(action[0]));
    assert_memory_equal(batch->view.reward, reward[FIRST], TAKEN * sizeof(reward[0]));
    assert_memory_equal(batch->view.extra, extra[FIRST], TAKEN * sizeof(extra[0]));
    assert_memory_equal(batch->view.flags, flags[FIRST], TAKEN * sizeof(flags[0]));
    assert_memory_equal(batch->view.version, version[FIRST], TAKEN * sizeof(version[0]));
    assert_memory_equal(batch->key, &key[FIRST], TAKEN * sizeof(key[0]));
    assert_null(batch->view.next);
    assert_null(batch->view.discount);
    action[FIRST + 1][T - 1] = 4; // the last row of the last window
    T_ERR(batch_fill(batch, &spec, &sampled, FIRST, 0), OCT_EPROTO);
    action[FIRST + 1][T - 1] = 0;
    sampled.extra_dim = 0; // an algorithm of sequences reads it
    T_ERR(batch_fill(batch, &spec, &sampled, FIRST, 0), OCT_EPROTO);
    sampled.extra_dim = 1;
    sampled.window_steps = 0;
    T_ERR(batch_fill(batch, &spec, &sampled, 0, 0), OCT_EPROTO);
    learner_batch_destroy(batch);
}

// One window of sequences with a window that it had not before, and the others as they were.
static void
test_batch_copies_one_window_of_another(void **state)
{
    (void)state;
    enum { T = 2, WINDOWS = 3 };
    sampled_of(POLICY_F32);
    learner_batch *from = learner_batch_create(&spec, WINDOWS, T);
    learner_batch *to = learner_batch_create(&spec, WINDOWS, T);
    for (uint32_t i = 0; i < WINDOWS * (T + 1) * OBS; i++) {
        from->obs[i] = (float)(1 + i);
    }
    for (uint32_t i = 0; i < WINDOWS * T; i++) {
        from->reward[i] = (float)(1 + i);
        from->flags[i] = (uint8_t)(1 + i);
        from->version[i] = 1 + i;
        ((int32_t *)from->action)[i] = (int32_t)(1 + i);
    }
    for (uint32_t w = 0; w < WINDOWS; w++) {
        from->key[w] = 1 + w;
        from->probability[w] = (float)(1 + w);
    }
    learner_batch_copy(to, 1, from, 2);
    for (uint32_t i = 0; i < WINDOWS * (T + 1) * OBS; i++) {
        uint32_t window = i / ((T + 1) * OBS);
        assert_true(to->obs[i] == (window == 1 ? (float)(1 + i + (T + 1) * OBS) : 0));
    }
    for (uint32_t i = 0; i < WINDOWS * T; i++) {
        uint32_t want = i / T == 1 ? 1 + i + T : 0;
        assert_true(to->reward[i] == (float)want);
        assert_int_equal(to->flags[i], want);
        assert_int_equal(to->version[i], want);
        assert_int_equal(((int32_t *)to->action)[i], want);
    }
    for (uint32_t w = 0; w < WINDOWS; w++) {
        assert_int_equal(to->key[w], w == 1 ? 3 : 0);
        assert_true(to->probability[w] == (w == 1 ? 3 : 0));
    }
    learner_batch_destroy(from);
    learner_batch_destroy(to);
}

// Rows behind an episode have version 0, which no policy chose.
static void
test_batch_versions_are_those_of_actions(void **state)
{
    (void)state;
    enum { T = 3, WINDOWS = 2 };
    sampled_of(POLICY_F32);
    learner_batch *batch = learner_batch_create(&spec, WINDOWS, T);
    static const uint8_t flags[WINDOWS * T] = {ALGO_FIRST,      0,        0,
                                               ALGO_TERMINATED, ALGO_END, ALGO_END};
    static const uint32_t version[WINDOWS * T] = {7, 5, 9, 8, 0, 0};
    static const learner_versions versions = {0}, gone_on = {.kept = 5, .reserved = 8};
    double mean, most;
    memcpy(batch->flags, flags, sizeof(flags));
    memcpy(batch->version, version, sizeof(version));
    assert_int_equal(learner_batch_version(batch, 0), 5);
    assert_int_equal(learner_batch_version(batch, 1), 8);
    learner_batch_lag(batch, WINDOWS, &versions, 9, &mean, &most);
    T_NEAR(mean, (2 + 4 + 0 + 1) / 4.0, 0, 1e-12);
    T_NEAR(most, 4, 0, 0);
    learner_batch_lag(batch, WINDOWS, &versions, 7, &mean,
                      &most); // newer than what the learner knows of: none
    T_NEAR(mean, 2 / 4.0, 0, 1e-12);
    learner_batch_lag(batch, WINDOWS, &gone_on, 9, &mean, &most);
    T_NEAR(mean, (1 + 1 + 0 + 1) / 4.0, 0, 1e-12);
    T_NEAR(most, 1, 0, 0);
    learner_batch_lag(batch, 1, &versions, 9, &mean, &most); // of the first window alone
    T_NEAR(mean, (2 + 4 + 0) / 3.0, 0, 1e-12);
    memset(batch->flags, ALGO_END, sizeof(flags));
    learner_batch_lag(batch, WINDOWS, &versions, 9, &mean, &most);
    assert_true(isnan(mean) && isnan(most));
    learner_batch_destroy(batch);
}

// w_i = (N p_i)^-beta / max_j (N p_j)^-beta: N cancels, the rarest row has weight 1.
static void
test_batch_importance_weights(void **state)
{
    (void)state;
    static const double exponents[] = {0.2, 0.5, 1, 3};
    wire_sampled sampled = sampled_of(POLICY_F32);
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    for (size_t e = 0; e < OCT_COUNTOF(exponents); e++) {
        T_OK(batch_fill(batch, &spec, &sampled, 1, exponents[e]));
        for (uint32_t i = 0; i < B; i++) {
            T_NEAR(batch->weight[i], pow((i + 2) / 2.0, -exponents[e]), 0, 1e-6);
        }
        assert_true(batch->weight[0] == 1);
    }
    T_OK(batch_fill(batch, &spec, &sampled, 1, 0));
    assert_true(batch->weight[0] == 1 && batch->weight[1] == 1 && batch->weight[2] == 1);
    learner_batch_destroy(batch);
}

// Prioritised replay's beta (Schaul et al. 2016): from the first to the final one over the budget.
static void
test_batch_importance_exponent_is_annealed(void **state)
{
    (void)state;
    config_experiment config;
    config_default(&config);
    config.replay.sampler = CONFIG_SAMPLER_PRIORITIZED;
    config.replay.importance_exponent = config.replay.importance_exponent_final = 0.4;
    T_NEAR(learner_importance_exponent(&config, 0.7), 0.4, 0, 1e-12);
    config.replay.importance_exponent_final = 1;
    T_NEAR(learner_importance_exponent(&config, 0), 0.4, 0, 1e-12);
    T_NEAR(learner_importance_exponent(&config, 0.5), 0.7, 0, 1e-12);
    T_NEAR(learner_importance_exponent(&config, 1), 1, 0, 1e-12);
    config.replay.sampler = CONFIG_SAMPLER_UNIFORM;
    T_NEAR(learner_importance_exponent(&config, 0.5), 0, 0, 0);
}

static void
test_batch_weights_are_finite_for_any_probability(void **state)
{
    (void)state;
    wire_sampled sampled = sampled_of(POLICY_F32);
    static const float odd[] = {0, 1.17549435e-38f, 1, -1, NAN};
    learner_batch *batch = learner_batch_create(&spec, B, 0);
    for (size_t i = 0; i < OCT_COUNTOF(odd); i++) {
        columns.probability[1] = odd[i];
        T_OK(batch_fill(batch, &spec, &sampled, 0, 10));
        for (uint32_t k = 0; k < B; k++) {
            assert_true(batch->weight[k] >= 0 && batch->weight[k] <= 1);
        }
    }
    learner_batch_destroy(batch);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_refuses_other_shapes),
        cmocka_unit_test(test_batch_refuses_an_action_that_is_none),
        cmocka_unit_test(test_batch_destroy_of_nothing),
        cmocka_unit_test(test_batch_copies_its_rows),
        cmocka_unit_test(test_batch_takes_extra_columns_that_it_has),
        cmocka_unit_test(test_batch_copies_sequences),
        cmocka_unit_test(test_batch_copies_one_window_of_another),
        cmocka_unit_test(test_batch_versions_are_those_of_actions),
        cmocka_unit_test(test_batch_probe_is_spread_over_windows_and_leaves_out_end_rows),
        cmocka_unit_test(test_batch_probe_of_steps_is_their_observations),
        cmocka_unit_test(test_batch_reads_bytes_as_numbers),
        cmocka_unit_test(test_batch_divides_bytes_by_their_bound),
        cmocka_unit_test(test_batch_importance_weights),
        cmocka_unit_test(test_batch_importance_exponent_is_annealed),
        cmocka_unit_test(test_batch_weights_are_finite_for_any_probability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
