// Messages of the service Replay come back unchanged; bad values are refused with the reason.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "proto/octet.pb-c.h"
#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_refused.h"

static void
test_configure_refuses_bad_tables(void **state)
{
    (void)state;
    wire_configure message = wire_example_configure();
    message.capacity = 0;
    REFUSED(wire_configure, &message, "configure.capacity: is 0");
    message = wire_example_configure();
    message.obs_bytes = 0;
    REFUSED(wire_configure, &message, "obs_bytes: is 0, or too large");
    message.obs_bytes = WIRE_OBS_BYTES_MAX + 4;
    REFUSED(wire_configure, &message, "obs_bytes: is 0, or too large");
    message.obs_bytes = 6;
    REFUSED(wire_configure, &message, "configure.obs_bytes: not a whole number of floats");
    message = wire_example_configure();
    message.action_bytes = 0;
    REFUSED(wire_configure, &message, "action_bytes: not a multiple of 4 within bounds");
    message.action_bytes = 5;
    REFUSED(wire_configure, &message, "action_bytes: not a multiple of 4 within bounds");
    message = wire_example_configure();
    message.extra_dim = WIRE_EXTRA_MAX + 1;
    REFUSED(wire_configure, &message, "extra_dim: too large");
    message = wire_example_configure();
    message.sampler = (wire_sampler)0;
    REFUSED(wire_configure, &message, "configure.sampler: unknown");
    message.sampler = (wire_sampler)4;
    REFUSED(wire_configure, &message, "configure.sampler: unknown");
    message = wire_example_configure();
    message.streams = 0;
    REFUSED(wire_configure, &message, "configure.streams: is 0");
    message = wire_example_configure();
    message.sampler = WIRE_SAMPLER_FIFO;
    REFUSED(wire_configure, &message, "configure.turn_actors: not with sampler FIFO");
    message = wire_example_configure();
    message.turn_actors = WIRE_TURN_ACTORS_MAX + 1;
    REFUSED(wire_configure, &message, "configure.turn_actors, turn: too many");
    message = wire_example_configure();
    message.turn = WIRE_COUNT_MAX + 1;
    REFUSED(wire_configure, &message, "configure.turn_actors, turn: too many");
}

static void
test_configure_brings_a_whole_key_with_a_table_and_none_without(void **state)
{
    (void)state;
    static const char *const reason =
        "configure.token_key: not 32 bytes with a table, none without";
    Octet__Configuration message;
    wire_configure in = wire_example_configure();
    wire_configure_to(&message, &in);
    message.token_key.len = WIRE_TOKEN_KEY_BYTES - 1;
    REFUSED_GENERATED(wire_configure, &message, reason);
    message.token_key.len = 0;
    REFUSED_GENERATED(wire_configure, &message, reason);
    message.token_key.len = WIRE_TOKEN_KEY_BYTES;
    message.limiter_only = true;
    REFUSED_GENERATED(wire_configure, &message, reason);
}

static void
test_configure_has_both_bounds_of_each_number_of_an_action(void **state)
{
    (void)state;
    static const char *const reason =
        "configure.action_low, action_high: not one for each number of an action";
    wire_configure in = wire_example_configure(), out;
    Octet__Configuration message;
    in.action_bounds = 1;
    REFUSED(wire_configure, &in, reason); // the actions are of a discrete set
    in.action_count = 0;
    in.action_is_float = true;
    in.action_bytes = 8;
    REFUSED(wire_configure, &in, reason); // of two numbers
    in.action_bounds = 2;
    memcpy(in.action_low, (const float[]){-1, -INFINITY}, 2 * sizeof(float));
    memcpy(in.action_high, (const float[]){-1, INFINITY}, 2 * sizeof(float));
    T_OK(wire_configure_through(&out, arena, &in));
    assert_int_equal(out.action_bounds, 2);
    assert_memory_equal(out.action_low, in.action_low, sizeof(in.action_low));
    assert_memory_equal(out.action_high, in.action_high, sizeof(in.action_high));
    in.action_low[0] = 0;
    REFUSED(wire_configure, &in, "configure.action_low: above action_high, or not a number");
    in.action_low[0] = NAN;
    REFUSED(wire_configure, &in, "configure.action_low: above action_high, or not a number");
    in.action_low[0] = -1;
    wire_configure_to(&message, &in);
    message.n_action_high = 1;
    REFUSED_GENERATED(wire_configure, &message, reason);
}

