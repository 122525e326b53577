#ifndef REPLAY_REPLAY_TABLE_H
#define REPLAY_REPLAY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "proto/wire_replay.h"
#include "replay/replay_config.h"
#include "replay/replay_dedupe.h"
#include "replay/replay_limiter.h"

// The table: takes batches of rows from actors, and draws windows of these rows for the learner.
//
// An insert passes these steps in order, and each of them can end it:
// 1. Session (replay_dedupe.h). Only the next batch of a session goes further. A duplicate, a gap,
//    a stale batch and a batch without a slot for its session are counted.
// 2. Runs (replay_plan.h). A batch is rejected if its sizes are not the table's, or if its rows do
//    not continue their streams. The plan also counts the blocks that the rows need.
// 3. Room. The limiter (replay_limiter.h), or for a FIFO table the number of free blocks, may not
//    allow the batch now: OCT_EAGAIN, and the caller offers the same batch again.
// 4. Numbers (replay_range.h). A batch with a number outside the run's range is rejected.
// 5. Store (replay_items.h). Rows go into blocks, the oldest blocks leave, and the windows that the
//    rows complete become drawable. Then the limiter counts them.
// A rejected batch counts as taken in its session; otherwise the actor would send it forever.
//
// A sample asks the limiter (replay_table_may_sample), draws slots with the sampler
// (replay_select.h), and copies the windows from the blocks into a reply (replay_gather.h). The
// reply's columns stay valid until the next call. The limiter then counts the windows as drawn.
//
// A durable table keeps in a file (replay_file.h) everything that it cannot compute again. Each
// call that changes the table ends with a commit (replay_journal.h). So whenever the process is
// killed, the file holds the changes of all calls that have returned, and of an interrupted call
// either all changes or none.
//
// Threads: one user at a time. Owns: all of its memory, reserved by create (replay_config_budget).
// Full: the oldest block of rows is dropped. A FIFO table returns each window once, so it does not
// drop windows that were not fetched: it holds inserts back until enough blocks are free of them.
// The caller waits, not the table: insert answers OCT_EAGAIN, may_sample answers 0. The two
// never wait for each other forever, for any sizes of batches and samples. This also holds across
// several tables of one experiment if each knows the others' counters (replay_table_set_others).
typedef struct replay_table replay_table;

typedef enum replay_insert_kind {
    REPLAY_INSERT_TAKEN,     // the rows are stored
    REPLAY_INSERT_DUPLICATE, // the table holds this batch already
    REPLAY_INSERT_GAP,       // an earlier batch of the session is missing
    REPLAY_INSERT_STALE,     // a later session of the same actor has replaced the batch's session
    REPLAY_INSERT_REFUSED,   // the session is new, and there is no slot for it (replay_dedupe.h)
    // The batch is invalid and passed over, or its actor would send it forever.
    REPLAY_INSERT_REJECTED,
} replay_insert_kind;

typedef struct replay_insert {
    replay_insert_kind kind;
    // Index for replay_table_session. For a stale batch: of its actor's newest session.
    // REPLAY_SESSION_NONE: the batch named session 0, or was refused.
    uint32_t session;
    uint32_t rows;    // rows stored
    uint32_t windows; // windows that these rows completed
    // Windows dropped for these rows, because a waiting sample needs more windows than the table
    // holds.
    uint32_t overrun;
    const char *reason; // static text; only for REPLAY_INSERT_REJECTED
    float number;       // the number that reason is about; NaN: reason is about something else
    bool is_aside;      // rejected for a number outside the run's range (replay_range.h)
} replay_insert;

// Numbers of a table. Counters start when the table is made; a durable table keeps them in its
// file.
typedef struct replay_table_stats {
    uint64_t size;         // windows that can be drawn
    uint64_t capacity;     // rows; a whole number of blocks
    uint64_t rows;         // rows held
    uint64_t blocks;       // blocks held
    uint64_t streams;      // streams that have a block
    uint64_t rows_taken;   // rows stored so far
    uint64_t rows_random;  // of rows_taken: rows with an action that exploration chose
    uint64_t ends;         // of rows_taken: end rows
    uint64_t failed;       // of ends: end rows of environments that failed
    uint64_t inserts;      // windows completed
    uint64_t samples;      // windows drawn, without the returned ones
    uint64_t cut;          // windows that began and will never be complete
    uint64_t overrun;      // windows that a FIFO table dropped before they were drawn
    uint64_t given_up;     // windows too old for the learner of a FIFO table
    uint64_t batches;      // batches stored
    uint64_t duplicates;   // batches
    uint64_t gaps;         // batches
    uint64_t stale;        // batches
    uint64_t rejected;     // batches
    uint64_t updates;      // priorities set
    uint64_t updates_late; // priorities of windows that had left the table
    uint64_t refused;      // batches of sessions without a slot
    uint64_t sessions;
    uint64_t memory_bytes;
} replay_table_stats;

// Makes a table in memory. configure has passed replay_config_check.
replay_table *replay_table_create(const wire_configure *configure);
// Makes a durable table. file has just been created for configure and outlives the table.
struct replay_file;
replay_table *replay_table_create_in(const wire_configure *configure, struct replay_file *file);
// Makes the table that file held, in the state that replay_recover found; is_exact comes from
// replay_recover. The file is live afterwards (replay_file_set_live). OCT_EINVAL: its sessions are
// damaged.
OCT_CHECKED oct_err replay_table_restore(replay_table **out, struct replay_file *file,
                                         bool is_exact);
