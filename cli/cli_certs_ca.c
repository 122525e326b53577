// The CA folder of octet certs: makes keys, certificates and revocation lists with libcrypto, and
// changes the files in one step.
//
// A command collects the new content of all files in certs->change. commit writes it to
// pending.pem, in one atomic write, and then to the files. If the process dies before pending.pem
// is complete, nothing has changed; if it dies later, the next command finishes the change
// (settle). Writing a file twice does no harm. A lock on the folder keeps other octet certs out.

#include "cli/cli_certs.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_file.h"
#include "common/oct_role.h"
#include "common/oct_text.h"

#define CLOCK_SLACK_S     3600 // a host whose clock is slow accepts new certificates
#define SOON_DAYS         30   // octet certs list marks certificates that end within
#define PENDING           "pending.pem"
#define PENDING_BYTES_MAX (64 << 20)
#define ISSUED_TITLE      "Certificates that this CA has issued, oldest first\n"

// These calls of libcrypto fail only without memory.
#define NEED(call) OCT_ASSERT((call) > 0)

typedef struct entry {
    X509 *cert;
    // other programs may have issued it, so any text
    char name[CLI_CERTS_NAME_MAX + 1], role[CLI_CERTS_NAME_MAX + 1];
    int days_left;            // a begun day counts
    bool is_revoked, is_good; // is_good: neither revoked nor expired
} entry;

struct cli_certs {
    const char *folder; // as the user named it, for messages
    int lock_fd;        // or -1
    EVP_PKEY *key;      // of the CA; NULL until it is needed
    X509 *ca;
    X509_CRL *crl;
    struct stack_st_X509_INFO *files; // owns all certificates and the list, read or made
    entry *entries;                   // the oldest first
    size_t count;
    glob_t names; // folders that contain a node.crt
    // a description ("the certificate of 'a1'"), then for each file '#', its path, a newline, its
    // PEM
    BIO *change;
};

// ---- files

// Prints why something cannot be done with a file. why NULL: the file cannot be read, or libcrypto
// knows.
static oct_err
failed(const cli_certs *certs, const char *what, const char *file, const char *why)
{
    if (why == NULL) {
        why = access(file, R_OK) != 0 ? strerror(errno) : ERR_reason_error_string(ERR_peek_error());
    }
    cli_error("certs", "cannot %s '%s/%s': %s", what, certs->folder, file,
              why != NULL ? why : "it is damaged; restore it from a backup");
    return OCT_EIO;
}

// Writes a file, and makes its folder. Only the owner may enter a folder or read a key.
static oct_err
put(const cli_certs *certs, const char *path, const char *pem)
{
    char copy[512];
    (void)snprintf(copy, sizeof(copy), "%s", path);
    (void)umask(077);
    oct_err err = oct_file_make_folder(dirname(copy));
    (void)umask(022);
    if (err == OCT_OK) {
        err = strstr(pem, "PRIVATE KEY") != NULL ? oct_file_write_secret(path, pem, strlen(pem))
                                                 : oct_file_write(path, pem, strlen(pem));
    }
    return err == OCT_OK ? OCT_OK : failed(certs, "write", path, oct_file_strerror(errno));
}

// Writes all files of the change in pending.pem, some of which may be written already, and removes
// it. is_late: an earlier command was interrupted.
static oct_err
settle(const cli_certs *certs, bool is_late)
{
    uint8_t *text = NULL;
    size_t length;
    if (oct_file_read(PENDING, PENDING_BYTES_MAX, &text, &length) != OCT_OK) {
        return failed(certs, "read", PENDING, NULL);
    }
    char *rest = NULL, *path, *pem, *what = strtok_r((char *)text, "#", &rest);
    oct_err err = what != NULL ? OCT_OK : failed(certs, "use", PENDING, NULL);
    while (err == OCT_OK && (path = strtok_r(NULL, "\n", &rest)) != NULL &&
           (pem = strtok_r(NULL, "#", &rest)) != NULL) {
        err = put(certs, path, pem);
    }
    if (err == OCT_OK && oct_file_remove(PENDING) != 0) {
        err = failed(certs, "remove", PENDING, oct_file_strerror(errno));
    }
    if (err == OCT_OK && is_late) {
        fprintf(stderr, "octet certs: finished %s, which had been interrupted\n", what);
    }
    free(text);
    return err;
}

