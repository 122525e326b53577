// Makes batches of the windows of several replays.
//
// A run learns from members: one live replay or its shards, and perhaps the replay of a data set. A
// pool is the members that stand for one table: the live ones, or the data set. A batch has a fixed
// number of windows of each pool, the live ones first, and every window comes from one member.
//
// 1. A batch is either in the queue, where it is filled, or out: with the training thread. A batch
//    that is given back joins the queue again, empty.
// 2. Before a member is asked, every window of the queue gets a member (plans_make). In a pool of
//    several each is drawn, in proportion to the member's sum of priorities, or to its windows
//    where all are drawn alike. So a window's probability is its member's share times the
//    probability within that table, exactly as if one table held everything, and the weights follow
//    from it. The only member of a pool gets all of its windows.
// 3. A member is asked for what the queue lacks of it. Its windows fill the batches in their order
//    in the queue. That is the only copy: from the message into the columns of the batch.
// 4. A batch with all its windows is complete. The first complete one is taken, and its weights are
//    computed. When it is given back, each window's priority goes to its member.
//
// Where tables give out each window once (collects), nobody knows how many windows each shard has.
// Then windows have no member in advance: every shard is asked for all that the queue lacks,
// answers at once with what it has, and windows fill the first batch with room. More may arrive
// than was lacking, so there is room for a whole request of each shard but one. What becomes too
// old meanwhile is dropped, as replay would have done. With a single replay there is nothing to
// divide: it is asked for whole batches, and holds a request until it has one.
//
// A member that does not answer: a shard is left out, and its windows that have not arrived are
// drawn again over the others, until it answers; batches wait for any other member. A replay that
// is started again is another process: priorities of windows from before it are dropped. An answer
// that does not fit is counted, and the windows are asked for again.
#include "learner/learner_batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "learner/learner_others.h"

#define STREAM      0x736861726473u // of the generator of shares
#define ORIGIN_NONE UINT8_MAX       // the window's replay is another process by now

enum { LIVE, DATA, POOLS };

struct pool {
    uint32_t first_member, members;
    uint32_t first, windows; // of each batch
    uint64_t idle_ns;        // since when no batch has all of them; 0: one has, or is out
    double waiting_s;        // until idle_ns
    learner_others others;   // of first_member + i: shard i
};

// A batch and its windows by member.
struct plan {
    learner_batch *batch;
    uint32_t filled[POOLS]; // windows that have arrived
    uint32_t lack[POOLS];   // windows that have no member yet
    uint32_t wanted[LEARNER_MEMBERS_MAX], got[LEARNER_MEMBERS_MAX];
    double share[LEARNER_MEMBERS_MAX]; // by which windows that have not arrived were drawn
    // Of the last answer with windows for this batch.
    uint64_t incarnation[LEARNER_MEMBERS_MAX], size[LEARNER_MEMBERS_MAX];
};

struct learner_batches {
    learner_batches_options options;
    learner_source *source[LEARNER_MEMBERS_MAX];
    uint32_t members;
    uint32_t requested[LEARNER_MEMBERS_MAX]; // windows that it owes
    struct pool pools[POOLS];
    oct_rng rng;

    uint32_t count;
    struct plan *plans;  // [count], by learner_batch.number
    struct plan **queue; // [count], queued of them; the others are out
    uint32_t queued;
    uint32_t in_work; // collects: batches that may be out

    // Windows of each member in the first batches that were taken: entry n % ring is of n batches.
    uint64_t taken;
    uint32_t ring;
    uint64_t (*windows)[LEARNER_MEMBERS_MAX];

    bool collects;           // windows come once, and from several members
    uint32_t version_min;    // collects: older windows are dropped …
    uint64_t given_up;       // … and counted
    uint64_t newest_version; // at the last request
    double lag, lag_max;     // of the batch that was taken last
};

// ---- sizes

static uint32_t
pools_make(const config_experiment *config, struct pool pools[POOLS])
{
    uint32_t shards = config_shards(config);
    uint32_t data = config_is_mixed(config) ? config_data_windows(config) : 0;
    uint32_t live = config->learner.batch_size - data;
    pools[LIVE] = (struct pool){.members = shards, .windows = live};
    pools[DATA] = (struct pool){
        .first_member = shards, .members = data > 0 ? 1 : 0, .first = live, .windows = data};
    return shards + pools[DATA].members;
}

