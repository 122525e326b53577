// The status block and status line of a run fit the terminal and show every number.
#include <math.h>

#include "cli/status/cli_view.h"
#include "tests/support/oct_test.h"

static cli_snapshot run;
static cli_block block;

static void
put(const char *name, double value)
{
    cli_snapshot_put(&run, name, value);
}

static int
begin(void **unused)
{
    (void)unused;
    cli_snapshot_clear(&run);
    (void)snprintf(run.folder, sizeof(run.folder), "runs/CartPole-v1-1");
    return 0;
}

// A run that trains.
static int
train(void **unused)
{
    (void)begin(unused);
    run.learner.heard = run.replay.heard = true;
    (void)snprintf(run.learner.state, sizeof(run.learner.state), "training");
    (void)snprintf(run.learner.url, sizeof(run.learner.url), "ipc://learner.ipc");
    (void)snprintf(run.replay.url, sizeof(run.replay.url), "ipc://replay.ipc");
    put("learner.env_steps", 25000);
    put("learner.env_steps_budget", 100000);
    put("learner.env_steps_per_s", 50000);
    put("learner.updates_per_s", 1234);
    put("learner.wait_share", 0.25);
    put("learner.policy_version", 17);
    put("learner.eval_return", 321.5);
    put("learner.eval_return_std", 12);
    put("learner.eval_best", 400);
    put("learner.evaluations", 1);
    put("learner.goal", 475);
    put("learner.actors", 2);
    put("learner.evaluators", 1);
    put("replay.samples_per_insert", 8.01);
    (void)cli_snapshot_update(&run, 12.3);
    return 0;
}

static void
draw(size_t width)
{
    const cli_view_style style = {.width = width};
    cli_view_block(&block, &run, &style);
}

// The text of the line with this label, after it; fails if there is none.
static const char *
line(const char *label)
{
    for (size_t i = 0; i < block.count; i++) {
        const char *bytes = block.line[i].bytes;
        if (strncmp(bytes, label, strlen(label)) == 0 && bytes[strlen(label)] == ' ') {
            return bytes + CLI_VIEW_LABEL_CELLS;
        }
    }
    fail_msg("no line '%s'", label);
    return "";
}

static bool
has_line(const char *label)
{
    for (size_t i = 0; i < block.count; i++) {
        if (strncmp(block.line[i].bytes, label, strlen(label)) == 0) {
            return true;
        }
    }
    return false;
}

static void
test_block_shows_every_part_of_a_run(void **state)
{
    (void)state;
    draw(100);
    assert_string_equal(line("run"), "runs/CartPole-v1-1 · - · training · 12.3 s");
    assert_non_null(strstr(line("progress"), " 25 %  25.0 k / 100 k steps  ETA 1.5 s"));
    assert_string_equal(line("learner"), "1.2 k updates/s · waits 25 % · policy 17");
    assert_string_equal(line("replay"), "- of - rows · - inserts/s · - samples/s");
    assert_string_equal(line("actors"), "2 · 50.0 k env steps/s · lag -");
    assert_string_equal(line("training"), "return -, with exploration");
    assert_string_equal(line("evaluation"), "return 321.5 ± 12.00 · best of 1: 400.0 · goal 475.0");
    put("learner.eval_failed", 3);
    put("learner.eval_truncated", 12);
    put("learner.eval_sampling", 1);
    put("replay.sample_wait_share", 0);
    draw(120);
    assert_non_null(strstr(line("evaluation"), "sampled return 321.5 ± "));
    assert_non_null(strstr(line("evaluation"), " · goal 475.0 · 3 failed episodes · 12 truncated"));
    assert_non_null(strstr(line("waiting"), "the learner waits for replay (25 % of its time)"));
    assert_false(has_line("curve")); // of one evaluation
    assert_false(has_line("warning") || has_line("restarts") || has_line("peer"));
}

static void
test_block_never_is_wider_than_the_terminal(void **state)
{
    (void)state;
    for (size_t width = 1; width < 200; width++) {
        cli_view_style style = {.width = width, .colour = true};
        cli_view_block(&block, &run, &style);
        for (size_t i = 0; i < block.count; i++) {
            assert_true(block.line[i].cells < OCT_MAX(width, 2));
        }
    }
}

