// Checkpoints of the learner: the first byte says whether their sums are mended, the rest is the
// file. What is accepted is written and read again, and then written as the same bytes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_reason.h"
#include "learner/learner_checkpoint.h"
#include "tests/fuzz/fuzz.h"

#define CRC_BYTES     4
#define HEAD_BYTES    8  // magic, format
#define SECTION_BYTES 16 // id, flags, length
#define SEED_MAX      4096

static void
crc_put(uint8_t *at, const uint8_t *bytes, size_t length)
{
    uint32_t crc = oct_crc32(0, bytes, length);
    memcpy(at, &crc, CRC_BYTES);
}

// Of every section that fits, then of the file.
static void
mend(uint8_t *bytes, size_t length)
{
    if (length < HEAD_BYTES + CRC_BYTES) {
        return;
    }
    size_t at = HEAD_BYTES, end = length - CRC_BYTES;
    while (end - at >= SECTION_BYTES + CRC_BYTES) {
        uint64_t content;
        memcpy(&content, bytes + at + 8, sizeof(content));
        if (content > end - at - SECTION_BYTES - CRC_BYTES) {
            break;
        }
        crc_put(bytes + at + SECTION_BYTES + content, bytes + at, SECTION_BYTES + content);
        at += SECTION_BYTES + content + CRC_BYTES;
    }
    crc_put(bytes + end, bytes, end);
}

// The file that a checkpoint becomes: in memory, since a draft is synced.
static uint8_t *
written(const learner_checkpoint *checkpoint, size_t *length)
{
    char path[64], draft[OCT_FILE_PATH_MAX];
    uint8_t *bytes;
    (void)snprintf(path, sizeof(path), "/dev/shm/octet_fuzz_checkpoint_%d", (int)getpid());
    oct_err err = learner_checkpoint_draft(path, checkpoint, draft);
    OCT_ASSERT(err == OCT_OK);
    err = oct_file_read(draft, 1u << 30, &bytes, length);
    OCT_ASSERT(err == OCT_OK && unlink(draft) == 0);
    return bytes;
}

// A run that counts on from these sends numbers that every receiver takes.
static void
expect_numbers_to_send(const learner_checkpoint *checkpoint)
{
    OCT_ASSERT(checkpoint->policy_version < WIRE_COUNT_MAX && checkpoint->updates < WIRE_COUNT_MAX);
    OCT_ASSERT(checkpoint->env_steps < WIRE_COUNT_MAX);
    OCT_ASSERT(checkpoint->evals.evaluations < WIRE_COUNT_MAX);
    for (uint32_t i = 0; i < OCT_MAX(1u, checkpoint->shards); i++) {
        const learner_source_place *place = &checkpoint->replay[i];
        OCT_ASSERT(place->steps < WIRE_COUNT_MAX && place->samples < WIRE_COUNT_MAX);
        OCT_ASSERT(place->inserts < WIRE_COUNT_MAX);
    }
}

static void
expect_round_trip(const learner_checkpoint *checkpoint)
{
    learner_checkpoint again;
    size_t length, again_length;
    uint8_t *bytes = written(checkpoint, &length);
    oct_err err = learner_checkpoint_read(fuzz_file(bytes, length), &again, NULL);
    OCT_ASSERT(err == OCT_OK);
    uint8_t *again_bytes = written(&again, &again_length);
    OCT_ASSERT(again_length == length && memcmp(again_bytes, bytes, length) == 0);
    learner_checkpoint_fini(&again);
    free(again_bytes);
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    if (data[0] % 2 != 0) {
        mend(bytes, size - 1);
    }
    const char *path = fuzz_file(bytes, size - 1);
    free(bytes);
    oct_reason why = {""};
    learner_checkpoint checkpoint;
    oct_err err = learner_checkpoint_read(path, &checkpoint, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        expect_numbers_to_send(&checkpoint);
        expect_round_trip(&checkpoint);
        learner_checkpoint_fini(&checkpoint);
        fuzz_accept();
    }
    return 0;
}

static void
seed_of(const learner_checkpoint *checkpoint)
{
    size_t length;
    uint8_t seed[SEED_MAX], *bytes = written(checkpoint, &length);
    OCT_ASSERT(1 + length <= sizeof(seed));
    seed[0] = 1;
    memcpy(seed + 1, bytes, length);
    fuzz_seed(seed, 1 + length);
    free(bytes);
}

// As the releases of format 2 wrote it.
static void
seed_of_format2(void)
{
    size_t length;
    uint8_t seed[SEED_MAX], *bytes;
    oct_err err = oct_file_read(TEST_DATA "/checkpoint/format2.oct", SEED_MAX - 1, &bytes, &length);
    OCT_ASSERT(err == OCT_OK);
    seed[0] = 0;
    memcpy(seed + 1, bytes, length);
    fuzz_seed(seed, 1 + length);
    free(bytes);
}

void
fuzz_seeds(void)
{
    seed_of_format2();
    enum { POINTS = 3, STATE = 50 };
    learner_curve_point curve[POINTS] = {{1, 10, 100, 0.5}, {2, 20, 200, 1}, {3, 30, 300, 1.5}};
    learner_checkpoint checkpoint = {
        .run_id = 0x123456789abcdef1u,
        .policy_version = 17,
        .evals = {.confirmed = NAN, .best = {.mean = NAN}},
    };
    seed_of(&checkpoint);
    checkpoint.evals = (learner_evals_saved){
        .evaluations = 6,
        .best = {.stage = LEARNER_EVAL_RESULT, .version = 12, .episodes = 100, .mean = 99.5},
        .confirmed = 98,
        .screen_count = 2,
        .screens = {50, 60},
    };
    checkpoint.curve_count = POINTS;
    checkpoint.curve = curve;
    checkpoint.state = oct_alloc(sizeof(*checkpoint.state) + STATE);
    checkpoint.state->length = STATE;
    seed_of(&checkpoint);
    static uint8_t weights[] = "whole";
    checkpoint.weights = weights;
    checkpoint.weights_length = sizeof(weights);
    static uint8_t work[] = "what is played";
    checkpoint.work = work;
    checkpoint.work_length = sizeof(work);
    checkpoint.shards = 2;
    checkpoint.replay[1] =
        (learner_source_place){.table = 5, .earlier = {{.table = 4, .steps = 40, .samples = 64}}};
    checkpoint.turn = (learner_turn_place){.is_there = true, .life_turns = 8, .libm = 5};
    seed_of(&checkpoint);
    free(checkpoint.state);
}
