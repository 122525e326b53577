// Batches of one replay, and of live windows beside a data set's: what is asked for, whose windows
// are where, whose weights, and that priorities return to the replay that their windows came from.
#include <math.h>
#include <stdlib.h>

#include "tests/learner/learner_fixture.h"
#include "tests/support/oct_test.h"

#include "learner/learner_batches.h"

#define SECOND 1000000000ull
#define DATA   2u
#define LIVE   (FIXTURE_B - DATA)

enum { OF_LIVE, OF_DATA };

static const uint8_t token_key[WIRE_TOKEN_KEY_BYTES] = {5};
static const learner_source_place place = {0};
static config_experiment config;
static policy_spec spec;
static oct_rng rng;
static fixture_rows live_rows, data_rows;
static learner_batches_options options;
static learner_batches *batches;

static int
setup(void **state)
{
    (void)state;
    config = fixture_config();
    config.replay.sampler = CONFIG_SAMPLER_PRIORITIZED;
    config.replay.importance_exponent = config.replay.importance_exponent_final = 0.5;
    oct_rng_init(&rng, 1, 0);
    spec = fixture_spec(FIXTURE_OBS, FIXTURE_ACTIONS);
    options = (learner_batches_options){
        .source = {.config = &config,
                   .spec = &spec,
                   .wants = {.window = ALGO_WINDOW_N_STEP, .steps = 3},
                   .run_id = 31,
                   .token_key = token_key},
        .place = &place,
        .now_ns = 10 * SECOND,
    };
    return 0;
}

static void
begin(void)
{
    batches = learner_batches_create(&options);
}

// Two of eight windows are the data set's.
static void
begin_mixed(void)
{
    (void)snprintf(config.replay.data, sizeof(config.replay.data), "steps.data");
    config.replay.data_share = (double)DATA / FIXTURE_B;
    begin();
}

static int
teardown(void **state)
{
    (void)state;
    learner_batches_destroy(batches);
    batches = NULL;
    return 0;
}

static learner_batch *
taken(void)
{
    return learner_batches_take(batches, 0, true);
}

// Batches that the live replay may be asked for now.
static uint32_t
asked(void)
{
    wire_sample request;
    uint32_t windows = learner_batches_request(batches, OF_LIVE, 0, 11 * SECOND, &request);
    assert_int_equal(windows % FIXTURE_B, 0);
    return windows / FIXTURE_B;
}

static oct_err
sampled(uint32_t requested, const wire_sampled *answer)
{
    return learner_batches_sampled(batches, OF_LIVE, requested * FIXTURE_B, answer, 11 * SECOND);
}

// ---- one replay

// 4 held ready and 2 asked for: 6 in all, whatever is missed or short.
static void
test_a_replay_is_asked_for_what_there_is_room_for(void **state)
{
    (void)state;
    begin();
    assert_int_equal(learner_batches_count(batches), 6);
    assert_int_equal(asked() + asked() + asked(), 6);
    assert_int_equal(asked(), 0);
    learner_batches_missed(batches, 0, 2 * FIXTURE_B, 11 * SECOND);
    wire_sample request;
    assert_int_equal(learner_batches_request(batches, 0, 12, 11 * SECOND, &request), 2 * FIXTURE_B);
    assert_int_equal(request.run_id, 31);
    assert_int_equal(request.batches, 2);
    assert_int_equal(request.batch_size, FIXTURE_B);
    assert_int_equal(request.version_min, 0); // any age
    assert_memory_equal(&request.others, &(wire_others){0}, sizeof(request.others));
    wire_sampled answer = fixture_sampled(&live_rows, FIXTURE_B, &rng); // one of two
    T_OK(sampled(2, &answer));
    assert_int_equal(asked(), 1);
    learner_batch *batch = taken();
    assert_non_null(batch);
    assert_null(taken());
    assert_int_equal(asked(), 0);
    learner_batches_give(batches, batch, 12 * SECOND);
    assert_int_equal(asked(), 1);
}