// A terminal that is too narrow shows fewer numbers, none of them cut.
static void
test_what_does_not_fit_is_left_out(void **state)
{
    (void)state;
    put("learner.policy_bytes_fp32_ratio", 0.08);
    put("learner.published_bytes_per_s", 2048);
    draw(CLI_VIEW_LABEL_CELLS + 57);
    assert_string_equal(line("learner"), "1.2 k updates/s · waits 25 % · policy 17, 1/12 of fp32");
    draw(CLI_VIEW_LABEL_CELLS + 30);
    assert_string_equal(line("learner"), "1.2 k updates/s · waits 25 %");
    (void)snprintf(run.env, sizeof(run.env), "CartPole-v1");
    draw(CLI_VIEW_LABEL_CELLS + 30);
    assert_string_equal(line("run"), "runs/CartPole-v1-1 · training");
}

static void
test_block_without_colour_has_no_escapes(void **state)
{
    (void)state;
    cli_view_style style = {.width = 100, .colour = false};
    cli_view_block(&block, &run, &style);
    for (size_t i = 0; i < block.count; i++) {
        assert_null(strchr(block.line[i].bytes, '\x1b'));
    }
}

static void
test_block_in_ascii_has_only_ascii(void **state)
{
    (void)state;
    cli_view_style style = {.width = 100, .ascii = true};
    cli_view_block(&block, &run, &style);
    assert_non_null(strstr(block.line[1].bytes, "#####..............."));
    assert_non_null(strstr(line("evaluation"), "+-"));
    for (size_t i = 0; i < block.count; i++) {
        for (const char *at = block.line[i].bytes; *at != '\0'; at++) {
            assert_true((unsigned char)*at < 0x80);
        }
    }
}

// Characters of UTF-8, each one cell wide.
static size_t
cells(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}

static void
test_progress_of_years_fits_a_terminal(void **state)
{
    (void)state;
    put("learner.env_steps", 99.9e6);
    put("learner.env_steps_budget", 999.9e9);
    put("learner.env_steps_per_s", 3172);
    draw(400);
    assert_non_null(strstr(line("progress"), " 99.9 M / 1.0 T steps  ETA 3648 d "));
    assert_true(CLI_VIEW_LABEL_CELLS + cells(line("progress")) < 80);
}

static void
test_returns_fit_a_terminal(void **state)
{
    (void)state;
    put("learner.train_return", -123.4);
    put("learner.eval_return", -123.4);
    put("learner.eval_return_std", 123.4);
    put("learner.eval_best", -123.4);
    put("learner.goal", -123.4);
    put("learner.evaluations", 12345);
    draw(400);
    assert_string_equal(line("training"), "return -123.4, with exploration");
    assert_string_equal(line("evaluation"),
                        "return -123.4 ± 123.4 · best of 12.3 k: -123.4 · goal -123.4");
    assert_true(CLI_VIEW_LABEL_CELLS + cells(line("evaluation")) < 80);
}

static void
test_block_before_any_answer_shows_dashes(void **state)
{
    (void)state;
    draw(100);
    assert_non_null(strstr(line("progress"), "- / - steps"));
    assert_string_equal(line("learner"), "- updates/s · waits - · policy -");
    assert_string_equal(line("waiting"), "not known yet");
    for (size_t i = 0; i < block.count; i++) {
        assert_null(strstr(block.line[i].bytes, "nan"));
    }
}

static void
test_block_tells_how_short_policies_are(void **state)
{
    (void)state;
    put("learner.policy_bytes_fp32_ratio", 0.08);
    put("learner.published_bytes_per_s", 2048);
    draw(100);
    assert_non_null(strstr(line("learner"), "policy 17, 1/12 of fp32 · 2.0 KiB/s"));
}

static void
test_block_says_what_was_restarted(void **state)
{
    (void)state;
    run.restarts = 2;
    (void)snprintf(run.note, sizeof(run.note), "actor-0 was killed");
    draw(100);
    assert_string_equal(line("restarts"), "2  actor-0 was killed");
    run.given_up = 1;
    draw(100);
    assert_string_equal(line("restarts"), "2, 1 given up  actor-0 was killed");
    run.restarts = run.given_up = 0; // another process looks
    draw(100);
    assert_string_equal(line("note"), "actor-0 was killed");
}