static learner_source_options
options_of(const learner_source_options *options, const struct pool *pool)
{
    learner_source_options own = *options;
    own.batch_size = OCT_MAX(1u, pool->windows); // 0 where a budget is tried with few windows
    return own;
}

learner_batches_size
learner_batches_measure(const learner_source_options *options)
{
    uint32_t B = options->config->learner.batch_size, T = learner_batch_rows(&options->wants);
    struct pool pools[POOLS];
    learner_batches_size size = {.count = UINT32_MAX};
    (void)pools_make(options->config, pools);
    for (int p = LIVE; p < POOLS && pools[p].members > 0; p++) {
        learner_source_options own = options_of(options, &pools[p]);
        uint32_t spare = (pools[p].members - 1) * learner_source_request_max(&own);
        size.count = OCT_MIN(size.count, learner_source_in_work(&own) + spare);
        size.answer_bytes += pools[p].members * learner_source_answer_bytes(&own);
    }
    size.bytes = size.count * (uint64_t)learner_batch_bytes(options->spec, B, T);
    return size;
}

// ---- life

// Puts an empty batch into the queue, behind those that have windows and before the other empty
// ones: the caches may still have its columns.
static void
queue_add(learner_batches *batches, struct plan *plan)
{
    uint32_t i = batches->queued++;
    *plan = (struct plan){.batch = plan->batch};
    for (int p = LIVE; p < POOLS; p++) {
        plan->lack[p] = batches->pools[p].windows;
    }
    for (; i > 0 && batches->queue[i - 1]->filled[LIVE] + batches->queue[i - 1]->filled[DATA] == 0;
         i--) {
        batches->queue[i] = batches->queue[i - 1];
    }
    batches->queue[i] = plan;
}

static void
sources_create(learner_batches *batches)
{
    const learner_batches_options *options = &batches->options;
    for (int p = LIVE; p < POOLS && batches->pools[p].members > 0; p++) {
        struct pool *pool = &batches->pools[p];
        learner_source_options own = options_of(&options->source, pool);
        learner_source **source = batches->source + pool->first_member;
        for (own.shard = 0; own.shard < pool->members; own.shard++) {
            own.place = p == LIVE ? options->place[own.shard] : (learner_source_place){0};
            source[own.shard] = learner_source_create(&own);
        }
        learner_others_init(&pool->others, own.config, source, pool->members, options->gone);
        pool->idle_ns = options->now_ns;
    }
}

learner_batches *
learner_batches_create(const learner_batches_options *options)
{
    const learner_source_options *source = &options->source;
    const config_experiment *config = source->config;
    uint32_t B = config->learner.batch_size, T = learner_batch_rows(&source->wants);
    learner_batches *batches = oct_alloc(sizeof(*batches));
    batches->options = *options;
    batches->members = pools_make(config, batches->pools);
    sources_create(batches);
    batches->options.place = NULL;
    oct_rng_init(&batches->rng, config->run.seed, STREAM);
    learner_source_options live = options_of(source, &batches->pools[LIVE]);
    batches->in_work = learner_source_in_work(&live);
    batches->collects = learner_source_is_fifo(&live) && batches->pools[LIVE].members > 1;
    batches->count = learner_batches_measure(source).count;
    batches->plans = oct_alloc(batches->count * sizeof(*batches->plans));
    batches->queue = oct_alloc(batches->count * sizeof(*batches->queue));
    for (uint32_t i = 0; i < batches->count; i++) {
        batches->plans[i].batch = learner_batch_create(source->spec, B, T);
        batches->plans[i].batch->number = i;
        queue_add(batches, &batches->plans[i]);
    }
    batches->ring = 4 * batches->count;
    batches->windows = oct_alloc(batches->ring * sizeof(*batches->windows));
    batches->lag = batches->lag_max = NAN;
    return batches;
}