static void
test_configure_refuses_bad_windows(void **state)
{
    (void)state;
    wire_configure message = wire_example_configure(), out;
    message.window = (wire_window)0;
    REFUSED(wire_configure, &message, "configure.window: unknown");
    message.window = (wire_window)4;
    REFUSED(wire_configure, &message, "configure.window: unknown");
    message = wire_example_configure();
    message.window_steps = 0;
    REFUSED(wire_configure, &message, "configure.window_steps: outside 1 .. 16384");
    message.window_steps = WIRE_WINDOW_STEPS_MAX + 1;
    REFUSED(wire_configure, &message, "configure.window_steps: outside 1 .. 16384");
    message = wire_example_configure();
    message.window_stride = WIRE_WINDOW_STEPS_MAX + 1;
    REFUSED(wire_configure, &message, "configure.window_stride: above 16384");
    message = wire_example_configure();
    message.discount = 1.01;
    REFUSED(wire_configure, &message, "configure.discount: outside 0 .. 1");
    // The least and the most.
    message = wire_example_configure();
    message.window = WIRE_WINDOW_N_STEP;
    message.window_steps = 1;
    message.window_stride = 0;
    message.discount = 0.0;
    message.reward_clip = 0.0;
    T_OK(wire_configure_through(&out, arena, &message));
    message.window_steps = WIRE_WINDOW_STEPS_MAX;
    message.window_stride = WIRE_WINDOW_STEPS_MAX;
    message.discount = 1.0;
    T_OK(wire_configure_through(&out, arena, &message));
}

static void
test_configure_refuses_numbers_that_are_none(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, -0.5};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        wire_configure message = wire_example_configure();
        message.priority_exponent = bad[i];
        REFUSED(wire_configure, &message,
                "configure.priority_exponent: not a number of at least 0");
        message = wire_example_configure();
        message.discount = bad[i];
        REFUSED(wire_configure, &message, "configure.discount: outside 0 .. 1");
        message = wire_example_configure();
        message.reward_clip = bad[i];
        REFUSED(wire_configure, &message, "configure.reward_clip: not a number of at least 0");
        message = wire_example_configure();
        message.samples_per_insert = bad[i];
        REFUSED(wire_configure, &message,
                "configure.samples_per_insert: not a number of at least 0");
        message.limiter_only = true;
        REFUSED(wire_configure, &message,
                "configure.samples_per_insert: not a number of at least 0");
        message = wire_example_configure();
        message.tolerance = bad[i];
        REFUSED(wire_configure, &message, "configure.tolerance: not a number of at least 0");
    }
}

static void
test_configure_has_a_number_of_actions_of_one_int32_only(void **state)
{
    (void)state;
    const char *words = "configure.action_count: above 256, or of actions that are not one int32";
    wire_configure message = wire_example_configure(), out;
    message.action_count = WIRE_ACTIONS_MAX;
    T_OK(wire_configure_through(&out, arena, &message));
    message.action_count++;
    REFUSED(wire_configure, &message, words);
    message = wire_example_configure();
    message.action_bytes = 8;
    REFUSED(wire_configure, &message, words);
    message = wire_example_configure();
    message.action_is_float = true;
    REFUSED(wire_configure, &message, words);
    message.action_count = 0;
    T_OK(wire_configure_through(&out, arena, &message));
    assert_true(out.action_is_float && out.action_count == 0);
}

