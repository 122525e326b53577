// Runs side by side: groups by configuration, returns that chose nothing, the way to a threshold.
#include "cli/runs/cli_comparison.h"
#include "common/oct_reason.h"

#include <sys/stat.h>

#include "common/oct_file.h"
#include "tests/cli/cli_runs_fixture.h"

static oct_reason reason;

static void
put(const char *folder, const char *name, const char *text)
{
    char path[64];
    (void)mkdir(folder, 0700);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    T_OK(oct_file_write(path, text, strlen(text)));
}

// a and b: two seeds of one configuration; c: another; d: has no configuration that is known.
static void
runs_put(void)
{
    put("a", "config.yaml",
        "env: {id: CartPole-v1}\nalgo: {n_step: 3}\nrun: {seed: 1, stop_at_return: 90}\n");
    put("b", "config.yaml",
        "env: {id: CartPole-v1}\nalgo: {n_step: 3}\nrun: {seed: 2, stop_at_return: 90}\n");
    put("c", "config.yaml",
        "env: {id: CartPole-v1}\nalgo: {n_step: 7}\nrun: {seed: 1, stop_at_return: 90}\n");
    put("d", "config.yaml", "nonsense: {}\n");
    put("a", "metrics.csv",
        "wall_s,env_steps,updates,eval_return\n1,100,10,20\n2,200,20,95\n3,300,30,50\n");
    put("b", "metrics.csv",
        "wall_s,env_steps,updates,eval_return\n1,100,10,\n2,220,22,60\n4,400,40,90\n");
    put("c", "metrics.csv", "wall_s,env_steps,updates,eval_return\n1,100,10,20\n2,200,20,30\n");
    put("a", "summary.json", "{\"return\": {\"mean\": 90.5, \"final\": true}}");
    put("b", "summary.json", "{\"return\": {\"mean\": 93.5, \"final\": true}}");
    put("c", "summary.json", "{\"return\": {\"mean\": 99, \"final\": false}}");
}

typedef struct opened {
    cli_comparison_runs runs;
    cli_comparison *compare;
} opened;

static opened *
open_them(const char *const *folders, size_t count, double threshold, bool best_first)
{
    opened *o = oct_alloc(sizeof(*o));
    T_OK(cli_comparison_open(&o->runs, folders, count, threshold, &reason));
    o->compare = cli_comparison_create(&o->runs, cli_comparison_by_default(&o->runs), best_first);
    return o;
}

static void
close_them(opened *o)
{
    cli_comparison_destroy(o->compare);
    cli_comparison_close(&o->runs);
    free(o);
}

static void
test_seeds_of_one_configuration_are_a_group(void **state)
{
    (void)state;
    runs_put();
    opened *o = open_them(names, RUNS, NAN, false);
    assert_int_equal(o->compare->groups, 3);
    assert_int_equal(o->compare->group[0].runs, 2);
    assert_string_equal(o->compare->group[0].label, "algo.n_step=3");
    assert_string_equal(o->compare->group[1].label, "algo.n_step=7");
    assert_string_equal(o->compare->group[2].label, "d");
    close_them(o);
}

static void
test_returns_are_those_that_chose_nothing(void **state)
{
    (void)state;
    runs_put();
    opened *o = open_them(names, RUNS, NAN, false);
    const cli_comparison_spread *result = &o->compare->group[0].result;
    assert_int_equal(result->count, 2);
    T_NEAR(result->mean, 92, 1e-12, 0);
    T_NEAR(result->std, 1.5 * sqrt(2), 1e-12, 0);
    T_NEAR(result->low, 90.5, 0, 0);
    T_NEAR(result->high, 93.5, 0, 0);
    assert_int_equal(o->compare->group[1].result.count, 0); // it was chosen on those
    assert_true(isnan(o->compare->group[1].result.mean));
    close_them(o);
}

static void
test_the_threshold_is_reached_at_the_first_evaluation_that_has_it(void **state)
{
    (void)state;
    runs_put();
    opened *o = open_them(names, RUNS, NAN, false);
    const cli_comparison_spread *to = o->compare->group[0].to;
    assert_int_equal(to[CLI_COMPARISON_STEPS].count, 2);
    T_NEAR(to[CLI_COMPARISON_STEPS].mean, 300, 0, 0); // 200 and 400
    T_NEAR(to[CLI_COMPARISON_UPDATES].mean, 30, 0, 0);
    T_NEAR(to[CLI_COMPARISON_TIME].mean, 3, 0, 0);
    T_NEAR(to[CLI_COMPARISON_TIME].std, sqrt(2), 1e-12, 0);
    assert_int_equal(o->compare->group[1].to[CLI_COMPARISON_STEPS].count, 0);
    close_them(o);
    o = open_them(names, RUNS, 92, false); // b has 90
    assert_int_equal(o->compare->group[0].to[CLI_COMPARISON_STEPS].count, 1);
    T_NEAR(o->compare->group[0].to[CLI_COMPARISON_STEPS].mean, 200, 0, 0);
    assert_true(isnan(o->compare->group[0].to[CLI_COMPARISON_STEPS].std)); // of one
    close_them(o);
}

