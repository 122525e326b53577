// Finds how much memory this process may take, by the kernel, its control groups and its own
// limits.
#include "common/oct_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_cgroup.h"
#include "common/oct_file.h"

// Returns the first number that follows key at the beginning of a line. UINT64_MAX: there is none.
static uint64_t
file_number(const char *path, const char *key)
{
    FILE *file = oct_file_stream(path, "r");
    if (!file) {
        return UINT64_MAX;
    }
    char line[256];
    char format[64];
    uint64_t number = UINT64_MAX;
    (void)snprintf(format, sizeof(format), "%s%%%s", key, SCNu64);
    while (fgets(line, sizeof(line), file)) {
        uint64_t found;
        // The format is made of the constants below and one conversion.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (sscanf(line, format, &found) == 1) {
#pragma GCC diagnostic pop
            number = found;
            break;
        }
    }
    (void)fclose(file);
    return number;
}

// Returns what a limit on the process (by a batch system or `ulimit -v`) leaves beyond used bytes.
static uint64_t
rest_of(int resource, uint64_t used)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

// Returns the bytes that this process has of a kind, by a line of its status. 0: not known.
static uint64_t
used_bytes(const char *key)
{
    uint64_t kib = file_number("/proc/self/status", key);
    return kib == UINT64_MAX ? 0 : kib * 1024;
}

uint64_t
oct_memory_limit(void)
{
    uint64_t system = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t group = oct_cgroup_memory_limit("");
    // in all: nothing counts as used
    uint64_t own = OCT_MIN(rest_of(RLIMIT_AS, 0), rest_of(RLIMIT_DATA, 0));
    return OCT_MIN(OCT_MIN(system, group), own);
}

uint64_t
oct_memory_available(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t system = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    // _SC_AVPHYS_PAGES counts only idle pages. MemAvailable also counts the file cache.
    uint64_t kib = file_number("/proc/meminfo", "MemAvailable:");
    system = OCT_MIN(system,
                     kib == UINT64_MAX ? (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page : kib * 1024);
    uint64_t group = oct_cgroup_memory_left("");
    uint64_t own = OCT_MIN(rest_of(RLIMIT_AS, used_bytes("VmSize:")),
                           rest_of(RLIMIT_DATA, used_bytes("VmData:")));
    return OCT_MIN(OCT_MIN(system, group), own);
}

bool
oct_memory_suffices(uint64_t available, uint64_t needed)
{
    return (double)needed <= OCT_MEMORY_SHARE * (double)available;
}
