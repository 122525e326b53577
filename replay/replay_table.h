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

// The table: sessions, windows over their steps, sampler and limiter tied together.
//
// A durable table keeps all of it that cannot be found out anew in a file (replay_file.h): whenever
// the process is killed, the file holds what the calls made that had returned, and of the one that
// had not all or nothing.
//
// Threads: one user at a time. Owns: all of its memory, reserved by create (replay_config_budget).
// Full: the oldest block of rows is dropped; a FIFO table, which returns each window once, instead
// holds inserts back while a window in it has not been fetched.
// Waiting is the caller's: insert answers OCT_EAGAIN, may_sample 0. They never do so for ever at
// the same time, whatever the sizes of batches and samples; nor do those of several tables that
// hear of each other (replay_table_set_others).
typedef struct replay_table replay_table;

typedef enum replay_insert_kind {
    REPLAY_INSERT_TAKEN,     // inserted
    REPLAY_INSERT_DUPLICATE, // held already
    REPLAY_INSERT_GAP,       // an earlier one is missing
    REPLAY_INSERT_STALE,     // from a session that was replaced
    REPLAY_INSERT_REFUSED,   // from a session for which there is no place (replay_dedupe.h)
    REPLAY_INSERT_REJECTED,  // malformed; passed over, or the actor would send it for ever
} replay_insert_kind;

typedef struct replay_insert {
    replay_insert_kind kind;
    uint32_t session;   // index (replay_table_session), of stale ones that of their actor's newest;
                        // REPLAY_SESSION_NONE: a bad header, or refused
    uint32_t rows;      // taken
    uint32_t windows;   // that they made complete
    uint32_t overrun;   // that were lost for them: a waiting sample wants more than the table holds
    const char *reason; // of REPLAY_INSERT_REJECTED; static
    float number;       // that the reason is about; NaN: none
    bool is_aside;      // rejected for a number outside the range of the run (replay_range.h)
} replay_insert;

// Counters since create.
typedef struct replay_table_stats {
    uint64_t size;         // windows
    uint64_t capacity;     // rows, in whole blocks
    uint64_t rows;         // held
    uint64_t blocks;       // held
    uint64_t streams;      // with a block
    uint64_t rows_taken;   // ever
    uint64_t rows_random;  // of them, those whose action exploration chose
    uint64_t ends;         // of them, end rows
    uint64_t failed;       // of the end rows, those of environments that failed
    uint64_t inserts;      // windows
    uint64_t samples;      // windows, less those that were returned
    uint64_t cut;          // windows that began and will never be complete
    uint64_t overrun;      // windows that a FIFO table lost to stay alive
    uint64_t given_up;     // windows that were too old for a FIFO table's learner
    uint64_t batches;      // taken
    uint64_t duplicates;   // batches
    uint64_t gaps;         // batches
    uint64_t stale;        // batches
    uint64_t rejected;     // batches
    uint64_t updates;      // priorities taken
    uint64_t updates_late; // priorities of windows that had left
    uint64_t refused;      // batches
    uint64_t sessions;
    uint64_t memory_bytes;
} replay_table_stats;

// configure has passed replay_config_check.
replay_table *replay_table_create(const wire_configure *configure);
// A durable one: file has just been made for configure, and outlives the table.
struct replay_file;
replay_table *replay_table_create_in(const wire_configure *configure, struct replay_file *file);
// The table that was in a file, as it was; is_exact: replay_recover's. From then on the file is
// live (replay_file_set_live). OCT_EINVAL: its sessions are damaged.
OCT_CHECKED oct_err replay_table_restore(replay_table **out, struct replay_file *file,
                                         bool is_exact);
// One over a data set, which outlives it: all windows of its rows can be sampled, and nothing can
// be inserted. configure is replay_data_fit's.
struct replay_data;
replay_table *replay_table_create_over(const wire_configure *configure,
                                       const struct replay_data *data);
