// Checks the certificates of a folder.
#include "net/net_certificates.h"

#include "common/oct_reason.h"
#include "net/net_tls.h"

oct_err
net_certificates_check(const char *folder, oct_role *role, int64_t *ends_s, oct_reason *why)
{
    net_tls *tls;
    OCT_TRY(net_tls_open(&tls, folder, why));
    *role = net_tls_role(tls);
    *ends_s = net_tls_ends_s(tls);
    net_tls_close(tls);
    return OCT_OK;
}
