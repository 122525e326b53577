#ifndef TESTS_POLICY_RANDOM_POLICY_H
#define TESTS_POLICY_RANDOM_POLICY_H

// Random policies (random_image.h) with what tests of them need.

#include <stdlib.h>

#include "policy/policy_net.h"
#include "tests/policy/random_image.h"
#include "tests/support/oct_test.h"

// An image as what acts, which takes its place.
static inline policy_net *
net_of(policy_image *image)
{
    policy_net *net = NULL;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_image_destroy(image);
    return net;
}

#endif // TESTS_POLICY_RANDOM_POLICY_H
