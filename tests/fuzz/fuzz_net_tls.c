// Folders of certificates, changed anywhere: an input says which file the edits are made in
// (ca.crt, node.crt, node.key, crl.pem), or that it is not there, is another's or that all may read
// it; whether there are lists of two CAs; and whether the folder is opened or read anew by who has
// it open. It is refused in words, and what was open stays, or it is used.
#include "common/oct_reason.h"
#include "net/net_tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_edits.h"
#include "tests/net/net_certs.h"

enum { FILE_CA, FILE_CERT, FILE_KEY, FILE_CRL, FILES };

// Beside the file, which is in the two lowest bits.
enum {
    IS_RELOAD = 4,
    IS_CUT = 8,
    IS_GONE = 16,
    IS_SHARED = 32,
    IS_OTHER = 64, // two CAs; the key of another; its certificate, of no role, with that key
    HAS_TWO_LISTS = 128,
    NO_FOLDER = IS_CUT | IS_GONE,
};

static const char *const names[FILES] = {"ca.crt", "node.crt", "node.key", "crl.pem"};
static char folder[] = "/dev/shm/octet_fuzz_tls_XXXXXX";
static uint8_t *whole[2][FILES]; // as usual, and the other
static size_t lengths[2][FILES];
static net_tls *opened;

static const char *
path_of(int file)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, names[file]);
    return path;
}

static void
folder_remove(void)
{
    for (int i = 0; i < FILES; i++) {
        (void)unlink(path_of(i));
    }
    (void)rmdir(folder);
}

static void
file_put(int file, const uint8_t *bytes, size_t length)
{
    FILE *out = fopen(path_of(file), "wb");
    OCT_ASSERT(out != NULL);
    OCT_ASSERT(fwrite(bytes, 1, length, out) == length);
    OCT_ASSERT(fchmod(fileno(out), 0600) == 0);
    OCT_ASSERT(fclose(out) == 0);
}

static void
files_read(int other)
{
    for (int i = 0; i < FILES; i++) {
        oct_err err = oct_file_read(path_of(i), 1u << 20, &whole[other][i], &lengths[other][i]);
        OCT_ASSERT(err == OCT_OK);
    }
}

// The certificate of another is revoked.
static void
folder_make(void)
{
    OCT_ASSERT(mkdtemp(folder) != NULL);
    (void)atexit(folder_remove);
    char revoked[] = "/dev/shm/octet_fuzz_tls_XXXXXX", path[160];
    OCT_ASSERT(mkdtemp(revoked) != NULL);
    certs_ca *ca = certs_ca_create("ca"), *next = certs_ca_create("next");
    certs_write_usual(ca, "actor", false, revoked);
    certs_write_usual(ca, "learner", true, folder);
    certs_revoke(ca, revoked, folder);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", revoked, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(revoked);
    files_read(0);
    oct_err err = net_tls_open(&opened, folder, NULL);
    OCT_ASSERT(err == OCT_OK);
    certs_write_usual(ca, "no\x01body", true, folder);
    certs_trust_append(next, folder);
    certs_list_append(next, folder);
    files_read(1);
    certs_ca_destroy(ca);
    certs_ca_destroy(next);
}

// Which of the two file is.
static int
other_of(uint8_t what, int file)
{
    int changed = what % FILES;
    bool is_other = (what & IS_OTHER) != 0;
    switch (file) {
    case FILE_CERT:
        return is_other && changed == FILE_CERT;
    case FILE_KEY:
        return is_other && (changed == FILE_CERT || changed == FILE_KEY);
    case FILE_CA:
        return is_other && (changed == FILE_CA || changed == FILE_CRL);
    default:
        return (what & HAS_TWO_LISTS) != 0;
    }
}

// But for the one that is changed, which what names; what lies there already is not written again.
static void
files_put(uint8_t what)
{
    enum { CHANGED = 2 };
    static int there[FILES] = {CHANGED, CHANGED, CHANGED, CHANGED};
    for (int i = 0; i < FILES; i++) {
        int other = other_of(what, i);
        if (i == what % FILES) {
            there[i] = CHANGED;
        } else if (there[i] != other) {
            file_put(i, whole[other][i], lengths[other][i]);
            there[i] = other;
        }
    }
}

