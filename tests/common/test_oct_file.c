// Files are read within their limit, and replaced whole or not at all, whatever interrupts the
// writer.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/oct_folder.h"
#include "tests/support/oct_test.h"

#include "common/oct_file.h"

static void
test_reading_what_is_not_there_is_not_found(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t length = 77;
    T_ERR(oct_file_read(in_folder("none"), 10, &bytes, &length), OCT_ENOTFOUND);
    T_ERR(oct_file_read(in_folder("none/none"), 10, &bytes, &length), OCT_ENOTFOUND);
    T_OK(oct_file_write(in_folder("f"), "x", 1));
    T_ERR(oct_file_read(in_folder("f/none"), 10, &bytes, &length), OCT_ENOTFOUND);
    assert_int_equal(unlink(in_folder("f")), 0);
    assert_null(bytes);
    assert_int_equal(length, 77);
}

static void
test_reading_a_folder_is_an_error_with_its_errno(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t length;
    T_ERR(oct_file_read(folder, 10, &bytes, &length), OCT_EIO);
    assert_int_equal(errno, EISDIR);
}

static void
test_files_beyond_the_limit_are_refused_and_at_it_read(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    size_t length;
    T_OK(oct_file_write(in_folder("f"), "12345", 5));
    T_ERR(oct_file_read(in_folder("f"), 4, &bytes, &length), OCT_EINVAL);
    T_ERR(oct_file_read("/proc/self/environ", 1, &bytes, &length), OCT_EINVAL); // has no size
    T_OK(oct_file_read(in_folder("f"), 5, &bytes, &length));
    assert_string_equal((const char *)bytes, "12345");
    free(bytes);
    (void)unlink(in_folder("f"));
}

static void
test_empty_and_large_files_come_back(void **state)
{
    (void)state;
    enum { LARGE = 300001 };
    char *large = malloc(LARGE + 1);
    for (int i = 0; i < LARGE; i++) {
        large[i] = (char)('a' + i % 23);
    }
    large[LARGE] = 0;
    T_OK(oct_file_write(in_folder("f"), large, LARGE));
    assert_content(in_folder("f"), large);
    T_OK(oct_file_write(in_folder("f"), "", 0));
    assert_content(in_folder("f"), "");
    (void)unlink(in_folder("f"));
    free(large);
}

static void
test_writing_replaces_and_leaves_no_other_file(void **state)
{
    (void)state;
    T_OK(oct_file_write(in_folder("f"), "old", 3));
    T_OK(oct_file_write(in_folder("f"), "newer", 5));
    assert_content(in_folder("f"), "newer");
    assert_int_equal(entries(), 1);
    (void)unlink(in_folder("f"));
}

static void
test_writing_where_no_folder_is_fails(void **state)
{
    (void)state;
    T_ERR(oct_file_write(in_folder("none/f"), "x", 1), OCT_ENOTFOUND);
    assert_int_equal(entries(), 0);
}

static void
test_writing_over_a_folder_fails_and_removes_the_temporary_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("d"), 0777), 0);
    T_ERR(oct_file_write(in_folder("d"), "x", 1), OCT_EIO);
    assert_int_equal(entries(), 1);
    (void)rmdir(in_folder("d"));
}

