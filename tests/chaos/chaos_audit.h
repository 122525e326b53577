#ifndef TESTS_CHAOS_CHAOS_AUDIT_H
#define TESTS_CHAOS_CHAOS_AUDIT_H

#include "replay/replay_recover.h"
#include "tests/chaos/chaos_acks.h"

// Whether a replay table, or those of all shards together, holds every row that actors were told it
// holds, once, and nothing else. By content: each actor wrote down which rows were acknowledged and
// a digest of what they were (chaos_acks.h), and each row of chaos_env.c says whose it is and which
// one (chaos_row.h). Sums are not enough: one row lost and another one twice has the right sum.
// Rows of other environments are known by their place in their stream, and by the digest.
//
// Threads: one. Owns: its own memory; files and acknowledgements are the caller's.
typedef struct chaos_audit chaos_audit;

typedef enum chaos_audit_mode {
    CHAOS_AUDIT_KILLED,  // all that was acknowledged is there
    CHAOS_AUDIT_CUT,     // the same; but of a power failure: blocks whose places were being used
                         // again have left in any order
    CHAOS_AUDIT_SYNCED,  // of a power failure, all that was synced: the newest rows of a stream may
                         // be missing
    CHAOS_AUDIT_DAMAGED, // what is there is right; blocks may be missing
} chaos_audit_mode;

typedef struct chaos_audit_result {
    // What is there.
    uint64_t rows;   // held
    uint64_t taken;  // ever, as the table says
    uint64_t blocks; // held
    uint64_t oldest; // serial: blocks before it have left
    uint64_t acked;  // rows that were acknowledged, each once
    uint64_t left;   // of them, those of blocks that have left
    uint64_t unsynced;
    // What must not be: rows, but streams.
    uint64_t missing;  // acknowledged and not there
    uint64_t doubled;  // there twice
    uint64_t foreign;  // never made by any environment, at another's place, or of another content
    uint64_t holes;    // not there between two rows of a stream that are
    uint64_t altered;  // with another reward or other flags than it was made with
    uint64_t backward; // acted on by an older policy than the row before it
    uint64_t streams;  // that hold rows of two environments
    uint64_t miscount; // rows that the table's own numbers have more or less
} chaos_audit_result;

chaos_audit *chaos_audit_create(chaos_audit_mode mode);
void chaos_audit_destroy(chaos_audit *audit);
// All blocks of a file that replay_recover has made whole, borrowed until the end; of each shard's,
// one after the other. A row that two of them have is there twice.
void chaos_audit_take(chaos_audit *audit, const replay_file *file);
// The first count rows that one life of an actor wrote down. After the files.
void chaos_audit_claim(chaos_audit *audit, const chaos_ack *acks, uint64_t count);
chaos_audit_result chaos_audit_end(chaos_audit *audit);
// Whether all of what must not be is 0.
bool chaos_audit_is_sound(const chaos_audit_result *result);
// The first things that are wrong, a line each, at most some; "": nothing is.
const char *chaos_audit_words(const chaos_audit *audit);

#endif // TESTS_CHAOS_CHAOS_AUDIT_H
