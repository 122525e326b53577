#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A fuzz target is one .c file of this folder for one decoder. It defines the two functions below
// and is linked with fuzz.c and with a driver: libFuzzer (clang, -Dfuzz=true), or fuzz_main.c,
// which mutates at random and needs nothing of a compiler. Both take the same command line:
//     fuzz_NAME --seeds=FOLDER                          writes the seeds there
//     fuzz_NAME [-runs=N] [-seed=N] [FOLDER...]         inputs to begin with; others made of them
// What does not hold is an OCT_ASSERT; memory is the sanitizers' affair.
//
// Threads: one. Memory: data lies in a block of exactly size bytes.

// Of the target. Runs one input through the decoder; gives 0.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// Of the target. Hands inputs that the project's own encoders made to fuzz_seed.
void fuzz_seeds(void);

// A copy becomes a seed. Its decoder has to accept it.
void fuzz_seed(const void *bytes, size_t size);
// The same for one that its decoder has to refuse.
void fuzz_seed_bad(const void *bytes, size_t size);
// One of the two, for targets whose inputs begin with a byte that says what follows.
void fuzz_seed_of(uint8_t what, const void *bytes, size_t size, bool is_good);
// To be called when the decoder accepted what it was given.
void fuzz_accept(void);

// A malloc'd copy of exactly size bytes (at least one is reserved): it is aligned, and a sanitizer
// sees a read past its end.
void *fuzz_copy(const void *bytes, size_t size);
// The same as text: with a zero byte behind it.
char *fuzz_text(const void *bytes, size_t size);
// The path of a file in memory that holds these bytes, until the next call.
const char *fuzz_file(const void *bytes, size_t size);

// For the drivers: handles --seeds (and then ends the program); gives 0.
int LLVMFuzzerInitialize(int *argc, char ***argv);
uint64_t fuzz_accepted(void); // how often fuzz_accept was called

#endif // TESTS_FUZZ_FUZZ_H
