// The bounded memory that protobuf-c decodes a message into.
#include "proto/wire_arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/oct_base.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_POISON 1
#endif
#endif
#ifdef HAS_POISON
#include <sanitizer/asan_interface.h>
#define POISON(at, bytes)   ASAN_POISON_MEMORY_REGION((at), (bytes))
#define UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION((at), (bytes))
#else
#define POISON(at, bytes)   ((void)(at))
#define UNPOISON(at, bytes) ((void)(at))
#endif

#define GUARD 0x4f63744172656e61u

typedef struct block_header {
    uint64_t bytes;
    uint64_t guard; // GUARD ^ bytes
} block_header;
static_assert(sizeof(block_header) == WIRE_ARENA_ALIGNMENT, "blocks stay aligned behind it");

static size_t
round_up(size_t bytes)
{
    return (bytes + WIRE_ARENA_ALIGNMENT - 1) & ~(size_t)(WIRE_ARENA_ALIGNMENT - 1);
}

static void
header_write(uint8_t *at, size_t bytes)
{
    block_header header = {.bytes = bytes, .guard = GUARD ^ bytes};
    UNPOISON(at, sizeof(header));
    memcpy(at, &header, sizeof(header));
    POISON(at, sizeof(header));
}

static size_t
header_read(const uint8_t *at)
{
    block_header header;
    UNPOISON(at, sizeof(header));
    memcpy(&header, at, sizeof(header));
    POISON(at, sizeof(header));
    // No peer can cause this: a decoder wrote past a block, and memory can no longer be trusted.
    OCT_ASSERT((header.bytes ^ header.guard) == GUARD);
    return header.bytes;
}

void *
wire_arena_alloc(wire_arena *arena, size_t bytes)
{
    size_t left = arena->capacity - arena->used;
    if (left < sizeof(block_header) || bytes > left - sizeof(block_header) ||
        round_up(bytes) > left - sizeof(block_header)) {
        return NULL;
    }
    header_write(arena->base + arena->used, bytes);
    uint8_t *block = arena->base + arena->used + sizeof(block_header);
    UNPOISON(block, bytes);
    size_t begin = arena->used + sizeof(block_header);
    arena->used = begin + round_up(bytes);
    if (arena->dirty > begin) {
        memset(block, 0, OCT_MIN(bytes, arena->dirty - begin));
    }
    arena->dirty = OCT_MAX(arena->dirty, arena->used);
    return block;
}

static void *
allocator_alloc(void *arena, size_t bytes)
{
    return wire_arena_alloc(arena, bytes);
}

// Does nothing: only a reset or a rewind frees memory.
static void
allocator_free(void *arena, void *block)
{
    (void)arena;
    (void)block;
}

void
wire_arena_init(wire_arena *arena, void *memory, size_t capacity)
{
    *arena = (wire_arena){
        .base = memory,
        .capacity = capacity,
        .dirty = capacity,
        .reason = "",
        .allocator = {.alloc = allocator_alloc, .free = allocator_free, .allocator_data = arena},
    };
}

void
wire_arena_fini(wire_arena *arena)
{
    UNPOISON(arena->base, arena->capacity);
}

// The kernel provides zeroed pages when they are first touched, so an arena occupies what its
// largest message has needed so far, and allocates nothing else.
wire_arena *
wire_arena_create(size_t bytes_max)
{
    wire_arena *arena = oct_alloc(sizeof(*arena));
    size_t capacity = round_up(OCT_MAX(bytes_max, (size_t)1));
    OCT_ASSERT(capacity >= bytes_max);
    void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        oct_out_of_memory(capacity);
    }
    wire_arena_init(arena, memory, capacity);
    arena->dirty = 0;
    POISON(memory, capacity);
    return arena;
}

void
wire_arena_rewind(wire_arena *arena, size_t mark)
{
    for (size_t at = mark; at < arena->used;) {
        at += sizeof(block_header) + round_up(header_read(arena->base + at));
    }
    POISON(arena->base + mark, arena->used - mark);
    arena->used = mark;
}

void
wire_arena_reset(wire_arena *arena)
{
    wire_arena_rewind(arena, 0);
    arena->reason = "";
}

void
wire_arena_destroy(wire_arena *arena)
{
    if (arena == NULL) {
        return;
    }
    wire_arena_fini(arena);
    (void)munmap(arena->base, arena->capacity);
    free(arena);
}

const char *
wire_arena_reason(const wire_arena *arena)
{
    return arena->reason;
}

oct_err
wire_arena_refuse(wire_arena *arena, const char *reason)
{
    arena->reason = reason;
    return OCT_EPROTO;
}

ProtobufCMessage *
wire_arena_unpack(wire_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                  const uint8_t *bytes, size_t length)
{
    size_t mark = arena->used;
    arena->reason = "";
    if (length > WIRE_MESSAGE_BYTES_MAX) {
        (void)wire_arena_refuse(arena, "longer than a message may be");
        return NULL;
    }
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, &arena->allocator, length, bytes);
    if (message == NULL) {
        (void)wire_arena_refuse(arena, "truncated, garbled, or larger than the memory for it");
        wire_arena_rewind(arena, mark);
    }
    return message;
}

size_t
wire_arena_text_length(const wire_arena *arena, const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    if (at < arena->base || at >= arena->base + arena->used) {
        return strlen(text); // protobuf-c's own empty string
    }
    return header_read(at - sizeof(block_header)) - 1; // without the terminator
}
