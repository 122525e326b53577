// Child processes: exit status, log, environment and descriptors, and ending with the parent.
#include "tests/net/net_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/net_process.h"

static const char *own_file; // this program

typedef struct child {
    net_loop *loop;
    net_process *process;
    unsigned exits;
    int status;
} child;

static void
child_exited(void *arg, net_process *process, int exit_status)
{
    child *c = arg;
    assert_ptr_equal(process, c->process);
    c->exits++;
    c->status = exit_status;
    net_loop_stop(c->loop);
}

static net_process_spec
shell(const char **argv, const char *script, const char *log_path)
{
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return (net_process_spec){
        .file = "/bin/sh", .argv = argv, .folder = net_test_folder(), .log_path = log_path};
}

static void
child_start(child *c, const net_process_spec *spec)
{
    c->loop = net_loop_create();
    T_OK(net_process_start(&c->process, c->loop, spec, child_exited, c));
}

static int
child_wait(child *c)
{
    net_test_until(c->loop, &c->exits, 1);
    assert_int_equal(c->exits, 1);
    net_process_kill(c->process, SIGKILL); // no longer means anybody
    net_process_destroy(c->process);
    net_loop_destroy(c->loop);
    return c->status;
}

static int
run(const net_process_spec *spec)
{
    child c = {0};
    child_start(&c, spec);
    return child_wait(&c);
}

static void
test_process_that_cannot_start_is_refused(void **state)
{
    (void)state;
    const char *argv[4];
    net_loop *loop = net_loop_create();
    net_process *process = NULL;
    child c = {.loop = loop};
    int saved = net_test_stderr_to("/dev/null");

    net_process_spec spec = shell(argv, "exit 0", net_test_path("log"));
    spec.file = "/nowhere/at/all";
    T_ERR(net_process_start(&process, loop, &spec, child_exited, &c), OCT_ENOTFOUND);
    spec = shell(argv, "exit 0", net_test_path("log"));
    spec.file = "/etc/passwd"; // not executable
    T_ERR(net_process_start(&process, loop, &spec, child_exited, &c), OCT_EIO);
    spec = shell(argv, "exit 0", net_test_path("log"));
    spec.folder = "/nowhere/at/all";
    T_ERR(net_process_start(&process, loop, &spec, child_exited, &c), OCT_EIO);
    spec = shell(argv, "exit 0", "/nowhere/at/all");
    T_ERR(net_process_start(&process, loop, &spec, child_exited, &c), OCT_EIO);

    net_test_stderr_back(saved);
    assert_null(process);
    net_process_destroy(NULL);
    net_loop_destroy(loop);
    assert_int_equal(c.exits, 0);
}

static void
test_process_exit_status(void **state)
{
    (void)state;
    const char *argv[4];
    net_process_spec spec = shell(argv, "exit 0", net_test_path("log"));
    assert_int_equal(run(&spec), 0);
    spec = shell(argv, "exit 7", net_test_path("log"));
    assert_int_equal(run(&spec), 7);
    spec = shell(argv, "kill -9 $$", net_test_path("log"));
    assert_int_equal(run(&spec), 128 + SIGKILL);
}

static void
test_process_is_killed(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGKILL};
    for (size_t i = 0; i < OCT_COUNTOF(signals); i++) {
        const char *argv[4];
        net_process_spec spec =
            shell(argv, "while :; do read x; done </dev/zero", net_test_path("log"));
        child c = {0};
        child_start(&c, &spec);
        assert_true(net_process_pid(c.process) > 0);
        net_process_kill(c.process, signals[i]);
        assert_int_equal(child_wait(&c), 128 + signals[i]);
    }
}

static void
test_process_output_is_appended_to_its_log(void **state)
{
    (void)state;
    const char *argv[4];
    const char *log = net_test_path("appended");
    net_process_spec spec = shell(argv, "echo out; echo err >&2", log);
    assert_int_equal(run(&spec), 0);
    spec = shell(argv, "echo again", log);
    assert_int_equal(run(&spec), 0);
    char text[100];
    net_test_read(log, text, sizeof(text));
    assert_string_equal(text, "out\nerr\nagain\n");
}

