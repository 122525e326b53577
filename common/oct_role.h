#ifndef COMMON_OCT_ROLE_H
#define COMMON_OCT_ROLE_H

#include <stdbool.h>
#include <stdint.h>

// Who a peer is. Between hosts its certificate says so (the subject's OU); on this machine, and on
// a network that was called trusted (--insecure), nobody asks.
typedef enum oct_role {
    OCT_ROLE_NONE,  // not known: may do nothing
    OCT_ROLE_LOCAL, // local sockets of this user, --insecure: everything is allowed
    OCT_ROLE_LEARNER,
    OCT_ROLE_REPLAY,
    OCT_ROLE_ACTOR,
    OCT_ROLE_EVALUATOR, // whose returns decide what is kept, and when a run ends
    OCT_ROLE_OPERATOR,  // people and their tools: octet status, Prometheus
    OCT_ROLE_RELAY,     // passes on what others say, understands none of it
    OCT_ROLES,
} oct_role;

// Sets of roles.
#define OCT_ROLE_BIT(role) (1u << (role))
#define OCT_ROLES_ANY      ((1u << OCT_ROLES) - 1)

// "learner", as certificates have it; "none" and "local" for the first two. Static storage.
const char *oct_role_name(oct_role role);
// The role of a certificate's OU; OCT_ROLE_NONE when there is none of that name. Threads: any.
oct_role oct_role_from_name(const char *name);

// Whether a peer may be a relay: over local sockets nobody has a certificate.
static inline bool
oct_role_may_relay(oct_role role)
{
    return role == OCT_ROLE_LOCAL || role == OCT_ROLE_RELAY;
}

// The certificate that a peer has shown. Who has the same one cannot be told apart.
#define OCT_HOLDER_ID_BYTES 16 // of its SHA-256
#define OCT_HOLDER_NAME_MAX 64 // of its CN, X.520's upper bound
typedef struct oct_holder {
    uint8_t id[OCT_HOLDER_ID_BYTES];    // tells certificates apart
    char name[OCT_HOLDER_NAME_MAX + 1]; // CN, control characters replaced
} oct_holder;

#endif // COMMON_OCT_ROLE_H