// Makes the change: it counts from the instant at which pending.pem is complete.
static oct_err
commit(const cli_certs *certs)
{
    char *text;
    size_t length = (size_t)BIO_get_mem_data(certs->change, &text);
    // The rest takes a moment and is worth finishing.
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    return oct_file_write_secret(PENDING, text, length) == OCT_OK
               ? settle(certs, false)
               : failed(certs, "write", PENDING, oct_file_strerror(errno));
}

// Begins the next file of the change. Returns where its content is to be written.
static BIO *
file_in(const cli_certs *certs, const char *folder, const char *file)
{
    NEED(BIO_printf(certs->change, "#%s/%s\n", folder, file));
    return certs->change;
}

// Enters the folder, locks it, and finishes an interrupted change.
static oct_err
enter(cli_certs *certs, bool is_new)
{
    if (is_new && oct_file_make_folder(certs->folder) != OCT_OK) {
        cli_error("certs", "cannot make folder '%s': %s", certs->folder, oct_file_strerror(errno));
        return OCT_EIO;
    }
    if (chdir(certs->folder) != 0 || (certs->lock_fd = oct_file_open_folder(".", false)) < 0) {
        cli_error("certs", "no CA folder '%s': %s%s", certs->folder, strerror(errno),
                  is_new ? "" : "\n  make it with octet certs init, or name it with --dir");
        return OCT_ENOTFOUND;
    }
    oct_lock got = oct_file_lock(certs->lock_fd, false); // a file system without locks is no error
    if (got == OCT_LOCK_TAKEN) {
        fprintf(stderr, "octet certs: waiting for another octet certs in '%s'\n", certs->folder);
        got = flock(certs->lock_fd, LOCK_EX) == 0 ? OCT_LOCK_HELD : OCT_LOCK_FAILED;
    }
    if (got == OCT_LOCK_FAILED) {
        return failed(certs, "lock", ".", strerror(errno));
    }
    glob_t left; // temporary files of an interrupted write
    (void)glob("{*,*/*}.tmp.[0-9]*", GLOB_BRACE, NULL, &left);
    for (size_t i = 0; i < left.gl_pathc; i++) {
        (void)oct_file_remove(left.gl_pathv[i]);
    }
    globfree(&left);
    if (oct_file_is_there(PENDING)) {
        OCT_TRY(settle(certs, true));
    }
    (void)glob("*/node.crt", 0, NULL, &certs->names);
    for (size_t i = 0; i < certs->names.gl_pathc; i++) {
        (void)dirname(certs->names.gl_pathv[i]); // in place
    }
    return OCT_OK;
}

static entry
entry_of(X509 *cert, X509_CRL *crl)
{
    entry e = {.cert = cert};
    X509_NAME *subject = X509_get_subject_name(cert);
    X509_REVOKED *revoked;
    int days = 0, seconds = 0;
    (void)X509_NAME_get_text_by_NID(subject, NID_commonName, e.name, sizeof(e.name));
    (void)X509_NAME_get_text_by_NID(subject, NID_organizationalUnitName, e.role, sizeof(e.role));
    (void)ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert));
    e.days_left = days + (seconds > 0);
    e.is_revoked = X509_CRL_get0_by_cert(crl, &revoked, cert) == 1;
    e.is_good = e.days_left > 0 && !e.is_revoked;
    return e;
}

// Adds the content of a file to certs->files.
static oct_err
read_file(const cli_certs *certs, const char *file)
{
    if (access(file, R_OK) != 0) {
        cli_error("certs", "'%s' is not a CA folder of octet certs init: %s: %s", certs->folder,
                  file, strerror(errno));
        return OCT_ENOTFOUND;
    }
    BIO *pem = BIO_new_file(file, "r");
    bool is_whole = PEM_X509_INFO_read_bio(pem, certs->files, NULL, NULL) != NULL;
    BIO_free(pem);
    if (!is_whole) {
        sk_X509_INFO_zero(certs->files); // libcrypto has freed the elements
        return failed(certs, "read", file, NULL);
    }
    return OCT_OK;
}

