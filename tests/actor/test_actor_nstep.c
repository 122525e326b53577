#include "actor/actor_nstep.h"
#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

// Episodes of one number each: the observation after step t of episode e is 1000 e + t. The truth
// is kept beside the window and every transition is computed from it by the definition.

#define STEPS_MAX 400

struct step {
    int32_t obs, next, action;
    float reward;
    uint8_t flags; // 0: the episode goes on
};

struct truth {
    struct step steps[STEPS_MAX];
    uint32_t count;
    int32_t now;
    int32_t episode;
};

static actor_batch *
batch_create(uint32_t transitions, uint32_t envs, uint32_t n)
{
    actor_batch_shape shape = {
        .obs_bytes = 4, .action_bytes = 4, .transitions = transitions, .envs = envs, .n_step = n};
    actor_batch *batch = actor_batch_create(&shape);
    actor_batch_begin(batch, 0);
    return batch;
}

static void
truth_begin(struct truth *truth, actor_nstep *nstep, actor_batch *batch, uint32_t i)
{
    truth->now = 1000 * ++truth->episode;
    actor_nstep_begin(nstep, batch, i, &truth->now);
}

static void
truth_step(struct truth *truth, actor_nstep *nstep, actor_batch *batch, uint32_t i, float reward,
           uint8_t flags)
{
    int32_t next = truth->now + 1, action = (int32_t)truth->count;
    truth->steps[truth->count++] = (struct step){truth->now, next, action, reward, flags};
    truth->now = next;
    actor_nstep_step(nstep, batch, i, &action, reward, flags, &next);
    if (flags != 0) {
        truth_begin(truth, nstep, batch, i);
    }
}

static float
clipped(float reward, float clip)
{
    return clip > 0 ? fmaxf(-clip, fminf(clip, reward)) : reward;
}

// Row row of a batch whose observations are all in rows (of the whole session).
static void
assert_transition(const struct truth *truth, const actor_batch *batch, const int32_t *rows,
                  uint32_t row, uint32_t step, uint32_t n, double discount, float clip)
{
    double sum = 0, power = 1;
    uint32_t k = 0;
    uint8_t flags = 0;
    while (k < n && flags == 0) {
        const struct step *one = &truth->steps[step + k];
        sum += power * clipped(one->reward, clip);
        power *= discount;
        flags = one->flags;
        k++;
    }
    int64_t obs = (int64_t)batch->obs_first + batch->obs_offset[row];
    int64_t next = (int64_t)batch->obs_first + batch->next_offset[row];
    int32_t action;
    memcpy(&action, batch->action + 4 * row, 4);
    assert_int_equal(rows[obs], truth->steps[step].obs);
    assert_int_equal(rows[next], truth->steps[step + k - 1].next);
    assert_int_equal(action, truth->steps[step].action);
    // The sum is taken in float: n roundings of at most 2^-24 each.
    T_NEAR(batch->reward[row], sum, 1e-5, 1e-5);
    T_NEAR(batch->discount[row], (flags & WIRE_TERMINATED) != 0 ? 0 : power, 0, 1e-6);
    assert_int_equal(batch->flags[row], flags);
}

static void
check_one_environment(uint32_t n, uint32_t length, uint8_t end, double discount, float clip)
{
    actor_nstep *nstep = actor_nstep_create(1, n, discount, clip, 4);
    actor_batch *batch = batch_create(STEPS_MAX, 1, n);
    struct truth truth = {.count = 0};
    truth_begin(&truth, nstep, batch, 0);
    for (uint32_t t = 1; t <= 3 * length; t++) {
        float reward = (float)((int)(t % 7) - 3) * 0.75f;
        truth_step(&truth, nstep, batch, 0, reward, t % length == 0 ? end : 0);
    }
    // Three whole episodes: each step became one transition, in order of time.
    assert_int_equal(batch->count, truth.count);
    assert_int_equal(batch->obs_count, truth.count + 4);
    for (uint32_t row = 0; row < batch->count; row++) {
        assert_transition(&truth, batch, (const int32_t *)(const void *)batch->obs, row, row, n,
                          discount, clip);
    }
    actor_batch_destroy(batch);
    actor_nstep_destroy(nstep);
}

static void
test_nstep_destroy_of_nothing(void **state)
{
    (void)state;
    actor_nstep_destroy(NULL);
    actor_batch_destroy(NULL);
}

static void
test_nstep_equals_the_definition(void **state)
{
    (void)state;
    static const uint32_t ns[] = {1, 2, 3, 5, 10};
    static const uint32_t lengths[] = {1, 2, 3, 4, 5, 9, 10, 11, 30};
    static const uint8_t ends[] = {WIRE_TERMINATED, WIRE_TRUNCATED,
                                   WIRE_TERMINATED | WIRE_TRUNCATED};
    for (size_t a = 0; a < OCT_COUNTOF(ns); a++) {
        for (size_t b = 0; b < OCT_COUNTOF(lengths); b++) {
            for (size_t c = 0; c < OCT_COUNTOF(ends); c++) {
                check_one_environment(ns[a], lengths[b], ends[c], 0.9, 0);
            }
        }
    }
}

