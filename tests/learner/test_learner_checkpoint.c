// Checkpoints come back unchanged, those of format 2 too; damaged, cut and foreign files are
// refused, each in words.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "learner/learner_checkpoint.h"
#include "tests/support/oct_test.h"

#define PATH   "test_learner_checkpoint.oct"
#define POINTS 3
#define STATE  50

static oct_reason reason;

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
        .replay[0] = {.table = 0xfedcba9876543211u, .steps = 12400, .samples = 57600},
        .shards = 1,
        .policy_crc = 0xabcdef01u,
        .task_crc = 77,
        .curve_count = POINTS,
        .curve = oct_alloc(POINTS * sizeof(learner_curve_point)),
    };
    for (int i = 0; i < POINTS; i++) {
        checkpoint.curve[i] = (learner_curve_point){i, 10 * i, 100 * i, 0.5 * i};
    }
    if (with_state) {
        checkpoint.turn = (learner_turn_place){.is_there = true,
                                               .life_turns = 17,
                                               .refused = 3,
                                               .libm = 0x1122334455667788u,
                                               .replay = {1, [WIRE_HASH_BYTES - 1] = 0xff}};
        (void)snprintf(checkpoint.end, sizeof(checkpoint.end), "budget");
        checkpoint.work = oct_alloc(7);
        checkpoint.work_length = 7;
        memcpy(checkpoint.work, "at work", 7);
        checkpoint.weights = oct_alloc(5);
        checkpoint.weights_length = 5;
        memcpy(checkpoint.weights, "whole", 5);
        checkpoint.metrics = oct_alloc(8);
        checkpoint.metrics_length = 8;
        memcpy(checkpoint.metrics, "measured", 8);
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
checkpoint_write(const learner_checkpoint *checkpoint)
{
    char draft[OCT_FILE_PATH_MAX];
    T_OK(learner_checkpoint_draft(PATH, checkpoint, draft));
    T_OK(oct_file_adopt(draft, PATH));
}

static void
file_write(const uint8_t *bytes, size_t length)
{
    T_OK(oct_file_replace(PATH, bytes, length));
}

static size_t
good_file(uint8_t **bytes)
{
    learner_checkpoint checkpoint = checkpoint_of(true);
    size_t length;
    checkpoint_write(&checkpoint);
    learner_checkpoint_fini(&checkpoint);
    T_OK(oct_file_read(PATH, 1 << 20, bytes, &length));
    return length;
}

static void
assert_refused(oct_err want, const char *says)
{
    learner_checkpoint out = {.run_id = 4};
    reason.text[0] = '\0';
    T_ERR(learner_checkpoint_read(PATH, &out, &reason), want);
    assert_non_null(strstr(reason.text, says));
    assert_int_equal(out.run_id, 4); // untouched
    assert_null(out.curve);
}

// Of several shards it says where each is, and how much each had.
static void
test_checkpoint_of_shards(void **state)
{
    (void)state;
    learner_checkpoint checkpoint = checkpoint_of(false), got;
    checkpoint.shards = 3;
    checkpoint.gone = -18877.4;
    for (uint32_t i = 0; i < 3; i++) {
        checkpoint.replay[i] =
            (learner_source_place){10 + i, 20 + i, 30 + i, 40 + i, 0.5 - i, {{0}}};
    }
    for (uint64_t i = 0; i < LEARNER_TABLES_KEPT; i++) {
        checkpoint.replay[1].earlier[i] = (learner_source_earlier){50 + i, 60 + i, 70 + i};
    }
    checkpoint.replay[2].earlier[0] = (learner_source_earlier){80, 90, 100};
    checkpoint_write(&checkpoint);
    T_OK(learner_checkpoint_read(PATH, &got, &reason));
    assert_int_equal(got.shards, 3);
    assert_memory_equal(got.replay, checkpoint.replay, sizeof(got.replay));
    T_NEAR(got.gone, checkpoint.gone, 0, 0);
    learner_checkpoint_fini(&got);
    checkpoint.gone = INFINITY;
    checkpoint_write(&checkpoint);
    T_ERR(learner_checkpoint_read(PATH, &got, &reason), OCT_EPROTO);
    checkpoint.gone = 0;
    checkpoint.shards = CONFIG_SHARDS_MAX;
    checkpoint.replay[7].balance = NAN;
    checkpoint_write(&checkpoint);
    T_ERR(learner_checkpoint_read(PATH, &got, &reason), OCT_EPROTO);
    learner_checkpoint_fini(&checkpoint);
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
        assert_refused(OCT_EPROTO, PATH);
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(bytes);
}

// The file's checksum made right again.
static void
sealed_write(uint8_t *bytes, size_t length)
{
    uint32_t crc = oct_crc32(0, bytes, length - 4);
    memcpy(bytes + length - 4, &crc, 4);
    file_write(bytes, length);
}

static void
test_checkpoint_of_another_release(void **state)
{
    (void)state;
    static const struct {
        uint8_t format;
        const char *says;
    } others[] = {
        {0, "an earlier release"},
        {1, "an earlier release, in format 1; this release reads formats 2 to 3"},
        {LEARNER_CHECKPOINT_FORMAT + 1, "a later release, in format 4; this release reads"},
    };
    uint8_t *bytes;
    size_t length = good_file(&bytes);
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        bytes[4] = others[i].format;
        sealed_write(bytes, length);
        assert_refused(OCT_EINVAL, others[i].says);
    }
    free(bytes);
}