void
learner_batches_destroy(learner_batches *batches)
{
    if (batches == NULL) {
        return;
    }
    for (uint32_t i = 0; i < batches->count; i++) {
        learner_batch_destroy(batches->plans[i].batch);
    }
    for (uint32_t m = 0; m < batches->members; m++) {
        learner_source_destroy(batches->source[m]);
    }
    free(batches->plans);
    free(batches->queue);
    free(batches->windows);
    free(batches);
}

uint32_t
learner_batches_count(const learner_batches *batches)
{
    return batches->count;
}

bool
learner_batches_is_data(const learner_batches *batches, uint32_t member)
{
    return member >= batches->pools[DATA].first_member;
}

learner_source *
learner_batches_source(const learner_batches *batches, uint32_t member)
{
    return member < batches->members ? batches->source[member] : NULL;
}

// ---- shares

static int
pool_of(const learner_batches *batches, uint32_t member)
{
    return learner_batches_is_data(batches, member) ? DATA : LIVE;
}

bool
learner_batches_is_used(const learner_batches *batches, uint32_t member)
{
    const learner_source *source = batches->source[member];
    return batches->pools[pool_of(batches, member)].members == 1 ||
           (learner_source_is_known(source) && !learner_source_is_lost(source) &&
            (batches->collects || learner_source_count(source).size > 0));
}

// Gives the share of each member of a pool: by its priorities, or where all of these are 0, by its
// windows, as one replay would draw. Returns false if no member is used.
static bool
shares_get(const learner_batches *batches, const struct pool *pool,
           double share[LEARNER_MEMBERS_MAX])
{
    double mass = 0, size = 0;
    uint32_t first = pool->first_member, end = first + pool->members;
    if (pool->members == 1) {
        share[first] = 1;
        return true;
    }
    for (uint32_t m = first; m < end; m++) {
        learner_source_counts counts = learner_source_count(batches->source[m]);
        bool is_used = learner_batches_is_used(batches, m);
        mass += is_used ? counts.mass : 0;
        size += is_used ? (double)counts.size : 0;
    }
    for (uint32_t m = first; m < end; m++) {
        learner_source_counts counts = learner_source_count(batches->source[m]);
        double own = mass > 0 ? counts.mass / mass : (double)counts.size / size;
        share[m] = size > 0 && learner_batches_is_used(batches, m) ? own : 0;
    }
    return size > 0;
}

static uint32_t
member_draw(learner_batches *batches, const struct pool *pool,
            const double share[LEARNER_MEMBERS_MAX])
{
    uint32_t found = pool->first_member;
    double at = oct_rng_double(&batches->rng);
    for (uint32_t m = pool->first_member; m < pool->first_member + pool->members; m++) {
        if (share[m] > 0) { // the last one also gets what rounding leaves
            found = m;
            if (at < share[m]) {
                break;
            }
            at -= share[m];
        }
    }
    return found;
}

// Takes back what was planned of members that are not used any more.
static void
plans_release(learner_batches *batches)
{
    for (uint32_t m = 0; m < batches->members; m++) {
        for (uint32_t i = 0; !learner_batches_is_used(batches, m) && i < batches->queued; i++) {
            struct plan *plan = batches->queue[i];
            plan->lack[pool_of(batches, m)] += plan->wanted[m] - plan->got[m];
            plan->wanted[m] = plan->got[m];
        }
    }
}

// Gives every window of the queue a member, in each pool that has one which is used.
static void
plans_make(learner_batches *batches)
{
    double share[LEARNER_MEMBERS_MAX] = {0};
    plans_release(batches);
    for (int p = LIVE; p < POOLS; p++) {
        const struct pool *pool = &batches->pools[p];
        if (pool->members == 0 || !shares_get(batches, pool, share)) {
            continue;
        }
        for (uint32_t i = 0; i < batches->queued; i++) {
            struct plan *plan = batches->queue[i];
            if (plan->lack[p] > 0) {
                memcpy(plan->share + pool->first_member, share + pool->first_member,
                       pool->members * sizeof(*share));
            }
            if (pool->members == 1) {
                plan->wanted[pool->first_member] += plan->lack[p];
                plan->lack[p] = 0;
            }
            for (; plan->lack[p] > 0; plan->lack[p]--) {
                plan->wanted[member_draw(batches, pool, share)]++;
            }
        }
    }
}