// Reads the CA, the list and all issued certificates.
static oct_err
load(cli_certs *certs)
{
    OCT_TRY(read_file(certs, "ca.crt"));
    OCT_TRY(read_file(certs, "crl.pem"));
    OCT_TRY(read_file(certs, "issued.pem"));
    int count = sk_X509_INFO_num(certs->files);
    certs->ca = count > 0 ? sk_X509_INFO_value(certs->files, 0)->x509 : NULL;
    certs->crl = count > 1 ? sk_X509_INFO_value(certs->files, 1)->crl : NULL;
    if (certs->ca == NULL || certs->crl == NULL ||
        X509_CRL_verify(certs->crl, X509_get0_pubkey(certs->ca)) != 1) {
        return failed(certs, "use", "crl.pem", "it is not signed by ca.key");
    }
    certs->entries = oct_alloc((size_t)count * sizeof(*certs->entries));
    for (int i = 2; i < count; i++) {
        X509 *cert = sk_X509_INFO_value(certs->files, i)->x509;
        if (cert != NULL) {
            certs->entries[certs->count++] = entry_of(cert, certs->crl);
        }
    }
    return OCT_OK;
}

// Returns the newest certificate of a name, or NULL.
static const entry *
find_newest(const cli_certs *certs, const char *name)
{
    for (size_t i = certs->count; i > 0; i--) {
        if (strcmp(certs->entries[i - 1].name, name) == 0) {
            return &certs->entries[i - 1];
        }
    }
    return NULL;
}

// Reads the CA's key, which only some commands need, and checks that it belongs to the CA.
static oct_err
unlock(cli_certs *certs)
{
    BIO *pem = BIO_new_file("ca.key", "r");
    // may ask for a pass phrase
    certs->key = pem != NULL ? PEM_read_bio_PrivateKey(pem, NULL, NULL, NULL) : NULL;
    BIO_free(pem);
    bool fits = certs->key != NULL && X509_check_private_key(certs->ca, certs->key) == 1;
    return fits ? OCT_OK : failed(certs, "use", "ca.key", NULL);
}

// ---- what libcrypto makes

// Adds an extension, in libcrypto's configuration syntax.
static void
extend(X509 *cert, X509 *ca, const char *name, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, ca, cert, NULL, NULL, 0);
    X509_EXTENSION *made = X509V3_EXT_conf(NULL, &context, name, value);
    NEED(X509_add_ext(cert, made, -1));
    X509_EXTENSION_free(made);
}

// Refuses a certificate that would end after the year 9999, the last year that X.509 can express.
static oct_err
dates_check(uint32_t days)
{
    const time_t last = 253402300799; // the last second of 9999
    time_t now = time(NULL);
    if (now >= 0 && now + (time_t)days * 86400 <= last) {
        return OCT_OK;
    }
    cli_error("certs",
              "a certificate of %u days from now would end after the year 9999: correct "
              "this machine's clock",
              days);
    return OCT_EINVAL;
}

