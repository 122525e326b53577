// Loads a folder of certificates, reloads it when it changes, and makes TLS connections that check
// the peer's certificate, role and revocation.
#include "net/net_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define VALIDITY_BYTES 320 // size of validity_text's text

enum { FILE_CA, FILE_CERT, FILE_KEY, FILE_CRL, FILES };

static const char *const file_names[FILES] = {"ca.crt", "node.crt", "node.key", "crl.pem"};

// Shows that a file was replaced or written to.
typedef struct file_state {
    bool exists;
    struct timespec changed;
    off_t bytes;
    ino_t inode;
} file_state;

// The content of a folder: the CAs that we trust, and our own certificate.
typedef struct material {
    SSL_CTX *ctx;              // for both ends; ca.crt and the lists are in its store
    STACK_OF(X509_CRL) * crls; // NULL: no lists
    bool crls_are_kept;        // their file was removed
    oct_role role;
    time_t ends; // when our certificate expires
} material;

struct net_tls {
    material used;
    bool own_is_kept;        // node.crt and node.key differ from the folder's, which are bad
    file_state files[FILES]; // state when they were read
    char folder[];           // ends with zero
};

static void
path_of(char *out, size_t size, const char *folder, int file)
{
    (void)snprintf(out, size, "%s/%s", folder, file_names[file]);
}

static void
files_look(const char *folder, file_state files[FILES])
{
    char path[4096];
    for (int i = 0; i < FILES; i++) {
        struct stat status;
        path_of(path, sizeof(path), folder, i);
        files[i] = (file_state){0};
        if (oct_file_stat(path, &status) == 0) {
            files[i] = (file_state){true, status.st_mtim, status.st_size, status.st_ino};
        }
    }
}

static bool
file_is_same(const file_state *a, const file_state *b)
{
    return a->exists == b->exists && a->bytes == b->bytes && a->inode == b->inode &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

// Compares ca.crt and crl.pem.
static bool
trust_is_same(const file_state *a, const file_state *b)
{
    return file_is_same(&a[FILE_CA], &b[FILE_CA]) && file_is_same(&a[FILE_CRL], &b[FILE_CRL]);
}

// Compares node.crt and node.key.
static bool
own_is_same(const file_state *a, const file_state *b)
{
    return file_is_same(&a[FILE_CERT], &b[FILE_CERT]) && file_is_same(&a[FILE_KEY], &b[FILE_KEY]);
}

static const char *
error_text(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code == 0 ? NULL : ERR_reason_error_string(code);
    return text != NULL ? text : "cannot be read";
}

// Checks that the file can be read and that no other user can change it. Done before OpenSSL reads
// it, whose message for a missing file helps no one.
static oct_err
file_check(const char *path, oct_reason *why)
{
    struct stat status;
    if (oct_file_stat(path, &status) != 0 || access(path, R_OK) != 0) {
        return oct_refuse(why, "%s: %s", path, oct_file_strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return oct_refuse(why, "%s: not a regular file", path);
    }
    return oct_owner_check(path, false, why);
}

// Checks that other users cannot read the key. A group may read a key of root's: that is how a
// service gets a secret that it must not change.
static oct_err
key_check(const char *key, oct_reason *why)
{
    struct stat status;
    if (oct_file_stat(key, &status) != 0) {
        return oct_refuse(why, "%s: %s", key, oct_file_strerror(errno));
    }
    bool is_own = status.st_uid == geteuid();
    mode_t others = status.st_mode & (is_own ? 077 : 027);
    return others == 0
               ? OCT_OK
               : oct_refuse(why,
                            "%s: other users can %s this key (mode %04o): chmod %s %s, and if they "
                            "are not trusted, issue another key",
                            key, (others & 044) != 0 ? "read" : "write",
                            (unsigned)(status.st_mode & 07777), is_own ? "600" : "640", key);
}

// Checks that the folder exists and that no other user decides which CAs this host trusts or which
// certificate it has. A Secret of Kubernetes is a folder with the sticky bit: others may add files
// to it, which the owner checks of the files catch.
static oct_err
folder_check(const char *folder, oct_reason *why)
{
    if (!oct_file_is_there(folder)) {
        return oct_refuse(why, "%s: %s; 'octet certs issue ROLE NAME' makes the folder for --tls",
                          folder, oct_file_strerror(errno));
    }
    return oct_owner_check(folder, true, why);
}

// ---- names in certificates

// Writes the subject's first entry of that kind, or "": printable UTF-8 for any bytes.
static void
name_entry(const X509 *cert, int nid, char *out, size_t size)
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    const X509_NAME_ENTRY *entry =
        X509_NAME_get_entry(subject, X509_NAME_get_index_by_NID(subject, nid, -1));
    const ASN1_STRING *text = entry == NULL ? NULL : X509_NAME_ENTRY_get_data(entry);
    out[0] = '\0';
    if (text != NULL) {
        (void)oct_text_quote(out, size, (const char *)ASN1_STRING_get0_data(text),
                             (size_t)ASN1_STRING_length(text));
    }
    for (char *c = out; *c != '\0'; c++) {
        *c = *c == '"' ? '?' : *c; // logs put the name in quotes
    }
}

static oct_role
role_of(const X509 *cert)
{
    char unit[OCT_HOLDER_NAME_MAX + 1];
    name_entry(cert, NID_organizationalUnitName, unit, sizeof(unit));
    return oct_role_from_name(unit);
}

static const char *
article_of(oct_role role)
{
    return strchr("aeo", oct_role_name(role)[0]) != NULL ? "an" : "a";
}

oct_err
net_tls_check_role(oct_role role, oct_role wanted, oct_reason *why)
{
    if (role == wanted) {
        return OCT_OK;
    }
    return oct_refuse(why,
                      "the certificate is %s %s's; %s %s's is needed (octet certs issue %s NAME "
                      "makes one)",
                      article_of(role), oct_role_name(role), article_of(wanted),
                      oct_role_name(wanted), oct_role_name(wanted));
}

// ---- the CAs that we trust

static bool
crls_have(STACK_OF(X509_CRL) * crls, X509 *ca)
{
    bool found = false;
    for (int i = 0; i < sk_X509_CRL_num(crls) && !found; i++) {
        X509_CRL *crl = sk_X509_CRL_value(crls, i);
        found = X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(ca)) == 0 &&
                X509_CRL_verify(crl, X509_get0_pubkey(ca)) == 1;
    }
    ERR_clear_error();
    return found;
}

