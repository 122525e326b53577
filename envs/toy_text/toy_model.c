// Enumerated Markov decision processes: the table, and draws of first states and outcomes.
#include "envs/toy_text/toy_model.h"

#include "common/oct_base.h"

toy_model *
toy_model_create(uint32_t states, uint32_t actions)
{
    size_t choices = (size_t)states * actions;
    size_t head = sizeof(toy_model) + states * sizeof(double);
    char *block = oct_alloc(head + choices * sizeof(toy_choice));
    toy_model *model = (toy_model *)(void *)block;
    *model = (toy_model){
        .states = states,
        .actions = actions,
        .first = (double *)(void *)(block + sizeof(toy_model)),
        .choices = (toy_choice *)(void *)(block + head),
    };
    return model;
}

const toy_choice *
toy_model_choice(const toy_model *model, uint32_t state, uint32_t action)
{
    return &model->choices[(size_t)state * model->actions + action];
}

void
toy_model_add(toy_model *model, uint32_t state, uint32_t action, toy_outcome outcome)
{
    toy_choice *choice = &model->choices[(size_t)state * model->actions + action];
    OCT_ASSERT(choice->count < TOY_OUTCOMES_MAX && outcome.next < model->states);
    choice->outcome[choice->count++] = outcome;
}

uint32_t
toy_model_begin(const toy_model *model, oct_pcg64 *rng)
{
    double drawn = oct_pcg64_uniform(rng, 0, 1), sum = 0;
    for (uint32_t s = 0; s < model->states; s++) {
        sum += model->first[s];
        if (sum > drawn) {
            return s;
        }
    }
    return 0;
}

const toy_outcome *
toy_model_step(const toy_model *model, oct_pcg64 *rng, uint32_t state, uint32_t action)
{
    const toy_choice *choice = toy_model_choice(model, state, action);
    double drawn = oct_pcg64_uniform(rng, 0, 1), sum = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        sum += choice->outcome[i].probability;
        if (sum > drawn) {
            return &choice->outcome[i];
        }
    }
    return &choice->outcome[0];
}