// Makes a certificate, which is not signed yet and belongs to certs->files. The first one is the
// CA's own and has no role.
static X509 *
cert_make(const cli_certs *certs, EVP_PKEY *key, const char *role, const char *name, uint32_t days)
{
    const char *subject[][2] = {{"O", "Octet"}, {"OU", role}, {"CN", name}};
    uint8_t serial[20];
    X509_INFO *owner = X509_INFO_new();
    X509 *cert = owner->x509 = X509_new();
    NEED(sk_X509_INFO_push(certs->files, owner));
    NEED(RAND_bytes(serial, sizeof(serial)));
    serial[0] = (serial[0] & 0x3f) | 0x40; // positive, and always of the full length
    NEED(ASN1_STRING_set(X509_get_serialNumber(cert), serial, sizeof(serial)));
    NEED(X509_set_version(cert, X509_VERSION_3));
    NEED(X509_gmtime_adj(X509_getm_notBefore(cert), -CLOCK_SLACK_S) != NULL);
    NEED(X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL) != NULL);
    NEED(X509_set_pubkey(cert, key));
    for (size_t i = 0; i < OCT_COUNTOF(subject); i++) {
        NEED(subject[i][1] == NULL ||
             X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), subject[i][0], MBSTRING_ASC,
                                        (const uint8_t *)subject[i][1], -1, -1, 0));
    }
    NEED(X509_set_issuer_name(cert, X509_get_subject_name(certs->ca != NULL ? certs->ca : cert)));
    extend(cert, cert, "subjectKeyIdentifier", "hash");
    return cert;
}

// Revokes the valid certificates of a name, numbers and signs the list, and returns how many they
// were. The list is valid as long as the CA: a daemon whose list has expired refuses every peer, so
// an earlier date would stop all daemons unexpectedly.
static size_t
crl_renew(const cli_certs *certs, const char *name)
{
    X509_CRL *crl = certs->crl;
    size_t count = 0;
    ASN1_TIME *time = X509_gmtime_adj(NULL, 0);
    for (size_t i = 0; i < certs->count; i++) {
        if (strcmp(certs->entries[i].name, name) == 0 && certs->entries[i].is_good) {
            X509_REVOKED *revoked = X509_REVOKED_new();
            NEED(X509_REVOKED_set_serialNumber(revoked,
                                               X509_get_serialNumber(certs->entries[i].cert)));
            NEED(X509_REVOKED_set_revocationDate(revoked, time));
            NEED(X509_CRL_add0_revoked(crl, revoked));
            count++;
        }
    }
    ASN1_INTEGER *number = X509_CRL_get_ext_d2i(crl, NID_crl_number, NULL, NULL);
    int64_t last = ASN1_INTEGER_get(number); // 0: the list had no number
    number = number != NULL ? number : ASN1_INTEGER_new();
    AUTHORITY_KEYID *signer = AUTHORITY_KEYID_new();
    signer->keyid = ASN1_OCTET_STRING_dup(X509_get0_subject_key_id(certs->ca));
    NEED(ASN1_INTEGER_set_int64(number, last + 1));
    NEED(X509_CRL_add1_ext_i2d(crl, NID_crl_number, number, 0, X509V3_ADD_REPLACE));
    NEED(X509_CRL_add1_ext_i2d(crl, NID_authority_key_identifier, signer, 0, X509V3_ADD_REPLACE));
    NEED(X509_CRL_set1_lastUpdate(crl, X509_gmtime_adj(time, -CLOCK_SLACK_S)));
    NEED(X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(certs->ca)));
    NEED(X509_CRL_set_version(crl, X509_CRL_VERSION_2));
    NEED(X509_CRL_set_issuer_name(crl, X509_get_subject_name(certs->ca)));
    NEED(X509_CRL_sort(crl));
    NEED(X509_CRL_sign(crl, certs->key, EVP_sha256()));
    ASN1_TIME_free(time);
    ASN1_INTEGER_free(number);
    AUTHORITY_KEYID_free(signer);
    return count;
}

// Adds the revocation list to the change, for the CA and for the folder of each name.
static void
crl_add(const cli_certs *certs)
{
    NEED(PEM_write_bio_X509_CRL(file_in(certs, ".", "crl.pem"), certs->crl));
    for (size_t i = 0; i < certs->names.gl_pathc; i++) {
        const char *name = certs->names.gl_pathv[i];
        if (cli_certs_name_is_valid(name)) {
            NEED(PEM_write_bio_X509_CRL(file_in(certs, name, "crl.pem"), certs->crl));
        }
    }
}

// ---- the commands