// Rows of a long run are joined, and of many runs more of them; evaluations are not.
static void
test_a_short_rise_is_found_in_any_number_of_rows(void **state)
{
    (void)state;
    enum { ROWS = 3 * CLI_COMPARISON_ROWS };
    runs_put();
    FILE *file = fopen("a/metrics.csv", "w");
    assert_non_null(file);
    (void)fputs("wall_s,env_steps,updates,eval_return\n", file);
    for (int i = 1; i <= ROWS; i++) {
        fprintf(file, "%d,%d,%d,%d\n", i, 100 * i, 10 * i, i == 401 ? 95 : 20);
    }
    assert_int_equal(fclose(file), 0);
    opened *o = open_them(names, RUNS, NAN, false);
    assert_true(o->runs.series[0]->metrics.merged > 1);
    T_NEAR(o->runs.to[0][CLI_COMPARISON_STEPS], 40100, 0, 0);
    T_NEAR(o->runs.to[0][CLI_COMPARISON_UPDATES], 4010, 0, 0);
    T_NEAR(o->runs.to[0][CLI_COMPARISON_TIME], 401, 0, 0);
    close_them(o);
}

// A lucky short evaluation that a longer one of the same version took back, and steps that a
// resumed run went back behind.
static void
test_what_was_taken_back_did_not_reach_the_threshold(void **state)
{
    (void)state;
    runs_put();
    put("a", "metrics.csv",
        "wall_s,env_steps,updates,eval_return,eval_env_steps,eval_updates,eval_wall_s\n"
        "1,100,10,95,90,9,0.9\n2,200,20,60,90,9,0.9\n3,300,30,99,290,29,2.9\n"
        "4,250,25,,,,\n5,400,40,91,390,39,4.9\n");
    opened *o = open_them(names, RUNS, NAN, false);
    T_NEAR(o->runs.to[0][CLI_COMPARISON_STEPS], 390, 0, 0);
    close_them(o);
}

// Nothing reacts to the result: a run that was confirmed stays so, and one that was not stays so.
static void
test_the_result_decides_nothing(void **state)
{
    (void)state;
    runs_put();
    static const char *const rows[] = {
        "1,100,10,95,1,90,9,0.9\n2,200,20,93,2,90,9,0.9\n3,300,30,98,1,290,29,2.9\n"
        "4,300,30,70,3,90,9,0.9\n",
        "1,100,10,95,1,90,9,0.9\n2,200,20,70,2,90,9,0.9\n3,300,30,99,3,90,9,0.9\n",
    };
    for (int i = 0; i < 2; i++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "wall_s,env_steps,updates,eval_return,eval_stage,eval_env_steps,"
                       "eval_updates,eval_wall_s\n%s",
                       rows[i]);
        put(names[i], "metrics.csv", text);
    }
    opened *o = open_them(names, RUNS, NAN, false);
    T_NEAR(o->runs.to[0][CLI_COMPARISON_STEPS], 90, 0, 0);
    assert_true(isnan(o->runs.to[1][CLI_COMPARISON_STEPS]));
    close_them(o);
}

static void
summary_put(const char *folder, const char *run_id, double wall_s, double mean)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "{\"run_id\": \"%s\", \"learner_wall_s\": %g, \"return\": {\"mean\": %g, "
                   "\"final\": true}}",
                   run_id, wall_s, mean);
    put(folder, "summary.json", text);
}

