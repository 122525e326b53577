// The status block and status line of a run fit the terminal and show every number.
#include "cli/run/cli_view.h"
#include "tests/support/oct_test.h"

static cli_run_status
running_status(void)
{
    cli_run_status status;
    cli_run_status_init(&status, "runs/CartPole-v1-1");
    (void)snprintf(status.state, sizeof(status.state), "training");
    double *value = status.numbers.value;
    value[CLI_ENV_STEPS] = 25000;
    value[CLI_ENV_STEPS_BUDGET] = 100000;
    value[CLI_ENV_STEPS_PER_S] = 50000;
    value[CLI_UPDATES_PER_S] = 1234;
    value[CLI_SAMPLES_PER_INSERT] = 8.01;
    value[CLI_POLICY_VERSION] = 17;
    value[CLI_EVAL_RETURN] = 321.5;
    value[CLI_EVAL_RETURN_STD] = 12;
    value[CLI_EVAL_BEST] = 400;
    value[CLI_EVALUATIONS] = 1;
    status.goal = 475;
    (void)cli_run_status_update(&status, 12.3);
    return status;
}

static void
test_block_never_is_wider_than_the_terminal(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    static cli_block block;
    for (size_t width = 1; width < 200; width++) {
        cli_view_style style = {.width = width, .colour = true};
        cli_view_block(&block, &status, &style);
        for (size_t i = 0; i < block.count; i++) {
            assert_true(block.line[i].cells < OCT_MAX(width, 2));
        }
    }
}

static void
test_block_without_colour_has_no_escapes(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    static cli_block block;
    cli_view_style style = {.width = 100, .colour = false};
    cli_view_block(&block, &status, &style);
    for (size_t i = 0; i < block.count; i++) {
        assert_null(strchr(block.line[i].bytes, '\x1b'));
    }
}

static void
test_block_in_ascii_has_only_ascii_bars(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    static cli_block block;
    cli_view_style style = {.width = 100, .ascii = true};
    cli_view_block(&block, &status, &style);
    assert_non_null(strstr(block.line[1].bytes, "##########...."));
    assert_null(strstr(block.line[1].bytes, "█"));
}

static void
test_block_before_any_answer_shows_dashes(void **state)
{
    (void)state;
    cli_run_status status;
    static cli_block block;
    cli_run_status_init(&status, "run");
    cli_view_style style = {.width = 100};
    cli_view_block(&block, &status, &style);
    assert_non_null(strstr(block.line[1].bytes, "- / - steps"));
    assert_non_null(strstr(block.line[6].bytes, "no evaluation yet"));
    for (size_t i = 0; i < block.count; i++) {
        assert_null(strstr(block.line[i].bytes, "nan"));
    }
}

static void
test_block_tells_how_short_policies_are(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    static cli_block block;
    cli_view_style style = {.width = 100};
    cli_view_block(&block, &status, &style);
    assert_null(strstr(block.line[3].bytes, "fp32"));
    status.numbers.value[CLI_POLICY_RATIO] = 0.08;
    status.numbers.value[CLI_POLICY_VERSION] = 17;
    cli_view_block(&block, &status, &style);
    assert_non_null(strstr(block.line[3].bytes, "version 17"));
    assert_non_null(strstr(block.line[3].bytes, "/s, 1/12.5 of fp32"));
}

static void
test_block_says_what_was_restarted(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    static cli_block block;
    cli_view_style style = {.width = 100};
    cli_view_block(&block, &status, &style);
    assert_int_equal(block.count, 7);
    status.restarts = 2;
    (void)snprintf(status.note, sizeof(status.note), "actor-0 was killed");
    cli_view_block(&block, &status, &style);
    assert_int_equal(block.count, 8);
    assert_non_null(strstr(block.line[7].bytes, "2  actor-0 was killed"));
}

static void
test_eta_is_what_is_left_at_the_rate_of_now(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    T_NEAR(cli_view_eta_s(&status), 1.5, 1e-9, 0);
    status.numbers.value[CLI_ENV_STEPS_PER_S] = 0;
    assert_true(isnan(cli_view_eta_s(&status)));
    status.numbers.value[CLI_ENV_STEPS_PER_S] = 50000;
    status.numbers.value[CLI_ENV_STEPS] = 100001;
    assert_true(isnan(cli_view_eta_s(&status)));
}

static void
test_line_has_every_number_by_name(void **state)
{
    (void)state;
    cli_run_status status = running_status();
    cli_line line;
    cli_view_line(&line, &status);
    assert_non_null(strstr(line.bytes, "t=12.3s steps=25000 budget=100000 steps/s=50000"));
    assert_non_null(strstr(line.bytes, "samples/insert=8.01 policy=17 lag=-"));
    assert_non_null(strstr(line.bytes, "return=321.5±12.00 best=400.0"));
    assert_non_null(strstr(line.bytes, "state=\"training\""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_never_is_wider_than_the_terminal),
        cmocka_unit_test(test_block_without_colour_has_no_escapes),
        cmocka_unit_test(test_block_in_ascii_has_only_ascii_bars),
        cmocka_unit_test(test_block_before_any_answer_shows_dashes),
        cmocka_unit_test(test_block_tells_how_short_policies_are),
        cmocka_unit_test(test_block_says_what_was_restarted),
        cmocka_unit_test(test_eta_is_what_is_left_at_the_rate_of_now),
        cmocka_unit_test(test_line_has_every_number_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
