// Commits each change of a durable table with one store, and removes changes that were not
// committed.
#include "replay/replay_journal.h"

#include "common/oct_base.h"
#include "replay/replay_step.h"

void
replay_journal_begin(replay_file *file, const replay_store *store, const replay_plan *plan)
{
    replay_journal *journal = file->journal;
    OCT_ASSERT(plan->runs <= file->header->journal_runs);
    // From here until the commit below, an interrupted list does not count.
    journal->commit = 0;
    replay_step();
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->runs; i++) {
        const replay_stream *stream =
            replay_streams_at(replay_store_streams(store), plan->stream[i]);
        if (stream->blocks == 0 || stream->held >= stream->next) {
            continue;
        }
        const replay_block *tail = replay_store_block(store, stream->tail);
        journal->entry[count++] = (replay_journal_entry){
            stream->tail, replay_store_place(store, stream->tail), tail->count};
    }
    journal->count = count;
    replay_step();
    journal->commit = file->live->commits + 1;
    replay_step();
}

replay_head *
replay_journal_head(replay_file *file)
{
    return &file->live->head[(file->live->commits + 1) % 2];
}

const replay_head *
replay_journal_held(const replay_file *file)
{
    return &file->live->head[file->live->commits % 2];
}

// The head holds the session that its commit changed.
static void
session_write(replay_file *file, const replay_head *head)
{
    if (head->session_index < file->header->sessions) {
        file->sessions[head->session_index] = head->session;
    }
}

void
replay_journal_commit(replay_file *file)
{
    replay_step();
    file->live->commits++;
    replay_step();
    session_write(file, replay_journal_held(file));
    replay_step();
}

void
replay_journal_undo(replay_file *file)
{
    replay_journal *journal = file->journal;
    session_write(file, replay_journal_held(file));
    if (journal->commit != file->live->commits + 1) { // no batch was interrupted
        return;
    }
    uint32_t count = OCT_MIN(journal->count, file->header->journal_runs);
    for (uint32_t i = 0; i < count; i++) {
        const replay_journal_entry *entry = &journal->entry[i];
        replay_block *block = replay_file_block(file, entry->serial);
        if (block->serial == entry->serial && entry->count < block->count) {
            block->count = (uint16_t)entry->count;
        }
    }
}
