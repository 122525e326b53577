// The processes of bench_swarm that play the actors, and what they tell of it.
#include "bench/bench_swarm_crew.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench_must.h"
#include "common/oct_base.h"

#define TURN_MS     5
#define SAMPLES_MAX (1u << 20) // of acknowledgements; more are left out

// Of one process: orders to it, and what it says.
typedef struct share {
    atomic_bool has_learner, pushes, ends;
    atomic_uint joined;   // of its actors
    atomic_uint measures; // counts beginnings and ends: odd while it is to measure
    atomic_uint told;     // the last of measures whose numbers are here
    atomic_uint running, relayed, batch_bytes;
    atomic_bool is_quiet;
    atomic_ulong made;
    char learner[NET_URL_MAX], replay[NET_URL_MAX];
    swarm_counts counts;
    swarm_version version[SWARM_VERSIONS_MAX];
    uint32_t sample_count;
    double sample[SAMPLES_MAX];
} share;

struct swarm_crew {
    uint32_t processes;
    share *parts;
    pid_t pid[SWARM_CREW_MAX];
    uint32_t first[SWARM_CREW_MAX + 1]; // actor of each
    uint32_t measures;
    swarm_counts counts;
    swarm_samples ack_s;
    swarm_version version[SWARM_VERSIONS_MAX];
};

// ---- in a process of the crew

typedef struct worker {
    share *part;
    net_loop *loop;
    swarm *swarm;
    unsigned joined, measures;
} worker;

static void
numbers_tell(worker *self)
{
    share *part = self->part;
    const swarm_samples *acks = swarm_ack_seconds(self->swarm);
    part->counts = *swarm_counts_get(self->swarm);
    memcpy(part->version, swarm_versions(self->swarm), sizeof(part->version));
    part->sample_count = (uint32_t)OCT_MIN(acks->count, (uint64_t)SAMPLES_MAX);
    if (part->sample_count > 0) {
        memcpy(part->sample, acks->value, part->sample_count * sizeof(part->sample[0]));
    }
}

static void
worker_turn(void *arg)
{
    worker *self = arg;
    share *part = self->part;
    if (atomic_load(&part->ends)) {
        _exit(0); // the kernel closes thousands of sockets sooner than NNG
    }
    unsigned joined = atomic_load(&part->joined), measures = atomic_load(&part->measures);
    bool pushes = atomic_load(&part->pushes);
    if (joined != self->joined) {
        self->joined = joined;
        swarm_join(self->swarm, joined);
    }
    swarm_push(self->swarm, pushes);
    if (measures != self->measures) {
        self->measures = measures;
        swarm_measure(self->swarm, measures % 2 == 1);
        if (measures % 2 == 0) {
            numbers_tell(self);
        }
        atomic_store(&part->told, measures);
    }
    (void)snprintf(part->replay, sizeof(part->replay), "%s", swarm_replay_address(self->swarm));
    atomic_store(&part->made, swarm_made(self->swarm));
    atomic_store(&part->relayed, swarm_relayed(self->swarm));
    atomic_store(&part->batch_bytes, swarm_batch_bytes(self->swarm));
    atomic_store(&part->is_quiet, !pushes && swarm_is_quiet(self->swarm));
    atomic_store(&part->running, swarm_running(self->swarm));
}

