#ifndef NN_NN_SAVED_H
#define NN_NN_SAVED_H

#include "common/oct_bytes.h"
#include "nn/nn_categorical.h"
#include "nn/nn_trainer.h"

// Nets and trainers as bytes, for checkpoints. Reading has two steps, so that a caller with several
// nets can check all of them before it changes one:
//   read   checks shape and length, that all floats are finite and that second moments are not
//          negative, and sets *out to a view into the reader's bytes. Otherwise the result is
//          OCT_EPROTO, and *out is unchanged.
//   apply  copies a view into the net.
//
// Threads: the training thread. Owns: nothing; a view borrows the reader's bytes.

typedef struct nn_net_view {
    const uint8_t *params; // [param_count] floats, not aligned
} nn_net_view;

typedef struct nn_trainer_view {
    nn_net_view net;
    uint64_t steps;   // Adam steps taken
    const uint8_t *m; // first moments, as params
    const uint8_t *v; // second moments, >= 0
} nn_trainer_view;

void nn_net_save(const nn_net *net, oct_writer *writer);
OCT_CHECKED oct_err nn_net_read(nn_net_view *out, const nn_net *net, oct_reader *reader);
void nn_net_apply(nn_net *net, const nn_net_view *view);

// In a group all ranks call nn_trainer_save, because it collects the moments of all ranks first,
// unless the writer only measures.
void nn_trainer_save(const nn_trainer *trainer, oct_writer *writer);
OCT_CHECKED oct_err nn_trainer_read(nn_trainer_view *out, const nn_trainer *trainer,
                                    oct_reader *reader);
void nn_trainer_apply(nn_trainer *trainer, const nn_trainer_view *view);

// The support of a distribution, that is, what its logits mean: with other atoms the same weights
// predict other returns. nn_support_check returns OCT_EPROTO if the saved support differs.
void nn_support_save(const nn_support *support, oct_writer *writer);
OCT_CHECKED oct_err nn_support_check(const nn_support *support, oct_reader *reader);

#endif // NN_NN_SAVED_H
