// Which experiment files and settings are accepted, and the exact message for each that is not.
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#include "config/config.h"

static config_experiment config;
static char message[8192];

// The whole message for text must be want, and config must be as before.
static void
assert_refused(const char *text, size_t length, const char *want)
{
    config_experiment before;
    config_default(&config);
    before = config;
    T_ERR(config_parse(&config, "x.yaml", text, length, message, sizeof(message)), OCT_EINVAL);
    assert_string_equal(message, want);
    assert_memory_equal(&config, &before, sizeof(config));
}

struct refusal {
    const char *text, *want;
};

static void
assert_all_refused(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_refused(refusals[i].text, strlen(refusals[i].text), refusals[i].want);
    }
}

static void
accept(const char *text)
{
    config_default(&config);
    oct_err err = config_parse(&config, "x.yaml", text, strlen(text), message, sizeof(message));
    if (err != OCT_OK) {
        fail_msg("%s", message);
    }
}

static void
test_unknown_names_are_refused_with_what_was_meant(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"learner:\n  prefetch: 2\n  batchsize: 128\n",
         "x.yaml:3:3: error: unknown key learner.batchsize; did you mean learner.batch_size?\n"},
        {"learner: {capacity: 5}\n",
         "x.yaml:1:11: error: unknown key learner.capacity; did you mean replay.capacity?\n"},
        {"network:\n  wings: 2\n",
         "x.yaml:2:3: error: unknown key network.wings; network has "
         "hidden, layers, activation, first_layer_norm, conv, critic_hidden, "
         "critic_residual\n"},
        {"lerner:\n  batch_size: 0\n",
         "x.yaml:1:1: error: unknown section lerner; did you mean learner?\n"},
        {"batch_size: 3\n",
         "x.yaml:1:1: error: unknown section batch_size; did you mean learner.batch_size?\n"},
        {"learner.batch_size: 3\n",
         "x.yaml:1:1: error: learner.batch_size: a key belongs in its section; write the section's "
         "name, and the key below it, indented\n"},
        {"zzzzzzz: 3\n", "x.yaml:1:1: error: unknown section zzzzzzz; sections are run, env, "
                         "network, algo, learner, policy, actor, replay, evaluation, net\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
}

static void
test_numbers_out_of_range_are_refused_with_the_range(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"\n\nlearner:\n  batch_size:   0\n",
         "x.yaml:4:17: error: learner.batch_size: 0 is out of range, allowed 1 .. 65536\n"},
        {"learner:\n  batch_size: 65537\n",
         "x.yaml:2:15: error: learner.batch_size: 65537 is out of range, allowed 1 .. 65536\n"},
        {"learner:\n  batch_size: 99999999999999999999999\n",
         "x.yaml:2:15: error: learner.batch_size: 99999999999999999999999 is out of range, allowed "
         "1 .. 65536\n"},
        {"run:\n  seed: -1\n",
         "x.yaml:2:9: error: run.seed: -1 is out of range, allowed 0 .. 9007199254740992\n"},
        {"run:\n  seed: 9007199254740993\n", // the nearest double is allowed
         "x.yaml:2:9: error: run.seed: 9007199254740993 is out of range, allowed 0 .. "
         "9007199254740992\n"},
        {"algo:\n  discount: 1.0000001\n",
         "x.yaml:2:13: error: algo.discount: 1.0000001 is out of range, allowed 0 .. 1\n"},
        {"algo:\n  learning_rate: 0\n",
         "x.yaml:2:18: error: algo.learning_rate: 0 is out of range, allowed 1e-12 .. 10\n"},
        {"algo:\n  learning_rate: 1e999\n",
         "x.yaml:2:18: error: algo.learning_rate: 1e999 is out of range, allowed 1e-12 .. 10\n"},
        {"run:\n  stop_at_return: -1e13\n",
         "x.yaml:2:19: error: run.stop_at_return: -1e13 is out of range, allowed -1000000000000 .. "
         "1000000000000 or none\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
}

