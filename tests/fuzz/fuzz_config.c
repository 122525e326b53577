// Experiments in YAML, and assignments of --set. Whatever the text, the answer is OK or EINVAL with
// a message, and what is accepted prints and parses back to the same experiment.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "config/config_text.h"
#include "tests/fuzz/fuzz.h"

static char message[4096];
static config_experiment defaults;

static void
expect_round_trip(const config_experiment *config)
{
    config_experiment again = defaults;
    char *printed = config_print(config);
    oct_err err = config_parse(&again, "again", printed, strlen(printed), message, sizeof(message));
    memcpy(again.is_given, config->is_given, sizeof(again.is_given)); // what is printed says all
    OCT_ASSERT(err == OCT_OK && memcmp(&again, config, sizeof(again)) == 0);
    free(printed);
    size_t at = 0;
    config_change change;
    OCT_ASSERT(!config_next_change(&change, config, &again, &at));
}

// What may be asked of an experiment that was read.
static void
ask(const config_experiment *config)
{
    oct_err err = config_check(config, message, sizeof(message));
    OCT_ASSERT(err == OCT_OK || err == OCT_EINVAL);
    err = config_check_resume(&defaults, config, true, message, sizeof(message));
    OCT_ASSERT(err == OCT_OK || err == OCT_EINVAL);
    size_t at = 0;
    config_change change;
    while (config_next_change(&change, &defaults, config, &at)) {
        OCT_ASSERT(strcmp(change.before, change.now) != 0);
    }
}

// A line may as well be an assignment.
static void
assign(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), key[CONFIG_NAME_MAX];
    (void)config_key_in(key, text);
    config_experiment config = defaults;
    if (config_set(&config, text, message, sizeof(message)) == OCT_OK) {
        expect_round_trip(&config);
        fuzz_accept();
    }
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool has_defaults;
    if (!has_defaults) {
        config_default(&defaults);
        has_defaults = true;
    }
    config_experiment config = defaults;
    message[0] = '\0';
    const char *path = fuzz_file(data, size);
    oct_err err = config_load(&config, path, message, sizeof(message));
    OCT_ASSERT(err == OCT_OK || err == OCT_EINVAL);
    OCT_ASSERT((err == OCT_OK) == (message[0] == '\0'));
    if (err == OCT_OK) {
        expect_round_trip(&config);
        ask(&config);
        (void)config_line(path, "run.seed");
        fuzz_accept();
    }
    if (memchr(data, '\n', size) == NULL) {
        assign(data, size);
    }
    return 0;
}

// All keys; a section alone; the spellings that YAML has; assignments.
void
fuzz_seeds(void)
{
    static const char *const texts[] = {
        "run: {seed: 1, name: \"a\\x41\\u00fc\"}\n",
        "---\nrun:\n  seed: 16\n  env_steps: 1e6\n# comment\nenv: {id: 'CartPole-v1'}\n...\n",
        "algo:\n  name: dqn\nnetwork:\n  hidden: [64, 64]\n",
        "net:\n  insecure: true\nreplay:\n  path: none\n  importance_exponent_final: same\n",
        "{}",
        "learner.batch_size=128",
        "network.hidden=[32, 32]",
        "env.id=\"Pendulum-v1\"",
        "algo.learning_rate_final=same",
        "algo: {name: ppo}\nactor: {envs: 65536, count: 256}\n",
        "algo.name=vtrace",
    };
    // One of each kind of mistake.
    static const char *const bad[] = {
        "run:\n\tseed: 1\n",
        "run: *anchor\n",
        "run: {seed: [1, [2]]}\n",
        "network: {hidden: [a, {b: c}, 64]}\n",
        "network: {hidden: 64}\n",
        "network: {hidden: "
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}\n",
        "run: {seed: {a: b}}\n",
        "run: {? [a] : b}\n",
        "run: {seed: 1, seed: 2}\nrun: {seed: 3}\n",
        "run: [1]\n",
        "- run\n",
        "",
        "---\nrun: {}\n---\nrun: {}\n",
        "run: {seed: x, env_steps: 1e30, name: \"a\\x01b\"}\nalgo: {name: dqm}\nlearner: "
        "{batch_size: 0}\n",
        "algo: {learning_rate: 1e999}\nnet: {insecure: maybe}\n",
        "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\nh: 1\ni: 1\nj: 1\nk: 1\nl: 1\n",
        "a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n",
        "run=5",
        "learnr.batchsize=5",
        "algo=dqn",
    };
    config_default(&defaults);
    char *printed = config_print(&defaults);
    fuzz_seed(printed, strlen(printed));
    free(printed);
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        fuzz_seed(texts[i], strlen(texts[i]));
    }
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        fuzz_seed_bad(bad[i], strlen(bad[i]));
    }
}
