// The commands `octet env list`, `check`, `bench` and `replay`: their output and exit codes.
#include "tests/envs/env_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_commands.h"

#define TEXT_MAX   16384
#define WORDS_MAX  12
#define REFERENCES "tests/data/classic_control_ref/"

static char output[TEXT_MAX]; // stdout and stderr of the last command

#define RAN(...) ran((const char *const[]){__VA_ARGS__, NULL})

// Runs the command with its output caught. given ends at the first NULL.
static int
ran(const char *const *given)
{
    char *argv[WORDS_MAX] = {strdup("env")};
    int argc = 1;
    for (int k = 0; given[k] != NULL; k++) {
        argv[argc++] = strdup(given[k]);
    }
    FILE *caught = tmpfile();
    assert_non_null(caught);
    (void)fflush(NULL);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    assert_true(dup2(fileno(caught), STDOUT_FILENO) >= 0 &&
                dup2(fileno(caught), STDERR_FILENO) >= 0);
    pid_t child = fork(); // wrong use ends the process
    if (child == 0) {
        int code = cli_env(argc, argv);
        (void)fflush(NULL);
        _exit(code);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
    (void)close(out);
    (void)close(err);
    rewind(caught);
    output[fread(output, 1, sizeof(output) - 1, caught)] = '\0';
    assert_int_equal(fclose(caught), 0);
    for (int k = 0; k < argc; k++) {
        free(argv[k]);
    }
    return code;
}

static void
test_cli_wrong_use_says_what_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(RAN(NULL), 2);
    T_SAYS(output, "Usage: octet env");
    assert_int_equal(RAN("lst"), 2);
    T_SAYS(output, "octet env: error: unknown command 'lst'; did you mean 'list'?");
    T_SAYS(output, "help: octet env --help");
    assert_int_equal(RAN("frobnicate"), 2);
    T_SAYS(output, "allowed: list new check bench replay render");
    assert_int_equal(RAN("--seed", "1"), 2);
    T_SAYS(output, "unknown option '--seed'; name a command first");
    assert_int_equal(RAN("check"), 2);
    T_SAYS(output, "octet env check: error: no environment given");
    T_SAYS(output, "help: octet env check --help");
    assert_int_equal(RAN("list", "CartPole-v1"), 2);
    T_SAYS(output, "unexpected argument 'CartPole-v1'");
    assert_int_equal(RAN("check", "CartPole-v1", "Acrobot-v1"), 2);
    T_SAYS(output, "two environments, 'CartPole-v1' and 'Acrobot-v1'; name one");
    assert_int_equal(RAN("bench", "CartPole-v1", "--envs", "0"), 2);
    T_SAYS(output, "--envs is '0'; allowed is a whole number from 1 to 1048576");
    assert_int_equal(RAN("bench", "CartPole-v1", "--seconds", "fast"), 2);
    T_SAYS(output, "--seconds is 'fast'; allowed is a number from 0 to 3600");
    assert_int_equal(RAN("bench", "CartPole-v1", "--seconds", "nan"), 2);
    T_SAYS(output, "--seconds is 'nan'; allowed is a number");
    assert_int_equal(RAN("bench", "CartPole-v1", "--seed", "-1"), 2);
    T_SAYS(output, "--seed is '-1'; allowed is a whole number");
    assert_int_equal(RAN("bench", "CartPole-v1", "--envs"), 2);
    T_SAYS(output, "option '--envs' needs a value");
    assert_int_equal(RAN("bench", "CartPole-v1", "--tolerance", "1"), 2);
    T_SAYS(output, "unknown option '--tolerance'\n  allowed: --options --seed --envs --seconds");
    assert_int_equal(RAN("replay", "CartPole-v1", "x.csv", "--tolerance", "-1"), 2);
    T_SAYS(output, "--tolerance is '-1'; allowed is a number of at least 0");
    assert_int_equal(RAN("replay", "CartPole-v1", "x.csv", "--one", "--toleranc"), 2);
    T_SAYS(output, "option '--tolerance' needs a value");
    assert_int_equal(RAN("replay", "CartPole-v1", "x.csv", "--tolerence", "1"), 2);
    T_SAYS(output, "unknown option '--tolerence'; did you mean '--tolerance'?");
    assert_int_equal(RAN("replay", "CartPole-v1"), 2);
    T_SAYS(output, "no recorded FILE.csv given");
}

static void
test_cli_help_of_every_command(void **state)
{
    (void)state;
    const char *commands[] = {"list", "check", "bench", "replay", "render"};
    assert_int_equal(RAN("--help"), 0);
    T_SAYS(output, "octet env COMMAND --help");
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        assert_int_equal(RAN(commands[i], "--help"), 0);
        T_SAYS(output, "Usage: octet env ");
        T_SAYS(output, commands[i]);
    }
}

static void
test_cli_list_shows_every_environment(void **state)
{
    (void)state;
    assert_int_equal(RAN("list"), 0);
    for (const char *const *id = env_ids(); *id != NULL; id++) {
        T_SAYS(output, *id);
    }
    T_SAYS(output, "discrete 3");
}