static void
test_not_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "nan", ".nan", "inf", "-.inf", "infinity", "0x10",  "ten",  "1 2", "1,5",   "--1", "1e",
        "e5",  "1__0", "_1",  "1_",    ".",        "1.2.3", "true", "~",   "1e5e5", "1-1", "+-1"};
    char text[128], want[256];
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        (void)snprintf(text, sizeof(text), "algo:\n  discount: %s\n", bad[i]);
        (void)snprintf(want, sizeof(want),
                       "x.yaml:2:13: error: algo.discount: %s is not a number, allowed 0 .. 1\n",
                       bad[i]);
        assert_refused(text, strlen(text), want);
        (void)snprintf(text, sizeof(text), "algo:\n  n_step: %s\n", bad[i]);
        (void)snprintf(
            want, sizeof(want),
            "x.yaml:2:11: error: algo.n_step: %s is not a whole number, allowed 0 .. 1000\n",
            bad[i]);
        assert_refused(text, strlen(text), want);
    }
}

static void
test_values_of_another_type_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"algo:\n  n_step: 2.5\n",
         "x.yaml:2:11: error: algo.n_step: 2.5 is not a whole number, allowed 0 .. 1000\n"},
        {"algo:\n  n_step: \"3\"\n",
         "x.yaml:2:11: error: algo.n_step: \"3\" is not a whole number, allowed 0 .. 1000\n"},
        {"algo:\n  discount: '0.9'\n",
         "x.yaml:2:13: error: algo.discount: \"0.9\" is not a number, allowed 0 .. 1\n"},
        {"algo:\n  discount: same\n",
         "x.yaml:2:13: error: algo.discount: same is not a number, allowed 0 .. 1\n"},
        {"algo:\n  n_step: [3]\n",
         "x.yaml:2:11: error: algo.n_step must be one value, not a list; allowed 0 .. 1000\n"},
        {"algo:\n  n_step:\n    x: 3\n", "x.yaml:3:5: error: algo.n_step must be one value, "
                                         "not a section; allowed 0 .. 1000\n"},
        {"algo:\n  n_step:\n", "x.yaml:2:10: error: algo.n_step has no value, allowed 0 .. 1000\n"},
        {"algo:\n  double_q: yes\n",
         "x.yaml:2:13: error: algo.double_q: yes is not one of true, false\n"},
        {"algo:\n  double_q: \"true\"\n",
         "x.yaml:2:13: error: algo.double_q: \"true\" is not one of true, false\n"},
        {"network:\n  activation: rlu\n",
         "x.yaml:2:15: error: network.activation: rlu is not one "
         "of linear, relu, tanh, elu, silu, gelu, gelu_tanh, sigmoid, softplus, mish, "
         "leaky_relu, relu6, hard_swish; did you mean relu?\n"},
        {"algo:\n  head: logit\n",
         "x.yaml:2:9: error: algo.head: logit is not one of auto, values, logits, atoms, tanh, "
         "gaussian, tanh_gaussian; did you mean logits?\n"},
        {"env:\n  id: [a]\n", "x.yaml:2:7: error: env.id must be one value, not a list; "
                              "allowed text of up to 255 bytes\n"},
        {"learner: 3\n",
         "x.yaml:1:10: error: learner is a section: its keys belong below it, indented\n"},
        {"learner: [1]\n", "x.yaml:1:10: error: learner is a section, not a list: its keys belong "
                           "below it, indented, as name: value\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
}

static void
test_bad_lists_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"network:\n  hidden: 64\n",
         "x.yaml:2:11: error: network.hidden must be a list, such as [64, 64]\n"},
        {"network:\n  hidden: [64, 0, x]\n",
         "x.yaml:2:16: error: network.hidden: 0 is out of range, allowed 1 .. 65536\n"
         "x.yaml:2:19: error: network.hidden: x is not a whole number, allowed 1 .. 65536\n"},
        {"network:\n  hidden: [[64], {a: b}]\n",
         "x.yaml:2:12: error: network.hidden: a list may contain only whole numbers\n"
         "x.yaml:2:18: error: network.hidden: a list may contain only whole numbers\n"},
        {"network:\n  hidden: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n",
         "x.yaml:2:11: error: network.hidden: the list has 16 numbers, allowed up to 15\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
}

static void
test_names_given_twice_are_refused_with_the_first_line(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"run:\n  seed: 1\n  wall_s: 0\n  seed: 2\n",
         "x.yaml:4:3: error: run.seed is given twice, first on line 2\n"},
        {"run:\n  seed: 1\nenv:\nrun:\n  seed: 0.5\n",
         "x.yaml:4:1: error: section run is given twice, first on line 1\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
}