oct_err
cli_certs_init(cli_certs *certs, const cli_certs_options *options)
{
    glob_t found;
    bool is_empty = glob("{*,.[!.]*}", GLOB_BRACE, NULL, &found) == GLOB_NOMATCH;
    globfree(&found);
    if (!is_empty) {
        cli_error("certs", "'%s'%s; name another folder with --dir", certs->folder,
                  oct_file_is_there("ca.crt") ? " is already a CA folder and is left unchanged"
                                              : ": Directory not empty");
        return OCT_EINVAL;
    }
    OCT_TRY(dates_check(options->days));
    certs->key = EVP_EC_gen("P-256");
    certs->ca = cert_make(certs, certs->key, NULL, options->title, options->days);
    extend(certs->ca, certs->ca, "basicConstraints", "critical,CA:TRUE,pathlen:0");
    extend(certs->ca, certs->ca, "keyUsage", "critical,keyCertSign,cRLSign");
    NEED(X509_sign(certs->ca, certs->key, EVP_sha256()));
    certs->crl = sk_X509_INFO_value(certs->files, 0)->crl = X509_CRL_new();
    (void)crl_renew(certs, "");
    NEED(BIO_puts(certs->change, "the creation of the CA"));
    NEED(PEM_write_bio_PrivateKey(file_in(certs, ".", "ca.key"), certs->key, NULL, NULL, 0, NULL,
                                  NULL));
    NEED(PEM_write_bio_X509(file_in(certs, ".", "ca.crt"), certs->ca));
    NEED(BIO_puts(file_in(certs, ".", "issued.pem"), ISSUED_TITLE));
    crl_add(certs);
    OCT_TRY(commit(certs));
    printf("%s: a CA for %" PRIu32 " days. Anyone with %s/ca.key can make certificates; keep the "
           "folder off the training hosts.\n"
           "  next: octet certs issue learner NAME --host HOST\n",
           certs->folder, options->days, certs->folder);
    return OCT_OK;
}

// Refuses a certificate that may not be issued. old: the newest certificate of the name, or NULL.
static oct_err
check(const cli_certs *certs, const cli_certs_options *options, const entry *old)
{
    const char *name = options->name;
    // The list shows each certificate's own end, so none may outlive the CA.
    int days = 0, seconds;
    (void)ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certs->ca));
    days = OCT_MAX(days, 0);
    if (old == NULL && options->renew) {
        cli_error("certs", "'%s' has no certificate to renew; octet certs list shows all", name);
    } else if (old == NULL && oct_file_is_there(name)) {
        cli_error("certs", "'%s/%s' does not belong to this CA; move it away", certs->folder, name);
    } else if (old != NULL && !options->renew) {
        cli_error("certs", "'%s' already has a certificate of role %s; --renew makes a new one",
                  name, old->role);
    } else if (old != NULL && old->is_good && strcmp(old->role, options->role) != 0) {
        cli_error("certs",
                  "'%s' has a certificate of role %s that is still valid; to give it another role, "
                  "first use octet certs revoke %s",
                  name, old->role, name);
    } else if (days < (int)options->days) {
        cli_error("certs",
                  "the CA is valid for %d more days; allowed is --days up to %d; after that, a new "
                  "CA is needed",
                  days, days);
    } else {
        return OCT_OK;
    }
    return OCT_EINVAL;
}

// Makes and signs a certificate. A renewed one without new hosts gets those of the old one.
static X509 *
node_make(const cli_certs *certs, EVP_PKEY *key, const cli_certs_options *options, const entry *old)
{
    // an operator connects, and no one connects to it
    bool is_operator = strcmp(options->role, "operator") == 0;
    int at = old != NULL ? X509_get_ext_by_NID(old->cert, NID_subject_alt_name, -1) : -1;
    char hosts[CLI_CERTS_NAME_MAX + 8 + CLI_CERTS_HOSTS_BYTES_MAX];
    (void)snprintf(hosts, sizeof(hosts), "%s:%s%s", cli_certs_host_kind(options->name),
                   options->name, options->hosts);
    X509 *cert = cert_make(certs, key, options->role, options->name, options->days);
    extend(cert, certs->ca, "basicConstraints", "critical,CA:FALSE");
    extend(cert, certs->ca, "keyUsage", "critical,digitalSignature");
    extend(cert, certs->ca, "extendedKeyUsage",
           is_operator ? "clientAuth" : "serverAuth,clientAuth");
    extend(cert, certs->ca, "authorityKeyIdentifier", "keyid:always");
    if (options->hosts[0] == '\0' && at >= 0) {
        NEED(X509_add_ext(cert, X509_get_ext(old->cert, at), -1));
    } else {
        extend(cert, certs->ca, "subjectAltName", hosts);
    }
    NEED(X509_sign(cert, certs->key, EVP_sha256()));
    return cert;
}

