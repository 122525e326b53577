// octet certs init: a new CA grows in a hidden folder and is renamed when it is whole.

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_certs.h"
#include "cli/cli_openssl.h"
#include "cli/cli_options.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define CONFIG_BYTES 8192

// ---- openssl.cnf

// The CRL lasts as long as the CA: whoever checks a certificate refuses all of them once the CRL
// has run out, so that a date nobody remembers would stop every daemon.
static const char config_head[] =
    "# The certificates of Octet. octet certs keeps this folder with this file and the program\n"
    "# openssl; so can you, in this folder:\n"
    "#   openssl ca -config openssl.cnf -revoke db/newcerts/SERIAL.pem\n"
    "#   openssl ca -config openssl.cnf -gencrl -out crl.pem    (then copy it to the hosts)\n"
    "# The role of a certificate is the OU of its subject: O=Octet, OU=ROLE, CN=NAME.\n\n"
    "[ca]\n"
    "default_ca = octet\n\n"
    "[octet]\n"
    "dir = .\n"
    "certificate = $dir/ca.crt\n"
    "private_key = $dir/ca.key\n"
    "database = $dir/db/index.txt\n"
    "new_certs_dir = $dir/db/newcerts\n"
    "crlnumber = $dir/db/crlnumber\n"
    "rand_serial = yes\n"
    "unique_subject = no # a renewed certificate has the subject of the old one\n"
    "default_md = sha256\n"
    "default_days = %d\n"
    "default_crl_days = %" PRIu32
    " # as long as the CA: a CRL that has run out stops every daemon\n"
    "policy = subject\n"
    "email_in_dn = no\n"
    "x509_extensions = actor\n"
    "crl_extensions = crl\n\n"
    "[subject]\n"
    "organizationName = match\n"
    "organizationalUnitName = supplied\n"
    "commonName = supplied\n\n"
    "[crl]\n"
    "authorityKeyIdentifier = keyid:always\n\n"
    "[req]\n"
    "distinguished_name = asked\n"
    "[asked]\n\n"
    "[authority]\n"
    "basicConstraints = critical, CA:TRUE, pathlen:0\n"
    "keyUsage = critical, keyCertSign, cRLSign\n"
    "subjectKeyIdentifier = hash\n";

static oct_err
config_write(uint32_t days)
{
    char out[CONFIG_BYTES];
    oct_text text;
    oct_text_init(&text, out, sizeof(out));
    oct_text_add(&text, config_head, CLI_CERTS_DAYS, days);
    for (size_t i = 0; i < cli_certs_role_count; i++) {
        oct_text_add(&text,
                     "\n[%s]\n"
                     "basicConstraints = critical, CA:FALSE\n"
                     "keyUsage = critical, digitalSignature\n"
                     "extendedKeyUsage = %s\n"
                     "subjectKeyIdentifier = hash\n"
                     "authorityKeyIdentifier = keyid:always\n",
                     cli_certs_roles[i].name, cli_certs_roles[i].usage);
    }
    OCT_ASSERT(!text.truncated);
    return oct_file_write("openssl.cnf", out, text.used);
}

// ---- the folder

static int
one_remove(const char *path, const struct stat *found, int kind, struct FTW *at)
{
    (void)found;
    (void)kind;
    return at->level == 0 ? 0 : remove(path);
}

static oct_err
refuse(const char *what, const char *path)
{
    cli_error("certs", "%s '%s': %s", what, path, strerror(errno));
    return OCT_EIO;
}