static void
test_texts_too_long_or_unprintable_are_refused(void **state)
{
    (void)state;
    char text[400], digits[300];
    memset(digits, '7', sizeof(digits));
    digits[256] = 0;
    (void)snprintf(text, sizeof(text), "env:\n  id: %s\n", digits);
    assert_refused(text, strlen(text),
                   "x.yaml:2:7: error: env.id: the text has 256 bytes, allowed up to 255\n");
    static const struct refusal refusals[] = {
        {"env:\n  id: \"a\\nb\"\n", "x.yaml:2:7: error: env.id: byte 2 of the text is a control "
                                    "character (code 10), allowed is one line of printable text\n"},
        {"env:\n  id: \"\\0\"\n", "x.yaml:2:7: error: env.id: byte 1 of the text is a control "
                                  "character (code 0), allowed is one line of printable text\n"},
        {"env:\n  id: |\n    a\n", "x.yaml:2:7: error: env.id: byte 2 of the text is a control "
                                   "character (code 10), allowed is one line of printable text\n"},
        // What YAML would not let stand, or would take for the end of a line, when it is printed.
        {"env:\n  id: \"a\\x82\"\n",
         "x.yaml:2:7: error: env.id: byte 2 of the text is a control "
         "character (code 130), allowed is one line of printable text\n"},
        {"env:\n  id: \"\\u2028\"\n",
         "x.yaml:2:7: error: env.id: byte 1 of the text is a control "
         "character (code 8232), allowed is one line of printable text\n"},
        {"env:\n  id: \"\\u202e\"\n",
         "x.yaml:2:7: error: env.id: byte 1 of the text is a control "
         "character (code 8238), allowed is one line of printable text\n"},
        {"env:\n  id: \"\\uFEFF\"\n",
         "x.yaml:2:7: error: env.id: byte 1 of the text is a control "
         "character (code 65279), allowed is one line of printable text\n"},
        {"env:\n  id:\n",
         "x.yaml:2:6: error: env.id has no value, allowed text of up to 255 bytes\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
}

static void
test_yaml_that_experiments_do_not_need_is_refused(void **state)
{
    (void)state;
#define NEEDS " are not supported; text that begins with "
    static const struct refusal refusals[] = {
        {"run: &a\n  seed: 1\n", "x.yaml:1:6: error: anchors (&name)" NEEDS "& needs quotes\n"},
        {"run:\n  seed: *a\n", "x.yaml:2:9: error: aliases (*a)" NEEDS "* needs quotes\n"},
        {"run:\n  seed: !!int 3\n", "x.yaml:2:9: error: tags (!name)" NEEDS "! needs quotes\n"},
        {"!x\nrun:\n  seed: 3\n", "x.yaml:1:1: error: tags (!name)" NEEDS "! needs quotes\n"},
        {"network:\n  hidden: [&a 3]\n",
         "x.yaml:2:12: error: anchors (&name)" NEEDS "& needs quotes\n"},
        {"*a: 3\n", "x.yaml:1:1: error: aliases (*a)" NEEDS "* needs quotes\n"},
        {"run:\n  seed: 1\n---\nrun:\n  seed: 2\n",
         "x.yaml:3:1: error: a second document begins here; only one is allowed\n"},
        {"? [a]\n: 3\n", "x.yaml:1:3: error: a name is expected here\n"},
        {"run:\n  \"\": 3\n", "x.yaml:2:3: error: a name is expected here\n"},
        {"- run\n", "x.yaml:1:1: error: an experiment has sections such as env: and run:, not a "
                    "list\n"},
        {"'hello'\n", "x.yaml:1:1: error: an experiment has sections such as env: and run:, not a "
                      "single value\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
#undef NEEDS
}

static void
test_nothing_is_refused(void **state)
{
    (void)state;
    static const char want[] =
        "x.yaml:1:1: error: the file is empty; an experiment has sections such as env: and run:\n";
    static const char *const empty[] = {"", "\n\n", "# only a comment\n", "---\n",
                                        "--- # x\n...\n"};
    for (size_t i = 0; i < OCT_COUNTOF(empty); i++) {
        assert_refused(empty[i], strlen(empty[i]), want);
    }
}

static void
test_huge_text_is_refused_and_the_largest_one_read(void **state)
{
    (void)state;
    enum { MIB = 1 << 20 };
    char *text = malloc(MIB + 1);
    memset(text, '\n', MIB + 1);
    memcpy(text, "run: {seed: 9}", 14);
    assert_refused(text, MIB + 1,
                   "x.yaml: error: larger than 1048576 bytes: not an experiment file\n");
    T_OK(config_parse(&config, "x.yaml", text, MIB, message, sizeof(message)));
    assert_int_equal(config.run.seed, 9);
    free(text);
}

static void
test_deep_nesting_is_refused_early(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 8);
    memset(text, '[', DEPTH + 8);
    memcpy(text, "run: ", 5);
    assert_refused(text, DEPTH,
                   "x.yaml:1:6: error: run is a section, not a list: its keys belong below it, "
                   "indented, as name: value\n"
                   "x.yaml:1:38: error: nested deeper than 32 levels\n");
    free(text);
}

static void
test_several_mistakes_are_told_at_once_but_not_endlessly(void **state)
{
    (void)state;
    char text[1024] = "run:\n";
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "  zzzzzz%d: 1\n", i);
    }
    config_default(&config);
    T_ERR(config_parse(&config, "x.yaml", text, strlen(text), message, sizeof(message)),
          OCT_EINVAL);
    assert_non_null(strstr(message, "x.yaml:2:3: error: unknown key run.zzzzzz0; run has"));
    assert_non_null(strstr(message, "x.yaml:11:3: error: unknown key run.zzzzzz9; run has"));
    assert_null(strstr(message, "zzzzzz10"));
    assert_non_null(strstr(message, "x.yaml: error: too many errors; the rest are not shown\n"));
}

static void
test_a_small_message_buffer_is_not_overrun(void **state)
{
    (void)state;
    char small[24];
    memset(small, 'z', sizeof(small));
    config_default(&config);
    T_ERR(config_parse(&config, "x.yaml", "a: 1\nb: 2\n", 10, small, 20), OCT_EINVAL);
    assert_string_equal(small, "x.yaml:1:1: error: ");
    assert_int_equal(small[20], 'z');
    T_ERR(config_parse(&config, "x.yaml", "a: 1\n", 5, NULL, 0), OCT_EINVAL);
}

static void
test_foreign_bytes_in_a_message_are_made_harmless(void **state)
{
    (void)state;
    assert_refused("run:\n  \"se\\x1b[1med\": 1\n", 24,
                   "x.yaml:2:3: error: unknown key run.se?[1med; run has name, seed, env_steps, "
                   "updates, stop_at_return, wall_s, hang_s, env_hang_s, deterministic, "
                   "hash_updates\n");
}

static void
test_load_says_why_a_file_cannot_be_read(void **state)
{
    (void)state;
    config_default(&config);
    T_ERR(config_load(&config, "/none/x.yaml", message, sizeof(message)), OCT_ENOTFOUND);
    assert_string_equal(message,
                        "/none/x.yaml: error: cannot be read: No such file or directory\n");
    T_ERR(config_load(&config, "/", message, sizeof(message)), OCT_EIO);
    assert_string_equal(message, "/: error: cannot be read: Is a directory\n");
    T_ERR(config_load(&config, "/dev/zero", message, sizeof(message)), OCT_EIO);
    assert_string_equal(message, "/dev/zero: error: cannot be read: it is a device, not a regular "
                                 "file\n");
    char path[] = "/tmp/octet-test-XXXXXX", want[128];
    int fd = mkstemp(path);
    assert_int_equal(ftruncate(fd, 1 << 21), 0);
    T_ERR(config_load(&config, path, message, sizeof(message)), OCT_EINVAL);
    (void)snprintf(want, sizeof(want),
                   "%s: error: larger than 1048576 bytes: not an experiment file\n", path);
    assert_string_equal(message, want);
    assert_true(close(fd) == 0 && unlink(path) == 0);
}

static void
test_set_refuses_as_the_file_does(void **state)
{
    (void)state;
#define QUOTES "; quote a text that contains it, such as '\"#3\"'\n"
    static const struct refusal refusals[] = {
        {"learner.batch_size=0", "--set learner.batch_size=0: error: learner.batch_size: 0 is out "
                                 "of range, allowed 1 .. 65536\n"},
        {"learner.batchsize=3", "--set learner.batchsize=3: error: unknown key learner.batchsize; "
                                "did you mean learner.batch_size?\n"},
        {"lerner.batchsize=3", "--set lerner.batchsize=3: error: unknown key lerner.batchsize; did "
                               "you mean learner.batch_size?\n"},
        {"batch_size=3",
         "--set batch_size=3: error: unknown key batch_size; did you mean learner.batch_size?\n"},
        {"run.seed", "--set run.seed: error: a value is missing, write section.key=value\n"},
        {"run.seed=", "--set run.seed=: error: run.seed has no value, allowed 0 .. "
                      "9007199254740992\n"},
        {"algo=dqn", "--set algo=dqn: error: algo is a section; did you mean algo.name=dqn?\n"},
        {"run=3", "--set run=3: error: run is a section; run has name, seed, env_steps, "
                  "updates, stop_at_return, wall_s, hang_s, env_hang_s, deterministic, "
                  "hash_updates\n"},
        {"=3", "--set =3: error: unknown key ; sections are run, env, network, algo, learner, "
               "policy, actor, replay, evaluation, net\n"},
        {"run.seed=3\n---\n4",
         "--set run.seed=3?---?4: error: a second document begins here; only one is allowed\n"},
        {"network.layers=[conv 16 3x3, dens 8]",
         "--set network.layers=[conv 16 3x3, dens 8]: error: network.layers: \"dens 8\" is not a "
         "layer; a layer is dense N, conv N HxW[/S][+P], pool HxW[/S][+P] or mean HxW[/S][+P], "
         "then optionally norm and an activation\n"},
        {"network.layers=[[1]]",
         "--set network.layers=[[1]]: error: network.layers: a list may contain only layers\n"},
        {"network.layers={a: 1}",
         "--set network.layers={a: 1}: error: network.layers must be a list of layers, such as "
         "[conv 16 3x3, dense 128], not a section\n"},
        {"network.layers=",
         "--set network.layers=: error: network.layers has no value, allowed a list of up to 15 "
         "layers such as [conv 16 3x3, dense 128]\n"},
        {"network.hidden=[1",
         "--set network.hidden=[1: error: the '[' is not closed; ']' is missing\n"},
        {"network.hidden=64",
         "--set network.hidden=64: error: network.hidden must be a list, such as [64, 64]\n"},
        {"learner.batch_size=[3]", "--set learner.batch_size=[3]: error: learner.batch_size must "
                                   "be one value, not a list; allowed 1 .. 65536\n"},
        {"run.name=a: b: c", "--set run.name=a: b: c: error: a value with a colon and a space "
                             "needs quotes, such as \"a: b\"\n"},
        {"run.name=\"a\" b", "--set run.name=\"a\" b: error: text follows the quoted value; put "
                             "quotes around the whole text\n"},
        {"run.name=x y", NULL},
        {"run.name=#3", "--set run.name=#3: error: run.name: '#' begins a comment" QUOTES},
        {"run.name=p\xC3\xB6l #3",
         "--set run.name=p\xC3\xB6l #3: error: run.name: '#' begins a comment" QUOTES},
        {"run.name='a' #", "--set run.name='a' #: error: run.name: '#' begins a comment" QUOTES},
        {"run.seed=3 # three", "--set run.seed=3 # three: error: run.seed: '#' begins a comment\n"},
        {"network.hidden=[64] #",
         "--set network.hidden=[64] #: error: network.hidden: '#' begins a comment\n"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(refusals); i++) {
        config_default(&config);
        oct_err err = config_set(&config, refusals[i].text, message, sizeof(message));
        assert_int_equal(err, refusals[i].want != NULL ? OCT_EINVAL : OCT_OK);
        assert_string_equal(message, refusals[i].want != NULL ? refusals[i].want : "");
    }
#undef QUOTES
}

static void
test_set_takes_values_as_in_yaml(void **state)
{
    (void)state;
    static const char *const assignments[] = {"learner.batch_size=128",
                                              "network.hidden=[256, 256]",
                                              "network.layers=['conv 16 3x3', dense 8]",
                                              "env.id=./lib my=env.so",
                                              "env.options=a=1,b=2",
                                              "algo.name=dqn",
                                              "net.learner=tcp://127.0.0.1:7000",
                                              "actor.when_full=drop",
                                              "network.activation=\"tanh\"",
                                              "replay.samples_per_insert=.5",
                                              "run.stop_at_return=-110"};
    config_default(&config);
    for (size_t i = 0; i < OCT_COUNTOF(assignments); i++) {
        T_OK(config_set(&config, assignments[i], message, sizeof(message)));
    }
    assert_int_equal(config.learner.batch_size, 128);
    assert_int_equal(config.network.hidden.count, 2);
    assert_int_equal(config.network.hidden.value[1], 256);
    assert_string_equal(config.network.layers, "conv 16 3x3, dense 8");
    assert_string_equal(config.env.id, "./lib my=env.so");
    assert_string_equal(config.env.options, "a=1,b=2");
    assert_string_equal(config.net.learner, "tcp://127.0.0.1:7000");
    assert_int_equal(config.actor.when_full, CONFIG_WHEN_FULL_DROP);
    assert_int_equal(config.network.activation, POLICY_TANH);
    assert_true(config.replay.samples_per_insert == 0.5);
    assert_true(config.run.stop_at_return == -110);
    T_OK(config_set(&config, "env.options=", message, sizeof(message)));
    assert_string_equal(config.env.options, "");
    T_OK(config_set(&config, "run.name=a#3", message, sizeof(message)));
    assert_string_equal(config.run.name, "a#3");
    T_OK(config_set(&config, "run.name='#\xC3\xB6 #3'  ", message, sizeof(message)));
    assert_string_equal(config.run.name, "#\xC3\xB6 #3");
}

// ---- options of an environment

static void
test_options_may_be_a_section_of_any_depth(void **state)
{
    (void)state;
    accept("env:\n"
           "  id: gym:X-v0\n"
           "  options:\n"
           "    mass: [1, -.5, 1_000, +007, 2.]\n"
           "    name: half-cheetah\n"
           "    folder: ./some/where\n"
           "    label: \"a, \\\"b\\\"\\n\"\n"
           "    number: '3'\n"
           "    word: \"true\"\n"
           "    scale: 1e-3\n"
           "    flag: True\n"
           "    empty:\n"
           "    deep: {on: true, 'none': ~, list: [[x, \"3\", {}], []]}\n"
           "  mjcf_dir: x\n");
    assert_string_equal(config.env.options,
                        "mass:=[1, -0.5, 1000, 7, 2.0],name=half-cheetah,folder:=\"./some/where\","
                        "label:=\"a, \\\"b\\\"\\u000a\",number:=\"3\",word:=\"true\",scale=1e-3,"
                        "flag=true,empty:=null,"
                        "deep:={\"on\": true, \"none\": null, \"list\": [[\"x\", \"3\", {}], []]}");
    assert_string_equal(config.env.mjcf_dir, "x");
    accept("env: {id: X, options: {}}\n");
    assert_string_equal(config.env.options, "");
}

static void
test_options_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {"env:\n  options: [1]\n", "x.yaml:2:12: error: env.options must be one value, not a list; "
                                   "allowed text of up to 16383 bytes\n"},
        {"env:\n  options: {a: 1, b: 2, a: 3}\n",
         "x.yaml:2:25: error: env.options: a is given twice\n"},
        {"env:\n  options: {a=b: 1, [1]: 2, x: &y 3}\n",
         "x.yaml:2:13: error: env.options: a=b is not a name of 1 to 51 bytes without = , : . and "
         "quotes\n"
         "x.yaml:2:21: error: a name is expected here\n"
         "x.yaml:2:32: error: anchors (&name) are not supported; text that begins with & needs "
         "quotes\n"},
        {"env:\n  options: {a: {[1]: 2}}\n", "x.yaml:2:17: error: a name is expected here\n"},
    };
    assert_all_refused(refusals, OCT_COUNTOF(refusals));
    enum { DEPTH = 100 };
    char text[CONFIG_OPTIONS_MAX + 64] = "env:\n  options: {a: ";
    memset(text + strlen(text), '[', DEPTH);
    assert_refused(text, strlen(text), "x.yaml:2:47: error: nested deeper than 32 levels\n");
    size_t begin = (size_t)snprintf(text, sizeof(text), "env:\n  options: {a: ");
    memset(text + begin, 'x', CONFIG_OPTIONS_MAX - 2);
    (void)snprintf(text + begin + CONFIG_OPTIONS_MAX - 2, 8, "}\n");
    assert_refused(text, strlen(text),
                   "x.yaml:2:12: error: env.options: the options have more "
                   "than 16383 bytes as text\n");
    (void)snprintf(text + begin + CONFIG_OPTIONS_MAX - 3, 8, "}\n");
    accept(text);
    assert_int_equal(strlen(config.env.options), CONFIG_OPTIONS_MAX - 1);
}

