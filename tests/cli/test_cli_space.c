// Lists and ranges of a sweep: what is parsed, what is refused in which words, grids and draws.
#include <stdlib.h>

#include "cli/sweep/cli_space.h"
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

static config_experiment
base(void)
{
    config_experiment config;
    config_default(&config);
    return config;
}

static void
add(cli_space *space, const char *over)
{
    oct_reason why = {""};
    config_experiment config = base();
    if (cli_space_add(space, over, &config, &why) != OCT_OK) {
        print_error("%s\n", why.text);
        fail();
    }
}

static void
refused(const char *over, const char *words)
{
    oct_reason why = {""};
    cli_space space = {.count = 0};
    config_experiment config = base();
    T_ERR(cli_space_add(&space, over, &config, &why), OCT_EINVAL);
    if (strstr(why.text, words) == NULL) {
        print_error("'%s' does not say '%s'\n", why.text, words);
        fail();
    }
    assert_int_equal(space.count, 0);
}

static void
test_wrong_keys_and_values_are_refused_in_words(void **state)
{
    (void)state;
    refused("algo.lerning_rate=1e-4..1e-2", "did you mean algo.learning_rate?");
    refused("algo.learning_rate", "values are missing");
    refused("algo.learning_rate=", "values are missing");
    refused("algo.learning_rate=1e-4,x", "x is not a number, allowed");
    refused("algo.learning_rate=1e-4..5000", "5000 is out of range");
    refused("algo.learning_rate=1e-2..1e-4", "1e-2 is not below 1e-4");
    refused("algo.learning_rate=1e-2,1e-2", "1e-2 is given twice");
    refused("algo.learning_rate=0.001,2e-3,1e-3", "1e-3 is given twice");
    refused("learner.batch_size=1024,1_024", "1_024 is given twice");
    refused("network.hidden=[32,32],[64],[32, 32]", "[32, 32] is given twice");
    refused("algo.learning_rate=1e-2,", "has no value");
    refused("algo.discount=log:0..1", "log: needs limits above 0");
    refused("algo.discount=lin:0.5", "write a range as LOW..HIGH");
    refused("algo.n_step=1..2.5", "2.5 is not a whole number");
    refused("run.seed=1,2", "--seeds N");
    refused("run.name=a,b", "run.name does not change what a run learns");
    refused("net.insecure=true,false", "net.insecure does not change what a run learns");
    refused("algo=dqn", "algo is a section");
}

static void
test_a_key_is_varied_once(void **state)
{
    (void)state;
    oct_reason why;
    cli_space space = {.count = 0};
    config_experiment config = base();
    add(&space, "algo.n_step=1,2");
    T_ERR(cli_space_add(&space, "algo.n_step=3..9", &config, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "algo.n_step is already varied"));
    assert_int_equal(space.count, 1);
    cli_space_fini(&space);
}

static void
test_a_decade_makes_a_range_logarithmic_unless_it_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *over;
        cli_space_kind kind;
    } cases[] = {
        {"algo.learning_rate=1e-4..1e-2", CLI_SPACE_LOG},
        {"algo.learning_rate=1e-3..1e-2", CLI_SPACE_LOG},
        {"algo.learning_rate=1e-3..9e-3", CLI_SPACE_LINEAR},
        {"algo.learning_rate=lin:1e-4..1e-2", CLI_SPACE_LINEAR},
        {"algo.learning_rate=log:1e-3..2e-3", CLI_SPACE_LOG},
        {"algo.discount=0..1", CLI_SPACE_LINEAR},
        {"learner.batch_size=16..1_024", CLI_SPACE_LOG},
        {"algo.learning_rate=log: 1e-4 .. 1e-2 ", CLI_SPACE_LOG},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        cli_space space = {.count = 0};
        char words[128];
        add(&space, cases[i].over);
        assert_int_equal(space.key[0].kind, cases[i].kind);
        bool says_log =
            strstr(cli_space_words(&space.key[0], words, sizeof(words)), "log-uniform") != NULL;
        assert_int_equal(says_log, cases[i].kind == CLI_SPACE_LOG);
        cli_space_fini(&space);
    }
}

