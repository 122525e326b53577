// What every fuzz target is linked with: seeds, and how many inputs were accepted.
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"

static const char *seed_folder;
static unsigned seed_count;
static uint64_t accepted;

void
fuzz_accept(void)
{
    accepted++;
}

uint64_t
fuzz_accepted(void)
{
    return accepted;
}

void *
fuzz_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    OCT_ASSERT(copy != NULL);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

char *
fuzz_text(const void *bytes, size_t size)
{
    char *text = malloc(size + 1);
    OCT_ASSERT(text != NULL);
    if (size > 0) {
        memcpy(text, bytes, size);
    }
    text[size] = '\0';
    return text;
}

const char *
fuzz_file(const void *bytes, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        OCT_ASSERT(file >= 0);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    OCT_ASSERT(pwrite(file, bytes, size, 0) == (ssize_t)size);
    OCT_ASSERT(ftruncate(file, (off_t)size) == 0); // in this order its pages stay
    return path;
}

static void
seed_write(const void *bytes, size_t size, bool is_good)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/seed_%03u", seed_folder, seed_count++);
    OCT_ASSERT(length > 0 && (size_t)length < sizeof(path));
    FILE *file = fopen(path, "wb");
    OCT_ASSERT(file != NULL);
    OCT_ASSERT(fwrite(bytes, 1, size, file) == size);
    OCT_ASSERT(fclose(file) == 0);
    uint8_t *copy = fuzz_copy(bytes, size);
    uint64_t before = accepted;
    (void)LLVMFuzzerTestOneInput(copy, size);
    if ((accepted > before) != is_good) {
        (void)fprintf(stderr, "%s is %s by its decoder\n", path, is_good ? "refused" : "accepted");
        exit(1);
    }
    free(copy);
}

void
fuzz_seed(const void *bytes, size_t size)
{
    seed_write(bytes, size, true);
}

void
fuzz_seed_bad(const void *bytes, size_t size)
{
    seed_write(bytes, size, false);
}

void
fuzz_seed_of(uint8_t what, const void *bytes, size_t size, bool is_good)
{
    uint8_t *seed = malloc(1 + size);
    OCT_ASSERT(seed != NULL);
    seed[0] = what;
    memcpy(seed + 1, bytes, size);
    seed_write(seed, 1 + size, is_good);
    free(seed);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char option[] = "--seeds=";
    for (int i = 1; i < *argc; i++) {
        if (strncmp((*argv)[i], option, strlen(option)) == 0) {
            seed_folder = (*argv)[i] + strlen(option);
            fuzz_seeds();
            exit(seed_count > 0 ? 0 : 1);
        }
    }
    return 0;
}
