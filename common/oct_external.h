#ifndef COMMON_OCT_EXTERNAL_H
#define COMMON_OCT_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "include/octet/learner.h"

// Between a learner and the process that learns for it (include/octet/learner.h): a socket in the
// run folder, and memory that both have mapped. Who connects gets OCT_EXTERNAL_WELCOME with the
// memory's descriptor; then batches and answers take turns. Packets are small and have one size:
// all numbers lie in the memory. Whatever the other side writes there may change at any time: it is
// copied before it is checked.
//
// Threads: any. Owns: nothing.

#define OCT_EXTERNAL_SOCKET  "external.sock" // in the run folder
#define OCT_EXTERNAL_MAGIC   0x5458454Fu     // "OEXT"
#define OCT_EXTERNAL_VERSION 1u

typedef enum oct_external_kind {
    OCT_EXTERNAL_WELCOME = 1, // text: ""; with a descriptor
    OCT_EXTERNAL_REFUSED,     // text: why
    OCT_EXTERNAL_BATCH,       // number: of the batch
    OCT_EXTERNAL_ANSWER,      // number: of the batch; flags: OCT_EXTERNAL_HAS_…
    OCT_EXTERNAL_ENDED,       // text: why
} oct_external_kind;

#define OCT_EXTERNAL_HAS_PARAMS     1u
#define OCT_EXTERNAL_HAS_PRIORITIES 2u
#define OCT_EXTERNAL_HAS_NUMBERS    4u

typedef struct oct_external_packet {
    uint32_t magic, version;
    uint32_t kind, flags;
    uint64_t number;
    char text[232];
} oct_external_packet;

// The beginning of the memory; the learner writes it.
typedef struct oct_external_head {
    uint32_t magic, version;
    octet_learner_spec spec;
    // of the batch at hand
    uint64_t updates;
    uint32_t B;
    float learning_rate;
} oct_external_head;

// The columns behind it, in this order; numbers as in octet_learner_batch.
typedef enum oct_external_column {
    OCT_EXTERNAL_OBS,
    OCT_EXTERNAL_NEXT,
    OCT_EXTERNAL_ACTION,
    OCT_EXTERNAL_REWARD,
    OCT_EXTERNAL_DISCOUNT,
    OCT_EXTERNAL_FLAGS,
    OCT_EXTERNAL_VERSION_OF,
    OCT_EXTERNAL_EXTRA,
    OCT_EXTERNAL_IMPORTANCE,
    OCT_EXTERNAL_PRIORITY,
    OCT_EXTERNAL_NUMBERS,
    OCT_EXTERNAL_PARAMS,
    OCT_EXTERNAL_COLUMNS,
} oct_external_column;

typedef struct oct_external_layout {
    size_t at[OCT_EXTERNAL_COLUMNS];  // 64 bytes aligned
    size_t row[OCT_EXTERNAL_COLUMNS]; // bytes of a window; of numbers and parameters: of all
    size_t bytes;                     // of all
} oct_external_layout;

// Where a run of this spec has its columns. OCT_EINVAL: the spec is not one that a learner writes,
// or its memory would be beyond what a process can map.
OCT_CHECKED oct_err oct_external_lay_out(oct_external_layout *out, const octet_learner_spec *spec);

// A packet of this kind; text may be NULL.
oct_external_packet oct_external_packet_of(oct_external_kind kind, uint64_t number,
                                           const char *text);
// Whether bytes[length] that arrived are a packet of this release; then it is in out, its text
// ends.
bool oct_external_packet_read(oct_external_packet *out, const void *bytes, size_t length);

// An address for bind and connect of the socket in an open folder, of any length of its path.
struct sockaddr_un;
void oct_external_address(struct sockaddr_un *out, int folder_fd);

#endif // COMMON_OCT_EXTERNAL_H
