#ifndef CLI_CLI_CERTS_H
#define CLI_CLI_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A small certificate authority (CA) in a folder. It knows nothing but its files:
//
//   ca.crt ca.key crl.pem    the authority, whose key may be under a pass phrase; what is revoked
//   issued.pem               every certificate, the oldest first
//   NAME/{ca.crt,crl.pem,node.crt,node.key}   what a daemon's --tls wants, one folder for each NAME
//   pending.pem              a change: written at once, and gone when all the others say the same

#define CLI_CERTS_NAME_MAX        63
#define CLI_CERTS_HOSTS_BYTES_MAX 8192

typedef struct cli_certs_options {
    const char *folder;
    const char *title; // of a new CA
    const char *role, *name;
    char hosts[CLI_CERTS_HOSTS_BYTES_MAX]; // beside name: "", ",DNS:train,IP:10.0.0.5"
    bool renew, revoke_old;
    uint32_t days; // that the CA, or the certificate, is good
} cli_certs_options;

typedef struct cli_certs cli_certs;
typedef oct_err cli_certs_command(cli_certs *certs, const cli_certs_options *options);
cli_certs_command cli_certs_init, cli_certs_issue, cli_certs_revoke, cli_certs_list;

// Does a command in options->folder, which becomes the working folder: waits for others there,
// finishes what was interrupted, prints what was done, or one message for a person. The options are
// valid. Threads: main thread.
OCT_CHECKED oct_err cli_certs_do(cli_certs_command *command, const cli_certs_options *options);

// [A-Za-z0-9._-], no '.' or '-' first, at most CLI_CERTS_NAME_MAX, not a file of the CA.
bool cli_certs_name_is_valid(const char *name);
bool cli_certs_host_is_valid(const char *host);    // an address or a DNS name
const char *cli_certs_host_kind(const char *host); // libcrypto's word for it: "IP" or "DNS"

#endif // CLI_CLI_CERTS_H
