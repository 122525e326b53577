// Adds up the counters of all shards but one, and decides when they are sent.
#include "learner/learner_others.h"

#include <math.h>

#include "common/oct_base.h"

#define SEND_NS      1000000u   // the shortest time between two requests for counters alone
#define SEND_LATE_NS 100000000u // the longest, and that to a shard that does not answer
#define HELD_PARTS   4          // a quarter of the time that a request is held passes between them

void
learner_others_init(learner_others *others, const config_experiment *config,
                    learner_source *const *source, uint32_t count, double gone)
{
    OCT_ASSERT(count >= 1 && count <= CONFIG_SHARDS_MAX);
    *others = (learner_others){
        .config = config,
        .count = count,
        .source = source,
        .sample_chunk = config->learner.batch_size,
        .gone = count > 1 ? gone : 0,
        .made = count,
    };
}

// Returns the sums over all shards but one; without == count: over all.
static wire_others
sum_without(const learner_others *others, uint32_t without)
{
    wire_others sum = {.balance = others->gone};
    for (uint32_t s = 0; others->count > 1 && s < others->count; s++) {
        if (s != without) {
            learner_source_counts counts = learner_source_count(others->source[s]);
            sum.inserts += counts.inserts;
            sum.samples += counts.samples;
            sum.balance += counts.balance;
            sum.insert_chunk = OCT_MAX(sum.insert_chunk, counts.insert_chunk);
            sum.sample_chunk = OCT_MAX(sum.sample_chunk, counts.sample_chunk);
        }
    }
    return sum;
}

static uint64_t
table_of(const learner_others *others, uint32_t shard)
{
    return learner_source_place_after(others->source[shard], 0).table;
}

// ---- tables

// A table that is made now begins with the new limiter, and has no part in changing the sum. Nor
// has a table that was made just before, when the others get its limiter.
void
learner_others_configure(const learner_others *others, uint32_t shard, wire_configure *out)
{
    out->others = sum_without(others, shard);
    out->limiter_parts = 0;
    for (uint32_t s = 0; s < others->count; s++) {
        out->limiter_parts += table_of(others, s) != 0 && !(out->limiter_only && s == others->made);
    }
}

void
learner_others_configured(learner_others *others, uint32_t shard, oct_err err,
                          const wire_configured *answer)
{
    const config_experiment *config = others->config;
    uint64_t table = table_of(others, shard);
    double balance = sum_without(others, others->count).balance;
    learner_source_configured(others->source[shard], err, answer);
    bool is_other = table != table_of(others, shard);
    if (err == OCT_OK) {
        others->made = is_other ? shard : others->count;
    }
    if (table != 0 && is_other) {
        wire_others now = sum_without(others, others->count);
        bool is_warm = now.inserts >= config->replay.min_size;
        double kept = is_warm ? balance : (double)now.inserts * config->replay.samples_per_insert;
        others->gone += kept - now.balance;
    }
}

// ---- requests

wire_others
learner_others_send(learner_others *others, uint32_t shard, uint32_t windows, uint64_t now_ns)
{
    if (windows > 0 && others->held_ns[shard] == 0) {
        others->held_ns[shard] = now_ns;
    }
    others->sent_ns[shard] = now_ns;
    others->sent[shard] = sum_without(others, shard);
    return others->sent[shard];
}

void
learner_others_answered(learner_others *others, uint32_t shard, uint32_t requested, uint64_t now_ns)
{
    others->held_ns[shard] = requested > 0 ? now_ns : 0;
}

// Returns true if the others have changed by as much as a limiter would notice: any insert during
// the warm-up, then a batch of samples, and a larger insert or sample than before.
static bool
have_changed(const learner_others *others, uint32_t shard)
{
    const config_experiment *config = others->config;
    const wire_others *sent = &others->sent[shard];
    wire_others now = sum_without(others, shard);
    bool is_warm = sent->inserts >= config->replay.min_size;
    bool is_wider = now.insert_chunk > sent->insert_chunk || now.sample_chunk > sent->sample_chunk;
    double changed = fabs(now.balance - sent->balance);
    return (!is_warm && now.inserts != sent->inserts) ||
           (config->replay.samples_per_insert > 0 && (is_wider || changed >= others->sample_chunk));
}

// Returns true if another shard holds a request, which what this shard has inserted may allow. The
// longer the request is held, the less often this shard is asked: its actors are slow.
static bool
do_wait(const learner_others *others, uint32_t shard, uint64_t since_ns, uint64_t now_ns)
{
    bool waits = false;
    for (uint32_t s = 0; s < others->count; s++) {
        uint64_t held_ns = others->held_ns[s] != 0 ? now_ns - others->held_ns[s] : 0;
        waits |= s != shard && held_ns >= SEND_NS && since_ns >= held_ns / HELD_PARTS;
    }
    return waits;
}

bool
learner_others_is_due(const learner_others *others, uint32_t shard, bool is_fifo, uint64_t now_ns)
{
    const learner_source *source = others->source[shard];
    uint64_t since_ns = now_ns - others->sent_ns[shard];
    if (others->count == 1 || since_ns < SEND_NS) {
        return false;
    }
    return since_ns >= SEND_LATE_NS || (!learner_source_is_lost(source) &&
                                        (!learner_source_is_known(source) ||
                                         (!is_fifo && (have_changed(others, shard) ||
                                                       do_wait(others, shard, since_ns, now_ns)))));
}
