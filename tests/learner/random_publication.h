#ifndef TESTS_LEARNER_RANDOM_PUBLICATION_H
#define TESTS_LEARNER_RANDOM_PUBLICATION_H

#include "quantizer/quantizer_stage.h"
#include "tests/policy/random_image.h"

// A published version, the same one each time, whose policy can be read again. Release it.
static inline quantizer_publication *
random_publication(const policy_spec *spec, uint64_t version)
{
    oct_rng rng;
    oct_rng_init(&rng, version, 0);
    policy_image *image = random_image(spec, POLICY_INT8, false, &rng);
    image->origin.version = version;
    image->origin.updates = 10 * version;
    image->origin.env_steps = 100 * version;
    quantizer_publication *publication = quantizer_publication_create();
    publication->version = version;
    publication->updates = 10 * version;
    publication->env_steps = 100 * version;
    publication->length = policy_encoded_size(image);
    publication->bytes = oct_alloc(publication->length);
    policy_encode(image, publication->bytes);
    policy_image_destroy(image);
    return publication;
}

#endif // TESTS_LEARNER_RANDOM_PUBLICATION_H
