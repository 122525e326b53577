#include "tests/envs/env_test.h"

#include <unistd.h>

#include "envs/env_replay.h"

#define HEADER "ep,t,action,s0,s1,o0,o1,reward,terminated,truncated\n"
#define START  "0,0,,-0.5,0.0,-0.5,0.0,,,\n"
#define STEP_1                                                                                     \
    "0,1,2,-0.49917684300416926,0.0008231569958307428,-0.49917683005332947,"                       \
    "0.0008231570245698094,-1.0,0,0\n"

struct replayed {
    oct_err err;
    env_replay_result result;
    char reason[512];
};

// A file with that text, replayed by id.
static struct replayed
replay_of(const char *id, const char *text, double tolerance)
{
    struct replayed out = {0};
    char path[] = "/tmp/octet_replay_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
    env *e = env_opened(id, "", 1, 0, false);
    env_replay_request request = {.path = path, .tolerance = tolerance};
    out.err = env_replay_run(&out.result, e, &request, out.reason, sizeof(out.reason));
    env_close(e);
    assert_int_equal(unlink(path), 0);
    return out;
}

static void
test_replay_malformed_file_says_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "line 1: no column names"},
        {"\n", "line 1: no column names"},
        {"ep,,t\n", "column 2 has no name"},
        {"ep,t,ep\n", "column ep comes twice"},
        {"ep,t\n", "no column action"},
        {"ep,t,action,s0,o0,o1,reward,terminated,truncated\n", "no column s1"},
        {"ep,t,action,s0,s1,s2,o0,o1,reward,terminated,truncated\n", "column s2 is nothing"},
        {HEADER, "no rows"},
        {HEADER "0,0,,-0.5,0.0,-0.5\n", "line 2: 6 cells, the header has 10"},
        {HEADER "\n", "line 2: 1 cells"},
        {HEADER "0,0,,x,0.0,-0.5,0.0,,,\n", "line 2, column s0: \"x\" is not a number"},
        {HEADER "0,0,,-0.5 ,0.0,-0.5,0.0,,,\n", "is not a number"},
        {HEADER "0,0,,,0.0,-0.5,0.0,,,\n", "line 2, column s0: the cell is empty"},
        {HEADER "0,0,,inf,0.0,-0.5,0.0,,,\n", "not finite"},
        {HEADER "0.5,0,,-0.5,0.0,-0.5,0.0,,,\n", "column ep: 0.5 is not an integer"},
        {HEADER START "0,2,2,0,0,0,0,-1,0,0\n", "line 3, column t: the steps"},
        {HEADER START "0,1,,0,0,0,0,-1,0,0\n", "line 3, column action: the cell is empty"},
        {HEADER START "0,1,3,0,0,0,0,-1,0,0\n", "column action: 3 is not an integer from 0 to 2"},
        {HEADER START "0,1,1.5,0,0,0,0,-1,0,0\n", "column action: 1.5 is not"},
        {HEADER START "0,1,-1,0,0,0,0,-1,0,0\n", "column action: -1 is not"},
        {HEADER START "0,1,1,0,0,0,0,-1,2,0\n", "column terminated: 2 is not"},
        {HEADER START "0,1,1,0,0,0,0,,0,0\n", "column reward: the cell is empty"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        struct replayed got = replay_of("MountainCar-v0", cases[i].text, 0);
        T_ERR(got.err, OCT_EINVAL);
        T_SAYS(got.reason, cases[i].says);
    }
}

static void
test_replay_of_a_missing_file_is_not_found(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "", 1, 0, false);
    env_replay_request request = {.path = "/no/such.csv"};
    env_replay_result result;
    char reason[256];
    T_ERR(env_replay_run(&result, e, &request, reason, sizeof(reason)), OCT_ENOTFOUND);
    request.path = "/tmp";
    T_ERR(env_replay_run(&result, e, &request, reason, sizeof(reason)), OCT_EIO);
    env_close(e);
}

static void
test_replay_needs_an_environment_with_states(void **state)
{
    (void)state;
    struct replayed got = replay_of(plugin_path("point"), HEADER, 0);
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.reason, "no set_state");
}

static void
test_replay_finds_the_first_difference(void **state)
{
    (void)state;
    struct replayed got = replay_of("MountainCar-v0",
                                    HEADER START STEP_1 "1,0,,-0.5,0.0,-0.5,0.0,,,\n"
                                                        "1,1,2,-0.49917684300416926,"
                                                        "0.0008231569958307429,-0.49917683005332947"
                                                        ",0.0008231570245698094,-1.0,0,1\n",
                                    0);
    T_OK(got.err);
    assert_int_equal(got.result.rows, 4);
    assert_int_equal(got.result.episodes, 2);
    assert_int_equal(got.result.rows_differing, 1);
    assert_int_equal(got.result.line, 5);
    assert_string_equal(got.result.column, "truncated"); // results are looked at first
    assert_true(got.result.got == 0 && got.result.want == 1);
}

static void
test_replay_compares_bits_unless_told_a_tolerance(void **state)
{
    (void)state;
    const char *near =
        HEADER START "0,1,2,-0.4991768430041693,0.0008231569958307428,-0.49917683005332947,"
                     "0.0008231570245698094,-1.0,0,0\n";
    struct replayed got = replay_of("MountainCar-v0", near, 0);
    T_OK(got.err);
    assert_int_equal(got.result.rows_differing, 1);
    assert_string_equal(got.result.column, "s0");
    got = replay_of("MountainCar-v0", near, 1e-12);
    T_OK(got.err);
    assert_int_equal(got.result.rows_differing, 0);
    assert_true(got.result.worst > 0 && got.result.worst < 1e-15);
}

static void
test_replay_takes_carriage_returns_and_an_episode_that_begins_late(void **state)
{
    (void)state;
    struct replayed got = replay_of("MountainCar-v0",
                                    "ep,t,action,s0,s1,o0,o1,reward,terminated,truncated\r\n"
                                    "0,199,,-0.5,0.0,-0.5,0.0,,,\r\n"
                                    "0,200,2,-0.49917684300416926,0.0008231569958307428,"
                                    "-0.49917683005332947,0.0008231570245698094,-1.0,0,1\r\n",
                                    0);
    T_OK(got.err);
    assert_int_equal(got.result.rows_differing, 0);
    assert_int_equal(got.result.rows, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_malformed_file_says_line_and_column),
        cmocka_unit_test(test_replay_of_a_missing_file_is_not_found),
        cmocka_unit_test(test_replay_needs_an_environment_with_states),
        cmocka_unit_test(test_replay_finds_the_first_difference),
        cmocka_unit_test(test_replay_compares_bits_unless_told_a_tolerance),
        cmocka_unit_test(test_replay_takes_carriage_returns_and_an_episode_that_begins_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
