// Which tables may be configured, when a table is kept, and how much memory it takes.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_file.h"
#include "replay/replay_config.h"
#include "replay/replay_items.h"

static oct_reason reason;

static void
test_config_refuses_numbers_out_of_bounds(void **state)
{
    (void)state;
    wire_configure good = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    T_OK(replay_config_check(&good, &reason));
#define REFUSED(field, value, word)                                                                \
    do {                                                                                           \
        wire_configure bad = good;                                                                 \
        bad.field = value;                                                                         \
        reason.text[0] = '\0';                                                                     \
        T_ERR(replay_config_check(&bad, &reason), OCT_EINVAL);                                     \
        assert_non_null(strstr(reason.text, word));                                                \
    } while (0)
    REFUSED(capacity, 0, "capacity 0");
    REFUSED(capacity, UINT32_MAX, "capacity 4294967295");
    REFUSED(capacity, UINT64_MAX, "rows");
    REFUSED(streams, 0, "streams 0");
    REFUSED(streams, 32, "32 streams and windows of 1 steps need 1024 rows (blocks of 8 rows");
    REFUSED(capacity, 24, "the table holds 24");
    REFUSED(window, (wire_window)0, "window 0");
    REFUSED(window, (wire_window)4, "window 4");
    REFUSED(window_steps, 0, "window_steps 0");
    REFUSED(window_steps, WIRE_WINDOW_STEPS_MAX + 1, "window_steps");
    REFUSED(window_steps, 990, "1 streams and windows of 990 steps need 1008 rows");
    REFUSED(window_stride, (1 << 20) + 1, "window_stride");
    REFUSED(discount, 1.5, "discount 1.5");
    REFUSED(discount, NAN, "discount");
    REFUSED(reward_clip, -1, "reward_clip -1");
    REFUSED(obs_bytes, 0, "obs_bytes 0");
    REFUSED(obs_bytes, 6, "multiple of 4");
    REFUSED(obs_bytes, WIRE_OBS_BYTES_MAX + 4, "obs_bytes");
    REFUSED(action_bytes, 0, "action_bytes 0");
    REFUSED(action_bytes, 5, "multiples of 4");
    REFUSED(action_bytes, 4 * WIRE_ACTIONS_MAX + 4, "action_bytes");
    REFUSED(action_count, WIRE_ACTIONS_MAX + 1, "action_count 257; allowed are at most 256");
    REFUSED(extra_dim, WIRE_EXTRA_MAX + 1, "extra_dim");
    REFUSED(sampler, (wire_sampler)0, "sampler 0");
    REFUSED(sampler, (wire_sampler)4, "sampler 4");
    REFUSED(sampler, (wire_sampler)-1, "sampler");
    REFUSED(priority_exponent, NAN, "priority_exponent");
    REFUSED(priority_exponent, -0.5, "priority_exponent");
    REFUSED(min_size, 1001, "above capacity");
    REFUSED(samples_per_insert, -1, "samples_per_insert");
    REFUSED(samples_per_insert, INFINITY, "samples_per_insert");
    REFUSED(tolerance, NAN, "tolerance");
#undef REFUSED
}

static void
test_config_refuses_windows_larger_than_a_message(void **state)
{
    (void)state;
    wire_configure large = test_configure(1000000, WIRE_SAMPLER_UNIFORM);
    large.obs_bytes = 84 * 84 * 4 * 4;
    large.window = WIRE_WINDOW_SEQUENCE;
    large.window_steps = 2000;
    T_OK(replay_config_check(&large, &reason));
    large.window_steps = 3000;
    T_ERR(replay_config_check(&large, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "more than a message can hold"));
}

// Blocks get smaller where streams are many, so that each has four, or where a window needs more.
static void
test_config_chooses_blocks_by_streams_and_window(void **state)
{
    (void)state;
    static const struct {
        uint64_t capacity;
        uint32_t streams, steps, rows, count;
    } cases[] = {
        {1000000, 64, 1, 64, 15625}, {1001, 1, 1, 64, 16},
        {1024, 4, 5, 64, 16},        {1023, 4, 5, 64, 16},
        {1024, 5, 5, 32, 32},        {1024, 16, 5, 16, 64},
        {1024, 32, 5, 8, 128},       {2048, 4, 128, 64, 32},
        {1024, 4, 180, 32, 32},      {4294967232u, 1, 1, 64, 67108863},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        wire_configure configure = test_configure(cases[i].capacity, WIRE_SAMPLER_UNIFORM);
        configure.streams = cases[i].streams;
        configure.window_steps = cases[i].steps;
        T_OK(replay_config_check(&configure, &reason));
        replay_config_blocks blocks = replay_config_layout(&configure);
        assert_int_equal(blocks.rows, cases[i].rows);
        assert_int_equal(blocks.count, cases[i].count);
    }
}

