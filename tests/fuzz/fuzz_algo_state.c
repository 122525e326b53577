// States of every algorithm, as checkpoints keep them, changed anywhere: an input says which
// algorithm, what is mended, where it is cut, and the edits. What is accepted is saved as the same
// bytes, and one update with it is made or refused; what is refused changes nothing.
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_algos.h"
#include "tests/fuzz/fuzz_edits.h"

enum { MEND = 1, IS_CUT = 2, IS_LONGER = 4, UPDATE = 8 };
enum { LENGTH_AT = 32, HEADER_BYTES = 40, CRC_BYTES = 4, MORE_BYTES = 4, REGIONS = 2 };

static struct {
    uint8_t *bytes; // as the algorithm was made
    size_t length;
} saved[FUZZ_ALGOS];

// The body's length and the sum.
static void
mend(uint8_t *bytes, size_t length)
{
    if (length >= HEADER_BYTES + CRC_BYTES) {
        uint64_t body = length - HEADER_BYTES - CRC_BYTES;
        memcpy(bytes + LENGTH_AT, &body, sizeof(body));
        uint32_t crc = oct_crc32c(0, bytes, length - CRC_BYTES);
        memcpy(bytes + length - CRC_BYTES, &crc, sizeof(crc));
    }
}

// With the weights that were loaded: numbers that are finite, or a refusal.
static void
update(fuzz_algo *experiment)
{
    static const float obs[FUZZ_ALGO_B][FUZZ_ALGO_T_MAX + 1][3] = {{{1, 0, 0}, {0, 1, 0}}};
    static const float zeros[FUZZ_ALGO_B * FUZZ_ALGO_T_MAX * 3], ones[FUZZ_ALGO_B] = {1, 1};
    static const uint32_t versions[FUZZ_ALGO_B * FUZZ_ALGO_T_MAX];
    uint8_t flags[FUZZ_ALGO_B * FUZZ_ALGO_T_MAX];
    float priorities[FUZZ_ALGO_B], numbers[ALGO_NUMBERS_MAX];
    uint32_t count;
    if (experiment->T > 0) {
        fuzz_algo_flags(flags, experiment->T, experiment->T, 0);
        fuzz_algo_flags(flags + experiment->T, experiment->T, 2, ALGO_TERMINATED);
    }
    const algo_batch batch = {
        .B = FUZZ_ALGO_B,
        .T = experiment->T,
        .obs = obs[0][0],
        .next = zeros,
        .action = zeros,
        .reward = zeros,
        .discount = ones,
        .flags = flags,
        .version = versions,
        .extra = zeros,
        .weight = ones,
    };
    oct_err err = algo_update(experiment->a, &batch, 1e-3f, priorities, numbers);
    OCT_ASSERT(err == OCT_OK || err == OCT_EINTERNAL || err == OCT_EINVAL);
    (void)algo_numbers(&experiment->config, &count);
    for (uint32_t i = 0; err == OCT_OK && i < count; i++) {
        OCT_ASSERT(numbers[i] - numbers[i] == 0 || numbers[i] != numbers[i]); // not infinite
    }
}

static void
load(fuzz_algo *experiment, const uint8_t *bytes, size_t length, bool is_used)
{
    size_t before_length, after_length;
    uint8_t *before = fuzz_algo_save(experiment->a, &before_length);
    oct_reader reader = {.at = bytes, .left = length};
    oct_err err = algo_load(experiment->a, &reader);
    uint8_t *after = fuzz_algo_save(experiment->a, &after_length);
    if (err == OCT_OK) {
        OCT_ASSERT(after_length == length - reader.left && memcmp(after, bytes, after_length) == 0);
        if (is_used) {
            update(experiment);
        }
        fuzz_accept();
    } else {
        OCT_ASSERT(err == OCT_EPROTO);
        OCT_ASSERT(after_length == before_length && memcmp(after, before, after_length) == 0);
    }
    free(before);
    free(after);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    uint32_t number = oct_read_u8(&in) % FUZZ_ALGOS;
    uint8_t what = oct_read_u8(&in);
    fuzz_algo *experiment = fuzz_algo_get(number);
    if (saved[number].bytes == NULL) {
        saved[number].bytes = fuzz_algo_save(experiment->a, &saved[number].length);
    }
    size_t whole = saved[number].length, length = whole + MORE_BYTES;
    uint8_t *bytes = oct_alloc(length);
    memcpy(bytes, saved[number].bytes, whole);
    length = (what & IS_LONGER) != 0 ? length : whole;
    if ((what & IS_CUT) != 0) {
        length = oct_read_u16(&in) % whole;
    }
    const fuzz_region regions[REGIONS] = {{0, HEADER_BYTES}, {HEADER_BYTES, whole - HEADER_BYTES}};
    fuzz_edit(bytes, whole, regions, REGIONS, &in);
    if ((what & MEND) != 0) {
        mend(bytes, length);
    }
    uint8_t *exact = fuzz_copy(bytes, length); // a sanitizer sees its end
    free(bytes);
    load(experiment, exact, length, (what & UPDATE) != 0);
    free(exact);
    return 0;
}

// Each as it was made, also with another number in its body, and cut.
void
fuzz_seeds(void)
{
    for (uint8_t i = 0; i < FUZZ_ALGOS; i++) {
        const uint8_t as_saved[] = {i, UPDATE};
        const uint8_t edited[] = {i, MEND | UPDATE, 1 | 1 << 6, 0x80, 0, 0x01, 0x02};
        const uint8_t cut[] = {i, IS_CUT | MEND, 60, 0}, longer[] = {i, IS_LONGER | MEND};
        fuzz_seed(as_saved, sizeof(as_saved));
        fuzz_seed(edited, sizeof(edited));
        fuzz_seed_bad(cut, sizeof(cut));
        fuzz_seed_bad(longer, sizeof(longer));
    }
    // A table's values are all floats: the first is NaN; and it has another number of states.
    const uint8_t nan[] = {CONFIG_ALGO_TABLE, MEND, 1 | 2 << 6, 8, 0, 0x00, 0x00, 0xc0, 0x7f};
    const uint8_t states[] = {CONFIG_ALGO_TABLE, MEND, 1, 0, 0, 99};
    fuzz_seed_bad(nan, sizeof(nan));
    fuzz_seed_bad(states, sizeof(states));
}
