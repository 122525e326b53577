#ifndef PROTO_WIRE_SPEAKS_H
#define PROTO_WIRE_SPEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Which protocol versions a release speaks, and whether two of them work together. Part of wire.h,
// whose rules hold here.
//
// Every frame that a release sends bears one version; it reads a range. Two releases work together
// when each reads what the other sends: so a new version is read for one release before it is sent
// (docs/internals/wire.md). Both sides tell in Register and Configure, and in the answers; these
// two requests bear WIRE_PROTOCOL_HELLO in all releases, and an error reply is read whatever its
// version is, so that whoever has to be refused is told by name.

#define WIRE_PROTOCOL_VERSION  4 // of the frames that this release sends
#define WIRE_PROTOCOL_READ_MIN 4
#define WIRE_PROTOCOL_READ_MAX 4
#define WIRE_PROTOCOL_HELLO    4 // of Register and Configure, for ever

#define WIRE_RELEASE_MAX 64

typedef struct wire_speaks {
    uint32_t version;            // that its frames bear; 0: a release before it was told, which
    uint32_t read_min, read_max; // is one of version 4
    const char *release;         // "0.9.0"; NULL or "": unknown
} wire_speaks;

wire_speaks wire_speaks_own(void);
// False: they do not work together; reason says so with the versions and releases of both.
bool wire_speaks_meet(const wire_speaks *own, const wire_speaks *peer, char *reason,
                      size_t reason_size);

// The text of --version: "octet-actor 0.9.0 (protocol 4, reads 4 to 4)".
#define WIRE_SPEAKS_TEXT_(version, min, max)  "(protocol " #version ", reads " #min " to " #max ")"
#define WIRE_SPEAKS_TEXT__(version, min, max) WIRE_SPEAKS_TEXT_(version, min, max)
#define WIRE_SPEAKS_TEXT                                                                           \
    WIRE_SPEAKS_TEXT__(WIRE_PROTOCOL_VERSION, WIRE_PROTOCOL_READ_MIN, WIRE_PROTOCOL_READ_MAX)

#endif // PROTO_WIRE_SPEAKS_H
