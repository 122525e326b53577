// Prints the rows of every registry of numbers for tools/reference.py.
#include "actor/actor_figures.h"
#include "learner/learner_numbers.h"
#include "replay/replay_numbers.h"

static void
print_replay(void)
{
    replay_figures figures;
    oct_numbers *numbers = oct_numbers_create("replay.");
    replay_numbers_add(numbers, &figures);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

static void
print_actor(void)
{
    actor_figures figures;
    oct_numbers *numbers = oct_numbers_create("actor.");
    actor_figures_add(numbers, &figures);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
}

int
main(void)
{
    learner_figures figures;
    oct_config config;
    oct_config_default(&config);
    learner_means means = {0};
    oct_numbers *numbers = oct_numbers_create("learner.");
    learner_figures_init(&figures);
    learner_numbers_add(numbers, &figures);
    uint32_t count;
    const algo_number *algorithm = algo_numbers(&config, &count);
    for (uint32_t i = 0; i < count; i++) {
        learner_means_add(&means, numbers, &algorithm[i]);
    }
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
    print_replay();
    print_actor();
    return 0;
}