static void
test_configured_refuses_what_no_table_has(void **state)
{
    (void)state;
    wire_configured in = wire_example_configured();
    in.balance = INFINITY;
    REFUSED(wire_configured, &in, "configured.balance: not finite");
    in.balance = 0;
    in.returned = in.samples + 1;
    REFUSED(wire_configured, &in, "configured.returned: more than samples");
}

static void
test_configure_names_a_copy_with_every_turn_but_0(void **state)
{
    (void)state;
    Octet__Configuration message;
    wire_configure in = wire_example_configure(), out;
    wire_configure_to(&message, &in);
    message.turn_digest.len = WIRE_HASH_BYTES - 1;
    REFUSED_GENERATED(wire_configure, &message, "configure.turn_digest: length is 31, not 32");
    message.turn_digest.len = WIRE_HASH_BYTES;
    message.turn = 0;
    REFUSED_GENERATED(wire_configure, &message, "configure.turn_digest: length is 32, not 0");
    in.turn = 0;
    T_OK(wire_configure_through(&out, arena, &in));
    static const uint8_t none[WIRE_HASH_BYTES];
    assert_memory_equal(out.turn_digest, none, sizeof(none));
}

static void
test_configure_that_releases_needs_no_table(void **state)
{
    (void)state;
    wire_configure in = {.run_id = 1, .epoch = 77, .release = true}, out;
    T_OK(wire_configure_through(&out, arena, &in));
    assert_true(out.release);
    assert_int_equal(out.run_id, 1);
    assert_int_equal(out.epoch, 77);
}

static void
test_configure_of_the_limiter_alone_needs_no_table(void **state)
{
    (void)state;
    wire_configure in = {.run_id = 1,
                         .samples_per_insert = 8.0,
                         .limiter_only = true,
                         .keep_tolerance = true},
                   out;
    T_OK(wire_configure_through(&out, arena, &in));
    assert_true(out.limiter_only && out.keep_tolerance && !out.keep_samples_per_insert);
}

static void
test_sample_refuses_nothing_and_too_much(void **state)
{
    (void)state;
    wire_sample message = wire_example_sample(), out;
    message.batch_size = 0;
    REFUSED(wire_sample, &message, "sample.batch_size: is 0");
    message = wire_example_sample();
    message.batches = 0;
    REFUSED(wire_sample, &message, "sample.batches: is 0 in a turn");
    message.turn = 0;
    T_OK(wire_sample_through(&out, arena, &message)); // only the counters
    assert_int_equal(out.batches, 0);
    message = wire_example_sample();
    message.batch_size = 65536; // 2^32 windows: 0 in 32 bits
    message.batches = 65536;
    REFUSED(wire_sample, &message, "sample.batch_size * batches: too many");
    message.batch_size = WIRE_SAMPLE_COUNT_MAX;
    message.batches = 1;
    T_OK(wire_sample_through(&out, arena, &message));
    message.turn = (uint64_t)UINT32_MAX + 1; // versions of rows have 32 bits
    REFUSED(wire_sample, &message, "sample.turn: outside 0 .. 4294967295");
    message = wire_example_sample();
    static const uint32_t many[WIRE_TURN_ACTORS_MAX + 1];
    message.turn_actor = many;
    message.turn_actor_count = WIRE_TURN_ACTORS_MAX + 1;
    REFUSED(wire_sample, &message, "sample.turn_actor: more than 256");
}

