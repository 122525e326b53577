// Beside octet-actor's own files: each batch that it drops from its outbox, because replay has
// acknowledged it, is written down in $CHAOS_ACKS.PID.acks (chaos_acks.h). The linker puts these
// two functions between the actor and its outbox (--wrap).
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actor/actor_outbox.h"
#include "common/oct_base.h"
#include "tests/chaos/chaos_acks.h"
#include "tests/chaos/chaos_digest.h"
#include "tests/chaos/chaos_row.h"

actor_batch *__real_actor_outbox_take(actor_outbox *outbox);
actor_batch *__wrap_actor_outbox_take(actor_outbox *outbox);
wire_batch __real_actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                                   uint64_t first_unacked);
wire_batch __wrap_actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                                   uint64_t first_unacked);

static chaos_acks *acks;
static uint32_t own_id;
static uint64_t own_session;

static void
acks_open(void)
{
    const char *prefix = getenv("CHAOS_ACKS");
    char path[PATH_MAX];
    size_t bytes = sizeof(chaos_acks) + CHAOS_ACKS_MAX * sizeof(chaos_ack);
    OCT_ASSERT(prefix != NULL);
    (void)snprintf(path, sizeof(path), "%s.%ld.acks", prefix, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    OCT_ASSERT(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    acks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    OCT_ASSERT(acks != MAP_FAILED);
    (void)close(fd);
    memcpy(acks->magic, CHAOS_ACKS_MAGIC, sizeof(acks->magic));
}

// Rows of chaos_env.c, which say that they follow each other.
static void
rows_check(const uint8_t *obs, uint32_t rows, chaos_row *first)
{
    chaos_row next;
    OCT_ASSERT(chaos_row_read(first, obs));
    for (uint32_t i = 1; i < rows; i++) {
        OCT_ASSERT(chaos_row_read(&next, obs + (size_t)i * CHAOS_ROW_BYTES));
        OCT_ASSERT(next.tag == first->tag && next.slot == first->slot &&
                   next.number == first->number + i);
    }
}

static void
run_write_down(const actor_batch *batch, uint32_t run, uint32_t row)
{
    chaos_row first = {0};
    const uint8_t *obs = batch->obs + (size_t)row * batch->obs_bytes;
    if (batch->obs_bytes == CHAOS_ROW_BYTES) {
        rows_check(obs, batch->run_rows[run], &first);
    }
    uint64_t digest = CHAOS_DIGEST_NONE;
    for (uint32_t i = row; i < row + batch->run_rows[run]; i++) {
        digest = chaos_digest_row(digest, batch->obs + (size_t)i * batch->obs_bytes,
                                  batch->obs_bytes, batch->action + (size_t)i * batch->action_bytes,
                                  batch->action_bytes, batch->reward[i], batch->flags[i]);
    }
    uint64_t count = atomic_load_explicit(&acks->count, memory_order_relaxed);
    OCT_ASSERT(count < CHAOS_ACKS_MAX);
    acks->ack[count] = (chaos_ack){
        .session = own_session,
        .first = batch->run_first[run],
        .digest = digest,
        .tag = first.tag,
        .actor_id = own_id,
        .stream = batch->run_stream[run],
        .rows = batch->run_rows[run],
        .slot = first.slot,
        .number = first.number,
        .version = batch->run_version[run],
    };
    atomic_store_explicit(&acks->count, count + 1, memory_order_release);
    atomic_store_explicit(&acks->version, batch->run_version[run], memory_order_relaxed);
}

actor_batch *
__wrap_actor_outbox_take(actor_outbox *outbox)
{
    actor_batch *batch = __real_actor_outbox_take(outbox);
    if (batch == NULL) {
        return NULL;
    }
    if (acks == NULL) {
        acks_open();
    }
    for (uint32_t run = 0, row = 0; run < batch->run_count; run++) {
        run_write_down(batch, run, row);
        row += batch->run_rows[run];
    }
    atomic_fetch_add_explicit(&acks->rows, batch->count, memory_order_release);
    return batch;
}

// Every batch is seen here before it is sent.
wire_batch
__wrap_actor_batch_view(const actor_batch *batch, uint32_t actor_id, uint64_t session,
                        uint64_t first_unacked)
{
    own_id = actor_id;
    own_session = session;
    return __real_actor_batch_view(batch, actor_id, session, first_unacked);
}