static void
test_synonyms_of_one_algorithm_are_several_values(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    add(&space, "algo.name=dqn,c51,rainbow");
    assert_int_equal(space.key[0].count, 3);
    assert_string_equal(space.key[0].value[1], "c51");
    cli_space_fini(&space);
    refused("algo.name=c51,dqn,c51", "c51 is given twice");
    refused("gamma=0.9,0.99", "unknown key gamma; did you mean algo.discount?");
}

static void
test_lists_are_split_outside_of_brackets_and_quotes(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    add(&space, "network.hidden=[32,32], [64]");
    assert_int_equal(space.key[0].count, 2);
    assert_string_equal(space.key[0].value[0], "[32,32]");
    assert_string_equal(space.key[0].value[1], "[64]");
    add(&space, "env.options=\"a=1,b=2\",c=3");
    assert_int_equal(space.key[1].count, 2);
    assert_string_equal(space.key[1].value[0], "\"a=1,b=2\"");
    assert_string_equal(space.key[1].value[1], "c=3");
    add(&space, "env.options.mass=1,{a: [2, 3], b: 4},[5,6]");
    assert_int_equal(space.key[2].count, 3);
    assert_string_equal(space.key[2].value[1], "{a: [2, 3], b: 4}");
    assert_string_equal(space.key[2].stored[1], "mass:={\"a\": [2, 3], \"b\": 4}");
    cli_space_fini(&space);
}

static void
test_a_grid_has_each_combination_once(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    add(&space, "algo.n_step=1,2,3");
    add(&space, "algo.name=dqn,sac");
    assert_false(cli_space_has_range(&space));
    assert_int_equal(cli_space_grid_size(&space), 6);
    static const char *const want[6][2] = {{"1", "dqn"}, {"1", "sac"}, {"2", "dqn"},
                                           {"2", "sac"}, {"3", "dqn"}, {"3", "sac"}};
    for (uint64_t i = 0; i < 6; i++) {
        cli_point point;
        cli_space_grid(&space, i, &point);
        assert_string_equal(point.value[0], want[i][0]);
        assert_string_equal(point.value[1], want[i][1]);
    }
    cli_space_fini(&space);
}

static void
test_a_point_is_the_same_whatever_was_drawn_before(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    cli_point seventh, again, other;
    add(&space, "algo.learning_rate=1e-5..1e-1");
    add(&space, "algo.discount=0.5..0.9");
    cli_space_draw(&space, 3, 7, &seventh);
    cli_space_draw(&space, 3, 1, &other);
    cli_space_draw(&space, 3, 7, &again);
    assert_string_equal(seventh.value[0], again.value[0]);
    assert_string_equal(seventh.value[1], again.value[1]);
    assert_string_not_equal(seventh.value[0], other.value[0]);
    cli_space_draw(&space, 4, 7, &other);
    assert_string_not_equal(seventh.value[0], other.value[0]);
    cli_space_fini(&space);
}

// Neither the same ones, nor the same ones in another order.
static void
test_neighbouring_seeds_draw_other_points(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    static cli_point point[8 * 8];
    add(&space, "algo.learning_rate=1e-8..1");
    add(&space, "algo.discount=0.01..0.99");
    for (uint64_t i = 0; i < OCT_COUNTOF(point); i++) {
        cli_space_draw(&space, i / 8, i % 8, &point[i]);
        for (uint64_t k = 0; k < i; k++) {
            assert_true(strcmp(point[i].value[0], point[k].value[0]) != 0 ||
                        strcmp(point[i].value[1], point[k].value[1]) != 0);
        }
    }
    cli_space_fini(&space);
}

