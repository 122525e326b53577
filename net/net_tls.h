#ifndef NET_NET_TLS_H
#define NET_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "common/oct_err.h"
#include "common/oct_role.h"

// The certificates of this process and what is asked of others', by OpenSSL. Private to net/.
//
// A folder holds ca.crt (who is trusted), node.crt and node.key (who we are; only the owner may
// read the key), and may hold crl.pem (what was revoked). While a CA is renewed, ca.crt holds the
// old and the new one, and crl.pem a list of each. Once there was a list, removing crl.pem revokes
// nothing: the last one stays in use for as long as the process lives. TLS 1.2 and 1.3; both sides
// show a certificate, always; no session is resumed, so that every connection is checked against
// the certificates of its time.
//
// Threads: one user at a time.
typedef struct net_tls net_tls;

// Who is at the other end.
typedef struct net_tls_peer {
    oct_role role;
    oct_holder holder;
} net_tls_peer;

// Errors, with one line for a person in reason:
//   OCT_EINVAL  a file is missing or unreadable, others can read the key, the key does not fit the
//               certificate, the certificate is not of ca.crt or names no role; a CA has no list
//               where others have
//   OCT_EAGAIN  a certificate or list has expired or is not valid yet, by the clock of this
//   machine:
//               a right clock or a new file heals it
OCT_CHECKED oct_err net_tls_open(net_tls **out, const char *folder, char *reason,
                                 size_t reason_size);
void net_tls_close(net_tls *tls);
// Our own role, and when our certificate ends, in seconds since 1970.
oct_role net_tls_role(const net_tls *tls);
int64_t net_tls_ends_s(const net_tls *tls);
// OCT_EINVAL, with one line for a person in reason: a certificate of role is not of the one wanted.
OCT_CHECKED oct_err net_tls_check_role(oct_role role, oct_role wanted, char *reason,
                                       size_t reason_size);

// Looks whether files changed since they were read, and reads them anew if so. OCT_OK: all are in
// use; OCT_EAGAIN: nothing changed; OCT_EINVAL: not all can be used (reason says why; asked again
// next time). is_new: peers are to be checked anew, by a new ca.crt and crl.pem at least.
//
// Our certificate and key stay when the folder's cannot be used: they are revoked, have expired,
// are of another role or do not fit each other. That does not keep out a list that revokes others:
// ca.crt and crl.pem are taken nevertheless, if the CA of the certificate that stays is one of
// them. If it is not, or they are bad themselves, everything stays: what was half copied cuts
// nobody off.
OCT_CHECKED oct_err net_tls_reload(net_tls *tls, bool *is_new, char *reason, size_t reason_size);
// Whether the certificate that the connection was made with would be taken now, by the present
// ca.crt and crl.pem; else why not, in a line. Cost: that of checking a signature.
bool net_tls_is_good(const net_tls *tls, const SSL *ssl, char *reason, size_t reason_size);
// Whether nothing was reloaded since net_tls_connection made ssl: its handshake checked against the
// present files.
bool net_tls_is_current(const net_tls *tls, const SSL *ssl);
// Whether there are revocation lists, and of a file that is still there.
typedef enum net_tls_lists { NET_TLS_NO_LIST, NET_TLS_LIST, NET_TLS_LIST_KEPT } net_tls_lists;
net_tls_lists net_tls_revocation(const net_tls *tls);

// A connection over memory: in takes what came, out has what is to go. host: whom we connect to,
// NULL when we accept. Never NULL; SSL_free frees both ends as well.
SSL *net_tls_connection(net_tls *tls, const char *host, BIO **in, BIO **out);
// After the handshake. OCT_EPROTO: the certificate names no role.
OCT_CHECKED oct_err net_tls_peer_read(const SSL *ssl, net_tls_peer *out);
// Why the last operation on ssl failed, in a line. Empties OpenSSL's list of errors of this thread.
void net_tls_reason(const SSL *ssl, char *reason, size_t reason_size);

#endif // NET_NET_TLS_H
