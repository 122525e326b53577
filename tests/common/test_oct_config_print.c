// Printed experiments read back as the same values, and every key has a sound row in the table.
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_config_algos.h"
#include "common/oct_config_table.h"
#include "common/oct_config_text.h"
#include "common/oct_rng.h"

static char message[8192];

// In all keys. What was printed says each of them.
static void
assert_same(const oct_config *a, const oct_config *b)
{
    oct_config one = *a, other = *b;
    memset(one.is_given, 0, sizeof(one.is_given));
    memset(other.is_given, 0, sizeof(other.is_given));
    assert_memory_equal(&one, &other, sizeof(one));
}

// print, parse, print: the same value and the same text.
static void
assert_round_trip(const oct_config *config)
{
    oct_config again;
    char *text = oct_config_print(config);
    oct_config_default(&again);
    if (oct_config_parse(&again, "printed", text, strlen(text), message, sizeof(message)) !=
        OCT_OK) {
        fail_msg("%s", message);
    }
    char *text_again = oct_config_print(&again);
    assert_string_equal(text, text_again);
    assert_same(&again, config);
    free(text);
    free(text_again);
}

static void
set(oct_config *config, const char *assignment)
{
    if (oct_config_set(config, assignment, message, sizeof(message)) != OCT_OK) {
        fail_msg("%s", message);
    }
}

// A line of LAST_RELEASE, "algo.gamma | 0 .. 1".
typedef struct last_key {
    char name[OCT_CONFIG_NAME_MAX];
    char allowed[256];
} last_key;

static size_t
last_release_read(last_key keys[OCT_CONFIG_KEYS_MAX])
{
    char line[512];
    size_t count = 0;
    FILE *file = fopen(LAST_RELEASE, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] != '#') {
            assert_true(count < OCT_CONFIG_KEYS_MAX);
            last_key *key = &keys[count++];
            assert_int_equal(sscanf(line, "%63s | %255[^\n]", key->name, key->allowed), 2);
        }
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

