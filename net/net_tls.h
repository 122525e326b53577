#ifndef NET_NET_TLS_H
#define NET_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "common/oct_role.h"

// The certificates of this process, and the checks of other processes' certificates, by OpenSSL.
// Private to net/.
//
// A folder holds ca.crt (the CAs that we trust), node.crt and node.key (our certificate; only the
// owner may read the key), and optionally crl.pem (what was revoked). While a CA is renewed, ca.crt
// holds the old and the new one, and crl.pem a list of each. Removing crl.pem while a process runs
// revokes nothing less: the process keeps the last list. TLS 1.2 and 1.3; both sides always show a
// certificate; no session is resumed, so that every connection is checked against the certificates
// of its time.
//
// Threads: one user at a time.
typedef struct net_tls net_tls;

// The peer of a connection.
typedef struct net_tls_peer {
    oct_role role;
    oct_holder holder;
} net_tls_peer;

// Reads a folder. Errors, with one line for a person in reason:
//   OCT_EINVAL  a file is missing or unreadable, others can read the key, the key does not fit the
//               certificate, the certificate is not of ca.crt or names no role, or a CA has no list
//               while others have one
//   OCT_EAGAIN  a certificate or list has expired or is not valid yet, by the clock of this
//               machine: a correct clock or a new file heals it
OCT_CHECKED oct_err net_tls_open(net_tls **out, const char *folder, oct_reason *why);
void net_tls_close(net_tls *tls);
// Return our own role, and when our certificate expires, in seconds since 1970.
oct_role net_tls_role(const net_tls *tls);
int64_t net_tls_ends_s(const net_tls *tls);
// Checks that a certificate's role is the wanted one. OCT_EINVAL, with one line for a person in
// reason: it is not.
OCT_CHECKED oct_err net_tls_check_role(oct_role role, oct_role wanted, oct_reason *why);

// Reads the files again if they changed since they were read. *is_new: peers must be checked again,
// because at least ca.crt and crl.pem are new.
//   OCT_OK  all files are in use
//   OCT_EAGAIN  no file has changed
//   OCT_EINVAL  some cannot be used, and reason says why; the next call tries again
//
// Our certificate and key stay in use when the folder's are revoked, expired, of another role or do
// not fit each other. That does not stop a list that revokes others: ca.crt and crl.pem are used
// nevertheless, if one of the CAs issued the certificate that stays. If none did, or if ca.crt or
// crl.pem are bad themselves, everything stays as it is, so that a folder that is being copied
// disconnects no peer.
OCT_CHECKED oct_err net_tls_reload(net_tls *tls, bool *is_new, oct_reason *why);
// Returns true if the peer's certificate would be accepted now, by the present ca.crt and crl.pem;
// otherwise writes why not, in one line. Cost: one check of a signature.
bool net_tls_is_good(const net_tls *tls, const SSL *ssl, oct_reason *why);
// Returns true if nothing was reloaded since net_tls_connection made ssl, so that its handshake has
// used the present files.
bool net_tls_is_current(const net_tls *tls, const SSL *ssl);
// Says if there are revocation lists; KEPT: their file was removed since.
typedef enum net_tls_lists { NET_TLS_NO_LIST, NET_TLS_LIST, NET_TLS_LIST_KEPT } net_tls_lists;
net_tls_lists net_tls_revocation(const net_tls *tls);

// Makes a connection over memory: the caller writes received bytes to *in and sends what *out
// holds. host is the server's name or address when we dial, NULL when we accept. Never NULL;
// SSL_free frees both BIOs as well.
SSL *net_tls_connection(net_tls *tls, const char *host, BIO **in, BIO **out);
// Reads the peer's role and holder after the handshake. OCT_EPROTO: the certificate names no role.
OCT_CHECKED oct_err net_tls_peer_read(const SSL *ssl, net_tls_peer *out);
// Writes in one line why the last operation on ssl failed. Empties OpenSSL's error queue of this
// thread.
void net_tls_reason(const SSL *ssl, oct_reason *why);

#endif // NET_NET_TLS_H
