#ifndef COMMON_OCT_EXTERNAL_H
#define COMMON_OCT_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "include/octet/learner.h"

// The channel between a learner and the process that computes its updates
// (include/octet/learner.h): a socket in the run folder, and memory that both have mapped. The
// process that connects gets OCT_EXTERNAL_WELCOME with the descriptor of the memory; after that,
// batches and answers alternate. Packets are small and of one size, because all numbers are in the
// memory. Either side may change the memory at any time, so what the other side wrote is copied
// before it is checked.
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

// The beginning of the memory. Only the learner writes it.
typedef struct oct_external_head {
    uint32_t magic, version;
    octet_learner_spec spec;
    // The current batch: updates made before it, windows in it, and the learning rate for it.
    uint64_t updates;
    uint32_t B;
    float learning_rate;
} oct_external_head;

// The columns that follow the head, in this order. Their numbers are those of octet_learner_batch.
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
    // offset in bytes from the beginning of the memory, a multiple of 64
    size_t at[OCT_EXTERNAL_COLUMNS];
    // bytes of one window; for NUMBERS and PARAMS, of the whole column
    size_t row[OCT_EXTERNAL_COLUMNS];
    size_t bytes; // size of the memory
} oct_external_layout;

// Computes the layout of the memory for a spec. OCT_EINVAL: no learner writes such a spec, or the
// memory would be larger than a process can map.
OCT_CHECKED oct_err oct_external_lay_out(oct_external_layout *out, const octet_learner_spec *spec);

// Makes a packet of this kind. text: NULL for none; cut if it is too long.
oct_external_packet oct_external_packet_of(oct_external_kind kind, uint64_t number,
                                           const char *text);
// Returns true if bytes[length], which were received, are a packet of this release. Then out holds
// it, and its text is 0-terminated.
bool oct_external_packet_read(oct_external_packet *out, const void *bytes, size_t length);

// Makes the address of the socket in an open folder, for bind and connect. It goes through /proc,
// so the path of the folder may be longer than an address can hold.
struct sockaddr_un;
void oct_external_address(struct sockaddr_un *out, int folder_fd);

#endif // COMMON_OCT_EXTERNAL_H