static void
test_cli_check_exits_1_and_names_the_broken_rule(void **state)
{
    (void)state;
    assert_int_equal(RAN("check", plugin_path("bad_no_final")), 1);
    T_SAYS(output, "FAIL  final-obs");
    T_SAYS(output, "broken: the final observation is missing");
    T_SAYS(output, "PASS  rewards");
    assert_int_equal(RAN("check", "CartPol-v1"), 1);
    T_SAYS(output, "did you mean CartPole-v1");
    assert_int_equal(RAN("check", "CartPole-v1", "--options", "length=2"), 1);
    T_SAYS(output, "no option \"length\"");
}

static void
test_cli_check_exits_0_when_every_rule_is_kept(void **state)
{
    (void)state;
    assert_int_equal(RAN("check", plugin_path("point"), "--seed", "9"), 0);
    T_SAYS(output, "keeps every rule");
    assert_int_equal(
        RAN("check", "CartPole-v1", "--options", "max_episode_steps=30", "--timeout", "30"), 0);
}

// What octet train would refuse, in its words (test_cli_preflight.c has the same environments).
static void
test_cli_check_says_that_no_policy_can_be_trained(void **state)
{
    (void)state;
    static const struct {
        const char *options, *says;
    } cases[] = {
        {"dtype=2", "actions of Shape-v0 are f64"},
        {"obs_dtype=2", "observations of Shape-v0 are f64"},
        {"obs_dtype=4", "observations of Shape-v0 are i32"},
        {"obs=65537", "an observation of Shape-v0 has 65537 numbers"},
        {"n=257", "Shape-v0 has 257 actions"},
        {"bounds=0", "Shape-v0 bounds action 0 to [-inf, inf]"},
        {"low=-3e38,high=3e38", "Shape-v0 bounds action 0 to [-3e+38, 3e+38]"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        assert_int_equal(RAN("check", plugin_path("shape"), "--options", cases[i].options), 1);
        T_SAYS(output, "FAIL  trains        a policy can be trained on it\n      ");
        T_SAYS(output, cases[i].says);
        T_SAYS(output, "keeps every rule of the interface, but no policy can be trained on it");
    }
    assert_int_equal(RAN("check", plugin_path("shape"), "--options", "dtype=2,sums=0"), 1);
    T_SAYS(output, "rules broken, and no policy can be trained on it");
    assert_int_equal(RAN("check", plugin_path("shape"), "--options", "length=0,limit=0"), 0);
    T_SAYS(output, "WARN  ends");
    T_SAYS(output, "so: keeps every rule\n");
}

static void
test_cli_bench_prints_steps_per_second(void **state)
{
    (void)state;
    assert_int_equal(RAN("bench", "CartPole-v1", "--seconds", "0.001", "--envs", "5"), 0);
    T_SAYS(output, " steps/s of wall time, ");
    T_SAYS(output, " per CPU second (");
    T_SAYS(output, "0 failures");
    assert_int_equal(RAN("bench", "./none.so"), 1);
    T_SAYS(output, "no such file");
}

static void
test_cli_bench_of_no_time_measures_one_step_of_each(void **state)
{
    (void)state;
    assert_int_equal(RAN("bench", "Pendulum-v1", "--envs", "3", "--seconds", "0"), 0);
    T_SAYS(output, "\n  3 steps, ");
    assert_null(strstr(output, "nan"));
    assert_null(strstr(output, "inf"));
}

static void
test_cli_names_an_environment_that_ends_the_process(void **state)
{
    (void)state;
    static const char *const commands[] = {"bench", "render"};
    char words[700];
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        const char *id = plugin_path("shape");
        const char *size = i == 0 ? "--envs" : "--steps";
        const char *out = i == 0 ? "--seconds" : "--out";
        const char *value = i == 0 ? "0.001" : "/dev/null";
        int code = RAN(commands[i], id, size, "9", out, value, "--options", "exit_at=1");
        assert_int_equal(code, 1);
        (void)snprintf(words, sizeof(words),
                       "octet env %s: error: the environment ended the process: %s; for details "
                       "run 'octet env check %s'\n",
                       commands[i], id, id);
        T_SAYS(output, words);
        code = RAN(commands[i], id, size, "9", out, value, "--options", "abort_at=1");
        assert_int_equal(code, 128 + SIGABRT);
        (void)snprintf(words, sizeof(words),
                       "octet env %s: error: the environment crashed with signal 6 (Aborted): %s; ",
                       commands[i], id);
        T_SAYS(output, words);
        code = RAN(commands[i], id, size, "9", out, value, "--options", "deep_at=1");
        assert_int_equal(code, 128 + SIGSEGV);
        T_SAYS(output, "the environment crashed with signal 11 (Segmentation fault): ");
        bool is_done = i == 0 || HAS_CAIRO;
        assert_int_equal(RAN(commands[i], id, size, "9", out, value), is_done ? 0 : 1);
        assert_true(is_done ==
                    (strstr(output, "error: this octet was built without cairo") == NULL));
    }
}

