// Lock-step: the tasks of a turn, which rows hashes.csv keeps, and which versions are kept.
#include "learner/learner_turns.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "learner/learner_hashes.h"
#include "learner/learner_turn_policies.h"
#include "tests/support/oct_test.h"

static const learner_turns_periods periods = {
    .evaluate_turns = 2, .save_turns = 4, .hash_updates = 10};

static learner_turns
turns_from(uint64_t turn, uint64_t updates)
{
    learner_turns turns;
    learner_turns_begin(&turns, &periods, turn, updates);
    assert_int_equal(learner_turns_task(&turns), LEARNER_TURN_PUBLISH);
    return turns;
}

// One turn with so many updates, drawn two at a time; gives its tasks after LEARN as letters.
static const char *
turn_do(learner_turns *turns, uint32_t due)
{
    static const char letters[] = {
        [LEARNER_TURN_RETURN] = 'r', [LEARNER_TURN_EVALUATE] = 'e', [LEARNER_TURN_HASH] = 'h',
        [LEARNER_TURN_SAVE] = 's',   [LEARNER_TURN_END] = '.',
    };
    static char done[8];
    size_t count = 0;
    learner_turns_published(turns, turns->turn + 1);
    while (learner_turns_may_ask(turns)) {
        learner_turns_asked(turns);
        assert_false(learner_turns_may_ask(turns)); // one at a time
        uint32_t batches = due - turns->drawn < 2 ? due - turns->drawn : 2;
        learner_turns_drawn(turns, batches, due);
        for (uint32_t i = 0; i < batches; i++) {
            assert_int_equal(learner_turns_task(turns), LEARNER_TURN_LEARN);
            learner_turns_learned(turns, turns->updates + 1);
        }
    }
    while (learner_turns_task(turns) != LEARNER_TURN_PUBLISH &&
           learner_turns_task(turns) != LEARNER_TURN_END) {
        done[count++] = letters[learner_turns_task(turns)];
        learner_turns_done(turns);
    }
    done[count] = '\0';
    return done;
}

static void
test_tasks_are_due_by_counts(void **state)
{
    (void)state;
    learner_turns turns = turns_from(0, 0);
    assert_string_equal(turn_do(&turns, 3), "r");    // 3 updates
    assert_string_equal(turn_do(&turns, 5), "re");   // 8
    assert_string_equal(turn_do(&turns, 5), "rh");   // 13
    assert_string_equal(turn_do(&turns, 5), "rehs"); // 18, the end of a life
    assert_string_equal(turn_do(&turns, 1), "r");    // 19
    assert_string_equal(turn_do(&turns, 1), "reh");  // 20
    assert_string_equal(turn_do(&turns, 0), "r");    // before the table has enough windows
    assert_int_equal(turns.updates, 20);
}

static void
test_a_resumed_run_has_the_tasks_of_one_that_went_on(void **state)
{
    (void)state;
    learner_turns whole = turns_from(0, 0);
    char tasks[12][8];
    for (uint32_t i = 0; i < 12; i++) {
        (void)snprintf(tasks[i], sizeof(tasks[i]), "%s", turn_do(&whole, 2 + i % 3));
        if (i == 3 || i == 7) { // behind a checkpoint
            learner_turns resumed = turns_from(whole.turn, whole.updates);
            assert_true(learner_turns_is_resumed(&resumed) && learner_turns_is_resumed(&whole));
            assert_int_equal(learner_turns_life(&resumed), (i + 1) / 4);
        }
    }
    learner_turns resumed = turns_from(4, 2 + 3 + 4 + 2);
    for (uint32_t i = 4; i < 12; i++) {
        assert_string_equal(turn_do(&resumed, 2 + i % 3), tasks[i]);
    }
    assert_int_equal(resumed.task, whole.task);
    assert_int_equal(resumed.turn, whole.turn);
    assert_int_equal(resumed.updates, whole.updates);
    assert_int_equal(resumed.hashed, whole.hashed);
}

static void
test_the_last_turn_is_hashed_and_no_other_follows(void **state)
{
    (void)state;
    learner_turns turns = turns_from(0, 0);
    learner_turns_finish(&turns);
    assert_string_equal(turn_do(&turns, 1), "rh");
    assert_int_equal(learner_turns_task(&turns), LEARNER_TURN_END);
}