// What may be asked of one that was opened.
static void
ask(net_tls *tls)
{
    BIO *in, *out;
    OCT_ASSERT(net_tls_role(tls) != OCT_ROLE_NONE && net_tls_ends_s(tls) != 0);
    OCT_ASSERT(net_tls_revocation(tls) !=
               (access(path_of(FILE_CRL), F_OK) == 0 ? NET_TLS_NO_LIST : NET_TLS_LIST));
    SSL_free(net_tls_connection(tls, "127.0.0.1", &in, &out));
}

static void
try_open(const char *where)
{
    oct_reason why = {""};
    net_tls *tls = NULL;
    oct_err err = net_tls_open(&tls, where, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0') && (err == OCT_OK) == (tls != NULL));
    if (err == OCT_OK) {
        OCT_ASSERT(net_tls_revocation(tls) != NET_TLS_LIST_KEPT);
        ask(tls);
        net_tls_close(tls);
        fuzz_accept();
    }
}

static void
try_reload(void)
{
    oct_reason why = {""};
    bool is_new;
    oct_err err = net_tls_reload(opened, &is_new, &why);
    OCT_ASSERT((err == OCT_EINVAL) == (why.text[0] != '\0') && (err != OCT_EAGAIN || !is_new));
    OCT_ASSERT(net_tls_role(opened) == OCT_ROLE_LEARNER);
    if (err != OCT_EINVAL || is_new) {
        ask(opened);
        oct_err again = net_tls_reload(opened, &is_new, NULL);
        OCT_ASSERT(again == (err == OCT_EINVAL ? OCT_EINVAL : OCT_EAGAIN) && !is_new);
    }
    if (err != OCT_EINVAL) {
        fuzz_accept();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (opened == NULL) {
        folder_make();
    }
    oct_reader in = {.at = data, .left = size};
    uint8_t what = oct_read_u8(&in);
    int file = what % FILES, other = other_of(what, file);
    size_t length = lengths[other][file];
    const fuzz_region all = {0, length};
    uint8_t *bytes = fuzz_copy(whole[other][file], length);
    size_t kept = (what & IS_CUT) != 0 ? oct_read_u16(&in) % length : length;
    fuzz_edit(bytes, length, &all, 1, &in);
    files_put(what);
    file_put(file, bytes, kept);
    if ((what & IS_SHARED) != 0) {
        OCT_ASSERT(chmod(path_of(file), 0644) == 0);
    }
    if ((what & IS_GONE) != 0) {
        OCT_ASSERT(unlink(path_of(file)) == 0);
    }
    if ((what & IS_RELOAD) != 0) {
        try_reload();
    } else {
        try_open((what & NO_FOLDER) == NO_FOLDER ? "/dev/shm/octet_fuzz_none" : folder);
    }
    free(bytes);
    return 0;
}

void
fuzz_seeds(void)
{
    for (uint8_t i = 0; i < FILES; i++) {
        const uint8_t as_made[] = {i}, again[] = {i | IS_RELOAD};
        fuzz_seed(as_made, sizeof(as_made));
        fuzz_seed(again, sizeof(again));
    }
    static const uint8_t good[] = {
        FILE_CRL | IS_GONE,      FILE_CRL | IS_GONE | IS_RELOAD, FILE_CA | IS_OTHER | HAS_TWO_LISTS,
        FILE_CA | HAS_TWO_LISTS, FILE_CRL | IS_GONE | IS_OTHER,
    };
    static const uint8_t bad[] = {
        FILE_CA | IS_GONE,    FILE_KEY | IS_GONE,  FILE_KEY | IS_SHARED | IS_RELOAD,
        FILE_CA | IS_OTHER, // which has no list
        FILE_CERT | IS_OTHER, FILE_KEY | IS_OTHER, NO_FOLDER,
    };
    for (size_t i = 0; i < sizeof(good); i++) {
        fuzz_seed(&good[i], 1);
    }
    for (size_t i = 0; i < sizeof(bad); i++) {
        fuzz_seed_bad(&bad[i], 1);
    }
    const uint8_t empty[] = {FILE_CRL | IS_CUT, 0, 0};
    fuzz_seed_bad(empty, sizeof(empty));
    const uint8_t cut[] = {IS_CUT, 100, 0}, edited[] = {1, 0, 100, 0, '!'};
    fuzz_seed_bad(cut, sizeof(cut));
    fuzz_seed_bad(edited, sizeof(edited));
}