// ---- windows that come once

// Drops the windows of the queue that are too old. The others move forward in their order, so that
// only the last batch that has windows has room.
static void
old_drop(learner_batches *batches)
{
    uint32_t B = batches->pools[LIVE].windows, kept = 0;
    for (uint32_t i = 0; i < batches->queued; i++) {
        const struct plan *from = batches->queue[i];
        for (uint32_t window = 0; window < from->filled[LIVE]; window++) {
            if (learner_batch_version(from->batch, window) < batches->version_min) {
                batches->given_up++;
            } else if (kept++ != i * B + window) {
                learner_batch *to = batches->queue[(kept - 1) / B]->batch;
                learner_batch_copy(to, (kept - 1) % B, from->batch, window);
            }
        }
    }
    for (uint32_t i = 0; i < batches->queued; i++) {
        struct plan *plan = batches->queue[i];
        plan->filled[LIVE] = OCT_MIN(kept - OCT_MIN(kept, i * B), B);
        memset(plan->got, 0, sizeof(plan->got));
        for (uint32_t window = 0; window < plan->filled[LIVE]; window++) {
            plan->got[plan->batch->origin[window]]++;
        }
    }
}

// ---- requests

wire_configure
learner_batches_configure(const learner_batches *batches, uint32_t member, bool limiter_only)
{
    const learner_source *source = batches->source[member];
    wire_configure configure =
        limiter_only ? learner_source_limiter(source) : learner_source_configure(source);
    const struct pool *pool = &batches->pools[pool_of(batches, member)];
    learner_others_configure(&pool->others, member - pool->first_member, &configure);
    return configure;
}

void
learner_batches_configured(learner_batches *batches, uint32_t member, oct_err err,
                           const wire_configured *answer)
{
    struct pool *pool = &batches->pools[pool_of(batches, member)];
    learner_others_configured(&pool->others, member - pool->first_member, err, answer);
}

// Returns how many windows of a member a batch has room for.
static uint32_t
room_of(const learner_batches *batches, const struct plan *plan, uint32_t member)
{
    return batches->collects ? batches->pools[LIVE].windows - plan->filled[LIVE]
                             : plan->wanted[member] - plan->got[member];
}

// Returns the windows that the queue lacks of a member and that it does not owe yet.
static uint32_t
lack_of(const learner_batches *batches, uint32_t member, uint32_t most)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < batches->queued; i++) {
        room += room_of(batches, batches->queue[i], member);
    }
    if (batches->collects) {
        uint32_t spare = (batches->members - 1) * most;
        room = OCT_MIN(room - OCT_MIN(room, spare), most);
    }
    return room - OCT_MIN(room, batches->requested[member]);
}

// Returns true if a batch has all its windows of a pool.
static bool
has_all(const learner_batches *batches, const struct plan *plan, int p)
{
    return plan->filled[p] == batches->pools[p].windows;
}

static bool
is_complete(const learner_batches *batches, const struct plan *plan)
{
    return has_all(batches, plan, LIVE) && has_all(batches, plan, DATA);
}

// Returns true if at least half of all batches are complete or out.
static bool
is_busy(const learner_batches *batches)
{
    uint32_t unfinished = 0;
    for (uint32_t i = 0; i < batches->queued; i++) {
        unfinished += !is_complete(batches, batches->queue[i]);
    }
    return 2 * unfinished <= batches->count;
}

// Counts the time during which a pool has no windows for the training thread.
static void
pools_check(learner_batches *batches, uint64_t now_ns)
{
    for (int p = LIVE; p < POOLS; p++) {
        struct pool *pool = &batches->pools[p];
        bool is_idle = batches->queued == batches->count;
        for (uint32_t i = 0; is_idle && i < batches->queued; i++) {
            is_idle = !has_all(batches, batches->queue[i], p);
        }
        if (is_idle && pool->idle_ns == 0) {
            pool->idle_ns = now_ns;
        } else if (!is_idle && pool->idle_ns != 0) {
            pool->waiting_s += (double)(now_ns - pool->idle_ns) * 1e-9;
            pool->idle_ns = 0;
        }
    }
}

