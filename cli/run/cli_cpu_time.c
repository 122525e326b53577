// Counts the CPU time of all processes in a daemon's session, by readings of /proc/PID/stat.
//
// A process's time appears twice in the kernel's numbers: in its own entry while it lives, and in
// that of its parent once the parent has waited for it. The sum therefore has to recognise time
// that it has counted before:
// 1. Each reading adds what a process used itself since its last reading.
// 2. When a process has ended, all that was counted for it is owed to its parent.
// 3. When the parent's waited-for time grows, the growth up to what is owed was counted before;
//    only the rest is new.
// 4. What stays owed for two readings belonged to a child that no process waited for, and is
// dropped.
#include "cli/run/cli_cpu_time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define PATH_BYTES 512
#define STAT_BYTES 1024
#define PROCESSES  8 // first size of the list; it doubles

// One reading of /proc/PID/stat.
typedef struct reading {
    int parent;
    // in clock ticks since the machine started; with the number it identifies a process
    uint64_t start;
    uint64_t own_ns;    // CPU time of the process itself
    uint64_t waited_ns; // CPU time of the children that it has waited for, and of theirs
    uint64_t resident;  // bytes
} reading;

typedef struct process {
    int pid;
    bool is_gone; // the process has ended
    reading last;
    uint64_t grown_ns; // growth of waited_ns at this reading
    // CPU time that was counted for children that have ended, and will appear in waited_ns: since
    // this reading, and since the one before.
    uint64_t owed_ns, owed_before_ns;
} process;

struct cli_cpu_time {
    const char *root; // prefix of /proc
    process *list; // by start, so parents come before their children; [0] is the leader and stays
    size_t count, room; // processes; allocated
    uint64_t ns;        // the sum, which never shrinks
};

// ---- one process

typedef enum reading_result {
    READING_OK,
    READING_GONE, // the process has ended; its parent may have its time already
    READING_NONE, // nothing was read this time, for example because no more files can be opened
} reading_result;

// Parses /proc/PID/stat (proc(5)).
static reading_result
stat_parse(const char *text, reading *out)
{
    char state;
    int threads;
    uint64_t user, kernel, waited_user, waited_kernel;
    // after the name, which may contain blanks and brackets
    const char *name_end = strrchr(text, ')');
    if (name_end == NULL ||
        sscanf(name_end + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %*d %*d %d %*d %" SCNu64 " %*u %" SCNu64,
               &state, &out->parent, &user, &kernel, &waited_user, &waited_kernel, &threads,
               &out->start, &out->resident) != 9) {
        return READING_NONE;
    }
    // The parent is waiting for it just now. The kernel has released the structure with its times,
    // and reports 0.
    if (state == 'X' || threads == 0) {
        return READING_GONE;
    }
    uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
    out->own_ns = (user + kernel) * tick_ns;
    out->waited_ns = (waited_user + waited_kernel) * tick_ns;
    out->resident *= (uint64_t)sysconf(_SC_PAGESIZE);
    return READING_OK;
}

// Reads a process once. A process without this file has ended.
static reading_result
reading_take(const char *root, int pid, reading *out)
{
    char path[PATH_BYTES], text[STAT_BYTES];
    (void)snprintf(path, sizeof(path), "%s/proc/%d/stat", root, pid);
    int fd = oct_file_open(path, O_RDONLY, 0, NULL);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    int code = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (length < 0) {
        return code == ENOENT || code == ESRCH ? READING_GONE : READING_NONE;
    }
    text[length] = '\0';
    return stat_parse(text, out);
}

static process *
process_find(const cli_cpu_time *time, int pid)
{
    for (size_t i = 0; i < time->count; i++) {
        if (time->list[i].pid == pid) {
            return &time->list[i];
        }
    }
    return NULL;
}

// Inserts a process by its start.
static void
process_add(cli_cpu_time *time, const process *added)
{
    if (time->count == time->room) {
        time->room = time->room > 0 ? 2 * time->room : PROCESSES;
        time->list = realloc(time->list, time->room * sizeof(*time->list));
        OCT_ASSERT(time->list != NULL);
    }
    size_t at = time->count++;
    for (; at > 0 && time->list[at - 1].last.start > added->last.start; at--) {
        time->list[at] = time->list[at - 1];
    }
    time->list[at] = *added;
}

