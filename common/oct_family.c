// Finds and ends the processes that foreign code has started and left behind.
#include "common/oct_family.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_file_open.h"

#define END_NS  UINT64_C(1000000000) // how long oct_family_end tries
#define LOOK_NS 1000000              // between two passes

void
oct_family_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

// Reads the parent and the session of a process. False: the process has ended.
static bool
relatives_read(pid_t pid, pid_t *parent, pid_t *session)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = oct_file_stream(path, "r");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    // after the name, which may contain blanks and brackets
    const char *behind = strrchr(text, ')');
    int of[2];
    if (behind == NULL || sscanf(behind, ") %*c %d %*d %d", &of[0], &of[1]) != 2) {
        return false;
    }
    *parent = of[0];
    *session = of[1];
    return true;
}

// Returns true if a child is to be left running.
static bool
stays(pid_t pid, pid_t session, const pid_t *keep, size_t count, bool is_session_kept)
{
    bool is_kept = is_session_kept && session == getsid(0);
    for (size_t i = 0; !is_kept && i < count; i++) {
        is_kept = keep[i] == pid;
    }
    return is_kept;
}

// Kills and reaps all children that are not kept, once. Returns true if there was one. The children
// of a killed process become this process's own, so the caller repeats this.
static bool
children_kill(const pid_t *keep, size_t count, bool is_session_kept)
{
    bool was_found = false;
    DIR *processes = oct_file_open_entries("/proc");
    for (const struct dirent *e; processes != NULL && (e = readdir(processes)) != NULL;) {
        // 0: the entry is not a process
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10), parent, session;
        if (pid <= 0 || !relatives_read(pid, &parent, &session) || parent != getpid() ||
            stays(pid, session, keep, count, is_session_kept)) {
            continue;
        }
        was_found = true;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, WNOHANG);
    }
    if (processes != NULL) {
        (void)closedir(processes);
    }
    return was_found;
}

void
oct_family_end(const pid_t *keep, size_t count, bool is_session_kept)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint64_t end_ns = oct_clock_ns() + END_NS;
    siginfo_t about;
    // waitid fails when there are no children
    while (waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           children_kill(keep, count, is_session_kept) && oct_clock_ns() < end_ns) {
        (void)nanosleep(&look, NULL);
    }
}
