// Recorded trajectories are compared with an environment; malformed files and differences are
// reported by line and column.
#include "common/oct_reason.h"
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
    oct_reason why;
};

// A file with that text, replayed by id with options.
static struct replayed
replay_with(const char *id, const char *options, const char *text, env_replay_request request)
{
    struct replayed out = {0};
    char path[] = "/tmp/octet_replay_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
    env *e = env_opened(id, options, 1, 0, false);
    request.path = path;
    out.err = env_replay_run(&out.result, e, &request, &out.why);
    env_close(e);
    assert_int_equal(unlink(path), 0);
    return out;
}

static struct replayed
replay_of(const char *id, const char *text, double tolerance)
{
    return replay_with(id, "", text, (env_replay_request){.tolerance = tolerance});
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
        {"ep,t,ep\n", "column ep is given twice"},
        {"ep,t\n", "no column action"},
        {"ep,t,action,s0,o0,o1,reward,terminated,truncated\n", "no column s1"},
        {"ep,t,action,s0,s1,s2,o0,o1,reward,terminated,truncated\n", "column s2 does not exist"},
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
        T_SAYS(got.why.text, cases[i].says);
    }
}

static void
test_replay_of_a_missing_file_is_not_found(void **state)
{
    (void)state;
    env *e = env_opened("CartPole-v1", "", 1, 0, false);
    env_replay_request request = {.path = "/no/such.csv"};
    env_replay_result result;
    oct_reason why;
    T_ERR(env_replay_run(&result, e, &request, &why), OCT_ENOTFOUND);
    request.path = "/tmp";
    T_ERR(env_replay_run(&result, e, &request, &why), OCT_EIO);
    env_close(e);
}

static void
test_replay_needs_an_environment_with_states(void **state)
{
    (void)state;
    struct replayed got = replay_of(plugin_path("point"), HEADER, 0);
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "no set_state");
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

// ---- columns by the environment's own names

#define NAMED_HEADER "ep,t,u0,qpos0,position[0],to_target[0],r_near,r_far,model.target[0]\n"
#define NAMED_START  "0,0,,0.25,0.25,0.5,,,0.75\n"
#define NAMED_STEP   "0,1,0.25,0.5,0.5,0.25,-0.25,any word,\n"

static struct replayed
named(const char *text, env_replay_request request)
{
    return replay_with(plugin_path("named"), "", text, request);
}

static void
test_replay_matches_the_names_of_the_environment(void **state)
{
    (void)state;
    const char *text = NAMED_HEADER NAMED_START NAMED_STEP "0,2,0.25,0.75,0.75,0,-0.0,,\n"
                                                           "1,0,,0,0,1,,,1\n"
                                                           "1,1,0.5,0.5,0.5,0.5,-0.5,,1\n";
    for (int one_step = 0; one_step < 2; one_step++) {
        struct replayed got = named(text, (env_replay_request){.one_step = one_step != 0});
        T_OK(got.err);
        assert_int_equal(got.result.rows, 5);
        assert_int_equal(got.result.rows_differing, 0);
        assert_string_equal(got.result.ignored, "r_far");
        assert_string_equal(got.result.unrecorded, "o2, terminated, truncated");
    }
}

static void
test_replay_of_named_columns_finds_differences(void **state)
{
    (void)state;
    static const struct {
        const char *row, *column;
    } cases[] = {
        {"0,1,0.25,0.5625,0.5,0.25,-0.25,,\n", "qpos0"},
        {"0,1,0.25,0.5,0.5625,0.25,-0.25,,\n", "position[0]"},
        {"0,1,0.25,0.5,0.5,0.1875,-0.25,,\n", "to_target[0]"},
        {"0,1,0.25,0.5,0.5,0.25,-0.1875,,\n", "r_near"},
        {"0,1,0.25,0.5,0.5,0.25,-0.25,,0.8125\n", "model.target[0]"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), NAMED_HEADER NAMED_START "%s", cases[i].row);
        struct replayed got = named(text, (env_replay_request){.tolerance = 1e-3});
        T_OK(got.err);
        assert_int_equal(got.result.rows_differing, 1);
        assert_int_equal(got.result.line, 3);
        assert_string_equal(got.result.column, cases[i].column);
        assert_true(got.result.worst == 0.0625);
        T_OK((got = named(text, (env_replay_request){.tolerance = 0.0625})).err);
        assert_int_equal(got.result.rows_differing, 0);
    }
}

static void
test_replay_of_named_columns_names_all_that_are_missing(void **state)
{
    (void)state;
    struct replayed got = named("ep,t,u0,qpos0,r_near\n", (env_replay_request){0});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "line 1: no column model.target[0], position[0], to_target[0]");
    got = named("ep,t,u0,qpos0,r_near,model.target[0]\n0,0,,0,,0\n",
                (env_replay_request){.partial = true});
    T_OK(got.err);
    T_SAYS(got.result.unrecorded, "position[0], to_target[0], o2, ");
    got = named(NAMED_HEADER "0,0,,0.25,0.25,0.5,,,\n", (env_replay_request){0});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "line 2, column model.target[0]: the cell is empty");
    got = named(NAMED_HEADER NAMED_START "0,1,0.25,,0.5,0.25,-0.25,,\n", (env_replay_request){0});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "line 3, column qpos0: the cell is empty");
}

