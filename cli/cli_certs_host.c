// Folders of names below the CA: keys and certificates are put into place, or taken back.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_certs.h"
#include "cli/cli_openssl.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"

#define PUBLIC_KEY_BYTES 2048

typedef struct host_paths {
    char key[CLI_CERTS_PATH_BYTES], key_new[CLI_CERTS_PATH_BYTES];
    char crt[CLI_CERTS_PATH_BYTES], crt_new[CLI_CERTS_PATH_BYTES];
    char ca[CLI_CERTS_PATH_BYTES], crl[CLI_CERTS_PATH_BYTES];
} host_paths;

static host_paths
paths_of(const char *name)
{
    host_paths paths;
    OCT_ASSERT(strlen(name) <= CLI_CERTS_NAME_MAX);
    (void)snprintf(paths.key, sizeof(paths.key), "%s/node.key", name);
    (void)snprintf(paths.key_new, sizeof(paths.key_new), "%s/node.key.new", name);
    (void)snprintf(paths.crt, sizeof(paths.crt), "%s/node.crt", name);
    (void)snprintf(paths.crt_new, sizeof(paths.crt_new), "%s/node.crt.new", name);
    (void)snprintf(paths.ca, sizeof(paths.ca), "%s/ca.crt", name);
    (void)snprintf(paths.crl, sizeof(paths.crl), "%s/crl.pem", name);
    return paths;
}

// ---- which there are

static int
is_name(const struct dirent *entry)
{
    struct stat found;
    return cli_certs_name_is_valid(entry->d_name) && lstat(entry->d_name, &found) == 0 &&
           S_ISDIR(found.st_mode);
}

// All folders of names, also those without a certificate.
static oct_err
folders_list(struct dirent ***out, size_t *count)
{
    int found = scandir(".", out, is_name, alphasort);
    if (found < 0) {
        cli_error("certs", "cannot list the CA folder: %s", strerror(errno));
        return OCT_EIO;
    }
    *count = (size_t)found;
    return OCT_OK;
}

oct_err
cli_certs_names(char ***out, size_t *count)
{
    struct dirent **folders;
    size_t found;
    OCT_TRY(folders_list(&folders, &found));
    *out = NULL;
    *count = 0;
    if (found > 0) {
        *out = oct_alloc(found * sizeof(**out));
    }
    for (size_t i = 0; i < found; i++) {
        if (access(paths_of(folders[i]->d_name).crt, F_OK) == 0) {
            (*out)[*count] = strdup(folders[i]->d_name);
            OCT_ASSERT((*out)[*count] != NULL);
            (*count)++;
        }
        free(folders[i]);
    }
    free(folders);
    if (*count == 0) {
        free(*out);
        *out = NULL;
    }
    return OCT_OK;
}

void
cli_certs_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
}

// ---- into place

static oct_err
move(const char *from, const char *to)
{
    if (rename(from, to) != 0) {
        cli_error("certs", "cannot rename '%s' to '%s': %s", from, to, strerror(errno));
        return OCT_EIO;
    }
    return OCT_OK;
}

// What openssl wrote must be on the disk before it takes the place of something that works.
static oct_err
sync_to_disk(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool done = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (!done) {
        cli_error("certs", "cannot write '%s': %s", path, strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return done ? OCT_OK : OCT_EIO;
}

oct_err
cli_certs_host_install(const char *name, const char *serial)
{
    host_paths paths = paths_of(name);
    char issued[CLI_CERTS_PATH_BYTES];
    (void)snprintf(issued, sizeof(issued), "db/newcerts/%s.pem", serial);
    OCT_TRY(cli_certs_copy_public(paths.ca, "ca.crt"));
    OCT_TRY(cli_certs_copy_public(paths.crl, "crl.pem"));
    OCT_TRY(cli_certs_copy_public(paths.crt_new, issued));
    OCT_TRY(sync_to_disk(paths.key_new));
    // Between these two a reader sees a key and a certificate that do not fit; hosts_repair goes on
    // from there.
    OCT_TRY(move(paths.key_new, paths.key));
    OCT_TRY(move(paths.crt_new, paths.crt));
    return sync_to_disk(name);
}

void
cli_certs_host_undo(const char *name)
{
    host_paths paths = paths_of(name);
    (void)unlink(paths.key_new);
    (void)unlink(paths.crt_new);
    if (access(paths.crt, F_OK) != 0 && access(paths.key, F_OK) != 0) {
        (void)unlink(paths.ca);
        (void)unlink(paths.crl);
        (void)rmdir(name); // unless it holds what is not ours
    }
}

// ---- repair

static bool
is_leftover(const struct dirent *entry)
{
    const char *at = strstr(entry->d_name, ".tmp.");
    return at != NULL && at[5] != '\0' && strspn(at + 5, "0123456789") == strlen(at + 5);
}

// Temporary files of oct_file_write: under the lock nobody is writing one.
static void
leftovers_remove(const char *folder)
{
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
        if (is_leftover(entry)) {
            (void)unlinkat(dirfd(listing), entry->d_name, 0);
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
}

bool
cli_certs_host_key_fits(const char *name, const char *serial)
{
    host_paths paths = paths_of(name);
    char issued[CLI_CERTS_PATH_BYTES], want[PUBLIC_KEY_BYTES], got[PUBLIC_KEY_BYTES];
    (void)snprintf(issued, sizeof(issued), "db/newcerts/%s.pem", serial);
    const char *of_crt[] = {"openssl", "x509", "-in", issued, "-noout", "-pubkey", NULL};
    const char *of_key[] = {"openssl", "pkey", "-in", paths.key_new, "-pubout", NULL};
    struct stat found;
    return stat(paths.key_new, &found) == 0 && found.st_size > 0 &&
           cli_openssl_run(want, sizeof(want), of_crt) == OCT_OK &&
           cli_openssl_run(got, sizeof(got), of_key) == OCT_OK && strcmp(want, got) == 0;
}

static oct_err
host_repair(const cli_certs *certs, const char *name)
{
    host_paths paths = paths_of(name);
    leftovers_remove(name);
    bool has_key = access(paths.key_new, F_OK) == 0;
    if (!has_key && access(paths.crt_new, F_OK) != 0) {
        return OCT_OK;
    }
    const cli_certs_entry *entry = cli_certs_find(certs, name);
    if (!has_key) { // the key is in place, the certificate not yet
        OCT_TRY(move(paths.crt_new, paths.crt));
    } else if (entry != NULL && entry->status == 'V' &&
               cli_certs_host_key_fits(name, entry->serial)) {
        OCT_TRY(cli_certs_host_install(name, entry->serial));
    } else if (cli_openssl_signal() != 0) {
        return OCT_ECLOSED;
    } else {
        cli_certs_host_undo(name);
        fprintf(stderr, "octet certs: an issue of '%s' had been interrupted and is undone\n", name);
        return OCT_OK;
    }
    fprintf(stderr, "octet certs: an issue of '%s' had been interrupted and is finished now\n",
            name);
    return OCT_OK;
}

oct_err
cli_certs_hosts_repair(const cli_certs *certs)
{
    struct dirent **folders;
    size_t count;
    leftovers_remove(".");
    leftovers_remove("db");
    OCT_TRY(folders_list(&folders, &count));
    oct_err err = OCT_OK;
    for (size_t i = 0; i < count; i++) {
        if (err == OCT_OK) {
            err = host_repair(certs, folders[i]->d_name);
        }
        free(folders[i]);
    }
    free(folders);
    return err;
}
