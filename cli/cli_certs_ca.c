// The CA folder of octet certs: what libcrypto makes, and the files that keep it.

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
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

#include "cli/cli_certs.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define DAY_S         86400
#define CLOCK_SLACK_S 3600 // a host whose clock is behind takes what was made just now
#define PENDING       "pending.pem"
#define SANS_BYTES    ((CLI_CERTS_HOSTS_MAX + 1) * (CLI_CERTS_HOST_MAX + 8))

// libcrypto can make all of this unless it is broken, or there is no memory.
#define NEED(call) OCT_ASSERT((call) > 0)

// ---- files

// why: NULL when the file is the reason, or libcrypto knows it.
static oct_err
failed(const cli_certs *certs, const char *what, const char *file, const char *why)
{
    if (why == NULL && access(file, R_OK) != 0) {
        why = strerror(errno);
    } else if (why == NULL) {
        why = ERR_reason_error_string(ERR_peek_error());
    }
    cli_error("certs", "cannot %s '%s/%s': %s", what, certs->folder, file,
              why != NULL ? why : "it is damaged; put it back from a backup");
    return OCT_EIO;
}

// Writes FOLDER/FILE with those that are not NULL. Only the owner may read a file with a key.
static oct_err
put(const cli_certs *certs, const char *folder, const char *file, EVP_PKEY *key, X509 *cert,
    X509_CRL *crl)
{
    char *bytes, path[CLI_CERTS_NAME_MAX + 128];
    BIO *pem = BIO_new(BIO_s_mem());
    // From the first write on it takes a moment and is worth finishing.
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    NEED(key == NULL ? 1 : PEM_write_bio_PrivateKey(pem, key, NULL, NULL, 0, NULL, NULL));
    NEED(cert == NULL ? 1 : PEM_write_bio_X509(pem, cert));
    NEED(crl == NULL ? 1 : PEM_write_bio_X509_CRL(pem, crl));
    long length = BIO_get_mem_data(pem, &bytes);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, file);
    oct_err err = oct_file_make_folder(folder);
    mode_t before = umask(022);
    if (err == OCT_OK) {
        err = key != NULL ? oct_file_write_secret(path, bytes, (size_t)length)
                          : oct_file_write(path, bytes, (size_t)length);
    }
    (void)umask(before);
    BIO_free(pem);
    return err == OCT_OK ? OCT_OK : failed(certs, "write", path, strerror(errno));
}

// NULL: the file is not there, or none is in it. A pass phrase is asked for on the terminal.
#define READER(name, type, read)                                                                   \
    static type *name(const char *file)                                                            \
    {                                                                                              \
        ERR_clear_error();                                                                         \
        BIO *pem = BIO_new_file(file, "r");                                                        \
        type *out = pem == NULL ? NULL : read(pem, NULL, NULL, NULL);                              \
        BIO_free(pem);                                                                             \
        return out;                                                                                \
    }
READER(key_read, EVP_PKEY, PEM_read_bio_PrivateKey)
READER(cert_read, X509, PEM_read_bio_X509)
READER(crl_read, X509_CRL, PEM_read_bio_X509_CRL)

static int64_t
seconds_of(const ASN1_TIME *time)
{
    struct tm utc = {0};
    return ASN1_TIME_to_tm(time, &utc) == 1 ? (int64_t)timegm(&utc) : 0;
}

static cli_certs_entry
entry_of(X509 *cert)
{
    const ASN1_INTEGER *serial = X509_get0_serialNumber(cert);
    const X509_NAME *subject = X509_get_subject_name(cert);
    cli_certs_entry entry = {.cert = cert, .until_s = seconds_of(X509_get0_notAfter(cert))};
    NEED(OPENSSL_buf2hexstr_ex(entry.serial, sizeof(entry.serial), NULL,
                               ASN1_STRING_get0_data(serial), (size_t)ASN1_STRING_length(serial),
                               '\0'));
    (void)X509_NAME_get_text_by_NID(subject, NID_commonName, entry.name, sizeof(entry.name));
    (void)X509_NAME_get_text_by_NID(subject, NID_organizationalUnitName, entry.role,
                                    sizeof(entry.role));
    return entry;
}

