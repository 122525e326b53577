// The CA folder: its lock, its index of certificates, its list of revoked ones.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_certs.h"
#include "cli/cli_openssl.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_file.h"

#define FIELDS 6
// A host whose clock is behind takes what was made just now.
#define CLOCK_SLACK_S 3600

// ---- the index of openssl ca

// [YY]YYMMDDHHMMSSZ; -1: it is none.
static int64_t
time_parse(const char *text)
{
    struct tm when = {0};
    char whole[16];
    size_t length = strlen(text);
    if (length == 13) {
        (void)snprintf(whole, sizeof(whole), "%s%s", text[0] < '5' ? "20" : "19", text);
    } else if (length == 15) {
        (void)snprintf(whole, sizeof(whole), "%s", text);
    } else {
        return -1;
    }
    const char *end = strptime(whole, "%Y%m%d%H%M%SZ", &when);
    return end != NULL && *end == '\0' ? (int64_t)timegm(&when) : -1;
}

// The value of one attribute of "/O=Octet/OU=actor/CN=a1"; empty when there is none.
static void
subject_part(char out[CLI_CERTS_NAME_MAX + 1], const char *subject, const char *attribute)
{
    const char *at = strstr(subject, attribute);
    const char *value = at == NULL ? "" : at + strlen(attribute);
    (void)snprintf(out, CLI_CERTS_NAME_MAX + 1, "%.*s", (int)strcspn(value, "/"), value);
}

// A line: status, until, revoked, serial, file, subject.
bool
cli_certs_entry_parse(cli_certs_entry *out, char *line)
{
    char *field[FIELDS];
    for (size_t i = 0; i < FIELDS; i++) {
        field[i] = strsep(&line, "\t");
        if (field[i] == NULL) {
            return false;
        }
    }
    *out = (cli_certs_entry){.status = field[0][0], .until_s = time_parse(field[1])};
    size_t digits = strspn(field[3], "0123456789ABCDEFabcdef");
    if (strlen(field[0]) != 1 || strchr("VRE", field[0][0]) == NULL || out->until_s < 0 ||
        digits == 0 || digits >= sizeof(out->serial) || field[3][digits] != '\0') {
        return false;
    }
    (void)snprintf(out->serial, sizeof(out->serial), "%s", field[3]);
    subject_part(out->role, field[5], "/OU=");
    subject_part(out->name, field[5], "/CN=");
    return true;
}

static oct_err
entries_parse(cli_certs *certs, char *text)
{
    size_t lines = 1;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    certs->entries = oct_alloc(lines * sizeof(*certs->entries));
    size_t number = 1;
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n"), number++) {
        if (line[0] == '\0') {
            continue;
        }
        cli_certs_entry *entry = &certs->entries[certs->count];
        if (!cli_certs_entry_parse(entry, line)) {
            cli_error("certs",
                      "'%s/db/index.txt', line %zu is no line of 'openssl ca'; put the "
                      "file back from a backup or from index.txt.old",
                      certs->folder, number);
            return OCT_EINVAL;
        }
        certs->count++;
    }
    for (size_t i = 0; i < certs->count; i++) {
        cli_certs_entry *entry = &certs->entries[i];
        entry->is_latest = cli_certs_find(certs, entry->name) == entry;
    }
    return OCT_OK;
}