static void
test_options_are_set_one_by_one(void **state)
{
    (void)state;
    static const char *const steps[][2] = {
        {"env.options.mass=[1, 2]", "mass:=[1, 2]"},
        {"env.options.g=9.8", "mass:=[1, 2],g=9.8"},
        {"env.options.mass={a: [true]}", "g=9.8,mass:={\"a\": [true]}"},
        {"env.options.g=\"9.8\"", "mass:={\"a\": [true]},g:=\"9.8\""},
        {"env.options.g=", "mass:={\"a\": [true]},g:=\"\""},
        {"env.options=size=(3,3),g=1", "size=(3,3),g=1"},
        {"env.options.g=2", "size=(3,3),g=2"},
        {"env.options={a: 1}", "a=1"},
    };
    config_default(&config);
    for (size_t i = 0; i < OCT_COUNTOF(steps); i++) {
        T_OK(config_set(&config, steps[i][0], message, sizeof(message)));
        assert_string_equal(config.env.options, steps[i][1]);
    }
    T_ERR(config_set(&config, "env.options.a.b=1", message, sizeof(message)), OCT_EINVAL);
    assert_string_equal(message,
                        "--set env.options.a.b=1: error: env.options: a.b is not a name of 1 to 51 "
                        "bytes without = , : . and quotes; write deeper values as "
                        "env.options.NAME={NAME: VALUE}\n");
    T_ERR(config_set(&config, "env.options.a=[1", message, sizeof(message)), OCT_EINVAL);
    assert_string_equal(config.env.options, "a=1");
}

