// Makes certificate authorities and certificates for tests, so that no key is stored in the
// project.
#include "tests/net/net_certs.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "tests/support/oct_test.h"

#define DAY_S   86400L
#define DAYS    30
#define CLOCK_S 300 // how far back certificates begin

struct certs_ca {
    EVP_PKEY *key;
    X509 *cert;
    long serial;
    X509_CRL *crl;
};

static void
extension_add(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(cert, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static void
entry_add(X509 *cert, const char *field, const char *text)
{
    if (text != NULL) {
        assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), field,
                                                    MBSTRING_UTF8, (const unsigned char *)text, -1,
                                                    -1, 0),
                         1);
    }
}

static X509 *
cert_begin(EVP_PKEY *key, long serial, const char *unit, const char *name, long from_s, long to_s)
{
    X509 *cert = X509_new();
    assert_non_null(cert);
    assert_int_equal(X509_set_version(cert, 2), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(cert), serial), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), from_s));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), to_s));
    assert_int_equal(X509_set_pubkey(cert, key), 1);
    entry_add(cert, "O", "Octet");
    entry_add(cert, "OU", unit);
    entry_add(cert, "CN", name);
    return cert;
}

// root: who signs it; NULL: itself.
static certs_ca *
ca_create(certs_ca *root, const char *name)
{
    certs_ca *ca = oct_alloc(sizeof(*ca));
    ca->key = EVP_EC_gen("P-256");
    assert_non_null(ca->key);
    ca->serial = 1;
    certs_ca *signer = root != NULL ? root : ca;
    ca->cert = cert_begin(ca->key, signer->serial++, NULL, name, -CLOCK_S, DAYS * DAY_S);
    assert_int_equal(X509_set_issuer_name(ca->cert, X509_get_subject_name(signer->cert)), 1);
    extension_add(ca->cert, signer->cert, NID_basic_constraints, "critical,CA:TRUE");
    extension_add(ca->cert, signer->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    extension_add(ca->cert, signer->cert, NID_subject_key_identifier, "hash");
    assert_true(X509_sign(ca->cert, signer->key, EVP_sha256()) > 0);
    return ca;
}

certs_ca *
certs_ca_create(const char *name)
{
    return ca_create(NULL, name);
}

certs_ca *
certs_ca_create_below(certs_ca *root, const char *name)
{
    return ca_create(root, name);
}

void
certs_ca_destroy(certs_ca *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->cert);
    X509_CRL_free(ca->crl);
    free(ca);
}

static FILE *
file_open(const char *folder, const char *name, const char *mode)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    return file;
}

void
certs_write(certs_ca *ca, const certs_leaf *leaf, const char *folder)
{
    (void)mkdir(folder, 0700);
    long from_s = leaf->days_from * DAY_S - CLOCK_S;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = cert_begin(key, ca->serial++, leaf->unit, leaf->name, from_s,
                            from_s + (leaf->days == 0 ? DAYS : leaf->days) * DAY_S);
    assert_int_equal(X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)), 1);
    extension_add(cert, ca->cert, NID_basic_constraints, "CA:FALSE");
    extension_add(cert, ca->cert, NID_key_usage, "digitalSignature");
    extension_add(cert, ca->cert, NID_authority_key_identifier, "keyid:always");
    extension_add(cert, ca->cert, NID_ext_key_usage,
                  leaf->may_serve ? "serverAuth,clientAuth" : "clientAuth");
    extension_add(cert, ca->cert, NID_subject_alt_name, leaf->sans);
    assert_true(X509_sign(cert, ca->key, EVP_sha256()) > 0);
    FILE *file = file_open(folder, "ca.crt", "w");
    assert_int_equal(PEM_write_X509(file, ca->cert), 1);
    fclose(file);
    file = file_open(folder, "node.crt", "w");
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
    file = file_open(folder, "node.key", "w");
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void
certs_write_usual(certs_ca *ca, const char *unit, bool may_serve, const char *folder)
{
    const certs_leaf leaf = {
        .unit = unit, .name = unit, .sans = "DNS:localhost,IP:127.0.0.1", .may_serve = may_serve};
    certs_write(ca, &leaf, folder);
}

static void
list_begin(certs_ca *ca)
{
    if (ca->crl == NULL) {
        ca->crl = X509_CRL_new();
        assert_int_equal(X509_CRL_set_version(ca->crl, 1), 1);
        assert_int_equal(X509_CRL_set_issuer_name(ca->crl, X509_get_subject_name(ca->cert)), 1);
    }
}

// Signs the list as it is now and writes it. Each list is newer than those before it: of two that
// may be a CA's, by its name, OpenSSL takes the newer, unless the identifiers of keys differ.
static void
list_write(certs_ca *ca, const char *folder, const char *mode)
{
    static long lists;
    ASN1_TIME *now = X509_gmtime_adj(NULL, -CLOCK_S + ++lists);
    ASN1_TIME *next = X509_gmtime_adj(NULL, DAYS * DAY_S);
    AUTHORITY_KEYID *signer = AUTHORITY_KEYID_new();
    signer->keyid = ASN1_OCTET_STRING_dup(X509_get0_subject_key_id(ca->cert));
    assert_int_equal(
        X509_CRL_add1_ext_i2d(ca->crl, NID_authority_key_identifier, signer, 0, X509V3_ADD_REPLACE),
        1);
    AUTHORITY_KEYID_free(signer);
    assert_int_equal(X509_CRL_set1_lastUpdate(ca->crl, now), 1);
    assert_int_equal(X509_CRL_set1_nextUpdate(ca->crl, next), 1);
    assert_int_equal(X509_CRL_sort(ca->crl), 1);
    assert_true(X509_CRL_sign(ca->crl, ca->key, EVP_sha256()) > 0);
    FILE *file = file_open(folder, "crl.pem", mode);
    assert_int_equal(PEM_write_X509_CRL(file, ca->crl), 1);
    fclose(file);
    ASN1_TIME_free(now);
    ASN1_TIME_free(next);
}

void
certs_revoke(certs_ca *ca, const char *folder_revoked, const char *folder)
{
    FILE *file = file_open(folder_revoked, "node.crt", "r");
    X509 *cert = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    assert_non_null(cert);
    list_begin(ca);
    ASN1_TIME *now = X509_gmtime_adj(NULL, -CLOCK_S);
    X509_REVOKED *entry = X509_REVOKED_new();
    assert_int_equal(X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(cert)), 1);
    assert_int_equal(X509_REVOKED_set_revocationDate(entry, now), 1);
    assert_int_equal(X509_CRL_add0_revoked(ca->crl, entry), 1);
    list_write(ca, folder, "w");
    ASN1_TIME_free(now);
    X509_free(cert);
}

void
certs_list_append(certs_ca *ca, const char *folder)
{
    list_begin(ca);
    list_write(ca, folder, "a");
}

void
certs_trust_append(certs_ca *ca, const char *folder)
{
    FILE *file = file_open(folder, "ca.crt", "a");
    assert_int_equal(PEM_write_X509(file, ca->cert), 1);
    fclose(file);
}
