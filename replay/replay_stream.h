#ifndef REPLAY_REPLAY_STREAM_H
#define REPLAY_REPLAY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is known of each stream (an environment of a session) that has a block in the store: where
// it goes on, which of its rows are held, where its next window begins. A stream without a block is
// forgotten; when it goes on, it may begin at any row.
//
// Threads: one user at a time. Owns: room for streams_max of them, reserved by create.
// Full: add must not be called; the store has no more blocks than there is room here.
typedef struct replay_streams replay_streams;

typedef struct replay_stream {
    uint64_t session;
    uint32_t actor_id;
    uint32_t number;
    uint64_t next;    // row that comes next
    uint64_t held;    // first row that is held of those that lead up to next without a gap
    uint64_t episode; // number of its first row, REPLAY_ROW_NONE when not known
    uint64_t open;    // replay_window_open
    uint64_t tail;    // serial of the block with its last row, which is held where held < next
    uint32_t blocks;  // held
    uint8_t flags;    // of its last row
    bool is_idle;     // its last block was renewed since its last row came
    // Of the batch being looked at: the same once its rows so far are in.
    uint8_t plan_flags;
    uint32_t plan_room; // rows, in the last block
    uint64_t plan_next;
    uint64_t plan_batch; // which batch that was
    uint32_t chain;      // replay_stream.c's
} replay_stream;

#define REPLAY_STREAM_NONE UINT32_MAX

replay_streams *replay_streams_create(uint32_t streams_max);
void replay_streams_destroy(replay_streams *streams); // NULL is a no-op
size_t replay_streams_bytes(uint32_t streams_max);
uint32_t replay_streams_count(const replay_streams *streams);

// An index stays the same until remove. find: REPLAY_STREAM_NONE when there is none. add: of a new
// one, all zero but its name. O(1).
uint32_t replay_streams_find(const replay_streams *streams, uint32_t actor_id, uint64_t session,
                             uint32_t number);
uint32_t replay_streams_add(replay_streams *streams, uint32_t actor_id, uint64_t session,
                            uint32_t number);
void replay_streams_remove(replay_streams *streams, uint32_t index);
replay_stream *replay_streams_at(replay_streams *streams, uint32_t index);

#endif // REPLAY_REPLAY_STREAM_H
