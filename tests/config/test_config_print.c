// Printed experiments read back as the same values, and every key has a sound row in the table.
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "config/config_algos.h"
#include "config/config_table.h"

static char message[8192];

// In all keys. What was printed says each of them.
static void
assert_same(const config_experiment *a, const config_experiment *b)
{
    config_experiment one = *a, other = *b;
    memset(one.is_given, 0, sizeof(one.is_given));
    memset(other.is_given, 0, sizeof(other.is_given));
    assert_memory_equal(&one, &other, sizeof(one));
}

// print, parse, print: the same value and the same text.
static void
assert_round_trip(const config_experiment *config)
{
    config_experiment again;
    char *text = config_print(config);
    config_default(&again);
    if (config_parse(&again, "printed", text, strlen(text), message, sizeof(message)) != OCT_OK) {
        fail_msg("%s", message);
    }
    char *text_again = config_print(&again);
    assert_string_equal(text, text_again);
    assert_same(&again, config);
    free(text);
    free(text_again);
}

static void
set(config_experiment *config, const char *assignment)
{
    if (config_set(config, assignment, message, sizeof(message)) != OCT_OK) {
        fail_msg("%s", message);
    }
}

#define LAST_KEYS_MAX 256

// A line of LAST_RELEASE, "algo.gamma | 0 .. 1".
typedef struct last_key {
    char name[CONFIG_NAME_MAX];
    char allowed[256];
} last_key;

static size_t
last_release_read(last_key keys[LAST_KEYS_MAX])
{
    char line[512];
    size_t count = 0;
    FILE *file = fopen(LAST_RELEASE, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] != '#') {
            assert_true(count < LAST_KEYS_MAX);
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
    static last_key keys[LAST_KEYS_MAX];
    char section[CONFIG_NAME_MAX] = "", key[CONFIG_NAME_MAX];
    char name[2 * CONFIG_NAME_MAX], value[CONFIG_VALUE_MAX];
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
    static last_key keys[LAST_KEYS_MAX];
    size_t count = last_release_read(keys);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const char *name = config_keys[i].name;
        bool is_new = last_key_find(keys, count, name) == NULL;
        if (config_keys[i].is_new != is_new) {
            fail_msg("%s: the last release %s it: its row ends %s NEW", name,
                     is_new ? "lacks" : "has", is_new ? "with" : "without");
        }
    }
}

// With every algorithm that it has, by the keys and the bounds of that release; it reads back as
// the same.
static void
test_peers_of_the_last_release_take_the_defaults(void **state)
{
    (void)state;
    static last_key keys[LAST_KEYS_MAX];
    config_experiment config, again;
    const last_key *name = last_key_find(keys, last_release_read(keys), "algo.name");
    for (unsigned algo = 0; algo < CONFIG_ALGOS; algo++) {
        if (!is_listed(name->allowed, config_algo_word((config_algo_name)algo))) {
            continue;
        }
        config_default(&config);
        set(&config, "env.id=CartPole-v1");
        config.algo.name = (config_algo_name)algo;
        config_resolve(&config);
        char *text = config_print_for_peers(&config);
        assert_last_release_takes(text);
        config_default(&again);
        T_OK(config_parse(&again, "printed", text, strlen(text), message, sizeof(message)));
        assert_int_equal(again.algo.n_step, config_n_step(&config));
        again.algo.n_step = config.algo.n_step;
        assert_same(&again, &config);
        free(text);
    }
}

// As peers get it: with the section's line above, "  NAME: VALUE".
static bool
peers_get(const config_experiment *config, const config_key *key)
{
    char section[CONFIG_NAME_MAX + 2], line[CONFIG_NAME_MAX + 8];
    (void)snprintf(section, sizeof(section), "%s:\n", key->section);
    (void)snprintf(line, sizeof(line), "\n  %s: ", key->leaf);
    char *text = config_print_for_peers(config);
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
    config_experiment config;
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        char assignment[256];
        config_default(&config);
        assert_int_equal(peers_get(&config, key), !key->is_new);
        if (key->kind <= CONFIG_F64) {
            (void)snprintf(assignment, sizeof(assignment), "%s=%.17g", key->name, key->max);
            set(&config, assignment);
            assert_true(peers_get(&config, key));
        }
    }
}

static void
test_defaults_round_trip(void **state)
{
    (void)state;
    config_experiment config;
    config_default(&config);
    assert_round_trip(&config);
}