// The same run in another folder, as it is or as it was; other settings make another run of it.
static void
test_a_copy_does_not_count(void **state)
{
    (void)state;
    static const char *const same = "env: {id: CartPole-v1}\nrun: {seed: 1}\n";
    runs_put();
    for (int i = 0; i < RUNS; i++) {
        put(names[i], "config.yaml", i < 3 ? same : "env: {id: CartPole-v1}\nalgo: {n_step: 9}\n");
        summary_put(names[i], "00000000000000aa", i == 1 ? 20 : 10, 90 + i);
    }
    opened *o = open_them(names, RUNS, NAN, false);
    assert_int_equal(o->runs.count, 2);
    assert_int_equal(o->runs.copies, 2);
    assert_string_equal(o->runs.series[0]->folder, "b"); // which was trained longer
    assert_string_equal(o->runs.series[1]->folder, "d");
    for (int i = 0; i < 2; i++) {
        assert_string_equal(o->runs.copy[i].series->folder, i == 0 ? "a" : "c");
        assert_string_equal(o->runs.copy[i].of->folder, "b");
    }
    T_NEAR(o->compare->group[0].result.mean, 91, 0, 0);
    close_them(o);
    summary_put("b", "00000000000000bb", 20, 91);
    summary_put("c", "00000000000000aa", 10, 92);
    o = open_them(names, 3, 90, false);
    assert_int_equal(o->runs.copies, 1);
    assert_string_equal(o->runs.copy[0].series->folder, "c"); // the first of two that are equal
    assert_int_equal(o->compare->group[0].result.count, 2);
    T_NEAR(o->runs.to[1][CLI_COMPARISON_STEPS], 400, 0, 0); // b's
    close_them(o);
    assert_int_equal(unlink("d/summary.json"), 0);
}

static void
test_the_best_come_first_and_the_unmeasured_last(void **state)
{
    (void)state;
    runs_put();
    put("c", "summary.json", "{\"return\": {\"mean\": 99, \"final\": true}}");
    opened *o = open_them(names, RUNS, NAN, true);
    assert_string_equal(o->compare->group[0].label, "algo.n_step=7");
    assert_string_equal(o->compare->group[1].label, "algo.n_step=3");
    assert_string_equal(o->compare->group[2].label, "d");
    close_them(o);
}

static void
test_json_names_the_runs_of_each_group_in_any_order(void **state)
{
    (void)state;
    runs_put();
    put("c", "summary.json", "{\"return\": {\"mean\": 99, \"final\": true}}");
    opened *o = open_them(names, RUNS, NAN, true);
    json_t *json = cli_comparison_json(o->compare);
    const json_t *second = json_array_get(json_object_get(json, "groups"), 1);
    const json_t *runs = json_object_get(second, "runs");
    assert_int_equal(json_array_size(runs), 2);
    const json_t *configuration = json_object_get(second, "configuration");
    assert_int_equal(json_object_size(configuration), 1);
    assert_string_equal(json_string_value(json_object_get(configuration, "algo.n_step")), "3");
    assert_string_equal(json_string_value(json_object_get(json_array_get(runs, 1), "folder")), "b");
    json_decref(json);
    close_them(o);
}

static void
test_equal_returns_have_no_spread(void **state)
{
    (void)state;
    runs_put();
    for (int i = 0; i < 3; i++) {
        char config[64];
        (void)snprintf(config, sizeof(config), "env: {id: CartPole-v1}\nrun: {seed: %d}\n", i);
        put(names[i], "config.yaml", config);
        put(names[i], "metrics.csv", "env_steps,eval_return\n100,0.1\n200,0.1\n");
        put(names[i], "summary.json", "{\"return\": {\"mean\": 0.1, \"final\": true}}");
    }
    opened *o = open_them(names, 3, NAN, false);
    const cli_comparison_group *group = &o->compare->group[0];
    assert_int_equal(group->runs, 3);
    assert_true(group->result.mean == 0.1 && group->result.std == 0);
    assert_true(group->curve[5].mean == 0.1 && group->curve[5].std == 0);
    close_them(o);
}

// Points of a curve over fewer runs are told apart, and one run has no spread.
static void
test_json_says_of_how_many_runs_a_point_is(void **state)
{
    (void)state;
    runs_put();
    opened *o = open_them(names, 2, NAN, false); // a: 100 .. 300 steps, b: 220 .. 400
    json_t *json = cli_comparison_json(o->compare);
    const json_t *group = json_array_get(json_object_get(json, "groups"), 0);
    const json_t *curve = json_object_get(group, "curve");
    const json_t *first = json_array_get(curve, 0);
    const json_t *middle = json_array_get(curve, CLI_COMPARISON_POINTS / 2);
    assert_int_equal(json_array_size(first), 4);
    assert_true(json_is_null(json_array_get(first, 2)));
    assert_int_equal(json_integer_value(json_array_get(first, 3)), 1);
    assert_true(json_is_real(json_array_get(middle, 2)));
    assert_int_equal(json_integer_value(json_array_get(middle, 3)), 2);
    json_decref(json);
    close_them(o);
}