// Prints which hosts need the new crl.pem: all except that of the revoked name.
static void
print_crl(const cli_certs *certs, const char *revoked)
{
    size_t count = 0;
    printf("  now copy %s/NAME/crl.pem to the host of each of these names:", certs->folder);
    for (size_t i = 0; i < certs->names.gl_pathc; i++) {
        const char *name = certs->names.gl_pathv[i];
        if (cli_certs_name_is_valid(name) && strcmp(name, revoked) != 0) {
            printf(" %s", name);
            count++;
        }
    }
    printf("%s\n", count > 0 ? "" : " (none has a folder here)");
}

// Returns the program that a certificate of this role is for, as it follows "octet".
static const char *
start_of(const char *role)
{
    static const char *const starts[OCT_ROLES] = {
        [OCT_ROLE_LEARNER] = "-learner", [OCT_ROLE_REPLAY] = "-replay",
        [OCT_ROLE_ACTOR] = "-actor",     [OCT_ROLE_EVALUATOR] = "-actor --evaluate",
        [OCT_ROLE_OPERATOR] = " status", [OCT_ROLE_RELAY] = "-relay",
    };
    return starts[oct_role_from_name(role)];
}

oct_err
cli_certs_issue(cli_certs *certs, const cli_certs_options *options)
{
    const char *folder = certs->folder, *name = options->name, *role = options->role;
    const entry *old = find_newest(certs, name);
    OCT_TRY(check(certs, options, old));
    OCT_TRY(dates_check(options->days));
    OCT_TRY(unlock(certs));
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = node_make(certs, key, options, old);
    NEED(BIO_printf(certs->change, "the certificate of '%s'", name));
    NEED(BIO_puts(file_in(certs, ".", "issued.pem"), ISSUED_TITLE));
    for (size_t i = 0; i < certs->count; i++) {
        NEED(PEM_write_bio_X509(certs->change, certs->entries[i].cert));
    }
    NEED(PEM_write_bio_X509(certs->change, cert));
    NEED(
        PEM_write_bio_PrivateKey(file_in(certs, name, "node.key"), key, NULL, NULL, 0, NULL, NULL));
    NEED(PEM_write_bio_X509(file_in(certs, name, "node.crt"), cert));
    NEED(PEM_write_bio_X509(file_in(certs, name, "ca.crt"), certs->ca));
    if (options->revoke_old) {
        (void)crl_renew(certs, name);
        crl_add(certs);
    }
    NEED(PEM_write_bio_X509_CRL(file_in(certs, name, "crl.pem"), certs->crl));
    EVP_PKEY_free(key);
    OCT_TRY(commit(certs));
    printf("%s/%s: %s certificate for ", folder, name, role);
    int hosts = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1);
    (void)X509V3_EXT_print_fp(stdout, X509_get_ext(cert, hosts), 0, 0);
    printf("; good for %" PRIu32 " days\n", options->days);
    if (options->renew) {
        printf("  copy node.key and node.crt from %s/%s over the old files on its host; a daemon "
               "reloads them without a restart\n",
               folder, name);
    } else {
        printf("  copy the folder %s/%s to its host (scp -rp %s/%s HOST:tls) and start there: "
               "octet%s --tls tls\n",
               folder, name, folder, name, start_of(role));
    }
    if (options->revoke_old) {
        print_crl(certs, "");
    }
    return OCT_OK;
}

