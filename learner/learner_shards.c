// Plans batches over several replays, fills them with what comes, and takes them apart again.
#include "learner/learner_shards_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define STREAM 0x736861726473u // of the generator of shares
// What the others have is told that often at most, when it matters; else, and of a shard that does
// not answer, so seldom.
#define TELL_NS      1000000u
#define TELL_LATE_NS 100000000u
#define HELD_PARTS   4         // of the time that a request is held, one passes between questions
#define ORIGIN_NONE  UINT8_MAX // of a window whose shard is another process by now

// ---- life

uint32_t
learner_shards_needed(const learner_source_options *shard, uint32_t count)
{
    // Room for a whole request of each shard.
    uint32_t request = learner_source_request_max(shard);
    return learner_source_takes(shard)
               ? learner_source_in_work(shard) + (count - 1) * request
               : OCT_MAX(2u, shard->config->learner.prefetch) + count * request;
}

uint64_t
learner_shards_bytes(const learner_source_options *shard, uint32_t count)
{
    uint32_t T = shard->wants.window != ALGO_WINDOW_N_STEP ? shard->wants.steps : 0;
    return learner_shards_needed(shard, count) *
           ((uint64_t)learner_batch_bytes(shard->spec, shard->batch_size, T) + shard->batch_size);
}

learner_shards *
learner_shards_create(const learner_shards_options *options)
{
    learner_shards *shards = oct_alloc(sizeof(*shards));
    uint32_t B = options->batch_size;
    OCT_ASSERT(options->count >= 2 && options->count <= OCT_SHARDS_MAX);
    shards->options = *options;
    shards->count = options->batches;
    shards->lag = shards->lag_max = NAN;
    shards->gone = options->gone;
    shards->made = options->count;
    shards->plan = oct_alloc(shards->count * sizeof(*shards->plan));
    for (uint32_t i = 0; i < shards->count; i++) {
        shards->plan[i].batch = learner_batch_create(options->spec, B, options->T);
        shards->plan[i].origin = oct_alloc(B);
    }
    oct_rng_init(&shards->rng, options->seed, STREAM);
    shards->ring = 4 * shards->count;
    shards->windows = oct_alloc(shards->ring * sizeof(*shards->windows));
    shards->key = oct_alloc(B * sizeof(*shards->key));
    shards->priority = oct_alloc(B * sizeof(*shards->priority));
    shards->idle_ns = options->now_ns;
    return shards;
}

void
learner_shards_destroy(learner_shards *shards)
{
    if (shards == NULL) {
        return;
    }
    for (uint32_t i = 0; i < shards->count; i++) {
        learner_batch_destroy(shards->plan[i].batch);
        free(shards->plan[i].origin);
    }
    free(shards->plan);
    free(shards->windows);
    free(shards->key);
    free(shards->priority);
    free(shards);
}

uint32_t
learner_shards_batches(const learner_shards *shards)
{
    return shards->count;
}

// ---- shares

static learner_source_counts
counts_of(const learner_shards *shards, uint32_t shard)
{
    return learner_source_count(shards->options.source[shard], 0);
}

bool
learner_shards_is_used(const learner_shards *shards, uint32_t shard)
{
    const learner_source *source = shards->options.source[shard];
    return learner_source_is_known(source) && !learner_source_is_lost(source) &&
           (shards->options.takes || counts_of(shards, shard).size > 0);
}

// Of each shard that is used, by its priorities, or where all of these are 0, by its windows, as
// one replay draws them. False: there is none.
static bool
shares_get(const learner_shards *shards, double out[OCT_SHARDS_MAX])
{
    double mass = 0, size = 0;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        learner_source_counts counts = counts_of(shards, s);
        bool is_used = learner_shards_is_used(shards, s);
        mass += is_used ? counts.mass : 0;
        size += is_used ? (double)counts.size : 0;
    }
    for (uint32_t s = 0; s < shards->options.count; s++) {
        learner_source_counts counts = counts_of(shards, s);
        double own = mass > 0 ? counts.mass / mass : (double)counts.size / size;
        out[s] = size > 0 && learner_shards_is_used(shards, s) ? own : 0;
    }
    return size > 0;
}

