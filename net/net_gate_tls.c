// Reloads the gate's own certificates while it runs, and logs when they expire or cannot be used.
//
// Every second net_tls_reload checks the files of --tls. If they changed and can be used, new
// connections use them, and the gate checks all open connections again (NET-TLS-NEW). If they
// cannot be used, the certificate and key in use stay, and ca.crt and crl.pem are replaced only if
// they fit that certificate; the reason is logged once (NET-TLS-KEPT) and reported by /healthz. A
// removed crl.pem stays in force (NET-TLS-LIST-KEPT). In the last DAYS_LEFT_WARNING days the
// remaining days are logged once a day (NET-TLS-ENDS). After the end no new peer can connect, but
// open connections continue (NET-TLS-ENDED).
#include "net/net_gate_tls.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/oct_log.h"
#include "common/oct_reason.h"

#define DAYS_LEFT_WARNING 14 // days before the end from which a warning is logged each day
#define SECONDS_A_DAY     86400

void
gate_tls_init(gate_tls_watch *watch, const net_tls *tls)
{
    watch->trouble[0] = '\0';
    watch->days_left = INT_MAX; // so that the first check logs, if it must
    atomic_init(&watch->ends_s, tls == NULL ? 0 : net_tls_ends_s(tls));
}

// Returns whole days until ends_s; below 0: it has passed.
static int
days_until(int64_t ends_s)
{
    int64_t left_s = ends_s - time(NULL);
    return (int)((left_s < 0 ? left_s - (SECONDS_A_DAY - 1) : left_s) / SECONDS_A_DAY);
}

static int
days_since_end(const gate_tls_watch *watch)
{
    return -watch->days_left - 1;
}

// Logs the days that are left when their number changes, so once a day.
static void
days_tell(gate_tls_watch *watch, int days)
{
    bool is_new = days != watch->days_left;
    watch->days_left = days;
    if (is_new && days < 0) {
        oct_log_error(
            "NET-TLS-ENDED",
            "our certificate expired %d days ago: no new peer can connect, and this process cannot "
            "connect to others; renew it (octet certs issue ROLE NAME --renew)",
            days_since_end(watch));
    } else if (is_new && days < DAYS_LEFT_WARNING) {
        oct_log_warn("NET-TLS-ENDS", "our certificate is still valid for days_left=%d", days);
    }
}

bool
gate_tls_look(gate_tls_watch *watch, net_tls *tls)
{
    oct_reason why = {""};
    bool is_new;
    if (tls == NULL) {
        return false;
    }
    oct_err err = net_tls_reload(tls, &is_new, &why);
    int64_t ends_s = net_tls_ends_s(tls);
    int days = days_until(ends_s);
    atomic_store_explicit(&watch->ends_s, ends_s, memory_order_relaxed);
    if (err == OCT_OK) {
        oct_log_notice("NET-TLS-NEW", "certificates were reloaded: days_left=%d", days);
    } else if (err != OCT_EAGAIN && (is_new || strcmp(watch->trouble, why.text) != 0)) {
        oct_log_warn("NET-TLS-KEPT", "%s: %s",
                     is_new ? "ca.crt and crl.pem were reloaded, but the previous certificate and "
                              "key stay in use"
                            : "the previous certificates stay in use",
                     why.text);
    }
    (void)snprintf(watch->trouble, sizeof(watch->trouble), "%s", why.text);
    if (is_new && net_tls_revocation(tls) == NET_TLS_LIST_KEPT) {
        oct_log_warn("NET-TLS-LIST-KEPT", "crl.pem is missing: the certificates that it revoked "
                                          "stay revoked until this process ends; restore the file");
    }
    days_tell(watch, days);
    return is_new;
}

bool
gate_tls_trouble(const gate_tls_watch *watch, char out[NET_GATE_TROUBLE_BYTES])
{
    bool has_ended = watch->days_left < 0;
    if (has_ended) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "our certificate expired %d days ago: no new peer can connect",
                       days_since_end(watch));
    } else if (watch->trouble[0] != '\0') { // connections work as before
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES, "files of --tls cannot be used: %s",
                       watch->trouble);
    }
    return has_ended;
}

int64_t
gate_tls_ends_s(gate_tls_watch *watch)
{
    return atomic_load_explicit(&watch->ends_s, memory_order_relaxed);
}