static void
test_defaults_are_those_of_the_documentation(void **state)
{
    (void)state;
    config_default(&config);
    assert_int_equal(config.run.seed, 1);
    assert_true(isnan(config.run.stop_at_return));
    assert_string_equal(config.env.id, "");
    assert_int_equal(config.network.hidden.count, 2);
    assert_int_equal(config.network.hidden.value[0], 64);
    assert_int_equal(config.network.activation, POLICY_RELU);
    assert_true(config.algo.double_q);
    assert_true(config.algo.adam_epsilon == 1e-8);
    assert_int_equal(config.actor.ring_batches, 16);
    assert_int_equal(config.replay.sampler, CONFIG_SAMPLER_PRIORITIZED);
    assert_string_equal(config.net.replay, "ipc://replay.ipc");
}

static void
test_numbers_may_be_written_for_people(void **state)
{
    (void)state;
    accept("run:\n  seed: 1_000_000\n  env_steps: 2.5e6\n  wall_s: +1e-3\nalgo:\n  discount: .5\n");
    assert_int_equal(config.run.seed, 1000000);
    assert_int_equal(config.run.env_steps, 2500000);
    assert_true(config.run.wall_s == 0.001);
    assert_true(config.algo.discount == 0.5);
}

static void
test_bounds_themselves_are_allowed(void **state)
{
    (void)state;
    accept("learner:\n  batch_size: 65536\n  prefetch: 1\nalgo:\n  discount: 1\n"
           "network:\n  hidden: [65536,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n"
           "run:\n  seed: 9007199254740992\n  stop_at_return: -1e12\n");
    assert_int_equal(config.learner.batch_size, 65536);
    assert_int_equal(config.network.hidden.count, 15);
    assert_true(config.run.seed == 1ull << 53);
}

