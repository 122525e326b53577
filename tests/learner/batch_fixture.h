#ifndef TESTS_LEARNER_BATCH_FIXTURE_H
#define TESTS_LEARNER_BATCH_FIXTURE_H

#include "learner/learner_batch.h"

// Windows first .. first + B - 1 of a sample reply as a whole batch, with its weights.
static inline OCT_CHECKED oct_err
batch_fill(learner_batch *batch, const policy_spec *spec, const wire_sampled *sampled,
           uint32_t first, double exponent)
{
    uint32_t B = batch->view.B;
    OCT_TRY(learner_batch_take(batch, spec, 0, sampled, first, B));
    learner_batch_weigh(batch, 0, B, sampled->size, exponent);
    return OCT_OK;
}

#endif // TESTS_LEARNER_BATCH_FIXTURE_H
