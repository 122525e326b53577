// Determines which releases work together.
#include "proto/wire_speaks.h"

#include "common/oct_reason.h"

#include <stdio.h>

#define FIRST_VERSION 4 // of releases that do not state a version

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
wire_speaks_meet(const wire_speaks *own, const wire_speaks *peer, oct_reason *why)
{
    static const wire_speaks untold = {FIRST_VERSION, FIRST_VERSION, FIRST_VERSION, NULL};
    const wire_speaks *other = peer->version != 0 ? peer : &untold;
    if (reads(own, other->version) && reads(other, own->version)) {
        return true;
    }
    bool has_release = other->release != NULL && other->release[0] != '\0';
    oct_reason_set(
        why,
        "release %s speaks protocol version %u and reads %u to %u, its peer, %s%.*s, speaks %u and "
        "reads %u to %u: run the same release on both sides, or consecutive releases",
        own->release, own->version, own->read_min, own->read_max,
        has_release ? "release " : "an earlier release", WIRE_RELEASE_MAX,
        has_release ? other->release : "", other->version, other->read_min, other->read_max);
    return false;
}