// Returns true if ca issued another certificate of the store; then ca needs no list of its own. The
// names do not decide: a CA that replaces another may have the same name.
static bool
ca_has_below(STACK_OF(X509_OBJECT) * objects, X509 *ca)
{
    bool found = false;
    for (int i = 0; i < sk_X509_OBJECT_num(objects) && !found; i++) {
        X509 *other = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
        found = other != NULL && X509_cmp(other, ca) != 0 &&
                X509_check_issued(ca, other) == X509_V_OK &&
                X509_verify(other, X509_get0_pubkey(ca)) == 1;
    }
    ERR_clear_error();
    return found;
}

// Adds the lists to the store. With lists, each CA that issues certificates must have its own,
// because OpenSSL refuses all certificates of a CA without one; this reports it before a peer is
// refused.
static oct_err
crls_use(X509_STORE *store, STACK_OF(X509_CRL) * crls, const char *folder, oct_reason *why)
{
    char name[OCT_HOLDER_NAME_MAX + 1];
    for (int i = 0; i < sk_X509_CRL_num(crls); i++) {
        if (X509_STORE_add_crl(store, sk_X509_CRL_value(crls, i)) != 1 ||
            X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) != 1) {
            return oct_refuse(why, "%s/%s: %s", folder, file_names[FILE_CRL], error_text());
        }
    }
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    for (int i = 0; crls != NULL && i < sk_X509_OBJECT_num(objects); i++) {
        X509 *ca = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
        if (ca != NULL && !crls_have(crls, ca) && !ca_has_below(objects, ca)) {
            name_entry(ca, NID_commonName, name, sizeof(name));
            return oct_refuse(
                why, "%s/%s has no revocation list of the CA \"%s\" in %s: append its crl.pem",
                folder, file_names[FILE_CRL], name, file_names[FILE_CA]);
        }
    }
    return OCT_OK;
}

// Reads all lists of the file: there are two while a CA is renewed. Without a file, the lists in
// use stay.
static oct_err
crls_read(material *m, const char *folder, const material *before, oct_reason *why)
{
    char path[4096];
    struct stat status;
    path_of(path, sizeof(path), folder, FILE_CRL);
    if (oct_file_stat(path, &status) !=
        0) { // nothing was revoked, or the file was removed, which changes nothing
        m->crls_are_kept = before != NULL && before->crls != NULL;
        m->crls = m->crls_are_kept
                      ? sk_X509_CRL_deep_copy(before->crls, X509_CRL_dup, X509_CRL_free)
                      : NULL;
        return OCT_OK;
    }
    OCT_TRY(file_check(path, why));
    BIO *file = BIO_new_file(path, "r");
    X509_CRL *crl = NULL;
    m->crls = sk_X509_CRL_new_null();
    OCT_ASSERT(m->crls != NULL);
    while (file != NULL && (crl = PEM_read_bio_X509_CRL(file, NULL, NULL, NULL)) != NULL) {
        OCT_ASSERT(sk_X509_CRL_push(m->crls, crl) > 0);
    }
    (void)BIO_free(file);
    bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (sk_X509_CRL_num(m->crls) > 0 && is_end) {
        ERR_clear_error();
        return OCT_OK;
    }
    return oct_refuse(why, "%s: not a revocation list in PEM (%s)", path, error_text());
}

