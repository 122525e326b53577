#ifndef POLICY_POLICY_PUBLIC_H
#define POLICY_POLICY_PUBLIC_H

#include "include/octet/policy.h"
#include "policy/policy_spec.h"

// What code of this project sees of a policy of the public interface.
//
// Threads: any. The spec is the policy's, and lives as long.
const policy_spec *policy_public_spec(const octet_policy *policy);

#endif // POLICY_POLICY_PUBLIC_H
