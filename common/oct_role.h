#ifndef COMMON_OCT_ROLE_H
#define COMMON_OCT_ROLE_H

#include <stdbool.h>
#include <stdint.h>

// What a peer is allowed to do. Between hosts its certificate says so (the OU of the subject). On
// this machine, and on a network that the user called trusted (--insecure), roles are not checked.
typedef enum oct_role {
    OCT_ROLE_NONE,  // unknown: nothing is allowed
    OCT_ROLE_LOCAL, // local sockets of this user, --insecure: everything is allowed
    OCT_ROLE_LEARNER,
    OCT_ROLE_REPLAY,
    OCT_ROLE_ACTOR,
    OCT_ROLE_EVALUATOR, // its returns decide which policy is kept, and when a run ends
    OCT_ROLE_OPERATOR,  // people and their tools: octet status, Prometheus
    OCT_ROLE_RELAY,     // forwards messages of others without decoding them
    OCT_ROLES,
} oct_role;

// Sets of roles.
#define OCT_ROLE_BIT(role) (1u << (role))
#define OCT_ROLES_ANY      ((1u << OCT_ROLES) - 1)

// Returns "learner" and so on, as in certificates; "none" and "local" for the first two. Static
// storage.
const char *oct_role_name(oct_role role);
// Returns the role that a certificate's OU names; OCT_ROLE_NONE: there is no such role. Threads:
// any.
oct_role oct_role_from_name(const char *name);

// Returns true if a peer may act as a relay. Peers on local sockets may, because they have no
// certificate.
static inline bool
oct_role_may_relay(oct_role role)
{
    return role == OCT_ROLE_LOCAL || role == OCT_ROLE_RELAY;
}

// Identifies the certificate that a peer has shown. Peers that share a certificate cannot be
// distinguished.
#define OCT_HOLDER_ID_BYTES 16 // of its SHA-256
#define OCT_HOLDER_NAME_MAX 64 // of its CN, X.520's upper bound
typedef struct oct_holder {
    uint8_t id[OCT_HOLDER_ID_BYTES];    // tells certificates apart
    char name[OCT_HOLDER_NAME_MAX + 1]; // CN, control characters replaced
} oct_holder;

#endif // COMMON_OCT_ROLE_H
