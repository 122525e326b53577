#ifndef NN_NN_STATE_H
#define NN_NN_STATE_H

#include "common/oct_bytes.h"
#include "nn/nn_categorical.h"
#include "nn/nn_trainer.h"

// Nets and trainers as bytes, for checkpoints. Reading has two steps, so that a caller with
// several nets can check all before it changes one:
//   read   checks shape and length, that all floats are finite and second moments not negative,
//          and gives a view into the reader's bytes (OCT_EPROTO otherwise, and out is untouched)
//   apply  copies a view into the net
// Threads: the training thread. Owns: a view borrows the reader's bytes.

typedef struct nn_net_view {
    const uint8_t *params;
} nn_net_view;

typedef struct nn_trainer_view {
    nn_net_view net;
    uint64_t steps;
    const uint8_t *m;
    const uint8_t *v;
} nn_trainer_view;

void nn_net_save(const nn_net *net, oct_writer *writer);
OCT_CHECKED oct_err nn_net_read(nn_net_view *out, const nn_net *net, oct_reader *reader);
void nn_net_apply(nn_net *net, const nn_net_view *view);

void nn_trainer_save(const nn_trainer *trainer, oct_writer *writer);
OCT_CHECKED oct_err nn_trainer_read(nn_trainer_view *out, const nn_trainer *trainer,
                                    oct_reader *reader);
void nn_trainer_apply(nn_trainer *trainer, const nn_trainer_view *view);

// What the logits of a distribution stand for: the same weights on other atoms say something else.
void nn_support_save(const nn_support *support, oct_writer *writer);
// OCT_EPROTO: it is another one.
OCT_CHECKED oct_err nn_support_check(const nn_support *support, oct_reader *reader);

#endif // NN_NN_STATE_H