// What a later release may add: behind the sections that this one knows.
static void
section_append(const char *id, uint32_t flags)
{
    uint8_t *bytes;
    size_t length = good_file(&bytes);
    uint8_t *longer = oct_alloc(length + 64);
    memcpy(longer, bytes, length - 4);
    oct_writer writer = {.base = longer, .used = length - 4, .capacity = length + 64};
    oct_write_bytes(&writer, id, 4);
    oct_write_u32(&writer, flags);
    oct_write_u64(&writer, 3);
    oct_write_bytes(&writer, "abc", 3);
    oct_write_u32(&writer, oct_crc32(0, longer + length - 4, 4 + 4 + 8 + 3));
    oct_write_u32(&writer, 0);
    sealed_write(longer, writer.used);
    free(longer);
    free(bytes);
}

static void
test_checkpoint_with_a_section_that_is_not_known(void **state)
{
    (void)state;
    learner_checkpoint got;
    section_append("NEXT", 0);
    T_OK(learner_checkpoint_read(PATH, &got, &reason));
    assert_int_equal(got.updates, 900);
    learner_checkpoint_fini(&got);
    section_append("NEXT", 1);
    assert_refused(OCT_EINVAL, "a later release: this release does not know section NEXT");
    section_append("EVAL", 1); // a second one
    assert_refused(OCT_EPROTO, "section EVAL");
    section_append("END_", 1); // although it is a word
    assert_refused(OCT_EPROTO, "section END_");
}

// Where a section begins, and its bytes with head and checksum.
static uint8_t *
section_find(uint8_t *bytes, const char *id, size_t *length)
{
    uint8_t *at = bytes + 8;
    uint64_t content;
    for (;; at += 16 + content + 4) {
        memcpy(&content, at + 8, 8);
        if (memcmp(at, id, 4) == 0) {
            *length = 16 + content + 4;
            return at;
        }
    }
}

// Whole by the file's checksum, but not by a section's; or a section is not there.
static void
test_checkpoint_whose_sections_are_not_whole(void **state)
{
    (void)state;
    static const char *const always[] = {"RUN_", "EVAL", "RPLY", "CURV"};
    for (size_t i = 0; i < OCT_COUNTOF(always); i++) {
        uint8_t *bytes;
        size_t length = good_file(&bytes), section;
        uint8_t *at = section_find(bytes, always[i], &section);
        at[20] ^= 1;
        sealed_write(bytes, length);
        assert_refused(OCT_EPROTO, always[i]);
        memmove(at, at + section, (size_t)(bytes + length - at) - section);
        sealed_write(bytes, length - section);
        assert_refused(OCT_EPROTO, "a section is missing");
        free(bytes);
    }
}