// Reads a process and adds what it used itself. A number that is used again by another process
// shows in the start.
static void
process_read(cli_cpu_time *time, process *p)
{
    reading now, last = p->last;
    reading_result result = p->is_gone ? READING_GONE : reading_take(time->root, p->pid, &now);
    p->grown_ns = 0;
    p->is_gone = result == READING_GONE || (result == READING_OK && now.start != last.start);
    if (result == READING_OK && !p->is_gone) {
        p->last = now;
        // The kernel scales its samples, so a time may be reported smaller than before.
        p->last.own_ns = OCT_MAX(now.own_ns, last.own_ns);
        p->last.waited_ns = OCT_MAX(now.waited_ns, last.waited_ns);
        p->grown_ns = p->last.waited_ns - last.waited_ns;
        time->ns += p->last.own_ns - last.own_ns;
    }
}

// All that the sum holds for a process, which its parent's waited_ns will include.
static uint64_t
process_counted_ns(const process *p)
{
    return p->last.own_ns + p->last.waited_ns + p->owed_ns + p->owed_before_ns;
}

// Adds the growth of a process's waited-for time, less what was counted for its children before.
// What is owed for longer than one reading belonged to a child that no process waited for.
static void
waited_count(cli_cpu_time *time, process *p)
{
    uint64_t owed_ns = p->owed_ns + p->owed_before_ns;
    uint64_t again_ns = OCT_MIN(owed_ns, p->grown_ns);
    time->ns += p->grown_ns - again_ns;
    p->owed_before_ns = OCT_MIN(owed_ns - again_ns, p->owed_ns);
    p->owed_ns = 0;
}

// ---- all of them

cli_cpu_time *
cli_cpu_time_create(const char *root, int leader_pid)
{
    cli_cpu_time *time = oct_alloc(sizeof(*time));
    process leader = {.pid = leader_pid};
    reading first;
    time->root = root;
    leader.is_gone = reading_take(root, leader_pid, &first) != READING_OK;
    leader.last.start = leader.is_gone ? 0 : first.start;
    process_add(time, &leader);
    return time;
}

// Parents are read before their children. A child that ends in between is missing from both, and
// its time comes with the next reading; it is never counted twice.
void
cli_cpu_time_read(cli_cpu_time *time)
{
    for (size_t i = 0; i < time->count; i++) {
        process_read(time, &time->list[i]);
    }
    for (size_t i = time->count; i-- > 1;) {
        const process *p = &time->list[i];
        process *parent = p->is_gone ? process_find(time, p->last.parent) : NULL;
        if (parent != NULL) {
            parent->owed_ns += process_counted_ns(p);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < time->count; i++) {
        process *p = &time->list[i];
        if (!p->is_gone) {
            waited_count(time, p);
        }
        if (!p->is_gone || i == 0) {
            time->list[kept++] = *p;
        }
    }
    time->count = kept;
}

// Adds a process that was found in the session, with what it has used so far.
static void
found(cli_cpu_time *time, int pid)
{
    process p = {.pid = pid};
    if (process_find(time, pid) == NULL && reading_take(time->root, pid, &p.last) == READING_OK) {
        time->ns += process_counted_ns(&p);
        process_add(time, &p);
    }
}

void
cli_cpu_time_find(cli_cpu_time *const *times, size_t count)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/proc", count > 0 ? times[0]->root : "");
    DIR *folder = count > 0 ? oct_file_open_entries(path) : NULL;
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int pid = (int)strtol(entry->d_name, NULL, 10); // 0: the entry is not a process
        int session = pid > 0 ? getsid(pid) : -1;       // five times as fast as reading its file
        for (size_t i = 0; i < count; i++) {
            if (times[i]->list[0].pid == session) {
                found(times[i], pid);
            }
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

uint64_t
cli_cpu_time_ns(const cli_cpu_time *time)
{
    return time->ns;
}

uint64_t
cli_cpu_time_resident(const cli_cpu_time *time)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < time->count; i++) {
        bytes += time->list[i].is_gone ? 0 : time->list[i].last.resident;
    }
    return bytes;
}

uint64_t
cli_cpu_time_leader_ns(const cli_cpu_time *time)
{
    return process_counted_ns(&time->list[0]);
}

void
cli_cpu_time_end(cli_cpu_time *time, uint64_t leader_ns)
{
    uint64_t counted_ns = cli_cpu_time_leader_ns(time);
    time->ns += leader_ns > counted_ns ? leader_ns - counted_ns : 0;
}

void
cli_cpu_time_destroy(cli_cpu_time *time)
{
    if (time != NULL) {
        free(time->list);
        free(time);
    }
}