oct_err
cli_certs_revoke(cli_certs *certs, const cli_certs_options *options)
{
    const char *name = options->name;
    if (find_newest(certs, name) == NULL) {
        cli_error("certs", "'%s' has no certificate; octet certs list shows all", name);
        return OCT_ENOTFOUND;
    }
    OCT_TRY(dates_check(0)); // a list has only the date on which it is made
    OCT_TRY(unlock(certs));
    size_t revoked = crl_renew(certs, name);
    NEED(BIO_puts(certs->change, "a revocation"));
    crl_add(certs);
    OCT_TRY(commit(certs));
    if (revoked > 0) {
        printf("%s: %zu certificate%s revoked", name, revoked, oct_text_plural(revoked));
    } else {
        printf("%s: already revoked, or expired", name);
    }
    printf("; %s/crl.pem and its copies are updated\n", certs->folder);
    print_crl(certs, name);
    return OCT_OK;
}

static void
time_text(char *out, size_t size, const ASN1_TIME *time)
{
    struct tm utc = {0};
    (void)ASN1_TIME_to_tm(time, &utc);
    (void)strftime(out, size, "%Y-%m-%d %H:%MZ", &utc);
}

// Says in words whether a certificate is valid.
static void
state_text(char *out, size_t size, const entry *e)
{
    const ASN1_TIME *from = X509_get0_notBefore(e->cert);
    if (e->is_revoked || !e->is_good) {
        (void)snprintf(out, size, "%s", e->is_revoked ? "revoked" : "expired");
    } else if (X509_cmp_current_time(from) > 0) {
        char begin[32];
        time_text(begin, sizeof(begin), from);
        (void)snprintf(out, size, "not valid before %s", begin);
    } else if (e->days_left <= SOON_DAYS) {
        (void)snprintf(out, size, "expires in %d day%s", e->days_left,
                       oct_text_plural(e->days_left));
    } else {
        (void)snprintf(out, size, "valid");
    }
}

oct_err
cli_certs_list(cli_certs *certs, const cli_certs_options *options)
{
    (void)options;
    int width = 16;
    for (size_t i = 0; i < certs->count; i++) {
        width = OCT_MAX(width, (int)strlen(certs->entries[i].name));
    }
    printf("%-*s  %-9s  %-40s  %-17s  state\n", width, "name", "role", "serial", "valid until");
    for (size_t i = 0; i < certs->count; i++) {
        const entry *e = &certs->entries[i];
        char serial[64] = "", until[32], state[64];
        const ASN1_INTEGER *number = X509_get0_serialNumber(e->cert);
        (void)OPENSSL_buf2hexstr_ex(serial, sizeof(serial), NULL, ASN1_STRING_get0_data(number),
                                    (size_t)ASN1_STRING_length(number), '\0');
        time_text(until, sizeof(until), X509_get0_notAfter(e->cert));
        state_text(state, sizeof(state), e);
        printf("%-*s  %-9s  %-40s  %-17s  %s%s\n", width,
               cli_text_plain(e->name, sizeof(e->name)).text,
               cli_text_plain(e->role, sizeof(e->role)).text, serial, until, state,
               e->is_good && find_newest(certs, e->name) != e ? ", replaced" : "");
    }
    return OCT_OK;
}

oct_err
cli_certs_do(cli_certs_command *command, const cli_certs_options *options)
{
    cli_certs certs = {.folder = options->folder,
                       .lock_fd = -1,
                       .files = sk_X509_INFO_new_null(),
                       .change = BIO_new(BIO_s_mem())};
    bool is_new = command == cli_certs_init;
    (void)umask(077);
    oct_err err = enter(&certs, is_new);
    if (err == OCT_OK && !is_new) {
        err = load(&certs);
    }
    if (err == OCT_OK) {
        err = command(&certs, options);
    }
    free(certs.entries);
    sk_X509_INFO_pop_free(certs.files, X509_INFO_free);
    EVP_PKEY_free(certs.key);
    BIO_free(certs.change);
    globfree(&certs.names);
    if (certs.lock_fd >= 0) {
        (void)close(certs.lock_fd);
    }
    return err;
}
