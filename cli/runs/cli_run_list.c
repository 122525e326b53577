// Finds run folders: decides which folder is a run, and where commands that show several runs
// search.
#include "cli/runs/cli_run_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/runs/cli_series.h"
#include "common/oct_base.h"
#include "common/oct_file.h"

// A run folder. Device and inode identify it, whatever its path is.
typedef struct place {
    char *path;
    dev_t device;
    ino_t inode;
    int64_t changed_us; // last change of the folder, µs since 1970
} place;

struct cli_run_list {
    place *place;                // [max]
    uint32_t count, max, beyond; // listed; most; found beyond that
};

cli_run_list *
cli_run_list_create(uint32_t max)
{
    cli_run_list *list = oct_alloc(sizeof(*list));
    list->place = oct_alloc(max * sizeof(*list->place));
    list->max = max;
    return list;
}

void
cli_run_list_destroy(cli_run_list *list)
{
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        free(list->place[i].path);
    }
    if (list != NULL) {
        free(list->place);
    }
    free(list);
}

// Adds a folder unless it is listed.
static void
run_add(cli_run_list *list, const char *path, const struct stat *status)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->place[i].device == status->st_dev && list->place[i].inode == status->st_ino) {
            return;
        }
    }
    if (list->count == list->max) {
        list->beyond++;
        return;
    }
    char *copy = strdup(path);
    OCT_ASSERT(copy != NULL);
    list->place[list->count++] = (place){
        .path = copy,
        .device = status->st_dev,
        .inode = status->st_ino,
        .changed_us = status->st_mtim.tv_sec * 1000000 + status->st_mtim.tv_nsec / 1000,
    };
}

// Names with a dot are skipped, and links are not followed.
static int
may_be_folder(const struct dirent *item)
{
    return item->d_name[0] != '.' && (item->d_type == DT_DIR || item->d_type == DT_UNKNOWN);
}

// Adds the run at path, or the runs below it. Returns how many there are.
static uint32_t
folder_search(cli_run_list *list, const char *path, const struct stat *status, int depth)
{
    if (cli_series_is_run(path)) {
        run_add(list, path, status);
        return 1;
    }
    struct dirent **items;
    uint32_t found = 0;
    size_t length = strlen(path);
    const char *slash = length > 0 && path[length - 1] == '/' ? "" : "/";
    int count = depth > 0 ? scandir(path, &items, may_be_folder, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        char below[CLI_SERIES_FOLDER_MAX];
        struct stat there;
        int used = snprintf(below, sizeof(below), "%s%s%s", path, slash, items[i]->d_name);
        if (used > 0 && (size_t)used < sizeof(below) && lstat(below, &there) == 0 &&
            S_ISDIR(there.st_mode)) {
            found += folder_search(list, below, &there, depth - 1);
        }
        free(items[i]);
    }
    if (count > 0) {
        free(items);
    }
    return found;
}

// Returns the number of runs found. 0: there are none (errno is 0), or the folder cannot be read
// (errno says why).
uint32_t
cli_run_list_add(cli_run_list *list, const char *folder)
{
    struct stat status;
    DIR *opened = oct_file_open_entries(folder);
    if (opened == NULL || fstat(dirfd(opened), &status) != 0) {
        int why = errno;
        if (opened != NULL) {
            (void)closedir(opened);
        }
        errno = why;
        return 0;
    }
    (void)closedir(opened);
    uint32_t found = folder_search(list, folder, &status, CLI_RUN_LIST_DEPTH);
    errno = 0;
    return found;
}

uint32_t
cli_run_list_count(const cli_run_list *list)
{
    return list->count;
}

const char *
cli_run_list_at(const cli_run_list *list, uint32_t i)
{
    OCT_ASSERT(i < list->count);
    return list->place[i].path;
}

int64_t
cli_run_list_changed_us(const cli_run_list *list, uint32_t i)
{
    OCT_ASSERT(i < list->count);
    return list->place[i].changed_us;
}

// Returns how many runs had no room in the list.
uint32_t
cli_run_list_beyond(const cli_run_list *list)
{
    return list->beyond;
}