// Returns the oldest version that windows may have now; 0: any.
static uint32_t
version_min(const learner_batches *batches)
{
    const algo_wants *wants = &batches->options.source.wants;
    bool is_bounded = wants->lag_max > 0 || wants->window == ALGO_WINDOW_ROLLOUT;
    uint64_t oldest = learner_versions_oldest(&batches->options.source.versions,
                                              batches->newest_version, wants->lag_max);
    return is_bounded ? (uint32_t)OCT_MIN(oldest, UINT32_MAX) : 0;
}

static void
ask(learner_batches *batches, uint32_t member, uint32_t windows, uint32_t at_once, uint32_t oldest,
    uint64_t now_ns, wire_sample *out)
{
    struct pool *pool = &batches->pools[pool_of(batches, member)];
    wire_others others =
        learner_others_send(&pool->others, member - pool->first_member, windows, now_ns);
    learner_source_ask(batches->source[member], windows, at_once, oldest, &others, out);
    batches->requested[member] += windows;
}

// A request costs as much as many windows. So it is for at least half of what one may ask for,
// unless the learner has little to do and the member owes nothing.
uint32_t
learner_batches_request(learner_batches *batches, uint32_t member, uint64_t newest_version,
                        uint64_t now_ns, wire_sample *out)
{
    int p = pool_of(batches, member);
    const struct pool *pool = &batches->pools[p];
    batches->newest_version = newest_version;
    uint32_t oldest = p == LIVE ? version_min(batches) : 0; // a data set has versions of other runs
    if (!batches->collects) {
        plans_make(batches);
    } else if (oldest > batches->version_min) {
        batches->version_min = oldest;
        old_drop(batches);
        pools_check(batches, now_ns);
    }
    uint32_t most = learner_source_windows_max(batches->source[member]);
    uint32_t lack = lack_of(batches, member, most);
    bool can_wait = batches->requested[member] > 0 || is_busy(batches);
    if (!learner_batches_is_used(batches, member) || lack == 0 ||
        (can_wait && lack < OCT_MAX(pool->windows, most / 2))) {
        return 0;
    }
    uint32_t part = (pool->windows + pool->members - 1) / pool->members;
    uint32_t at_once = batches->collects ? 1 : OCT_MIN(lack, part);
    uint32_t windows = OCT_MIN(lack, most) / at_once * at_once;
    ask(batches, member, windows, at_once, oldest, now_ns, out);
    return windows;
}

void
learner_batches_missed(learner_batches *batches, uint32_t member, uint32_t requested,
                       uint64_t now_ns)
{
    struct pool *pool = &batches->pools[pool_of(batches, member)];
    OCT_ASSERT(batches->requested[member] >= requested);
    batches->requested[member] -= requested;
    learner_others_answered(&pool->others, member - pool->first_member, batches->requested[member],
                            now_ns);
}

bool
learner_batches_tell(learner_batches *batches, uint32_t member, bool is_late, uint64_t now_ns,
                     wire_sample *out)
{
    const struct pool *pool = &batches->pools[pool_of(batches, member)];
    bool is_due = is_late || learner_others_is_due(&pool->others, member - pool->first_member,
                                                   batches->collects, now_ns);
    if (!learner_source_is_configured(batches->source[member]) || !is_due) {
        return false;
    }
    ask(batches, member, 0, 1, 0, now_ns, out);
    return true;
}

// ---- answers

// Windows of another process have keys that name other windows now.
static void
origins_forget(learner_batch *batch, uint32_t member)
{
    for (uint32_t i = 0; i < batch->view.B; i++) {
        batch->origin[i] = batch->origin[i] == member ? ORIGIN_NONE : batch->origin[i];
    }
}