static void
test_a_folder_of_runs_stands_for_them(void **state)
{
    (void)state;
    static cli_comparison_runs runs;
    const char *here = ".", *nowhere = "nowhere", *run = "a/metrics.csv";
    runs_put();
    opened *o = open_them(&here, 1, NAN, false);
    assert_int_equal(o->runs.count, RUNS);
    close_them(o);
    T_ERR(cli_comparison_open(&runs, &nowhere, 1, NAN, &reason), OCT_EIO);
    assert_non_null(strstr(reason.text, "cannot enter 'nowhere'"));
    T_ERR(cli_comparison_open(&runs, &run, 1, NAN, &reason), OCT_EIO);
    (void)mkdir("empty", 0700);
    const char *empty = "empty";
    T_ERR(cli_comparison_open(&runs, &empty, 1, NAN, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "is not a run folder and contains no run"));
    (void)rmdir("empty");
}

// The standard deviation of two runs at 0 and 100 is 71.
static void
test_a_band_ends_at_values_that_were_seen(void **state)
{
    (void)state;
    uint8_t *svg;
    size_t length;
    runs_put();
    put("a", "metrics.csv", "wall_s,env_steps,updates,eval_return\n1,100,10,0\n3,300,30,0\n");
    put("b", "metrics.csv", "wall_s,env_steps,updates,eval_return\n1,100,10,100\n3,320,30,100\n");
    opened *o = open_them(names, 2, NAN, false);
    T_OK(cli_comparison_draw(o->compare, "x", "x.svg"));
    T_OK(oct_file_read("x.svg", 1 << 20, &svg, &length));
    assert_non_null(strstr((char *)svg, ">100</text>"));
    assert_null(strstr((char *)svg, ">120</text>"));
    assert_null(strstr((char *)svg, ">-"));
    assert_non_null(strstr((char *)svg, "thin dashes: the mean of only some of the runs"));
    assert_int_equal(unlink("x.svg"), 0);
    free(svg);
    close_them(o);
}

// Of everything, and of nothing at all.
static void
test_what_is_shown_has_each_group(void **state)
{
    (void)state;
    runs_put();
    char *text = NULL;
    size_t length;
    uint8_t *svg;
    for (int from = 0; from < 4; from += 3) {
        opened *o = open_them(names + from, RUNS - (size_t)from, NAN, false);
        FILE *out = open_memstream(&text, &length);
        cli_comparison_print(o->compare, out);
        assert_int_equal(fclose(out), 0);
        T_OK(cli_comparison_draw(o->compare, "x", "x.svg"));
        T_OK(oct_file_read("x.svg", 1 << 20, &svg, &length));
        assert_null(strstr((char *)svg, "nan"));
        for (uint32_t g = 0; g < o->compare->groups; g++) {
            assert_non_null(strstr(text, o->compare->group[g].label));
            assert_non_null(strstr((char *)svg, o->compare->group[g].label));
        }
        assert_int_equal(strstr(text, "no evaluation yet") != NULL, from == 3);
        assert_int_equal(strstr((char *)svg, "no evaluation yet") != NULL, from == 3);
        assert_int_equal(system("python3 -c \"import xml.dom.minidom as m; m.parse('x.svg')\""), 0);
        assert_int_equal(unlink("x.svg"), 0);
        free(svg);
        free(text);
        close_them(o);
    }
}