// Half of the observation may have no column where the environment names them.
static void
test_replay_of_named_columns_needs_half_of_the_observation(void **state)
{
    (void)state;
    static const char header[] = "ep,t,u0,qpos0,to_target[0],r_near,model.target[0]\n"
                                 "0,0,,0.25,0.5,,0.75\n";
    char text[256];
    snprintf(text, sizeof(text), "%s0,1,0.25,0.5,0.25,-0.25,\n", header);
    struct replayed got = named(text, (env_replay_request){0});
    T_OK(got.err);
    assert_int_equal(got.result.rows_differing, 0);
    assert_string_equal(got.result.unrecorded, "position[0], o2, terminated, truncated");
    snprintf(text, sizeof(text), "%s0,1,0.25,0.5,0.5,-0.25,\n", header); // what is there counts
    T_OK((got = named(text, (env_replay_request){0})).err);
    assert_string_equal(got.result.column, "to_target[0]");
    got = named("ep,t,u0,qpos0,r_near,model.target[0]\n0,0,,0,,0\n", (env_replay_request){0});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "line 1: no column position[0], to_target[0]");
}

static void
test_replay_tolerance_is_relative_above_1_and_one_float_wide(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        double tolerance;
        uint64_t differing;
    } cases[] = {
        // 100.25: 1e-7 of it is 1.0025e-5
        {"0,1,100,100.25001,100.25,-99.5,-99.5,,\n", 1e-7, 0},
        {"0,1,100,100.250011,100.25,-99.5,-99.5,,\n", 1e-7, 1},
        {"0,1,100,100.25001,100.25,-99.5,-99.5,,\n", 0, 1},
        // The float after 100.25 is 100.25000762939453; the one after that is not a neighbour.
        {"0,1,100,100.25,100.25000762939453,-99.5,-99.5,,\n", 1e-12, 0},
        {"0,1,100,100.25,100.25001525878906,-99.5,-99.5,,\n", 1e-12, 1},
        {"0,1,100,100.25,100.25000762939453,-99.5,-99.5,,\n", 0, 1},
        {"0,1,100,100.25,100.250000001,-99.5,-99.5,,\n", 0, 0}, // the same float
        // The default of an environment that names its state is 1e-7.
        {"0,1,100,100.25001,100.25,-99.5,-99.5,,\n", ENV_REPLAY_TOLERANCE, 0},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), NAMED_HEADER NAMED_START "%s", cases[i].row);
        struct replayed got = named(text, (env_replay_request){.tolerance = cases[i].tolerance});
        T_OK(got.err);
        assert_int_equal(got.result.rows_differing, cases[i].differing);
    }
    struct replayed got = replay_of("MountainCar-v0", HEADER START, ENV_REPLAY_TOLERANCE);
    assert_true(got.result.tolerance == 0);
}

// ---- bits and tapes

#define BITS_HEADER "ep,t,action,reward,terminal,state_hex,random_tape\n"
#define BITS_0                                                                                     \
    "00000000001111111111111111111171111111110000000000"                                           \
    "00000000000000000000000000000000000000000000800000"
#define BITS_1                                                                                     \
    "00000000001111111111111111111131111111110400000000"                                           \
    "00000000000000000000000000000000000000000000800000"
#define BITS_START BITS_HEADER "0,0,,,," BITS_0 ",i:0\n"

static struct replayed
bits(const char *text)
{
    return replay_with("MinAtar/Breakout-v0", "sticky_actions=0", text, (env_replay_request){0});
}

static void
test_replay_of_bits_and_a_tape(void **state)
{
    (void)state;
    struct replayed got = bits(BITS_START "0,1,5,0,0," BITS_1 ",\n");
    T_OK(got.err);
    assert_int_equal(got.result.rows, 2);
    assert_int_equal(got.result.rows_differing, 0);
    got = bits(BITS_START "0,1,5,0,0," BITS_0 ",\n"); // trail and ball have not moved
    T_OK(got.err);
    assert_int_equal(got.result.rows_differing, 1);
    assert_int_equal(got.result.line, 3);
    assert_string_equal(got.result.column, "state_hex[3][0][1]");
    assert_true(got.result.got == 0 && got.result.want == 1);
    got = bits(BITS_HEADER "0,0,,,," BITS_0 ",i:1\n"); // the ball begins at the right
    T_OK(got.err);
    assert_string_equal(got.result.column, "state_hex[3][0][1]");
    got = bits(BITS_START "0,1,5,0,1," BITS_1 ",\n");
    T_OK(got.err);
    assert_string_equal(got.result.column, "terminal");
    got = bits(BITS_START "0,1,5,1,0," BITS_1 ",\n");
    T_OK(got.err);
    assert_string_equal(got.result.column, "reward");
}

