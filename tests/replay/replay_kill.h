#ifndef TESTS_REPLAY_REPLAY_KILL_H
#define TESTS_REPLAY_REPLAY_KILL_H

#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_step.h"

// A durable table that can be killed: a copy of its file, taken at one of the places where the
// order of stores matters (REPLAY_STEPS), is what a kill at that moment would leave.

static struct kill {
    char path[64];
    replay_file *file; // NULL: the table is in memory only
    uint64_t step;     // taken so far
    uint64_t at;       // the step that takes the copy; 0: none
    uint8_t *copy;     // [file->bytes]
    bool taken;
    uint64_t restored, rolled_back, left; // for the summary
} kill_state;

#ifdef REPLAY_STEPS
void
replay_step_taken(void)
{
    if (kill_state.file && ++kill_state.step == kill_state.at) {
        memcpy(kill_state.copy, kill_state.file->base, kill_state.file->bytes);
        kill_state.taken = true;
    }
}
#endif

static inline replay_table *
kill_table_restore(void)
{
    oct_reason why = {""};
    replay_recovered recovered;
    replay_table *table;
    if (replay_file_open(&kill_state.file, kill_state.path, &why) != OCT_OK ||
        replay_recover(&recovered, kill_state.file, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    assert_true(recovered.is_exact);
    assert_int_equal(recovered.blocks_torn, 0);
    T_OK(replay_table_restore(&table, kill_state.file, true));
    kill_state.left += recovered.blocks_left;
    kill_state.restored++;
    return table;
}

// The process ends; what lies in the file is what it stored, or the copy.
static inline replay_table *
kill_table_again(replay_table *table, const uint8_t *copy)
{
    replay_table_stats before = replay_table_stats_get(table);
    replay_limiter limiter = *replay_table_limiter(table);
    replay_table_destroy(table);
    replay_file *file = kill_state.file;
    kill_state.file = NULL; // nothing of what follows is killed
    uint64_t bytes = file->bytes;
    replay_file_close(file);
    if (copy) {
        int to = open(kill_state.path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(to, copy, bytes, 0), bytes);
        (void)close(to);
    }
    table = kill_table_restore();
    replay_table_stats after = replay_table_stats_get(table);
    after.memory_bytes = before.memory_bytes; // as it was with the window that it was made with
    if (!copy) {
        assert_memory_equal(&after, &before, sizeof(after));
        const replay_limiter *now = replay_table_limiter(table);
        assert_memory_equal(&now->spec, &limiter.spec, sizeof(limiter.spec));
        assert_true(now->inserts == limiter.inserts && now->samples == limiter.samples);
        assert_true(now->offset == limiter.offset);
    }
    return table;
}

// In a new file, in place of the one before.
static inline replay_table *
kill_table_make(const wire_configure *configure)
{
    oct_reason why = {""};
    replay_file_close(kill_state.file);
    kill_state.file = NULL;
    (void)unlink(kill_state.path);
    if (replay_file_create(&kill_state.file, kill_state.path, configure, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    kill_state.copy = realloc(kill_state.copy, kill_state.file->bytes);
    return replay_table_create_in(configure, kill_state.file);
}

#endif // TESTS_REPLAY_REPLAY_KILL_H
