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

#ifdef __cplusplus
extern "C" {
#endif

const char *octet_version(void); /* of the library, such as "0.1.0"; static storage */

#ifdef __cplusplus
}
#endif

#endif /* OCTET_OCTET_H */
