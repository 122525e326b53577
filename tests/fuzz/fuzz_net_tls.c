// Folders of certificates, changed anywhere: an input says which file the edits are made in
// (ca.crt, node.crt, node.key, crl.pem), and whether the folder is opened or read anew by who has
// it open. It is refused in words, and what was open stays, or it is used.
#include "net/net_tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_edits.h"
#include "tests/net/net_certs.h"

enum { FILES = 4, IS_RELOAD = 4, IS_CUT = 8 };

static const char *const names[FILES] = {"ca.crt", "node.crt", "node.key", "crl.pem"};
static char folder[] = "/dev/shm/octet_fuzz_tls_XXXXXX";
static uint8_t *whole[FILES];
static size_t lengths[FILES];
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
    OCT_ASSERT(fclose(out) == 0);
}

// The certificate of another is revoked.
static void
folder_make(void)
{
    OCT_ASSERT(mkdtemp(folder) != NULL);
    (void)atexit(folder_remove);
    char revoked[] = "/dev/shm/octet_fuzz_tls_XXXXXX", path[160];
    OCT_ASSERT(mkdtemp(revoked) != NULL);
    certs_ca *ca = certs_ca_create("ca");
    certs_write_usual(ca, "actor", false, revoked);
    certs_write_usual(ca, "learner", true, folder);
    certs_revoke(ca, revoked, folder);
    certs_ca_destroy(ca);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", revoked, names[i]);
        (void)unlink(path);
        oct_err err = oct_file_read(path_of(i), 1u << 20, &whole[i], &lengths[i]);
        OCT_ASSERT(err == OCT_OK);
    }
    (void)rmdir(revoked);
    oct_err err = net_tls_open(&opened, folder, NULL, 0);
    OCT_ASSERT(err == OCT_OK);
}

static void
try_open(void)
{
    char reason[512] = "";
    net_tls *tls = NULL;
    oct_err err = net_tls_open(&tls, folder, reason, sizeof(reason));
    OCT_ASSERT((err == OCT_OK) == (reason[0] == '\0') && (err == OCT_OK) == (tls != NULL));
    if (err == OCT_OK) {
        OCT_ASSERT(net_tls_role(tls) != OCT_ROLE_NONE);
        net_tls_close(tls);
        fuzz_accept();
    }
}

static void
try_reload(void)
{
    char reason[512] = "";
    oct_err err = net_tls_reload(opened, reason, sizeof(reason));
    OCT_ASSERT((err == OCT_EINVAL) == (reason[0] != '\0'));
    OCT_ASSERT(net_tls_role(opened) != OCT_ROLE_NONE);
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
    int file = what % FILES;
    const fuzz_region all = {0, lengths[file]};
    uint8_t *bytes = fuzz_copy(whole[file], lengths[file]);
    size_t length = lengths[file];
    if ((what & IS_CUT) != 0) {
        length = oct_read_u16(&in) % length;
    }
    fuzz_edit(bytes, lengths[file], &all, 1, &in);
    file_put(file, bytes, length);
    if ((what & IS_RELOAD) != 0) {
        try_reload();
    } else {
        try_open();
    }
    file_put(file, whole[file], lengths[file]);
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
    const uint8_t cut[] = {IS_CUT, 100, 0}, edited[] = {1, 0, 100, 0, '!'};
    fuzz_seed_bad(cut, sizeof(cut));
    fuzz_seed_bad(edited, sizeof(edited));
}