static void
test_replay_malformed_bits_and_tapes_say_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"ep,t,action,reward,state_hex\n", "line 1: no column random_tape"},
        {"ep,t,action,reward,random_tape\n", "line 1: no column o0, o1, o2, "},
        {"ep,t,action,reward,state_hex,random_tape,colour\n", "column colour does not exist"},
        {BITS_HEADER "0,0,,,,00,i:0\n",
         "line 2, column state_hex: 2 hexadecimal digits, not the 100 of 400 bits"},
        {BITS_HEADER "0,0,,,," BITS_0 "0,i:0\n", "101 hexadecimal digits, not the 100"},
        {BITS_HEADER "0,0,,,,g" BITS_0 ",i:0\n", "101 hexadecimal digits"},
        {BITS_HEADER "0,0,,,,,i:0\n", "0 hexadecimal digits"},
        {BITS_START "0,1,5,0,0,x0000000001111111111111111111131111111110400000000"
                    "00000000000000000000000000000000000000000000800000,\n",
         "line 3, column state_hex: character 1 is not a hexadecimal digit"},
        {BITS_HEADER "0,0,,,," BITS_0 ",\n", "line 2: MinAtar/Breakout-v0: reset: the 0 recorded"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:0 1\n", "line 2: MinAtar/Breakout-v0: reset: the 2"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:2\n", "reset: the 1 recorded random numbers are not"},
        {BITS_HEADER "0,0,,,," BITS_0 ",u:0.5\n", "reset: the 1 recorded random numbers are not"},
        {BITS_START "0,1,5,0,0," BITS_1 ",u:0.5\n", "line 3: MinAtar/Breakout-v0: step: the 1"},
        {BITS_HEADER "0,0,,,," BITS_0 ",0\n", "line 2, column random_tape: \"0\" begins neither"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i\n", "\"i\" begins neither"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:\n", "number 1, \"\", is not an integer from 0"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:0 \n", "number 2, \"\", is not an integer"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i: 0\n", "number 1, \"\", is not an integer"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:0|\n", "nothing follows the last"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:0|5\n", "\"5\" begins neither"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:-1\n", "number 1, \"-1\", is not an integer from 0"},
        {BITS_HEADER "0,0,,,," BITS_0 ",i:0.5\n", "number 1, \"0.5\", is not an integer from 0"},
        {BITS_HEADER "0,0,,,," BITS_0 ",u:0.5 1\n", "number 2, \"1\", is not a uniform one"},
        {BITS_HEADER "0,0,,,," BITS_0 ",u:nan\n", "\"nan\", is not a uniform one in [0, 1)"},
        {BITS_HEADER "0,0,,,," BITS_0 ",u:0x\n", "\"0x\", is not a uniform one"},
        {BITS_HEADER "0,3,,,," BITS_0 ",i:0\n",
         "column t: an episode without state columns begins"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        struct replayed got = bits(cases[i].text);
        T_ERR(got.err, OCT_EINVAL);
        T_SAYS(got.why.text, cases[i].says);
    }
    struct replayed got =
        replay_with("MinAtar/Breakout-v0", "", BITS_START, (env_replay_request){.one_step = true});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "cannot be put into a recorded state (no set_state)");
}

// A long tape: more numbers than the buffer has at first.
static void
test_replay_of_a_long_tape(void **state)
{
    (void)state;
    struct replayed got =
        replay_with("MinAtar/Freeway-v0", "sticky_actions=0",
                    "ep,t,action,reward,state_hex,random_tape\n0,0,,,00,"
                    "i:1 2 3 4 5 1 2 3|u:0.1 0.9 0.1 0.9 0.1 0.9 0.1 0.9|i:0 0 0 0\n",
                    (env_replay_request){0});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "reset: the 20 recorded random numbers are not");
    got = replay_with("MinAtar/Freeway-v0", "sticky_actions=0",
                      "ep,t,action,reward,state_hex,random_tape\n0,0,,,00,"
                      "i:1 2 3 4 5 1 2 3|u:0.1 0.9 0.1 0.9 0.1 0.9 0.1 0.9\n",
                      (env_replay_request){0});
    T_ERR(got.err, OCT_EINVAL);
    T_SAYS(got.why.text, "2 hexadecimal digits, not the 176 of 700 bits");
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
        cmocka_unit_test(test_replay_matches_the_names_of_the_environment),
        cmocka_unit_test(test_replay_of_named_columns_finds_differences),
        cmocka_unit_test(test_replay_of_named_columns_names_all_that_are_missing),
        cmocka_unit_test(test_replay_of_named_columns_needs_half_of_the_observation),
        cmocka_unit_test(test_replay_tolerance_is_relative_above_1_and_one_float_wide),
        cmocka_unit_test(test_replay_of_bits_and_a_tape),
        cmocka_unit_test(test_replay_malformed_bits_and_tapes_say_line_and_column),
        cmocka_unit_test(test_replay_of_a_long_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
