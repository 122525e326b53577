#ifndef POLICY_EXPORT_EXPORT_SELF_TEST_H
#define POLICY_EXPORT_EXPORT_SELF_TEST_H

#include <stdio.h>

#include "policy/policy_format.h"

// Writes the function NAME_self_test of an exported header, with the names of its parts
// (export_c99.c). The function acts on a few generated observations and compares a checksum of all
// outputs, actions and, with_sampling, samples with the checksum of policy_forward, policy_act and
// policy_sample, which is computed here.
//
// Threads: any.
void export_self_test_write(FILE *out, const policy_image *image, bool with_sampling);

#endif // POLICY_EXPORT_EXPORT_SELF_TEST_H