// Makes a table over a data set, which outlives it. All windows of its rows can be drawn, and
// nothing can be inserted. configure comes from replay_data_fit.
struct replay_data;
replay_table *replay_table_create_over(const wire_configure *configure,
                                       const struct replay_data *data);
void replay_table_destroy(replay_table *table);
const wire_configure *replay_table_configure(const replay_table *table);
// A random number that identifies the table. It stays the same as long as the table's counters
// continue, for a durable table also across processes. 0: the table serves a data set.
uint64_t replay_table_id(const replay_table *table);
replay_config_blocks replay_table_blocks(const replay_table *table);
replay_table_stats replay_table_stats_get(const replay_table *table);
const replay_limiter *replay_table_limiter(const replay_table *table); // of this table alone
// The limiter that decides: the counters of this table and of the others together.
replay_limiter replay_table_joined(const replay_table *table);
// Sets the counters of the other tables of the same experiment; the limiter holds over all of them.
// A new table has no others.
void replay_table_set_others(replay_table *table, const wire_others *others);
// Takes from configure the limiter's numbers. Unless it is limiter_only, also takes its epoch,
// action bounds, streams, window, discount, reward clip and others. The rest must describe the same
// table (replay_config_decide). If the window differs, the table searches the rows that it holds
// for windows again.
void replay_table_set(replay_table *table, const wire_configure *configure);

// Inserts a batch that has passed wire_batch_unpack; everything that depends on the table and on
// the streams so far is checked here. OCT_OK: the batch is done with, *out says how. OCT_EAGAIN:
// the batch must wait; offer it again when replay_table_may_insert returns true.
OCT_CHECKED oct_err replay_table_insert(replay_insert *out, replay_table *table,
                                        const wire_batch *batch);
// Returns true if the batch that got OCT_EAGAIN last may be inserted now.
bool replay_table_may_insert(const replay_table *table);
// The table's sessions. The caller sets their time, and opens a session to name its certificate. A
// session that the caller did not open takes a slot without a certificate.
replay_dedupe *replay_table_dedupe(const replay_table *table);
// NULL: no such session.
static inline const replay_session *
replay_table_session(const replay_table *table, uint32_t index)
{
    return replay_dedupe_session(replay_table_dedupe(table), index);
}
// Returns the index of the session; REPLAY_SESSION_NONE if it is unknown or its actor has another
// one.
static inline uint32_t
replay_table_find_session(const replay_table *table, uint32_t actor_id, uint64_t session)
{
    return replay_dedupe_find(replay_table_dedupe(table), actor_id, session);
}
// Returns the block where the window of a key begins, which names its session and actor. NULL: the
// window has left the table.
struct replay_block;
const struct replay_block *replay_table_origin(const replay_table *table, uint64_t key);
// How many more batches of the size last inserted may be inserted now, at most credit_max.
uint32_t replay_table_credit(const replay_table *table, uint32_t credit_max);

// Largest batch_size that replay_table_sample takes.
uint32_t replay_table_batch_max(const replay_table *table);
// Returns how many batches may be sampled now, at most batches. 0: the caller has to wait for
// inserts; the table remembers batch_size, so that inserts are not held back for a sample that
// waits for them. A FIFO table first gives up the windows with an action of a policy older than
// version_min (0: no bound).
uint32_t replay_table_may_sample(replay_table *table, uint32_t batch_size, uint32_t batches,
                                 uint32_t version_min);
// The caller no longer waits for the sample that may_sample refused.
void replay_table_sample_cancelled(replay_table *table);
// Draws batches samples, a number that may_sample returned. Sets every field of out but incarnation
// and steps; its columns are valid until the next call.
void replay_table_sample(wire_sampled *out, replay_table *table, uint32_t batch_size,
                         uint32_t batches);
// An answer without windows: sets every field of out but incarnation and steps.
void replay_table_counters(wire_sampled *out, const replay_table *table);
// The learner has learned from samples of all the windows drawn: the rest counts as not drawn.
// Returns the size of that rest. A FIFO table does not get its windows back and returns 0.
uint64_t replay_table_return(replay_table *table, uint64_t samples);

// ---- lock-step (docs/determinism.md)

// The last turn that the table holds completely; 0: none.
uint64_t replay_table_turn(const replay_table *table);
// Ends the next turn, whose rows are all stored. The turn gets as many batches as the limiter
// allows now; they count as drawn.
void replay_table_end_turn(replay_table *table, uint32_t batch_size);
// Number of batches that the last turn allows; 0: too few windows.
uint32_t replay_table_turn_batches(const replay_table *table);
// Draws batches first .. first + batches - 1 of the turn; they must exist. The same batch has the
// same windows each time. Otherwise as replay_table_sample, but nothing is counted.
void replay_table_sample_turn(wire_sampled *out, replay_table *table, uint32_t batch_size,
                              uint32_t first, uint32_t batches);
// SHA-256 over the table's state (replay_digest.h).
void replay_table_digest(const replay_table *table, uint8_t out[WIRE_HASH_BYTES]);

// Sets the priorities of windows. Keys of windows that have left are counted and ignored.
void replay_table_update(replay_table *table, const wire_priorities *priorities);

// Returns true if a sample of one window would have to wait.
bool replay_table_is_short(const replay_table *table);
// Writes one line that says why inserts, or samples, wait.
void replay_table_explain_insert(const replay_table *table, char *text, size_t text_size);
void replay_table_explain_sample(const replay_table *table, char *text, size_t text_size);

#endif // REPLAY_REPLAY_TABLE_H
