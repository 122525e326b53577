// Checkpoints come back unchanged; damaged, cut and foreign files are refused.
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "learner/learner_checkpoint.h"
#include "tests/support/oct_test.h"

#define PATH   "test_learner_checkpoint.oct"
#define POINTS 3
#define STATE  50

static char reason[256];

static learner_checkpoint
checkpoint_of(bool with_state)
{
    learner_checkpoint checkpoint = {
        .run_id = 0x123456789abcdef1u,
        .policy_version = 17,
        .updates = 900,
        .env_steps = 12345,
        .incarnations = 12,
        .wall_s = 1.25,
        .evals = {.evaluations = 6,
                  .best = {.stage = LEARNER_EVAL_RESULT,
                           .version = 12,
                           .env_steps = 12000,
                           .episodes = 100,
                           .mean = 99.5,
                           .std = 2,
                           .min = 90,
                           .max = 101,
                           .mean_length = 33},
                  .confirmed = 98,
                  .screen_count = 2,
                  .screens = {50, 60}},
        .policy_crc = 0xabcdef01u,
        .task_crc = 77,
        .curve_count = POINTS,
        .curve = oct_alloc(POINTS * sizeof(learner_curve_point)),
    };
    for (int i = 0; i < POINTS; i++) {
        checkpoint.curve[i] = (learner_curve_point){i, 10 * i, 100 * i, 0.5 * i};
    }
    if (with_state) {
        checkpoint.state = oct_alloc(sizeof(*checkpoint.state) + STATE);
        checkpoint.state->length = STATE;
        checkpoint.state->updates = 900;
        for (int i = 0; i < STATE; i++) {
            checkpoint.state->bytes[i] = (uint8_t)(3 * i);
        }
    }
    return checkpoint;
}

static void
file_write(const uint8_t *bytes, size_t length)
{
    T_OK(oct_file_write(PATH, bytes, length));
}

static size_t
good_file(uint8_t **bytes)
{
    learner_checkpoint checkpoint = checkpoint_of(true);
    size_t length;
    T_OK(learner_checkpoint_write(PATH, &checkpoint));
    learner_checkpoint_fini(&checkpoint);
    T_OK(oct_file_read(PATH, 1 << 20, bytes, &length));
    return length;
}

static void
assert_refused(oct_err want, const char *says)
{
    learner_checkpoint out = {.run_id = 4};
    reason[0] = '\0';
    T_ERR(learner_checkpoint_read(PATH, &out, reason, sizeof(reason)), want);
    assert_non_null(strstr(reason, says));
    assert_int_equal(out.run_id, 4); // untouched
    assert_null(out.curve);
}

static void
test_checkpoint_that_is_not_there(void **state)
{
    (void)state;
    (void)unlink(PATH);
    assert_refused(OCT_ENOTFOUND, PATH);
}

static void
test_checkpoint_of_another_kind_of_file(void **state)
{
    (void)state;
    static const uint8_t text[] = "octet: true\nnot: a checkpoint\n";
    file_write(text, sizeof(text));
    assert_refused(OCT_EPROTO, "not a checkpoint");
    file_write(text, 0);
    assert_refused(OCT_EPROTO, "not a checkpoint");
}

static void
test_checkpoint_cut_short_anywhere(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length = good_file(&bytes);
    for (size_t cut = 0; cut < length; cut++) {
        file_write(bytes, cut);
        assert_refused(OCT_EPROTO, PATH);
    }
    free(bytes);
}

