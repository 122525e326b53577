#ifndef TESTS_SUPPORT_OCT_FOLDER_H
#define TESTS_SUPPORT_OCT_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "tests/support/oct_test.h"

// A folder of its own for each test, which leaves it empty: enter and leave are its setup and
// teardown.

static char folder[64];

static int
enter(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet-test-XXXXXX");
    return mkdtemp(folder) != NULL && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
    (void)state;
    return rmdir(folder);
}

// A path in it; good for one call.
static const char *
in_folder(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

// How many it has; hidden ones do not count.
static inline unsigned
entries(void)
{
    unsigned count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(opened);
    return count;
}

static inline void
assert_content(const char *path, const char *want)
{
    uint8_t *bytes = NULL;
    size_t length = 0;
    T_OK(oct_file_read(path, 1000000, &bytes, &length));
    assert_int_equal(length, strlen(want));
    assert_string_equal((const char *)bytes, want);
    free(bytes);
}

#endif // TESTS_SUPPORT_OCT_FOLDER_H
