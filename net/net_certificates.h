#ifndef NET_NET_CERTIFICATES_H
#define NET_NET_CERTIFICATES_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "common/oct_role.h"

// Checks the certificates of a folder as a daemon checks those of --tls when it starts, without
// using them.
//
// Threads: any, one at a time.

// *role is the certificate's; *ends_s is when it expires, in seconds since 1970. OCT_EINVAL, with
// one line for a person in reason: a daemon would refuse the folder (net_tls.h lists the causes).
OCT_CHECKED oct_err net_certificates_check(const char *folder, oct_role *role, int64_t *ends_s,
                                           oct_reason *why);

#endif // NET_NET_CERTIFICATES_H
