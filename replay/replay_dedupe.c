// Keeps the next expected sequence of each session, so that every batch is stored exactly once.
#include "replay/replay_dedupe.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_slotmap.h"

#define NONE REPLAY_SESSION_NONE

// A slot: an actor's session, in the chain of its hash bucket.
struct entry {
    replay_session session;
    // Sessions before session.replaced, the latest first; 0: none.
    uint64_t earlier[REPLAY_REPLACED_MAX - 1];
    uint64_t used_s; // time of the last batch
    uint32_t chain;  // next slot of the bucket; NONE: the last
};

struct replay_dedupe {
    uint32_t sessions_max;
    uint32_t count;
    uint64_t now_s;       // 0: not set yet
    uint64_t looked_s;    // time when most_holder was determined
    uint32_t most_holder; // certificate that had the most sessions at looked_s
    uint32_t *bucket;     // [sessions_max] by hash of the actor id: first slot; NONE: empty
    // [sessions_max]
    struct entry *entry;
    oct_slotmap *by_holder; // all slots by certificate, each group ordered by last use
};

#define PLACE_BYTES 12 // a slot in by_holder; a group takes 48, one for each certificate

size_t
replay_dedupe_bytes(uint32_t sessions_max)
{
    return sizeof(replay_dedupe) +
           sessions_max * (sizeof(struct entry) + sizeof(uint32_t) + PLACE_BYTES);
}

replay_dedupe *
replay_dedupe_create(uint32_t sessions_max)
{
    OCT_ASSERT(sessions_max > 0 && sessions_max < NONE);
    replay_dedupe *dedupe = oct_alloc(sizeof(*dedupe));
    dedupe->sessions_max = sessions_max;
    dedupe->by_holder = oct_slotmap_create();
    dedupe->entry = oct_alloc(sessions_max * sizeof(struct entry));
    dedupe->bucket = oct_alloc(sessions_max * sizeof(uint32_t));
    for (uint32_t i = 0; i < sessions_max; i++) {
        dedupe->bucket[i] = NONE;
    }
    return dedupe;
}

void
replay_dedupe_destroy(replay_dedupe *dedupe)
{
    if (dedupe) {
        free(dedupe->entry);
        free(dedupe->bucket);
        oct_slotmap_destroy(dedupe->by_holder);
        free(dedupe);
    }
}

uint32_t
replay_dedupe_count(const replay_dedupe *dedupe)
{
    return dedupe->count;
}

replay_session *
replay_dedupe_session(replay_dedupe *dedupe, uint32_t index)
{
    return index < dedupe->count ? &dedupe->entry[index].session : NULL;
}

// ---- by certificate

uint32_t
replay_dedupe_holder(const oct_holder *holder)
{
    uint32_t mixed = 0;
    for (size_t i = 0; holder && i < sizeof(holder->id); i++) {
        mixed = (mixed ^ holder->id[i]) * 16777619u; // FNV-1a
    }
    return holder ? mixed | 1 : 0;
}

// The group of a certificate in by_holder.
static oct_slotmap_key
key_of(uint32_t holder)
{
    return (oct_slotmap_key){0, holder};
}

static uint32_t
held_by(const replay_dedupe *dedupe, uint32_t holder)
{
    return oct_slotmap_count(dedupe->by_holder, key_of(holder));
}

static void
use_note(replay_dedupe *dedupe, uint32_t index)
{
    struct entry *entry = &dedupe->entry[index];
    entry->used_s = dedupe->now_s;
    oct_slotmap_put(dedupe->by_holder, key_of(entry->session.holder), index);
}

void
replay_dedupe_set_time(replay_dedupe *dedupe, uint64_t now_s)
{
    for (uint32_t i = 0; dedupe->now_s == 0 && i < dedupe->count; i++) {
        dedupe->entry[i].used_s = now_s; // this process does not know of an earlier use
    }
    dedupe->now_s = now_s;
}

// Returns the certificate with the most sessions, determined once a second.
static uint32_t
most_holder(replay_dedupe *dedupe)
{
    if (dedupe->looked_s == dedupe->now_s) {
        return dedupe->most_holder;
    }
    dedupe->looked_s = dedupe->now_s;
    uint32_t most = 0;
    for (uint32_t i = 0; i < dedupe->count; i++) {
        uint32_t holder = dedupe->entry[i].session.holder, held = held_by(dedupe, holder);
        if (held > most) {
            most = held;
            dedupe->most_holder = holder;
        }
    }
    return dedupe->most_holder;
}

// Returns the session of a certificate that has been silent longest, if it has been silent long
// enough to be forgotten; else NONE.
static uint32_t
silent_of(const replay_dedupe *dedupe, uint32_t holder)
{
    uint32_t index = oct_slotmap_first(dedupe->by_holder, key_of(holder));
    return index != OCT_SLOTMAP_NONE &&
                   dedupe->now_s - dedupe->entry[index].used_s >= REPLAY_RESEND_S
               ? index
               : NONE;
}

// Returns the session that leaves for a new one of this certificate; NONE: no session may leave.
static uint32_t
victim_find(replay_dedupe *dedupe, uint32_t holder)
{
    uint32_t victim = silent_of(dedupe, holder);
    if (victim == NONE) {
        uint32_t most = most_holder(dedupe);
        victim = held_by(dedupe, most) > held_by(dedupe, holder) ? silent_of(dedupe, most) : NONE;
    }
    return victim;
}

// Returns true if a new session of this certificate may take a free slot. Without certificates
// (holder 0) nothing is reserved.
static bool
may_take_free(const replay_dedupe *dedupe, uint32_t holder)
{
    uint32_t reserved = holder == 0 ? 0 : dedupe->sessions_max / 16;
    return dedupe->count < dedupe->sessions_max - reserved ||
           (dedupe->count < dedupe->sessions_max &&
            held_by(dedupe, holder) < dedupe->sessions_max / 256);
}

