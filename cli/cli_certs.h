#ifndef CLI_CLI_CERTS_H
#define CLI_CLI_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_role.h"

// A small certificate authority (CA) in a folder. It knows nothing but its files:
//
//   ca.crt ca.key crl.pem    the authority, whose key may be under a pass phrase; what is revoked
//   db/newcerts/SERIAL.pem   every certificate that was issued
//   NAME/{ca.crt,crl.pem,node.crt,node.key}   what a daemon's --tls wants, one folder for each NAME
//   pending.pem              a change: written at once, and gone when all the others say the same
//
// A lock on the folder lets one command in. Threads: main thread. Errors: one message for a person
// is printed where the error is found.

#define CLI_CERTS_NAME_MAX  63
#define CLI_CERTS_HOST_MAX  253
#define CLI_CERTS_HOSTS_MAX 32

typedef struct cli_certs_entry {
    struct x509_st *cert;                                            // libcrypto's X509
    char serial[64];                                                 // hex
    char name[CLI_CERTS_NAME_MAX + 1], role[CLI_CERTS_NAME_MAX + 1]; // others may write anything
    int64_t until_s;                                                 // UNIX time
    bool is_good;                                                    // neither revoked nor expired
    bool is_revoked;
    bool is_latest; // of its name
    bool is_here;   // the latest, and NAME has its folder
} cli_certs_entry;

typedef struct cli_certs {
    const char *folder; // as the user named it; open: the working folder
    int lock_fd;
    struct x509_st *ca;
    struct evp_pkey_st *key; // NULL until it is needed
    struct X509_crl_st *crl;
    cli_certs_entry *entries; // the oldest first
    size_t count;
} cli_certs;

typedef struct cli_certs_request {
    oct_role role;
    const char *name;
    char hosts[CLI_CERTS_HOSTS_MAX + 1][CLI_CERTS_HOST_MAX + 1]; // NAME first
    size_t host_count;
    uint32_t days;
    bool renew, revoke_old; // renew with one host: those of the old certificate, too
} cli_certs_request;

// Takes the lock (waits for it), finishes what was interrupted, reads what there is; with a title,
// of a CA that is made in a new folder. Close it after an error, too.
OCT_CHECKED oct_err cli_certs_open(cli_certs *certs, const char *folder, const char *title,
                                   uint32_t days);
void cli_certs_close(cli_certs *certs);
// The newest certificate of a name, or NULL.
const cli_certs_entry *cli_certs_find(const cli_certs *certs, const char *name);
// A key and a certificate for request->name, put into its folder.
OCT_CHECKED oct_err cli_certs_issue(cli_certs *certs, cli_certs_request *request);
// Revokes the good certificates of a name and renews crl.pem everywhere. *out: how many there were.
OCT_CHECKED oct_err cli_certs_revoke(cli_certs *certs, const char *name, size_t *out);

// [A-Za-z0-9._-], no '.' or '-' first, at most CLI_CERTS_NAME_MAX, not a file of the CA.
bool cli_certs_name_is_valid(const char *name);
bool cli_certs_host_is_valid(const char *host); // an address or a DNS name
// Adds a host unless it is there. False: there are too many.
bool cli_certs_host_add(cli_certs_request *request, const char *host);

#endif // CLI_CLI_CERTS_H