// Makes a context without a certificate that trusts no CA. NULL: OpenSSL has no TLS 1.2.
static SSL_CTX *
context_create(void)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    OCT_ASSERT(ctx != NULL);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                       SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(ctx, 0);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    return ctx;
}

// before is the material in use, whose lists stay if there is no file now; NULL at start.
static oct_err
trust_read(material *m, const char *folder, const material *before, oct_reason *why)
{
    char ca[4096];
    path_of(ca, sizeof(ca), folder, FILE_CA);
    OCT_TRY(folder_check(folder, why));
    OCT_TRY(file_check(ca, why));
    OCT_TRY(crls_read(m, folder, before, why));
    m->ctx = context_create();
    if (m->ctx == NULL) {
        return oct_refuse(why, "OpenSSL has no TLS 1.2");
    }
    if (SSL_CTX_load_verify_file(m->ctx, ca) != 1) {
        return oct_refuse(why, "%s: %s", ca, error_text());
    }
    return crls_use(SSL_CTX_get_cert_store(m->ctx), m->crls, folder, why);
}

// ---- our own certificate

static oct_err
own_load(SSL_CTX *ctx, const char *folder, oct_reason *why)
{
    char cert[4096], key[4096];
    path_of(cert, sizeof(cert), folder, FILE_CERT);
    path_of(key, sizeof(key), folder, FILE_KEY);
    OCT_TRY(file_check(cert, why));
    OCT_TRY(key_check(key, why));
    OCT_TRY(file_check(key, why));
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) {
        return oct_refuse(why, "%s: %s", cert, error_text());
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) {
        return oct_refuse(why, "%s: %s", key, error_text());
    }
    return SSL_CTX_check_private_key(ctx) == 1
               ? OCT_OK
               : oct_refuse(why, "%s is not the key of %s", key, cert);
}

// Returns true for faults of dates, which a correct clock or a new file heals.
static bool
can_heal(int code)
{
    return code == X509_V_ERR_CERT_HAS_EXPIRED || code == X509_V_ERR_CERT_NOT_YET_VALID ||
           code == X509_V_ERR_CRL_HAS_EXPIRED || code == X509_V_ERR_CRL_NOT_YET_VALID;
}

// Writes "; the certificate is valid from A to B, and the clock of this machine says C" if check
// stopped at a date, else "".
static void
validity_text(X509_STORE_CTX *check, char out[VALIDITY_BYTES])
{
    static const char form[] = "%Y-%m-%d %H:%M:%S UTC";
    const X509 *cert = X509_STORE_CTX_get_current_cert(check);
    int code = X509_STORE_CTX_get_error(check);
    char from[64], to[64], clock[64];
    struct tm begins, ends, now;
    time_t now_s = time(NULL);
    out[0] = '\0';
    if (cert != NULL && can_heal(code) &&
        ASN1_TIME_to_tm(X509_get0_notBefore(cert), &begins) == 1 &&
        ASN1_TIME_to_tm(X509_get0_notAfter(cert), &ends) == 1 && gmtime_r(&now_s, &now) != NULL) {
        (void)strftime(from, sizeof(from), form, &begins);
        (void)strftime(to, sizeof(to), form, &ends);
        (void)strftime(clock, sizeof(clock), form, &now);
        (void)snprintf(out, VALIDITY_BYTES,
                       "; the certificate is valid from %s to %s, and the clock of this machine "
                       "says %s",
                       from, to, clock);
    }
}

// Returns X509_V_OK, or why cert is not good by the CAs that ctx trusts. validity gets
// validity_text's text, unless NULL. is_issue_enough: it suffices that a CA issued cert; dates and
// lists do not count.
static int
own_verify(SSL_CTX *ctx, X509 *cert, bool is_issue_enough, char *validity)
{
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    int code = X509_V_ERR_UNSPECIFIED;
    if (check != NULL && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ctx), cert, NULL) == 1) {
        if (is_issue_enough) {
            X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(check);
            OCT_ASSERT(X509_VERIFY_PARAM_clear_flags(param, X509_V_FLAG_CRL_CHECK) == 1);
            OCT_ASSERT(X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_NO_CHECK_TIME) == 1);
        }
        code = X509_verify_cert(check) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(check);
        if (validity != NULL) {
            validity_text(check, validity);
        }
    }
    X509_STORE_CTX_free(check);
    return code;
}