static void
test_nstep_of_discounts_0_and_1(void **state)
{
    (void)state;
    check_one_environment(4, 9, WIRE_TERMINATED, 0, 0);
    check_one_environment(4, 9, WIRE_TRUNCATED, 1, 0);
}

static void
test_nstep_clips_each_reward_before_summing(void **state)
{
    (void)state;
    check_one_environment(3, 7, WIRE_TERMINATED, 0.9, 1);
    check_one_environment(3, 7, WIRE_TRUNCATED, 0.9, 0.5f);
}

static void
test_nstep_terminated_and_truncated_does_not_bootstrap(void **state)
{
    (void)state;
    actor_nstep *nstep = actor_nstep_create(1, 2, 0.5, 0, 4);
    actor_batch *batch = batch_create(8, 1, 2);
    struct truth truth = {.count = 0};
    truth_begin(&truth, nstep, batch, 0);
    truth_step(&truth, nstep, batch, 0, 1, WIRE_TERMINATED | WIRE_TRUNCATED);
    truth_step(&truth, nstep, batch, 0, 1, WIRE_TRUNCATED);
    assert_int_equal(batch->count, 2);
    assert_true(batch->discount[0] == 0);
    assert_int_equal(batch->flags[0], WIRE_TERMINATED | WIRE_TRUNCATED);
    assert_true(batch->discount[1] == 0.5f); // gamma^1: one step until the end
    assert_int_equal(batch->flags[1], WIRE_TRUNCATED);
    actor_batch_destroy(batch);
    actor_nstep_destroy(nstep);
}

static void
test_nstep_begin_forgets_the_open_window(void **state)
{
    (void)state;
    actor_nstep *nstep = actor_nstep_create(1, 3, 0.5, 0, 4);
    actor_batch *batch = batch_create(8, 1, 3);
    struct truth truth = {.count = 0};
    truth_begin(&truth, nstep, batch, 0);
    truth_step(&truth, nstep, batch, 0, 100, 0);
    truth_step(&truth, nstep, batch, 0, 100, 0);
    truth_begin(&truth, nstep, batch, 0); // the environment failed
    truth_step(&truth, nstep, batch, 0, 1, WIRE_TERMINATED);
    assert_int_equal(batch->count, 1);
    assert_true(batch->reward[0] == 1);
    assert_int_equal(batch->obs_offset[0], 3);
    assert_int_equal(batch->next_offset[0], 4);
    actor_batch_destroy(batch);
    actor_nstep_destroy(nstep);
}

// Environments of unlike episodes, batches that are sealed in the middle of windows: numbers go on,
// offsets reach back into earlier batches, and each observation was sent once.
static void
test_nstep_over_batch_boundaries(void **state)
{
    (void)state;
    enum { ENVS = 3, N = 4, ROUNDS = 100 };
    actor_nstep *nstep = actor_nstep_create(ENVS, N, 0.9, 0, 4);
    actor_batch_shape shape = {
        .obs_bytes = 4, .action_bytes = 4, .transitions = 5, .envs = ENVS, .n_step = N};
    actor_batch *batch = actor_batch_create(&shape);
    static struct truth truths[ENVS];
    uint32_t emitted[ENVS] = {0};
    int32_t rows[8 * ROUNDS];
    uint32_t known = 0, batches = 0, negative = 0;
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    memset(truths, 0, sizeof(truths));
    actor_batch_begin(batch, 0);
    for (uint32_t i = 0; i < ENVS; i++) {
        truths[i].episode = 100 * (int32_t)i; // a row tells its environment
        truth_begin(&truths[i], nstep, batch, i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < ENVS; i++) {
            uint32_t chance = oct_rng_below(&rng, 12);
            uint8_t end = chance == 0 ? WIRE_TERMINATED : chance == 1 ? WIRE_TRUNCATED : 0;
            truth_step(&truths[i], nstep, batch, i, oct_rng_float(&rng), end);
        }
        if (actor_batch_has_room(batch, &shape) && round + 1 < ROUNDS) {
            continue;
        }
        assert_int_equal(batch->obs_first, known);
        memcpy(rows + known, batch->obs, 4 * batch->obs_count);
        known += batch->obs_count;
        for (uint32_t row = 0; row < batch->count; row++) {
            uint32_t i =
                (uint32_t)rows[(int64_t)batch->obs_first + batch->obs_offset[row]] / 100000;
            assert_transition(&truths[i], batch, rows, row, emitted[i]++, N, 0.9, 0);
            negative += batch->obs_offset[row] < 0;
        }
        batches++;
        actor_batch_begin(batch, known);
    }
    assert_true(batches > 10 && negative > 10);
    for (uint32_t i = 0; i < ENVS; i++) {
        assert_true(truths[i].count - emitted[i] < N); // only the open window is missing
    }
    actor_batch_destroy(batch);
    actor_nstep_destroy(nstep);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nstep_destroy_of_nothing),
        cmocka_unit_test(test_nstep_equals_the_definition),
        cmocka_unit_test(test_nstep_of_discounts_0_and_1),
        cmocka_unit_test(test_nstep_clips_each_reward_before_summing),
        cmocka_unit_test(test_nstep_terminated_and_truncated_does_not_bootstrap),
        cmocka_unit_test(test_nstep_begin_forgets_the_open_window),
        cmocka_unit_test(test_nstep_over_batch_boundaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