static const last_key *
last_key_find(const last_key *keys, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

// Whether the word is one of the list, "dqn, d4pg".
static bool
is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool
is_within(const char *bounds, const char *number, char **end)
{
    double low, high, value = strtod(number, end);
    assert_int_equal(sscanf(bounds, "%lf .. %lf", &low, &high), 2);
    return *end != number && value >= low && value <= high;
}

static bool
is_allowed(const last_key *key, const char *value)
{
    char *end;
    unsigned most;
    const char *word = strstr(key->allowed, " or ");
    if (sscanf(key->allowed, "text of up to %u bytes", &most) == 1) {
        return strlen(value) - 2 <= most;
    }
    if (strncmp(key->allowed, "a list ", 7) == 0) {
        const char *bounds = strstr(key->allowed, "numbers ");
        assert_non_null(bounds);
        for (const char *at = value + 1; *at != ']'; at = end + strspn(end, ", ")) {
            if (!is_within(bounds + strlen("numbers "), at, &end)) {
                return false;
            }
        }
        return true;
    }
    if (strstr(key->allowed, " .. ") == NULL) {
        return is_listed(key->allowed, value);
    }
    return (word != NULL && strcmp(word + strlen(" or "), value) == 0) ||
           (is_within(key->allowed, value, &end) && *end == '\0');
}

static void
assert_last_release_takes(const char *printed)
{
    static last_key keys[OCT_CONFIG_KEYS_MAX];
    char section[OCT_CONFIG_NAME_MAX] = "", key[OCT_CONFIG_NAME_MAX];
    char name[2 * OCT_CONFIG_NAME_MAX], value[OCT_CONFIG_VALUE_MAX];
    size_t count = last_release_read(keys), told = 0;
    for (const char *line = printed; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (line[0] != ' ') {
            assert_int_equal(sscanf(line, "%63[^:]", section), 1);
            continue;
        }
        assert_int_equal(sscanf(line, " %63[^:]: %2047[^\n]", key, value), 2);
        (void)snprintf(name, sizeof(name), "%s.%s", section, key);
        const last_key *last = last_key_find(keys, count, name);
        if (last == NULL || !is_allowed(last, value)) {
            fail_msg("%s: %s; the last release allows %s", name, value,
                     last == NULL ? "no such key" : last->allowed);
        }
        told++;
    }
    assert_int_equal(told, count);
}

static void
test_new_keys_are_those_that_the_last_release_lacks(void **state)
{
    (void)state;
    static last_key keys[OCT_CONFIG_KEYS_MAX];
    char name[OCT_CONFIG_NAME_MAX];
    size_t count = last_release_read(keys);
    for (size_t i = 0; i < oct_config_key_count; i++) {
        oct_config_key_name(&oct_config_keys[i], name);
        bool is_new = last_key_find(keys, count, name) == NULL;
        if (oct_config_keys[i].is_new != is_new) {
            fail_msg("%s: the last release %s it: .is_new = %s", name, is_new ? "lacks" : "has",
                     is_new ? "true" : "false");
        }
    }
}

// With every algorithm that it has, by the keys and the bounds of that release; it reads back as
// the same.
static void
test_peers_of_the_last_release_take_the_defaults(void **state)
{
    (void)state;
    static last_key keys[OCT_CONFIG_KEYS_MAX];
    oct_config config, again;
    char word[OCT_CONFIG_NAME_MAX];
    const last_key *name = last_key_find(keys, last_release_read(keys), "algo.name");
    for (unsigned algo = 0; algo < OCT_ALGOS; algo++) {
        if (!is_listed(name->allowed, oct_config_algo_word((oct_algo_name)algo, word))) {
            continue;
        }
        oct_config_default(&config);
        set(&config, "env.id=CartPole-v1");
        config.algo.name = (oct_algo_name)algo;
        oct_config_resolve(&config);
        char *text = oct_config_print_for_peers(&config);
        assert_last_release_takes(text);
        oct_config_default(&again);
        T_OK(oct_config_parse(&again, "printed", text, strlen(text), message, sizeof(message)));
        assert_int_equal(again.algo.n_step, oct_config_n_step(&config));
        again.algo.n_step = config.algo.n_step;
        assert_same(&again, &config);
        free(text);
    }
}

// As peers get it: with the section's line above, "  NAME: VALUE".
static bool
peers_get(const oct_config *config, const oct_config_key *key)
{
    char section[OCT_CONFIG_NAME_MAX + 2], line[OCT_CONFIG_NAME_MAX + 8];
    (void)snprintf(section, sizeof(section), "%s:\n", key->section);
    (void)snprintf(line, sizeof(line), "\n  %s: ", key->name);
    char *text = oct_config_print_for_peers(config);
    const char *at = strncmp(text, section, strlen(section)) == 0 ? text : strstr(text, section);
    assert_non_null(at);
    const char *end = at;
    do {
        end += strcspn(end, "\n") + 1;
    } while (*end == ' ');
    const char *found = strstr(at, line);
    bool is_there = found != NULL && found < end;
    free(text);
    return is_there;
}

// The last release refuses keys that it does not know.
static void
test_peers_get_a_new_key_only_when_it_is_not_at_its_default(void **state)
{
    (void)state;
    oct_config config;
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        char name[OCT_CONFIG_NAME_MAX], assignment[256];
        oct_config_default(&config);
        assert_int_equal(peers_get(&config, key), !key->is_new);
        if (key->kind <= OCT_CONFIG_F64) {
            oct_config_key_name(key, name);
            (void)snprintf(assignment, sizeof(assignment), "%s=%.17g", name, key->max);
            set(&config, assignment);
            assert_true(peers_get(&config, key));
        }
    }
}

static void
test_defaults_round_trip(void **state)
{
    (void)state;
    oct_config config;
    oct_config_default(&config);
    assert_round_trip(&config);
}

static void
test_awkward_texts_round_trip(void **state)
{
    (void)state;
    static const char *const texts[] = {"\"",  "\\",   "\\\"\\", "# no",  "a: b",        "'",
                                        "~",   "[1]",  "*star",  "&x",    "!t",          "%",
                                        " x ", "true", "0x1",    "a\\nb", "Z\xC3\xBC-v1"};
    oct_config config;
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        oct_config_default(&config);
        memcpy(config.env.id, texts[i], strlen(texts[i]) + 1);
        assert_round_trip(&config);
    }
    oct_config_default(&config);
    memset(config.run.name, '"', OCT_CONFIG_TEXT_MAX - 1);
    memset(config.env.options, '"', OCT_CONFIG_OPTIONS_MAX - 1);
    assert_round_trip(&config);
}

static void
test_lists_and_special_words_round_trip(void **state)
{
    (void)state;
    oct_config config;
    oct_config_default(&config);
    set(&config, "network.hidden=[]");
    set(&config, "run.stop_at_return=475");
    set(&config, "algo.learning_rate_final=0");
    assert_round_trip(&config);
    set(&config, "network.hidden=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,65536]");
    set(&config, "run.stop_at_return=none");
    set(&config, "algo.learning_rate_final=same");
    assert_round_trip(&config);
}

// Each number anywhere in its range, with all its bits.
static void
test_random_numbers_round_trip_exactly(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 11, 0);
    for (int round = 0; round < 200; round++) {
        oct_config config;
        oct_config_default(&config);
        for (size_t i = 0; i < oct_config_key_count; i++) {
            const oct_config_key *key = &oct_config_keys[i];
            double value = key->min + (key->max - key->min) * oct_rng_double(&rng);
            char assignment[256];
            int digits = key->kind == OCT_CONFIG_F64 ? 17 : 0;
            if (key->kind <= OCT_CONFIG_F64) {
                (void)snprintf(assignment, sizeof(assignment),
                               digits > 0 ? "%s.%s=%.*g" : "%s.%s=%.*f", key->section, key->name,
                               digits, value);
                set(&config, assignment);
            }
        }
        assert_round_trip(&config);
    }
}

