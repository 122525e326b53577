// octet certs issue: checks the request, makes a key, has the certificate signed.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_certs.h"
#include "cli/cli_openssl.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_text.h"

#define EXTENSION_BYTES 16384
#define DAY_S           86400
// A host whose clock is behind takes what was made just now.
#define CLOCK_SLACK_S 3600

#define REQUEST_FILE   "db/request.pem"
#define EXTENSION_FILE "db/request.cnf"

// ---- may it be issued?

static oct_err
check_known(const cli_certs *certs, const cli_certs_request *request)
{
    const cli_certs_entry *entry = cli_certs_find(certs, request->name);
    struct stat found;
    if (entry == NULL && request->renew) {
        cli_error("certs", "there is no certificate of '%s' to renew; octet certs list shows all",
                  request->name);
        return OCT_ENOTFOUND;
    }
    if (entry == NULL) {
        char path[CLI_CERTS_PATH_BYTES];
        (void)snprintf(path, sizeof(path), "%s/node.crt", request->name);
        bool is_taken = access(path, F_OK) == 0 ||
                        (lstat(request->name, &found) == 0 && !S_ISDIR(found.st_mode));
        if (is_taken) {
            cli_error("certs", "'%s/%s' is there and not of this CA; move it away", certs->folder,
                      request->name);
        }
        return is_taken ? OCT_EINVAL : OCT_OK;
    }
    if (!request->renew) {
        cli_error("certs",
                  "'%s' has a certificate of role %s already; --renew makes a new one, or choose "
                  "another name",
                  request->name, entry->role);
        return OCT_EINVAL;
    }
    if (strcmp(entry->role, request->role->name) != 0 &&
        cli_certs_is_good(entry, (int64_t)time(NULL))) {
        cli_error("certs",
                  "'%s' has a certificate of role %s that is still good; octet certs revoke %s "
                  "comes before another role, or choose another name",
                  request->name, entry->role, request->name);
        return OCT_EINVAL;
    }
    return OCT_OK;
}

// A certificate that outlives its CA would stop being good without a word of it in the list.
static oct_err
check_lifetime(const cli_certs *certs, uint32_t days)
{
    char said[128];
    struct tm end = {0};
    const char *words[] = {"openssl",  "x509",     "-in",      "ca.crt", "-noout",
                           "-enddate", "-dateopt", "iso_8601", NULL};
    OCT_TRY(cli_openssl_run(said, sizeof(said), words));
    const char *rest = strptime(said, "notAfter=%Y-%m-%d %H:%M:%S", &end);
    if (rest == NULL) {
        cli_error("certs", "'%s/ca.crt': openssl says no date that is understood: %s",
                  certs->folder, said);
        return OCT_EINVAL;
    }
    int64_t left = ((int64_t)timegm(&end) - (int64_t)time(NULL)) / DAY_S;
    if (left < (int64_t)days) {
        cli_error("certs",
                  "the CA is good for %" PRId64 " more days, the certificate would be for %" PRIu32
                  "; allowed is --days up to %" PRId64 ", then a new CA is needed",
                  OCT_MAX(left, (int64_t)0), days, OCT_MAX(left, (int64_t)0));
        return OCT_EINVAL;
    }
    return OCT_OK;
}

// Who renews without a --host means the hosts of before: "DNS:a1, IP Address:10.0.0.5".
static oct_err
hosts_of_old(const cli_certs *certs, cli_certs_request *request)
{
    char path[CLI_CERTS_PATH_BYTES], said[EXTENSION_BYTES];
    const cli_certs_entry *entry = cli_certs_find(certs, request->name);
    OCT_ASSERT(entry != NULL);
    (void)snprintf(path, sizeof(path), "db/newcerts/%s.pem", entry->serial);
    const char *words[] = {"openssl", "x509",           "-in", path, "-noout",
                           "-ext",    "subjectAltName", NULL};
    OCT_TRY(cli_openssl_run(said, sizeof(said), words));
    char *rest = said;
    for (char *word = strsep(&rest, ",\n"); word != NULL; word = strsep(&rest, ",\n")) {
        word += strspn(word, " ");
        const char *host = strncmp(word, "DNS:", 4) == 0           ? word + 4
                           : strncmp(word, "IP Address:", 11) == 0 ? word + 11
                                                                   : NULL;
        if (host == NULL || strcmp(host, request->name) == 0) {
            continue;
        }
        if (!cli_certs_host_is_valid(host) || !cli_certs_host_add(request, host)) {
            cli_error("certs",
                      "the old certificate of '%s' has names that are not taken over: "
                      "'%s'; say all that the new one shall have with --host",
                      request->name, host);
            return OCT_EINVAL;
        }
    }
    return OCT_OK;
}

// ---- key, request, certificate