// Reads our certificate and key. Peers must accept the certificate, and it must have the role that
// this process has; at start, where before is NULL, any role will do.
static oct_err
own_read(material *m, const char *folder, const material *before, oct_reason *why)
{
    char path[4096];
    oct_reason role;
    struct tm ends;
    path_of(path, sizeof(path), folder, FILE_CERT);
    OCT_TRY(own_load(m->ctx, folder, why));
    X509 *cert = SSL_CTX_get0_certificate(m->ctx);
    m->role = role_of(cert);
    if (m->role == OCT_ROLE_NONE) {
        return oct_refuse(why,
                          "%s: its subject names no role (OU is learner, replay, actor, evaluator, "
                          "relay or operator; octet certs issue makes such certificates)",
                          path);
    }
    if (before != NULL && net_tls_check_role(m->role, before->role, &role) != OCT_OK) {
        return oct_refuse(why, "%s: %s", path, role.text);
    }
    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &ends) != 1) {
        return oct_refuse(why, "%s: bad date", path);
    }
    m->ends = timegm(&ends);
    char validity[VALIDITY_BYTES] = "";
    int code = own_verify(m->ctx, cert, false, validity);
    if (code == X509_V_OK) {
        return OCT_OK;
    }
    oct_err err = oct_refuse(why, "%s: %s%s", path, X509_verify_cert_error_string(code), validity);
    return can_heal(code) ? OCT_EAGAIN : err;
}

// Puts the certificate in use beside the CAs that m trusts. Returns false if none of them issued
// it: the folder may be half of another CA's, and using it would disconnect all peers.
static bool
own_keep(material *m, const material *used)
{
    STACK_OF(X509) *chain = NULL;
    X509 *cert = SSL_CTX_get0_certificate(used->ctx);
    if (own_verify(m->ctx, cert, true, NULL) != X509_V_OK) {
        return false;
    }
    SSL_CTX *ctx = context_create(); // m's own may hold half of what the folder has
    OCT_ASSERT(ctx != NULL && SSL_CTX_get0_chain_certs(used->ctx, &chain) == 1);
    SSL_CTX_set1_cert_store(ctx, SSL_CTX_get_cert_store(m->ctx));
    OCT_ASSERT(SSL_CTX_use_cert_and_key(ctx, cert, SSL_CTX_get0_privatekey(used->ctx), chain, 1) ==
               1);
    SSL_CTX_free(m->ctx);
    m->ctx = ctx;
    m->role = used->role;
    m->ends = used->ends;
    return true;
}

// ---- the folder in use

// Frees material, which may be read only in part.
static void
material_free(material *m) // connections keep their own reference
{
    SSL_CTX_free(m->ctx); // connections keep theirs alive
    sk_X509_CRL_pop_free(m->crls, X509_CRL_free);
    ERR_clear_error(); // this thread's queue; the text is in a reason
    *m = (material){0};
}

oct_err
net_tls_open(net_tls **out, const char *folder, oct_reason *why)
{
    material m = {0};
    file_state files[FILES];
    // Threads may still use OpenSSL when the process exits, so it must not clean up then.
    OCT_ASSERT(OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1);
    files_look(folder, files); // before reading, so that the next call sees a change in between
    oct_err err = trust_read(&m, folder, NULL, why);
    if (err == OCT_OK) {
        err = own_read(&m, folder, NULL, why);
    }
    if (err != OCT_OK) {
        material_free(&m);
        return err;
    }
    size_t folder_bytes = strlen(folder) + 1;
    net_tls *tls = oct_alloc(sizeof(*tls) + folder_bytes);
    memcpy(tls->folder, folder, folder_bytes);
    memcpy(tls->files, files, sizeof(files));
    tls->used = m;
    *out = tls;
    return OCT_OK;
}

void
net_tls_close(net_tls *tls)
{
    if (tls != NULL) {
        material_free(&tls->used);
        free(tls);
    }
}

oct_role
net_tls_role(const net_tls *tls)
{
    return tls->used.role;
}

int64_t
net_tls_ends_s(const net_tls *tls)
{
    return tls->used.ends;
}

