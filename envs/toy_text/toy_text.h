#ifndef ENVS_TOY_TEXT_TOY_TEXT_H
#define ENVS_TOY_TEXT_TOY_TEXT_H

#include "envs/env_native.h"
#include "envs/toy_text/toy_model.h"

// What the toy-text environments share that are an enumerated model (FrozenLake, CliffWalking,
// Taxi; after Gymnasium's): the state is one number, which is also the observation. The task's
// model is a toy_model.
//
// Threads: as env_native. Owns: nothing.

// Functions for env_native_class; the state is state[0], the observation an int32.
void toy_text_reset(const env_native_task *task, oct_pcg64 *rng, double *state);
double toy_text_step(const env_native_task *task, oct_pcg64 *rng, double *state,
                     env_native_turn *turn);
void toy_text_observe(const double *state, void *obs);
bool toy_text_is_sane(const env_native_task *task, const double *state, bool has_ended);
// Fills in the spec from the model: count of observations, range of rewards, and whether anything
// is random.
void toy_text_describe(const toy_model *model, octet_env_spec *spec);

// A cell of a board; toy_cell_move returns the cell one step away, which stops at the edges.
typedef struct toy_cell {
    int row, column;
} toy_cell;
toy_cell toy_cell_move(toy_cell from, int down, int right, int rows, int columns);

// A space of count discrete observations or actions.
#define TOY_DISCRETE(count)                                                                        \
    {                                                                                              \
        .size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = (count)                      \
    }

#endif // ENVS_TOY_TEXT_TOY_TEXT_H
