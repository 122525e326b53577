#ifndef TESTS_LEARNER_RUN_FOLDER_H
#define TESTS_LEARNER_RUN_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "proto/wire_env.h"
#include "tests/support/oct_test.h"

// A folder of a test's own in the working folder, emptied when it begins. One level deep.

static inline void
folder_empty(const char *folder)
{
    char path[512];
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)remove(path); // also an empty folder
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
}

static inline void
folder_begin(const char *folder)
{
    folder_empty(folder);
    T_OK(oct_file_make_folder(folder));
}

static inline void
folder_end(const char *folder)
{
    folder_empty(folder);
    (void)rmdir(folder);
}

// The first file whose name begins so; "" when there is none.
static inline const char *
folder_find(const char *folder, const char *begins)
{
    static char path[512];
    path[0] = '\0';
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, begins, strlen(begins)) == 0) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        }
    }
    (void)closedir(entries);
    return path;
}

static inline uint32_t
folder_count(const char *folder)
{
    uint32_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    while (readdir(entries) != NULL) {
        count++;
    }
    (void)closedir(entries);
    return count;
}

// The whole file as text; the caller frees it.
static inline char *
folder_read(const char *folder, const char *name)
{
    char path[512];
    uint8_t *bytes = NULL;
    size_t length;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    T_OK(oct_file_read(path, 1 << 26, &bytes, &length));
    return (char *)bytes;
}

// An environment's file, as octet train writes it.
static inline oct_err
folder_write_env(const char *path, const wire_env_spec *env)
{
    size_t length;
    uint8_t *bytes = wire_env_pack(env, &length);
    oct_err err = oct_file_write(path, bytes, length);
    free(bytes);
    return err;
}

static inline int
folder_has(const char *folder, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

#endif // TESTS_LEARNER_RUN_FOLDER_H