static oct_err
extensions_write(const cli_certs_request *request)
{
    char out[EXTENSION_BYTES];
    oct_text text;
    oct_text_init(&text, out, sizeof(out));
    oct_text_add(&text,
                 "[node]\n"
                 "basicConstraints = critical, CA:FALSE\n"
                 "keyUsage = critical, digitalSignature\n"
                 "extendedKeyUsage = %s\n"
                 "subjectKeyIdentifier = hash\n"
                 "authorityKeyIdentifier = keyid:always\n"
                 "subjectAltName = @hosts\n\n"
                 "[hosts]\n",
                 request->role->usage);
    for (size_t i = 0; i < request->host_count; i++) {
        oct_text_add(&text, "%s.%zu = %s\n",
                     cli_certs_host_is_address(request->hosts[i]) ? "IP" : "DNS", i,
                     request->hosts[i]);
    }
    OCT_ASSERT(!text.truncated);
    if (oct_file_write(EXTENSION_FILE, out, text.used) != OCT_OK) {
        cli_error("certs", "cannot write '%s': %s", EXTENSION_FILE, strerror(errno));
        return OCT_EIO;
    }
    return OCT_OK;
}

static oct_err
key_make(const cli_certs_request *request)
{
    char key[CLI_CERTS_PATH_BYTES], subject[256];
    if (mkdir(request->name, 0700) != 0 && errno != EEXIST) {
        cli_error("certs", "cannot make folder '%s': %s", request->name, strerror(errno));
        return OCT_EIO;
    }
    (void)snprintf(key, sizeof(key), "%s/node.key.new", request->name);
    (void)snprintf(subject, sizeof(subject), "/O=Octet/OU=%s/CN=%s", request->role->name,
                   request->name);
    const char *make[] = {"openssl", "genpkey",  "-algorithm",
                          "EC",      "-pkeyopt", "ec_paramgen_curve:P-256",
                          "-out",    key,        NULL};
    const char *ask[] = {"openssl", "req",   "-new",  "-config", "openssl.cnf", "-sha256", "-key",
                         key,       "-subj", subject, "-out",    REQUEST_FILE,  NULL};
    OCT_TRY(cli_openssl_run(NULL, 0, make));
    OCT_TRY(cli_openssl_run(NULL, 0, ask));
    return extensions_write(request);
}

static oct_err
sign(const cli_certs *certs, uint32_t days)
{
    char begin[32], lifetime[16];
    time_t then = time(NULL) - CLOCK_SLACK_S;
    struct tm utc;
    (void)strftime(begin, sizeof(begin), "%Y%m%d%H%M%SZ", gmtime_r(&then, &utc));
    (void)snprintf(lifetime, sizeof(lifetime), "%" PRIu32, days);
    const char *words[] = {"openssl",     "ca",   "-config",    "openssl.cnf", "-batch",
                           "-notext",     "-in",  REQUEST_FILE, "-extfile",    EXTENSION_FILE,
                           "-extensions", "node", "-startdate", begin,         "-days",
                           lifetime,      NULL};
    return cli_certs_ledger_run(certs, words);
}

// Failing leaves nothing, unless the index names the new certificate: then the next cli_certs_open
// puts it into place.
static oct_err
make(cli_certs *certs, const cli_certs_request *request)
{
    const cli_certs_entry *entry = cli_certs_find(certs, request->name);
    char before[sizeof(entry->serial)] = "";
    if (entry != NULL) {
        (void)snprintf(before, sizeof(before), "%s", entry->serial);
    }
    oct_err err = key_make(request);
    if (err == OCT_OK) {
        err = sign(certs, request->days);
    }
    (void)unlink(REQUEST_FILE);
    (void)unlink(EXTENSION_FILE);
    oct_err loaded = cli_certs_load(certs);
    entry = cli_certs_find(certs, request->name);
    bool is_recorded = loaded != OCT_OK || (entry != NULL && strcmp(entry->serial, before) != 0);
    if (!is_recorded) {
        cli_certs_host_undo(request->name);
    }
    OCT_TRY(err);
    OCT_TRY(loaded);
    if (!is_recorded) {
        cli_error("certs", "'%s/db/index.txt' does not name the new certificate", certs->folder);
        return OCT_EINTERNAL;
    }
    if (!cli_certs_host_key_fits(request->name, entry->serial)) {
        cli_error("certs", "openssl made a certificate of '%s' that is not of its key",
                  request->name);
        return OCT_EINTERNAL;
    }
    return cli_certs_host_install(request->name, entry->serial);
}

oct_err
cli_certs_issue(cli_certs *certs, cli_certs_request *request)
{
    OCT_TRY(check_known(certs, request));
    OCT_TRY(check_lifetime(certs, request->days));
    if (request->keep_hosts) {
        OCT_TRY(hosts_of_old(certs, request));
    }
    OCT_TRY(make(certs, request));
    if (!request->revoke_old) {
        return OCT_OK;
    }
    const cli_certs_entry *entry = cli_certs_find(certs, request->name);
    size_t revoked;
    return cli_certs_revoke(certs, request->name, entry->serial, &revoked);
}