static void
test_keys_not_named_keep_their_earlier_value(void **state)
{
    (void)state;
    accept("run:\n  seed: 7\n");
    T_OK(config_parse(&config, "y", "run:\n  wall_s: 3\nlearner:\n", 25, message, sizeof(message)));
    assert_int_equal(config.run.seed, 7);
    assert_true(config.run.wall_s == 3);
}

static void
test_all_ways_to_write_yaml_are_read(void **state)
{
    (void)state;
    accept("%YAML 1.1\r\n---\r\nrun: {seed: 3, name: 'it''s'} # comment\r\n"
           "network:\r\n  hidden:\r\n  - 5\r\n  - 6\r\n"
           "env:\r\n  id: \"Z\\xFC-v1\"\r\n...\r\n");
    assert_int_equal(config.run.seed, 3);
    assert_string_equal(config.run.name, "it's");
    assert_int_equal(config.network.hidden.value[1], 6);
    assert_string_equal(config.env.id, "Z\xC3\xBC-v1");
    accept("\xEF\xBB\xBFnetwork:\n  hidden: []\n");
    assert_int_equal(config.network.hidden.count, 0);
    accept("\xEF\xBB\xBFrun:\n  seed: 3\nalgo:\n  discount: 0.5\n"); // is no column
    assert_true(config.run.seed == 3 && config.algo.discount == 0.5);
}