// Runs in a child, so that limits and users do not stay: 0 when the write failed as it should.
static int
in_child(int (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
write_beyond_the_size_limit(void)
{
    char bytes[8192] = {0};
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
    (void)signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                   oct_file_write(in_folder("f"), bytes, sizeof(bytes)) == OCT_EIO && errno == EFBIG
               ? 0
               : 1;
}

// A limit on file size stops a write half way, as a full disk does.
static void
test_a_pipe_is_written_into_and_stays_one(void **state)
{
    (void)state;
    const char *path = in_folder("pipe");
    char got[16] = "";
    struct stat after;
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(fd >= 0);
    T_OK(oct_file_write(path, "new", 3));
    assert_int_equal(read(fd, got, sizeof(got)), 3);
    assert_string_equal(got, "new");
    assert_int_equal(stat(path, &after), 0);
    assert_true(S_ISFIFO(after.st_mode));
    (void)close(fd);
    (void)unlink(path);
}

// Also one behind another, in another folder, and one that leads to nothing yet.
static void
test_links_stay_and_lead_to_the_new_content(void **state)
{
    (void)state;
    char first[512], draft[OCT_FILE_PATH_MAX], dead[512];
    struct stat found;
    (void)snprintf(first, sizeof(first), "%s", in_folder("first"));
    assert_int_equal(mkdir(in_folder("d"), 0755), 0);
    assert_int_equal(symlink("d/second", first), 0);
    assert_int_equal(symlink("file", in_folder("d/second")), 0);
    for (int i = 0; i < 2; i++) {
        T_OK(oct_file_write(first, "new", 3));
        assert_content(in_folder("d/file"), "new");
        T_OK(oct_file_draft(first, &(oct_file_part){"draft", 5}, 1, draft));
        assert_int_equal(strncmp(draft, in_folder("d/file.tmp."), strlen(in_folder("d/file.tmp."))),
                         0);
        T_OK(oct_file_adopt(draft, first));
        assert_content(first, "draft");
        assert_int_equal(lstat(first, &found), 0);
        assert_true(S_ISLNK(found.st_mode));
        assert_int_equal(lstat(in_folder("d/second"), &found), 0);
        assert_true(S_ISLNK(found.st_mode));
        assert_int_equal(unlink(in_folder("d/file")), 0);
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)snprintf(dead, sizeof(dead), "%s/d/file.tmp.%ld", folder, (long)child);
    T_OK(oct_file_write(dead, "x", 1));
    oct_file_clear(first);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(unlink(in_folder("d/second")), 0);
    assert_int_equal(rmdir(in_folder("d")), 0);
    T_ERR(oct_file_write(first, "new", 3), OCT_ENOTFOUND); // its folder is gone
    assert_int_equal(unlink(first), 0);
    assert_int_equal(symlink(in_folder("whole"), first), 0);
    T_OK(oct_file_write(first, "new", 3));
    assert_content(in_folder("whole"), "new");
    assert_int_equal(unlink(in_folder("whole")), 0);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(symlink("first", first), 0);
    T_ERR(oct_file_write(first, "new", 3), OCT_EIO);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(lstat(first, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(unlink(first), 0);
}

static int
write_to_the_output(void)
{
    char path[512], link[512], draft[OCT_FILE_PATH_MAX];
    struct stat found;
    (void)snprintf(path, sizeof(path), "%s", in_folder("output"));
    (void)snprintf(link, sizeof(link), "%s", in_folder("link"));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    for (int output = STDOUT_FILENO; output <= STDERR_FILENO; output++) {
        if (dup2(fd, output) != output || write(output, "<", 1) != 1 ||
            oct_file_write(link, "new", 3) != OCT_OK || oct_file_write(path, ">", 1) != OCT_OK ||
            oct_file_draft_name(link, draft) != OCT_EIO || errno != ENOTSUP) {
            return 1;
        }
    }
    return lstat(link, &found) == 0 && S_ISLNK(found.st_mode) && fstat(fd, &found) == 0 &&
                   oct_file_is_open(path, fd) && oct_file_is_open(link, STDOUT_FILENO)
               ? 0
               : 2;
}

// As /dev/stdout is, when it is a file: behind what is in it.
static void
test_the_output_is_written_into_by_whatever_name(void **state)
{
    (void)state;
    assert_int_equal(symlink("/proc/self/fd/1", in_folder("link")), 0);
    assert_int_equal(in_child(write_to_the_output), 0);
    assert_content(in_folder("output"), "<new><new>");
    assert_int_equal(entries(), 2);
    assert_int_equal(unlink(in_folder("link")), 0);
    assert_int_equal(unlink(in_folder("output")), 0);
}

static void
test_a_file_without_a_name_is_written_into(void **state)
{
    (void)state;
    char path[64], got[8] = "";
    int fd = open(in_folder("f"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(unlink(in_folder("f")), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    T_OK(oct_file_write(path, "new", 3));
    assert_int_equal(read(fd, got, sizeof(got)), 3);
    assert_string_equal(got, "new");
    assert_int_equal(entries(), 0);
    (void)close(fd);
}

static void
test_a_write_stopped_half_way_keeps_the_old_content(void **state)
{
    (void)state;
    T_OK(oct_file_write(in_folder("f"), "old", 3));
    assert_int_equal(in_child(write_beyond_the_size_limit), 0);
    assert_content(in_folder("f"), "old");
    assert_int_equal(entries(), 1);
    (void)unlink(in_folder("f"));
}

// Files of writers that are alive, of other names and of nobody stay.
static void
test_what_a_dead_writer_left_is_cleared(void **state)
{
    (void)state;
    char dead[32], alive[32];
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child); // nobody has this number now
    (void)snprintf(dead, sizeof(dead), "f.tmp.%ld", (long)child);
    (void)snprintf(alive, sizeof(alive), "f.tmp.%ld", (long)getpid());
    const char *const stay[] = {"f", alive, "f.tmp.", "f.tmp.1x", "ff.tmp.999999999"};
    for (size_t i = 0; i < 5; i++) {
        T_OK(oct_file_write(in_folder(stay[i]), "x", 1));
    }
    T_OK(oct_file_write(in_folder(dead), "x", 1));
    oct_file_clear(in_folder("f"));
    assert_int_equal(access(in_folder(dead), F_OK), -1);
    assert_int_equal(symlink("f", in_folder(dead)), 0); // none of ours
    oct_file_clear(in_folder("f"));
    assert_int_equal(unlink(in_folder(dead)), 0);
    if (geteuid() == 0) { // somebody else's
        T_OK(oct_file_write(in_folder(dead), "x", 1));
        assert_int_equal(chown(in_folder(dead), 65534, 65534), 0);
        oct_file_clear(in_folder("f"));
        assert_int_equal(unlink(in_folder(dead)), 0);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(unlink(in_folder(stay[i])), 0);
    }
    oct_file_clear(in_folder("nowhere/f"));
}

// The first process is root's, and alive: what it may be writing stays.
static int
clear_as_nobody(void)
{
    if (getuid() == 0 &&
        (chown(folder, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)) {
        return 2;
    }
    if (oct_file_write(in_folder("f.tmp.1"), "x", 1) != OCT_OK) {
        return 3;
    }
    oct_file_clear(in_folder("f"));
    return unlink(in_folder("f.tmp.1"));
}

static void
test_what_another_users_process_writes_stays(void **state)
{
    (void)state;
    assert_int_equal(in_child(clear_as_nobody), 0);
}

static int
write_as_nobody(void)
{
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) {
        return 2;
    }
    return oct_file_write(in_folder("f"), "new", 3) == OCT_EIO && errno == EACCES ? 0 : 1;
}

static void
test_a_folder_that_is_not_writable_keeps_the_old_content(void **state)
{
    (void)state;
    T_OK(oct_file_write(in_folder("f"), "old", 3));
    assert_int_equal(chmod(folder, 0555), 0);
    assert_int_equal(in_child(write_as_nobody), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_content(in_folder("f"), "old");
    (void)unlink(in_folder("f"));
}

static void *
write_alternately(void *arg)
{
    for (int i = 0; i < 40; i++) {
        oct_err err =
            i % 2 == 0 ? oct_file_write(arg, "short", 5) : oct_file_write(arg, "much longer", 11);
        OCT_ASSERT(err == OCT_OK);
    }
    OCT_ASSERT(oct_file_write(arg, "end", 3) == OCT_OK);
    return NULL;
}

static void
test_a_reader_sees_the_whole_old_or_the_whole_new_content(void **state)
{
    (void)state;
    char path[512];
    pthread_t writer;
    (void)snprintf(path, sizeof(path), "%s", in_folder("f"));
    T_OK(oct_file_write(path, "short", 5));
    assert_int_equal(pthread_create(&writer, NULL, write_alternately, path), 0);
    for (bool ended = false; !ended;) {
        uint8_t *bytes = NULL;
        size_t length;
        T_OK(oct_file_read(path, 100, &bytes, &length));
        ended = strcmp((const char *)bytes, "end") == 0;
        assert_true(ended || strcmp((const char *)bytes, "short") == 0 ||
                    strcmp((const char *)bytes, "much longer") == 0);
        free(bytes);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    (void)unlink(path);
}

static void
test_make_folder_refuses_files_in_the_way_and_the_empty_path(void **state)
{
    (void)state;
    T_OK(oct_file_write(in_folder("f"), "", 0));
    T_ERR(oct_file_make_folder(in_folder("f")), OCT_EIO);
    assert_int_equal(errno, ENOTDIR);
    T_ERR(oct_file_make_folder(in_folder("f/below")), OCT_EIO);
    T_ERR(oct_file_make_folder(""), OCT_EIO);
    (void)unlink(in_folder("f"));
}

static void
test_make_folder_makes_all_missing_ones_and_is_repeatable(void **state)
{
    (void)state;
    struct stat found;
    T_OK(oct_file_make_folder(in_folder("a/b//c/")));
    T_OK(oct_file_make_folder(in_folder("a/b//c/")));
    assert_int_equal(stat(in_folder("a/b/c"), &found), 0);
    assert_true(S_ISDIR(found.st_mode));
    T_OK(oct_file_make_folder("/"));
    (void)rmdir(in_folder("a/b/c"));
    (void)rmdir(in_folder("a/b"));
    (void)rmdir(in_folder("a"));
}

static void
test_folders_that_were_made_are_taken_back(void **state)
{
    (void)state;
    uint32_t made;
    struct stat found;
    char deep[512], long_name[512];
    (void)snprintf(deep, sizeof(deep), "%s", in_folder("a/b//c/"));
    T_OK(oct_file_make_folder(in_folder("a")));
    T_OK(oct_file_make_folders(deep, &made));
    assert_int_equal(made, 2);
    oct_file_remove_folders(deep, made);
    assert_int_equal(stat(in_folder("a/b"), &found), -1);
    assert_int_equal(stat(in_folder("a"), &found), 0); // it was there
    T_OK(oct_file_make_folders(deep, &made));
    T_OK(oct_file_write(in_folder("a/b/kept"), "", 0));
    oct_file_remove_folders(deep, made);
    assert_int_equal(stat(in_folder("a/b/c"), &found), -1);
    assert_int_equal(stat(in_folder("a/b/kept"), &found), 0);
    T_OK(oct_file_make_folders(in_folder("a/b"), &made));
    assert_int_equal(made, 0);
    (void)unlink(in_folder("a/b/kept"));
    (void)rmdir(in_folder("a/b"));
    // Only those at the end: what was there before them stays.
    T_OK(oct_file_make_folders(in_folder("a/new/../b"), &made));
    assert_int_equal(made, 1);
    T_OK(oct_file_make_folder(in_folder("a/b")));
    T_OK(oct_file_make_folders(in_folder("a/other/../b/c"), &made));
    assert_int_equal(made, 1);
    assert_int_equal(rmdir(in_folder("a/b/c")), 0);
    assert_int_equal(rmdir(in_folder("a/b")), 0);
    assert_int_equal(rmdir(in_folder("a/other")), 0);
    assert_int_equal(rmdir(in_folder("a/new")), 0);
    // Halfway: a name that is too long.
    (void)snprintf(long_name, sizeof(long_name), "%s/%0300d", in_folder("a/b"), 0);
    T_ERR(oct_file_make_folders(long_name, &made), OCT_EIO);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(stat(in_folder("a/b"), &found), -1);
    assert_int_equal(rmdir(in_folder("a")), 0);
}

static void
test_replace_puts_the_new_content_whole(void **state)
{
    (void)state;
    char path[512], nowhere[512];
    uint8_t *bytes = NULL;
    size_t length = 0;
    (void)snprintf(path, sizeof(path), "%s", in_folder("replaced"));
    (void)snprintf(nowhere, sizeof(nowhere), "%s", in_folder("none/replaced"));
    T_OK(oct_file_write(path, "the old content", 15));
    T_OK(oct_file_replace(path, "new", 3));
    T_OK(oct_file_read(path, 100, &bytes, &length));
    assert_int_equal(length, 3);
    assert_string_equal((const char *)bytes, "new");
    free(bytes);
    T_ERR(oct_file_replace(nowhere, "new", 3), OCT_ENOTFOUND);
    assert_int_equal(unlink(path), 0);
}

// Whatever the umask, and over what was open to others before.
static void
test_a_secret_is_its_owners_alone(void **state)
{
    (void)state;
    mode_t before = umask(0);
    struct stat found;
    T_OK(oct_file_write("secret", "open", 4));
    assert_int_equal(stat("secret", &found), 0);
    assert_int_equal(found.st_mode & 07777, 0666);
    T_OK(oct_file_write_secret("secret", "hidden", 6));
    (void)umask(before);
    assert_int_equal(stat("secret", &found), 0);
    assert_int_equal(found.st_mode & 07777, 0600);
    assert_int_equal(found.st_size, 6);
    T_ERR(oct_file_write_secret("nowhere/secret", "hidden", 6), OCT_ENOTFOUND);
    assert_int_equal(unlink("secret"), 0);
}

// Whoever may write in the folder can guess the draft's name: what it leads to stays as it is.
static void
test_a_draft_goes_to_no_file_of_its_name(void **state)
{
    (void)state;
    const oct_file_part part = {"new", 3};
    char path[512], victim[512], planted[OCT_FILE_PATH_MAX], draft[OCT_FILE_PATH_MAX];
    struct stat found;
    (void)snprintf(path, sizeof(path), "%s", in_folder("file"));
    (void)snprintf(victim, sizeof(victim), "%s", in_folder("victim"));
    T_OK(oct_file_draft_name(path, planted));
    T_OK(oct_file_write(victim, "old", 3));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(i % 2 == 0 ? symlink(victim, planted) : link(victim, planted), 0);
        if (i < 2) {
            T_OK(oct_file_write(path, "new", 3));
        } else if (i < 4) {
            T_OK(oct_file_write_secret(path, "new", 3));
        } else if (i < 6) {
            T_OK(oct_file_replace(path, "new", 3));
        } else if (i < 8) {
            T_OK(oct_file_draft(path, &part, 1, draft));
            T_OK(oct_file_adopt(draft, path));
        } else {
            int fd = oct_file_draft_open(path, 0600, draft);
            T_OK(oct_file_write_all(fd, "new", 3));
            assert_int_equal(close(fd), 0);
            T_OK(oct_file_adopt(draft, path));
        }
        assert_content(victim, "old");
        assert_int_equal(stat(victim, &found), 0);
        assert_int_equal(found.st_nlink, 1);
        assert_content(path, "new");
        assert_int_equal(lstat(path, &found), 0);
        assert_true(S_ISREG(found.st_mode));
        assert_int_equal(entries(), 2);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(unlink(victim), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

// A draft stands beside the file, whole, until it is adopted.
static void
test_draft_is_adopted(void **state)
{
    (void)state;
    static const oct_file_part parts[] = {{"one ", 4}, {NULL, 0}, {"file", 4}};
    char path[512], draft[OCT_FILE_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s", in_folder("file"));
    T_OK(oct_file_write(path, "old", 3));
    T_OK(oct_file_draft(path, parts, OCT_COUNTOF(parts), draft));
    assert_content(path, "old");
    assert_content(draft, "one file");
    T_OK(oct_file_adopt(draft, path));
    assert_content(path, "one file");
    assert_int_equal(entries(), 1);
    T_OK(oct_file_draft(path, parts, 1, draft));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0); // what no file can replace
    T_ERR(oct_file_adopt(draft, path), OCT_EIO);
    assert_int_equal(entries(), 1); // the draft is removed
    assert_int_equal(rmdir(path), 0);
}

// A rename would put a file in the place of a device or a pipe.
static void
test_a_pipe_is_not_replaced(void **state)
{
    (void)state;
    char path[512], draft[OCT_FILE_PATH_MAX];
    struct stat found;
    (void)snprintf(path, sizeof(path), "%s", in_folder("pipe"));
    T_OK(oct_file_draft_name(path, draft));
    T_OK(oct_file_write(draft, "draft", 5));
    assert_int_equal(mkfifo(path, 0600), 0);
    T_ERR(oct_file_adopt(draft, path), OCT_EIO);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(entries(), 1); // the draft is removed
    assert_int_equal(stat(path, &found), 0);
    assert_true(S_ISFIFO(found.st_mode));
    T_ERR(oct_file_draft_name(path, draft), OCT_EIO); // before anything is written
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(unlink(path), 0);
}

static void
test_same_file_has_other_names(void **state)
{
    (void)state;
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", in_folder("f"));
    assert_false(oct_file_is_same(path, path)); // it is not there
    T_OK(oct_file_write(path, "x", 1));
    T_OK(oct_file_write(in_folder("g"), "x", 1));
    assert_false(oct_file_is_same(path, in_folder("g")));
    assert_int_equal(unlink(in_folder("g")), 0);
    assert_int_equal(symlink(path, in_folder("g")), 0);
    assert_true(oct_file_is_same(path, in_folder("g")));
    assert_int_equal(unlink(in_folder("g")), 0);
    assert_int_equal(link(path, in_folder("g")), 0);
    assert_true(oct_file_is_same(in_folder("g"), path));
    assert_int_equal(unlink(in_folder("g")), 0);
    assert_int_equal(unlink(path), 0);
}

static void
test_same_place_has_other_names(void **state)
{
    (void)state;
    char path[512], dotted[512];
    (void)snprintf(path, sizeof(path), "%s", in_folder("f"));
    (void)snprintf(dotted, sizeof(dotted), "%s", in_folder("./f"));
    for (int i = 0; i < 2; i++) { // it is not there, it is
        assert_true(oct_file_is_same_place(path, path));
        assert_true(oct_file_is_same_place(path, dotted));
        assert_false(oct_file_is_same_place(path, in_folder("g")));
        assert_int_equal(symlink("f", in_folder("g")), 0);
        assert_true(oct_file_is_same_place(path, in_folder("g")));
        assert_int_equal(unlink(in_folder("g")), 0);
        T_OK(oct_file_write(path, "x", 1));
    }
    assert_int_equal(link(path, in_folder("g")), 0); // each is replaced for itself
    assert_false(oct_file_is_same_place(path, in_folder("g")));
    assert_int_equal(unlink(in_folder("g")), 0);
    assert_int_equal(unlink(path), 0);
    assert_true(oct_file_is_same_place("f", "./f"));
    assert_false(oct_file_is_same_place(in_folder("none/f"), path));
}

static void
test_an_empty_folder_has_nothing_in_it(void **state)
{
    (void)state;
    assert_false(oct_file_is_empty_folder(in_folder("none")));
    T_OK(oct_file_make_folder(in_folder("none")));
    assert_true(oct_file_is_empty_folder(in_folder("none")));
    T_OK(oct_file_write(in_folder("none/.hidden"), "x", 1));
    assert_false(oct_file_is_empty_folder(in_folder("none")));
    assert_false(oct_file_is_empty_folder(in_folder("none/.hidden"))); // a file
    assert_int_equal(unlink(in_folder("none/.hidden")), 0);
    assert_int_equal(rmdir(in_folder("none")), 0);
}

static void
take_name(void *arg, const char *path)
{
    (void)snprintf(arg, 512, "%s", path);
    assert_int_equal(unlink(path), 0);
}

static void
test_match_takes_the_folder_as_it_is_written(void **state)
{
    (void)state;
    char brackets[512], found[512] = "";
    (void)snprintf(brackets, sizeof(brackets), "%s", in_folder("d[1]"));
    assert_int_equal(mkdir(brackets, 0777), 0);
    assert_int_equal(mkdir(in_folder("d1"), 0777), 0);
    T_OK(oct_file_write(in_folder("d1/a.oct"), "x", 1));
    oct_file_match(brackets, "*.oct", take_name, found);
    assert_string_equal(found, "");
    oct_file_match(in_folder("none"), "*", take_name, found);
    assert_string_equal(found, "");
    T_OK(oct_file_write(in_folder("d[1]/.oct"), "x", 1));
    T_OK(oct_file_write(in_folder("d[1]/a.oct"), "x", 1));
    oct_file_match(brackets, "*.oct", take_name, found);
    assert_string_equal(found, in_folder("d[1]/a.oct"));
    assert_int_equal(unlink(in_folder("d[1]/.oct")), 0);
    assert_int_equal(unlink(in_folder("d1/a.oct")), 0);
    assert_int_equal(rmdir(in_folder("d1")), 0);
    assert_int_equal(rmdir(brackets), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_replace_puts_the_new_content_whole),
        IN_FOLDER(test_reading_what_is_not_there_is_not_found),
        IN_FOLDER(test_reading_a_folder_is_an_error_with_its_errno),
        IN_FOLDER(test_files_beyond_the_limit_are_refused_and_at_it_read),
        IN_FOLDER(test_empty_and_large_files_come_back),
        IN_FOLDER(test_writing_replaces_and_leaves_no_other_file),
        IN_FOLDER(test_writing_where_no_folder_is_fails),
        IN_FOLDER(test_writing_over_a_folder_fails_and_removes_the_temporary_file),
        IN_FOLDER(test_a_pipe_is_written_into_and_stays_one),
        IN_FOLDER(test_links_stay_and_lead_to_the_new_content),
        IN_FOLDER(test_the_output_is_written_into_by_whatever_name),
        IN_FOLDER(test_a_file_without_a_name_is_written_into),
        IN_FOLDER(test_a_write_stopped_half_way_keeps_the_old_content),
        IN_FOLDER(test_what_a_dead_writer_left_is_cleared),
        IN_FOLDER(test_what_another_users_process_writes_stays),
        IN_FOLDER(test_a_folder_that_is_not_writable_keeps_the_old_content),
        IN_FOLDER(test_a_reader_sees_the_whole_old_or_the_whole_new_content),
        IN_FOLDER(test_make_folder_refuses_files_in_the_way_and_the_empty_path),
        IN_FOLDER(test_a_draft_goes_to_no_file_of_its_name),
        IN_FOLDER(test_a_secret_is_its_owners_alone),
        IN_FOLDER(test_make_folder_makes_all_missing_ones_and_is_repeatable),
        IN_FOLDER(test_folders_that_were_made_are_taken_back),
        IN_FOLDER(test_draft_is_adopted),
        IN_FOLDER(test_a_pipe_is_not_replaced),
        IN_FOLDER(test_same_file_has_other_names),
        IN_FOLDER(test_same_place_has_other_names),
        IN_FOLDER(test_an_empty_folder_has_nothing_in_it),
        IN_FOLDER(test_match_takes_the_folder_as_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