// ---- by actor id

static uint32_t *
bucket_of(const replay_dedupe *dedupe, uint32_t actor_id)
{
    uint32_t mixed = actor_id * 2654435769u; // Knuth's multiplicative hash
    return &dedupe->bucket[(mixed ^ mixed >> 16) % dedupe->sessions_max];
}

static uint32_t
entry_find(const replay_dedupe *dedupe, uint32_t actor_id)
{
    uint32_t index = *bucket_of(dedupe, actor_id);
    while (index != NONE && dedupe->entry[index].session.actor_id != actor_id) {
        index = dedupe->entry[index].chain;
    }
    return index;
}

static void
entry_forget(replay_dedupe *dedupe, uint32_t index)
{
    uint32_t *link = bucket_of(dedupe, dedupe->entry[index].session.actor_id);
    while (*link != index) {
        link = &dedupe->entry[*link].chain;
    }
    *link = dedupe->entry[index].chain;
    oct_slotmap_drop(dedupe->by_holder, index);
}

bool
replay_dedupe_knows(const replay_dedupe *dedupe, uint32_t actor_id)
{
    return entry_find(dedupe, actor_id) != NONE;
}

static uint32_t
entry_add(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session, uint32_t holder)
{
    uint32_t index = dedupe->count;
    if (may_take_free(dedupe, holder)) {
        dedupe->count++;
    } else {
        index = victim_find(dedupe, holder);
        if (index == NONE) {
            return NONE;
        }
        entry_forget(dedupe, index);
    }
    uint32_t *bucket = bucket_of(dedupe, actor_id);
    dedupe->entry[index] = (struct entry){
        .session = {.actor_id = actor_id, .holder = holder, .session = session},
        .chain = *bucket,
    };
    *bucket = index;
    use_note(dedupe, index);
    return index;
}

bool
replay_dedupe_open(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session, uint32_t holder)
{
    OCT_ASSERT(!replay_dedupe_knows(dedupe, actor_id));
    return entry_add(dedupe, actor_id, session, holder) != NONE;
}

bool
replay_dedupe_restore(replay_dedupe *dedupe, const replay_session *sessions, const uint32_t *order,
                      uint32_t count)
{
    OCT_ASSERT(dedupe->count == 0 && count <= dedupe->sessions_max);
    bool is_good = true;
    for (uint32_t i = count; i > 0; i--) { // oldest first, so that the latest is linked last
        uint32_t at = order[i - 1];
        is_good = is_good && at < count && sessions[at].session != 0 &&
                  entry_find(dedupe, sessions[at].actor_id) == NONE;
        if (!is_good) {
            break;
        }
        struct entry *entry = &dedupe->entry[at];
        uint32_t *bucket = bucket_of(dedupe, sessions[at].actor_id);
        *entry = (struct entry){.session = sessions[at], .chain = *bucket};
        *bucket = at;
        use_note(dedupe, at);
    }
    dedupe->count = is_good ? count : 0;
    if (!is_good) {
        oct_slotmap_destroy(dedupe->by_holder);
        dedupe->by_holder = oct_slotmap_create();
        for (uint32_t i = 0; i < dedupe->sessions_max; i++) {
            dedupe->bucket[i] = NONE;
        }
    }
    return is_good;
}

static bool
was_replaced(const struct entry *entry, uint64_t session)
{
    bool is_it = session == entry->session.replaced;
    for (size_t i = 0; i < OCT_COUNTOF(entry->earlier); i++) {
        is_it = is_it || session == entry->earlier[i];
    }
    return is_it;
}

// The earlier sessions move back by one, and the oldest is forgotten.
static void
session_replace(struct entry *entry, uint64_t session)
{
    memmove(entry->earlier + 1, entry->earlier, sizeof(entry->earlier) - sizeof(*entry->earlier));
    entry->earlier[0] = entry->session.replaced;
    entry->session.replaced = entry->session.session;
    entry->session.session = session;
    entry->session.sequence = 0;
}

replay_verdict
replay_dedupe_look(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session, uint64_t sequence,
                   uint64_t first_unacked, uint32_t *index)
{
    OCT_ASSERT(first_unacked >= 1 && first_unacked <= sequence);
    uint32_t found = entry_find(dedupe, actor_id);
    if (found == NONE) {
        found = entry_add(dedupe, actor_id, session, 0);
    }
    *index = found;
    if (found == NONE) {
        return REPLAY_REFUSED;
    }
    struct entry *entry = &dedupe->entry[found];
    replay_session *known = &entry->session;
    if (session != known->session) {
        if (was_replaced(entry, session)) {
            return REPLAY_STALE;
        }
        session_replace(entry, session);
    }
    use_note(dedupe, found);
    known->sequence = OCT_MAX(known->sequence, first_unacked - 1);
    if (sequence <= known->sequence) {
        return REPLAY_DUPLICATE;
    }
    return sequence == known->sequence + 1 ? REPLAY_NEXT : REPLAY_GAP;
}

uint32_t
replay_dedupe_find(const replay_dedupe *dedupe, uint32_t actor_id, uint64_t session)
{
    uint32_t index = entry_find(dedupe, actor_id);
    return index != NONE && dedupe->entry[index].session.session == session ? index : NONE;
}

void
replay_dedupe_advance(replay_dedupe *dedupe, uint32_t index)
{
    OCT_ASSERT(index < dedupe->count);
    dedupe->entry[index].session.sequence++;
}