static void
test_block_warns_where_no_terminal_is_too_low(void **state)
{
    (void)state;
    put("learner.unsaved", 1);
    (void)cli_snapshot_update(&run, 13);
    draw(100);
    assert_non_null(strstr(line("warning"), "is the disk full? (log/learner.log)"));
    assert_int_equal(strncmp(block.line[1].bytes, "warning", 7), 0);
}

static void
test_block_says_that_nobody_evaluates(void **state)
{
    (void)state;
    put("learner.evaluators", 0);
    draw(100);
    assert_non_null(strstr(line("evaluation"), " · no evaluator"));
}

static void
test_block_draws_a_curve_of_what_was_seen(void **state)
{
    (void)state;
    put("learner.evaluations", 2);
    put("learner.eval_return", 400);
    (void)cli_snapshot_update(&run, 13);
    draw(100);
    assert_non_null(strstr(line("curve"), "  321.5 .. 400.0"));
}

// What has no room is left out, whatever there is to say.
static void
test_block_is_bounded(void **state)
{
    (void)state;
    run.learner.heard = run.replay.heard = false;
    memset(run.learner.why, 'w', sizeof(run.learner.why) - 1);
    memset(run.replay.why, 'w', sizeof(run.replay.why) - 1);
    memset(run.peers_why, 'w', sizeof(run.peers_why) - 1);
    draw(12);
    assert_int_equal(block.count, CLI_VIEW_LINES_MAX);
}

static void
test_eta_is_what_is_left_at_the_rate_of_now(void **state)
{
    (void)state;
    T_NEAR(cli_view_eta_s(&run), 1.5, 1e-9, 0);
    put("learner.env_steps_per_s", 0);
    assert_true(isnan(cli_view_eta_s(&run)));
    put("learner.env_steps_per_s", 50000);
    put("learner.env_steps", 100001);
    assert_true(isnan(cli_view_eta_s(&run)));
    put("learner.env_steps", 25000);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(run.learner.state, sizeof(run.learner.state), "%s",
                       i == 0 ? "final evaluation" : "done");
        assert_true(isnan(cli_view_eta_s(&run)));
    }
}

static void
test_line_has_every_number_by_name(void **state)
{
    (void)state;
    cli_line text;
    cli_view_line(&text, &run);
    assert_non_null(strstr(text.bytes, "t=12.3s steps=25000 budget=100000 steps/s=50000"));
    assert_non_null(strstr(text.bytes, "samples/insert=8.01 policy=17 lag=-"));
    assert_non_null(strstr(text.bytes, "evaluation=321.5±12.00 best_evaluation=400.0"));
    assert_non_null(strstr(text.bytes, "state=\"training\""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_block_shows_every_part_of_a_run, train),
        cmocka_unit_test_setup(test_block_never_is_wider_than_the_terminal, train),
        cmocka_unit_test_setup(test_what_does_not_fit_is_left_out, train),
        cmocka_unit_test_setup(test_block_without_colour_has_no_escapes, train),
        cmocka_unit_test_setup(test_block_in_ascii_has_only_ascii, train),
        cmocka_unit_test_setup(test_progress_of_years_fits_a_terminal, train),
        cmocka_unit_test_setup(test_returns_fit_a_terminal, train),
        cmocka_unit_test_setup(test_block_before_any_answer_shows_dashes, begin),
        cmocka_unit_test_setup(test_block_tells_how_short_policies_are, train),
        cmocka_unit_test_setup(test_block_says_what_was_restarted, train),
        cmocka_unit_test_setup(test_block_warns_where_no_terminal_is_too_low, train),
        cmocka_unit_test_setup(test_block_says_that_nobody_evaluates, train),
        cmocka_unit_test_setup(test_block_draws_a_curve_of_what_was_seen, train),
        cmocka_unit_test_setup(test_block_is_bounded, train),
        cmocka_unit_test_setup(test_eta_is_what_is_left_at_the_rate_of_now, train),
        cmocka_unit_test_setup(test_line_has_every_number_by_name, train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
