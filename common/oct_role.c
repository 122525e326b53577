// The roles of peers, and their names.
#include "common/oct_role.h"

#include <string.h>

#include "common/oct_base.h"

// As the OU of a certificate has them; "none" and "local" are never in one.
static const char *const names[OCT_ROLES] = {
    [OCT_ROLE_NONE] = "none",         [OCT_ROLE_LOCAL] = "local",
    [OCT_ROLE_LEARNER] = "learner",   [OCT_ROLE_REPLAY] = "replay",
    [OCT_ROLE_ACTOR] = "actor",       [OCT_ROLE_EVALUATOR] = "evaluator",
    [OCT_ROLE_OPERATOR] = "operator", [OCT_ROLE_RELAY] = "relay",
};

const char *
oct_role_name(oct_role role)
{
    OCT_ASSERT(role < OCT_ROLES);
    return names[role];
}

oct_role
oct_role_from_name(const char *name)
{
    for (oct_role role = OCT_ROLE_LEARNER; role < OCT_ROLES; role++) {
        if (strcmp(name, names[role]) == 0) {
            return role;
        }
    }
    return OCT_ROLE_NONE;
}
