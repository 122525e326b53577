// Prints the rows of every registry of numbers for tools/reference.py.
#include <string.h>

#include "actor/actor_measurements.h"
#include "common/oct_base.h"
#include "common/oct_process.h"
#include "learner/learner_numbers.h"
#include "net/net_numbers.h"
#include "relay/relay_numbers.h"
#include "replay/replay_numbers.h"

static void
print_replay(void)
{
    replay_measurements now;
    oct_numbers *numbers = oct_numbers_create("replay.");
    replay_numbers_add(numbers, &now);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

static void
print_relay(void)
{
    relay_measurements now;
    oct_numbers *numbers = oct_numbers_create("relay.");
    relay_numbers_add(numbers, &now);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

static void
print_actor(void)
{
    actor_measurements now;
    oct_numbers *numbers = oct_numbers_create("actor.");
    actor_measurements_add(numbers, &now);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

// What the algorithm tells and no other before it did.
static void
add_new(oct_numbers *numbers, const config_experiment *config)
{
    static const char *known[64];
    static learner_means means[64];
    static uint32_t known_count;
    uint32_t count;
    const algo_number *algorithm = algo_numbers(config, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < known_count && strcmp(known[k], algorithm[i].name) != 0) {
            k++;
        }
        if (k == known_count && k < OCT_COUNTOF(known)) {
            known[known_count] = algorithm[i].name;
            learner_means_add(&means[known_count++], numbers, &algorithm[i]);
        }
    }
}

static void
print_process(void)
{
    oct_process now;
    oct_numbers *numbers = oct_numbers_create("process.");
    oct_process_numbers_add(numbers, &now);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

static void
print_gate(void)
{
    net_measurements now;
    oct_numbers *numbers = oct_numbers_create("gate.");
    net_numbers_add(numbers, &now);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

int
main(void)
{
    learner_measurements now;
    config_experiment config;
    config_default(&config);
    oct_numbers *numbers = oct_numbers_create("learner.");
    learner_measurements_init(&now);
    learner_numbers_add(numbers, &now);
    for (int name = CONFIG_ALGO_DQN; name < CONFIG_ALGOS; name++) {
        config.algo.name = (config_algo_name)name;
        add_new(numbers, &config);
    }
    static const oct_metric_names named = {.count = 1, .name = {"NAME"}};
    static learner_eval_metrics metrics;
    learner_eval_metrics_add(&metrics, numbers, &named);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
    print_replay();
    print_relay();
    print_actor();
    print_process();
    print_gate();
    return 0;
}