static void
test_every_key_has_a_sound_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        // Help is a phrase that fits a table: no line break, no column mark, no full stop.
        assert_true(strlen(key->help) >= 8);
        assert_null(strpbrk(key->help, "\n|"));
        assert_int_not_equal(key->help[strlen(key->help) - 1], '.');
        assert_ptr_equal(oct_config_key_find(key->section, key->name), key);
        if (key->kind == OCT_CONFIG_U32 || key->kind == OCT_CONFIG_INTS) {
            assert_true(key->min >= 0 && key->max <= UINT32_MAX);
        }
        if (key->kind <= OCT_CONFIG_F64) {
            assert_true(key->min < key->max);
        }
        // A section's keys stand together, or printing would write it twice.
        for (size_t j = 0; j + 1 < i; j++) {
            assert_true(strcmp(oct_config_keys[j].section, key->section) != 0 ||
                        strcmp(oct_config_keys[i - 1].section, key->section) == 0);
        }
    }
}

// By place, kind and flag; tools/doc_lists.py finds fields without a row.
static void
test_no_two_rows_share_a_byte(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        [OCT_CONFIG_U32] = sizeof(uint32_t),  [OCT_CONFIG_U64] = sizeof(uint64_t),
        [OCT_CONFIG_F64] = sizeof(double),    [OCT_CONFIG_BOOL] = sizeof(bool),
        [OCT_CONFIG_WORD] = sizeof(unsigned), [OCT_CONFIG_INTS] = sizeof(oct_config_ints),
    };
    uint8_t owned[sizeof(oct_config)] = {0};
    memset(owned + offsetof(oct_config, is_given), 1, sizeof(((oct_config *)NULL)->is_given));
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        bool is_text = key->kind == OCT_CONFIG_TEXT;
        for (size_t j = 0; j < (is_text ? (size_t)key->max + 1 : sizes[key->kind]); j++) {
            assert_int_equal(owned[key->offset + j]++, 0);
        }
        if (key->none_flag != 0) {
            assert_int_equal(owned[key->none_flag]++, 0);
        }
    }
}

static void
test_description_names_every_key_with_its_default_and_help(void **state)
{
    (void)state;
    char *plain = oct_config_describe(false), *markdown = oct_config_describe(true);
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        char want[1024], name[OCT_CONFIG_NAME_MAX], allowed[OCT_CONFIG_VALUE_MAX];
        char readers[OCT_CONFIG_READERS_MAX];
        oct_config_key_name(key, name);
        (void)snprintf(want, sizeof(want), "\n      %s%s\n",
                       oct_config_readers_brief(name, readers), key->help);
        assert_non_null(strstr(plain, want));
        assert_non_null(strstr(plain, key->name));
        bool is_whole = key->kind == OCT_CONFIG_U32 || key->kind == OCT_CONFIG_U64;
        (void)snprintf(want, sizeof(want), "| `%s` | %s%s | ", name, is_whole ? "whole, " : "",
                       oct_config_allowed(key, allowed));
        assert_non_null(strstr(markdown, want));
        (void)snprintf(want, sizeof(want), "| %s%s |\n", readers, key->help);
        assert_non_null(strstr(markdown, want));
    }
    assert_non_null(strstr(
        markdown,
        "| `learner.batch_size` | whole, 1 .. 65536 | `256`; ppo, a2c, trpo: `actor.count "
        "* actor.envs`; reinforce, vtrace: `16`; table: `8` | windows in one update: n-step "
        "transitions or sequences of steps; for rollouts, at most one of each environment |\n"));
    assert_non_null(strstr(markdown, "| `env.id` | text of up to 255 bytes | required | "));
    free(plain);
    free(markdown);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_keys_are_those_that_the_last_release_lacks),
        cmocka_unit_test(test_peers_of_the_last_release_take_the_defaults),
        cmocka_unit_test(test_peers_get_a_new_key_only_when_it_is_not_at_its_default),
        cmocka_unit_test(test_defaults_round_trip),
        cmocka_unit_test(test_awkward_texts_round_trip),
        cmocka_unit_test(test_lists_and_special_words_round_trip),
        cmocka_unit_test(test_random_numbers_round_trip_exactly),
        cmocka_unit_test(test_every_key_has_a_sound_row),
        cmocka_unit_test(test_no_two_rows_share_a_byte),
        cmocka_unit_test(test_description_names_every_key_with_its_default_and_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
