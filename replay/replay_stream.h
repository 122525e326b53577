#ifndef REPLAY_REPLAY_STREAM_H
#define REPLAY_REPLAY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// State of each stream (an environment of a session) that has a block in the store: where it
// continues, which of its rows are held, where its next window begins. A stream without a block is
// forgotten; when it continues, it may begin at any row.
//
// Threads: one user at a time. Owns: space for streams_max streams, reserved by create.
// Full: add must not be called; the store has no more blocks than there is space for streams.
typedef struct replay_streams replay_streams;

typedef struct replay_stream {
    uint64_t session;
    uint32_t actor_id;
    uint32_t number;  // of the environment, within the session
    uint64_t next;    // number of the row that comes next
    uint64_t held;    // first held row from which no gap leads up to next
    uint64_t episode; // number of the first row of the current episode; REPLAY_ROW_NONE: unknown
    uint64_t open;    // see replay_window_open
    uint64_t tail;    // serial of the block with the last row; it is held if held < next
    uint32_t blocks;  // blocks held
    uint8_t flags;    // of the last row
    bool is_idle;     // its last block was renewed after its last row came
    // State after the planned runs of the current batch (replay_plan.h).
    uint8_t plan_flags;
    uint32_t plan_room; // free rows of the last block
    uint64_t plan_next;
    uint64_t plan_batch; // number of the plan
    uint32_t chain; // next stream of the bucket or of the free list; private to replay_stream.c
} replay_stream;

#define REPLAY_STREAM_NONE UINT32_MAX

replay_streams *replay_streams_create(uint32_t streams_max);
void replay_streams_destroy(replay_streams *streams); // NULL is a no-op
size_t replay_streams_bytes(uint32_t streams_max);
uint32_t replay_streams_count(const replay_streams *streams);

// An index is valid until remove. find returns REPLAY_STREAM_NONE if the stream is unknown; add
// makes an unknown stream, with zeros but for its name. O(1).
uint32_t replay_streams_find(const replay_streams *streams, uint32_t actor_id, uint64_t session,
                             uint32_t number);
uint32_t replay_streams_add(replay_streams *streams, uint32_t actor_id, uint64_t session,
                            uint32_t number);
void replay_streams_remove(replay_streams *streams, uint32_t index);
replay_stream *replay_streams_at(replay_streams *streams, uint32_t index);

#endif // REPLAY_REPLAY_STREAM_H
