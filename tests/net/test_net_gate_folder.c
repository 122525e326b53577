// The private folder of the sockets behind the gate: its rights, its place, and what is removed.
#include "common/oct_reason.h"
#include "net/net_gate_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/net/net_test.h"

// A folder of the test's own, in which nothing else makes folders.
static const char *
base_make(const char *name, mode_t mode)
{
    const char *base = net_test_path(name);
    assert_int_equal(mkdir(base, 0700), 0);
    assert_int_equal(chmod(base, mode), 0);
    return base;
}

static void
refused_with(const char *base, const char *words)
{
    oct_reason why = {""};
    net_gate_folder folder;
    T_ERR(net_gate_folder_make_in(&folder, base, &why), OCT_EINVAL);
    assert_string_equal(folder.path, "");
    if (strstr(why.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, why.text);
    }
    net_gate_folder_remove(&folder); // fine for none
}

static void
test_bases_that_will_not_do_are_told(void **state)
{
    (void)state;
    char longest[NET_GATE_BASE_MAX + 2];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[0] = '/';
    longest[sizeof(longest) - 1] = '\0';
    refused_with("relative", "is not an absolute path");
    refused_with(longest, "has 77 bytes, and the path of a socket has room for 76");
    refused_with("/does/not/exist", "No such file or directory");
    refused_with(base_make("open", 0777), "can be written by other users");
    refused_with(base_make("group", 0770), "can be written by other users");
}

static void
file_make(const char *folder, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void
socket_make(const char *folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    (void)close(fd);
}

static void
test_it_is_ours_alone_and_goes_with_what_is_in_it(void **state)
{
    (void)state;
    oct_reason why;
    char path[NET_GATE_FOLDER_MAX];
    struct stat status;
    net_gate_folder folder;
    T_OK(net_gate_folder_make_in(&folder, base_make("sticky", 01777), &why));
    assert_int_equal(stat(folder.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    (void)snprintf(path, sizeof(path), "%s", folder.path);
    socket_make(path, "0.2.0");
    net_gate_folder_remove(&folder);
    assert_int_equal(access(path, F_OK), -1);
    net_gate_folder_remove(&folder); // once more
}

// Makes a folder with a socket in it, tells its path through the pipe and waits to be killed.
static pid_t
child_with_folder(const char *base, char path[NET_GATE_FOLDER_MAX])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        oct_reason why;
        net_gate_folder folder = {0};
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (net_gate_folder_make_in(&folder, base, &why) != OCT_OK) {
            _exit(1);
        }
        socket_make(folder.path, "0.2.0");
        (void)!write(ends[1], folder.path, sizeof(folder.path));
        while (true) {
            (void)pause();
        }
    }
    assert_int_equal(read(ends[0], path, NET_GATE_FOLDER_MAX), NET_GATE_FOLDER_MAX);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static void
test_those_of_dead_processes_are_removed_and_no_others(void **state)
{
    (void)state;
    char base[256], dead[NET_GATE_FOLDER_MAX], alive[NET_GATE_FOLDER_MAX];
    oct_reason why;
    char path[512];
    (void)snprintf(base, sizeof(base), "%s", base_make("swept", 0700));
    (void)snprintf(path, sizeof(path), "%s/octet-123456", base);
    assert_int_equal(mkdir(path, 0755), 0); // not one of ours, by its rights
    pid_t first = child_with_folder(base, dead), second = child_with_folder(base, alive);
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_int_equal(waitpid(first, NULL, 0), first);
    assert_int_equal(access(dead, F_OK), 0);
    net_gate_folder folder;
    T_OK(net_gate_folder_make_in(&folder, base, &why));
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(alive, F_OK), 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(kill(second, SIGKILL), 0);
    assert_int_equal(waitpid(second, NULL, 0), second);
    net_gate_folder_remove(&folder);
}

// Somebody's folder that looks like one of ours by name and rights: there is more than sockets in
// it.
static void
test_what_is_not_a_socket_is_never_removed(void **state)
{
    (void)state;
    char base[128], mine[160], path[200];
    oct_reason why;
    (void)snprintf(base, sizeof(base), "%s", base_make("shared", 0700));
    (void)snprintf(mine, sizeof(mine), "%s/octet-models", base);
    assert_int_equal(mkdir(mine, 0700), 0);
    file_make(mine, "policy.oct");
    net_gate_folder folder;
    T_OK(net_gate_folder_make_in(&folder, base, &why));
    (void)snprintf(path, sizeof(path), "%s/policy.oct", mine);
    assert_int_equal(access(path, F_OK), 0);
    net_gate_folder_remove(&folder);
}

static void
test_the_first_base_that_will_do_is_taken(void **state)
{
    (void)state;
    oct_reason why;
    char base[256];
    net_gate_folder folder;
    (void)snprintf(base, sizeof(base), "%s", base_make("second", 0700));
    assert_int_equal(setenv("XDG_RUNTIME_DIR", net_test_folder(), 1), 0); // goes with the session
    assert_int_equal(setenv("TMPDIR", base, 1), 0);
    T_OK(net_gate_folder_make(&folder, &why));
    assert_memory_equal(folder.path, base, strlen(base));
    net_gate_folder_remove(&folder);
    assert_int_equal(setenv("TMPDIR", "/does/not/exist", 1), 0);
    T_OK(net_gate_folder_make(&folder, &why));
    assert_memory_equal(folder.path, "/tmp/octet-", 11);
    assert_null(strchr(folder.path + 11, '/'));
    net_gate_folder_remove(&folder);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
}

static void
test_one_that_was_removed_is_made_anew_and_no_other(void **state)
{
    (void)state;
    oct_reason why;
    char path[NET_GATE_FOLDER_MAX], base[256];
    net_gate_folder folder = {.fd = -1};
    (void)snprintf(base, sizeof(base), "%s", base_make("kept", 0700));
    assert_int_equal(setenv("TMPDIR", base, 1), 0);
    unsigned files = net_test_files_open();
    T_OK(net_gate_folder_keep(&folder, &why));
    (void)snprintf(path, sizeof(path), "%s", folder.path);
    T_OK(net_gate_folder_keep(&folder, &why));
    assert_string_equal(folder.path, path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); // another that has its name
    T_OK(net_gate_folder_keep(&folder, &why));
    assert_string_not_equal(folder.path, path);
    assert_int_equal(access(folder.path, F_OK), 0);
    net_gate_folder_remove(&folder);
    assert_int_equal(net_test_files_open(), files);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bases_that_will_not_do_are_told),
        cmocka_unit_test(test_it_is_ours_alone_and_goes_with_what_is_in_it),
        cmocka_unit_test(test_those_of_dead_processes_are_removed_and_no_others),
        cmocka_unit_test(test_what_is_not_a_socket_is_never_removed),
        cmocka_unit_test(test_the_first_base_that_will_do_is_taken),
        cmocka_unit_test(test_one_that_was_removed_is_made_anew_and_no_other),
    };
    return cmocka_run_group_tests_name("net_gate_folder", tests, NULL, net_test_folder_remove);
}
