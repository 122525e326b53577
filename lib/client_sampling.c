// The requests for samples of a handle.
#include "lib/client_sampling.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define HOLD_MS 500 // for which replay may hold a request that its limiter forbids
// One day: replay answers, or the connection is lost. Asking again earlier could draw windows
// twice.
#define TIMEOUT_MS 86400000

// A request in flight.
struct slot {
    client_sampling *sampling;
    uint64_t generation; // of the numbers with which it was sent
    uint32_t requested;  // batches asked for; 0: the slot is free
};

struct client_sampling {
    wire_client *client;
    uint64_t run_id;
    uint64_t generation; // grows with every client_sampling_set
    uint32_t batch_size, per_request;
    atomic_uint wanted; // batches wanted and not asked for
    struct slot slots[CLIENT_SAMPLES_INFLIGHT];
    oct_ring *ready;
};

client_sampling *
client_sampling_create(wire_client *client, uint64_t run_id)
{
    client_sampling *sampling = oct_alloc(sizeof(*sampling));
    sampling->client = client;
    sampling->run_id = run_id;
    sampling->ready = oct_ring_create(CLIENT_READY_MAX);
    atomic_init(&sampling->wanted, 0);
    return sampling;
}

void
client_sampling_destroy(client_sampling *sampling)
{
    void *batch;
    while (oct_ring_pop(sampling->ready, &batch) == OCT_OK) {
        client_batch_destroy(batch);
    }
    oct_ring_destroy(sampling->ready);
    free(sampling);
}

void
client_sampling_set(client_sampling *sampling, uint32_t batch_size, uint32_t per_request)
{
    sampling->generation++;
    sampling->batch_size = batch_size;
    sampling->per_request = per_request;
    atomic_store(&sampling->wanted, 0);
}

void
client_sampling_want(client_sampling *sampling, uint32_t batches)
{
    (void)atomic_fetch_add(&sampling->wanted, batches);
}

oct_ring *
client_sampling_ready(const client_sampling *sampling)
{
    return sampling->ready;
}

// The user never wants more batches than the ring holds, so there is room.
static void
ready_put(client_sampling *sampling, client_batch *batch)
{
    OCT_ASSERT(oct_ring_push(sampling->ready, batch) == OCT_OK);
}

// Puts the answer's batches into the ring and returns their number, at most requested.
static uint32_t
answer_take(client_sampling *sampling, uint32_t requested, const wire_sampled *answer)
{
    uint32_t got = OCT_MIN(answer->count / sampling->batch_size, requested);
    for (uint32_t i = 0; i < got; i++) {
        ready_put(sampling,
                  client_batch_create(answer, i * sampling->batch_size, sampling->batch_size));
    }
    return got;
}

// Callback of a request. Batches that it did not bring are wanted again. An answer to an earlier
// sampling is dropped.
static void
sample_arrived(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    struct slot *slot = arg;
    client_sampling *sampling = slot->sampling;
    uint32_t requested = slot->requested, got = 0;
    slot->requested = 0;
    if (err == OCT_ECLOSED) {
        return;
    }
    if (slot->generation != sampling->generation) {
        client_sampling_tick(sampling);
        return;
    }
    // The same request would fail again.
    if (err == OCT_EINVAL || err == OCT_EPROTO || err == OCT_ESTALE) {
        ready_put(sampling, client_batch_fail(err, detail));
        got = 1;
    } else if (err == OCT_OK && answer->configured) {
        got = answer_take(sampling, requested, answer);
    }
    client_sampling_want(sampling, requested - got);
    // Otherwise replay is away or not configured, and the tick asks again.
    if (err == OCT_OK && answer->configured) {
        client_sampling_tick(sampling);
    }
}

// Returns true if a batch is ready or on its way.
static bool
is_anything_coming(const client_sampling *sampling)
{
    bool is_coming = oct_ring_count(sampling->ready) > 0;
    for (size_t i = 0; i < CLIENT_SAMPLES_INFLIGHT; i++) {
        is_coming |= sampling->slots[i].requested > 0;
    }
    return is_coming;
}

// Returns how many batches to ask for now. A request for fewer than per_request is only worth its
// cost if the user would wait otherwise.
static uint32_t
batches_due(const client_sampling *sampling)
{
    uint32_t wanted = atomic_load(&sampling->wanted);
    bool is_worth_it = wanted >= sampling->per_request || !is_anything_coming(sampling);
    return is_worth_it ? OCT_MIN(wanted, sampling->per_request) : 0;
}

void
client_sampling_tick(client_sampling *sampling)
{
    for (size_t i = 0; i < CLIENT_SAMPLES_INFLIGHT; i++) {
        struct slot *slot = &sampling->slots[i];
        uint32_t due = batches_due(sampling);
        if (slot->requested > 0 || due == 0) {
            continue;
        }
        wire_sample request = {.run_id = sampling->run_id,
                               .batch_size = sampling->batch_size,
                               .batches = due,
                               .timeout_ms = HOLD_MS};
        *slot = (struct slot){sampling, sampling->generation, due};
        if (wire_call_sample(sampling->client, &request, TIMEOUT_MS, sample_arrived, slot) !=
            OCT_OK) {
            slot->requested = 0; // the next tick tries again
            return;
        }
        (void)atomic_fetch_sub(&sampling->wanted, due);
    }
}
