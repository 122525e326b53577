// Threads for the parts of a job.
//
// Each thread has two semaphores, which order all accesses to memory: the thread reads the job
// after `start` was posted, and the caller continues after `done` was posted. A signal interrupts
// the wait for `done`, so that the caller can react to it at once (pulse).
#include "lib/liboctet_crew.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "common/oct_base.h"
#include "common/oct_thread.h"

#define PULSE_NS 250000000L // between two calls of pulse
#define NS_PER_S 1000000000L

struct member {
    liboctet_crew *crew;
    uint32_t part; // >= 1
    pthread_t thread;
    sem_t start, done;
};

struct liboctet_crew {
    uint32_t parts;                             // with a thread, plus part 0
    struct member *members;                     // [parts]; members[0] is unused
    void (*work)(void *context, uint32_t part); // of the current job; NULL: the threads end
    void *context;
    void (*pulse)(void); // called while waiting
};

// Waits until a part is done, and calls pulse meanwhile.
static void
done_wait(const liboctet_crew *crew, sem_t *done)
{
    struct timespec until;
    for (;;) {
        OCT_ASSERT(clock_gettime(CLOCK_REALTIME, &until) == 0);
        until.tv_nsec += PULSE_NS;
        until.tv_sec += until.tv_nsec / NS_PER_S;
        until.tv_nsec %= NS_PER_S;
        if (sem_timedwait(done, &until) == 0) {
            return;
        }
        OCT_ASSERT(errno == EINTR || errno == ETIMEDOUT);
        crew->pulse();
    }
}

static void *
member_run(void *arg)
{
    struct member *member = arg;
    liboctet_crew *crew = member->crew;
    for (;;) {
        oct_semaphore_wait(&member->start);
        if (crew->work == NULL) {
            return NULL;
        }
        crew->work(crew->context, member->part);
        OCT_ASSERT(sem_post(&member->done) == 0);
    }
}

static void
member_fini(struct member *member)
{
    OCT_ASSERT(sem_destroy(&member->start) == 0 && sem_destroy(&member->done) == 0);
}

// Returns 0 or the error of pthread_create.
static int
member_init(struct member *member, liboctet_crew *crew, uint32_t part)
{
    member->crew = crew;
    member->part = part;
    OCT_ASSERT(sem_init(&member->start, 0, 0) == 0 && sem_init(&member->done, 0, 0) == 0);
    int failed = oct_thread_create(&member->thread, member_run, member);
    if (failed != 0) {
        member_fini(member);
    }
    return failed;
}

oct_err
liboctet_crew_create(liboctet_crew **out, uint32_t parts, void (*pulse)(void))
{
    OCT_ASSERT(parts >= 1 && parts <= LIBOCTET_CREW_PARTS_MAX);
    liboctet_crew *crew = oct_alloc(sizeof(*crew));
    crew->pulse = pulse;
    crew->members = oct_alloc(parts * sizeof(*crew->members));
    // parts counts the threads that exist, so that destroy can end them after a failure.
    for (crew->parts = 1; crew->parts < parts; crew->parts++) {
        int failed = member_init(&crew->members[crew->parts], crew, crew->parts);
        if (failed != 0) {
            liboctet_crew_destroy(crew);
            errno = failed;
            return OCT_EINTERNAL;
        }
    }
    *out = crew;
    return OCT_OK;
}

// Wakes all threads for a job.
static void
job_start(liboctet_crew *crew, void (*work)(void *context, uint32_t part), void *context)
{
    crew->work = work;
    crew->context = context;
    for (uint32_t part = 1; part < crew->parts; part++) {
        OCT_ASSERT(sem_post(&crew->members[part].start) == 0);
    }
}

void
liboctet_crew_destroy(liboctet_crew *crew)
{
    if (crew == NULL) {
        return;
    }
    job_start(crew, NULL, NULL);
    for (uint32_t part = 1; part < crew->parts; part++) {
        struct member *member = &crew->members[part];
        OCT_ASSERT(pthread_join(member->thread, NULL) == 0);
        member_fini(member);
    }
    free(crew->members);
    free(crew);
}

void
liboctet_crew_run(liboctet_crew *crew, void (*work)(void *context, uint32_t part), void *context)
{
    job_start(crew, work, context);
    work(context, 0);
    for (uint32_t part = 1; part < crew->parts; part++) {
        done_wait(crew, &crew->members[part].done);
    }
}
