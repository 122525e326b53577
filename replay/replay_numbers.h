#ifndef REPLAY_REPLAY_NUMBERS_H
#define REPLAY_REPLAY_NUMBERS_H

#include "common/oct_numbers.h"

// Replay's numbers: the struct that replay_status_io.c fills, and the rows of the registry that
// name them. Counters belong to this process. Numbers that continue with a table found in its file
// are gauges. NaN: there is no table yet.
//
// Threads: the loop thread. Owns: nothing.
typedef struct replay_measurements {
    double configured, data_set, size, rows, capacity, blocks, streams, rows_taken, rows_policy;
    double rows_random, rows_end, ends, failed, random_share, inserts, samples, insert_rate;
    double sample_rate, samples_per_insert, batches, duplicates, gaps, stale, refused,
        rows_set_aside, cut, overrun;
    double given_up, rejected, rejected_malformed, rejected_unfit, rejected_token, peers_closed;
    double acks_refused;
    double own_inserts, own_samples;
    double bad_requests, learners_refused, priority_updates, priority_updates_late;
    double sessions, bytes_in, bytes_out, waiting, balance, balance_min, balance_max, limit;
    double min_size, held_samples, insert_blocked_s, sample_blocked_s, insert_wait_share;
    double sample_wait_share, insert_s, sample_s, insert_share, sample_share, memory_bytes;
    double disk_state, disk_bytes, disk_generation, disk_synced_age_s, disk_failures, torn_blocks;
    double rows_cut, cpu_s, uptime_s;
} replay_measurements;

// Adds the rows to the registry; `now` is borrowed.
void replay_numbers_add(oct_numbers *numbers, const replay_measurements *now);

#endif // REPLAY_REPLAY_NUMBERS_H
