#ifndef ENVS_TOY_TEXT_TOY_MODEL_H
#define ENVS_TOY_TEXT_TOY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_pcg64.h"

// A finite Markov decision process, enumerated: for each state and action the outcomes with their
// probabilities, and the probabilities of the first state. Environments with few states draw from
// such a model; exact solvers read it.
//
// Threads: constant once it is made. Owns: everything lies in one block, which free() releases.

#define TOY_OUTCOMES_MAX 3

typedef struct toy_outcome {
    double probability;
    double reward;
    uint32_t next;
    bool terminated;
} toy_outcome;

// The outcomes of one action in one state, in the order in which a draw tries them.
typedef struct toy_choice {
    uint32_t count;
    toy_outcome outcome[TOY_OUTCOMES_MAX];
} toy_choice;

typedef struct toy_model {
    uint32_t states, actions;
    double *first;       // [states] probability that an episode begins there
    toy_choice *choices; // [states][actions]
} toy_model;

// Makes a model with all probabilities 0. states, actions >= 1.
toy_model *toy_model_create(uint32_t states, uint32_t actions);
const toy_choice *toy_model_choice(const toy_model *model, uint32_t state, uint32_t action);
// Adds an outcome to an action, which has fewer than TOY_OUTCOMES_MAX.
void toy_model_add(toy_model *model, uint32_t state, uint32_t action, toy_outcome outcome);

// Draw the first state, or an outcome. Each draws one double, even if only one outcome is possible,
// as Gymnasium's categorical_sample does: the result is the first entry at which the running sum of
// probabilities exceeds the double, or entry 0 if rounding leaves the whole sum below it.
uint32_t toy_model_begin(const toy_model *model, oct_pcg64 *rng);
const toy_outcome *toy_model_step(const toy_model *model, oct_pcg64 *rng, uint32_t state,
                                  uint32_t action);

#endif // ENVS_TOY_TEXT_TOY_MODEL_H
