// Checks that the threads of the network can be started and its descriptors opened.
#include "net/net_limits.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"

// Threads of NNG 1.5.2: for each CPU one that expires operations and two for tasks, NNG_TASKS_MAX
// of these at most; the poller, the reaper, the timers' thread, and four resolvers.
#define NNG_TASKS_MAX 16
#define NNG_OTHERS    7
// Threads of ours: the gate, four of libuv's that resolve names, and one that closes links.
#define OWN        6
#define CPUS_MAX   4096
#define NEEDED_MAX (NNG_TASKS_MAX + CPUS_MAX + NNG_OTHERS + OWN)
#define FILES      64 // a learner without peers uses 16

static atomic_bool is_known; // the threads could be started once

static unsigned
needed(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cpus = online < 1 ? 1 : (unsigned)OCT_MIN(online, CPUS_MAX);
    return OCT_MIN(2 * cpus, NNG_TASKS_MAX) + cpus + NNG_OTHERS + OWN;
}

// Waits for the mutex until, which is held until all threads run or one could not be started.
static void *
probe_thread(void *until)
{
    pthread_mutex_lock(until);
    pthread_mutex_unlock(until);
    return NULL;
}

// Starts count threads at the same time. Their stacks are as large as those of the real threads, so
// that a limit on address space shows, too.
static bool
can_start(unsigned count)
{
    pthread_mutex_t until = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread[NEEDED_MAX];
    unsigned begun = 0;
    pthread_mutex_lock(&until);
    while (begun < count && pthread_create(&thread[begun], NULL, probe_thread, &until) == 0) {
        begun++;
    }
    pthread_mutex_unlock(&until);
    for (unsigned i = 0; i < begun; i++) {
        (void)pthread_join(thread[i], NULL);
    }
    (void)pthread_mutex_destroy(&until);
    return begun == count;
}

static oct_err
threads_check(oct_reason *why)
{
    unsigned count = needed();
    if (!atomic_load(&is_known) && !can_start(count)) {
        return oct_fail(why, OCT_EIO,
                        "no more threads can be started, and %u are needed here: raise the limit "
                        "on processes or on memory (ulimit -u, ulimit -v, pids.max of the cgroup)",
                        count);
    }
    atomic_store(&is_known, true);
    return OCT_OK;
}

static oct_err
files_check(oct_reason *why)
{
    int file[FILES], count = 0, error = 0;
    while (count < FILES && (file[count] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        count++;
    }
    error = errno;
    for (int i = 0; i < count; i++) {
        (void)close(file[i]);
    }
    if (count < FILES) {
        return oct_fail(why, OCT_EIO,
                        "%s: %d more can be opened, and %d are needed here: raise the limit on "
                        "open files (ulimit -n, LimitNOFILE of systemd, fs.file-max)",
                        strerror(error), count, FILES);
    }
    return OCT_OK;
}

oct_err
net_limits_check(oct_reason *why)
{
    OCT_TRY(threads_check(why));
    return files_check(why);
}
