// The streams (one for each environment of a session) by name: a hash table with a list of free
// slots.
#include "replay/replay_stream.h"

#include <stdlib.h>

#include "common/oct_base.h"

#define NONE REPLAY_STREAM_NONE

struct replay_streams {
    uint32_t streams_max;
    uint32_t count;
    uint32_t free;    // first free slot; NONE: none
    uint32_t *bucket; // [streams_max] first slot of each hash bucket; NONE: empty
    // [streams_max]
    replay_stream *stream;
};

size_t
replay_streams_bytes(uint32_t streams_max)
{
    return sizeof(replay_streams) + streams_max * (sizeof(replay_stream) + sizeof(uint32_t));
}

replay_streams *
replay_streams_create(uint32_t streams_max)
{
    OCT_ASSERT(streams_max > 0 && streams_max < NONE);
    replay_streams *streams = oct_alloc(sizeof(*streams));
    streams->streams_max = streams_max;
    streams->bucket = oct_alloc(streams_max * sizeof(uint32_t));
    streams->stream = oct_alloc(streams_max * sizeof(replay_stream));
    for (uint32_t i = 0; i < streams_max; i++) {
        streams->bucket[i] = NONE;
        streams->stream[i].chain = i + 1 < streams_max ? i + 1 : NONE;
    }
    return streams;
}

void
replay_streams_destroy(replay_streams *streams)
{
    if (streams) {
        free(streams->bucket);
        free(streams->stream);
        free(streams);
    }
}

uint32_t
replay_streams_count(const replay_streams *streams)
{
    return streams->count;
}

static uint32_t *
bucket_of(const replay_streams *streams, uint32_t actor_id, uint64_t session, uint32_t number)
{
    // Session numbers are random, stream numbers are not.
    uint64_t mixed = (session ^ actor_id) * 0x9e3779b97f4a7c15u + number;
    mixed *= 0xbf58476d1ce4e5b9u; // one round of SplitMix64
    return &streams->bucket[(mixed >> 32) * streams->streams_max >> 32];
}

uint32_t
replay_streams_find(const replay_streams *streams, uint32_t actor_id, uint64_t session,
                    uint32_t number)
{
    uint32_t index = *bucket_of(streams, actor_id, session, number);
    for (; index != NONE; index = streams->stream[index].chain) {
        const replay_stream *stream = &streams->stream[index];
        if (stream->number == number && stream->session == session &&
            stream->actor_id == actor_id) {
            break;
        }
    }
    return index;
}

uint32_t
replay_streams_add(replay_streams *streams, uint32_t actor_id, uint64_t session, uint32_t number)
{
    uint32_t index = streams->free;
    OCT_ASSERT(index != NONE);
    replay_stream *stream = &streams->stream[index];
    uint32_t *bucket = bucket_of(streams, actor_id, session, number);
    streams->free = stream->chain;
    *stream = (replay_stream){
        .session = session, .actor_id = actor_id, .number = number, .chain = *bucket};
    *bucket = index;
    streams->count++;
    return index;
}

void
replay_streams_remove(replay_streams *streams, uint32_t index)
{
    replay_stream *stream = replay_streams_at(streams, index);
    uint32_t *link = bucket_of(streams, stream->actor_id, stream->session, stream->number);
    while (*link != index) {
        link = &streams->stream[*link].chain;
    }
    *link = stream->chain;
    stream->chain = streams->free;
    streams->free = index;
    streams->count--;
}

replay_stream *
replay_streams_at(replay_streams *streams, uint32_t index)
{
    OCT_ASSERT(index < streams->streams_max);
    return &streams->stream[index];
}
