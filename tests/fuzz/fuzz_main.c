// The driver of fuzz targets where there is no libFuzzer: every input of the folders, then inputs
// made of them by random changes from a fixed seed, so that a failure repeats.
// usage: fuzz_NAME --seeds=FOLDER | fuzz_NAME [-runs=N] [-seed=N] [FOLDER...]

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX 65536

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static input *inputs;
static size_t input_count;
static oct_rng rng;

// ---- inputs

static void
input_read(const char *path)
{
    static uint8_t bytes[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    OCT_ASSERT(file != NULL);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    OCT_ASSERT(ferror(file) == 0);
    OCT_ASSERT(fclose(file) == 0);
    inputs = realloc(inputs, (input_count + 1) * sizeof(*inputs));
    OCT_ASSERT(inputs != NULL);
    inputs[input_count++] = (input){fuzz_copy(bytes, size), size};
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

// In the order of their names: a failure repeats on every machine.
static void
folder_read(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, is_visible, alphasort);
    if (count < 0) {
        (void)fprintf(stderr, "%s is no folder of inputs\n", folder);
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        int length = snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        OCT_ASSERT(length > 0 && (size_t)length < sizeof(path));
        input_read(path);
        free(names[i]);
    }
    free(names);
}

// ---- mutations

static uint32_t
random_below(size_t bound)
{
    return oct_rng_below(&rng, bound == 0 ? 1 : (uint32_t)bound);
}

static void
replace_range(uint8_t *bytes, size_t *size, size_t at, size_t removed, const uint8_t *from,
              size_t inserted)
{
    removed = OCT_MIN(removed, *size - at);
    inserted = OCT_MIN(inserted, INPUT_MAX - (*size - removed));
    memmove(bytes + at + inserted, bytes + at + removed, *size - at - removed);
    if (inserted != 0) {
        memcpy(bytes + at, from, inserted);
    }
    *size += inserted - removed;
}

static void
mutate(uint8_t *bytes, size_t *size)
{
    static const uint8_t words[][8] = {
        {0},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {0x00, 0x00, 0xc0, 0x7f, 0x00, 0x00, 0x80, 0x7f}, // NaN, infinity
        {0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00}, // -0, the smallest float
        {0xff, 0xff, 0xff, 0xff, 0x07, 0x08, 0x01, 0x00}, // a varint of 2^31 - 1
        {0x80, 0x80, 0x04, 0x81, 0x80, 0x04, 0x80, 0x01}, // varints of 65536, 65537, 128
        {'-', '1', 'e', '9', '9', '9', '\n', ','},
    };
    uint8_t copy[64];
    size_t at = random_below(*size), length = 1 + random_below(8);
    const uint8_t *word = words[random_below(OCT_COUNTOF(words))];
    switch (*size == 0 ? 3 : random_below(7)) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 1:
        bytes[at] = (uint8_t)random_below(256);
        break;
    case 2:
        replace_range(bytes, size, at, length, word, length);
        break;
    case 3:
        replace_range(bytes, size, at, 0, word, length);
        break;
    case 4:
        replace_range(bytes, size, at, 1 + random_below(32), NULL, 0);
        break;
    case 5:
        length = OCT_MIN(sizeof(copy), *size - at);
        memcpy(copy, bytes + at, length);
        replace_range(bytes, size, random_below(*size), 0, copy, length);
        break;
    default: {
        const input *other = &inputs[random_below(input_count)];
        size_t from = random_below(other->size), most = random_below(64);
        replace_range(bytes, size, at, random_below(64), other->bytes + from,
                      OCT_MIN(other->size - from, most));
    }
    }
}

static void
run_mutated(void)
{
    static uint8_t bytes[INPUT_MAX];
    const input *origin = &inputs[random_below(input_count)];
    size_t size = origin->size;
    memcpy(bytes, origin->bytes, size);
    for (uint32_t n = 1 + random_below(4); n > 0; n--) {
        mutate(bytes, &size);
    }
    uint8_t *copy = fuzz_copy(bytes, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int
main(int argc, char **argv)
{
    uint64_t runs = 100000, seed = 1;
    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "-runs=%" SCNu64, &runs) != 1 &&
            sscanf(argv[i], "-seed=%" SCNu64, &seed) != 1) {
            folder_read(argv[i]);
        }
    }
    if (input_count == 0) {
        (void)fprintf(stderr, "there is no input to begin with: fuzz_NAME --seeds=FOLDER\n");
        return 2;
    }
    for (size_t i = 0; i < input_count; i++) {
        (void)LLVMFuzzerTestOneInput(inputs[i].bytes, inputs[i].size);
    }
    uint64_t begun = fuzz_accepted();
    oct_rng_init(&rng, seed, 0);
    for (uint64_t i = 0; i < runs; i++) {
        run_mutated();
    }
    (void)printf("%zu inputs, %" PRIu64 " accepted; %" PRIu64 " made of them, %" PRIu64
                 " accepted\n",
                 input_count, begun, runs, fuzz_accepted() - begun);
    // None accepted: the target has stopped reaching what it tests.
    return begun > 0 ? 0 : 1;
}
