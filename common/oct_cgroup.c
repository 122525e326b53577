// Finds the nearest limits on memory and CPU time of the control groups that this process is in.
// Everything is read from files whenever a limit is asked for; a file that is missing sets no
// limit.
#include "common/oct_cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_file_open.h"

#define PATH_BYTES 4096 // of a folder of a group
// bytes; version 1 writes "no limit" as a whole number of pages just below 2^63
#define NO_LIMIT ((uint64_t)1 << 62)

// The names of a controller's files in one version of control groups.
typedef struct version {
    const char *controller;   // its name in /proc/self/cgroup, version 1 only
    const char *mount;        // of the hierarchy
    const char *limit, *used; // files of one number; CPU time has no file of what is used
    const char *cache[2];     // keys of memory.stat; they include the groups below
    const char *events;       // has a line "oom_kill COUNT"
} version;

static const version memory_1 = {"memory",
                                 "/sys/fs/cgroup/memory",
                                 "memory.limit_in_bytes",
                                 "memory.usage_in_bytes",
                                 {"total_inactive_file", "total_active_file"},
                                 "memory.oom_control"};
static const version memory_2 = {"memory",
                                 "/sys/fs/cgroup",
                                 "memory.max",
                                 "memory.current",
                                 {"inactive_file", "active_file"},
                                 "memory.events"};
static const version cpu_1 = {
    .controller = "cpu", .mount = "/sys/fs/cgroup/cpu", .limit = "cpu.cfs_quota_us"};
static const version cpu_2 = {.controller = "cpu", .mount = "/sys/fs/cgroup", .limit = "cpu.max"};

// Reads the number that a file begins with. UINT64_MAX: there is no such file, or it says "max".
static uint64_t
number_read(const char *folder, const char *name)
{
    char path[PATH_BYTES + 64];
    uint64_t number = UINT64_MAX;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = oct_file_stream(path, "r");
    if (file == NULL) {
        return UINT64_MAX;
    }
    if (fscanf(file, "%" SCNu64, &number) != 1) {
        number = UINT64_MAX;
    }
    (void)fclose(file);
    return number;
}

// Returns the bytes of file cache of a group. The kernel takes them back before it refuses memory,
// so they do not count as used.
static uint64_t
cache_read(const char *folder, const version *v)
{
    char path[PATH_BYTES + 64], line[256], key[64];
    uint64_t cache = 0, number;
    (void)snprintf(path, sizeof(path), "%s/memory.stat", folder);
    FILE *file = oct_file_stream(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%63s %" SCNu64, key, &number) == 2 &&
            (strcmp(key, v->cache[0]) == 0 || strcmp(key, v->cache[1]) == 0)) {
            cache += number;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return cache;
}

// Reads a number of one group. UINT64_MAX: the group has none.
typedef uint64_t level_fn(const char *folder, const version *v);

static uint64_t
level_limit(const char *folder, const version *v)
{
    uint64_t limit = number_read(folder, v->limit);
    return limit < NO_LIMIT ? limit : UINT64_MAX;
}

static uint64_t
level_left(const char *folder, const version *v)
{
    uint64_t limit = level_limit(folder, v), used = number_read(folder, v->used);
    if (limit == UINT64_MAX || used == UINT64_MAX) {
        return UINT64_MAX;
    }
    uint64_t cache = cache_read(folder, v);
    used -= OCT_MIN(used, cache); // used and cache were read at different times
    return limit > used ? limit - used : 0;
}

// Returns a quota in thousandths of a CPU. Version 2 has "QUOTA PERIOD" or "max PERIOD", both in
// microseconds, in one file. Version 1 has two files, and writes -1 for no quota.
static uint64_t
level_cpu(const char *folder, const version *v)
{
    char path[PATH_BYTES + 64], quota[32] = "";
    uint64_t period = number_read(folder, "cpu.cfs_period_us");
    (void)snprintf(path, sizeof(path), "%s/%s", folder, v->limit);
    FILE *file = oct_file_stream(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%31s %" SCNu64, quota, &period) < 1) {
            quota[0] = '\0';
        }
        (void)fclose(file);
    }
    bool is_set = quota[0] >= '1' && quota[0] <= '9' && period > 0 && period < NO_LIMIT;
    return is_set ? strtoull(quota, NULL, 10) * 1000 / period : UINT64_MAX;
}

