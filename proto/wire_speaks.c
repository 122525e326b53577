// Which releases work together, and what messages say of their senders.
#include "proto/wire_speaks.h"

#include <stdio.h>
#include <string.h>

#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

#define FIRST_VERSION 4 // of releases that do not tell

_Static_assert(WIRE_PROTOCOL_READ_MIN <= WIRE_PROTOCOL_VERSION &&
                   WIRE_PROTOCOL_VERSION <= WIRE_PROTOCOL_READ_MAX,
               "a release reads what it sends");

wire_speaks
wire_speaks_own(void)
{
    return (wire_speaks){.version = WIRE_PROTOCOL_VERSION,
                         .read_min = WIRE_PROTOCOL_READ_MIN,
                         .read_max = WIRE_PROTOCOL_READ_MAX,
                         .release = OCTET_VERSION};
}

static bool
reads(const wire_speaks *one, uint32_t version)
{
    return one->read_min <= version && version <= one->read_max;
}

bool
wire_speaks_meet(const wire_speaks *own, const wire_speaks *peer, char *reason, size_t reason_size)
{
    static const wire_speaks untold = {FIRST_VERSION, FIRST_VERSION, FIRST_VERSION, NULL};
    const wire_speaks *other = peer->version != 0 ? peer : &untold;
    if (reads(own, other->version) && reads(other, own->version)) {
        return true;
    }
    bool is_told = other->release != NULL && other->release[0] != '\0';
    (void)snprintf(
        reason, reason_size,
        "release %s speaks protocol version %u and reads %u to %u, its peer, %s%.*s, speaks %u and "
        "reads %u to %u: run the same release on both sides, or consecutive releases",
        own->release, own->version, own->read_min, own->read_max,
        is_told ? "release " : "an earlier release", WIRE_RELEASE_MAX,
        is_told ? other->release : "", other->version, other->read_min, other->read_max);
    return false;
}

// ---- messages

#define SPEAKS_OF(name, generated)                                                                 \
    bool wire_speaks_of_##name(const generated *in, wire_speaks *out)                              \
    {                                                                                              \
        bool is_name =                                                                             \
            wire_check_name(in->release_name, strlen(in->release_name), WIRE_RELEASE_MAX);         \
        *out = (wire_speaks){.version = in->version,                                               \
                             .read_min = in->read_min,                                             \
                             .read_max = in->read_max,                                             \
                             .release = is_name ? in->release_name : ""};                          \
        return true;                                                                               \
    }
SPEAKS_OF(registration, Octet__Registration)
SPEAKS_OF(registered, Octet__Registered)
SPEAKS_OF(configuration, Octet__Configuration)
SPEAKS_OF(configured, Octet__Configured)

bool
wire_speaks_of_none(const void *in, wire_speaks *out)
{
    (void)in;
    (void)out;
    return false;
}
