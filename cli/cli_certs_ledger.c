// The files that openssl ca counts in, put back when it leaves them cut short.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_certs.h"
#include "cli/cli_openssl.h"
#include "cli/cli_options.h"
#include "common/oct_base.h"
#include "common/oct_file.h"

// The files that openssl ca counts in. It does not notice that a disk is full: it ends with exit
// code 0 and FILE is cut short. What was there before is in FILE.old then, whole.

#define END_OF_CERTIFICATE "-----END CERTIFICATE-----\n"

// The whole file, or NULL. Free it.
static char *
text_read(const char *path)
{
    uint8_t *bytes;
    size_t length;
    return oct_file_read(path, CLI_CERTS_INDEX_BYTES_MAX, &bytes, &length) == OCT_OK ? (char *)bytes
                                                                                     : NULL;
}

// Whether a text is whole lines, and how many.
static bool
is_whole(const char *text, size_t *lines)
{
    size_t length = strlen(text);
    *lines = 0;
    for (size_t i = 0; i < length; i++) {
        *lines += text[i] == '\n';
    }
    return length == 0 || text[length - 1] == '\n';
}

// Whether db/newcerts holds the certificate of the last line.
static bool
last_is_there(const char *index)
{
    const char *at = index + strlen(index) - 1;
    while (at > index && at[-1] != '\n') {
        at--;
    }
    cli_certs_entry entry;
    char path[CLI_CERTS_PATH_BYTES];
    char *line = strndup(at, strcspn(at, "\n"));
    OCT_ASSERT(line != NULL);
    bool is_there = cli_certs_entry_parse(&entry, line);
    free(line);
    if (!is_there) {
        return false;
    }
    (void)snprintf(path, sizeof(path), "db/newcerts/%s.pem", entry.serial);
    char *certificate = text_read(path);
    size_t length = certificate == NULL ? 0 : strlen(certificate);
    size_t end = strlen(END_OF_CERTIFICATE);
    is_there = length > end && strcmp(certificate + length - end, END_OF_CERTIFICATE) == 0;
    free(certificate);
    return is_there;
}

// The index only ever grows.
static bool
index_is_good(const char *now, const char *before)
{
    size_t lines, lines_before;
    if (!is_whole(now, &lines)) {
        return false;
    }
    if (before == NULL || !is_whole(before, &lines_before) || lines == lines_before) {
        return true;
    }
    return lines > lines_before && last_is_there(now);
}

static bool
number_is_good(const char *now, const char *before)
{
    (void)before;
    size_t digits = strspn(now, "0123456789ABCDEFabcdef");
    return digits > 0 && strcmp(now + digits, "\n") == 0;
}

// openssl writes FILE.new and renames twice: FILE to FILE.old, then FILE.new to FILE. When it was
// killed in between, FILE is missing.
static oct_err
file_mend(const cli_certs *certs, const char *file, bool (*is_good)(const char *, const char *),
          bool *mended)
{
    char next[CLI_CERTS_PATH_BYTES], last[CLI_CERTS_PATH_BYTES];
    (void)snprintf(next, sizeof(next), "%s.new", file);
    (void)snprintf(last, sizeof(last), "%s.old", file);
    if (access(file, F_OK) != 0 && (errno != ENOENT || rename(next, file) != 0)) {
        cli_error("certs",
                  "'%s/%s' is missing, so the CA does not know what it has issued; put it back "
                  "from a backup or from %s",
                  certs->folder, file, last);
        return OCT_ENOTFOUND;
    }
    char *now = text_read(file), *before = text_read(last);
    bool is_cut = now != NULL && !is_good(now, before) && before != NULL && is_good(before, NULL);
    free(now);
    free(before);
    if (!is_cut) {
        return OCT_OK;
    }
    if (rename(last, file) != 0) {
        cli_error("certs", "'%s/%s' is cut short and cannot be put back from %s: %s", certs->folder,
                  file, last, strerror(errno));
        return OCT_EIO;
    }
    *mended = true;
    return OCT_OK;
}

oct_err
cli_certs_ledger_mend(const cli_certs *certs, bool *mended)
{
    *mended = false;
    OCT_TRY(file_mend(certs, "db/index.txt", index_is_good, mended));
    return file_mend(certs, "db/crlnumber", number_is_good, mended);
}

oct_err
cli_certs_ledger_run(const cli_certs *certs, const char *const *words)
{
    bool mended;
    oct_err err = cli_openssl_run(NULL, 0, words);
    OCT_TRY(cli_certs_ledger_mend(certs, &mended));
    if (err == OCT_OK && mended) {
        cli_error("certs",
                  "openssl could not write the files in '%s/db', which are as before: is the disk "
                  "full?",
                  certs->folder);
        return OCT_EIO;
    }
    return err;
}
