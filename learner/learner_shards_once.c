// Batches over several replays that give out each window once, oldest first: what comes fills the
// first batch with room, and what has become too old meanwhile is given up.
#include <string.h>

#include "common/oct_base.h"
#include "learner/learner_shards_state.h"

// Nobody knows which shard has how many windows. So each is asked for all that the next batches
// lack, as far as one request may, and answers at once with what it has. What comes beyond that is
// of the batches behind these: there is room for a whole request of each shard but one.

// Windows that may still come.
static uint32_t
room_of(const learner_shards *shards)
{
    uint32_t room = 0, B = shards->options.batch_size;
    for (uint32_t i = 0; i < shards->count; i++) {
        const shards_plan *plan = &shards->plan[i];
        room += plan->state == SHARDS_FREE      ? B
                : plan->state == SHARDS_PLANNED ? B - plan->filled
                                                : 0;
    }
    return room;
}

static bool
is_old(const learner_shards *shards, const shards_plan *plan, uint32_t window)
{
    return shards->version_min > 0 &&
           learner_batch_version(plan->batch, window) < shards->version_min;
}

static void
window_move(shards_plan *to, uint32_t at, const shards_plan *from, uint32_t window)
{
    if (to != from || at != window) {
        learner_batch_copy(to->batch, at, from->batch, window);
        to->origin[at] = from->origin[window];
    }
}

// The next plan whose windows have not gone to training, by number. NULL: none.
static shards_plan *
plan_behind(learner_shards *shards, const shards_plan *before)
{
    shards_plan *next = NULL;
    for (uint32_t i = 0; i < shards->count; i++) {
        shards_plan *plan = &shards->plan[i];
        bool is_one = (plan->state == SHARDS_PLANNED || plan->state == SHARDS_WHOLE) &&
                      (before == NULL || plan->number > before->number);
        if (is_one && (next == NULL || plan->number < next->number)) {
            next = plan;
        }
    }
    return next;
}

// It has so many windows, whose shards may be others than before.
static void
plan_count(learner_shards *shards, shards_plan *plan, uint32_t filled, uint64_t now_ns)
{
    bool was_whole = plan->state == SHARDS_WHOLE;
    plan->filled = filled;
    memset(plan->got, 0, sizeof(plan->got));
    for (uint32_t i = 0; i < filled; i++) {
        plan->got[plan->origin[i]]++;
    }
    bool is_whole = filled == shards->options.batch_size;
    OCT_ASSERT(!is_whole || was_whole); // the last plan alone may have room
    plan->state = is_whole ? SHARDS_WHOLE : filled > 0 ? SHARDS_PLANNED : SHARDS_FREE;
    if (was_whole && !is_whole && --shards->busy == 0) {
        shards->idle_ns = now_ns;
    }
}

// Gives up what is too old by now, of all that training has not had. The others move together, in
// order, so that only the last plan has room.
static void
old_drop(learner_shards *shards, uint64_t now_ns)
{
    shards_plan *to = plan_behind(shards, NULL), *next;
    uint32_t at = 0, B = shards->options.batch_size;
    for (shards_plan *from = to; from != NULL; from = next) {
        next = plan_behind(shards, from);
        for (uint32_t i = 0; i < from->filled; i++) {
            if (is_old(shards, from, i)) {
                shards->given_up++;
                continue;
            }
            window_move(to, at, from, i);
            if (++at == B) {
                to = plan_behind(shards, to);
                at = 0;
            }
        }
    }
    bool is_behind = false;
    for (shards_plan *plan = plan_behind(shards, NULL); plan != NULL; plan = next) {
        next = plan_behind(shards, plan);
        plan_count(shards, plan, plan == to ? at : is_behind ? 0 : B, now_ns);
        is_behind |= plan == to;
    }
}

uint32_t
shards_once_request(learner_shards *shards, uint32_t shard, uint64_t now_ns, wire_sample *out)
{
    const learner_source *source = shards->options.source[shard];
    uint32_t version_min = learner_source_version_min(source, shards->newest_version);
    if (version_min > shards->version_min) {
        shards->version_min = version_min;
        old_drop(shards, now_ns);
    }
    uint32_t most = learner_source_windows_max(source), room = room_of(shards);
    uint32_t spare = (shards->options.count - 1) * most, before = shards->promised[shard];
    uint32_t wanted = OCT_MIN(room - OCT_MIN(room, spare), most);
    // While one is on its way, another one for a few more windows is not worth it.
    if (!learner_shards_is_used(shards, shard) || wanted <= before ||
        (before > 0 && wanted - before < shards->options.batch_size)) {
        return 0;
    }
    uint32_t windows = wanted - before;
    shards->promised[shard] += windows;
    shards_ask(shards, shard, windows, 1, version_min, now_ns, out);
    return windows;
}

// The first one with room: there is one for every window that was promised.
static shards_plan *
plan_with_room(learner_shards *shards)
{
    shards_plan *plan = shards_plan_first(shards, SHARDS_PLANNED);
    if (plan == NULL) {
        plan = shards_plan_first(shards, SHARDS_FREE);
        OCT_ASSERT(plan != NULL);
        *plan = (shards_plan){.batch = plan->batch,
                              .origin = plan->origin,
                              .state = SHARDS_PLANNED,
                              .number = shards->numbers++};
    }
    return plan;
}

// So many windows of the answer, from first on: those that are not too old.
static oct_err
plan_put(learner_shards *shards, shards_plan *plan, uint32_t shard, const wire_sampled *sampled,
         uint32_t first, uint32_t count)
{
    uint32_t at = plan->filled;
    OCT_TRY(learner_batch_take(plan->batch, shards->options.spec, at, sampled, first, count));
    memset(plan->origin + at, (int)shard, count);
    for (uint32_t i = at; i < at + count; i++) {
        if (is_old(shards, plan, i)) {
            shards->given_up++;
            continue;
        }
        window_move(plan, plan->filled++, plan, i);
        plan->got[shard]++;
    }
    return OCT_OK;
}

oct_err
shards_once_sampled(learner_shards *shards, uint32_t shard, uint32_t promised,
                    const wire_sampled *sampled, uint64_t now_ns)
{
    learner_source *source = shards->options.source[shard];
    uint32_t B = shards->options.batch_size, come = OCT_MIN(sampled->count, promised);
    for (uint32_t first = 0; first < come;) {
        shards_plan *plan = plan_with_room(shards);
        uint32_t count = OCT_MIN(B - plan->filled, come - first);
        oct_err err = plan_put(shards, plan, shard, sampled, first, count);
        if (err != OCT_OK) {
            learner_source_bad(source);
            return err;
        }
        learner_source_arrived(source, count, now_ns);
        first += count;
        if (plan->filled == B) {
            shards_plan_whole(shards, plan, 0, now_ns);
        } else if (plan->filled == 0) {
            plan->state = SHARDS_FREE;
        }
    }
    return OCT_OK;
}