oct_err
net_tls_reload(net_tls *tls, bool *is_new, oct_reason *why)
{
    material m = {0};
    file_state files[FILES];
    *is_new = false;
    files_look(tls->folder, files);
    bool same_trust = trust_is_same(files, tls->files);
    if (same_trust && own_is_same(files, tls->files) && !tls->own_is_kept) {
        return OCT_EAGAIN;
    }
    oct_err err = trust_read(&m, tls->folder, &tls->used, why);
    if (err == OCT_OK) {
        err = own_read(&m, tls->folder, &tls->used, why);
        err = err == OCT_EAGAIN ? OCT_EINVAL : err; // OCT_EAGAIN means here that no file changed
        *is_new = err == OCT_OK || (!same_trust && own_keep(&m, &tls->used));
    }
    if (*is_new) {
        material_free(&tls->used);
        tls->used = m;
        tls->own_is_kept = err != OCT_OK;
        memcpy(tls->files, files, sizeof(files));
    } else {
        material_free(&m);
    }
    return err;
}

net_tls_lists
net_tls_revocation(const net_tls *tls)
{
    return tls->used.crls == NULL ? NET_TLS_NO_LIST
                                  : (tls->used.crls_are_kept ? NET_TLS_LIST_KEPT : NET_TLS_LIST);
}

bool
net_tls_is_good(const net_tls *tls, const SSL *ssl, oct_reason *why)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    X509_STORE *store = SSL_CTX_get_cert_store(tls->used.ctx);
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    bool ready =
        check != NULL && cert != NULL &&
        X509_STORE_CTX_init(check, store, cert, SSL_get_peer_cert_chain(ssl)) == 1 &&
        X509_STORE_CTX_set_default(check, SSL_is_server(ssl) ? "ssl_client" : "ssl_server") == 1;
    bool good = ready && X509_verify_cert(check) == 1;
    if (!good) {
        int code = ready ? X509_STORE_CTX_get_error(check) : X509_V_ERR_UNSPECIFIED;
        oct_reason_set(why, "its certificate is no longer valid: %s",
                       X509_verify_cert_error_string(code));
    }
    X509_STORE_CTX_free(check);
    ERR_clear_error();
    return good;
}

bool
net_tls_is_current(const net_tls *tls, const SSL *ssl)
{
    return SSL_get_SSL_CTX(ssl) == tls->used.ctx;
}

// ---- connections

SSL *
net_tls_connection(net_tls *tls, const char *host, BIO **in, BIO **out)
{
    SSL *ssl = SSL_new(tls->used.ctx);
    *in = BIO_new(BIO_s_mem());
    *out = BIO_new(BIO_s_mem());
    OCT_ASSERT(ssl != NULL && *in != NULL && *out != NULL);
    SSL_set_bio(ssl, *in, *out);
    if (host == NULL) {
        SSL_set_accept_state(ssl);
        return ssl;
    }
    struct in6_addr address;
    bool is_address =
        inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
    if (is_address) {
        OCT_ASSERT(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1);
    } else {
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        OCT_ASSERT(SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1);
    }
    SSL_set_connect_state(ssl);
    return ssl;
}

oct_err
net_tls_peer_read(const SSL *ssl, net_tls_peer *out)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (cert == NULL || X509_digest(cert, EVP_sha256(), digest, &length) != 1) {
        return OCT_EPROTO;
    }
    OCT_ASSERT(length >= OCT_HOLDER_ID_BYTES);
    memcpy(out->holder.id, digest, OCT_HOLDER_ID_BYTES);
    name_entry(cert, NID_commonName, out->holder.name, sizeof(out->holder.name));
    out->role = role_of(cert);
    return out->role == OCT_ROLE_NONE ? OCT_EPROTO : OCT_OK;
}

// Precedes OpenSSL's text, which does not say which hosts the certificate names.
#define NOT_ISSUED_FOR_HOST                                                                        \
    "its certificate does not name this host (octet certs issue ROLE NAME --host HOST): "

void
net_tls_reason(const SSL *ssl, oct_reason *why)
{
    long code = SSL_get_verify_result(ssl);
    unsigned long error = ERR_peek_error();
    const char *text = error == 0 ? NULL : ERR_reason_error_string(error);
    if (ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER) {
        text = "the peer does not speak TLS";
    }
    if (code != X509_V_OK) {
        text = X509_verify_cert_error_string(code);
    }
    bool is_other = code == X509_V_ERR_HOSTNAME_MISMATCH || code == X509_V_ERR_IP_ADDRESS_MISMATCH;
    oct_reason_set(why, "%s%s", is_other ? NOT_ISSUED_FOR_HOST : "",
                   text != NULL ? text : "closed in the handshake");
    ERR_clear_error();
}