// The word is one.
static void
test_checkpoint_that_ends_for_no_reason(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length = good_file(&bytes), section;
    uint8_t *at = section_find(bytes, "END_", &section);
    at[18] = 0;
    uint32_t crc = oct_crc32(0, at, section - 4);
    memcpy(at + section - 4, &crc, 4);
    sealed_write(bytes, length);
    assert_refused(OCT_EPROTO, "section END_");
    free(bytes);
}

// Whole by its checksums, but its lengths lie: no size that a file claims is believed.
static void
test_checkpoint_whose_lengths_lie(void **state)
{
    (void)state;
    static const uint32_t claims[] = {POINTS + 1, POINTS - 1, 0, LEARNER_CURVE_MAX, UINT32_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(claims); i++) {
        uint8_t *bytes;
        size_t length = good_file(&bytes), section;
        uint8_t *at = section_find(bytes, "CURV", &section);
        memcpy(at + 16, &claims[i], 4);
        uint32_t crc = oct_crc32(0, at, section - 4);
        memcpy(at + section - 4, &crc, 4);
        sealed_write(bytes, length);
        assert_refused(OCT_EPROTO, "damaged: section CURV has impossible values");
        memcpy(at + 8, &claims[i], 4); // of the section itself
        memset(at + 12, i % 2 == 0 ? 0 : 0xff, 4);
        sealed_write(bytes, length);
        assert_refused(OCT_EPROTO, "damaged");
        free(bytes);
    }
}

// A number of a section is another, and the sums are right. at: in its content, from the end where
// it is negative.
static void
number_is_refused(const char *id, int at, const void *number, size_t number_bytes)
{
    uint8_t *bytes;
    char says[32];
    size_t length = good_file(&bytes), section;
    uint8_t *begin = section_find(bytes, id, &section);
    uint8_t *to = at < 0 ? begin + section - 4 + at : begin + 16 + at;
    memcpy(to, number, number_bytes);
    uint32_t crc = oct_crc32(0, begin, section - 4);
    memcpy(begin + section - 4, &crc, 4);
    sealed_write(bytes, length);
    (void)snprintf(says, sizeof(says), "section %s has impossible values", id);
    assert_refused(OCT_EPROTO, says);
    free(bytes);
}

static void
test_checkpoint_whose_numbers_are_impossible(void **state)
{
    (void)state;
    const double times[] = {NAN, INFINITY, -1};
    const uint32_t screens[] = {LEARNER_EVAL_SCREENS + 1, UINT32_MAX};
    // No message could carry what the run would count on to.
    const uint64_t counts[] = {LEARNER_RESUMED_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        for (int at = 8; at < 32; at += 8) { // version, updates, steps
            number_is_refused("RUN_", at, &counts[i], sizeof(counts[i]));
        }
        number_is_refused("EVAL", 0, &counts[i], sizeof(counts[i]));
        number_is_refused("RPLY", 8, &counts[i], sizeof(counts[i]));
        number_is_refused("RPLY", 16, &counts[i], sizeof(counts[i]));
    }
    for (size_t i = 0; i < OCT_COUNTOF(times); i++) {
        number_is_refused("RUN_", 4 * 8 + 4, &times[i], sizeof(times[i])); // behind the counters
    }
    for (size_t i = 0; i < OCT_COUNTOF(screens); i++) {
        number_is_refused("EVAL", -4 - 8 * LEARNER_EVAL_SCREENS, &screens[i], sizeof(screens[i]));
    }
}

