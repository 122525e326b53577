// Nothing beneath a run folder leads out of it: links, ".." and files that are not regular are
// refused by name, and what they lead to stays as it is.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/oct_folder.h"
#include "tests/support/oct_test.h"

#include "common/oct_file.h"

#define VICTIM "what the victim wrote"

static char run[512], victim[512], outside[512];

static const char *
in_run(const char *name)
{
    static char out[2][1024];
    static unsigned turn;
    turn ^= 1;
    (void)snprintf(out[turn], sizeof(out[turn]), "%s/%s", run, name);
    return out[turn];
}

// FOLDER/run is a run folder; FOLDER/outside/victim is not in it.
static int
begin(void **state)
{
    if (enter(state) != 0) {
        return 1;
    }
    (void)snprintf(run, sizeof(run), "%s", in_folder("run"));
    (void)snprintf(outside, sizeof(outside), "%s", in_folder("outside"));
    (void)snprintf(victim, sizeof(victim), "%s", in_folder("outside/victim"));
    if (mkdir(run, 0700) != 0 || mkdir(outside, 0700) != 0 ||
        oct_file_write(victim, VICTIM, strlen(VICTIM)) != OCT_OK) {
        return 1;
    }
    oct_file_confine(run);
    return 0;
}

static int
end(void **state)
{
    oct_file_remove_tree(run, false);
    oct_file_remove_tree(outside, false);
    return leave(state);
}

static void
assert_untouched(void)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    T_OK(oct_file_read(victim, 1024, &bytes, &length));
    assert_string_equal((const char *)bytes, VICTIM);
    free(bytes);
    DIR *entries = opendir(outside);
    int count = 0;
    while (readdir(entries) != NULL) {
        count++;
    }
    assert_int_equal(count, 3);
    (void)closedir(entries);
}

// Each function that opens, by the path of a link or through one.
static void
assert_all_refuse(const char *path, int code)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    struct stat found;
    char draft[OCT_FILE_PATH_MAX];
    static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_APPEND,
                                O_WRONLY | O_CREAT | O_TRUNC};
    static const char *const modes[] = {"r", "r+", "a", "w"};
    for (size_t i = 0; i < OCT_COUNTOF(flags); i++) {
        errno = 0;
        assert_int_equal(oct_file_open(path, flags[i], 0600, NULL), -1);
        assert_int_equal(errno, code);
    }
    for (size_t i = 0; i < OCT_COUNTOF(modes); i++) {
        errno = 0;
        assert_null(oct_file_stream(path, modes[i]));
        assert_int_equal(errno, code);
    }
    T_ERR(oct_file_read(path, 1024, &bytes, &length), OCT_EIO);
    assert_int_equal(errno, code);
    T_ERR(oct_file_write(path, "x", 1), OCT_EIO);
    assert_int_equal(errno, code);
    T_ERR(oct_file_write_secret(path, "x", 1), OCT_EIO);
    T_ERR(oct_file_replace(path, "x", 1), OCT_EIO);
    T_ERR(oct_file_draft_name(path, draft), OCT_EIO);
    assert_int_equal(errno, code);
    assert_int_equal(oct_file_lock_open(path), -1);
    assert_int_equal(errno, code);
    assert_int_equal(oct_file_stat(path, &found), -1);
    assert_int_equal(errno, code);
}

static void
test_a_link_is_not_followed(void **state)
{
    (void)state;
    assert_int_equal(symlink(victim, in_run("metrics.csv")), 0);
    assert_all_refuse(in_run("metrics.csv"), ELOOP);
    assert_non_null(strstr(oct_file_strerror(ELOOP), "symbolic link"));
    assert_true(oct_file_is_there(in_run("metrics.csv")));
    assert_int_equal(oct_file_locked(in_run("metrics.csv")), OCT_LOCKED_NO);
    char nowhere[1024];
    (void)snprintf(nowhere, sizeof(nowhere), "%s/new", outside);
    assert_int_equal(symlink(nowhere, in_run("policy.oct")), 0);
    assert_all_refuse(in_run("policy.oct"), ELOOP);
    assert_untouched();
}

static void
test_a_draft_is_not_adopted_over_a_link(void **state)
{
    (void)state;
    char draft[OCT_FILE_PATH_MAX];
    T_OK(oct_file_draft_name(in_run("policy.oct"), draft));
    T_OK(oct_file_write(draft, "new", 3));
    assert_int_equal(symlink(victim, in_run("policy.oct")), 0);
    T_ERR(oct_file_adopt(draft, in_run("policy.oct")), OCT_EIO);
    assert_int_equal(errno, ELOOP);
    assert_false(oct_file_is_there(draft));
    assert_untouched();
}