static void
test_a_run_that_ended_with_its_checkpoint_has_ended(void **state)
{
    (void)state;
    learner_turns turns = turns_from(0, 0);
    (void)turn_do(&turns, 1);
    (void)turn_do(&turns, 1);
    (void)turn_do(&turns, 1);
    learner_turns_finish(&turns);
    assert_string_equal(turn_do(&turns, 1), "rehs");
    assert_true(learner_turns_saves(&turns));
    assert_int_equal(learner_turns_task(&turns), LEARNER_TURN_END);
    learner_turns resumed = turns_from(4, 4);
    learner_turns_over(&resumed);
    assert_int_equal(learner_turns_task(&resumed), LEARNER_TURN_END);
}

static void
test_a_request_without_an_answer_goes_again(void **state)
{
    (void)state;
    learner_turns turns = turns_from(0, 0);
    assert_false(learner_turns_may_ask(&turns));
    learner_turns_published(&turns, 1);
    learner_turns_asked(&turns);
    learner_turns_missed(&turns);
    assert_true(learner_turns_may_ask(&turns));
    learner_turns_asked(&turns);
    learner_turns_drawn(&turns, 2, 3);
    assert_int_equal(turns.drawn, 2);
    learner_turns_learned(&turns, 1);
    learner_turns_learned(&turns, 2);
    assert_int_equal(learner_turns_task(&turns), LEARNER_TURN_LEARN); // one is not drawn yet
}

static void
test_versions_of_a_life_are_kept(void **state)
{
    (void)state;
    learner_turn_policies *kept = learner_turn_policies_create(4);
    assert_null(learner_turn_policies_next(kept, 0));
    for (uint64_t version = 5; version <= 9; version++) {
        quantizer_publication *publication = quantizer_publication_create();
        publication->version = version;
        publication->updates = 10 * version;
        publication->env_steps = 100 * version;
        publication->length = 8;
        publication->bytes = malloc(8);
        memcpy(publication->bytes, &version, 8);
        learner_turn_policies_add(kept, publication);
        quantizer_publication_release(publication);
        const quantizer_publication *next = learner_turn_policies_next(kept, version - 1);
        assert_int_equal(next->version, version);
        assert_int_equal(next->updates, 10 * version);
        assert_int_equal(next->env_steps, 100 * version);
        assert_memory_equal(next->bytes, &version, 8);
        assert_null(learner_turn_policies_next(kept, version));
        assert_int_equal(learner_turn_policies_next(kept, 0)->version, version < 9 ? 5 : 9);
    }
    learner_turn_policies_destroy(kept);
}

static void
hashes_read(const char *path, char *out, size_t size)
{
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(path, size, &bytes, &length));
    memcpy(out, bytes, length);
    out[length] = '\0';
    free(bytes);
}

static void
test_hashes_are_cut_to_where_a_run_goes_on(void **state)
{
    (void)state;
    static char text[4096], whole[4096];
    const char *path = "hashes-test.csv";
    learner_hashes_row row = {.weights = {0x01, 0xab}, .replay = {0xff}};
    T_OK(learner_hashes_begin(path, 0));
    for (row.turn = 3; row.turn <= 9; row.turn += 3) {
        row.updates = 10 * row.turn;
        row.env_steps = 100 * row.turn;
        T_OK(learner_hashes_add(path, &row));
    }
    hashes_read(path, whole, sizeof(whole));
    assert_non_null(strstr(whole, "turn,updates,env_steps,weights,replay\n3,30,300,01ab00"));
    T_OK(learner_hashes_begin(path, 6));
    hashes_read(path, text, sizeof(text));
    assert_null(strstr(text, "\n9,"));
    assert_non_null(strstr(text, "\n6,60,600,"));
    T_OK(learner_hashes_begin(path, 6)); // twice
    row.turn = 9;
    T_OK(learner_hashes_add(path, &row));
    hashes_read(path, text, sizeof(text));
    assert_string_equal(text, whole);
    FILE *file = fopen(path, "a"); // a row that a kill cut
    assert_non_null(file);
    assert_true(fputs("12,120,12", file) >= 0 && fclose(file) == 0);
    T_OK(learner_hashes_begin(path, 12));
    hashes_read(path, text, sizeof(text));
    assert_string_equal(text, whole);
    T_OK(learner_hashes_begin(path, 0));
    hashes_read(path, text, sizeof(text));
    assert_string_equal(text, "turn,updates,env_steps,weights,replay\n");
    assert_int_equal(unlink(path), 0);
}