static void
test_sample_refuses_what_no_shards_have(void **state)
{
    (void)state;
    wire_sample message = wire_example_sample();
    static const struct {
        wire_others others;
        const char *reason;
    } bad[] = {
        {{.inserts = WIRE_COUNT_MAX + 1}, "sample.others_inserts: a count beyond 2^53"},
        {{.samples = WIRE_COUNT_MAX + 1}, "sample.others_samples: a count beyond 2^53"},
        {{.balance = NAN}, "sample.others_balance: not finite"},
        {{.insert_chunk = WIRE_SAMPLE_COUNT_MAX + 1},
         "sample.others_insert_chunk: outside 0 .. 1048576"},
        {{.sample_chunk = WIRE_SAMPLE_COUNT_MAX + 1},
         "sample.others_sample_chunk: outside 0 .. 1048576"},
    };
    wire_configure configure = wire_example_configure();
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        message.others = configure.others = bad[i].others;
        REFUSED(wire_sample, &message, bad[i].reason);
        wire_configure ignored;
        T_ERR(wire_configure_through(&ignored, arena, &configure), OCT_EPROTO);
        wire_arena_reset(arena);
    }
}

static void
test_digest_comes_back_whole_and_has_32_bytes(void **state)
{
    (void)state;
    wire_digest_request request = wire_example_digest_request(), request_out;
    T_OK(wire_digest_request_through(&request_out, arena, &request));
    assert_true(request_out.run_id == request.run_id && request_out.epoch == request.epoch);
    assert_true(request_out.turn == request.turn && request_out.keep == request.keep);
    wire_digest in = wire_example_digest(), out;
    T_OK(wire_digest_through(&out, arena, &in));
    assert_int_equal(out.turn, in.turn);
    assert_memory_equal(out.sha256, in.sha256, WIRE_HASH_BYTES);
    Octet__Digest message;
    wire_digest_to(&message, &in);
    message.sha256.len = WIRE_HASH_BYTES - 1;
    REFUSED_GENERATED(wire_digest, &message, "digest.sha256: length is 31, not 32");
}

static void
test_sessions_are_as_many_as_places_at_most(void **state)
{
    (void)state;
    wire_sessions in = wire_example_sessions(WIRE_PLACES_MAX), out;
    T_OK(wire_sessions_through(&out, arena, &in));
    assert_true(out.run_id == in.run_id && out.count == in.count);
    assert_memory_equal(out.actor_id, in.actor_id, in.count * sizeof(uint32_t));
    assert_memory_equal(out.session, in.session, in.count * sizeof(uint64_t));
    static const uint32_t ids[WIRE_PLACES_MAX + 1];
    static const uint64_t sessions[WIRE_PLACES_MAX + 1];
    in = (wire_sessions){.count = WIRE_PLACES_MAX + 1, .actor_id = ids, .session = sessions};
    REFUSED(wire_sessions, &in, "sessions.session: more than 16384");
    in = wire_example_sessions(3);
    Octet__Sessions message;
    wire_sessions_to(&message, &in);
    message.n_actor_id = 2;
    REFUSED_GENERATED(wire_sessions, &message, "sessions.actor_id: length is 2, not 3");
}

static void
sampled_refused(const Octet__Sampled *message, const char *begin)
{
    wire_sampled out;
    T_ERR(wire_sampled_reparse(&out, arena, message), OCT_EPROTO);
    assert_memory_equal(wire_arena_reason(arena), begin, strlen(begin));
    wire_arena_reset(arena);
}