static void
test_process_has_empty_input_its_folder_and_no_descriptor_of_ours(void **state)
{
    (void)state;
    const char *argv[4];
    const char *log = net_test_path("surroundings");
    net_process_spec spec = shell(argv, "cat; pwd; ls -x /proc/$$/fd", log);
    assert_int_equal(run(&spec), 0);
    char text[200];
    char want[200];
    net_test_read(log, text, sizeof(text));
    snprintf(want, sizeof(want), "%s\n0  1  2\n", net_test_folder());
    assert_string_equal(text, want);
}

static void
test_process_environment_is_ours_with_changes(void **state)
{
    (void)state;
    const char *argv[4];
    const char *log = net_test_path("environment");
    setenv("OCT_TEST_KEPT", "kept", 1);
    setenv("OCT_TEST_REPLACED", "old", 1);
    setenv("OCT_TEST_REMOVED", "old", 1);
    setenv("OCT_TEST_REMOVED_NOT", "stays", 1);
    setenv("OCT_TEST_REM", "stays", 1); // what that begins with
    const char *const set[] = {"OCT_TEST_REPLACED=new", "OCT_TEST_ADDED=a=b", NULL};
    const char *const unset[] = {"OCT_TEST_REMOVED", "OCT_TEST_NEVER_SET", NULL};
    net_process_spec spec = shell(argv, "env | grep ^OCT_TEST_ | LC_ALL=C sort", log);
    spec.set_env = set;
    spec.unset_env = unset;
    assert_int_equal(run(&spec), 0);
    char text[300];
    net_test_read(log, text, sizeof(text));
    assert_string_equal(text, "OCT_TEST_ADDED=a=b\nOCT_TEST_KEPT=kept\n"
                              "OCT_TEST_REM=stays\nOCT_TEST_REMOVED_NOT=stays\n"
                              "OCT_TEST_REPLACED=new\n");
}

static void
test_process_may_have_a_session_of_its_own(void **state)
{
    (void)state;
    for (int own = 0; own <= 1; own++) {
        const char *argv[4];
        const char *log = net_test_path(own ? "own" : "shared");
        // Fields after the command name: state, parent, group, session.
        net_process_spec spec =
            shell(argv, "read -r a b c d e f rest </proc/$$/stat; test $f = $$", log);
        spec.own_session = own;
        assert_int_equal(run(&spec), own ? 0 : 1);
    }
}

