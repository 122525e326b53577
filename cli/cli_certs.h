#ifndef CLI_CLI_CERTS_H
#define CLI_CLI_CERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A small certificate authority (CA) in a folder, kept by the program openssl with its own files:
//
//   ca.crt ca.key crl.pem openssl.cnf    the authority
//   db/                                  index.txt, crlnumber, newcerts/SERIAL.pem of openssl ca
//   NAME/{ca.crt,crl.pem,node.crt,node.key}   what a daemon's --tls wants, one folder for each NAME
//
// Every change is made under a lock on the folder, and leaves traces (db/crl.due, node.key.new)
// from which the next cli_certs_open finishes or undoes what was interrupted. What a daemon may be
// reading is renamed into place.
//
// Threads: main thread. Errors: one message for a person is printed where the error is found.

#define CLI_CERTS_NAME_MAX        63
#define CLI_CERTS_HOST_MAX        253
#define CLI_CERTS_HOSTS_MAX       32
#define CLI_CERTS_DAYS            397
#define CLI_CERTS_CA_DAYS         3650
#define CLI_CERTS_DAYS_MAX        36500
#define CLI_CERTS_INDEX_BYTES_MAX (64u << 20)
// Below the CA folder: NAME/node.crt.new, db/newcerts/SERIAL.pem.
#define CLI_CERTS_PATH_BYTES 256

typedef struct cli_certs_role {
    const char *name;
    const char *usage; // extendedKeyUsage, as openssl writes it
    const char *start; // the command that takes --tls
} cli_certs_role;

extern const cli_certs_role cli_certs_roles[];
extern const size_t cli_certs_role_count;
// NULL: no such role.
const cli_certs_role *cli_certs_role_find(const char *name);

// One certificate, a line of db/index.txt. Texts that openssl was told by others may hold anything.
typedef struct cli_certs_entry {
    char status;     // V valid, R revoked, E expired when openssl last looked
    int64_t until_s; // UNIX time
    char serial[64]; // hex
    char role[CLI_CERTS_NAME_MAX + 1];
    char name[CLI_CERTS_NAME_MAX + 1];
    bool is_latest; // the newest of its name
} cli_certs_entry;

typedef struct cli_certs {
    const char *folder; // as the user named it
    int lock_fd;
    cli_certs_entry *entries; // oldest first; NULL while there are none
    size_t count;
} cli_certs;

typedef struct cli_certs_request {
    const cli_certs_role *role;
    const char *name;
    // What peers may call it: name first.
    char hosts[CLI_CERTS_HOSTS_MAX + 1][CLI_CERTS_HOST_MAX + 1];
    size_t host_count;
    uint32_t days;
    bool renew, revoke_old;
    bool keep_hosts; // with renew: the hosts of the old certificate, too
} cli_certs_request;

// Makes a CA in a new folder, whole or not at all. title is the CN of its subject.
OCT_CHECKED oct_err cli_certs_init(const char *folder, const char *title, uint32_t days);

// Takes the lock (waits for it), makes the folder the working folder and repairs what was
// interrupted.
OCT_CHECKED oct_err cli_certs_open(cli_certs *certs, const char *folder);
void cli_certs_close(cli_certs *certs);
// Reads the entries anew.
OCT_CHECKED oct_err cli_certs_load(cli_certs *certs);
// A line of the index, without its end; line is written to.
bool cli_certs_entry_parse(cli_certs_entry *out, char *line);
// The newest entry of a name, or NULL.
const cli_certs_entry *cli_certs_find(const cli_certs *certs, const char *name);
bool cli_certs_is_good(const cli_certs_entry *entry, int64_t now_s); // neither revoked nor expired

// Makes crl.pem anew and copies it to every NAME.
OCT_CHECKED oct_err cli_certs_crl_renew(cli_certs *certs);
// Revokes the certificates of name that are still good, but not the one with serial keep (or
// NULL), and renews crl.pem. *out: how many there were.
OCT_CHECKED oct_err cli_certs_revoke(cli_certs *certs, const char *name, const char *keep,
                                     size_t *out);
// A key and a certificate for request->name, put into its folder.
OCT_CHECKED oct_err cli_certs_issue(cli_certs *certs, cli_certs_request *request);

// ---- what openssl ca counts in

// Puts index.txt and crlnumber back to what they were, if openssl was killed or ran out of disk
// while it wrote them.
OCT_CHECKED oct_err cli_certs_ledger_mend(const cli_certs *certs, bool *mended);
// Runs an openssl ca that changes them, as cli_openssl_run. OCT_EIO: they had to be put back.
OCT_CHECKED oct_err cli_certs_ledger_run(const cli_certs *certs, const char *const *words);

// ---- folders of names

// The names that have a folder with a certificate, sorted; free each and the array. *out is NULL
// when *count is 0.
OCT_CHECKED oct_err cli_certs_names(char ***out, size_t *count);
void cli_certs_names_free(char **names, size_t count);
// Puts the certificate serial and NAME/node.key.new into place, with ca.crt and crl.pem.
OCT_CHECKED oct_err cli_certs_host_install(const char *name, const char *serial);
// Whether the key that waits in the folder of a name belongs to the certificate. A key or a
// certificate that was cut short belongs to none.
bool cli_certs_host_key_fits(const char *name, const char *serial);
// Takes away what an issue that failed has left.
void cli_certs_host_undo(const char *name);
// Finishes or undoes the issues that were interrupted.
OCT_CHECKED oct_err cli_certs_hosts_repair(const cli_certs *certs);
// Reads from and writes to as a file that others may read, as oct_file_write.
OCT_CHECKED oct_err cli_certs_copy_public(const char *to, const char *from);

// ---- names

// [A-Za-z0-9._-], no '.' or '-' first, at most CLI_CERTS_NAME_MAX, not a file of the CA.
bool cli_certs_name_is_valid(const char *name);
bool cli_certs_host_is_address(const char *host);
bool cli_certs_host_is_valid(const char *host); // an address or a DNS name
// Adds a host unless it is there. False: there are too many.
bool cli_certs_host_add(cli_certs_request *request, const char *host);

#endif // CLI_CLI_CERTS_H