static void
sampled_lengths_refused(uint32_t window_steps)
{
    wire_sampled in = wire_example_sampled(8, window_steps, 2);
    Octet__Sampled message;
    const struct {
        size_t *length;
        const char *reason; // how it begins
    } columns[] = {
        {&message.n_reward, "sampled: a column's length is not that of the windows"},
        {&message.n_discount, "sampled: a column's length is not that of the windows"},
        {&message.n_probability, "sampled.probability: length is "},
        {&message.n_key, "sampled.key: length is "},
        {&message.n_version, "sampled: a column's length is not that of the windows"},
        {&message.flags.len, "sampled: a column's length is not that of the windows"},
        {&message.n_extra, "sampled.extra: length is not that of the windows"},
        {&message.obs.len, "sampled.obs: length is not that of the windows"},
        {&message.next.len, "sampled.next: length is not that of the windows"},
        {&message.action.len, "sampled.action: length is not that of the windows"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        wire_sampled_to(&message, &in);
        *columns[i].length += 1;
        sampled_refused(&message, columns[i].reason);
        wire_sampled_to(&message, &in);
        if (*columns[i].length > 0) {
            *columns[i].length -= 1;
            sampled_refused(&message, columns[i].reason);
        }
    }
}

static void
test_sampled_refuses_columns_of_another_length(void **state)
{
    (void)state;
    sampled_lengths_refused(0);
    sampled_lengths_refused(1);
    sampled_lengths_refused(3);
    wire_sampled in = wire_example_sampled(8, 0, 2);
    Octet__Sampled message;
    wire_sampled_to(&message, &in);
    message.count = WIRE_SAMPLE_COUNT_MAX + 1;
    REFUSED_GENERATED(wire_sampled, &message, "sampled.count: outside 0 .. 1048576");
    in = wire_example_sampled(128, 0, 2);
    wire_sampled_to(&message, &in);
    message.window_steps = WIRE_WINDOW_STEPS_MAX;
    REFUSED_GENERATED(wire_sampled, &message, "sampled.count: too large");
    wire_sampled_to(&message, &in);
    message.window_steps = WIRE_WINDOW_STEPS_MAX + 1;
    REFUSED_GENERATED(wire_sampled, &message, "sampled.window_steps: outside 0 .. 16384");
}

static void
test_sampled_refuses_flags_of_a_row_that_disagree(void **state)
{
    (void)state;
    const char *reason = "sampled.flags: unknown bits, or an end row with others or a reward";
    static const uint8_t bad[] = {128, WIRE_FAILED, WIRE_ROLLOUT, WIRE_END | WIRE_FIRST,
                                  WIRE_END | WIRE_RANDOM};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        uint8_t flags[6] = {0};
        static const float reward[6];
        wire_sampled in = wire_example_sampled(3, 2, 0), out;
        in.flags = flags;
        in.reward = reward;
        T_OK(wire_sampled_through(&out, arena, &in));
        flags[i] = bad[i];
        REFUSED(wire_sampled, &in, reason);
    }
    static const uint8_t ends[] = {WIRE_END, WIRE_END}; // a short episode is filled up
    const float reward[] = {0, 0.5f}, none[] = {0, 0};
    wire_sampled in = wire_example_sampled(1, 2, 0), out;
    in.flags = ends;
    in.reward = reward;
    REFUSED(wire_sampled, &in, reason);
    in.reward = none;
    T_OK(wire_sampled_through(&out, arena, &in));
}

// A learner bootstraps from what is behind an episode's last action: it has room for one such
// observation for each end row, and for each window.
static void
test_sampled_refuses_an_episode_that_ends_without_an_end_row(void **state)
{
    (void)state;
    static const uint8_t last[] = {WIRE_TERMINATED, WIRE_TRUNCATED, WIRE_TRUNCATED | WIRE_RANDOM};
    for (size_t i = 0; i < OCT_COUNTOF(last); i++) {
        uint8_t flags[6] = {0, last[i], 0, 0, 0, last[i]}; // two windows, each ends there
        static const float reward[6];
        wire_sampled in = wire_example_sampled(2, 3, 0), out;
        in.flags = flags;
        in.reward = reward;
        REFUSED(wire_sampled, &in, "sampled.flags: no end row after an episode's last action");
        flags[2] = WIRE_FIRST;
        REFUSED(wire_sampled, &in, "sampled.flags: no end row after an episode's last action");
        flags[2] = WIRE_END;
        T_OK(wire_sampled_through(&out, arena, &in));
        flags[1] = 0;
        flags[2] = last[i]; // the next window begins anew
        T_OK(wire_sampled_through(&out, arena, &in));
    }
}