static uint32_t
shard_draw(learner_shards *shards, const double share[OCT_SHARDS_MAX])
{
    double at = oct_rng_double(&shards->rng);
    uint32_t found = 0;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        if (share[s] > 0) { // the last one also takes what rounding leaves
            found = s;
            if (at < share[s]) {
                break;
            }
            at -= share[s];
        }
    }
    return found;
}

// ---- plans

// What was planned of shards that are used no more is of no shard again.
static void
plans_look(learner_shards *shards)
{
    for (uint32_t s = 0; s < shards->options.count; s++) {
        bool is_used = learner_shards_is_used(shards, s), was_used = shards->is_used[s];
        shards->is_used[s] = is_used;
        for (uint32_t i = 0; was_used && !is_used && i < shards->count; i++) {
            shards_plan *plan = &shards->plan[i];
            if (plan->state == SHARDS_PLANNED) {
                plan->lack += plan->wanted[s] - plan->got[s];
                plan->wanted[s] = plan->got[s];
            }
        }
    }
}

// Each batch that is free gets a plan, and each plan a shard for each of its windows, if any is
// used.
static void
plans_make(learner_shards *shards)
{
    double share[OCT_SHARDS_MAX];
    plans_look(shards);
    if (!shares_get(shards, share)) {
        return;
    }
    for (uint32_t i = 0; i < shards->count; i++) {
        shards_plan *plan = &shards->plan[i];
        if (plan->state == SHARDS_FREE) {
            *plan = (shards_plan){.batch = plan->batch,
                                  .origin = plan->origin,
                                  .state = SHARDS_PLANNED,
                                  .number = shards->numbers++,
                                  .lack = shards->options.batch_size};
        }
        if (plan->state == SHARDS_PLANNED && plan->lack > 0) {
            memcpy(plan->share, share, sizeof(plan->share));
            for (; plan->lack > 0; plan->lack--) {
                plan->wanted[shard_draw(shards, share)]++;
            }
        }
    }
}

// The first one in this state, and of which (shard not NULL) windows of that shard are to come.
// NULL: none.
static shards_plan *
plan_first(learner_shards *shards, enum shards_state state, const uint32_t *shard)
{
    shards_plan *first = NULL;
    for (uint32_t i = 0; i < shards->count; i++) {
        shards_plan *plan = &shards->plan[i];
        bool is_one =
            plan->state == state && (shard == NULL || plan->wanted[*shard] > plan->got[*shard]);
        if (is_one && (first == NULL || plan->number < first->number)) {
            first = plan;
        }
    }
    return first;
}

shards_plan *
shards_plan_first(learner_shards *shards, enum shards_state state)
{
    return plan_first(shards, state, NULL);
}

// ---- the link

// Of all but one.
static wire_others
others_of(const learner_shards *shards, uint32_t shard)
{
    wire_others others = {.balance = shards->gone};
    for (uint32_t s = 0; s < shards->options.count; s++) {
        if (s != shard) {
            learner_source_counts counts = counts_of(shards, s);
            others.inserts += counts.inserts;
            others.samples += counts.samples;
            others.balance += counts.balance;
            others.insert_chunk = OCT_MAX(others.insert_chunk, counts.insert_chunk);
            others.sample_chunk = OCT_MAX(others.sample_chunk, counts.sample_chunk);
        }
    }
    return others;
}

static uint64_t
table_of(const learner_shards *shards, uint32_t shard)
{
    return learner_source_place_after(shards->options.source[shard], 0).table;
}

// A table that is made now begins with the numbers, and has no part of their change; nor has one
// that was made just before the others are told them.
static uint32_t
limiter_parts(const learner_shards *shards, bool limiter_only)
{
    uint32_t parts = 0;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        parts += table_of(shards, s) != 0 && !(limiter_only && s == shards->made);
    }
    return parts;
}

void
learner_shards_configure(const learner_shards *shards, uint32_t shard, wire_configure *out)
{
    out->limiter_parts = limiter_parts(shards, out->limiter_only);
    out->others = others_of(shards, shard);
}

static double
balance_of_all(const learner_shards *shards)
{
    return others_of(shards, shards->options.count).balance;
}