// Reads the number of the line "oom_kill COUNT". UINT64_MAX: there is no such line.
static uint64_t
kills_read(const char *path)
{
    char line[256], key[64];
    uint64_t kills = UINT64_MAX, number;
    FILE *file = oct_file_stream(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%63s %" SCNu64, key, &number) == 2 && strcmp(key, "oom_kill") == 0) {
            kills = number;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kills;
}

static uint64_t
level_kills(const char *folder, const version *v)
{
    char path[PATH_BYTES + 64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, v->events);
    return kills_read(path);
}

// Returns the smallest number of all levels, from the group up to the mount. A level that does not
// exist is skipped: a container may see the path that its group has on the host.
static uint64_t
levels_least(const char *root, const version *v, const char *group, level_fn *level)
{
    char folder[PATH_BYTES];
    size_t top = strlen(root) + strlen(v->mount);
    int length = snprintf(folder, sizeof(folder), "%s%s%s", root, v->mount, group);
    if (length < 0 || (size_t)length >= sizeof(folder)) {
        return UINT64_MAX;
    }
    uint64_t least = level(folder, v);
    bool is_nearest = level == level_kills; // groups above also count kills of other processes
    while (strlen(folder) > top && !(is_nearest && least != UINT64_MAX)) {
        size_t slash = (size_t)(strrchr(folder, '/') - folder);
        folder[OCT_MAX(slash, top)] = '\0';
        uint64_t next = level(folder, v);
        least = OCT_MIN(least, next);
    }
    return least;
}

// Returns true if a list, separated by commas, names this controller.
static bool
has_controller(const char *list, const char *controller)
{
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        if (length == strlen(controller) && memcmp(list, controller, length) == 0) {
            return true;
        }
        list += length + (list[length] == ',');
    }
    return false;
}

// Reads a line "NUMBER:CONTROLLERS:GROUP" of /proc/self/cgroup. Version 2 has no controllers in it.
static uint64_t
line_least(const char *root, char *line, const version *v1, const version *v2, level_fn *level)
{
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (group == NULL) {
        return UINT64_MAX;
    }
    *group++ = '\0';
    controllers++;
    // the group is outside what this process sees of the hierarchy
    if (strstr(group, "/..") != NULL) {
        *group = '\0';
    }
    if (*controllers == '\0') {
        return levels_least(root, v2, group, level);
    }
    return has_controller(controllers, v1->controller) ? levels_least(root, v1, group, level)
                                                       : UINT64_MAX;
}

static uint64_t
groups_least(const char *root, const version *v1, const version *v2, level_fn *level)
{
    char path[PATH_BYTES], line[PATH_BYTES];
    uint64_t least = UINT64_MAX;
    (void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = oct_file_stream(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        uint64_t next = line_least(root, line, v1, v2, level);
        least = OCT_MIN(least, next);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return least;
}

uint64_t
oct_cgroup_memory_limit(const char *root)
{
    return groups_least(root, &memory_1, &memory_2, level_limit);
}

uint64_t
oct_cgroup_memory_left(const char *root)
{
    return groups_least(root, &memory_1, &memory_2, level_left);
}

uint64_t
oct_cgroup_cpu_millis(const char *root)
{
    return groups_least(root, &cpu_1, &cpu_2, level_cpu);
}

uint64_t
oct_cgroup_oom_kills(const char *root)
{
    char path[PATH_BYTES];
    uint64_t kills = groups_least(root, &memory_1, &memory_2, level_kills);
    (void)snprintf(path, sizeof(path), "%s/proc/vmstat", root);
    return kills != UINT64_MAX ? kills : kills_read(path);
}