void replay_table_destroy(replay_table *table);
const wire_configure *replay_table_configure(const replay_table *table);
// Which table it is: never that of another one, the same as long as its counters go on (in a file:
// over processes, too). 0: it is a data set's.
uint64_t replay_table_id(const replay_table *table);
replay_config_blocks replay_table_blocks(const replay_table *table);
replay_table_stats replay_table_stats_get(const replay_table *table);
const replay_limiter *replay_table_limiter(const replay_table *table); // of this table alone
// As it counts, with the others.
replay_limiter replay_table_joined(const replay_table *table);
// What the tables of the same experiment beside this one have: the limiter holds over all of them.
// A table begins without others.
void replay_table_set_others(replay_table *table, const wire_others *others);
// Takes the limiter's numbers of configure and, unless it is limiter_only, its epoch, its
// action_count, its window and what is gathered from it, and what the others have; the rest of it
// must be the same table (replay_config_decide). With another window the windows are looked for
// anew in the rows that are held.
void replay_table_set(replay_table *table, const wire_configure *configure);

// OCT_EAGAIN: not now; offer the same batch again when replay_table_may_insert says so. OCT_OK: it
// is dealt with, as *out says. batch must have passed wire_batch_unpack; what depends on the table
// and on the streams so far is checked here.
OCT_CHECKED oct_err replay_table_insert(replay_insert *out, replay_table *table,
                                        const wire_batch *batch);
// Whether the batch that was refused last may be inserted now.
bool replay_table_may_insert(const replay_table *table);
// The table's sessions: the caller sets their time, and opens a session to name its certificate.
// Otherwise the first batch takes a place that no certificate holds.
replay_dedupe *replay_table_dedupe(const replay_table *table);
// NULL: no such session.
static inline const replay_session *
replay_table_session(const replay_table *table, uint32_t index)
{
    return replay_dedupe_session(replay_table_dedupe(table), index);
}
// Its index; REPLAY_SESSION_NONE: not known, or another one of this actor is.
static inline uint32_t
replay_table_find_session(const replay_table *table, uint32_t actor_id, uint64_t session)
{
    return replay_dedupe_find(replay_table_dedupe(table), actor_id, session);
}
// The block where the window of a key begins: its session and actor. NULL: the window has left.
struct replay_block;
const struct replay_block *replay_table_origin(const replay_table *table, uint64_t key);
// How many more batches of the size last seen may be inserted now, at most credit_max.
uint32_t replay_table_credit(const replay_table *table, uint32_t credit_max);

// Largest batch_size that replay_table_sample takes.
uint32_t replay_table_batch_max(const replay_table *table);
// How many batches may be sampled now, at most batches; 0: wait for inserts. Remembers what was
// asked for, so that inserts are not held back for ever by a sample that waits for them. FIFO:
// gives up windows with an action of a policy older than version_min (0: none).
uint32_t replay_table_may_sample(replay_table *table, uint32_t batch_size, uint32_t batches,
                                 uint32_t version_min);
// Nobody waits any more for the sample that may_sample refused.
void replay_table_sample_cancelled(replay_table *table);
// batches: what may_sample gave. Sets every field of out but incarnation; its columns are valid
// until the next call.
void replay_table_sample(wire_sampled *out, replay_table *table, uint32_t batch_size,
                         uint32_t batches);
// An answer without windows: sets every field of out but incarnation and steps.
void replay_table_counters(wire_sampled *out, const replay_table *table);
// Of the windows that were drawn, this many were learned from: the others count as not drawn.
// Returns how many those are. A FIFO table does not get its windows back: 0.
uint64_t replay_table_return(replay_table *table, uint64_t samples);

// ---- lock-step (docs/determinism.md)

// The last turn that the table has; 0: none.
uint64_t replay_table_turn(const replay_table *table);
// The rows of the next turn are in, which has as many batches as the limiter allows now: they count
// as drawn.
void replay_table_end_turn(replay_table *table, uint32_t batch_size);
uint32_t replay_table_turn_batches(const replay_table *table);
// Draws batches first .. first + batches - 1 of the turn, which has them: the same ones each time
// that they are asked for. Otherwise as replay_table_sample.
void replay_table_sample_turn(wire_sampled *out, replay_table *table, uint32_t batch_size,
                              uint32_t first, uint32_t batches);
// What the table is (replay_digest.h).
void replay_table_digest(const replay_table *table, uint8_t out[WIRE_HASH_BYTES]);

// Keys that have left are counted and ignored.
void replay_table_update(replay_table *table, const wire_priorities *priorities);

// Whether a sample of one window would wait.
bool replay_table_is_short(const replay_table *table);
// Why inserts, or samples, wait: one line for a person.
void replay_table_explain_insert(const replay_table *table, char *text, size_t text_size);
void replay_table_explain_sample(const replay_table *table, char *text, size_t text_size);

#endif // REPLAY_REPLAY_TABLE_H