void
learner_shards_configured(learner_shards *shards, uint32_t shard, oct_err err,
                          const wire_configured *answer)
{
    const oct_config *config = shards->options.config;
    uint64_t table = table_of(shards, shard);
    double balance = balance_of_all(shards);
    learner_source_configured(shards->options.source[shard], err, answer);
    if (err == OCT_OK) {
        shards->made = table != table_of(shards, shard) ? shard : shards->options.count;
    }
    if (table == 0 || table == table_of(shards, shard)) {
        return;
    }
    uint64_t inserts = others_of(shards, shards->options.count).inserts;
    if (inserts < config->replay.min_size) {
        balance = (double)inserts * config->replay.samples_per_insert;
    }
    shards->gone += balance - balance_of_all(shards);
}

void
shards_ask(learner_shards *shards, uint32_t shard, uint32_t windows, uint32_t at_once,
           uint32_t version_min, uint64_t now_ns, wire_sample *out)
{
    wire_others others = others_of(shards, shard);
    shards->told_ns[shard] = now_ns;
    shards->told[shard] = others;
    if (windows > 0 && shards->promised[shard] == 0) {
        shards->moved_ns[shard] = now_ns;
    }
    learner_source_ask(shards->options.source[shard], windows, at_once, version_min, &others, out);
}

// Windows that are planned of a shard and were not asked for.
static uint32_t
lack_of(const learner_shards *shards, uint32_t shard)
{
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < shards->count; i++) {
        const shards_plan *plan = &shards->plan[i];
        wanted += plan->state == SHARDS_PLANNED ? plan->wanted[shard] - plan->got[shard] : 0;
    }
    return wanted - OCT_MIN(wanted, shards->promised[shard]);
}

// A request costs as much as many windows: it is for half of what one may ask for, unless the
// learner has little to do and no other is on its way.
static uint32_t
drawn_request(learner_shards *shards, uint32_t shard, uint64_t now_ns, wire_sample *out)
{
    plans_make(shards);
    uint32_t B = shards->options.batch_size, lack = lack_of(shards, shard);
    uint32_t most = learner_source_windows_max(shards->options.source[shard]);
    bool can_wait = 2 * shards->busy >= shards->count || shards->promised[shard] > 0;
    if (!shards->is_used[shard] || lack == 0 || (can_wait && lack < OCT_MAX(B, most / 2))) {
        return 0;
    }
    uint32_t count = shards->options.count;
    uint32_t at_once = OCT_MIN(lack, (B + count - 1) / count);
    uint32_t windows = OCT_MIN(lack, most) / at_once * at_once;
    shards_ask(shards, shard, windows, at_once, 0, now_ns, out);
    shards->promised[shard] += windows;
    return windows;
}

uint32_t
learner_shards_request(learner_shards *shards, uint32_t shard, uint64_t newest_version,
                       uint64_t now_ns, wire_sample *out)
{
    shards->newest_version = newest_version;
    return shards->options.takes ? shards_once_request(shards, shard, now_ns, out)
                                 : drawn_request(shards, shard, now_ns, out);
}

void
learner_shards_missed(learner_shards *shards, uint32_t shard, uint32_t promised)
{
    OCT_ASSERT(shards->promised[shard] >= promised);
    shards->promised[shard] -= promised;
}

// Whether what the others have has changed by what a limiter would notice: a batch of samples, any
// insert of the first ones, or a larger insert or sample than before.
static bool
others_have_news(const learner_shards *shards, uint32_t shard)
{
    const oct_config *config = shards->options.config;
    const wire_others *told = &shards->told[shard];
    wire_others others = others_of(shards, shard);
    bool is_warm = told->inserts >= config->replay.min_size;
    bool is_wider =
        others.insert_chunk > told->insert_chunk || others.sample_chunk > told->sample_chunk;
    double changed = fabs(others.balance - told->balance);
    return (!is_warm && others.inserts != told->inserts) ||
           (config->replay.samples_per_insert > 0 &&
            (is_wider || changed >= shards->options.batch_size));
}

