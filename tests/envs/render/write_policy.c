// Writes a random policy for an environment of float observations and discrete actions, so that
// tests of commands have one: write_policy OUT.oct ENV_ID OBSERVATIONS ACTIONS
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_file.h"
#include "tests/policy/random_image.h"

int
main(int argc, char **argv)
{
    OCT_ASSERT(argc == 5);
    const uint32_t widths[] = {(uint32_t)strtoul(argv[3], NULL, 10), 8,
                               (uint32_t)strtoul(argv[4], NULL, 10)};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    (void)snprintf(spec.env_id, sizeof(spec.env_id), "%s", argv[2]);
    policy_image *image = NULL;
    oct_err err = policy_image_create(&image, &spec, POLICY_FP32);
    OCT_ASSERT(err == OCT_OK);
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    random_floats(image->weights[0], (size_t)widths[0] * widths[1], 1, &rng);
    random_floats(image->weights[1], (size_t)widths[1] * widths[2], 1, &rng);
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    err = oct_file_replace(argv[1], bytes, length);
    free(bytes);
    policy_image_destroy(image);
    return err == OCT_OK ? 0 : 1;
}
