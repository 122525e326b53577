#ifndef PROTO_WIRE_SPEAKS_H
#define PROTO_WIRE_SPEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_reason.h"

// The protocol versions that a release sends and reads, and a check that two releases work
// together. Part of wire.h; the rules there hold here.
//
// A release sends frames of one version and reads a range of versions. Two releases work together
// if each reads what the other sends. So a release reads a new version before the next release
// sends it (docs/internals/wire.md). Both sides state their versions in Register and Configure, and
// in the answers. These two requests have version WIRE_PROTOCOL_HELLO in all releases, and a peer
// reads an error reply of any version, so that a refused peer learns which release refused it.

#define WIRE_PROTOCOL_VERSION  4 // of the frames that this release sends
#define WIRE_PROTOCOL_READ_MIN 4
#define WIRE_PROTOCOL_READ_MAX 4
#define WIRE_PROTOCOL_HELLO    4 // version of Register and Configure in all releases

#define WIRE_RELEASE_MAX 64

typedef struct wire_speaks {
    uint32_t version;            // of the frames that it sends; 0: an early release that does not
    uint32_t read_min, read_max; // state its versions: it sends and reads version 4
    const char *release;         // "0.9.0"; NULL or "": unknown
} wire_speaks;

wire_speaks wire_speaks_own(void);
// Returns false if the two do not work together; why then has the versions and releases of both.
bool wire_speaks_meet(const wire_speaks *own, const wire_speaks *peer, oct_reason *why);

// The text of --version: "octet-actor 0.9.0 (protocol 4, reads 4 to 4)".
#define WIRE_SPEAKS_TEXT_(version, min, max)  "(protocol " #version ", reads " #min " to " #max ")"
#define WIRE_SPEAKS_TEXT__(version, min, max) WIRE_SPEAKS_TEXT_(version, min, max)
#define WIRE_SPEAKS_TEXT                                                                           \
    WIRE_SPEAKS_TEXT__(WIRE_PROTOCOL_VERSION, WIRE_PROTOCOL_READ_MIN, WIRE_PROTOCOL_READ_MAX)

#endif // PROTO_WIRE_SPEAKS_H