static void
test_awkward_texts_round_trip(void **state)
{
    (void)state;
    static const char *const texts[] = {"\"",  "\\",   "\\\"\\", "# no",  "a: b",        "'",
                                        "~",   "[1]",  "*star",  "&x",    "!t",          "%",
                                        " x ", "true", "0x1",    "a\\nb", "Z\xC3\xBC-v1"};
    config_experiment config;
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        config_default(&config);
        memcpy(config.env.id, texts[i], strlen(texts[i]) + 1);
        assert_round_trip(&config);
    }
    config_default(&config);
    memset(config.run.name, '"', CONFIG_TEXT_MAX - 1);
    memset(config.env.options, '"', CONFIG_OPTIONS_MAX - 1);
    assert_round_trip(&config);
}

static void
test_lists_and_special_words_round_trip(void **state)
{
    (void)state;
    config_experiment config;
    config_default(&config);
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
        config_experiment config;
        config_default(&config);
        for (size_t i = 0; i < CONFIG_KEYS; i++) {
            const config_key *key = &config_keys[i];
            double value = key->min + (key->max - key->min) * oct_rng_double(&rng);
            char assignment[256];
            int digits = key->kind == CONFIG_F64 ? 17 : 0;
            if (key->kind <= CONFIG_F64) {
                (void)snprintf(assignment, sizeof(assignment), digits > 0 ? "%s=%.*g" : "%s=%.*f",
                               key->name, digits, value);
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
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        // Help is a phrase that fits a table: no line break, no column mark, no full stop.
        assert_true(strlen(key->help) >= 8);
        assert_null(strpbrk(key->help, "\n|"));
        assert_int_not_equal(key->help[strlen(key->help) - 1], '.');
        assert_ptr_equal(config_key_find(key->name), key);
        if (key->kind == CONFIG_U32 || key->kind == CONFIG_INTS) {
            assert_true(key->min >= 0 && key->max <= UINT32_MAX);
        }
        if (key->kind <= CONFIG_F64) {
            assert_true(key->min < key->max);
        }
        // A section's keys stand together, or printing would write it twice.
        for (size_t j = 0; j + 1 < i; j++) {
            assert_true(strcmp(config_keys[j].section, key->section) != 0 ||
                        strcmp(config_keys[i - 1].section, key->section) == 0);
        }
    }
}

static void
test_description_names_every_key_with_its_default_and_help(void **state)
{
    (void)state;
    char *plain = config_describe(true), *markdown = config_describe_markdown();
    char *basic = config_describe(false);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        char want[1024], allowed[CONFIG_VALUE_MAX], readers[CONFIG_READERS_MAX];
        (void)snprintf(want, sizeof(want), "\n      %s%s\n",
                       config_readers_brief(key->name, readers), key->help);
        assert_non_null(strstr(plain, want));
        assert_non_null(strstr(plain, key->leaf));
        assert_int_equal(strstr(basic, want) != NULL, key->is_basic);
        char *one = config_describe_key(key->name);
        assert_int_equal(strncmp(one, key->name, strlen(key->name)), 0);
        assert_non_null(strstr(one, want));
        free(one);
        bool is_whole = key->kind == CONFIG_U32 || key->kind == CONFIG_U64;
        (void)snprintf(want, sizeof(want), "| %s`%s`%s | %s%s | ", key->is_basic ? "**" : "",
                       key->name, key->is_basic ? "**" : "", is_whole ? "whole, " : "",
                       config_allowed(key, allowed));
        assert_non_null(strstr(markdown, want));
        (void)snprintf(want, sizeof(want), "| %s%s |\n", readers, key->help);
        assert_non_null(strstr(markdown, want));
    }
    assert_non_null(strstr(
        markdown,
        "| **`learner.batch_size`** | whole, 1 .. 65536 | `256`; ppo, a2c, trpo: `actor.count "
        "* actor.envs`; reinforce, vtrace: `16`; table: `8` | windows in one update: n-step "
        "transitions or sequences of steps; for rollouts, at most one of each environment |\n"));
    assert_non_null(strstr(markdown, "| **`env.id`** | text of up to 255 bytes | required | "));
    free(plain);
    free(basic);
    free(markdown);
}

static void
test_a_section_is_described_with_all_its_keys_and_nothing_else_is(void **state)
{
    (void)state;
    char *section = config_describe_key("replay");
    assert_non_null(strstr(section, "replay.sync: interval\n"));
    assert_non_null(strstr(section, "\nreplay.capacity: 100000 ("));
    assert_int_equal(strncmp(section, "replay.shards: 1\n", 17), 0);
    assert_null(strstr(section, "\nactor."));
    free(section);
    assert_null(config_describe_key("repla"));
    assert_null(config_describe_key("replay.sync.x"));
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
        cmocka_unit_test(test_a_section_is_described_with_all_its_keys_and_nothing_else_is),
        cmocka_unit_test(test_description_names_every_key_with_its_default_and_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