// The run has room for so many points.
static void
test_checkpoint_of_more_points_than_there_is_room_for(void **state)
{
    (void)state;
    learner_checkpoint checkpoint = checkpoint_of(false), got;
    learner_checkpoint_fini(&checkpoint);
    for (uint32_t more = 0; more < 2; more++) {
        checkpoint.curve_count = LEARNER_CURVE_MAX + more;
        checkpoint.curve = oct_alloc(checkpoint.curve_count * sizeof(*checkpoint.curve));
        checkpoint_write(&checkpoint);
        learner_checkpoint_fini(&checkpoint);
        if (more == 0) {
            T_OK(learner_checkpoint_read(PATH, &got, &reason));
            assert_int_equal(got.curve_count, LEARNER_CURVE_MAX);
            learner_checkpoint_fini(&got);
        } else {
            assert_refused(OCT_EPROTO, "section CURV has impossible values");
        }
    }
}

// A table of no shard, one of no id, and more tables than are kept.
static void
test_checkpoint_whose_tables_are_impossible(void **state)
{
    (void)state;
    for (int bad = 0; bad < 3; bad++) {
        learner_checkpoint checkpoint = checkpoint_of(false);
        checkpoint.shards = 2;
        for (uint64_t i = 0; i < LEARNER_TABLES_KEPT; i++) {
            checkpoint.replay[0].earlier[i] = (learner_source_earlier){50 + i, 60, 70};
        }
        checkpoint.replay[1].earlier[0] = (learner_source_earlier){80, 90, 100};
        checkpoint_write(&checkpoint);
        learner_checkpoint_fini(&checkpoint);
        uint8_t *bytes;
        size_t length, section;
        T_OK(oct_file_read(PATH, 1 << 20, &bytes, &length));
        uint8_t *at = section_find(bytes, "TABL", &section);
        uint8_t *last = at + section - 4 - 28;
        const uint32_t shard[] = {CONFIG_SHARDS_MAX, 1, 0};
        memcpy(last, &shard[bad], 4);
        memset(last + 4, bad == 1 ? 0 : 1, 8);
        uint32_t crc = oct_crc32(0, at, section - 4);
        memcpy(at + section - 4, &crc, 4);
        sealed_write(bytes, length);
        assert_refused(OCT_EPROTO, "section TABL");
        free(bytes);
    }
}

static const char *format2_path;

// A run of CartPole-v1 with algo.name dqn, network.hidden [8], which ended after 8192 steps. The
// file was written by the last release with format 2.
static void
test_checkpoint_of_format_2(void **state)
{
    (void)state;
    learner_checkpoint got;
    T_OK(learner_checkpoint_read(format2_path, &got, &reason));
    assert_int_equal(got.run_id, UINT64_C(7871756529760242171));
    assert_int_equal(got.policy_version, 2);
    assert_int_equal(got.updates, 217);
    assert_int_equal(got.env_steps, 8192);
    assert_int_equal(got.incarnations, 1);
    assert_true(got.replay[0].table == 0); // it did not know
    assert_true(got.wall_s > 0.21 && got.wall_s < 0.22);
    assert_int_equal(got.evals.best.stage, LEARNER_EVAL_RESULT);
    assert_int_equal(got.evals.best.version, 2);
    assert_int_equal(got.evals.best.episodes, 5);
    assert_true(fabs(got.evals.best.mean - 28.4) < 1e-6 && isnan(got.evals.confirmed));
    assert_true(got.curve_count > 0 && got.curve[got.curve_count - 1].env_steps <= 8192);
    assert_int_equal(got.state->updates, 217);
    assert_true(got.state->length > 4 * 58 * sizeof(float)); // weights, target and two moments
    learner_checkpoint_fini(&got);
}

