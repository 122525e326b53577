// A thread that runs an event loop in a program that is not Octet's.
//
// Two semaphores order its life: `begin` lets the thread run after the links were opened on its
// loop, and `ended` tells client_thread_stop that the links are closed. NNG may hang while it
// closes a socket; client_thread_stop then leaves the thread behind after CLOSE_SECONDS instead of
// blocking the program.
#include "lib/client_thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "common/oct_thread.h"
#include "net/net_limits.h"

#define CLOSE_SECONDS 3 // until a thread that does not end is left behind

struct client_thread {
    pid_t pid; // of the process that created it
    net_loop *loop;
    net_wakeup *end; // stops the loop
    net_fn close;    // closes the links; NULL: abandoned, there is nothing to run
    void *arg;
    pthread_t thread;
    sem_t begin, ended;
    sigset_t before; // signal mask of the caller's thread, restored by begin
};

// The process that used the network library first. The library does not work in a fork of that
// process, and would end it.
static atomic_int first_pid;

oct_err
client_thread_check(oct_reason *why)
{
    OCT_TRY(net_limits_check(why));
    int none = 0, pid = (int)getpid();
    if (atomic_compare_exchange_strong(&first_pid, &none, pid)) {
        // Errors only: the caller reports the state of its links.
        oct_log_init("octet", OCT_LOG_ERROR);
        return OCT_OK;
    }
    if (none == pid) {
        return OCT_OK;
    }
    return oct_refuse(
        why,
        "process %d is a fork of process %d, which had opened a replay; a fork does not copy "
        "threads; start processes in another way (multiprocessing's \"spawn\" or \"forkserver\")",
        pid, none);
}

static void
ended(void *arg)
{
    client_thread *thread = arg;
    net_loop_stop(thread->loop);
}

static void *
thread_run(void *arg)
{
    client_thread *thread = arg;
    oct_semaphore_wait(&thread->begin);
    if (thread->close == NULL) {
        return NULL;
    }
    net_loop_run(thread->loop);
    thread->close(thread->arg);
    net_wakeup_destroy(thread->end);
    net_loop_destroy(thread->loop);
    OCT_ASSERT(sem_post(&thread->ended) == 0);
    return NULL;
}

static void
thread_free(client_thread *thread)
{
    OCT_ASSERT(sem_destroy(&thread->begin) == 0 && sem_destroy(&thread->ended) == 0);
    free(thread);
}

oct_err
client_thread_create(client_thread **out, oct_reason *why)
{
    client_thread *thread = oct_alloc(sizeof(*thread));
    OCT_ASSERT(sem_init(&thread->begin, 0, 0) == 0 && sem_init(&thread->ended, 0, 0) == 0);
    int failed = oct_thread_create(&thread->thread, thread_run, thread);
    if (failed != 0) {
        thread_free(thread);
        return oct_fail(why, OCT_EIO, "cannot start a thread: %s", strerror(failed));
    }
    (void)pthread_setname_np(thread->thread, "octet-replay");
    // Threads inherit the signal mask of the thread that creates them; begin restores the
    // caller's.
    sigset_t all;
    OCT_ASSERT(sigfillset(&all) == 0 && pthread_sigmask(SIG_SETMASK, &all, &thread->before) == 0);
    thread->pid = getpid();
    thread->loop = net_loop_create();
    thread->end = net_wakeup_create(thread->loop, ended, thread);
    *out = thread;
    return OCT_OK;
}

net_loop *
client_thread_loop(const client_thread *thread)
{
    return thread->loop;
}

// Lets the thread continue and restores the caller's signal mask.
static void
begin(client_thread *thread, net_fn close, void *arg)
{
    thread->close = close;
    thread->arg = arg;
    OCT_ASSERT(sem_post(&thread->begin) == 0);
    OCT_ASSERT(pthread_sigmask(SIG_SETMASK, &thread->before, NULL) == 0);
}

void
client_thread_start(client_thread *thread, net_fn close, void *arg)
{
    OCT_ASSERT(close != NULL);
    begin(thread, close, arg);
}

void
client_thread_abandon(client_thread *thread)
{
    net_wakeup_destroy(thread->end);
    net_loop_destroy(thread->loop);
    begin(thread, NULL, NULL);
    OCT_ASSERT(pthread_join(thread->thread, NULL) == 0);
    thread_free(thread);
}

bool
client_thread_is_here(const client_thread *thread)
{
    return thread->pid == getpid();
}

bool
client_thread_stop(client_thread *thread)
{
    if (!client_thread_is_here(thread)) {
        return false;
    }
    net_wakeup_send(thread->end);
    struct timespec deadline;
    OCT_ASSERT(clock_gettime(CLOCK_REALTIME, &deadline) == 0);
    // sem_timedwait takes an absolute time, and a signal interrupts it.
    deadline.tv_sec += CLOSE_SECONDS;
    while (sem_timedwait(&thread->ended, &deadline) != 0) {
        if (errno != EINTR) {
            (void)pthread_detach(thread->thread);
            return false;
        }
    }
    OCT_ASSERT(pthread_join(thread->thread, NULL) == 0);
    thread_free(thread);
    return true;
}