// Whether a request to another shard is held, and what this one has taken may allow it. The longer
// it is held, the more seldom this one is asked: actors that are slow are not worth more.
static bool
others_wait(const learner_shards *shards, uint32_t shard, uint64_t since_ns, uint64_t now_ns)
{
    bool do_wait = false;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        uint64_t held_ns = now_ns - shards->moved_ns[s];
        do_wait |= s != shard && shards->promised[s] > 0 && held_ns >= TELL_NS &&
                   since_ns >= held_ns / HELD_PARTS;
    }
    return do_wait;
}

bool
learner_shards_tell(learner_shards *shards, uint32_t shard, uint64_t now_ns, wire_sample *out)
{
    const learner_source *source = shards->options.source[shard];
    uint64_t since_ns = now_ns - shards->told_ns[shard];
    bool has_news = !learner_source_is_known(source) ||
                    (!shards->options.takes && (others_have_news(shards, shard) ||
                                                others_wait(shards, shard, since_ns, now_ns)));
    bool is_due = since_ns >= TELL_LATE_NS ||
                  (since_ns >= TELL_NS && has_news && !learner_source_is_lost(source));
    if (!learner_source_is_configured(source) || !is_due) {
        return false;
    }
    shards_ask(shards, shard, 0, 1, 0, now_ns, out);
    return true;
}

// ---- windows

void
shards_plan_whole(learner_shards *shards, shards_plan *plan, double exponent, uint64_t now_ns)
{
    uint64_t size = 0;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        size += learner_shards_is_used(shards, s) ? counts_of(shards, s).size : 0;
    }
    learner_batch_weigh(plan->batch, size, exponent);
    plan->state = SHARDS_WHOLE;
    if (shards->busy++ == 0) {
        shards->waiting_s += (double)(now_ns - shards->idle_ns) * 1e-9;
        shards->idle_ns = 0;
    }
}

// Keys of another process name other windows.
static void
plan_origins(shards_plan *plan, uint32_t shard, uint64_t incarnation)
{
    if (plan->got[shard] > 0 && plan->incarnation[shard] != incarnation) {
        for (uint32_t i = 0; i < plan->filled; i++) {
            plan->origin[i] = plan->origin[i] == shard ? ORIGIN_NONE : plan->origin[i];
        }
    }
    plan->incarnation[shard] = incarnation;
}

// So many windows of the answer, from first on, into a plan.
static oct_err
plan_put(const learner_shards *shards, shards_plan *plan, uint32_t shard,
         const wire_sampled *sampled, uint32_t first, uint32_t count)
{
    learner_batch *batch = plan->batch;
    uint32_t at = plan->filled;
    OCT_TRY(learner_batch_take(batch, shards->options.spec, at, sampled, first, count));
    plan_origins(plan, shard, sampled->incarnation);
    for (uint32_t i = at; i < at + count; i++) {
        batch->probability[i] = (float)(batch->probability[i] * plan->share[shard]);
        plan->origin[i] = (uint8_t)shard;
    }
    plan->filled += count;
    plan->got[shard] += count;
    return OCT_OK;
}

static oct_err
drawn_sampled(learner_shards *shards, uint32_t shard, const wire_sampled *sampled, double share,
              uint64_t now_ns)
{
    learner_source *source = shards->options.source[shard];
    double exponent = learner_importance_exponent(shards->options.config, share);
    shards_plan *plan;
    // What was planned anew meanwhile is wanted no more: windows that nobody wants are left.
    for (uint32_t first = 0;
         first < sampled->count && (plan = plan_first(shards, SHARDS_PLANNED, &shard)) != NULL;) {
        uint32_t count = OCT_MIN(plan->wanted[shard] - plan->got[shard], sampled->count - first);
        oct_err err = plan_put(shards, plan, shard, sampled, first, count);
        if (err != OCT_OK) {
            learner_source_bad(source);
            return err;
        }
        learner_source_arrived(source, count, now_ns);
        first += count;
        if (plan->filled == shards->options.batch_size) {
            shards_plan_whole(shards, plan, exponent, now_ns);
        }
    }
    return OCT_OK;
}

oct_err
learner_shards_sampled(learner_shards *shards, uint32_t shard, uint32_t promised,
                       const wire_sampled *sampled, double share, uint64_t now_ns)
{
    learner_shards_missed(shards, shard, promised);
    shards->moved_ns[shard] = now_ns;
    OCT_TRY(learner_source_heard(shards->options.source[shard], sampled));
    return shards->options.takes ? shards_once_sampled(shards, shard, promised, sampled, now_ns)
                                 : drawn_sampled(shards, shard, sampled, share, now_ns);
}