static void
test_a_folder_below_may_not_be_a_link(void **state)
{
    (void)state;
    assert_int_equal(symlink(outside, in_run("log")), 0);
    assert_all_refuse(in_run("log/victim"), ELOOP);
    assert_int_equal(oct_file_rename(in_run("log/victim"), in_run("mine")), -1);
    assert_int_equal(oct_file_link(in_run("log/victim"), in_run("mine")), -1);
    assert_int_equal(oct_file_remove(in_run("log/victim")), -1);
    assert_int_equal(oct_file_make_one_folder(in_run("log/new")), -1);
    assert_int_equal(errno, ELOOP);
    T_ERR(oct_file_make_folder(in_run("log")), OCT_EIO);
    assert_int_equal(errno, ELOOP);
    T_ERR(oct_file_make_folder(in_run("log/new/newer")), OCT_EIO);
    assert_int_equal(oct_file_open_folder(in_run("log"), false), -1);
    assert_int_equal(errno, ELOOP);
    assert_null(oct_file_open_entries(in_run("log")));
    int opened = oct_file_open_folder(run, true);
    assert_int_equal(oct_file_open_at(opened, "log", O_RDONLY, 0, NULL), -1);
    assert_int_equal(errno, ELOOP);
    (void)close(opened);
    assert_untouched();
}

static void
test_a_tree_is_removed_without_what_its_links_lead_to(void **state)
{
    (void)state;
    T_OK(oct_file_make_folder(in_run("a/b/c")));
    T_OK(oct_file_write(in_run("a/b/c/file"), "x", 1));
    assert_int_equal(symlink(outside, in_run("a/b/away")), 0);
    assert_int_equal(symlink(outside, in_run("log")), 0);
    oct_file_remove_tree(in_run("a"), true);
    assert_true(oct_file_is_empty_folder(in_run("a")));
    oct_file_remove_tree(in_run("log/victim"), false);
    oct_file_remove_tree(in_run("log"), false);
    oct_file_remove_tree(in_run("a"), false);
    assert_true(oct_file_is_empty_folder(run));
    assert_untouched();
}

// The folder itself may be a link, however its files are named.
static void
test_the_folder_may_be_reached_through_a_link(void **state)
{
    (void)state;
    char name[1024], before[1024];
    uint8_t *bytes;
    size_t length;
    assert_non_null(getcwd(before, sizeof(before)));
    T_OK(oct_file_write(in_run("config.yaml"), "abc", 3));
    assert_int_equal(symlink(victim, in_run("policy.oct")), 0);
    assert_int_equal(symlink(run, in_folder("latest")), 0);
    oct_file_confine(in_folder("latest"));
    (void)snprintf(name, sizeof(name), "%s/.//config.yaml", in_folder("latest"));
    T_OK(oct_file_read(name, 64, &bytes, &length));
    free(bytes);
    (void)snprintf(name, sizeof(name), "%s//./policy.oct", in_folder("latest"));
    T_ERR(oct_file_read(name, 64, &bytes, &length), OCT_EIO);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(chdir(in_folder("latest")), 0);
    T_OK(oct_file_read("config.yaml", 64, &bytes, &length));
    free(bytes);
    T_ERR(oct_file_read("./policy.oct", 64, &bytes, &length), OCT_EIO);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(unlink(in_folder("latest")), 0);
}

// Then its own name is confined, too. A folder within it that is confined by itself does not end
// what holds for the outer one.
static void
test_the_outermost_folder_counts_by_each_of_its_names(void **state)
{
    (void)state;
    assert_false(oct_file_is_confined(victim));
    assert_int_equal(symlink(outside, in_folder("latest")), 0);
    oct_file_confine(in_folder("latest"));
    assert_true(oct_file_is_confined(in_folder("latest/victim")));
    assert_true(oct_file_is_confined(victim));
    assert_int_equal(unlink(in_folder("latest")), 0);
    assert_int_equal(symlink(outside, in_run("inner")), 0);
    oct_file_confine(in_run("inner"));
    assert_int_equal(oct_file_open(in_run("inner/victim"), O_RDONLY, 0, NULL), -1);
    assert_int_equal(errno, ELOOP);
    assert_untouched();
}

// A path that begins with ".." names what is beside the folder; one that has it later could pass
// through a link.
static void
test_dots_lead_out_only_at_the_beginning(void **state)
{
    (void)state;
    char before[1024];
    uint8_t *bytes;
    size_t length;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(run), 0);
    assert_true(oct_file_is_confined("x") && oct_file_is_confined("log/x"));
    assert_false(oct_file_is_confined("../outside/victim") || oct_file_is_confined("."));
    T_OK(oct_file_read("../outside/victim", 64, &bytes, &length));
    free(bytes);
    T_OK(oct_file_make_folder("log"));
    T_ERR(oct_file_read("log/../../outside/victim", 64, &bytes, &length), OCT_EIO);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(oct_file_remove("log/../../outside/victim"), -1);
    assert_int_equal(oct_file_remove_folder("log/.."), -1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(chdir(before), 0);
    assert_untouched();
}

