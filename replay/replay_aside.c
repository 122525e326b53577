// Counts rows that were set aside, by session.
#include "replay/replay_aside.h"

#include <stdio.h>

#include "common/oct_base.h"

// The session's entry; a new one may replace the entry with the fewest rows.
static replay_aside_session *
entry_of(replay_aside *aside, uint64_t session)
{
    replay_aside_session *fewest = &aside->sessions[0];
    for (uint32_t i = 0; i < aside->count; i++) {
        replay_aside_session *entry = &aside->sessions[i];
        if (entry->session == session) {
            return entry;
        }
        fewest = entry->rows < fewest->rows ? entry : fewest;
    }
    replay_aside_session *entry =
        aside->count < REPLAY_ASIDE_MAX ? &aside->sessions[aside->count++] : fewest;
    *entry = (replay_aside_session){.session = session};
    return entry;
}

const replay_aside_session *
replay_aside_note(replay_aside *aside, uint64_t session, uint32_t actor_id,
                  const oct_holder *holder, uint32_t rows)
{
    replay_aside_session *entry = entry_of(aside, session);
    entry->actor_id = actor_id;
    entry->rows += rows;
    aside->all += rows;
    if (holder) {
        (void)snprintf(entry->certificate, sizeof(entry->certificate), "%s", holder->name);
    }
    return entry;
}
