#ifndef REPLAY_REPLAY_ACTIVITY_H
#define REPLAY_REPLAY_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/replay_table.h"

// What this process has done so far, and which side waits: counters that continue when another
// table replaces the present one, rates of the last second, and times.
//
// Threads: one user at a time; the caller supplies the time of one monotonic clock. Owns: nothing;
// a plain value. table: the present table, or NULL.

// How long one side, inserts or samples, has been waiting.
typedef struct replay_waiting {
    uint64_t since_ns; // 0: it does not wait now
    uint64_t total_ns; // ended waits
    bool is_logged;    // this wait is in the log, as REPLAY-STALL
} replay_waiting;

// Rates over the last full second. NaN: the table has not been in use for one second yet.
typedef struct replay_rates {
    uint64_t at_ns; // end of that second
    uint64_t inserts;
    uint64_t samples;
    double insert_rate;
    double sample_rate;
    double insert_waited_s, sample_waited_s;     // totals at at_ns
    double insert_wait_share, sample_wait_share; // 0 … 1
} replay_rates;

typedef struct replay_activity {
    uint64_t start_ns;
    replay_waiting insert_wait;
    replay_waiting sample_wait;
    replay_rates rates;
    // Counters of earlier tables of this process, minus what the present table had already counted
    // when this process took it. Adding the present table's counters gives those of this process.
    replay_table_stats elsewhere;
    uint64_t bytes_in;      // of batches received
    uint64_t bytes_replied; // of replies sent
    uint64_t insert_ns;     // spent inserting, decoding included
    uint64_t sample_ns;     // spent sampling, encoding included
} replay_activity;

// A side begins to wait, unless it does so already; or its wait ends.
void replay_waiting_begin(replay_waiting *waiting, uint64_t now_ns);
void replay_waiting_end(replay_waiting *waiting, uint64_t now_ns);
// All waits so far, the current one included.
double replay_waiting_s(const replay_waiting *waiting, uint64_t now_ns);

// Begins the rates, and this process's counters, for another table: a table that was found in its
// file counted before. The rates are unknown for the first second.
void replay_activity_begin(replay_activity *activity, const replay_table *table, uint64_t now_ns);
// The table's stats, but with the counters of this whole process, which never fall. The result is
// what activity->elsewhere has to be once the table is destroyed.
replay_table_stats replay_activity_done(const replay_activity *activity, const replay_table *table);
// Computes the rates when a second is over.
void replay_activity_second(replay_activity *activity, const replay_table *table, uint64_t now_ns);

#endif // REPLAY_REPLAY_ACTIVITY_H
