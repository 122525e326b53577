// Measures this process (CPU time, memory, descriptors) by /proc, and lists the numbers for the
// registry.
#include "common/oct_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_pulse.h"

// Reads the beginning of a file. False: it does not exist or is empty.
static bool
proc_read(const char *path, char *out, size_t size)
{
    int fd = oct_file_open(path, O_RDONLY, 0, NULL);
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

// Returns field `index` of /proc/self/stat, counted from 1 as in proc(5). Fields are found from the
// end of the second, the program's name, which may contain blanks.
static double
stat_field(const char *stat, int index)
{
    const char *at = strrchr(stat, ')');
    for (int i = 2; at != NULL && i < index; i++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtod(at, NULL) : NAN;
}

// Returns when the machine started, in seconds since 1970.
static double
boot_s(void)
{
    char text[16384]; // a line of /proc/stat; that of the interrupts is long
    FILE *file = oct_file_stream("/proc/stat", "r");
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
    DIR *folder = oct_file_open_entries("/proc/self/fd");
    if (folder == NULL) {
        return NAN;
    }
    double count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count - 1; // not the descriptor of the folder itself
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

double
oct_process_resident_bytes(void)
{
    char text[256];
    const char *pages =
        proc_read("/proc/self/statm", text, sizeof(text)) ? strchr(text, ' ') : NULL;
    return pages != NULL ? strtod(pages, NULL) * (double)sysconf(_SC_PAGESIZE) : NAN;
}

void
oct_process_measure(oct_process *now)
{
    char stat[2048];
    *now = (oct_process){
        .cpu_s = (double)oct_clock_process_cpu_ns() * 1e-9,
        .start_s = NAN,
        .resident_bytes = NAN,
        .virtual_bytes = NAN,
        .threads = NAN,
        .open_fds = open_fds(),
        .max_fds = max_fds(),
        .restarts = (double)oct_pulse_restarts(),
        .hangs = (double)oct_pulse_hangs(),
    };
    if (proc_read("/proc/self/stat", stat, sizeof(stat))) {
        double ticks = (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
        // field 22 counts clock ticks since the machine started
        now->start_s = boot_s() + stat_field(stat, 22) / ticks;
        now->resident_bytes = stat_field(stat, 24) * page;
        now->virtual_bytes = stat_field(stat, 23);
        now->threads = stat_field(stat, 20);
    }
}

#define METRIC(...) OCT_NUMBER_METRIC(oct_process, __VA_ARGS__)

static const oct_number rows[] = {
    METRIC(COUNTER, "cpu_s", "s", "User and system CPU time of this process.", 0, cpu_s,
           "process_cpu_seconds_total"),
    METRIC(GAUGE, "start_s", "s", "Start time of this process, in seconds since 1970.", 0, start_s,
           "process_start_time_seconds"),
    METRIC(GAUGE, "resident_bytes", "bytes", "Resident memory.", 0, resident_bytes,
           "process_resident_memory_bytes"),
    METRIC(GAUGE, "virtual_bytes", "bytes", "Virtual memory.", 0, virtual_bytes,
           "process_virtual_memory_bytes"),
    METRIC(GAUGE, "threads", "threads", "Threads of this process.", 0, threads, "process_threads"),
    METRIC(GAUGE, "open_fds", "files", "Open file descriptors.", 0, open_fds, "process_open_fds"),
    METRIC(GAUGE, "max_fds", "files", "Maximum number of open file descriptors.", 0, max_fds,
           "process_max_fds"),
    METRIC(COUNTER, "restarts", "restarts", "Daemons that `octet train` has restarted.", 0,
           restarts, "octet_supervisor_restarts_total"),
    METRIC(
        COUNTER, "hangs", "daemons",
        "Daemons that `octet train` has killed because they hung (`run.hang_s`, `run.env_hang_s`).",
        0, hangs, "octet_supervisor_hangs_total"),
};

void
oct_process_numbers_add(oct_numbers *numbers, const oct_process *now)
{
    oct_numbers_add_all(numbers, rows, OCT_COUNTOF(rows), now);
}

void
oct_process_prometheus(oct_prometheus *text, const char *daemon)
{
    const oct_prometheus_label build[] = {{"daemon", daemon}, {"version", OCTET_VERSION}};
    oct_prometheus_begin(text, OCT_PROMETHEUS_GAUGE, "octet_build_info",
                         "Always 1; the labels give the daemon and its release.");
    oct_prometheus_add(text, build, 2, 1);
    oct_process now;
    oct_process_measure(&now);
    oct_numbers *numbers = oct_numbers_create("process.");
    oct_process_numbers_add(numbers, &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
}