// The older first.
static int
compare(const void *left, const void *right)
{
    const X509 *a = ((const cli_certs_entry *)left)->cert;
    const X509 *b = ((const cli_certs_entry *)right)->cert;
    int order = ASN1_TIME_compare(X509_get0_notBefore(a), X509_get0_notBefore(b));
    return order != 0 ? order
                      : ASN1_INTEGER_cmp(X509_get0_serialNumber(a), X509_get0_serialNumber(b));
}

// ---- what libcrypto makes

// Signed by the CA; its own, by itself. subject and extensions are pairs, then NULL. The serial
// number begins with the time: certificates of the same second have an order.
static X509 *
cert_make(const cli_certs *certs, EVP_PKEY *key, const char *const *subject,
          const char *const *extensions, uint32_t days)
{
    uint8_t serial[20];
    const uint64_t now_ns = htobe64(oct_clock_wall_us() * 1000);
    X509 *cert = X509_new(), *ca = certs->ca == NULL ? cert : certs->ca;
    NEED(RAND_bytes(serial, sizeof(serial)));
    memcpy(serial, &now_ns, sizeof(now_ns));
    NEED(ASN1_STRING_set(X509_get_serialNumber(cert), serial, sizeof(serial)));
    NEED(X509_set_version(cert, X509_VERSION_3));
    NEED(X509_time_adj_ex(X509_getm_notBefore(cert), 0, ca == cert ? 0 : -CLOCK_SLACK_S, NULL) !=
         NULL);
    NEED(X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL) != NULL);
    NEED(X509_set_pubkey(cert, key));
    for (; *subject != NULL; subject += 2) {
        NEED(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), subject[0], MBSTRING_ASC,
                                        (const uint8_t *)subject[1], -1, -1, 0));
    }
    NEED(X509_set_issuer_name(cert, X509_get_subject_name(ca)));
    X509V3_CTX context;
    X509V3_set_ctx(&context, ca, cert, NULL, NULL, 0);
    for (; *extensions != NULL; extensions += 2) {
        X509_EXTENSION *made = X509V3_EXT_conf(NULL, &context, extensions[0], extensions[1]);
        NEED(X509_add_ext(cert, made, -1));
        X509_EXTENSION_free(made);
    }
    NEED(X509_sign(cert, certs->key, EVP_sha256()));
    return cert;
}

// Puts the good certificates of a name (NULL: of none) on the list, numbers and signs it. It lasts
// as long as the CA: who checks a certificate by a list that has run out refuses it, so that all
// daemons would stop on a date that nobody remembers. Returns how many there were.
static size_t
crl_renew(const cli_certs *certs, const char *name)
{
    X509_CRL *crl = certs->crl;
    size_t count = 0;
    int64_t last = 0;
    ASN1_TIME *now = X509_time_adj_ex(NULL, 0, 0, NULL);
    ASN1_TIME *begin = X509_time_adj_ex(NULL, 0, -CLOCK_SLACK_S, NULL);
    for (size_t i = 0; name != NULL && i < certs->count; i++) {
        if (strcmp(certs->entries[i].name, name) == 0 && certs->entries[i].is_good) {
            X509_REVOKED *revoked = X509_REVOKED_new();
            NEED(X509_REVOKED_set_serialNumber(revoked,
                                               X509_get_serialNumber(certs->entries[i].cert)));
            NEED(X509_REVOKED_set_revocationDate(revoked, now));
            NEED(X509_CRL_add0_revoked(crl, revoked));
            count++;
        }
    }
    ASN1_INTEGER *number = X509_CRL_get_ext_d2i(crl, NID_crl_number, NULL, NULL);
    if (number == NULL || ASN1_INTEGER_get_int64(&last, number) != 1) {
        ASN1_INTEGER_free(number);
        number = ASN1_INTEGER_new();
    }
    AUTHORITY_KEYID *signer = AUTHORITY_KEYID_new();
    signer->keyid = ASN1_OCTET_STRING_dup(X509_get0_subject_key_id(certs->ca));
    NEED(ASN1_INTEGER_set_int64(number, last + 1));
    NEED(X509_CRL_add1_ext_i2d(crl, NID_crl_number, number, 0, X509V3_ADD_REPLACE));
    NEED(X509_CRL_add1_ext_i2d(crl, NID_authority_key_identifier, signer, 0, X509V3_ADD_REPLACE));
    NEED(X509_CRL_set1_lastUpdate(crl, begin));
    NEED(X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(certs->ca)));
    NEED(X509_CRL_set_version(crl, X509_CRL_VERSION_2));
    NEED(X509_CRL_set_issuer_name(crl, X509_get_subject_name(certs->ca)));
    NEED(X509_CRL_sort(crl));
    NEED(X509_CRL_sign(crl, certs->key, EVP_sha256()));
    ASN1_TIME_free(now);
    ASN1_TIME_free(begin);
    AUTHORITY_KEYID_free(signer);
    ASN1_INTEGER_free(number);
    return count;
}

