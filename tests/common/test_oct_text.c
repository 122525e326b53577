// Text for people: cutting, quoting, edit distance, and how numbers, sizes and durations are
// printed.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "common/oct_text.h"

static char out[64];

static void
test_text_that_does_not_fit_is_cut_and_says_so(void **state)
{
    (void)state;
    char small[6];
    oct_text text;
    oct_text_init(&text, small, sizeof(small));
    oct_text_add(&text, "%s", "abcde");
    assert_false(text.truncated);
    oct_text_add(&text, "f");
    assert_true(text.truncated);
    assert_string_equal(small, "abcde");
    oct_text_init(&text, small, sizeof(small));
    oct_text_add(&text, "%d", 1234567);
    assert_true(text.truncated);
    assert_string_equal(small, "12345");
}

static void
test_text_without_room_is_only_cut(void **state)
{
    (void)state;
    oct_text text;
    oct_text_init(&text, NULL, 0);
    oct_text_add(&text, "x");
    assert_true(text.truncated);
}

static void
test_distance_counts_single_edits(void **state)
{
    (void)state;
    assert_int_equal(oct_text_distance("", ""), 0);
    assert_int_equal(oct_text_distance("", "abc"), 3);
    assert_int_equal(oct_text_distance("abc", ""), 3);
    assert_int_equal(oct_text_distance("batchsize", "batch_size"), 1);
    assert_int_equal(oct_text_distance("kitten", "sitting"), 3);
    assert_int_equal(oct_text_distance("lerner", "learner"), 1);
    assert_int_equal(oct_text_distance("leanrer", "learner"), 1);
    assert_int_equal(oct_text_distance("SEED", "seed"), 0);
}

static void
test_distance_of_long_texts_is_far(void **state)
{
    (void)state;
    char long_text[1000];
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    assert_int_equal(oct_text_distance(long_text, "a"), 999);
    assert_int_equal(oct_text_distance("a", long_text), 999);
    assert_false(oct_text_is_near(long_text, "a"));
}

// The same by the table of the definition.
static uint32_t
distance_of_table(const char *a, const char *b)
{
    uint32_t table[65][65];
    for (uint32_t i = 0; i <= strlen(a); i++) {
        for (uint32_t j = 0; j <= strlen(b); j++) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            uint32_t edit = OCT_MIN(table[i - 1][j], table[i][j - 1]) + 1;
            table[i][j] = OCT_MIN(table[i - 1][j - 1] + (a[i - 1] != b[j - 1]), edit);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                table[i][j] = OCT_MIN(table[i][j], table[i - 2][j - 2] + 1);
            }
        }
    }
    return table[strlen(a)][strlen(b)];
}

static void
word_make(char word[65], oct_rng *rng)
{
    uint32_t length = oct_rng_below(rng, oct_rng_below(rng, 8) == 0 ? 65 : 10);
    uint32_t letters = 2 + oct_rng_below(rng, 3);
    for (uint32_t i = 0; i < length; i++) {
        word[i] = (char)('a' + oct_rng_below(rng, letters));
    }
    word[length] = '\0';
}

static void
test_distance_is_that_of_the_table(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (int i = 0; i < 20000; i++) {
        char a[65], b[65];
        word_make(a, &rng);
        word_make(b, &rng);
        assert_int_equal(oct_text_distance(a, b), distance_of_table(a, b));
    }
}

static void
test_one_of_is_a_whole_word(void **state)
{
    (void)state;
    static const char *const words[] = {"relu", "tanh"};
    assert_true(oct_text_is_one_of("relu", words, 2));
    assert_true(oct_text_is_one_of("tanh", words, 2));
    assert_false(oct_text_is_one_of("tanh", words, 1));
    assert_false(oct_text_is_one_of("rel", words, 2));
    assert_false(oct_text_is_one_of("", words, 2));
}

static void
test_near_is_a_third_of_the_letters(void **state)
{
    (void)state;
    assert_true(oct_text_is_near("batchsiz", "batch_size"));
    assert_false(oct_text_is_near("capacity", "batch_size"));
    assert_true(oct_text_is_near("ic", "id"));
    assert_false(oct_text_is_near("xy", "id"));
}

// Those of eight bits too: U+009B begins what ESC [ begins.
static void
test_control_characters_are_found_and_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tame;
    } cases[] = {
        {"a\x1b[2J\n\x7f", "a?[2J??"},
        {"a\xC2\x9B"
         "2Jb",
         "a??2Jb"},
        {"\xC2\x80\xC2\x9F", "????"},
        {"a\xE2\x80\xAE\xE2\x81\xA6\xD8\x9C\xE2\x80\x8F\xE2\x80\xA8", "a??????????????"},
        {"\xE2\x80\x8E", "???"},
        {"\xE2\x80\x8D\xE2\x81\xAA\xD8\xA9", NULL}, // a joiner, letters
        {"\x9B"
         "2J\xE2\x80",
         "?2J\xE2?"}, // no UTF-8
        {"\xC2\xA0\xC3\x80\xC3\x9B\xE2\x80\x94\xF0\x9F\x99\x82", NULL},
        {"\xC2\xC2", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        size_t length = strlen(cases[i].text);
        (void)snprintf(out, sizeof(out), "%s", cases[i].text);
        assert_int_equal(oct_text_has_control(out, length), cases[i].tame != NULL);
        oct_text_tame(out, length, '?');
        assert_string_equal(out, cases[i].tame != NULL ? cases[i].tame : cases[i].text);
    }
    assert_int_equal(oct_text_control("\xC2\x9B", 2), 2);
    assert_int_equal(oct_text_control("\xC2\x9B", 1), 0);
    assert_int_equal(oct_text_control("\0", 1), 1);
}