// Copies windows first .. first + count - 1 of an answer into a batch.
static oct_err
plan_put(const learner_batches *batches, struct plan *plan, uint32_t member,
         const wire_sampled *sampled, uint32_t first, uint32_t count)
{
    learner_batch *batch = plan->batch;
    int p = pool_of(batches, member);
    uint32_t at = batches->pools[p].first + plan->filled[p];
    OCT_TRY(learner_batch_take(batch, batches->options.source.spec, at, sampled, first, count));
    if (plan->got[member] > 0 && plan->incarnation[member] != sampled->incarnation) {
        origins_forget(batch, member);
    }
    for (uint32_t i = at; batches->pools[p].members > 1 && i < at + count; i++) {
        batch->probability[i] = (float)(batch->probability[i] * plan->share[member]);
    }
    memset(batch->origin + at, (int)member, count);
    plan->incarnation[member] = sampled->incarnation;
    plan->size[member] = sampled->size;
    plan->filled[p] += count;
    plan->got[member] += count;
    return OCT_OK;
}

// Windows that are not wanted any more, because they were planned again, are left out.
static oct_err
windows_put(learner_batches *batches, uint32_t member, uint32_t requested,
            const wire_sampled *sampled, uint64_t now_ns)
{
    uint32_t arrived = OCT_MIN(sampled->count, requested), first = 0;
    for (uint32_t i = 0; first < arrived && i < batches->queued; i++) {
        struct plan *plan = batches->queue[i];
        uint32_t count = OCT_MIN(room_of(batches, plan, member), arrived - first);
        if (count == 0) {
            continue;
        }
        oct_err err = plan_put(batches, plan, member, sampled, first, count);
        if (err != OCT_OK) {
            learner_source_bad(batches->source[member]);
            return err;
        }
        learner_source_arrived(batches->source[member], count, now_ns);
        first += count;
    }
    return OCT_OK;
}

oct_err
learner_batches_sampled(learner_batches *batches, uint32_t member, uint32_t requested,
                        const wire_sampled *sampled, uint64_t now_ns)
{
    learner_batches_missed(batches, member, requested, now_ns);
    OCT_TRY(learner_source_heard(batches->source[member], sampled));
    oct_err err = windows_put(batches, member, requested, sampled, now_ns);
    if (batches->version_min > 0) {
        old_drop(batches);
    }
    pools_check(batches, now_ns);
    return err;
}

// ---- batches

static void
weights_make(const learner_batches *batches, const struct plan *plan, double share)
{
    double exponent = learner_source_is_fifo(&batches->options.source)
                          ? 0
                          : learner_importance_exponent(batches->options.source.config, share);
    for (int p = LIVE; p < POOLS; p++) {
        const struct pool *pool = &batches->pools[p];
        uint64_t size = 0;
        for (uint32_t m = pool->first_member; m < pool->first_member + pool->members; m++) {
            size += plan->size[m];
        }
        learner_batch_weigh(plan->batch, pool->first, pool->windows, size, exponent);
    }
}

learner_batch *
learner_batches_take(learner_batches *batches, double share, bool may_request)
{
    uint32_t i = 0, out = batches->count - batches->queued;
    while (i < batches->queued && !is_complete(batches, batches->queue[i])) {
        i++;
    }
    bool waits = batches->collects && (!may_request || out >= batches->in_work);
    if (i == batches->queued || waits) {
        return NULL;
    }
    struct plan *plan = batches->queue[i];
    batches->queued--;
    memmove(batches->queue + i, batches->queue + i + 1,
            (batches->queued - i) * sizeof(*batches->queue));
    weights_make(batches, plan, share);
    learner_batch_lag(plan->batch, batches->pools[LIVE].windows, &batches->options.source.versions,
                      batches->newest_version, &batches->lag, &batches->lag_max);
    const uint64_t *before = batches->windows[batches->taken % batches->ring];
    uint64_t *after = batches->windows[++batches->taken % batches->ring];
    for (uint32_t m = 0; m < batches->members; m++) {
        after[m] = before[m] + plan->got[m];
    }
    return plan->batch;
}