// ---- the folder

// Makes all files say what pending.pem says: a CA; a key and a certificate for the folder of a
// name; a list for every folder. Some may say it already.
static oct_err
settle(cli_certs *certs, bool is_late)
{
    EVP_PKEY *key = key_read(PENDING);
    X509 *cert = cert_read(PENDING);
    X509_CRL *crl = crl_read(PENDING);
    bool is_ca = cert != NULL && X509_check_ca(cert) > 0;
    cli_certs_entry entry = cert != NULL ? entry_of(cert) : (cli_certs_entry){.name = "*"};
    const char *folder = is_ca ? "." : entry.name;
    char file[96], pattern[96];
    (void)snprintf(file, sizeof(file), "%s.pem", entry.serial);
    (void)snprintf(pattern, sizeof(pattern), "%s/node.crt", crl != NULL ? "*" : entry.name);
    const struct {
        const char *folder, *file;
        EVP_PKEY *key;
        X509 *cert;
        X509_CRL *crl;
    } files[] = {
        {"db/newcerts", file, NULL, cert, NULL},
        {folder, is_ca ? "ca.key" : "node.key", key, NULL, NULL},
        {folder, is_ca ? "ca.crt" : "node.crt", NULL, cert, NULL},
        {folder, "ca.crt", NULL, cert == NULL || is_ca ? cert : certs->ca, NULL},
        {".", "crl.pem", NULL, NULL, crl},
    };
    oct_err err = OCT_OK;
    for (size_t i = 0; i < OCT_COUNTOF(files) && err == OCT_OK; i++) {
        if (files[i].key != NULL || files[i].cert != NULL || files[i].crl != NULL) {
            err = put(certs, files[i].folder, files[i].file, files[i].key, files[i].cert,
                      files[i].crl);
        }
    }
    glob_t found;
    (void)glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && err == OCT_OK; i++) {
        char *name = found.gl_pathv[i];
        *strchr(name, '/') = '\0';
        err = cli_certs_name_is_valid(name)
                  ? put(certs, name, "crl.pem", NULL, NULL, crl != NULL ? crl : certs->crl)
                  : OCT_OK;
    }
    globfree(&found);
    if (err == OCT_OK && unlink(PENDING) != 0 && errno != ENOENT) {
        err = failed(certs, "remove", PENDING, strerror(errno));
    }
    if (err == OCT_OK && is_late && cert != NULL) {
        fprintf(stderr, "octet certs: an issue of '%s' had been interrupted and is finished now\n",
                entry.name);
    } else if (err == OCT_OK && is_late && crl != NULL) {
        fprintf(stderr,
                "octet certs: a revocation had been interrupted: '%s/crl.pem' and its copies are "
                "new; octet certs list says whom it reached\n",
                certs->folder);
    }
    EVP_PKEY_free(key);
    X509_free(cert);
    X509_CRL_free(crl);
    return err;
}