oct_err
cli_certs_load(cli_certs *certs)
{
    uint8_t *bytes;
    size_t length;
    free(certs->entries);
    certs->entries = NULL;
    certs->count = 0;
    oct_err err = oct_file_read("db/index.txt", CLI_CERTS_INDEX_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        cli_error("certs", "cannot read '%s/db/index.txt': %s", certs->folder,
                  err == OCT_EINVAL ? "it is too large" : strerror(errno));
        return err;
    }
    err = entries_parse(certs, (char *)bytes);
    free(bytes);
    return err;
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

bool
cli_certs_is_good(const cli_certs_entry *entry, int64_t now_s)
{
    return entry->status == 'V' && entry->until_s > now_s;
}

// ---- revocation

oct_err
cli_certs_copy_public(const char *to, const char *from)
{
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(from, CLI_CERTS_INDEX_BYTES_MAX, &bytes, &length);
    if (err == OCT_OK) {
        mode_t before = umask(022);
        err = oct_file_write(to, bytes, length);
        (void)umask(before);
        free(bytes);
    }
    if (err != OCT_OK) {
        cli_error("certs", "cannot copy '%s' to '%s': %s", from, to, strerror(errno));
    }
    return err;
}

oct_err
cli_certs_crl_renew(cli_certs *certs)
{
    char begin[32], path[CLI_CERTS_PATH_BYTES];
    time_t then = time(NULL) - CLOCK_SLACK_S;
    struct tm utc;
    (void)strftime(begin, sizeof(begin), "%Y%m%d%H%M%SZ", gmtime_r(&then, &utc));
    const char *words[] = {"openssl",         "ca",  "-config", "openssl.cnf", "-gencrl",
                           "-crl_lastupdate", begin, "-out",    "db/crl.pem",  NULL};
    // A list that was cut short would stop every daemon.
    const char *check[] = {"openssl", "crl", "-in", "db/crl.pem", "-noout", NULL};
    OCT_TRY(cli_certs_ledger_run(certs, words));
    OCT_TRY(cli_openssl_run(NULL, 0, check));
    OCT_TRY(cli_certs_copy_public("crl.pem", "db/crl.pem"));
    char **names;
    size_t count;
    OCT_TRY(cli_certs_names(&names, &count));
    oct_err err = OCT_OK;
    for (size_t i = 0; i < count && err == OCT_OK; i++) {
        (void)snprintf(path, sizeof(path), "%s/crl.pem", names[i]);
        err = cli_certs_copy_public(path, "crl.pem");
    }
    cli_certs_names_free(names, count);
    OCT_TRY(err);
    (void)unlink("db/crl.pem");
    if (unlink("db/crl.due") != 0 && errno != ENOENT) {
        cli_error("certs", "cannot remove '%s/db/crl.due': %s", certs->folder, strerror(errno));
        return OCT_EIO;
    }
    return OCT_OK;
}

oct_err
cli_certs_revoke(cli_certs *certs, const char *name, const char *keep, size_t *out)
{
    size_t revoked = 0;
    if (oct_file_write("db/crl.due", "", 0) != OCT_OK) {
        cli_error("certs", "cannot write '%s/db/crl.due': %s", certs->folder, strerror(errno));
        return OCT_EIO;
    }
    int64_t now_s = time(NULL);
    for (size_t i = 0; i < certs->count; i++) {
        const cli_certs_entry *entry = &certs->entries[i];
        if (strcmp(entry->name, name) != 0 || !cli_certs_is_good(entry, now_s) ||
            (keep != NULL && strcmp(entry->serial, keep) == 0)) {
            continue;
        }
        char path[CLI_CERTS_PATH_BYTES];
        (void)snprintf(path, sizeof(path), "db/newcerts/%s.pem", entry->serial);
        const char *words[] = {"openssl", "ca", "-config", "openssl.cnf", "-revoke", path, NULL};
        OCT_TRY(cli_certs_ledger_run(certs, words));
        revoked++;
    }
    OCT_TRY(cli_certs_crl_renew(certs));
    *out = revoked;
    return cli_certs_load(certs);
}

// ---- open and close

static oct_err
lock_take(cli_certs *certs)
{
    certs->lock_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (certs->lock_fd < 0) {
        cli_error("certs", "cannot open '%s': %s", certs->folder, strerror(errno));
        return OCT_EIO;
    }
    if (flock(certs->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        return OCT_OK;
    }
    if (errno == EWOULDBLOCK) {
        fprintf(stderr, "octet certs: another one is at work in '%s': waiting for it\n",
                certs->folder);
    }
    while (flock(certs->lock_fd, LOCK_EX) != 0) {
        if (errno != EINTR || cli_openssl_signal() != 0) {
            cli_error("certs", "no lock on '%s': %s", certs->folder, strerror(errno));
            return OCT_ECLOSED;
        }
    }
    return OCT_OK;
}

static oct_err
repair(cli_certs *certs)
{
    bool mended;
    OCT_TRY(cli_certs_ledger_mend(certs, &mended));
    if (mended) {
        fprintf(stderr,
                "octet certs: openssl had left files in '%s/db' cut short: they are as "
                "before that\n",
                certs->folder);
    }
    OCT_TRY(cli_certs_load(certs));
    OCT_TRY(cli_certs_hosts_repair(certs));
    if (access("db/crl.due", F_OK) == 0) {
        OCT_TRY(cli_certs_crl_renew(certs));
        fprintf(stderr,
                "octet certs: a revocation had been interrupted: '%s/crl.pem' and its copies are "
                "new; octet certs list says whom it reached\n",
                certs->folder);
    }
    return OCT_OK;
}

oct_err
cli_certs_open(cli_certs *certs, const char *folder)
{
    *certs = (cli_certs){.folder = folder, .lock_fd = -1};
    if (chdir(folder) != 0) {
        cli_error("certs",
                  "no CA folder '%s': %s\n  make it with octet certs init, or name it "
                  "with --dir",
                  folder, strerror(errno));
        return OCT_ENOTFOUND;
    }
    static const char *const files[] = {"openssl.cnf", "ca.crt", "ca.key", "db/newcerts"};
    for (size_t i = 0; i < OCT_COUNTOF(files); i++) {
        if (access(files[i], R_OK) != 0) {
            cli_error("certs", "'%s' is no CA folder of octet certs init: %s: %s", folder, files[i],
                      strerror(errno));
            return OCT_ENOTFOUND;
        }
    }
    oct_err err = lock_take(certs);
    if (err == OCT_OK) {
        err = repair(certs);
    }
    if (err != OCT_OK) {
        cli_certs_close(certs);
    }
    return err;
}

void
cli_certs_close(cli_certs *certs)
{
    if (certs->lock_fd >= 0) {
        (void)close(certs->lock_fd);
    }
    free(certs->entries);
    *certs = (cli_certs){.lock_fd = -1};
}
