// Threads that receive no signals, and waits that signals do not interrupt.
#include "common/oct_thread.h"

#include <errno.h>
#include <signal.h>

#include "common/oct_base.h"

int
oct_thread_create(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    // A new thread inherits the mask of its creator.
    sigset_t all, before;
    OCT_ASSERT(sigfillset(&all) == 0 && pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int code = pthread_create(out, NULL, run, arg);
    OCT_ASSERT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return code;
}

void
oct_semaphore_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
        OCT_ASSERT(errno == EINTR);
    }
}