static void
test_only_regular_files_are_opened_and_nothing_waits(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint8_t *bytes;
    size_t length;
    assert_int_equal(mkfifo(in_run("pipe"), 0600), 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", in_run("socket"));
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    const struct {
        const char *path, *what;
    } cases[] = {{in_folder("pipe"), "pipe"}, {"/dev/zero", "device"}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        T_ERR(oct_file_read(cases[i].path, 1 << 20, &bytes, &length), OCT_EIO);
        assert_int_equal(errno, ENOTSUP);
        assert_non_null(strstr(oct_file_strerror(errno), cases[i].what));
    }
    const char *const names[] = {"pipe", "socket"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        assert_int_equal(oct_file_open(in_run(names[i]), O_RDONLY, 0, NULL), -1);
        assert_int_equal(errno, ENOTSUP);
        assert_non_null(strstr(oct_file_strerror(errno), names[i]));
        assert_int_equal(oct_file_open(in_run(names[i]), O_WRONLY | O_APPEND, 0, NULL), -1);
        assert_int_equal(errno, ENOTSUP);
        T_ERR(oct_file_write(in_run(names[i]), "x", 1), OCT_EIO);
        assert_int_equal(errno, ENOTSUP);
    }
    (void)close(listener);
    assert_int_equal(unlink(in_folder("pipe")), 0);
}

// "octet train <(…)" names a pipe that the process has open.
static void
test_a_pipe_that_is_open_is_read_within_the_limit(void **state)
{
    (void)state;
    char name[64];
    uint8_t *bytes;
    size_t length;
    for (size_t limit = 2; limit <= 3; limit++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "abc", 3), 3);
        (void)close(ends[1]);
        (void)snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
        T_ERR(oct_file_read(name, limit, &bytes, &length), limit == 3 ? OCT_OK : OCT_EINVAL);
        (void)close(ends[0]);
    }
    assert_string_equal((const char *)bytes, "abc");
    free(bytes);
    int opened = oct_file_open_folder(run, false);
    (void)snprintf(name, sizeof(name), "/dev/fd/%d", opened);
    assert_int_equal(oct_file_open_input(name, NULL), -1);
    assert_int_equal(errno, EISDIR);
    (void)close(opened);
}

static void
test_files_of_other_users_are_read_but_not_written(void **state)
{
    (void)state;
    enum { OTHER = 65534 };
    uint8_t *bytes;
    size_t length;
    if (geteuid() != 0) {
        skip();
    }
    T_OK(oct_file_write(in_run("summary.json"), "abc", 3));
    assert_int_equal(chown(in_run("summary.json"), OTHER, (gid_t)-1), 0);
    T_OK(oct_file_read(in_run("summary.json"), 64, &bytes, &length));
    free(bytes);
    T_ERR(oct_file_write(in_run("summary.json"), "x", 1), OCT_EIO);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(oct_file_strerror(errno), "user 65534"));
    assert_null(oct_file_stream(in_run("summary.json"), "a"));
    assert_int_equal(errno, EPERM);
    // In that user's own folder it is as good as the folder.
    assert_int_equal(chown(run, OTHER, (gid_t)-1), 0);
    T_OK(oct_file_write(in_run("summary.json"), "x", 1));
    // There a second name of a file may be one outside.
    T_OK(oct_file_write(in_run("metrics.csv"), "x", 1));
    assert_int_equal(link(victim, in_run("curve.svg")), 0);
    assert_null(oct_file_stream(in_run("curve.svg"), "a"));
    assert_int_equal(errno, EPERM);
    assert_int_equal(oct_file_open(in_run("curve.svg"), O_WRONLY | O_TRUNC, 0, NULL), -1);
    FILE *file = oct_file_stream(in_run("metrics.csv"), "a");
    assert_true(file != NULL && fclose(file) == 0);
    assert_int_equal(chown(run, 0, (gid_t)-1), 0);
    assert_untouched();
}

// What octet train starts is confined to what octet train is.
static void
test_a_child_inherits_what_is_confined(void **state)
{
    (void)state;
    char name[600], *variable = oct_file_confined();
    assert_int_equal(strncmp(variable, OCT_FILE_CONFINED "=/", strlen(OCT_FILE_CONFINED) + 2), 0);
    (void)snprintf(name, sizeof(name), "%s\n", run);
    assert_non_null(strstr(variable, name));
    assert_non_null(strstr(variable, "\n/inherited/by/this\n")); // of the environment of main
    assert_true(oct_file_is_confined("/inherited/by/this/file"));
    free(variable);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_link_is_not_followed),
        IN_FOLDER(test_a_draft_is_not_adopted_over_a_link),
        IN_FOLDER(test_a_folder_below_may_not_be_a_link),
        IN_FOLDER(test_a_tree_is_removed_without_what_its_links_lead_to),
        IN_FOLDER(test_the_folder_may_be_reached_through_a_link),
        IN_FOLDER(test_the_outermost_folder_counts_by_each_of_its_names),
        IN_FOLDER(test_dots_lead_out_only_at_the_beginning),
        IN_FOLDER(test_only_regular_files_are_opened_and_nothing_waits),
        IN_FOLDER(test_a_pipe_that_is_open_is_read_within_the_limit),
        IN_FOLDER(test_files_of_other_users_are_read_but_not_written),
        IN_FOLDER(test_a_child_inherits_what_is_confined),
    };
    if (setenv(OCT_FILE_CONFINED, "/else/where\n/inherited/by/this\n/more\n", 1) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