// Makes the folder the working folder and locks it.
static oct_err
enter(cli_certs *certs)
{
    if (chdir(certs->folder) != 0 ||
        (certs->lock_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        cli_error("certs",
                  "no CA folder '%s': %s\n  make it with octet certs init, or name it with --dir",
                  certs->folder, strerror(errno));
        return OCT_ENOTFOUND;
    }
    if (flock(certs->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        fprintf(stderr, "octet certs: another one is at work in '%s': waiting for it\n",
                certs->folder);
        if (flock(certs->lock_fd, LOCK_EX) != 0) {
            return failed(certs, "lock", ".", strerror(errno));
        }
    }
    glob_t found;
    (void)glob("{*,*/*,db/newcerts/*}.tmp.[0-9]*", GLOB_BRACE, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        (void)unlink(found.gl_pathv[i]); // of a write that was interrupted
    }
    globfree(&found);
    return OCT_OK;
}

static oct_err
init(cli_certs *certs, const char *title, uint32_t days)
{
    glob_t found;
    int why = oct_file_make_folder(certs->folder) == OCT_OK ? 0 : errno;
    if (why == 0) {
        OCT_TRY(enter(certs));
        why = glob("{*,.[!.]*}", GLOB_BRACE, NULL, &found) == GLOB_NOMATCH ? 0 : ENOTEMPTY;
        globfree(&found);
    }
    if (why == ENOTEMPTY && (access("ca.crt", F_OK) == 0 || access(PENDING, F_OK) == 0)) {
        cli_error("certs",
                  "'%s' is a CA folder already and stays as it is; octet certs issue adds to it, "
                  "--dir names another one",
                  certs->folder);
    } else if (why != 0) {
        cli_error("certs", "the CA needs a new folder; cannot use '%s': %s", certs->folder,
                  strerror(why));
    }
    if (why != 0) {
        return OCT_EINVAL;
    }
    const char *subject[] = {"O", "Octet", "CN", title, NULL};
    static const char *const extensions[] = {"basicConstraints",
                                             "critical,CA:TRUE,pathlen:0",
                                             "keyUsage",
                                             "critical,keyCertSign,cRLSign",
                                             "subjectKeyIdentifier",
                                             "hash",
                                             NULL};
    certs->key = EVP_EC_gen("P-256");
    certs->ca = cert_make(certs, certs->key, subject, extensions, days);
    certs->crl = X509_CRL_new();
    (void)crl_renew(certs, NULL);
    OCT_TRY(put(certs, ".", PENDING, certs->key, certs->ca, certs->crl));
    return settle(certs, false);
}

static void
authority_read(cli_certs *certs)
{
    X509_free(certs->ca);
    X509_CRL_free(certs->crl);
    certs->ca = cert_read("ca.crt");
    certs->crl = crl_read("crl.pem");
}

static oct_err
load(cli_certs *certs)
{
    static const char *const files[] = {"ca.crt", "ca.key", "crl.pem", "db/newcerts"};
    authority_read(certs);
    if (access(PENDING, F_OK) == 0) {
        OCT_TRY(settle(certs, true));
        authority_read(certs);
    }
    for (size_t i = 0; i < OCT_COUNTOF(files); i++) {
        if (access(files[i], R_OK) != 0) {
            cli_error("certs", "'%s' is no CA folder of octet certs init: %s: %s", certs->folder,
                      files[i], strerror(errno));
            return OCT_ENOTFOUND;
        }
    }
    if (certs->ca == NULL || certs->crl == NULL) {
        return failed(certs, "read", certs->ca == NULL ? "ca.crt" : "crl.pem", NULL);
    }
    if (X509_CRL_verify(certs->crl, X509_get0_pubkey(certs->ca)) != 1) {
        return failed(certs, "use", "crl.pem", "it has no signature of ca.key");
    }
    // Of the program openssl, that kept such folders once: what it thinks of them no longer holds.
    (void)rename("openssl.cnf", "openssl.cnf.old");
    glob_t found;
    (void)glob("db/newcerts/*.pem", 0, NULL, &found);
    certs->entries = oct_alloc((found.gl_pathc + 1) * sizeof(*certs->entries));
    oct_err err = OCT_OK;
    for (size_t i = 0; i < found.gl_pathc && err == OCT_OK; i++) {
        X509 *cert = cert_read(found.gl_pathv[i]);
        X509_REVOKED *revoked;
        if (cert == NULL) {
            err = failed(certs, "read", found.gl_pathv[i], NULL);
        } else if (X509_check_ca(cert) > 0) {
            X509_free(cert); // its own
        } else {
            cli_certs_entry *entry = &certs->entries[certs->count++];
            *entry = entry_of(cert);
            entry->is_revoked = X509_CRL_get0_by_cert(certs->crl, &revoked, cert) == 1;
            entry->is_good = !entry->is_revoked && entry->until_s > (int64_t)time(NULL);
        }
    }
    globfree(&found);
    qsort(certs->entries, certs->count, sizeof(*certs->entries), compare);
    for (size_t i = 0; i < certs->count; i++) {
        certs->entries[i].is_latest =
            cli_certs_find(certs, certs->entries[i].name) == &certs->entries[i];
    }
    return err;
}

oct_err
cli_certs_open(cli_certs *certs, const char *folder, const char *title, uint32_t days)
{
    *certs = (cli_certs){.folder = folder, .lock_fd = -1};
    if (title != NULL) {
        return init(certs, title, days);
    }
    OCT_TRY(enter(certs));
    return load(certs);
}

void
cli_certs_close(cli_certs *certs)
{
    for (size_t i = 0; i < certs->count; i++) {
        X509_free(certs->entries[i].cert);
    }
    free(certs->entries);
    X509_free(certs->ca);
    X509_CRL_free(certs->crl);
    EVP_PKEY_free(certs->key);
    if (certs->lock_fd >= 0) {
        (void)close(certs->lock_fd);
    }
}

const cli_certs_entry *
cli_certs_find(const cli_certs *certs, const char *name)
{
    for (size_t i = certs->count; i > 0; i--) {
        if (strcmp(certs->entries[i - 1].name, name) == 0) {
            return &certs->entries[i - 1];
        }
    }
    return NULL;
}

// ---- commands

static oct_err
unlock(cli_certs *certs)
{
    certs->key = key_read("ca.key");
    bool fits = certs->key != NULL && X509_check_private_key(certs->ca, certs->key) == 1;
    return fits ? OCT_OK : failed(certs, "use", "ca.key", NULL);
}

oct_err
cli_certs_revoke(cli_certs *certs, const char *name, size_t *out)
{
    OCT_TRY(unlock(certs));
    *out = crl_renew(certs, name);
    OCT_TRY(put(certs, ".", PENDING, NULL, NULL, certs->crl));
    return settle(certs, false);
}

// Whether it may be issued. entry: the newest of its name, or NULL.
static oct_err
check(const cli_certs *certs, const cli_certs_request *request, const cli_certs_entry *entry)
{
    char path[CLI_CERTS_NAME_MAX + 32];
    struct stat found;
    const char *name = request->name;
    (void)snprintf(path, sizeof(path), "%s/node.crt", name);
    // One that outlived its CA would stop being good without a word of it in the list.
    int64_t left = (seconds_of(X509_get0_notAfter(certs->ca)) - (int64_t)time(NULL)) / DAY_S;
    if (entry == NULL && request->renew) {
        cli_error("certs", "there is no certificate of '%s' to renew; octet certs list shows all",
                  name);
    } else if (entry == NULL && lstat(name, &found) == 0 &&
               (!S_ISDIR(found.st_mode) || access(path, F_OK) == 0)) {
        cli_error("certs", "'%s/%s' is there and not of this CA; move it away", certs->folder,
                  name);
    } else if (entry != NULL && !request->renew) {
        cli_error("certs",
                  "'%s' has a certificate of role %s already; --renew makes a new one, or choose "
                  "another name",
                  name, entry->role);
    } else if (entry != NULL && entry->is_good &&
               strcmp(entry->role, oct_role_name(request->role)) != 0) {
        cli_error("certs",
                  "'%s' has a certificate of role %s that is still good; octet certs revoke %s "
                  "comes before another role, or choose another name",
                  name, entry->role, name);
    } else if (left < (int64_t)request->days) {
        cli_error("certs",
                  "the CA is good for %" PRId64 " more days, the certificate would be for %" PRIu32
                  "; allowed is --days up to %" PRId64 ", then a new CA is needed",
                  OCT_MAX(left, (int64_t)0), request->days, OCT_MAX(left, (int64_t)0));
    } else {
        return OCT_OK;
    }
    return OCT_EINVAL;
}

// Who renews without a --host means the hosts of before.
static oct_err
hosts_of(X509 *cert, cli_certs_request *request)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    oct_err err = OCT_OK;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && err == OCT_OK; i++) {
        int kind;
        const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &kind);
        char host[CLI_CERTS_HOST_MAX + 2] = "";
        const uint8_t *bytes = ASN1_STRING_get0_data(value);
        int length = ASN1_STRING_length(value);
        if (kind == GEN_IPADD) {
            (void)inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, host, sizeof(host));
        } else {
            (void)snprintf(host, sizeof(host), "%.*s", length, (const char *)bytes);
        }
        if ((kind != GEN_IPADD && kind != GEN_DNS) || !cli_certs_host_is_valid(host) ||
            !cli_certs_host_add(request, host)) {
            cli_error("certs",
                      "the old certificate of '%s' has names that are not taken over: '%s'; say "
                      "all that the new one shall have with --host",
                      request->name, host);
            err = OCT_EINVAL;
        }
    }
    GENERAL_NAMES_free(names);
    return err;
}

