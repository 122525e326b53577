// Random edits of valid experiments and random joins of YAML's own pieces. Whatever comes, parse
// answers OK or EINVAL with a message, and what it accepts prints and parses back.
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_config.h"
#include "common/oct_rng.h"

enum { ROUNDS = 20000, TEXT_MAX = 8192 };

static oct_config defaults;

static const char *const pieces[] = {"run:",
                                     "\n",
                                     "  ",
                                     "seed",
                                     ": ",
                                     "1",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     ", ",
                                     "- ",
                                     "? ",
                                     "&a ",
                                     "*a",
                                     "!t ",
                                     "\"",
                                     "'",
                                     "|\n",
                                     ">\n",
                                     "#",
                                     "---\n",
                                     "...\n",
                                     "%YAML",
                                     "\t",
                                     "\r\n",
                                     "\\x41",
                                     "\xC3\xBC",
                                     "\xFF",
                                     "\x01",
                                     "env:",
                                     "id",
                                     "none",
                                     "true",
                                     "1e999",
                                     "-",
                                     "0x",
                                     ".nan",
                                     "hidden",
                                     "network:",
                                     "algo:",
                                     "same",
                                     "learning_rate_final",
                                     "<<",
                                     "~",
                                     "\xEF\xBB\xBF",
                                     "\\",
                                     "@",
                                     "`",
                                     "="};

static size_t
mutate(oct_rng *rng, char *text, size_t length)
{
    uint32_t edits = 1 + oct_rng_below(rng, 8);
    for (uint32_t i = 0; i < edits && length > 0 && length + 64 < TEXT_MAX; i++) {
        size_t at = oct_rng_below(rng, (uint32_t)length);
        size_t span = oct_rng_below(rng, 32);
        span = OCT_MIN(span, length - at);
        const char *piece = pieces[oct_rng_below(rng, OCT_COUNTOF(pieces))];
        switch (oct_rng_below(rng, 4)) {
        case 0:
            text[at] = (char)oct_rng_u32(rng);
            break;
        case 1: // cut a span out
            memmove(text + at, text + at + span, length - at - span);
            length -= span;
            break;
        case 2: // put a piece in
            memmove(text + at + strlen(piece), text + at, length - at);
            memcpy(text + at, piece, strlen(piece));
            length += strlen(piece);
            break;
        default: // end early
            length = at;
        }
    }
    return length;
}

static size_t
join(oct_rng *rng, char *text)
{
    size_t length = 0;
    for (uint32_t i = 1 + oct_rng_below(rng, 60); i > 0; i--) {
        const char *piece = pieces[oct_rng_below(rng, OCT_COUNTOF(pieces))];
        memcpy(text + length, piece, strlen(piece));
        length += strlen(piece);
    }
    return length;
}

// The text is copied to a block of its exact length, so that ASan sees a read beyond it.
static bool
try_text(const char *text, size_t length)
{
    static char message[4096];
    oct_config config, again;
    char *exact = malloc(length + 1);
    memcpy(exact, text, length);
    exact[length] = 0; // --set takes a C string
    config = defaults;
    message[0] = 0;
    oct_err err = oct_config_parse(&config, "fuzz", exact, length, message, sizeof(message));
    assert_true(err == OCT_OK || err == OCT_EINVAL);
    assert_true((err == OCT_OK) == (message[0] == 0));
    if (err == OCT_OK) {
        char *printed = oct_config_print(&config);
        again = defaults;
        T_OK(oct_config_parse(&again, "again", printed, strlen(printed), message, sizeof(message)));
        assert_memory_equal(&again, &config, sizeof(config));
        free(printed);
    }
    oct_err set = oct_config_set(&config, exact, message, sizeof(message));
    assert_true(set == OCT_OK || set == OCT_EINVAL);
    free(exact);
    return err == OCT_OK;
}

static void
test_no_text_breaks_the_reader_and_what_it_accepts_round_trips(void **state)
{
    (void)state;
    static char text[TEXT_MAX];
    oct_rng rng;
    unsigned accepted = 0;
    oct_rng_init(&rng, 1, 0);
    oct_config_default(&defaults);
    char *base = oct_config_print(&defaults);
    OCT_ASSERT(strlen(base) < TEXT_MAX / 2);
    for (int round = 0; round < ROUNDS; round++) {
        size_t length;
        if (round % 2 == 0) {
            length = strlen(base);
            memcpy(text, base, length);
            length = mutate(&rng, text, length);
        } else {
            length = join(&rng, text);
        }
        accepted += try_text(text, length);
    }
    // Edits that hit nothing important must still get through, or the fuzz tests only refusal.
    assert_in_range(accepted, ROUNDS / 100, ROUNDS / 2);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_text_breaks_the_reader_and_what_it_accepts_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