// ---- batches

learner_batch *
learner_shards_take(learner_shards *shards)
{
    shards_plan *plan = shards_plan_first(shards, SHARDS_WHOLE);
    // What has come beyond the batches in work waits, and may become too old.
    if (plan == NULL || (shards->options.takes && shards->out == shards->options.in_work)) {
        return NULL;
    }
    plan->state = SHARDS_OUT;
    shards->out++;
    const learner_versions *versions =
        &learner_source_options_of(shards->options.source[0])->versions;
    learner_batch_lag(plan->batch, versions, shards->newest_version, &shards->lag,
                      &shards->lag_max);
    const uint64_t *before = shards->windows[shards->taken % shards->ring];
    uint64_t *after = shards->windows[++shards->taken % shards->ring];
    for (uint32_t s = 0; s < shards->options.count; s++) {
        after[s] = before[s] + plan->got[s];
    }
    return plan->batch;
}

static void
priorities_return(learner_shards *shards, const shards_plan *plan, uint32_t shard)
{
    const learner_batch *batch = plan->batch;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->filled; i++) {
        if (plan->origin[i] == shard) {
            shards->key[count] = batch->key[i];
            shards->priority[count++] = batch->priority[i];
        }
    }
    if (count > 0) {
        learner_source_return(shards->options.source[shard], plan->incarnation[shard], count,
                              shards->key, shards->priority);
    }
}

void
learner_shards_give(learner_shards *shards, learner_batch *batch, uint64_t now_ns)
{
    shards_plan *plan = shards->plan;
    while (plan->batch != batch) {
        plan++;
        OCT_ASSERT(plan < shards->plan + shards->count);
    }
    OCT_ASSERT(plan->state == SHARDS_OUT && shards->busy > 0);
    for (uint32_t s = 0; batch->learned && s < shards->options.count; s++) {
        priorities_return(shards, plan, s);
    }
    plan->state = SHARDS_FREE;
    shards->out--;
    if (--shards->busy == 0) {
        shards->idle_ns = now_ns;
    }
}

uint64_t
learner_shards_windows(const learner_shards *shards, uint32_t shard, uint64_t batches)
{
    if (batches == 0) {
        return 0;
    }
    uint64_t oldest = shards->taken >= shards->ring ? shards->taken - shards->ring + 1 : 0;
    uint64_t at = OCT_MIN(OCT_MAX(batches, oldest), shards->taken);
    return shards->windows[at % shards->ring][shard];
}

// ---- numbers

double
learner_shards_gone(const learner_shards *shards)
{
    return shards->gone;
}

static double
size_of(const learner_shards *shards, uint32_t shard)
{
    learner_source_counts counts = counts_of(shards, shard);
    if (shards->options.takes) { // none stays
        return (double)counts.inserts;
    }
    uint64_t most = oct_config_shard_capacity(shards->options.config);
    return counts.size > 0 ? (double)counts.size : (double)OCT_MIN(counts.inserts, most);
}

double
learner_shards_share(const learner_shards *shards, uint32_t shard)
{
    double all = 0;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        all += size_of(shards, s);
    }
    return all > 0 ? size_of(shards, shard) / all : 0;
}

double
learner_shards_missing(const learner_shards *shards)
{
    double missing = 0;
    for (uint32_t s = 0; s < shards->options.count; s++) {
        missing += learner_shards_is_used(shards, s) ? 0 : learner_shards_share(shards, s);
    }
    return missing;
}

uint64_t
learner_shards_given_up(const learner_shards *shards)
{
    return shards->given_up;
}

void
learner_shards_lag(const learner_shards *shards, double *mean, double *most)
{
    *mean = shards->lag;
    *most = shards->lag_max;
}

double
learner_shards_waiting_s(const learner_shards *shards, uint64_t now_ns)
{
    bool is_idle = shards->idle_ns != 0 && now_ns > shards->idle_ns;
    return shards->waiting_s + (is_idle ? (double)(now_ns - shards->idle_ns) * 1e-9 : 0);
}
