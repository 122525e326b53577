#ifndef CLI_CLI_CERTS_H
#define CLI_CLI_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A small certificate authority (CA) in a folder. All its state is in these files:
//
//   ca.crt ca.key crl.pem  the authority, whose key may have a pass phrase; the revocation list
//   issued.pem             every certificate, the oldest first
//   NAME/                  a folder for a daemon's --tls, for each NAME: ca.crt, crl.pem, node.crt,
//                          node.key
//   pending.pem            a change in progress: written first as a whole, and removed when all
//                          the other files have it

#define CLI_CERTS_NAME_MAX        63
#define CLI_CERTS_HOSTS_BYTES_MAX 8192

typedef struct cli_certs_options {
    const char *folder;
    const char *title; // common name of a new CA
    const char *role, *name;
    char hosts[CLI_CERTS_HOSTS_BYTES_MAX]; // beside name: "" or ",DNS:train,IP:10.0.0.5"
    // renew: replace the name's certificate; revoke_old: and revoke the old ones
    bool renew, revoke_old;
    uint32_t days; // for which the CA or the certificate is valid
} cli_certs_options;

typedef struct cli_certs cli_certs;
typedef oct_err cli_certs_command(cli_certs *certs, const cli_certs_options *options);
cli_certs_command cli_certs_init, cli_certs_issue, cli_certs_revoke, cli_certs_list;

// Runs a command in options->folder, which becomes the current folder: waits for other processes
// there, finishes an interrupted change, and prints what was done, or one message for a person. The
// caller has checked the options. Threads: main thread.
OCT_CHECKED oct_err cli_certs_do(cli_certs_command *command, const cli_certs_options *options);

// Returns true for [A-Za-z0-9._-] without '.' or '-' at the beginning, at most CLI_CERTS_NAME_MAX
// characters, and not the name of a file of the CA.
bool cli_certs_name_is_valid(const char *name);
bool cli_certs_host_is_valid(const char *host);    // an IP address or a DNS name
const char *cli_certs_host_kind(const char *host); // libcrypto's name for it: "IP" or "DNS"

#endif // CLI_CLI_CERTS_H