static void
test_final_learning_rate_follows_while_it_is_same(void **state)
{
    (void)state;
    config_default(&config);
    assert_true(config.algo.learning_rate_final == 0.001);
    T_OK(config_set(&config, "algo.learning_rate=0.5", message, sizeof(message)));
    assert_true(config.algo.learning_rate_final == 0.5);
    accept("algo:\n  learning_rate_final: 0.001\n  learning_rate: 0.25\n");
    assert_true(config.algo.learning_rate_final == 0.001);
    T_OK(config_set(&config, "algo.learning_rate=0.125", message, sizeof(message)));
    assert_true(config.algo.learning_rate_final == 0.001);
    T_OK(config_set(&config, "algo.learning_rate_final=same", message, sizeof(message)));
    assert_true(config.algo.learning_rate_final == 0.125);
}

static void
test_final_noise_follows_while_it_is_same(void **state)
{
    (void)state;
    accept("actor:\n  noise: 0.5\n");
    assert_true(config.actor.noise_final_is_same && config.actor.noise_final == 0.5);
    accept("actor:\n  noise_final: 0.05\n  noise: 0.5\n");
    assert_true(!config.actor.noise_final_is_same && config.actor.noise_final == 0.05);
    T_OK(config_set(&config, "actor.noise_final=same", message, sizeof(message)));
    assert_true(config.actor.noise_final_is_same && config.actor.noise_final == 0.5);
}