static void
test_sampled_refuses_bad_sizes(void **state)
{
    (void)state;
    wire_sampled in = wire_example_sampled(8, 0, 2);
    in.configured = false;
    REFUSED(wire_sampled, &in, "sampled: windows without a table");
    in = wire_example_sampled(8, 0, 2);
    in.obs_bytes = 0;
    REFUSED(wire_sampled, &in, "obs_bytes: is 0, or too large");
    in = wire_example_sampled(8, 0, 2);
    in.action_bytes = 3;
    REFUSED(wire_sampled, &in, "action_bytes: not a multiple of 4 within bounds");
    in = wire_example_sampled(8, 0, WIRE_EXTRA_MAX + 1);
    REFUSED(wire_sampled, &in, "extra_dim: too large");
}

static void
test_sampled_refuses_values_that_cannot_be_used(void **state)
{
    (void)state;
    static const float no_numbers[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < OCT_COUNTOF(no_numbers); i++) {
        float column[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        column[7 - i] = no_numbers[i];
        wire_sampled in = wire_example_sampled(8, 0, 1);
        in.reward = column;
        REFUSED(wire_sampled, &in, "sampled.reward: not finite");
        in = wire_example_sampled(8, 0, 1);
        in.discount = column;
        REFUSED(wire_sampled, &in, "sampled.discount: outside 0 .. 1");
        in = wire_example_sampled(8, 0, 1);
        in.probability = column;
        REFUSED(wire_sampled, &in, "sampled.probability: not above 0 and at most 1");
        in = wire_example_sampled(8, 0, 1);
        in.extra = column;
        REFUSED(wire_sampled, &in, "sampled.extra: not finite");
    }
    wire_sampled ignored;
    for (int i = 0; i < 5; i++) {
        wire_sampled in = wire_example_sampled(1, 0, 0);
        uint64_t *counts[] = {&in.size, &in.inserts, &in.samples, &in.given_up, &in.steps};
        *counts[i] = WIRE_COUNT_MAX + 1;
        T_ERR(wire_sampled_through(&ignored, arena, &in), OCT_EPROTO);
        assert_non_null(strstr(wire_arena_reason(arena), ": a count beyond 2^53"));
        wire_arena_reset(arena);
    }
    for (int i = 0; i < 2; i++) {
        wire_sampled in = wire_example_sampled(1, 0, 0);
        uint32_t *chunks[] = {&in.insert_chunk, &in.sample_chunk};
        *chunks[i] = WIRE_SAMPLE_COUNT_MAX + 1;
        T_ERR(wire_sampled_through(&ignored, arena, &in), OCT_EPROTO);
        assert_non_null(strstr(wire_arena_reason(arena), "_chunk: outside 0 .. 1048576"));
        wire_arena_reset(arena);
    }
    for (size_t i = 0; i <= OCT_COUNTOF(no_numbers); i++) {
        wire_sampled in = wire_example_sampled(1, 0, 0);
        in.mass = i < OCT_COUNTOF(no_numbers) ? (double)no_numbers[i] : -1;
        REFUSED(wire_sampled, &in, "sampled.mass: not a number of at least 0");
        in = wire_example_sampled(1, 0, 0);
        in.balance = (double)no_numbers[i % OCT_COUNTOF(no_numbers)]; // it may be below 0
        REFUSED(wire_sampled, &in, "sampled.balance: not finite");
    }
    wire_sampled turns = wire_example_sampled(1, 0, 0);
    turns.turn = (uint64_t)UINT32_MAX + 1;
    REFUSED(wire_sampled, &turns, "sampled.turn: outside 0 .. 4294967295");
    turns = wire_example_sampled(1, 0, 0);
    turns.turn_batches = (uint32_t)INT32_MAX + 1;
    REFUSED(wire_sampled, &turns, "sampled.turn_batches: outside 0 .. 2147483647");
    static const float bad[] = {0.0f, -0.0f, -0.1f, 1.5f, 1e-45f};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        wire_sampled in = wire_example_sampled(1, 0, 0);
        in.probability = &bad[i];
        REFUSED(wire_sampled, &in, "sampled.probability: not above 0 and at most 1");
    }
}

