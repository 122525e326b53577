// The last error of a process, in a file that its parent reads.
#include "common/oct_failure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_text.h"

#define FILE_BYTES (OCT_FAILURE_KINDS * OCT_FAILURE_BYTES)

static int own_fd = -1; // the parent's file

static off_t
record_begin(oct_failure_kind kind)
{
    return (off_t)kind * OCT_FAILURE_BYTES;
}

// ---- in the child

// The number may be left over from a process further up that closed the descriptor, and name
// another file by now: the parent's has no name and one size.
void
oct_failure_begin(void)
{
    struct stat file;
    char *end;
    const char *text = getenv(OCT_FAILURE_FD);
    long fd = text != NULL ? strtol(text, &end, 10) : -1;
    if (text != NULL && end != text && *end == '\0' && fd > STDERR_FILENO && fd <= INT32_MAX &&
        fstat((int)fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 0 &&
        file.st_size == FILE_BYTES) {
        own_fd = (int)fd;
    }
}

void
oct_failure_write(oct_failure_kind kind, const char *id, const char *text)
{
    char record[OCT_FAILURE_BYTES];
    if (own_fd < 0) {
        return;
    }
    int code = errno;
    (void)snprintf(record, sizeof(record), "%" PRIu64 " %s %.*s", oct_clock_wall_us(), id,
                   (int)strcspn(text, "\n"), text);
    size_t length = strlen(record);
    oct_text_tame(record, length, ' ');
    record[length++] = '\n'; // replaces the zero byte
    (void)!pwrite(own_fd, record, length, record_begin(kind));
    errno = code;
}

void
oct_failure_print(const char *program, const char *format, ...)
{
    va_list args;
    char *text;
    va_start(args, format);
    OCT_ASSERT(vasprintf(&text, format, args) >= 0);
    va_end(args);
    fprintf(stderr, "%s: error: %s\n", program, text);
    oct_failure_write(OCT_FAILURE_ERROR, "-", text);
    free(text);
}

// ---- in the parent

int
oct_failure_open(void)
{
    int fd = memfd_create("octet-failure", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (ftruncate(fd, FILE_BYTES) != 0 ||
                    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

bool
oct_failure_read(int fd, oct_failure_kind kind, oct_failure *out)
{
    char record[OCT_FAILURE_BYTES];
    ssize_t got = pread(fd, record, sizeof(record), record_begin(kind));
    char *end = got > 0 ? memchr(record, '\n', (size_t)got) : NULL, *at;
    if (end == NULL) {
        return false;
    }
    *end = '\0';
    uint64_t wall_us = strtoull(record, &at, 10);
    if (at == record || *at != ' ') {
        return false;
    }
    const char *id = at + 1;
    size_t id_length = strcspn(id, " ");
    if (id_length == 0 || id_length >= OCT_FAILURE_ID_MAX || id[id_length] == '\0' ||
        id[id_length + 1] == '\0') {
        return false;
    }
    oct_text_tame(record, strlen(record), '?');
    *out = (oct_failure){.wall_us = wall_us};
    memcpy(out->id, id, id_length);
    oct_text_copy(out->text, sizeof(out->text), id + id_length + 1);
    return true;
}
