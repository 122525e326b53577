// Keeps the next expected sequence of each session, so that every batch is stored exactly once.
#include "replay/replay_dedupe.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define NONE REPLAY_SESSION_NONE

// In a chain of its hash bucket, and in the list of all by last use.
struct entry {
    replay_session session;
    uint64_t earlier[REPLAY_REPLACED_MAX - 1]; // before session.replaced, the latest first
    uint32_t chain;
    uint32_t newer;
    uint32_t older;
};

struct replay_dedupe {
    uint32_t sessions_max;
    uint32_t count;
    uint32_t newest;
    uint32_t oldest;
    uint32_t *bucket; // [sessions_max]
    struct entry *entry;
};

size_t
replay_dedupe_bytes(uint32_t sessions_max)
{
    return sizeof(replay_dedupe) + sessions_max * (sizeof(struct entry) + sizeof(uint32_t));
}

replay_dedupe *
replay_dedupe_create(uint32_t sessions_max)
{
    OCT_ASSERT(sessions_max > 0 && sessions_max < NONE);
    replay_dedupe *dedupe = oct_alloc(sizeof(*dedupe));
    dedupe->sessions_max = sessions_max;
    dedupe->newest = NONE;
    dedupe->oldest = NONE;
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

// ---- by last use

static void
use_unlink(replay_dedupe *dedupe, uint32_t index)
{
    struct entry *entry = &dedupe->entry[index];
    *(entry->newer == NONE ? &dedupe->newest : &dedupe->entry[entry->newer].older) = entry->older;
    *(entry->older == NONE ? &dedupe->oldest : &dedupe->entry[entry->older].newer) = entry->newer;
}

static void
use_link(replay_dedupe *dedupe, uint32_t index)
{
    struct entry *entry = &dedupe->entry[index];
    entry->newer = NONE;
    entry->older = dedupe->newest;
    *(entry->older == NONE ? &dedupe->oldest : &dedupe->entry[entry->older].newer) = index;
    dedupe->newest = index;
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
    use_unlink(dedupe, index);
}

static uint32_t
entry_add(replay_dedupe *dedupe, uint32_t actor_id, uint64_t session)
{
    uint32_t index = dedupe->count;
    if (dedupe->count < dedupe->sessions_max) {
        dedupe->count++;
    } else {
        index = dedupe->oldest;
        entry_forget(dedupe, index);
    }
    struct entry *entry = &dedupe->entry[index];
    uint32_t *bucket = bucket_of(dedupe, actor_id);
    *entry = (struct entry){
        .session = {.actor_id = actor_id, .session = session},
        .chain = *bucket,
    };
    *bucket = index;
    use_link(dedupe, index);
    return index;
}

bool
replay_dedupe_restore(replay_dedupe *dedupe, const replay_session *sessions, const uint32_t *order,
                      uint32_t count)
{
    OCT_ASSERT(dedupe->count == 0 && count <= dedupe->sessions_max);
    bool is_good = true;
    for (uint32_t i = count; i > 0; i--) { // the latest is linked last
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
        use_link(dedupe, at);
    }
    dedupe->count = is_good ? count : 0;
    if (!is_good) {
        dedupe->newest = dedupe->oldest = NONE;
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
        found = entry_add(dedupe, actor_id, session);
    }
    *index = found;
    struct entry *entry = &dedupe->entry[found];
    replay_session *known = &entry->session;
    if (session != known->session) {
        if (was_replaced(entry, session)) {
            return REPLAY_STALE;
        }
        session_replace(entry, session);
    }
    use_unlink(dedupe, found);
    use_link(dedupe, found);
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