static char *
printed(const opened *o)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    cli_comparison_print(o->compare, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

// As of a sweep over a data set alone: no run counts steps.
static void
test_runs_without_steps_are_compared_by_updates(void **state)
{
    (void)state;
    runs_put();
    for (int i = 0; i < 2; i++) {
        char config[160];
        (void)snprintf(config, sizeof(config),
                       "env: {id: CartPole-v1}\nreplay: {data: x.data}\nalgo: {n_step: %d}\n"
                       "run: {updates: 40, stop_at_return: 90}\n",
                       3 + i);
        put(names[i], "config.yaml", config);
        put(names[i], "metrics.csv",
            "wall_s,env_steps,updates,eval_return\n1,0,10,20\n2,0,20,95\n4,0,40,50\n");
    }
    opened *o = open_them(names, 2, NAN, false);
    assert_int_equal(o->compare->by, CLI_COMPARISON_UPDATES);
    assert_true(o->compare->group[1].curve[CLI_COMPARISON_POINTS - 1].x == 40);
    char *text = printed(o);
    assert_non_null(strstr(text, "updates to it"));
    assert_non_null(strstr(text, "40 updates\n"));
    assert_null(strstr(text, "steps"));
    free(text);
    close_them(o);
    o = open_them(names, 3, NAN, false); // c has actors
    assert_int_equal(o->compare->by, CLI_COMPARISON_STEPS);
    close_them(o);
}

static void
test_what_tells_groups_apart_is_not_cut(void **state)
{
    (void)state;
    static const char *const values[] = {"3", "7"};
    runs_put();
    for (int i = 0; i < 2; i++) {
        char config[256];
        (void)snprintf(config, sizeof(config),
                       "env: {id: CartPole-v1, options: \"%060d\"}\nalgo: {n_step: %s}\n", i,
                       values[i]);
        put(names[i], "config.yaml", config);
    }
    opened *o = open_them(names, 2, NAN, false);
    char *text = printed(o);
    assert_true(strlen(o->compare->group[0].label) > 60);
    for (int i = 0; i < 2; i++) {
        assert_non_null(strstr(text, o->compare->group[i].label));
    }
    assert_null(strstr(text, "..."));
    free(text);
    close_them(o);
}

static void
test_each_of_many_groups_has_a_name(void **state)
{
    (void)state;
    const char *folder = "many";
    char run[16], path[40], config[64];
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < 30; i++) {
        (void)snprintf(run, sizeof(run), "many/%02d", i);
        (void)snprintf(config, sizeof(config), "env: {id: CartPole-v1}\nalgo: {n_step: %d}\n",
                       i + 1);
        assert_int_equal(mkdir(run, 0700), 0);
        put(run, "config.yaml", config);
    }
    opened *o = open_them(&folder, 1, NAN, false);
    char *text = printed(o);
    assert_int_equal(o->compare->groups, 30);
    assert_non_null(strstr(text, "\nZ   algo.n_step=26 "));
    assert_non_null(strstr(text, "\nAA  algo.n_step=27 "));
    assert_non_null(strstr(text, "\nAD  algo.n_step=30 "));
    free(text);
    close_them(o);
    for (int i = 0; i < 30; i++) {
        (void)snprintf(path, sizeof(path), "many/%02d/config.yaml", i);
        assert_int_equal(unlink(path), 0);
        (void)snprintf(run, sizeof(run), "many/%02d", i);
        assert_int_equal(rmdir(run), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void
test_a_name_that_a_terminal_would_obey_is_only_shown(void **state)
{
    (void)state;
    runs_put();
    const char *name = "x\033[31m\ny";
    assert_int_equal(rename("d", name), 0);
    opened *o = open_them(&name, 1, NAN, false);
    char *text = printed(o);
    assert_non_null(strstr(text, "x?[31m?y"));
    assert_null(strchr(text, '\033'));
    free(text);
    close_them(o);
    assert_int_equal(rename(name, "d"), 0);
}

// A mean says of how many runs it is.
static void
test_runs_without_a_return_are_shown(void **state)
{
    (void)state;
    runs_put();
    put("b", "summary.json", "{\"return\": {\"mean\": 93.5, \"final\": false}}");
    opened *o = open_them(names, 2, NAN, false);
    char *text = printed(o);
    assert_non_null(strstr(text, "  1 of 2   90.50  "));
    free(text);
    close_them(o);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds_of_one_configuration_are_a_group),
        cmocka_unit_test(test_returns_are_those_that_chose_nothing),
        cmocka_unit_test(test_the_threshold_is_reached_at_the_first_evaluation_that_has_it),
        cmocka_unit_test(test_a_short_rise_is_found_in_any_number_of_rows),
        cmocka_unit_test(test_what_was_taken_back_did_not_reach_the_threshold),
        cmocka_unit_test(test_the_result_decides_nothing),
        cmocka_unit_test(test_a_copy_does_not_count),
        cmocka_unit_test(test_the_best_come_first_and_the_unmeasured_last),
        cmocka_unit_test(test_json_names_the_runs_of_each_group_in_any_order),
        cmocka_unit_test(test_equal_returns_have_no_spread),
        cmocka_unit_test(test_json_says_of_how_many_runs_a_point_is),
        cmocka_unit_test(test_a_folder_of_runs_stands_for_them),
        cmocka_unit_test(test_a_band_ends_at_values_that_were_seen),
        cmocka_unit_test(test_what_is_shown_has_each_group),
        cmocka_unit_test(test_runs_without_steps_are_compared_by_updates),
        cmocka_unit_test(test_what_tells_groups_apart_is_not_cut),
        cmocka_unit_test(test_each_of_many_groups_has_a_name),
        cmocka_unit_test(test_a_name_that_a_terminal_would_obey_is_only_shown),
        cmocka_unit_test(test_runs_without_a_return_are_shown),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