static void
test_sampled_of_a_replay_without_a_table_survives_the_wire(void **state)
{
    (void)state;
    wire_sampled in = {.incarnation = 9}, out;
    T_OK(wire_sampled_through(&out, arena, &in));
    assert_false(out.configured);
    assert_int_equal(out.count, 0);
    assert_int_equal(out.incarnation, 9);
}

static void
test_priorities_refuse_bad_columns(void **state)
{
    (void)state;
    wire_priorities in = wire_example_priorities(8);
    Octet__Priorities message;
    wire_priorities_to(&message, &in);
    message.n_key = 7;
    REFUSED_GENERATED(wire_priorities, &message, "priorities.priority: length is 8, not 7");
    static const float bad[] = {NAN, INFINITY, -INFINITY, -1e-6f};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        float column[8] = {0};
        column[i * 2] = bad[i];
        in.priority = column;
        REFUSED(wire_priorities, &in, "priorities.priority: not a number of at least 0");
    }
}

static void
test_priorities_more_than_a_sample_are_refused(void **state)
{
    (void)state;
    uint32_t count = WIRE_SAMPLE_COUNT_MAX + 1;
    uint64_t *keys = calloc(count, sizeof(*keys));
    float *values = calloc(count, sizeof(*values));
    assert_true(keys != NULL && values != NULL);
    wire_priorities in = {.count = count, .key = keys, .priority = values};
    REFUSED(wire_priorities, &in, "priorities.key: more than 1048576");
    free(keys);
    free(values);
}

static void
test_priorities_survive_the_wire(void **state)
{
    (void)state;
    float edges[] = {0.0f, FLT_MAX, 1e-45f};
    uint64_t keys[] = {0, UINT64_MAX, 1};
    for (uint32_t count = 0; count <= 3; count++) {
        wire_priorities in = {.incarnation = 1,
                              .count = count,
                              .key = keys,
                              .priority = edges,
                              .run_id = UINT64_MAX,
                              .epoch = 1};
        wire_priorities out;
        T_OK(wire_priorities_through(&out, arena, &in));
        assert_int_equal(out.incarnation, 1);
        assert_true(out.run_id == in.run_id && out.epoch == in.epoch);
        assert_int_equal(out.count, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(out.key[i], keys[i]);
            T_NEAR(out.priority[i], edges[i], 0, 0);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_configure_refuses_bad_tables, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_has_both_bounds_of_each_number_of_an_action,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_refuses_bad_windows, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_refuses_numbers_that_are_none, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_has_a_number_of_actions_of_one_int32_only,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_configured_refuses_what_no_table_has, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_of_the_limiter_alone_needs_no_table,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(
            test_configure_brings_a_whole_key_with_a_table_and_none_without, arena_setup,
            arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_names_a_copy_with_every_turn_but_0,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_configure_that_releases_needs_no_table, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_sample_refuses_nothing_and_too_much, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_sessions_are_as_many_as_places_at_most, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_sample_refuses_what_no_shards_have, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_digest_comes_back_whole_and_has_32_bytes, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_sampled_refuses_columns_of_another_length, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_sampled_refuses_flags_of_a_row_that_disagree,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(
            test_sampled_refuses_an_episode_that_ends_without_an_end_row, arena_setup,
            arena_teardown),
        cmocka_unit_test_setup_teardown(test_sampled_refuses_bad_sizes, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_sampled_refuses_values_that_cannot_be_used,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_sampled_of_a_replay_without_a_table_survives_the_wire,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_priorities_refuse_bad_columns, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_priorities_more_than_a_sample_are_refused, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_priorities_survive_the_wire, arena_setup,
                                        arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
