// Reloads the gate's own certificates while it runs, and logs when they expire or cannot be used.
//
// Every second net_tls_reload checks the files of --tls. If they changed and can be used, new
// connections use them, and the gate checks all open connections again (NET-TLS-NEW). If they
// cannot be used, the certificate and key in use stay, and ca.crt and crl.pem are replaced only if
// they fit that certificate; the reason is logged once (NET-TLS-KEPT) and reported by /healthz. A
// removed crl.pem stays in force (NET-TLS-LIST-KEPT). In the last DAYS_LEFT_WARNING days the
// remaining days are logged once a day (NET-TLS-ENDS). After the end no new peer can connect, but
// open connections continue (NET-TLS-ENDED).
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_gate_state.h"

#define DAYS_LEFT_WARNING 14 // days before the end from which a warning is logged each day
#define SECONDS_A_DAY     86400

void
gate_tls_init(net_gate *gate)
{
    gate->days_left = INT_MAX; // so that the first check logs, if it must
    atomic_init(&gate->tls_ends_s, gate->tls == NULL ? 0 : net_tls_ends_s(gate->tls));
}

// Returns whole days until ends_s; below 0: it has passed.
static int
days_until(int64_t ends_s)
{
    int64_t left_s = ends_s - time(NULL);
    return (int)((left_s < 0 ? left_s - (SECONDS_A_DAY - 1) : left_s) / SECONDS_A_DAY);
}

static int
days_since_end(const net_gate *gate)
{
    return -gate->days_left - 1;
}

// Logs the days that are left when their number changes, so once a day.
static void
days_tell(net_gate *gate, int days)
{
    bool is_new = days != gate->days_left;
    gate->days_left = days;
    if (is_new && days < 0) {
        oct_log_error(
            "NET-TLS-ENDED",
            "our certificate expired %d days ago: no new peer can connect, and this process cannot "
            "connect to others; renew it (octet certs issue ROLE NAME --renew)",
            days_since_end(gate));
    } else if (is_new && days < DAYS_LEFT_WARNING) {
        oct_log_warn("NET-TLS-ENDS", "our certificate is still valid for days_left=%d", days);
    }
}

bool
gate_tls_look(net_gate *gate)
{
    oct_reason why = {""};
    bool is_new;
    if (gate->tls == NULL) {
        return false;
    }
    oct_err err = net_tls_reload(gate->tls, &is_new, &why);
    int64_t ends_s = net_tls_ends_s(gate->tls);
    int days = days_until(ends_s);
    atomic_store_explicit(&gate->tls_ends_s, ends_s, memory_order_relaxed);
    if (err == OCT_OK) {
        oct_log_notice("NET-TLS-NEW", "certificates were reloaded: days_left=%d", days);
    } else if (err != OCT_EAGAIN && (is_new || strcmp(gate->tls_trouble, why.text) != 0)) {
        oct_log_warn("NET-TLS-KEPT", "%s: %s",
                     is_new ? "ca.crt and crl.pem were reloaded, but the previous certificate and "
                              "key stay in use"
                            : "the previous certificates stay in use",
                     why.text);
    }
    (void)snprintf(gate->tls_trouble, sizeof(gate->tls_trouble), "%s", why.text);
    if (is_new && net_tls_revocation(gate->tls) == NET_TLS_LIST_KEPT) {
        oct_log_warn("NET-TLS-LIST-KEPT", "crl.pem is missing: the certificates that it revoked "
                                          "stay revoked until this process ends; restore the file");
    }
    days_tell(gate, days);
    return is_new;
}

bool
gate_tls_trouble(const net_gate *gate, char out[NET_GATE_TROUBLE_BYTES])
{
    bool has_ended = gate->days_left < 0;
    if (has_ended) {
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES,
                       "our certificate expired %d days ago: no new peer can connect",
                       days_since_end(gate));
    } else if (gate->tls_trouble[0] != '\0') { // connections work as before
        (void)snprintf(out, NET_GATE_TROUBLE_BYTES, "files of --tls cannot be used: %s",
                       gate->tls_trouble);
    }
    return has_ended;
}
