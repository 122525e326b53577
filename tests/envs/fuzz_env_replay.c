// Damaged files of recorded trajectories: an answer or an error in words, never anything else
// (sanitizers watch).
#include "tests/envs/env_test.h"

#include <unistd.h>

#include "common/oct_rng.h"
#include "envs/env_replay.h"
#include "envs/env_tape.h"

enum { ROUNDS = 1000, FILE_MAX = 6000 };

// The first lines of a file, as many as fit.
static size_t
head_read(char *out, const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(out, 1, FILE_MAX, file);
    assert_int_equal(fclose(file), 0);
    while (length > 0 && out[length - 1] != '\n') {
        length--;
    }
    return length;
}

static size_t
damage(char *text, size_t length, oct_rng *rng)
{
    static const char likely[] = ",,|:ui0123456789abcdefx.-+en\n\r ";
    for (uint32_t k = 1 + oct_rng_below(rng, 3); k > 0 && length > 1; k--) {
        size_t at = oct_rng_below(rng, (uint32_t)length);
        char c = oct_rng_below(rng, 4) == 0
                     ? (char)oct_rng_below(rng, 256)
                     : likely[oct_rng_below(rng, (uint32_t)sizeof(likely) - 1)];
        switch (oct_rng_below(rng, 3)) {
        case 0:
            text[at] = c;
            break;
        case 1:
            memmove(text + at, text + at + 1, length - at - 1);
            length--;
            break;
        default:
            length = at; // cut
            break;
        }
    }
    return length;
}

static void
test_damaged_recordings_are_answered_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *id, *options, *path;
    } files[] = {
        {"MinAtar/Breakout-v0", "sticky_actions=0", "tests/data/minatar/breakout.csv"},
        {"MinAtar/Freeway-v0", "sticky_actions=0", "tests/data/minatar/freeway.csv"},
        {"Acrobot-v1", "", "tests/data/classic_control_ref/Acrobot-v1.csv"},
    };
    char path[] = "/tmp/octet_fuzz_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    uint32_t refused = 0;
    for (size_t f = 0; f < OCT_COUNTOF(files); f++) {
        char good[FILE_MAX], text[FILE_MAX];
        size_t length = head_read(good, files[f].path);
        env *e = env_opened(files[f].id, files[f].options, 1, 0, false);
        for (int round = 0; round < ROUNDS; round++) {
            memcpy(text, good, length);
            size_t left = damage(text, length, &rng);
            assert_int_equal(ftruncate(file, 0), 0);
            assert_int_equal(pwrite(file, text, left, 0), (ssize_t)left);
            char reason[512] = "";
            env_replay_request request = {.path = path};
            env_replay_result result;
            if (env_replay_run(&result, e, &request, reason, sizeof(reason)) != OCT_OK) {
                T_SAYS(reason, path);
                refused++;
            }
        }
        env_close(e);
    }
    assert_true(refused > ROUNDS);
    assert_int_equal(close(file), 0);
    assert_int_equal(unlink(path), 0);
}

static void
test_random_tapes_are_read_or_refused(void **state)
{
    (void)state;
    static const char likely[] = "ui:|| 01259.e-";
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    env_tape tape;
    env_tape_init(&tape);
    for (int round = 0; round < 200000; round++) {
        char text[48];
        uint32_t length = oct_rng_below(&rng, sizeof(text) - 1);
        for (uint32_t k = 0; k < length; k++) {
            text[k] = likely[oct_rng_below(&rng, (uint32_t)sizeof(likely) - 1)];
        }
        text[length] = '\0';
        if (length > 2 && oct_rng_below(&rng, 2) == 0) {
            memcpy(text, oct_rng_below(&rng, 2) == 0 ? "u:" : "i:", 2);
        }
        char reason[160] = "";
        if (env_tape_read(&tape, text, reason, sizeof(reason)) != OCT_OK) {
            assert_true(reason[0] != '\0');
            continue;
        }
        for (uint32_t k = 0; k < tape.count; k++) {
            assert_true(tape.draws[k] >= 0);
        }
    }
    env_tape_fini(&tape);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_recordings_are_answered_or_refused),
        cmocka_unit_test(test_random_tapes_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