static void
test_final_importance_exponent_follows_while_it_is_same(void **state)
{
    (void)state;
    config_default(&config);
    T_OK(config_set(&config, "replay.importance_exponent=0.5", message, sizeof(message)));
    assert_true(config.replay.importance_exponent_final == 0.5);
    accept("replay:\n  importance_exponent_final: 1\n  importance_exponent: 0.25\n");
    assert_true(config.replay.importance_exponent_final == 1);
    assert_true(config.replay.importance_exponent == 0.25);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_names_are_refused_with_what_was_meant),
        cmocka_unit_test(test_numbers_out_of_range_are_refused_with_the_range),
        cmocka_unit_test(test_not_numbers_are_refused),
        cmocka_unit_test(test_values_of_another_type_are_refused),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_names_given_twice_are_refused_with_the_first_line),
        cmocka_unit_test(test_texts_too_long_or_unprintable_are_refused),
        cmocka_unit_test(test_yaml_that_experiments_do_not_need_is_refused),
        cmocka_unit_test(test_nothing_is_refused),
        cmocka_unit_test(test_huge_text_is_refused_and_the_largest_one_read),
        cmocka_unit_test(test_deep_nesting_is_refused_early),
        cmocka_unit_test(test_several_mistakes_are_told_at_once_but_not_endlessly),
        cmocka_unit_test(test_a_small_message_buffer_is_not_overrun),
        cmocka_unit_test(test_foreign_bytes_in_a_message_are_made_harmless),
        cmocka_unit_test(test_load_says_why_a_file_cannot_be_read),
        cmocka_unit_test(test_set_refuses_as_the_file_does),
        cmocka_unit_test(test_set_takes_values_as_in_yaml),
        cmocka_unit_test(test_defaults_are_those_of_the_documentation),
        cmocka_unit_test(test_numbers_may_be_written_for_people),
        cmocka_unit_test(test_bounds_themselves_are_allowed),
        cmocka_unit_test(test_keys_not_named_keep_their_earlier_value),
        cmocka_unit_test(test_all_ways_to_write_yaml_are_read),
        cmocka_unit_test(test_final_noise_follows_while_it_is_same),
        cmocka_unit_test(test_options_may_be_a_section_of_any_depth),
        cmocka_unit_test(test_options_that_cannot_be_read_are_refused),
        cmocka_unit_test(test_options_are_set_one_by_one),
        cmocka_unit_test(test_final_importance_exponent_follows_while_it_is_same),
        cmocka_unit_test(test_final_learning_rate_follows_while_it_is_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