static void
test_config_decides_by_run_and_numbers(void **state)
{
    (void)state;
    wire_configure now = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    wire_configure next = now;
    replay_config_blocks blocks = replay_config_layout(&now);
#define DECIDES(current, want)                                                                     \
    assert_int_equal(replay_config_decide(current, &blocks, &next, &reason), want)
    DECIDES(NULL, REPLAY_CONFIG_CREATE);
    DECIDES(&now, REPLAY_CONFIG_KEEP);
    next.samples_per_insert = 9;
    next.min_size = 5;
    next.seed = 99;
    next.window = WIRE_WINDOW_SEQUENCE;
    next.window_steps = 20;
    next.window_stride = 10;
    next.discount = 0.9;
    next.reward_clip = 1;
    next.streams = 2;
    DECIDES(&now, REPLAY_CONFIG_KEEP);
    next.streams = 8; // 16 blocks
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
    assert_non_null(strstr(reason.text, "8 streams and windows of 20 steps need 2048 rows"));
    next.streams = 1;
    next.sampler = WIRE_SAMPLER_FIFO;
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
    assert_non_null(strstr(reason.text, "another sampler"));
    next.sampler = now.sampler;
    next.priority_exponent = now.priority_exponent + 0.1;
    DECIDES(&now, REPLAY_CONFIG_KEEP); // uniform: it has no effect
    now.sampler = next.sampler = WIRE_SAMPLER_PRIORITIZED;
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
    assert_non_null(strstr(reason.text, "another priority_exponent"));
    next.run_id++;
    DECIDES(&now, REPLAY_CONFIG_REPLACE);
    next.limiter_only = true;
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
    DECIDES(NULL, REPLAY_CONFIG_REFUSE);
    next.run_id = now.run_id;
    DECIDES(&now, REPLAY_CONFIG_KEEP); // whatever else it says
#undef DECIDES
}

static void
test_config_budget_names_every_part_and_adds_up(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000000, WIRE_SAMPLER_PRIORITIZED);
    replay_budget_line lines[REPLAY_BUDGET_LINES];
    uint64_t sum = 0,
             total = replay_config_budget(&configure, replay_config_layout(&configure), lines);
    for (int i = 0; i < REPLAY_BUDGET_LINES; i++) {
        assert_non_null(lines[i].name);
        sum += lines[i].bytes;
    }
    assert_int_equal(sum, total);
    // 16 + 4 bytes of observation and action, reward, version, flags; a header of 64 for 64 rows.
    assert_int_equal(lines[0].bytes, 1000000 * (16 + 4 + 4 + 4 + 1 + 1));
    assert_true(lines[3].bytes >= 9000000); // a sum tree of 9.1 bytes each
    assert_int_equal(lines[5].bytes, 8192 * (replay_config_window_bytes(&configure) + 4));
    configure.capacity = REPLAY_CAPACITY_MAX; // does not overflow
    configure.obs_bytes = WIRE_OBS_BYTES_MAX;
    assert_true(replay_config_budget(&configure, replay_config_layout(&configure), lines) >
                (uint64_t)4 << 50);
}

__attribute__((format(scanf, 2, 4))) static void
page_read(const char *page, const char *format, int count, ...)
{
    va_list numbers;
    char name[32];
    assert_int_equal(sscanf(format, "%31s", name), 1);
    const char *memory = strstr(page, "\n## Memory"), *line = memory ? strstr(memory, name) : NULL;
    assert_non_null(line);
    va_start(numbers, count);
    int got = vsscanf(line, format, numbers);
    va_end(numbers);
    assert_int_equal(got, count);
}

// What docs/internals/replay.md says of the memory is what is reserved.
static void
test_config_budget_is_that_of_the_page(void **state)
{
    (void)state;
    uint8_t *page;
    size_t length;
    T_OK(oct_file_read(REPLAY_PAGE, 1u << 20, &page, &length));
    const char *text = (const char *)page;
    double row, block, stream, stream_beyond, beyond, batch_row, window, weight, queue, sessions,
        session;
    page_read(text, "blocks rows · (obs_bytes + action_bytes + 4·extra_dim + %lf) and %lf bytes", 2,
              &row, &block);
    page_read(
        text,
        "streams %lf bytes a block, %lf each beyond %lf blocks; %lf bytes a row of the largest", 4,
        &stream, &stream_beyond, &beyond, &batch_row);
    page_read(text, "windows %lf bytes a block", 1, &window);
    page_read(text, "sampler prioritized: %lf bytes a row; fifo: %lf; uniform: nothing", 2, &weight,
              &queue);
    page_read(text, "sessions %lf actors, %lf bytes each", 2, &sessions, &session);
    free(page);
    for (int i = 0; i < 6; i++) {
        static const wire_sampler samplers[] = {WIRE_SAMPLER_UNIFORM, WIRE_SAMPLER_PRIORITIZED,
                                                WIRE_SAMPLER_FIFO};
        wire_configure configure = test_configure(i < 3 ? 1000000 : 10000000, samplers[i % 3]);
        configure.extra_dim = 2;
        replay_config_blocks blocks = replay_config_layout(&configure);
        replay_budget_line lines[REPLAY_BUDGET_LINES];
        (void)replay_config_budget(&configure, blocks, lines);
        double count = blocks.count, rows = count * blocks.rows;
        double more = count > beyond ? count - beyond : 0;
        const double want[] = {
            rows * (16 + 4 + 4 * 2 + row) + count * block,
            (count - more) * stream + more * stream_beyond +
                batch_row * replay_config_batch_rows(&configure),
            count * window,
            rows * (i % 3 == 1   ? weight
                    : i % 3 == 2 ? queue
                                 : 0),
            sessions * session,
        };
        for (size_t k = 0; k < OCT_COUNTOF(want); k++) {
            T_NEAR((double)lines[k].bytes, want[k], 64, 0.002); // the structs around them
        }
    }
}