// Half of the draws lie below the middle of the scale, and all within the ends.
static void
test_draws_fill_their_range_evenly_on_its_scale(void **state)
{
    (void)state;
    static const struct {
        const char *over;
        double low, middle, high;
    } cases[] = {{"algo.learning_rate=1e-4..1e-2", 1e-4, 1e-3, 1e-2},
                 {"algo.learning_rate=lin:1e-4..1e-2", 1e-4, 5.05e-3, 1e-2}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        cli_space space = {.count = 0};
        uint32_t below = 0;
        add(&space, cases[i].over);
        for (uint64_t k = 0; k < 2000; k++) {
            cli_point point;
            cli_space_draw(&space, 0, k, &point);
            double value = strtod(point.value[0], NULL);
            assert_true(value >= cases[i].low && value <= cases[i].high);
            below += value < cases[i].middle;
        }
        T_NEAR(below, 1000, 100, 0);
        cli_space_fini(&space);
    }
}

static void
test_whole_numbers_have_equal_shares_and_both_ends(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    uint32_t count[5] = {0};
    add(&space, "algo.n_step=1..4");
    add(&space, "algo.lag_max=0..1");
    for (uint64_t k = 0; k < 4000; k++) {
        cli_point point;
        cli_space_draw(&space, 0, k, &point);
        long value = strtol(point.value[0], NULL, 10);
        assert_true(value >= 1 && value <= 4 && strlen(point.value[0]) == 1);
        assert_true(strcmp(point.value[1], "0") == 0 || strcmp(point.value[1], "1") == 0); // no -0
        count[value]++;
    }
    for (int i = 1; i <= 4; i++) {
        T_NEAR(count[i], 1000, 120, 0);
    }
    cli_space_fini(&space);
}

// By the logarithm a number has what lies nearer to it: from 0.5 to 1.5 of 0.5 to 10.5, and so on.
static void
test_whole_numbers_of_a_logarithmic_range_have_their_whole_shares(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    cli_space space = {.count = 0};
    uint32_t count[11] = {0};
    add(&space, "algo.n_step=log:1..10");
    for (uint64_t k = 0; k < DRAWS; k++) {
        cli_point point;
        cli_space_draw(&space, 0, k, &point);
        long value = strtol(point.value[0], NULL, 10);
        assert_true(value >= 1 && value <= 10);
        count[value]++;
    }
    for (int i = 1; i <= 10; i++) {
        double share = log((i + 0.5) / (i - 0.5)) / log(10.5 / 0.5);
        T_NEAR(count[i], DRAWS * share, 5 * sqrt(DRAWS * share * (1 - share)), 0); // 5 sigma
    }
    cli_space_fini(&space);
}

static void
test_every_drawn_value_is_one_that_the_key_takes(void **state)
{
    (void)state;
    cli_space space = {.count = 0};
    add(&space, "algo.learning_rate=1e-12..10");
    add(&space, "learner.batch_size=1..4096");
    add(&space, "network.hidden=[8],[16,16]");
    for (uint64_t k = 0; k < 500; k++) {
        cli_point point;
        cli_space_draw(&space, 9, k, &point);
        for (size_t i = 0; i < space.count; i++) {
            char setting[512], message[512];
            config_experiment config = base();
            (void)snprintf(setting, sizeof(setting), "%s=%s", space.key[i].name, point.value[i]);
            T_OK(config_set(&config, setting, message, sizeof(message)));
        }
    }
    cli_space_fini(&space);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_keys_and_values_are_refused_in_words),
        cmocka_unit_test(test_a_key_is_varied_once),
        cmocka_unit_test(test_a_decade_makes_a_range_logarithmic_unless_it_is_said),
        cmocka_unit_test(test_synonyms_of_one_algorithm_are_several_values),
        cmocka_unit_test(test_lists_are_split_outside_of_brackets_and_quotes),
        cmocka_unit_test(test_a_grid_has_each_combination_once),
        cmocka_unit_test(test_a_point_is_the_same_whatever_was_drawn_before),
        cmocka_unit_test(test_neighbouring_seeds_draw_other_points),
        cmocka_unit_test(test_draws_fill_their_range_evenly_on_its_scale),
        cmocka_unit_test(test_whole_numbers_have_equal_shares_and_both_ends),
        cmocka_unit_test(test_whole_numbers_of_a_logarithmic_range_have_their_whole_shares),
        cmocka_unit_test(test_every_drawn_value_is_one_that_the_key_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