// Such a file, damaged anywhere, with and without a checksum that is right.
static void
test_checkpoint_of_format_2_that_is_damaged(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t length;
    T_OK(oct_file_read(format2_path, 1 << 20, &bytes, &length));
    for (size_t bit = 0; bit < 8 * length; bit += 7) {
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        file_write(bytes, length);
        assert_refused(OCT_EPROTO, PATH);
        bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    for (size_t cut = 12; cut < length;
         cut += 11) { // the curve and the state are checked by length
        uint32_t kept;
        memcpy(&kept, bytes + cut - 4, 4);
        sealed_write(bytes, cut);
        assert_refused(OCT_EPROTO, "damaged: the lengths do not match");
        memcpy(bytes + cut - 4, &kept, 4);
    }
    free(bytes);
}

static void
test_checkpoint_that_cannot_be_written(void **state)
{
    (void)state;
    learner_checkpoint checkpoint = checkpoint_of(true);
    char draft[OCT_FILE_PATH_MAX];
    assert_true(learner_checkpoint_draft("no/such/folder/checkpoint.oct", &checkpoint, draft) !=
                OCT_OK);
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
        checkpoint_write(&checkpoint);
        T_OK(learner_checkpoint_read(PATH, &got, &reason));
        assert_int_equal(got.run_id, checkpoint.run_id);
        assert_int_equal(got.policy_version, 17);
        assert_int_equal(got.updates, 900);
        assert_int_equal(got.env_steps, 12345);
        assert_int_equal(got.incarnations, 12);
        assert_true(got.wall_s == 1.25);
        assert_evals_equal(&got.evals, &checkpoint.evals);
        assert_true(got.replay[0].table == checkpoint.replay[0].table);
        assert_int_equal(got.replay[0].steps, 12400);
        assert_int_equal(got.replay[0].samples, 57600);
        assert_int_equal(got.turn.is_there, with_state == 1); // in lock-step
        assert_int_equal(got.turn.life_turns, checkpoint.turn.life_turns);
        assert_int_equal(got.turn.refused, checkpoint.turn.refused);
        assert_true(got.turn.libm == checkpoint.turn.libm);
        assert_memory_equal(got.turn.replay, checkpoint.turn.replay, WIRE_HASH_BYTES);
        assert_string_equal(got.end, checkpoint.end);
        assert_int_equal(got.policy_crc, checkpoint.policy_crc);
        assert_int_equal(got.task_crc, checkpoint.task_crc);
        assert_int_equal(got.curve_count, POINTS);
        assert_memory_equal(got.curve, checkpoint.curve, POINTS * sizeof(*got.curve));
        if (with_state == 1) {
            assert_int_equal(got.work_length, 7);
            assert_memory_equal(got.work, "at work", 7);
            assert_int_equal(got.weights_length, 5);
            assert_memory_equal(got.weights, "whole", 5);
            assert_int_equal(got.metrics_length, 8);
            assert_memory_equal(got.metrics, "measured", 8);
            assert_int_equal(got.state->length, STATE);
            assert_int_equal(got.state->updates, 900);
            assert_memory_equal(got.state->bytes, checkpoint.state->bytes, STATE);
        } else {
            assert_null(got.state);
            assert_null(got.work);
            assert_null(got.weights);
            assert_null(got.metrics);
        }
        learner_checkpoint_fini(&got);
        learner_checkpoint_fini(&checkpoint);
    }
    (void)unlink(PATH);
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: test_learner_checkpoint FORMAT2\n");
        return 2;
    }
    format2_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_of_shards),
        cmocka_unit_test(test_checkpoint_that_is_not_there),
        cmocka_unit_test(test_checkpoint_of_another_kind_of_file),
        cmocka_unit_test(test_checkpoint_cut_short_anywhere),
        cmocka_unit_test(test_checkpoint_with_one_bit_changed),
        cmocka_unit_test(test_checkpoint_of_another_release),
        cmocka_unit_test(test_checkpoint_with_a_section_that_is_not_known),
        cmocka_unit_test(test_checkpoint_whose_sections_are_not_whole),
        cmocka_unit_test(test_checkpoint_that_ends_for_no_reason),
        cmocka_unit_test(test_checkpoint_whose_lengths_lie),
        cmocka_unit_test(test_checkpoint_whose_numbers_are_impossible),
        cmocka_unit_test(test_checkpoint_of_more_points_than_there_is_room_for),
        cmocka_unit_test(test_checkpoint_whose_tables_are_impossible),
        cmocka_unit_test(test_checkpoint_of_format_2),
        cmocka_unit_test(test_checkpoint_of_format_2_that_is_damaged),
        cmocka_unit_test(test_checkpoint_that_cannot_be_written),
        cmocka_unit_test(test_checkpoint_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