// The first request hears of the table at once; a later one may be held.
static void
test_a_replay_may_hold_all_requests_but_the_first(void **state)
{
    (void)state;
    wire_sample request;
    begin();
    assert_true(learner_batches_request(batches, 0, 0, 11 * SECOND, &request) > 0);
    assert_int_equal(request.timeout_ms, 0);
    assert_true(learner_batches_request(batches, 0, 0, 11 * SECOND, &request) > 0);
    assert_true(request.timeout_ms > 0);
    learner_batches_configured(batches, 0, OCT_OK, &(wire_configured){.table = 7});
    assert_true(learner_batches_request(batches, 0, 0, 11 * SECOND, &request) > 0);
    assert_int_equal(request.timeout_ms, 0);
}

// A replay without a table keeps nobody's windows: they are asked for again.
static void
test_windows_that_a_replay_without_a_table_owed_are_asked_for_again(void **state)
{
    (void)state;
    begin();
    uint32_t requested = asked();
    const wire_sampled none = {.incarnation = 4, .configured = false};
    T_ERR(sampled(requested, &none), OCT_EAGAIN);
    assert_int_equal(asked(), requested);
}

// More than was asked for: what was requested is taken, no more.
static void
test_no_more_is_taken_than_was_asked_for(void **state)
{
    (void)state;
    begin();
    uint32_t requested = asked();
    wire_sampled answer = fixture_sampled(&live_rows, 8 * FIXTURE_B, &rng);
    T_OK(sampled(requested, &answer));
    for (uint32_t i = 0; i < requested; i++) {
        assert_non_null(taken());
    }
    assert_null(taken());
}

// The second batch is none; the first is kept.
static void
test_what_fits_of_a_bad_answer_is_kept(void **state)
{
    (void)state;
    begin();
    uint32_t requested = asked();
    wire_sampled answer = fixture_sampled(&live_rows, 2 * FIXTURE_B, &rng);
    live_rows.action[FIXTURE_B] = FIXTURE_ACTIONS;
    T_ERR(sampled(requested, &answer), OCT_EPROTO);
    assert_int_equal(learner_batches_counts(batches, 0).bad_samples, 1);
    assert_non_null(taken());
    assert_null(taken());
}

// Batches come out in the order they came in, again and again.
static void
test_batches_are_taken_oldest_first(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 20; i++) {
        uint64_t keys[2];
        wire_sampled answer = fixture_sampled(&live_rows, 2 * FIXTURE_B, &rng);
        keys[0] = live_rows.key[0];
        keys[1] = live_rows.key[FIXTURE_B];
        T_OK(sampled(asked(), &answer));
        for (int k = 0; k < 2; k++) {
            learner_batch *batch = taken();
            assert_int_equal(batch->key[0], keys[k]);
            learner_batches_give(batches, batch, 12 * SECOND);
        }
    }
}

static void
want_sequences(uint32_t T)
{
    options.source.wants =
        (algo_wants){.window = ALGO_WINDOW_SEQUENCE, .steps = T, .each_once = true, .lag_max = 4};
    spec.head = POLICY_HEAD_LOGITS;
}

static void
test_windows_that_are_too_old_are_not_asked_for(void **state)
{
    (void)state;
    wire_sample request;
    want_sequences(4);
    begin();
    assert_true(learner_batches_request(batches, 0, 4, 0, &request) > 0);
    assert_int_equal(request.version_min, 0);
    assert_true(learner_batches_request(batches, 0, 11, 0, &request) > 0);
    assert_int_equal(request.version_min, 7);
    learner_batches_destroy(batches);
    options.source.versions =
        (learner_versions){.kept = 6, .reserved = 9}; // gone on, as in learner_versions
    begin();
    assert_true(learner_batches_request(batches, 0, 11, 0, &request) > 0);
    assert_int_equal(request.version_min, 4);
}

// Time counts as waiting while no batch is ready or in work.
static void
test_the_time_without_a_batch_is_counted(void **state)
{
    (void)state;
    begin(); // at 10 s
    T_NEAR(learner_batches_counts(batches, 13 * SECOND).waiting_s, 3, 1e-9, 0);
    wire_sampled answer = fixture_sampled(&live_rows, 2 * FIXTURE_B, &rng);
    uint32_t requested = asked() * FIXTURE_B;
    T_OK(learner_batches_sampled(batches, 0, requested, &answer, 14 * SECOND));
    learner_batch *one = taken(), *two = taken();
    learner_batches_give(batches, one, 20 * SECOND);
    T_NEAR(learner_batches_counts(batches, 21 * SECOND).waiting_s, 4, 1e-9, 0);
    learner_batches_give(batches, two, 22 * SECOND);
    T_NEAR(learner_batches_counts(batches, 25 * SECOND).waiting_s, 7, 1e-9, 0);
    assert_int_equal(learner_batches_counts(batches, 0).first_sample_ns, 14 * SECOND);
}