static void
test_checkpoint_with_one_bit_changed(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length = good_file(&bytes);
    for (size_t bit = 0; bit < 8 * length; bit += bit < 96 ? 1 : 13) {
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        file_write(bytes, length);
        bool in_version = bit >= 32 && bit < 64;
        assert_refused(in_version ? OCT_EINVAL : OCT_EPROTO, PATH);
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(bytes);
}

static void
test_checkpoint_of_another_release(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length = good_file(&bytes);
    bytes[4]++;
    uint32_t crc = oct_crc32(0, bytes, length - 4);
    memcpy(bytes + length - 4, &crc, 4);
    file_write(bytes, length);
    assert_refused(OCT_EINVAL, "another release");
    free(bytes);
}

// Whole by its checksum, but its lengths lie: no size that a file claims is believed.
static void
test_checkpoint_whose_lengths_lie(void **state)
{
    (void)state;
    enum { BEST = 2 * 4 + 2 * 8 + 5 * 8, SCREENS = 4 + LEARNER_EVAL_SCREENS * 8 };
    enum { CURVE_COUNT_AT = 8 + 5 * 8 + 4 + 8 + BEST + 8 + SCREENS + 2 * 4 };
    static const uint32_t claims[] = {POINTS + 1, POINTS - 1, 0, LEARNER_CURVE_MAX, UINT32_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(claims); i++) {
        uint8_t *bytes;
        size_t length = good_file(&bytes);
        memcpy(bytes + CURVE_COUNT_AT, &claims[i], 4);
        uint32_t crc = oct_crc32(0, bytes, length - 4);
        memcpy(bytes + length - 4, &crc, 4);
        file_write(bytes, length);
        assert_refused(OCT_EPROTO, "lengths");
        free(bytes);
    }
}

static void
test_checkpoint_that_cannot_be_written(void **state)
{
    (void)state;
    learner_checkpoint checkpoint = checkpoint_of(true);
    assert_true(learner_checkpoint_write("no/such/folder/checkpoint.oct", &checkpoint) != OCT_OK);
    assert_int_equal(errno, ENOENT);
    learner_checkpoint_fini(&checkpoint);
}

// Field by field: what lies between the fields is nobody's.
static void
assert_evals_equal(const learner_evals_saved *got, const learner_evals_saved *want)
{
    assert_int_equal(got->evaluations, want->evaluations);
    assert_int_equal(got->best.stage, want->best.stage);
    assert_int_equal(got->best.version, want->best.version);
    assert_int_equal(got->best.env_steps, want->best.env_steps);
    assert_int_equal(got->best.made_ns, want->best.made_ns);
    assert_int_equal(got->best.episodes, want->best.episodes);
    double returns[] = {got->best.mean, got->best.std, got->best.min, got->best.max,
                        got->best.mean_length};
    double kept[] = {want->best.mean, want->best.std, want->best.min, want->best.max,
                     want->best.mean_length};
    assert_memory_equal(returns, kept, sizeof(kept));
    assert_memory_equal(&got->confirmed, &want->confirmed, sizeof(double));
    assert_int_equal(got->screen_count, want->screen_count);
    assert_memory_equal(got->screens, want->screens, want->screen_count * sizeof(double));
}

static void
test_checkpoint_comes_back(void **state)
{
    (void)state;
    for (int with_state = 0; with_state < 2; with_state++) {
        learner_checkpoint checkpoint = checkpoint_of(with_state == 1), got;
        T_OK(learner_checkpoint_write(PATH, &checkpoint));
        T_OK(learner_checkpoint_read(PATH, &got, reason, sizeof(reason)));
        assert_int_equal(got.run_id, checkpoint.run_id);
        assert_int_equal(got.policy_version, 17);
        assert_int_equal(got.updates, 900);
        assert_int_equal(got.env_steps, 12345);
        assert_int_equal(got.incarnations, 12);
        assert_true(got.wall_s == 1.25);
        assert_evals_equal(&got.evals, &checkpoint.evals);
        assert_int_equal(got.policy_crc, checkpoint.policy_crc);
        assert_int_equal(got.task_crc, checkpoint.task_crc);
        assert_int_equal(got.curve_count, POINTS);
        assert_memory_equal(got.curve, checkpoint.curve, POINTS * sizeof(*got.curve));
        if (with_state == 1) {
            assert_int_equal(got.state->length, STATE);
            assert_int_equal(got.state->updates, 900);
            assert_memory_equal(got.state->bytes, checkpoint.state->bytes, STATE);
        } else {
            assert_null(got.state);
        }
        learner_checkpoint_fini(&got);
        learner_checkpoint_fini(&checkpoint);
    }
    (void)unlink(PATH);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_that_is_not_there),
        cmocka_unit_test(test_checkpoint_of_another_kind_of_file),
        cmocka_unit_test(test_checkpoint_cut_short_anywhere),
        cmocka_unit_test(test_checkpoint_with_one_bit_changed),
        cmocka_unit_test(test_checkpoint_of_another_release),
        cmocka_unit_test(test_checkpoint_whose_lengths_lie),
        cmocka_unit_test(test_checkpoint_that_cannot_be_written),
        cmocka_unit_test(test_checkpoint_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