static void
part_wait(share *part)
{
    while (!atomic_load(&part->has_learner)) {
        if (atomic_load(&part->ends)) {
            _exit(0);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

_Noreturn static void
worker_run(share *part, const swarm_plan *all, uint32_t first, uint32_t count)
{
    worker self = {.part = part};
    swarm_plan plan = *all;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    part_wait(part);
    plan.learner = part->learner;
    plan.actors = count;
    plan.subscribers = all->subscribers > first ? OCT_MIN(all->subscribers - first, count) : 0;
    plan.pushers = all->pushers > first ? OCT_MIN(all->pushers - first, count) : 0;
    self.loop = net_loop_create();
    self.swarm = swarm_create(self.loop, &plan);
    (void)net_timer_start(self.loop, TURN_MS, TURN_MS, worker_turn, &self);
    net_loop_run(self.loop);
    _exit(1);
}

// ---- their master

swarm_crew *
swarm_crew_create(const swarm_plan *plan, uint32_t processes)
{
    OCT_ASSERT(processes >= 1 && processes <= SWARM_CREW_MAX && processes <= plan->actors);
    swarm_crew *crew = oct_alloc(sizeof(*crew));
    crew->processes = processes;
    crew->parts = mmap(NULL, processes * sizeof(share), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    OCT_ASSERT(crew->parts != MAP_FAILED);
    for (uint32_t i = 0; i < processes; i++) {
        crew->first[i + 1] = (uint32_t)((uint64_t)plan->actors * (i + 1) / processes);
        crew->pid[i] = fork();
        OCT_ASSERT(crew->pid[i] >= 0);
        if (crew->pid[i] == 0) {
            worker_run(&crew->parts[i], plan, crew->first[i], crew->first[i + 1] - crew->first[i]);
        }
    }
    return crew;
}

void
swarm_crew_begin(swarm_crew *crew, const char *learner)
{
    for (uint32_t i = 0; i < crew->processes; i++) {
        (void)snprintf(crew->parts[i].learner, NET_URL_MAX, "%s", learner);
        atomic_store(&crew->parts[i].has_learner, true);
    }
}

void
swarm_crew_join(swarm_crew *crew, uint32_t count)
{
    for (uint32_t i = 0; i < crew->processes && crew->first[i] < count; i++) {
        uint32_t its = crew->first[i + 1] - crew->first[i];
        atomic_store(&crew->parts[i].joined, OCT_MIN(count - crew->first[i], its));
    }
}

uint32_t
swarm_crew_running(const swarm_crew *crew)
{
    uint32_t running = 0;
    for (uint32_t i = 0; i < crew->processes; i++) {
        running += atomic_load(&crew->parts[i].running);
    }
    return running;
}

void
swarm_crew_push(swarm_crew *crew, bool on)
{
    for (uint32_t i = 0; i < crew->processes; i++) {
        atomic_store(&crew->parts[i].pushes, on);
        atomic_store(&crew->parts[i].is_quiet, false);
    }
}

bool
swarm_crew_is_quiet(const swarm_crew *crew)
{
    bool is_quiet = true;
    for (uint32_t i = 0; i < crew->processes; i++) {
        is_quiet = is_quiet && atomic_load(&crew->parts[i].is_quiet);
    }
    return is_quiet;
}

uint64_t
swarm_crew_made(const swarm_crew *crew)
{
    uint64_t made = 0;
    for (uint32_t i = 0; i < crew->processes; i++) {
        made += atomic_load(&crew->parts[i].made);
    }
    return made;
}

uint32_t
swarm_crew_relayed(const swarm_crew *crew)
{
    uint32_t relayed = 0;
    for (uint32_t i = 0; i < crew->processes; i++) {
        relayed += atomic_load(&crew->parts[i].relayed);
    }
    return relayed;
}

uint32_t
swarm_crew_batch_bytes(const swarm_crew *crew)
{
    return atomic_load(&crew->parts[0].batch_bytes);
}

const char *
swarm_crew_replay_address(const swarm_crew *crew)
{
    return crew->parts[0].replay;
}

void
swarm_crew_measure(swarm_crew *crew, bool measuring)
{
    crew->measures++;
    OCT_ASSERT((crew->measures % 2 == 1) == measuring);
    for (uint32_t i = 0; i < crew->processes; i++) {
        atomic_store(&crew->parts[i].measures, crew->measures);
    }
}

bool
swarm_crew_is_told(const swarm_crew *crew)
{
    bool is_told = true;
    for (uint32_t i = 0; i < crew->processes; i++) {
        is_told = is_told && atomic_load(&crew->parts[i].told) == crew->measures;
    }
    return is_told;
}

static void
counts_add(swarm_counts *sum, const swarm_counts *more)
{
    static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "counts are numbers of 64 bits");
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)more;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
        to[i] += from[i];
    }
}

static void
version_add(swarm_crew *crew, const swarm_version *one)
{
    swarm_version *place = &crew->version[one->version % SWARM_VERSIONS_MAX];
    if (one->version == 0) {
        return;
    }
    if (place->version != one->version) {
        *place = *one;
        return;
    }
    crew->counts.mismatches += place->check != one->check;
    place->first_us = OCT_MIN(place->first_us, one->first_us);
    place->last_us = OCT_MAX(place->last_us, one->last_us);
    place->seen += one->seen;
}

void
swarm_crew_add_up(swarm_crew *crew)
{
    crew->counts = (swarm_counts){0};
    memset(crew->version, 0, sizeof(crew->version));
    swarm_samples_clear(&crew->ack_s);
    for (uint32_t i = 0; i < crew->processes; i++) {
        const share *part = &crew->parts[i];
        counts_add(&crew->counts, &part->counts);
        for (uint32_t k = 0; k < SWARM_VERSIONS_MAX; k++) {
            version_add(crew, &part->version[k]);
        }
        for (uint32_t k = 0; k < part->sample_count; k++) {
            swarm_samples_add(&crew->ack_s, part->sample[k]);
        }
    }
}

const swarm_counts *
swarm_crew_counts(const swarm_crew *crew)
{
    return &crew->counts;
}

swarm_samples *
swarm_crew_ack_seconds(swarm_crew *crew)
{
    return &crew->ack_s;
}

const swarm_version *
swarm_crew_versions(const swarm_crew *crew)
{
    return crew->version;
}

void
swarm_crew_usage(const swarm_crew *crew, swarm_usage *out)
{
    swarm_usage_read(out, (int)getpid());
    for (uint32_t i = 0; i < crew->processes; i++) {
        swarm_usage one;
        swarm_usage_read(&one, (int)crew->pid[i]);
        swarm_usage_add(out, &one);
    }
}

void
swarm_crew_check(const swarm_crew *crew)
{
    for (uint32_t i = 0; i < crew->processes; i++) {
        if (waitpid(crew->pid[i], NULL, WNOHANG) != 0) {
            bench_give_up("a process with actors", "ended early");
        }
    }
}

void
swarm_crew_destroy(swarm_crew *crew)
{
    for (uint32_t i = 0; i < crew->processes; i++) {
        atomic_store(&crew->parts[i].ends, true);
    }
    for (uint32_t i = 0; i < crew->processes; i++) {
        (void)waitpid(crew->pid[i], NULL, 0);
    }
    (void)munmap(crew->parts, crew->processes * sizeof(share));
    swarm_samples_clear(&crew->ack_s);
    free(crew);
}