// Versions from the newest at the request back to those that acted; end rows have none.
static void
test_how_old_sequences_are(void **state)
{
    (void)state;
    enum { T = 3, N = FIXTURE_B };
    static float obs[N][T + 1][FIXTURE_OBS], reward[N][T], extra[N][T], probability[N];
    static int32_t action[N][T];
    static uint8_t flags[N][T];
    static uint32_t version[N][T];
    static uint64_t key[N];
    want_sequences(T);
    begin();
    assert_true(isnan(learner_batches_counts(batches, 0).lag));
    for (int i = 0; i < N; i++) {
        version[i][0] = 10;
        version[i][1] = 7;
        version[i][2] = 0;
        flags[i][2] = WIRE_END;
    }
    wire_sampled answer = {.incarnation = 1,
                           .configured = true,
                           .count = N,
                           .window_steps = T,
                           .obs_bytes = sizeof(obs[0][0]),
                           .action_bytes = 4,
                           .extra_dim = 1,
                           .obs = (uint8_t *)obs,
                           .action = (uint8_t *)action,
                           .reward = &reward[0][0],
                           .flags = &flags[0][0],
                           .version = &version[0][0],
                           .extra = &extra[0][0],
                           .probability = probability,
                           .key = key};
    wire_sample request;
    uint32_t requested = learner_batches_request(batches, 0, 10, 0, &request);
    T_OK(learner_batches_sampled(batches, 0, requested, &answer, 11 * SECOND));
    assert_non_null(taken());
    learner_source_counts counts = learner_batches_counts(batches, 0);
    T_NEAR(counts.lag, 1.5, 1e-12, 0);
    T_NEAR(counts.lag_max, 3, 0, 0);
}

// Each window that was learned from has a priority, and none that was not.
static void
test_priorities_of_what_was_learned_are_returned(void **state)
{
    (void)state;
    wire_priorities priorities;
    begin();
    learner_source *source = learner_batches_source(batches, 0);
    for (int learned = 1; learned >= 0; learned--) {
        wire_sampled answer = fixture_sampled(&live_rows, FIXTURE_B, &rng);
        T_OK(sampled(asked(), &answer));
        learner_batch *batch = taken();
        uint64_t incarnation;
        assert_int_equal(learner_batches_origin(batches, batch, 3, &incarnation), 0);
        assert_int_equal(incarnation, 9);
        batch->learned = learned != 0; // else refused by the algorithm
        for (int i = 0; i < FIXTURE_B; i++) {
            batch->priority[i] = (float)i;
        }
        assert_false(learner_source_priorities(source, &priorities));
        learner_batches_give(batches, batch, 12 * SECOND);
        assert_int_equal(learner_source_priorities(source, &priorities), learned);
        if (learned != 0) {
            assert_int_equal(priorities.count, FIXTURE_B);
            assert_memory_equal(priorities.key, live_rows.key, FIXTURE_B * sizeof(uint64_t));
            assert_true(priorities.priority[3] == 3.0f);
        }
    }
}

// A batch of a process that is no more has no priorities; one of the new process has.
static void
test_priorities_of_a_dead_replay_are_dropped(void **state)
{
    (void)state;
    wire_priorities priorities;
    begin();
    learner_source *source = learner_batches_source(batches, 0);
    learner_batch *batch[2];
    for (uint32_t i = 0; i < 2; i++) {
        wire_sampled answer = fixture_sampled(&live_rows, FIXTURE_B, &rng);
        answer.incarnation = 9 + i;
        T_OK(sampled(asked(), &answer));
        batch[i] = taken();
        batch[i]->learned = true;
    }
    learner_batches_give(batches, batch[0], 12 * SECOND);
    assert_false(learner_source_priorities(source, &priorities));
    learner_batches_give(batches, batch[1], 12 * SECOND);
    assert_true(learner_source_priorities(source, &priorities));
    assert_int_equal(priorities.incarnation, 10);
    assert_int_equal(priorities.count, FIXTURE_B);
}

