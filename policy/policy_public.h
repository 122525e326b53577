#ifndef POLICY_POLICY_PUBLIC_H
#define POLICY_POLICY_PUBLIC_H

#include "include/octet/policy.h"
#include "policy/policy_spec.h"

// Access to the internals of a policy of the public interface, for code of this project.
//
// Threads: any. The spec belongs to the policy and lives as long as the policy.
const policy_spec *policy_public_spec(const octet_policy *policy);

#endif // POLICY_POLICY_PUBLIC_H
