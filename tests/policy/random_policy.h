#ifndef TESTS_POLICY_RANDOM_POLICY_H
#define TESTS_POLICY_RANDOM_POLICY_H

// Random policies (random_image.h) with what tests of them need.

#include <stdlib.h>

#include "policy/policy_net.h"
#include "tests/policy/random_image.h"
#include "tests/support/oct_test.h"

#endif // TESTS_POLICY_RANDOM_POLICY_H