// For the checkpoint: windows in the batches that were learned from.
static void
test_windows_are_counted_by_batches(void **state)
{
    (void)state;
    begin();
    for (uint64_t n = 1; n <= 100; n++) {
        wire_sampled answer = fixture_sampled(&live_rows, FIXTURE_B, &rng);
        T_OK(sampled(asked(), &answer));
        learner_batches_give(batches, taken(), 12 * SECOND);
        assert_int_equal(learner_batches_place_after(batches, 0, n).samples, n * FIXTURE_B);
        assert_int_equal(learner_batches_place_after(batches, 0, n - n / 2 % 6).samples,
                         (n - n / 2 % 6) * FIXTURE_B);
        assert_int_equal(learner_batches_place_after(batches, 0, 0).samples, 0);
    }
}

// It is told that counters are late, and of nothing else.
static void
test_one_replay_is_asked_for_counters_when_a_sample_is_late(void **state)
{
    (void)state;
    wire_sample request;
    begin();
    assert_false(learner_batches_tell(batches, 0, true, 900 * SECOND, &request)); // no table yet
    learner_batches_configured(batches, 0, OCT_OK, &(wire_configured){.table = 7});
    assert_false(learner_batches_tell(batches, 0, false, 900 * SECOND, &request));
    assert_true(learner_batches_tell(batches, 0, true, 900 * SECOND, &request));
    assert_true(request.batches == 0 && request.run_id == 31);
}

// ---- a data set beside it

// An answer with one batch of windows.
static void
fill(uint32_t member, fixture_rows *rows, uint32_t windows, uint64_t incarnation)
{
    wire_sample request;
    uint32_t requested = learner_batches_request(batches, member, 100, 11 * SECOND, &request);
    assert_true(requested > 0);
    assert_int_equal(request.batch_size, windows);
    assert_int_equal(request.version_min, 0);
    wire_sampled answer = fixture_sampled(rows, windows, &rng);
    answer.incarnation = incarnation;
    T_OK(learner_batches_sampled(batches, member, requested, &answer, 12 * SECOND));
}

static void
test_a_batch_waits_for_both(void **state)
{
    (void)state;
    begin_mixed();
    assert_null(taken());
    fill(OF_LIVE, &live_rows, LIVE, 9);
    assert_null(taken());
    fill(OF_DATA, &data_rows, DATA, 10);
    learner_batch *batch = taken();
    assert_non_null(batch);
    assert_null(taken());
    learner_batches_give(batches, batch, 13 * SECOND);
}

static void
test_windows_are_where_they_belong(void **state)
{
    (void)state;
    begin_mixed();
    fill(OF_LIVE, &live_rows, LIVE, 9);
    fill(OF_DATA, &data_rows, DATA, 10);
    learner_batch *batch = taken();
    assert_int_equal(batch->view.B, LIVE + DATA);
    for (uint32_t i = 0; i < LIVE + DATA; i++) {
        const fixture_rows *rows = i < LIVE ? &live_rows : &data_rows;
        uint32_t at = i < LIVE ? i : i - LIVE;
        assert_memory_equal(batch->obs + i * FIXTURE_OBS, rows->obs[at], sizeof(rows->obs[at]));
        assert_memory_equal(batch->next + i * FIXTURE_OBS, rows->next[at], sizeof(rows->next[at]));
        assert_memory_equal(batch->action + i * 4, &rows->action[at], 4);
        T_NEAR(batch->reward[i], (double)rows->reward[at], 0, 0);
        T_NEAR(batch->discount[i], (double)rows->discount[at], 0, 0);
        // Each source's weights are scaled by its own largest.
        float least = 1;
        for (uint32_t k = 0; k < (i < LIVE ? LIVE : DATA); k++) {
            least = OCT_MIN(least, rows->probability[k]);
        }
        T_NEAR(batch->weight[i], sqrt((double)least / (double)rows->probability[at]), 1e-6, 0);
    }
    learner_batches_give(batches, batch, 13 * SECOND);
}