static void
shell_says(const char *command, const char *want)
{
    char said[512];
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)execlp("bash", "bash", "-c", command, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], said + used, sizeof(said) - 1 - used)) > 0) {
        used += (size_t)got;
    }
    said[used] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(said, want);
}

// What bash makes of a word that was printed is the word; of one that begins with "-", a path.
static void
test_word_can_be_pasted_into_a_shell(void **state)
{
    (void)state;
    static const char *const words[] = {"runs/a-1_b.c/policy.oct",
                                        "",
                                        "a b",
                                        "it's",
                                        "$HOME `x` \"y\" \\z",
                                        "-dash/policy.oct",
                                        "--",
                                        "- 'x'",
                                        "~",
                                        "*",
                                        "a;b&c",
                                        "\xC3\xBC/\xE2\x82\xAC",
                                        "a\x1b[2J\n'\\b",
                                        "-\xE2\x80\xAE",
                                        "\xff\xC3"};
    char word[512], command[1024], want[256];
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        (void)oct_text_word(word, sizeof(word), words[i]);
        assert_false(oct_text_has_control(word, strlen(word)));
        (void)snprintf(command, sizeof(command), "printf %%s %s.", word);
        (void)snprintf(want, sizeof(want), "%s%s.", words[i][0] == '-' ? "./" : "", words[i]);
        shell_says(command, want);
    }
    assert_string_equal(oct_text_word(word, sizeof(word), words[0]), words[0]);
    assert_string_equal(oct_text_word(word, sizeof(word), words[5]), "./-dash/policy.oct");
    assert_string_equal(oct_text_word(word, sizeof(word), "a b"), "'a b'");
    assert_string_equal(oct_text_word(word, sizeof(word), ""), "''");
    assert_string_equal(oct_text_word(word, 8, "a much longer word"), "a mu...");
}

static void
test_quote_replaces_what_a_terminal_would_obey(void **state)
{
    (void)state;
    assert_string_equal(oct_text_quote(out, sizeof(out), "a\xC2\x9B[", 4), "a?[");
    assert_string_equal(oct_text_quote(out, sizeof(out), "a\x1b[1m\n\x7f\0z", 9), "a?[1m??\?z");
    // U+00FC is kept, a broken sequence is not.
    assert_string_equal(oct_text_quote(out, sizeof(out), "\xC3\xBC\xC3 \xFF", 5), "\xC3\xBC? ?");
}

static void
test_quote_cuts_between_characters(void **state)
{
    (void)state;
    char small[10];
    assert_string_equal(oct_text_quote(small, sizeof(small), "123456789", 9), "123456789");
    assert_string_equal(oct_text_quote(small, sizeof(small), "1234567890", 10), "123456...");
    assert_string_equal(oct_text_quote(small, sizeof(small), "12345\xC3\xBC\xC3\xBC\xC3\xBC", 11),
                        "12345...");
    assert_string_equal(oct_text_quote(small, sizeof(small), "", 0), "");
}

static void
test_characters_are_utf8_alone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc2\xa0", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},             // continuation without a lead
        {"\xc3", 0},             // lead without a continuation
        {"\xc0\xaf", 0},         // overlong
        {"\xe0\x9f\xbf", 0},     // overlong
        {"\xf0\x8f\xbf\xbf", 0}, // overlong
        {"\xed\xa0\x80", 0},     // surrogate
        {"\xf4\x90\x80\x80", 0}, // above U+10FFFF
        {"\xf5\x80\x80\x80", 0}, // no such lead
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        size_t bytes = strlen(cases[i].text);
        assert_int_equal(oct_text_character((const uint8_t *)cases[i].text, bytes),
                         cases[i].length);
        (void)oct_text_quote(out, sizeof(out), cases[i].text, bytes);
        assert_int_equal(strcmp(out, cases[i].text) == 0, cases[i].length > 0);
    }
}

static void
test_a_text_is_cut_between_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xC3\xBC\xE2\x82\xAC"; // of 1, 2 and 3 bytes
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6};
    char copy[8];
    for (size_t most = 0; most < OCT_COUNTOF(want); most++) {
        assert_int_equal(oct_text_cut(text, most), want[most]);
        oct_text_copy(copy, most + 1, text);
        assert_int_equal(strlen(copy), want[most]);
        assert_memory_equal(copy, text, want[most]);
    }
}