oct_err
cli_certs_issue(cli_certs *certs, cli_certs_request *request)
{
    const cli_certs_entry *old = cli_certs_find(certs, request->name);
    OCT_TRY(check(certs, request, old));
    if (request->renew && request->host_count == 1) {
        OCT_TRY(hosts_of(old->cert, request));
    }
    OCT_TRY(unlock(certs));
    char sans[SANS_BYTES];
    oct_text text;
    oct_text_init(&text, sans, sizeof(sans));
    for (size_t i = 0; i < request->host_count; i++) {
        struct in_addr ipv4;
        const char *host = request->hosts[i];
        bool is_address = strchr(host, ':') != NULL || inet_pton(AF_INET, host, &ipv4) == 1;
        oct_text_add(&text, "%s%s:%s", i > 0 ? "," : "", is_address ? "IP" : "DNS", host);
    }
    const char *role = oct_role_name(request->role);
    const char *subject[] = {"O", "Octet", "OU", role, "CN", request->name, NULL};
    // Nobody will take an operator for a learner or a replay: he can only dial.
    const char *usage = request->role == OCT_ROLE_OPERATOR ? "clientAuth" : "serverAuth,clientAuth";
    const char *extensions[] = {"basicConstraints",
                                "critical,CA:FALSE",
                                "keyUsage",
                                "critical,digitalSignature",
                                "extendedKeyUsage",
                                usage,
                                "subjectKeyIdentifier",
                                "hash",
                                "authorityKeyIdentifier",
                                "keyid:always",
                                "subjectAltName",
                                sans,
                                NULL};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cli_certs_entry made = {.cert = cert_make(certs, key, subject, extensions, request->days)};
    oct_err err = OCT_OK;
    if (old != NULL && compare(old, &made) >= 0) {
        cli_error("certs", "the clock is before the time when '%s' got its certificate: set it",
                  request->name);
        err = OCT_EINVAL;
    }
    if (err == OCT_OK && request->revoke_old) {
        (void)crl_renew(certs, request->name);
    }
    if (err == OCT_OK) {
        err = put(certs, ".", PENDING, key, made.cert, request->revoke_old ? certs->crl : NULL);
    }
    X509_free(made.cert);
    EVP_PKEY_free(key);
    return err == OCT_OK ? settle(certs, false) : err;
}