// An empty folder is taken.
static oct_err
check_new(const char *folder)
{
    char path[CLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/openssl.cnf", folder);
    if (access(path, F_OK) == 0) {
        cli_error("certs",
                  "'%s' is a CA folder already and stays as it is; octet certs issue adds to it, "
                  "--dir names another one",
                  folder);
        return OCT_EINVAL;
    }
    if (rmdir(folder) != 0 && errno != ENOENT) {
        return refuse("the CA needs a new folder; cannot use", folder);
    }
    return OCT_OK;
}

static oct_err
make_parents(const char *path)
{
    char parent[CLI_PATH_MAX];
    (void)snprintf(parent, sizeof(parent), "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL || slash == parent) {
        return OCT_OK;
    }
    *slash = '\0';
    return oct_file_make_folder(parent) == OCT_OK ? OCT_OK : refuse("cannot make folder", parent);
}

// The CA grows in a hidden folder beside its own and is renamed when it is whole. What an
// interrupted init has left there is removed. The lock's holder alone renames it.
static oct_err
nursery_open(int *out, const char *path)
{
    struct stat opened, named;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return refuse("cannot make folder", path);
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return refuse("cannot open folder", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &opened) != 0 || stat(path, &named) != 0 ||
        opened.st_ino != named.st_ino || opened.st_dev != named.st_dev) {
        cli_error("certs", "another octet certs init is at work in '%s'", path);
        (void)close(fd);
        return OCT_EAGAIN;
    }
    if (nftw(path, one_remove, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        (void)refuse("cannot empty folder", path);
        (void)close(fd);
        return OCT_EIO;
    }
    *out = fd;
    return OCT_OK;
}

// ---- the authority

static oct_err
files_write(uint32_t days)
{
    if (mkdir("db", 0700) != 0 || mkdir("db/newcerts", 0700) != 0 || config_write(days) != OCT_OK ||
        oct_file_write("db/index.txt", "", 0) != OCT_OK ||
        oct_file_write("db/crlnumber", "01\n", 3) != OCT_OK) {
        return refuse("cannot write", "the CA's files");
    }
    return OCT_OK;
}

// In the working folder. ca.crt is the self-signed root that every host gets.
static oct_err
authority_make(const char *folder, const char *title, uint32_t days)
{
    char subject[128], lifetime[16];
    (void)snprintf(subject, sizeof(subject), "/O=Octet/CN=%s", title);
    (void)snprintf(lifetime, sizeof(lifetime), "%" PRIu32, days);
    const char *key[] = {"openssl", "genpkey",  "-algorithm",
                         "EC",      "-pkeyopt", "ec_paramgen_curve:P-256",
                         "-out",    "ca.key",   NULL};
    const char *certificate[] = {"openssl",     "req",         "-x509",     "-new",    "-config",
                                 "openssl.cnf", "-extensions", "authority", "-sha256", "-key",
                                 "ca.key",      "-subj",       subject,     "-days",   lifetime,
                                 "-out",        "db/ca.crt",   NULL};
    cli_certs certs = {.folder = folder, .lock_fd = -1};
    OCT_TRY(files_write(days));
    OCT_TRY(cli_openssl_run(NULL, 0, key));
    OCT_TRY(cli_openssl_run(NULL, 0, certificate));
    OCT_TRY(cli_certs_copy_public("ca.crt", "db/ca.crt"));
    (void)unlink("db/ca.crt");
    return cli_certs_crl_renew(&certs);
}

static oct_err
authority_place(const char *nursery, const char *folder)
{
    return rename(nursery, folder) == 0 ? OCT_OK : refuse("cannot make the CA folder", folder);
}

oct_err
cli_certs_init(const char *folder, const char *title, uint32_t days)
{
    char path[CLI_PATH_MAX], nursery[CLI_PATH_MAX + 16];
    (void)snprintf(path, sizeof(path), "%s", folder);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--) {
        path[end - 1] = '\0';
    }
    const char *slash = strrchr(path, '/');
    int above = slash == NULL ? 0 : (int)(slash - path) + 1;
    (void)snprintf(nursery, sizeof(nursery), "%.*s.%s.init", above, path, path + above);
    OCT_TRY(check_new(path));
    OCT_TRY(make_parents(path));
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (here < 0) {
        return refuse("cannot open folder", ".");
    }
    int fd = -1;
    oct_err err = nursery_open(&fd, nursery);
    if (err == OCT_OK) {
        err = fchdir(fd) == 0 ? authority_make(path, title, days) : refuse("cannot enter", nursery);
        if (fchdir(here) != 0) {
            err = refuse("cannot go back to folder", ".");
        } else if (err == OCT_OK) {
            err = authority_place(nursery, path);
        }
        if (err != OCT_OK) {
            (void)nftw(nursery, one_remove, 8, FTW_DEPTH | FTW_PHYS);
            (void)rmdir(nursery);
        }
        (void)close(fd);
    }
    (void)close(here);
    return err;
}