static void
test_priorities_go_back_to_where_they_came_from(void **state)
{
    (void)state;
    begin_mixed();
    wire_priorities priorities;
    learner_source *live = learner_batches_source(batches, OF_LIVE);
    learner_source *data = learner_batches_source(batches, OF_DATA);
    fill(OF_LIVE, &live_rows, LIVE, 9);
    fill(OF_DATA, &data_rows, DATA, 10);
    learner_batch *batch = taken();
    for (uint32_t i = 0; i < LIVE + DATA; i++) {
        batch->priority[i] = (float)i;
    }
    batch->learned = true;
    learner_batches_give(batches, batch, 13 * SECOND);
    assert_true(learner_source_priorities(live, &priorities));
    assert_int_equal(priorities.count, LIVE);
    assert_int_equal(priorities.incarnation, 9);
    assert_memory_equal(priorities.key, live_rows.key, LIVE * sizeof(uint64_t));
    T_NEAR(priorities.priority[LIVE - 1], LIVE - 1, 0, 0);
    assert_true(learner_source_priorities(data, &priorities));
    assert_int_equal(priorities.count, DATA);
    assert_int_equal(priorities.incarnation, 10);
    assert_memory_equal(priorities.key, data_rows.key, DATA * sizeof(uint64_t));
    T_NEAR(priorities.priority[0], LIVE, 0, 0);
    // What was refused has none.
    fill(OF_LIVE, &live_rows, LIVE, 9);
    fill(OF_DATA, &data_rows, DATA, 10);
    batch = taken();
    batch->learned = false;
    learner_batches_give(batches, batch, 13 * SECOND);
    assert_false(learner_source_priorities(live, &priorities));
    assert_false(learner_source_priorities(data, &priorities));
}

// As many as there can be, given back in another order, again and again.
static void
test_nothing_is_lost_on_the_way(void **state)
{
    (void)state;
    begin_mixed();
    learner_batch *out[64];
    uint32_t most = learner_batches_count(batches);
    assert_true(most > 1 && most <= 64);
    for (int round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < most; i++) {
            fill(OF_LIVE, &live_rows, LIVE, 9);
            fill(OF_DATA, &data_rows, DATA, 10);
            out[i] = taken();
            assert_non_null(out[i]);
            assert_memory_equal(out[i]->obs + (LIVE + DATA - 1) * FIXTURE_OBS,
                                data_rows.obs[DATA - 1], sizeof(data_rows.obs[0]));
        }
        wire_sample request;
        assert_int_equal(learner_batches_request(batches, OF_LIVE, 0, 0, &request),
                         0); // all are out
        for (uint32_t i = most; i > 0; i--) {
            learner_batches_give(batches, out[i - 1], 13 * SECOND);
        }
    }
}

// Of each kind of windows, the time in which no batch had all of them.
static void
test_the_time_without_a_data_set_is_counted(void **state)
{
    (void)state;
    begin_mixed(); // at 10 s
    assert_true(learner_batches_is_data(batches, OF_DATA) &&
                !learner_batches_is_data(batches, OF_LIVE));
    assert_null(learner_batches_source(batches, 2));
    fill(OF_LIVE, &live_rows, LIVE, 9); // at 12 s
    T_NEAR(learner_batches_counts(batches, 15 * SECOND).waiting_s, 2, 1e-9, 0);
    T_NEAR(learner_batches_data_wait_s(batches, 15 * SECOND), 5, 1e-9, 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_replay_is_asked_for_what_there_is_room_for),
        TEST(test_a_replay_may_hold_all_requests_but_the_first),
        TEST(test_windows_that_a_replay_without_a_table_owed_are_asked_for_again),
        TEST(test_no_more_is_taken_than_was_asked_for),
        TEST(test_what_fits_of_a_bad_answer_is_kept),
        TEST(test_batches_are_taken_oldest_first),
        TEST(test_windows_that_are_too_old_are_not_asked_for),
        TEST(test_the_time_without_a_batch_is_counted),
        TEST(test_how_old_sequences_are),
        TEST(test_priorities_of_what_was_learned_are_returned),
        TEST(test_priorities_of_a_dead_replay_are_dropped),
        TEST(test_windows_are_counted_by_batches),
        TEST(test_one_replay_is_asked_for_counters_when_a_sample_is_late),
        TEST(test_a_batch_waits_for_both),
        TEST(test_windows_are_where_they_belong),
        TEST(test_priorities_go_back_to_where_they_came_from),
        TEST(test_nothing_is_lost_on_the_way),
        TEST(test_the_time_without_a_data_set_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