static void
test_several_processes_at_once(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    const char *argv[COUNT][4];
    char scripts[COUNT][16];
    net_loop *loop = net_loop_create();
    child children[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        snprintf(scripts[i], sizeof(scripts[i]), "exit %d", i);
        net_process_spec spec = shell(argv[i], scripts[i], net_test_path("log"));
        children[i].loop = loop;
        T_OK(net_process_start(&children[i].process, loop, &spec, child_exited, &children[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        net_test_until(loop, &children[i].exits, 1);
        assert_int_equal(children[i].status, i);
        net_process_destroy(children[i].process);
    }
    net_loop_destroy(loop);
}

// Three processes: this test starts "parent", that starts "follower". The parent is killed with
// -9, and the follower must end: it holds the fifo open, so the test sees the end of file.
// said: what is written to the fifo before the parent may be killed.
static void
follower_ends(const char *mode, const char *fifo, const char *said)
{
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const argv[] = {"test_net_process", mode, fifo, NULL};
    net_process_spec spec = {
        .file = own_file, .argv = argv, .folder = "/", .log_path = net_test_path("follow")};
    child c = {0};
    child_start(&c, &spec);
    int fd = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    char byte = 0;
    for (const char *want = said; *want != '\0'; want++) {
        assert_int_equal(read(fd, &byte, 1), 1);
        assert_int_equal(byte, *want);
    }
    net_process_kill(c.process, SIGKILL);
    assert_int_equal(read(fd, &byte, 1), 0);
    close(fd);
    assert_int_equal(child_wait(&c), 128 + SIGKILL);
}

static void
test_process_ends_with_its_parent(void **state)
{
    (void)state;
    follower_ends("parent", net_test_path("fifo"), "f");
}

static void
test_process_that_hangs_ends_after_its_parent(void **state)
{
    (void)state;
    follower_ends("stuck", net_test_path("stuck-fifo"), "f");
}

static void
test_process_that_was_stopped_ends_with_its_parent(void **state)
{
    (void)state;
    follower_ends("stopped", net_test_path("stopped-fifo"), "fs");
}

static void
test_follow_parent_notices_that_it_is_too_late(void **state)
{
    (void)state;
    const char *const argv[] = {"test_net_process", "orphan", NULL, NULL};
    net_process_spec spec = {
        .file = own_file, .argv = argv, .folder = "/", .log_path = net_test_path("orphan")};
    assert_int_equal(run(&spec), 5);
}

_Noreturn static void
mode_follower(const char *fifo, int parent_pid)
{
    alarm(30); // if nothing else ends it
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    OCT_ASSERT(net_process_follow_parent(parent_pid));
    OCT_ASSERT(write(fd, "f", 1) == 1);
    for (;;) {
        pause();
    }
}

static int stuck_fd;

// The test reads a byte instead of the end.
static void
stuck_for_ever(int number)
{
    (void)number;
    OCT_ASSERT(write(stuck_fd, "x", 1) == 1);
    _exit(1);
}

// Does not stop when it is asked to.
_Noreturn static void
mode_stuck(const char *fifo, int parent_pid)
{
    (void)signal(SIGALRM, stuck_for_ever);
    alarm(30);
    (void)signal(SIGTERM, SIG_IGN);
    stuck_fd = open(fifo, O_WRONLY | O_CLOEXEC);
    OCT_ASSERT(net_process_follow_parent(parent_pid));
    net_process_outlive_parent(parent_pid, 50);
    OCT_ASSERT(write(stuck_fd, "f", 1) == 1);
    for (;;) {
        pause();
    }
}

_Noreturn static void
mode_stopped(const char *fifo, int parent_pid)
{
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    OCT_ASSERT(net_process_follow_parent(parent_pid));
    net_process_outlive_parent(parent_pid, 60000);
    OCT_ASSERT(write(fd, "f", 1) == 1);
    (void)raise(SIGSTOP);
    for (;;) {
        pause();
    }
}

static int
mode_parent(const char *fifo, const char *mode)
{
    pid_t own_pid = getpid();
    pid_t pid = fork();
    OCT_ASSERT(pid >= 0);
    if (pid == 0) {
        if (strcmp(mode, "stuck") == 0) {
            mode_stuck(fifo, own_pid);
        }
        if (strcmp(mode, "stopped") == 0) {
            mode_stopped(fifo, own_pid);
        }
        mode_follower(fifo, own_pid);
    }
    int status;
    while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
        int fd = open(fifo, O_WRONLY | O_CLOEXEC);
        OCT_ASSERT(fd >= 0 && write(fd, "s", 1) == 1);
    }
    return 1;
}

int
main(int argc, char **argv)
{
    if (argc == 3 && (strcmp(argv[1], "parent") == 0 || strcmp(argv[1], "stuck") == 0 ||
                      strcmp(argv[1], "stopped") == 0)) {
        return mode_parent(argv[2], argv[1]);
    }
    if (argc == 2 && strcmp(argv[1], "orphan") == 0) {
        return net_process_follow_parent(getppid() + 1) ? 0 : 5; // not who started us
    }
    own_file = realpath(argv[0], NULL);
    for (int fd = 3; fd < 1024; fd++) { // whoever started this test may have left some open
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_that_cannot_start_is_refused),
        cmocka_unit_test(test_process_exit_status),
        cmocka_unit_test(test_process_is_killed),
        cmocka_unit_test(test_process_output_is_appended_to_its_log),
        cmocka_unit_test(test_process_has_empty_input_its_folder_and_no_descriptor_of_ours),
        cmocka_unit_test(test_process_environment_is_ours_with_changes),
        cmocka_unit_test(test_process_may_have_a_session_of_its_own),
        cmocka_unit_test(test_several_processes_at_once),
        cmocka_unit_test(test_process_ends_with_its_parent),
        cmocka_unit_test(test_process_that_hangs_ends_after_its_parent),
        cmocka_unit_test(test_process_that_was_stopped_ends_with_its_parent),
        cmocka_unit_test(test_follow_parent_notices_that_it_is_too_late),
    };
    int failed = cmocka_run_group_tests(tests, NULL, net_test_folder_remove);
    free((char *)own_file);
    return failed;
}