static void
test_cli_replay_of_every_reference_is_the_same(void **state)
{
    (void)state;
    static const char *const ids[] = {"CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0",
                                      "Acrobot-v1",  "Pendulum-v1",    NULL};
    for (const char *const *id = ids; *id != NULL; id++) {
        char path[256];
        snprintf(path, sizeof(path), REFERENCES "%s.csv", *id);
        assert_int_equal(RAN("replay", *id, path), 0);
        T_SAYS(output, "rows compared");
        T_SAYS(output, "no difference: the same bits");
        assert_int_equal(RAN("replay", *id, path, "--one-step"), 0);
    }
    assert_int_equal(
        RAN("replay", "Pendulum-v1", REFERENCES "Pendulum-v1_np2.csv", "--options", "numpy=2"), 0);
    T_SAYS(output, "122 rows compared (2 episodes, 120 steps)");
    const char *breakout = "tests/data/minatar/breakout.csv";
    assert_int_equal(RAN("replay", "MinAtar/Breakout-v0", breakout), 0);
    T_SAYS(output, "751 rows compared (3 episodes, 748 steps)");
    T_SAYS(output, "not in the file, not compared: truncated");
    T_SAYS(output, "no difference: the same bits");
    assert_int_equal(
        RAN("replay", "MinAtar/Breakout-v0", breakout, "--options", "sticky_actions=0.1"), 1);
    T_SAYS(output, "breakout.csv: line 3: ");
    T_SAYS(output, "the 0 recorded random numbers are not those that the step draws");
}

static void
test_cli_replay_exits_1_with_the_first_difference(void **state)
{
    (void)state;
    const char *file = REFERENCES "Pendulum-v1_np2.csv";
    assert_int_equal(RAN("replay", "Pendulum-v1", file), 1);
    T_SAYS(output, "122 rows compared");
    T_SAYS(output, "Pendulum-v1_np2.csv:3: column reward: got ");
    assert_int_equal(RAN("replay", "Pendulum-v1", file, "--tolerance", "1e-5"), 0);
    T_SAYS(output, "no difference above 1e-05");
    assert_int_equal(RAN("replay", "CartPole-v1", file), 1);
    T_SAYS(output, "line 1: no column s2");
    assert_int_equal(RAN("replay", "CartPole-v1", "none.csv"), 1);
    T_SAYS(output, "none.csv: No such file");
}

static void
file_says(const char *path, const char *text)
{
    char content[TEXT_MAX * 4];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    T_SAYS(content, text);
    assert_null(strstr(content, "point.c"));
    assert_null(strstr(content, "Point-v0"));
}

static void
test_cli_new_writes_a_plugin_with_its_own_names(void **state)
{
    (void)state;
    char folder[] = "/tmp/octet-test-XXXXXX", *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(RAN("new", "arm_2d"), 0);
    T_SAYS(output, "cc -O2 -shared -fPIC -I include -o arm_2d.so arm_2d.c -lm");
    file_says("arm_2d/arm_2d.c", "\"Arm2d-v0\"");
    file_says("arm_2d/arm_2d.c", "cc -O2 -shared -fPIC -I include -o arm_2d.so arm_2d.c -lm");
    file_says("arm_2d/arm_2d.yaml", "id: ./arm_2d.so");
    file_says("arm_2d/include/octet/env.h", "octet_env_api_get");
    assert_int_equal(RAN("new", "arm_2d"), 1);
    T_SAYS(output, "octet env new: error: arm_2d already exists; choose another name");
    assert_int_equal(RAN("new", "../arm"), 2);
    T_SAYS(output, "'../arm' is not a valid name; allowed are at most ");
    assert_int_equal(RAN("new"), 2);
    T_SAYS(output, "the new environment needs a name, such as arm");
    static const char *const made[] = {"arm_2d/include/octet/env.h",
                                       "arm_2d/include/octet",
                                       "arm_2d/include",
                                       "arm_2d/arm_2d.c",
                                       "arm_2d/arm_2d.yaml",
                                       "arm_2d"};
    for (size_t i = 0; i < OCT_COUNTOF(made); i++) {
        assert_int_equal(remove(made[i]), 0);
    }
    assert_int_equal(chdir(before), 0);
    assert_int_equal(rmdir(folder), 0); // nothing else was written
    free(before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_wrong_use_says_what_is_allowed),
        cmocka_unit_test(test_cli_help_of_every_command),
        cmocka_unit_test(test_cli_list_shows_every_environment),
        cmocka_unit_test(test_cli_new_writes_a_plugin_with_its_own_names),
        cmocka_unit_test(test_cli_check_exits_1_and_names_the_broken_rule),
        cmocka_unit_test(test_cli_check_exits_0_when_every_rule_is_kept),
        cmocka_unit_test(test_cli_check_says_that_no_policy_can_be_trained),
        cmocka_unit_test(test_cli_bench_prints_steps_per_second),
        cmocka_unit_test(test_cli_bench_of_no_time_measures_one_step_of_each),
        cmocka_unit_test(test_cli_names_an_environment_that_ends_the_process),
        cmocka_unit_test(test_cli_replay_of_every_reference_is_the_same),
        cmocka_unit_test(test_cli_replay_exits_1_with_the_first_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
