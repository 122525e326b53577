#ifndef OCTET_OCTET_H
#define OCTET_OCTET_H

/* liboctet: Octet's environments and policies for programs in other languages. Plain C99.
 *
 *     vector.h  environments by name, stepped together
 *     policy.h  a policy file: actions, values, sampling
 *     learner.h a learner of your own on Octet's actors and replay
 *     env.h     the description of an environment, and the interface that plug-ins implement
 *
 * Link with -loctet. Handles are opaque. Structs that may grow begin with their size, and no field
 * is ever moved. A function that can fail returns a code and writes one line for the user into a
 * buffer of the caller or keeps the line in the handle. There is no global state: different threads
 * may use different handles at the same time, and one thread at a time uses a handle. Each symbol
 * has the version in which it was added (OCTET_1 ...) and is never removed or changed;
 * lib/liboctet.map lists them. */

#include "env.h"
#include "learner.h"
#include "policy.h"
#include "vector.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *octet_version(void); /* of the library, such as "0.9.0"; static storage */

/* The difference between a policy and another one for the same observations and actions, such as
 * the fp32 policy from which it was quantised. */
typedef struct octet_policy_divergence {
    uint32_t size;      /* set by the caller: sizeof(octet_policy_divergence) */
    uint32_t is_box;    /* 1: box actions, 0: discrete actions */
    double agreement;   /* discrete: share of rows with equal greedy actions; box: share of rows in
                           which all actions differ by less than 0.1 of their standard deviation */
    double kl;          /* discrete: mean KL(other || policy) in nats, for values that of a softmax
                           with their mean spread as temperature. NaN: box */
    double action_l2;   /* box: mean distance of actions in units of their standard
                           deviations. NaN: discrete */
    double max_abs;     /* largest difference of outputs, without a part that is common to all
                           actions; NaN: the policies have different heads */
    double relative_l2; /* ||y - y_other|| / ||y_other||, also without the common part */
} octet_policy_divergence;

/* Compares the policies on obs[count][obs_count] of their dtype, with count from 1 to 2^32 - 1.
 * Writes only out->size bytes of out, so that programs built with an older header work. Returns
 * OCTET_POLICY_EINVAL and writes nothing if the policies have different observations or actions, if
 * out->size is not set, or if an observation is not finite; error (error_size bytes) gets one line
 * with the cause. The call uses both policies, as one thread. */
int octet_policy_compare(octet_policy *policy, octet_policy *other, const void *obs, size_t count,
                         octet_policy_divergence *out, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_OCTET_H */