// What was in the file when it was synced last.
static off_t synced_bytes;
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fdatasync(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    synced_bytes = status.st_size;
    return __real_fdatasync(fd);
}

// A checkpoint that is synced after it would otherwise go on from a row that the power cut off.
static void
test_row_of_hashes_is_on_the_disk_when_it_was_added(void **state)
{
    (void)state;
    const char *path = "hashes-synced.csv";
    learner_hashes_row row = {.turn = 1};
    struct stat status;
    T_OK(learner_hashes_begin(path, 0));
    synced_bytes = 0;
    T_OK(learner_hashes_add(path, &row));
    assert_int_equal(stat(path, &status), 0);
    assert_true(synced_bytes > 0 && synced_bytes == status.st_size);
    assert_int_equal(unlink(path), 0);
}

static void
bytes_max_set(rlim_t bytes)
{
    struct rlimit bound;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &bound), 0);
    bound.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
}

// As on a disk that is full in the middle of a row.
static void
test_row_of_hashes_is_whole_or_not_there(void **state)
{
    (void)state;
    static char before[4096], after[4096], whole[4096];
    const char *path = "hashes-full.csv";
    learner_hashes_row row = {.turn = 1};
    struct rlimit none;
    T_OK(learner_hashes_begin(path, 0));
    T_OK(learner_hashes_add(path, &row));
    hashes_read(path, before, sizeof(before));
    row.turn = 2;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &none), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    bytes_max_set(strlen(before) + 20);
    T_ERR(learner_hashes_add(path, &row), OCT_EIO);
    assert_int_equal(errno, EFBIG);
    bytes_max_set(none.rlim_cur);
    hashes_read(path, after, sizeof(after));
    assert_string_equal(after, before);
    T_OK(learner_hashes_add(path, &row));
    hashes_read(path, whole, sizeof(whole));
    assert_memory_equal(whole, before, strlen(before));
    assert_true(strncmp(whole + strlen(before), "2,0,0,", 6) == 0);
    assert_int_equal(whole[strlen(whole) - 1], '\n');
    assert_int_equal(unlink(path), 0);
}

// Only a file that is not there has no rows.
static void
test_hashes_that_cannot_be_read_are_not_begun_anew(void **state)
{
    (void)state;
    const char *path = "hashes-unread.csv";
    struct stat found;
    (void)unlink(path);
    assert_int_equal(symlink("/proc/self/mem", path), 0); // nothing is mapped at its beginning
    T_ERR(learner_hashes_begin(path, 3), OCT_EIO);
    assert_int_equal(errno, EIO);
    assert_int_equal(lstat(path, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(unlink(path), 0);
    T_OK(learner_hashes_begin(path, 3));
    assert_int_equal(unlink(path), 0);
}

static void
test_turns_sessions_differ_by_seed_epoch_index_and_life_alone(void **state)
{
    (void)state;
    uint64_t seen[81];
    size_t count = 0;
    for (uint32_t i = 0; i < 81; i++) {
        uint64_t session = learner_turns_session(i / 27, i / 9 % 3, i / 3 % 3, i % 3);
        assert_int_equal(session & 1, 1);
        assert_true(session == learner_turns_session(i / 27, i / 9 % 3, i / 3 % 3, i % 3));
        for (size_t k = 0; k < count; k++) {
            assert_true(seen[k] != session);
        }
        seen[count++] = session;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_are_due_by_counts),
        cmocka_unit_test(test_a_resumed_run_has_the_tasks_of_one_that_went_on),
        cmocka_unit_test(test_the_last_turn_is_hashed_and_no_other_follows),
        cmocka_unit_test(test_a_run_that_ended_with_its_checkpoint_has_ended),
        cmocka_unit_test(test_a_request_without_an_answer_goes_again),
        cmocka_unit_test(test_versions_of_a_life_are_kept),
        cmocka_unit_test(test_hashes_are_cut_to_where_a_run_goes_on),
        cmocka_unit_test(test_row_of_hashes_is_on_the_disk_when_it_was_added),
        cmocka_unit_test(test_row_of_hashes_is_whole_or_not_there),
        cmocka_unit_test(test_hashes_that_cannot_be_read_are_not_begun_anew),
        cmocka_unit_test(test_turns_sessions_differ_by_seed_epoch_index_and_life_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
