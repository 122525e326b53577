#ifndef OCTET_OCTET_H
#define OCTET_OCTET_H

/* liboctet: Octet's environments and policies for programs in other languages. Plain C99.
 *
 *     vector.h  environments by name, stepped together
 *     policy.h  a policy file: actions, values, sampling
 *     learner.h a learner of your own on Octet's actors and replay
 *     env.h     what an environment is, and the interface that plug-ins implement
 *
 * Link with -loctet. Handles are opaque; structs begin with their size where they may grow, and no
 * field is ever moved; a function that can fail answers a code, and puts one line for a person into
 * a buffer of the caller or keeps it in the handle. There is no global state: different handles may
 * be used by different threads at the same time, one handle by one thread at a time. Symbols carry
 * the version that they came with (OCTET_1 ...) and are never removed or changed;
 * liboctet/liboctet.map lists them. */

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

/* How far a policy is from another one of the same observations and actions, such as the one in
 * fp32 that it was quantised from. */
typedef struct octet_policy_divergence {
    uint32_t size;      /* set by the caller: sizeof(octet_policy_divergence) */
    uint32_t is_box;    /* else discrete actions */
    double agreement;   /* discrete: share of equal greedy actions; box: of rows whose actions
                           are all within 0.1 of their standard deviation over the rows */
    double kl;          /* discrete: mean KL(other || policy), nats; of values, of a softmax at the
                           temperature of their spread. NaN: box */
    double action_l2;   /* box: mean distance of actions in units of their standard
                           deviations. NaN: discrete */
    double max_abs;     /* of outputs, as far as they decide; NaN: the outputs mean other things */
    double relative_l2; /* the same: ||y - y_other|| / ||y_other|| */
} octet_policy_divergence;

/* On obs[count][obs_count], count from 1 to 2^32 - 1, of the policies' dtype. Writes out->size
 * bytes of out, so that a caller built with an older header is served. OCTET_POLICY_EINVAL, and
 * nothing written: they have other observations or actions, out->size is not set, or an observation
 * is not finite; error (error_size bytes) gets one line that says which. Both are used, by one
 * thread at a time. */
int octet_policy_compare(octet_policy *policy, octet_policy *other, const void *obs, size_t count,
                         octet_policy_divergence *out, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_OCTET_H */
