#ifndef NN_NN_LOSS_H
#define NN_NN_LOSS_H

#include <stdint.h>

// Losses over a batch.
// Threads: any. Owns: nothing.

// Huber loss of error[B]: e^2 / 2 for |e| <= delta, delta * (|e| - delta / 2) beyond. Returns the
// mean of weight * loss. slope[B] = the derivative of this mean by error; slope may be the same
// array as error.
float nn_loss_huber(float *slope, const float *error, const float *weight, float delta, uint32_t B);

#endif // NN_NN_LOSS_H