void
learner_batches_give(learner_batches *batches, learner_batch *batch, uint64_t now_ns)
{
    struct plan *plan = &batches->plans[batch->number];
    uint32_t B = batch->view.B, end;
    OCT_ASSERT(plan->batch == batch && batches->queued < batches->count);
    for (uint32_t i = 0; batch->learned && i < B; i = end) {
        const uint8_t *origin = batch->origin + i;
        uint8_t member = *origin;
        end = memcmp(origin, origin + 1, B - i - 1) == 0 ? B : i + 1; // all the others, or a few
        while (end < B && batch->origin[end] == member) {
            end++;
        }
        if (member != ORIGIN_NONE) {
            learner_source_return(batches->source[member], plan->incarnation[member], end - i,
                                  batch->key + i, batch->priority + i);
        }
    }
    queue_add(batches, plan);
    pools_check(batches, now_ns);
}

uint32_t
learner_batches_origin(const learner_batches *batches, const learner_batch *batch, uint32_t window,
                       uint64_t *incarnation)
{
    const struct plan *plan = &batches->plans[batch->number];
    uint8_t member = batch->origin[window];
    *incarnation = member != ORIGIN_NONE ? plan->incarnation[member] : 0;
    return member;
}

learner_source_place
learner_batches_place_after(const learner_batches *batches, uint32_t member, uint64_t taken)
{
    uint64_t oldest = batches->taken >= batches->ring ? batches->taken - batches->ring + 1 : 0;
    uint64_t at = taken == 0 ? 0 : OCT_MIN(OCT_MAX(taken, oldest), batches->taken);
    uint64_t windows = at == 0 ? 0 : batches->windows[at % batches->ring][member];
    return learner_source_place_after(batches->source[member], windows);
}

// ---- numbers

static double
waiting_s(const struct pool *pool, uint64_t now_ns)
{
    bool is_idle = pool->idle_ns != 0 && now_ns > pool->idle_ns;
    return pool->waiting_s + (is_idle ? (double)(now_ns - pool->idle_ns) * 1e-9 : 0);
}

learner_source_counts
learner_batches_counts(const learner_batches *batches, uint64_t now_ns)
{
    if (batches == NULL) {
        return (learner_source_counts){.lag = NAN, .lag_max = NAN};
    }
    learner_source_counts all = learner_source_count(batches->source[0]);
    for (uint32_t m = 1; m < batches->pools[LIVE].members; m++) {
        learner_source_counts one = learner_source_count(batches->source[m]);
        all.is_up &= one.is_up;
        all.size += one.size;
        all.inserts += one.inserts;
        all.samples += one.samples;
        all.given_up += one.given_up;
        all.missed += one.missed;
        all.steps += one.steps;
        all.first_sample_steps += one.first_sample_steps;
        all.bad_samples += one.bad_samples;
        if (one.first_sample_ns != 0 &&
            (all.first_sample_ns == 0 || one.first_sample_ns < all.first_sample_ns)) {
            all.first_sample_ns = one.first_sample_ns;
        }
    }
    all.given_up += batches->given_up;
    all.waiting_s = waiting_s(&batches->pools[LIVE], now_ns);
    all.lag = batches->lag;
    all.lag_max = batches->lag_max;
    return all;
}

double
learner_batches_data_wait_s(const learner_batches *batches, uint64_t now_ns)
{
    return waiting_s(&batches->pools[DATA], now_ns);
}

double
learner_batches_gone(const learner_batches *batches)
{
    return batches->pools[LIVE].others.gone;
}

static double
size_of(const learner_batches *batches, uint32_t member)
{
    learner_source_counts counts = learner_source_count(batches->source[member]);
    if (batches->collects) { // no window stays
        return (double)counts.inserts;
    }
    uint64_t most = config_shard_capacity(batches->options.source.config);
    return counts.size > 0 ? (double)counts.size : (double)OCT_MIN(counts.inserts, most);
}

double
learner_batches_share(const learner_batches *batches, uint32_t member)
{
    double all = 0;
    for (uint32_t m = 0; m < batches->pools[LIVE].members; m++) {
        all += size_of(batches, m);
    }
    return all > 0 ? size_of(batches, member) / all : 0;
}

double
learner_batches_missing(const learner_batches *batches)
{
    double missing = 0;
    for (uint32_t m = 0; m < batches->pools[LIVE].members; m++) {
        missing += learner_batches_is_used(batches, m) ? 0 : learner_batches_share(batches, m);
    }
    return missing;
}
