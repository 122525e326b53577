// What is behind the algorithm in a learner's state: the average of its policy and the statistics
// of observations. The first byte says which of both the run has now. What is read is saved as the
// same bytes; what is refused changes nothing of the part that it is in.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "learner/learner_train.h"
#include "tests/fuzz/fuzz.h"

enum { PARAMS = 6, OBS = 3, NO_AVERAGE = 1, NO_OBSERVED = 2, ADDED = 4 };

static void
save(const learner_average *average, const quantizer_observed *observed, oct_writer *writer)
{
    if (average != NULL) {
        learner_average_save(average, writer);
    }
    if (observed != NULL) {
        quantizer_observed_save(observed, writer);
    }
}

static oct_writer
saved(const learner_average *average, const quantizer_observed *observed)
{
    oct_writer measure = {0};
    save(average, observed, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used + 1), .capacity = measure.used};
    save(average, observed, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
    return writer;
}

static bool
is_same(const oct_writer *a, const oct_writer *b)
{
    return a->used == b->used && memcmp(a->base, b->base, a->used) == 0;
}

static void
try_each(learner_average *average, quantizer_observed *observed, oct_reader reader)
{
    oct_writer before = saved(average, observed);
    const uint8_t *from = reader.at;
    oct_err err = average != NULL ? learner_average_load(average, &reader)
                                  : quantizer_observed_load(observed, &reader);
    oct_writer after = saved(average, observed);
    size_t taken = (size_t)(reader.at - from);
    OCT_ASSERT(err == OCT_OK || (err == OCT_EPROTO && is_same(&before, &after)));
    if (err == OCT_OK && taken > 0) {
        OCT_ASSERT(after.used == taken && memcmp(after.base, from, taken) == 0);
    }
    free(before.base);
    free(after.base);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float params[PARAMS] = {1, -2, 3, -4, 5, -6}, obs[OBS] = {7, 8, 9};
    oct_reader reader = {.at = data, .left = size};
    uint8_t what = oct_read_u8(&reader);
    learner_average *average =
        (what & NO_AVERAGE) == 0 ? learner_average_create(PARAMS, 0.5) : NULL;
    quantizer_observed *observed =
        (what & NO_OBSERVED) == 0 ? quantizer_observed_create(OBS) : NULL;
    if ((what & ADDED) != 0 && average != NULL) {
        learner_average_add(average, params);
    }
    if ((what & ADDED) != 0 && observed != NULL) {
        quantizer_observed_add(observed, obs, 1);
    }
    if (average != NULL) {
        try_each(average, NULL, reader);
    }
    if (observed != NULL) {
        try_each(NULL, observed, reader);
    }
    oct_err err = learner_train_load(average, observed, &reader);
    OCT_ASSERT(err == OCT_OK || err == OCT_EPROTO);
    if (err == OCT_OK) {
        fuzz_accept();
    }
    learner_average_destroy(average);
    quantizer_observed_destroy(observed);
    return 0;
}

void
fuzz_seeds(void)
{
    static const float params[PARAMS] = {0.5f, -0.0f, 1e-30f, 3, -1e30f, 7};
    static const float obs[2 * OBS] = {1, 2, 3, -4, 5, 6};
    learner_average *average = learner_average_create(PARAMS, 0.9);
    quantizer_observed *observed = quantizer_observed_create(OBS);
    learner_average_add(average, params);
    quantizer_observed_add(observed, obs, 2);
    for (uint8_t what = 0; what < 2 * ADDED; what++) {
        oct_writer both = saved((what & NO_AVERAGE) == 0 ? average : NULL,
                                (what & NO_OBSERVED) == 0 ? observed : NULL);
        uint8_t *input = oct_alloc(both.used + 1);
        input[0] = what;
        memcpy(input + 1, both.base, both.used);
        fuzz_seed(input, both.used + 1);
        if ((what & NO_OBSERVED) == 0) {
            input[0] = what | NO_AVERAGE; // which is passed over
            fuzz_seed(input, both.used + 1);
            fuzz_seed_bad(input, both.used); // cut short
        }
        free(input);
        free(both.base);
    }
    quantizer_observed_destroy(observed);
    learner_average_destroy(average);
}
