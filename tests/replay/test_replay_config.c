#include "tests/replay/replay_test.h"

#include "replay/replay_config.h"
#include "replay/replay_store.h"

static char reason[256];

static void
test_config_refuses_numbers_out_of_bounds(void **state)
{
    (void)state;
    wire_configure good = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    T_OK(replay_config_check(&good, reason, sizeof(reason)));
#define REFUSED(field, value, word)                                                                \
    do {                                                                                           \
        wire_configure bad = good;                                                                 \
        bad.field = value;                                                                         \
        reason[0] = '\0';                                                                          \
        T_ERR(replay_config_check(&bad, reason, sizeof(reason)), OCT_EINVAL);                      \
        assert_non_null(strstr(reason, word));                                                     \
    } while (0)
    REFUSED(capacity, 0, "capacity 0");
    REFUSED(capacity, UINT32_MAX, "capacity 4294967295");
    REFUSED(capacity, UINT64_MAX, "transitions are allowed");
    REFUSED(obs_bytes, 0, "obs_bytes 0");
    REFUSED(obs_bytes, 6, "multiple of 4 for floats");
    REFUSED(obs_bytes, WIRE_OBS_BYTES_MAX + 4, "obs_bytes");
    REFUSED(action_bytes, 0, "action_bytes 0");
    REFUSED(action_bytes, 5, "multiple of 4");
    REFUSED(action_bytes, 4 * WIRE_ACTIONS_MAX + 4, "action_bytes");
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
test_config_decides_by_run_and_numbers(void **state)
{
    (void)state;
    wire_configure now = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    wire_configure next = now;
#define DECIDES(current, want)                                                                     \
    assert_int_equal(replay_config_decide(current, &next, reason, sizeof(reason)), want)
    DECIDES(NULL, REPLAY_CONFIG_CREATE);
    DECIDES(&now, REPLAY_CONFIG_KEEP);
    next.samples_per_insert = 9;
    next.min_size = 5;
    next.seed = 99;
    DECIDES(&now, REPLAY_CONFIG_KEEP);
    next.sampler = WIRE_SAMPLER_FIFO;
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
    assert_non_null(strstr(reason, "another sampler"));
    next.run_id++;
    DECIDES(&now, REPLAY_CONFIG_REPLACE);
    next.limiter_only = true;
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
    DECIDES(NULL, REPLAY_CONFIG_REFUSE);
    next.run_id = now.run_id;
    DECIDES(&now, REPLAY_CONFIG_KEEP); // whatever else it says
    next.min_size = 1001;
    DECIDES(&now, REPLAY_CONFIG_REFUSE);
#undef DECIDES
}

static void
test_config_budget_names_every_part_and_adds_up(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000000, WIRE_SAMPLER_PRIORITIZED);
    replay_budget_line lines[REPLAY_BUDGET_LINES];
    uint64_t sum = 0, total = replay_config_budget(&configure, lines);
    for (int i = 0; i < REPLAY_BUDGET_LINES; i++) {
        assert_non_null(lines[i].name);
        sum += lines[i].bytes;
    }
    assert_int_equal(sum, total);
    // 1.25 observations of 16 bytes a transition and the look-back; a sum tree of 16 bytes each.
    assert_int_equal(lines[0].bytes, (1250000 + 4096 + 2) * 16);
    assert_true(lines[2].bytes >= 16000000);
    configure.capacity = REPLAY_CAPACITY_MAX; // does not overflow
    configure.obs_bytes = WIRE_OBS_BYTES_MAX;
    assert_true(replay_config_budget(&configure, lines) > (uint64_t)5 << 50);
}

static void
test_config_reply_fits_into_a_message(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    assert_int_equal(replay_config_reply_rows(&configure), 8192);
    configure.obs_bytes = 84 * 84 * 4;
    uint64_t bytes = replay_config_reply_rows(&configure) * replay_config_row_bytes(&configure);
    assert_true(bytes < WIRE_MESSAGE_BYTES_MAX && bytes > WIRE_MESSAGE_BYTES_MAX / 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_refuses_numbers_out_of_bounds),
        cmocka_unit_test(test_config_decides_by_run_and_numbers),
        cmocka_unit_test(test_config_budget_names_every_part_and_adds_up),
        cmocka_unit_test(test_config_reply_fits_into_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
