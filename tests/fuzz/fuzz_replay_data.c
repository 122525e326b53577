// Data sets, changed anywhere: an input says what is mended of the sums, and the edits. Or it is a
// replay file as it was left, and the edits are made in the environment.oct that is named for it. A
// file that is not refused in words has rows, episodes and numbers.
#include <sys/mman.h>

#include "common/oct_reason.h"
#include "replay/data/data_numbers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_edits.h"
#include "tests/replay/data/data_test.h"

enum { MEND_HEADER = 1, MEND_NOTES = 2, MEND_BLOCKS = 4, CUT_OFF = 8 };
enum { SOURCE_MASK = 0xf0, IS_REPLAY_FILE = 0x70 }; // any other: a data set
enum { ROWS = 2048, BATCHES = 3, REGIONS = 5 };

static uint8_t *whole, *environment;
static size_t whole_length, environment_length;
static char replay_path[64];
static fuzz_region regions[REGIONS];
static replay_layout layout;

// The replay file, in memory, and its environment.oct.
static void
replay_file_keep(const data_test *test)
{
    char path[128];
    uint8_t *bytes;
    size_t length;
    (void)snprintf(path, sizeof(path), "%s/environment.oct", test->folder);
    oct_err err = oct_file_read(path, 1u << 20, &environment, &environment_length);
    OCT_ASSERT(err == OCT_OK);
    err = oct_file_read(test->file, 1u << 26, &bytes, &length);
    OCT_ASSERT(err == OCT_OK);
    int file = memfd_create("fuzz_replay_data", MFD_CLOEXEC);
    OCT_ASSERT(file >= 0 && write(file, bytes, length) == (ssize_t)length);
    (void)snprintf(replay_path, sizeof(replay_path), "/proc/self/fd/%d", file);
    free(bytes);
}

static void
whole_make(void)
{
    data_test test;
    data_test_begin(&test, 9);
    data_test_record(&test, ROWS, BATCHES);
    (void)data_test_export(test.file, test.out, false, 0);
    oct_err err = oct_file_read(test.out, 1u << 26, &whole, &whole_length);
    OCT_ASSERT(err == OCT_OK);
    replay_file_keep(&test);
    data_test_end(&test);
    replay_data_header header;
    memcpy(&header, whole, sizeof(header));
    layout = replay_data_header_make(&header);
    const fuzz_region all[REGIONS] = {
        {0, offsetof(replay_data_header, env)},
        {offsetof(replay_data_header, env), sizeof(replay_data_env)},
        {header.notes_at, header.blocks_at - header.notes_at},
        {header.blocks_at, sizeof(replay_block)},
        {header.blocks_at, whole_length - header.blocks_at},
    };
    memcpy(regions, all, sizeof(all));
}

static void
mend(uint8_t *bytes, uint8_t what)
{
    replay_data_header *header = (replay_data_header *)(void *)bytes;
    replay_data_header good;
    memcpy(&good, whole, sizeof(good));
    for (uint32_t i = 0; i < good.blocks && (what & MEND_BLOCKS) != 0; i++) {
        replay_block *block = (replay_block *)(void *)(bytes + good.blocks_at + i * layout.bytes);
        block->checksum = replay_data_block_sum(&layout, block);
    }
    if ((what & MEND_NOTES) != 0) {
        header->notes_crc = oct_crc32(0, bytes + good.notes_at, good.notes_bytes);
    }
    if ((what & MEND_HEADER) != 0) {
        header->crc = oct_crc32(0, header, offsetof(replay_data_header, crc));
    }
}

static void
count_everything(const data_source *source)
{
    data_episodes episodes;
    data_numbers numbers;
    data_episodes_find(&episodes, source);
    data_numbers_find(&numbers, source, &episodes);
    OCT_ASSERT(numbers.episodes + numbers.incomplete == episodes.count);
    OCT_ASSERT(numbers.steps <= numbers.rows);
    uint64_t rows = 0;
    for (uint64_t i = 0; i < episodes.count; i++) {
        rows += episodes.list[i].rows;
    }
    OCT_ASSERT(rows == numbers.rows);
    data_numbers_free(&numbers);
    data_episodes_choose(&episodes, true, 3);
    OCT_ASSERT(episodes.count <= 3);
    data_episodes_free(&episodes);
}

static void
source_use(const char *path, const char *named, bool is_data_set)
{
    oct_reason why = {""};
    data_source *source = NULL;
    oct_err err = data_source_open(&source, path, named, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        OCT_ASSERT(data_source_is_data_set(source) == is_data_set);
        count_everything(source);
        data_source_close(source);
        fuzz_accept();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (whole == NULL) {
        whole_make();
    }
    oct_reader in = {.at = data, .left = size};
    uint8_t what = oct_read_u8(&in);
    bool is_replay_file = (what & SOURCE_MASK) == IS_REPLAY_FILE;
    const fuzz_region all = {0, environment_length};
    size_t length = is_replay_file ? environment_length : whole_length;
    uint8_t *bytes = fuzz_copy(is_replay_file ? environment : whole, length);
    if (is_replay_file) {
        fuzz_edit(bytes, length, &all, 1, &in);
    } else {
        fuzz_edit(bytes, length, regions, REGIONS, &in);
        mend(bytes, what);
    }
    const char *path = fuzz_file(bytes, (what & CUT_OFF) != 0 ? length / 2 : length);
    source_use(is_replay_file ? replay_path : path, is_replay_file ? path : NULL, !is_replay_file);
    free(bytes);
    return 0;
}

void
fuzz_seeds(void)
{
    const uint8_t as_written[] = {0}, mended[] = {MEND_HEADER | MEND_NOTES | MEND_BLOCKS};
    // Another seed of the run; another letter of the notes; another version of a policy.
    const uint8_t edited[] = {MEND_HEADER | MEND_NOTES | MEND_BLOCKS, 0, 48, 0, 5, 2, 3, 0, 'x'};
    fuzz_seed(as_written, sizeof(as_written));
    fuzz_seed(mended, sizeof(mended));
    fuzz_seed(edited, sizeof(edited));
    // The environment as it was, half of it, and of another name.
    const uint8_t replay[] = {IS_REPLAY_FILE}, half[] = {IS_REPLAY_FILE | CUT_OFF};
    fuzz_seed(replay, sizeof(replay));
    fuzz_seed_bad(half, sizeof(half));
    const uint8_t *name = memmem(environment, environment_length, "Test-v0", 7);
    OCT_ASSERT(name != NULL && name - environment < 256);
    const uint8_t named[] = {IS_REPLAY_FILE, 0, (uint8_t)(name - environment), 0, 'X'};
    fuzz_seed(named, sizeof(named));
}
