// Words of recorded trajectories: random numbers that were drawn, and observations of bits, as
// text.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env_tape.h"
#include "tests/fuzz/fuzz.h"

#define BITS 20

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reason why = {""};
    char *text = fuzz_text(data, size);
    uint8_t bits[BITS];
    env_tape tape;
    env_tape_init(&tape);
    oct_err err = env_tape_read(&tape, text, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        for (uint32_t i = 0; i < tape.count; i++) {
            OCT_ASSERT(tape.draws[i] >= 0);
        }
        fuzz_accept();
    }
    env_tape_fini(&tape);
    if (env_tape_bits(bits, BITS, text, &why) == OCT_OK) {
        for (uint32_t i = 0; i < BITS; i++) {
            OCT_ASSERT(bits[i] <= 1);
        }
        fuzz_accept();
    }
    free(text);
    return 0;
}

void
fuzz_seeds(void)
{
    static const char *const texts[] = {"", "u:0.25 0.5|i:7", "i:0 1 2 2147483647", "u:1e-3|u:0",
                                        "80f0a0"};
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        fuzz_seed(texts[i], strlen(texts[i]));
    }
}