static void
test_config_reply_fits_into_a_message(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    assert_int_equal(replay_config_reply_windows(&configure), 65536);
    configure.obs_bytes = 84 * 84 * 4;
    uint64_t windows = replay_config_reply_windows(&configure);
    uint64_t bytes = windows * replay_config_window_bytes(&configure);
    assert_true(bytes < WIRE_MESSAGE_BYTES_MAX && bytes > WIRE_MESSAGE_BYTES_MAX / 2);
    configure.window = WIRE_WINDOW_SEQUENCE;
    configure.window_steps = 100;
    windows = replay_config_reply_windows(&configure);
    bytes = windows * replay_config_window_bytes(&configure);
    assert_true(bytes < WIRE_MESSAGE_BYTES_MAX && bytes > WIRE_MESSAGE_BYTES_MAX / 2);
    configure.obs_bytes = 4;
    configure.window_steps = 1023; // rows, too, are bounded
    assert_int_equal(replay_config_reply_windows(&configure), WIRE_SAMPLE_COUNT_MAX / 1024);
}

static void
test_config_knows_how_many_windows_a_batch_may_have(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    replay_config_blocks blocks = replay_config_layout(&configure);
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 65536); // with repetitions
    configure.sampler = WIRE_SAMPLER_FIFO; // each once: 16 blocks of 64 rows, less two
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 14 * 64 / 2); // an end row
    configure.window = WIRE_WINDOW_SEQUENCE;
    configure.window_steps = configure.window_stride = 10;
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 14 * 64 / 10);
    configure.window_steps = configure.window_stride = 1; // of episodes of one step every other row
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 14 * 64 / 2);
    configure.window_stride = 0; // whole episodes
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 14 * 64 / 2);
    configure.window_steps = 50; // the longest count
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 14 * 64 / 51);
    configure.window_steps = 199; // one is under way, in more than two blocks
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), (16 * 64 - 200) / 200);
    configure.window = WIRE_WINDOW_ROLLOUT; // they come whole
    assert_int_equal(replay_config_batch_windows(&configure, &blocks), 14 * 64 / 200);
}

// The least rows that are named to whom has too few.
static void
test_config_knows_which_capacity_a_batch_needs(void **state)
{
    (void)state;
    static const struct {
        wire_window window;
        uint32_t streams, steps, stride, windows;
    } cases[] = {{WIRE_WINDOW_N_STEP, 1, 3, 0, 500},
                 {WIRE_WINDOW_SEQUENCE, 16, 500, 0, 16},
                 {WIRE_WINDOW_SEQUENCE, 16, 20, 20, 64},
                 {WIRE_WINDOW_ROLLOUT, 8, 127, 0, 8}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        wire_configure configure = test_configure(1, WIRE_SAMPLER_FIFO);
        configure.window = cases[i].window;
        configure.streams = cases[i].streams;
        configure.window_steps = cases[i].steps;
        configure.window_stride = cases[i].stride;
        uint64_t capacity = replay_config_capacity_for(&configure, cases[i].windows);
        for (int less = 0; less < 2; less++) {
            configure.capacity = capacity - (uint64_t)less;
            replay_config_blocks blocks = replay_config_layout(&configure);
            uint32_t most = replay_config_batch_windows(&configure, &blocks);
            assert_true(less ? most < cases[i].windows : most >= cases[i].windows);
        }
    }
    wire_configure configure = test_configure(1, WIRE_SAMPLER_FIFO);
    assert_int_equal(replay_config_capacity_for(&configure, 65537), 0); // no answer holds so many
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_refuses_numbers_out_of_bounds),
        cmocka_unit_test(test_config_refuses_windows_larger_than_a_message),
        cmocka_unit_test(test_config_chooses_blocks_by_streams_and_window),
        cmocka_unit_test(test_config_decides_by_run_and_numbers),
        cmocka_unit_test(test_config_budget_names_every_part_and_adds_up),
        cmocka_unit_test(test_config_budget_is_that_of_the_page),
        cmocka_unit_test(test_config_reply_fits_into_a_message),
        cmocka_unit_test(test_config_knows_how_many_windows_a_batch_may_have),
        cmocka_unit_test(test_config_knows_which_capacity_a_batch_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
