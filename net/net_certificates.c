// Checks the certificates of a folder.
#include "net/net_certificates.h"

#include "net/net_tls.h"

oct_err
net_certificates_check(const char *folder, oct_role *role, int64_t *ends_s, char *reason,
                       size_t reason_size)
{
    net_tls *tls;
    OCT_TRY(net_tls_open(&tls, folder, reason, reason_size));
    *role = net_tls_role(tls);
    *ends_s = net_tls_ends_s(tls);
    net_tls_close(tls);
    return OCT_OK;
}
