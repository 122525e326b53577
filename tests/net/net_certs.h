#ifndef TESTS_NET_NET_CERTS_H
#define TESTS_NET_NET_CERTS_H

#include <stdbool.h>

// Certificate authorities and certificates for tests, made on the spot: nothing secret is kept in
// the project. Errors fail the running test. Threads: one user at a time.
typedef struct certs_ca certs_ca;

certs_ca *certs_ca_create(const char *name);
// One whose certificate root has signed.
certs_ca *certs_ca_create_below(certs_ca *root, const char *name);
void certs_ca_destroy(certs_ca *ca);

typedef struct certs_leaf {
    const char *unit;    // OU, the role
    const char *name;    // CN
    const char *sans;    // "DNS:localhost,IP:127.0.0.1"
    bool may_serve;      // EKU has serverAuth, not clientAuth alone
    int days_from, days; // valid from now + days_from, for so long; days 0: 30
} certs_leaf;

// Writes ca.crt, node.crt and node.key into folder (made if it is missing), over what is there.
void certs_write(certs_ca *ca, const certs_leaf *leaf, const char *folder);
// The usual one: named as its role, for this machine, 30 days.
void certs_write_usual(certs_ca *ca, const char *unit, bool may_serve, const char *folder);
// Revokes the certificate in folder_revoked and writes crl.pem into folder.
void certs_revoke(certs_ca *ca, const char *folder_revoked, const char *folder);
// Appends the CA's present list to crl.pem, and the CA to those that are trusted.
void certs_list_append(certs_ca *ca, const char *folder);
void certs_trust_append(certs_ca *ca, const char *folder);

#endif // TESTS_NET_NET_CERTS_H
