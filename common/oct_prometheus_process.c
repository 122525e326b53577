// Prometheus' standard numbers about a process (CPU time, memory, descriptors), read from /proc. A
// number that Linux does not give is NAN.
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_prometheus.h"

// Reads the beginning of a file; false: it is not there.
static bool
proc_read(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    size_t used = 0;
    ssize_t got;
    while (used < size - 1 && (got = read(fd, out + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    (void)close(fd);
    out[used] = '\0';
    return used > 0;
}

// The index-th number of /proc/self/stat, counted from 1 as proc(5) does; the second one, the
// program's name, may hold blanks.
static double
stat_field(const char *stat, int index)
{
    const char *at = strrchr(stat, ')');
    for (int i = 2; at != NULL && i < index; i++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtod(at, NULL) : NAN;
}

// When the machine began, in seconds since 1970.
static double
boot_s(void)
{
    char text[16384]; // a line for each processor comes first
    FILE *file = fopen("/proc/stat", "re");
    double seconds = NAN;
    while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
        if (strncmp(text, "btime ", 6) == 0) {
            seconds = strtod(text + 6, NULL);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return seconds;
}

static double
open_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return NAN;
    }
    double count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count - 1; // the folder's own
}

static double
max_fds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return NAN;
    }
    return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
}

void
oct_prometheus_process(oct_prometheus *text, const char *daemon)
{
    const oct_prometheus_label build[] = {{"daemon", daemon}, {"version", OCTET_VERSION}};
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_build_info",
                         "Always 1; which daemon of which release this is.");
    oct_prometheus_add(text, build, 2, 1);
    oct_prometheus_counter(text, "process_cpu_seconds_total",
                           "User and system CPU time of this process in seconds.",
                           (double)oct_clock_process_cpu_ns() * 1e-9);
    char stat[2048];
    if (proc_read("/proc/self/stat", stat, sizeof(stat))) {
        double ticks = (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
        oct_prometheus_gauge(text, "process_start_time_seconds",
                             "When this process began, in seconds since 1970.",
                             boot_s() + stat_field(stat, 22) / ticks);
        oct_prometheus_gauge(text, "process_resident_memory_bytes", "Resident memory in bytes.",
                             stat_field(stat, 24) * page);
        oct_prometheus_gauge(text, "process_virtual_memory_bytes", "Virtual memory in bytes.",
                             stat_field(stat, 23));
        oct_prometheus_gauge(text, "process_threads", "Threads of this process.",
                             stat_field(stat, 20));
    }
    oct_prometheus_gauge(text, "process_open_fds", "Open file descriptors.", open_fds());
    oct_prometheus_gauge(text, "process_max_fds", "Most file descriptors that may be open.",
                         max_fds());
}
