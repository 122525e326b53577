#ifndef POLICY_POLICY_ACTIVATE_H
#define POLICY_POLICY_ACTIVATE_H

#include "policy/policy_activations.h"
#include "policy/policy_curves.h"

// Returns activation(x), by the arithmetic of policy_curves.h. Threads: any.
static inline float
policy_activate(policy_activation activation, float x)
{
    switch (activation) {
#define ACTIVATE_CASE(ENUM, name, version)                                                         \
    case POLICY_##ENUM:                                                                            \
        return policy_##name(x);
        POLICY_ACTIVATIONS(ACTIVATE_CASE)
#undef ACTIVATE_CASE
    case POLICY_ACTIVATION_COUNT:
        break;
    }
    return x;
}

#endif // POLICY_POLICY_ACTIVATE_H
