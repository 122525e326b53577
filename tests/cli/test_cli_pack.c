// Packs: what is packed comes back, and what is not what was packed does not.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pack/cli_pack.h"
#include "cli/pack/cli_pack_manifest.h"
#include "cli/pack/cli_pack_stream.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "tests/support/oct_flock.h"
#include "tests/support/oct_test.h"

static char folder[64];
static oct_reason reason;
static cli_pack_result result;
static cli_pack_manifest manifest;

static void
put(const char *name, const void *bytes, size_t length, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static int
remove_one(const char *name, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(name);
}

// A run folder "run" in a folder of its own, which is entered.
static int
setup(void **state)
{
    static uint8_t rows[200000];
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet_pack_XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("run", 0755), 0);
    assert_int_equal(mkdir("run/log", 0755), 0);
    put("run/config.yaml", "env:\n", 5, 0644);
    put("run/token.key", "secret", 6, 0600);
    put("run/log/replay.log", "", 0, 0644);
    put("run/.lock", "", 0, 0644);
    put("run/learner.lock", "", 0, 0644);
    put("run/checkpoint.oct.tmp.123", "half", 4, 0644);
    for (size_t i = 0; i < 1000; i++) {
        rows[100000 + i] = (uint8_t)(i * i >> 3);
    }
    put("run/replay.oct", rows, sizeof(rows), 0600);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    return chdir("/") | nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static oct_err
pack(void)
{
    return cli_pack("run", "p", &result, &reason);
}

static oct_err
unpack(const char *to)
{
    return cli_unpack("p", to, false, &result, &reason);
}

static int entries;

static int
count_one(const char *name, const struct stat *status, int kind, struct FTW *at)
{
    (void)name;
    (void)status;
    (void)kind;
    (void)at;
    entries++;
    return 0;
}

// Of everything below the folder.
static int
entries_here(void)
{
    entries = 0;
    assert_int_equal(nftw(".", count_one, 16, FTW_PHYS), 0);
    return entries;
}

// Refused in these words, with nothing made.
static void
refuses(const char *words)
{
    int before = entries_here();
    reason.text[0] = '\0';
    assert_true(unpack("u") != OCT_OK);
    if (strstr(reason.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", reason.text, words);
    }
    assert_int_equal(entries_here(), before);
}

static void
same(const char *name)
{
    char a[256], b[256];
    uint8_t *left, *right;
    size_t left_length, right_length;
    struct stat of_a, of_b;
    (void)snprintf(a, sizeof(a), "run/%s", name);
    (void)snprintf(b, sizeof(b), "u/%s", name);
    T_OK(oct_file_read(a, 1 << 20, &left, &left_length));
    T_OK(oct_file_read(b, 1 << 20, &right, &right_length));
    assert_int_equal(left_length, right_length);
    assert_memory_equal(left, right, left_length);
    assert_int_equal(stat(a, &of_a) | stat(b, &of_b), 0);
    assert_int_equal(of_a.st_mode, of_b.st_mode);
    assert_int_equal(of_a.st_mtime, of_b.st_mtime);
    free(left);
    free(right);
}

static void
all_same(void)
{
    static const char *const names[] = {"config.yaml", "token.key", "log/replay.log", "replay.oct",
                                        "learner.lock"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        same(names[i]);
    }
    assert_int_not_equal(access("u/.lock", F_OK), 0);
    assert_int_not_equal(access("u/checkpoint.oct.tmp.123", F_OK), 0);
}

static void
test_what_is_packed_comes_back(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(symlink("/etc/passwd", "run/link"), 0);
    T_OK(pack());
    assert_int_equal(result.files, 5);
    assert_int_equal(result.left_out, 1);
    assert_int_equal(result.bytes, 200011);
    assert_in_range(result.packed, 1, 20000); // zeros take nothing
    assert_int_equal(stat("p", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600); // the keys are in it
    T_OK(unpack("u"));
    assert_int_equal(result.files, 5);
    assert_string_equal(result.run, "run");
    all_same();
    assert_int_not_equal(access("u/link", F_OK), 0);
    T_OK(unpack(NULL));
    assert_string_equal(result.path, "runs/run");
    assert_int_equal(access("runs/run/config.yaml", F_OK), 0);
}

// A pack has room for dates up to the year 2242; file systems for later ones.
static void
test_a_date_of_the_far_future_is_the_latest_that_a_pack_has(void **state)
{
    (void)state;
    static const time_t seconds[] = {(time_t)CLI_PACK_TIME_MAX, (time_t)CLI_PACK_TIME_MAX + 1,
                                     INT64_MAX / 1000000000 + 1}; // ns in 64 bits end before it
    struct stat status;
    for (size_t i = 0; i < OCT_COUNTOF(seconds); i++) {
        const struct timespec times[2] = {{.tv_sec = seconds[i]}, {.tv_sec = seconds[i]}};
        assert_int_equal(utimensat(AT_FDCWD, "run/config.yaml", times, 0), 0);
        (void)unlink("p");
        T_OK(pack());
        oct_file_remove_tree("u", false);
        T_OK(unpack("u"));
        assert_int_equal(stat("u/config.yaml", &status), 0);
        assert_int_equal(status.st_mtime, CLI_PACK_TIME_MAX);
    }
}

// Keys, and what says where the run was started: as octet cluster leaves it when a run is stopped.
static void
test_what_belongs_to_a_start_stays_behind(void **state)
{
    (void)state;
    static const char *const folders[] = {"run/certs",      "run/certs/operator",  "run/job",
                                          "run/job/certs",  "run/job/certs/actor", "run/.collect",
                                          "run/.collect/0", "run/.collect/0/run"};
    static const char *const files[] = {"run/certs/operator/node.key",
                                        "run/job/certs/actor/node.key",
                                        "run/job/actor",
                                        "run/.collect/0/run/policy.oct",
                                        "run/.owner",
                                        "run/actors.sh",
                                        "run/log/.job"};
    for (size_t i = 0; i < OCT_COUNTOF(folders); i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
    }
    for (size_t i = 0; i < OCT_COUNTOF(files); i++) {
        put(files[i], "here", 4, 0600);
    }
    assert_int_equal(symlink("/tmp/octet-ssh-abcdef", "run/.plan"), 0);
    put("run/log/job", "of the run", 10, 0644);
    T_OK(pack());
    assert_int_equal(result.files, 6);
    assert_int_equal(result.left_out, 0);
    T_OK(unpack("u"));
    all_same();
    same("log/job");
}

static void
test_nothing_is_replaced(void **state)
{
    (void)state;
    T_OK(pack());
    assert_true(pack() != OCT_OK);
    assert_non_null(strstr(reason.text, "'p' already exists"));
    assert_int_equal(mkdir("u", 0755), 0);
    put("u/x", "x", 1, 0644);
    refuses("'u' already exists and is not an empty folder");
    assert_int_equal(unlink("u/x"), 0);
    assert_int_equal(symlink("u", "link"), 0);
    assert_true(unpack("link") != OCT_OK);
    assert_non_null(strstr(reason.text, "'link' already exists and is not an empty folder"));
    T_OK(unpack("u/"));
    all_same();
}

// A pack may bring a file with the name of the mark, which is then not what the user said.
static void
test_what_is_unpacked_is_marked_unless_it_is_trusted(void **state)
{
    (void)state;
    T_OK(pack());
    T_OK(unpack("u"));
    assert_int_equal(access("u/" OCT_OWNER_UNPACKED, F_OK), 0);
    T_OK(cli_unpack("p", "v", true, &result, &reason));
    assert_int_equal(access("v/" OCT_OWNER_UNPACKED, F_OK), -1);
    assert_int_equal(rename("u", "run2"), 0);
    T_OK(cli_pack("run2", "p2", &result, &reason));
    T_OK(cli_unpack("p2", "w", true, &result, &reason));
    assert_int_equal(access("w/" OCT_OWNER_UNPACKED, F_OK), -1);
}

static void
test_the_folder_is_named_in_any_way_but_as_the_current_one(void **state)
{
    (void)state;
    T_OK(pack());
    assert_int_equal(mkdir("here", 0755), 0);
    assert_int_equal(chdir("here"), 0);
    static const char *const names[] = {".", "./", "../here", "../here/."};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        assert_true(cli_unpack("../p", names[i], false, &result, &reason) != OCT_OK);
        assert_non_null(
            strstr(reason.text,
                   "is the current folder, which would be replaced; change to another folder"));
        assert_int_equal(entries_here(), 1);
    }
    T_OK(cli_unpack("../p", "../u/.//", false, &result, &reason));
    assert_string_equal(result.path, "../u");
    assert_int_equal(chdir(".."), 0);
    all_same();
}

static void
test_folders_above_are_made_and_taken_back(void **state)
{
    (void)state;
    T_OK(pack());
    assert_int_equal(mkdir("a", 0755), 0);
    T_OK(unpack("a/b/c/u"));
    assert_int_equal(truncate("p", result.packed - 1), 0);
    int before = entries_here();
    assert_true(unpack("a/d/e/u/") != OCT_OK);
    assert_true(unpack(NULL) != OCT_OK);
    assert_int_equal(entries_here(), before);
}

// They are only what the pack and its folder are called where nobody names them.
static void
test_a_folder_of_any_name_is_packed(void **state)
{
    (void)state;
    char longest[CLI_PACK_NAME_MAX + 2];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    const char *names[][2] = {
        {"p\xc3\xb6l\xc3\xa9 1", "p-l--1"}, {longest, longest + 1}, {"\x80", "run"}};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char name[128];
        assert_int_equal(rename("run", names[i][0]), 0);
        T_OK(cli_pack(names[i][0], NULL, &result, &reason));
        assert_string_equal(result.run, names[i][1]);
        (void)snprintf(name, sizeof(name), "%s.tar.zst", names[i][1]);
        assert_string_equal(result.path, name);
        T_OK(cli_unpack(name, NULL, false, &result, &reason));
        (void)snprintf(name, sizeof(name), "runs/%s", names[i][1]);
        assert_string_equal(result.path, name);
        assert_int_equal(rename(names[i][0], "run"), 0);
    }
}

static void
test_a_live_run_is_packed_from_a_copy(void **state)
{
    (void)state;
    static const char *const held[] = {"run/.lock", "run/learner.lock"};
    for (size_t i = 0; i < OCT_COUNTOF(held); i++) {
        int fd = open(held[i], O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        put("run/config.yaml", "replay:\n  sync: always\n", 23, 0644);
        assert_true(pack() != OCT_OK);
        assert_non_null(
            strstr(reason.text, "is live and has no checkpoint yet; 'octet checkpoint run'"));
        assert_int_not_equal(access("p", F_OK), 0);
        put("run/checkpoint.oct", "whole", 5, 0644);
        put("run/config.yaml", "replay:\n  sync: none\n", 21, 0644);
        assert_true(pack() != OCT_OK);
        assert_non_null(strstr(reason.text, "replay.sync is none"));
        put("run/config.yaml", "replay:\n  sync: always\n", 23, 0644);
        T_OK(pack());
        assert_true(result.was_live);
        T_OK(unpack("u"));
        all_same();
        same("checkpoint.oct");
        assert_int_equal(unlink("run/checkpoint.oct"), 0);
        assert_int_equal(system("rm -r u p && ! ls -d p.*"), 0);
        (void)close(fd);
    }
}

static void
test_a_table_that_a_daemon_has_is_refused(void **state)
{
    (void)state;
    int fd = open("run/replay.oct", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_true(pack() != OCT_OK);
    assert_non_null(strstr(reason.text, "replay.oct is in use by a daemon"));
    assert_int_not_equal(access("p", F_OK), 0);
    (void)close(fd);
    T_OK(pack());
    assert_false(result.was_live);
    // And nobody begins while it is packed: the locks were taken, and are free again.
    fd = open("run/.lock", O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    (void)close(fd);
}

static void
test_a_file_system_without_locks_is_no_hindrance(void **state)
{
    (void)state;
    flock_errno = EIO;
    assert_true(pack() != OCT_OK);
    assert_non_null(strstr(reason.text, ".lock cannot be locked: Input/output error"));
    for (size_t i = 0; i < OCT_COUNTOF(flock_none); i++) {
        flock_errno = flock_none[i];
        (void)unlink("p");
        T_OK(pack());
    }
    flock_errno = 0;
}

static void
test_what_is_no_run_or_has_bad_names_is_refused(void **state)
{
    (void)state;
    assert_int_equal(unlink("run/config.yaml"), 0);
    assert_true(pack() != OCT_OK);
    assert_non_null(strstr(reason.text, "'run' is not a run folder: it has no config.yaml"));
    put("run/config.yaml", "", 0, 0644);
    put("run/a b", "", 0, 0644);
    assert_true(pack() != OCT_OK);
    assert_string_equal(
        reason.text,
        "'a b' cannot be packed; a path in the folder is at most two folders deep and has at "
        "most 100 characters of ASCII without blanks; rename it, or move it elsewhere");
    put("p", "no pack", 7, 0644);
    refuses("p is not a pack that octet run pack made");
}

// Each bit of a pack: refused, or of no meaning; each length: refused.
static void
test_any_change_is_found(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length;
    T_OK(pack());
    T_OK(oct_file_read("p", 1 << 20, &bytes, &length));
    for (size_t i = 0; i < length; i += 1 + i / 40) {
        bytes[i] ^= (uint8_t)(1u << i % 8);
        put("p", bytes, length, 0600);
        bytes[i] ^= (uint8_t)(1u << i % 8);
        if (unpack("u") == OCT_OK) {
            all_same();
            assert_int_equal(nftw("u", remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
        }
        assert_int_not_equal(access("u", F_OK), 0);
    }
    for (size_t i = 0; i < length; i += 1 + i / 10) {
        put("p", bytes, i, 0600);
        refuses("it is cut off, or still being copied");
    }
    put("p", bytes, length - 1, 0600);
    refuses("it is cut off, or still being copied");
    bytes = realloc(bytes, length + 1);
    bytes[length] = 0x28;
    put("p", bytes, length + 1, 0600);
    refuses("p ");
    free(bytes);
}

// ---- packs as nobody makes them

#define CONTENT "0123456789"

static cli_pack_manifest *
two_files(void)
{
    manifest.count = 2;
    (void)snprintf(manifest.run, sizeof(manifest.run), "run");
    for (uint32_t i = 0; i < manifest.count; i++) {
        wire_hash *hash = wire_hash_begin();
        manifest.file[i] = (cli_pack_file){.mode = 0600, .size = strlen(CONTENT), .time_s = 7};
        (void)snprintf(manifest.file[i].name, sizeof(manifest.file[i].name), "file-%u", i);
        wire_hash_add(hash, CONTENT, strlen(CONTENT));
        wire_hash_end(hash, manifest.file[i].hash);
    }
    return &manifest;
}

static void
add(cli_pack_writer *writer, const uint8_t header[CLI_PACK_BLOCK], const char *bytes)
{
    static const uint8_t zeros[CLI_PACK_BLOCK];
    T_OK(cli_pack_write(writer, header, CLI_PACK_BLOCK));
    T_OK(cli_pack_write(writer, bytes, strlen(bytes)));
    T_OK(cli_pack_write(writer, zeros, cli_pack_padding(strlen(bytes))));
}

// kind: of the second file's header, as tar has it; behind: after the end.
static void
forge(const cli_pack_manifest *of, const char *text, const char *content, char kind,
      const char *behind)
{
    uint8_t header[CLI_PACK_BLOCK], end[2 * CLI_PACK_BLOCK] = {0};
    int fd = open("p", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cli_pack_writer *writer = cli_pack_writer_create(fd);
    cli_pack_header_of_manifest(strlen(text), header);
    add(writer, header, text);
    for (uint32_t i = 0; i < of->count; i++) {
        cli_pack_header(&of->file[i], header);
        header[156] = i == 1 ? (uint8_t)kind : '0';
        add(writer, header, i == 1 ? content : CONTENT);
    }
    T_OK(cli_pack_write(writer, end, sizeof(end)));
    T_OK(cli_pack_write(writer, behind, strlen(behind)));
    T_OK(cli_pack_writer_finish(writer));
    cli_pack_writer_destroy(writer);
    assert_int_equal(close(fd), 0);
}

static void
forged(const cli_pack_manifest *of, const char *words)
{
    char *text = cli_pack_manifest_print(of);
    forge(of, text, CONTENT, '0', "");
    free(text);
    refuses(words);
}

static void
test_a_file_that_is_another_is_named(void **state)
{
    (void)state;
    char *text = cli_pack_manifest_print(two_files());
    forge(&manifest, text, CONTENT, '0', "");
    T_OK(unpack("whole"));
    forge(&manifest, text, "0123456780", '0', "");
    refuses("file-1 is not what was packed");
    forge(&manifest, text, CONTENT, '2', ""); // a symbolic link
    refuses("its next file is not file-1, as its manifest says");
    forge(&manifest, text, CONTENT, '0', "more");
    refuses("continues after its end");
    free(text);
}

static void
test_names_stay_below_the_folder(void **state)
{
    (void)state;
    static const char *const bad[] = {"../x", "/etc/x",  "a/../x", "a//x",   "a/",
                                      ".",    "a/b/c/d", "a b",    "\x1b[2J"};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        assert_false(cli_pack_name_is_good(bad[i]));
        (void)two_files();
        (void)snprintf(manifest.file[1].name, sizeof(manifest.file[1].name), "%s", bad[i]);
        forged(&manifest, "which does not belong in a pack");
        (void)two_files();
        (void)snprintf(manifest.run, sizeof(manifest.run), "%s", bad[i]);
        forged(&manifest, "the head of its manifest is damaged");
    }
    assert_true(cli_pack_name_is_good("a/b/c"));
    assert_true(cli_pack_name_is_good("events.out.tfevents.1795431384.vm.20224"));
    (void)two_files();
    (void)snprintf(manifest.file[1].name, sizeof(manifest.file[1].name), "file-0");
    forged(&manifest, "has 'file-0' twice");
    (void)two_files();
    (void)snprintf(manifest.file[0].name, sizeof(manifest.file[0].name), "a");
    (void)snprintf(manifest.file[1].name, sizeof(manifest.file[1].name), "a/b");
    forged(&manifest, "a/b cannot be written: Not a directory");
}

static void
test_manifests_of_others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {{"", "is not a pack"},
                 {"tar\n", "is not a pack"},
                 {"octet-pack 2\nrun r\nfiles 0\n", "from another release"},
                 {"octet-pack 1\nrun r\nfiles 0\nx", "continues after its last file"},
                 {"octet-pack 1\nrun r\nfiles 4097\n", "the head of its manifest"},
                 {"octet-pack 1\nrun r\nfiles 1\n", "line 4 of its manifest"},
                 {"octet-pack 1\nrun r\nfiles 1\n00 644 1 1 x\n", "line 4 of its manifest"},
                 {"octet-pack 1\nrun r/s\nfiles 0\n", "the head of its manifest"}};
    manifest.count = 0;
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        forge(&manifest, cases[i].text, "", '0', "");
        refuses(cases[i].words);
    }
}

// The header is as others read it: of a file that is longer than octal digits say.
static void
test_headers_of_large_files_are_binary(void **state)
{
    (void)state;
    uint8_t header[CLI_PACK_BLOCK];
    cli_pack_file file = {.name = "x", .mode = 0644, .size = (UINT64_C(1) << 33) - 1};
    cli_pack_header(&file, header);
    assert_memory_equal(header + 124, "77777777777", 12);
    file.size++;
    cli_pack_header(&file, header);
    assert_memory_equal(header + 124, "\x80\0\0\0\0\0\0\2\0\0\0\0", 12);
    assert_memory_equal(header + 257, "ustar\00000", 8);
}

// A disk without room, here a limit of the process.
static void
test_a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    struct rlimit before, little = {.rlim_cur = 1000};
    T_OK(pack());
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little.rlim_max = before.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    refuses("replay.oct cannot be written: File too large");
    assert_int_equal(unlink("p"), 0);
    int count = entries_here();
    assert_true(pack() != OCT_OK);
    assert_non_null(strstr(reason.text, "the pack cannot be written: File too large"));
    assert_int_equal(entries_here(), count);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_packed_comes_back),
        TEST(test_what_belongs_to_a_start_stays_behind),
        TEST(test_nothing_is_replaced),
        TEST(test_what_is_unpacked_is_marked_unless_it_is_trusted),
        TEST(test_the_folder_is_named_in_any_way_but_as_the_current_one),
        TEST(test_folders_above_are_made_and_taken_back),
        TEST(test_a_folder_of_any_name_is_packed),
        TEST(test_a_live_run_is_packed_from_a_copy),
        TEST(test_a_table_that_a_daemon_has_is_refused),
        TEST(test_a_file_system_without_locks_is_no_hindrance),
        TEST(test_what_is_no_run_or_has_bad_names_is_refused),
        TEST(test_any_change_is_found),
        TEST(test_a_file_that_is_another_is_named),
        TEST(test_a_date_of_the_far_future_is_the_latest_that_a_pack_has),
        TEST(test_names_stay_below_the_folder),
        TEST(test_manifests_of_others_are_refused),
        TEST(test_headers_of_large_files_are_binary),
        TEST(test_a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