static void
test_counts_have_three_digits_and_a_prefix(void **state)
{
    (void)state;
    assert_string_equal(oct_text_count(out, sizeof(out), NAN, "/s"), "-");
    assert_string_equal(oct_text_count(out, sizeof(out), 0, "/s"), "0/s");
    assert_string_equal(oct_text_count(out, sizeof(out), 0.25, "/s"), "0.2/s");
    assert_string_equal(oct_text_count(out, sizeof(out), 999, "/s"), "999/s");
    assert_string_equal(oct_text_count(out, sizeof(out), 999.9, "/s"), "1.0 k/s");
    assert_string_equal(oct_text_count(out, sizeof(out), 1000, "/s"), "1.0 k/s");
    assert_string_equal(oct_text_count(out, sizeof(out), 1234567, "/s"), "1.2 M/s");
    assert_string_equal(oct_text_count(out, sizeof(out), 123456, ""), "123 k");
    assert_string_equal(oct_text_count(out, sizeof(out), 999999, ""), "1.0 M");
    assert_string_equal(oct_text_count(out, sizeof(out), 5e15, ""), "5000 T");
    assert_string_equal(oct_text_count(out, sizeof(out), -2500, ""), "-2.5 k");
}

static void
test_bytes_count_in_powers_of_1024(void **state)
{
    (void)state;
    assert_string_equal(oct_text_bytes(out, sizeof(out), 512, "/s"), "512 B/s");
    assert_string_equal(oct_text_bytes(out, sizeof(out), 1536, ""), "1.5 KiB");
    assert_string_equal(oct_text_bytes(out, sizeof(out), 67108864, ""), "64.0 MiB");
}

static void
test_durations_read_like_a_clock(void **state)
{
    (void)state;
    assert_string_equal(oct_text_duration(out, sizeof(out), NAN), "-");
    assert_string_equal(oct_text_duration(out, sizeof(out), -1), "-");
    assert_string_equal(oct_text_duration(out, sizeof(out), INFINITY), "-");
    assert_string_equal(oct_text_duration(out, sizeof(out), 0), "0 ms");
    assert_string_equal(oct_text_duration(out, sizeof(out), 0.85), "850 ms");
    assert_string_equal(oct_text_duration(out, sizeof(out), 0.9999), "1.0 s");
    assert_string_equal(oct_text_duration(out, sizeof(out), 12.34), "12.3 s");
    assert_string_equal(oct_text_duration(out, sizeof(out), 59.99), "1:00");
    assert_string_equal(oct_text_duration(out, sizeof(out), 245), "4:05");
    assert_string_equal(oct_text_duration(out, sizeof(out), 3723), "1:02:03");
    assert_string_equal(oct_text_duration(out, sizeof(out), 3 * 86400 + 4 * 3600), "3 d 04:00");
}

static void
test_doubles_are_as_short_as_exactness_allows(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *want;
    } cases[] = {
        {0.001, "0.001"},   {1e-8, "1e-08"},   {30, "30"},
        {-110, "-110"},     {0.1, "0.1"},      {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"}, {1e300, "1e+300"}, {123456789012, "123456789012"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        (void)oct_text_double(out, sizeof(out), cases[i].value);
        assert_string_equal(out, cases[i].want);
        assert_true(isnan(cases[i].value) || strtod(out, NULL) == cases[i].value);
    }
}

// The Python tests ask the same in a locale of commas.
static void
test_a_number_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
        size_t length;
    } cases[] = {
        {"0.25", 0.25, 4}, {"-1e3/", -1000, 4}, {"1,5", 1, 1}, {"inf", INFINITY, 3}, {"x", 0, 0}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        char *end = NULL;
        assert_true(oct_text_number(cases[i].text, &end) == cases[i].value);
        assert_int_equal(end - cases[i].text, cases[i].length);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_that_does_not_fit_is_cut_and_says_so),
        cmocka_unit_test(test_text_without_room_is_only_cut),
        cmocka_unit_test(test_distance_counts_single_edits),
        cmocka_unit_test(test_distance_of_long_texts_is_far),
        cmocka_unit_test(test_distance_is_that_of_the_table),
        cmocka_unit_test(test_one_of_is_a_whole_word),
        cmocka_unit_test(test_near_is_a_third_of_the_letters),
        cmocka_unit_test(test_control_characters_are_found_and_replaced),
        cmocka_unit_test(test_quote_replaces_what_a_terminal_would_obey),
        cmocka_unit_test(test_quote_cuts_between_characters),
        cmocka_unit_test(test_characters_are_utf8_alone),
        cmocka_unit_test(test_a_text_is_cut_between_characters),
        cmocka_unit_test(test_counts_have_three_digits_and_a_prefix),
        cmocka_unit_test(test_bytes_count_in_powers_of_1024),
        cmocka_unit_test(test_word_can_be_pasted_into_a_shell),
        cmocka_unit_test(test_durations_read_like_a_clock),
        cmocka_unit_test(test_doubles_are_as_short_as_exactness_allows),
        cmocka_unit_test(test_a_number_is_read_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
