// The registry's rows for the numbers of connections beyond this machine.
#include "net/net_numbers.h"

#include "common/oct_base.h"

#define METRIC(...) OCT_NUMBER_METRIC(net_measurements, __VA_ARGS__)
#define SAMPLE(...) OCT_NUMBER_SAMPLE(net_measurements, __VA_ARGS__)
#define CLOSED(REASON, HELP)                                                                       \
    SAMPLE(COUNTER, "closed_" #REASON, "connections", HELP, 0, REASON, "octet_gate_closed_total",  \
           "reason", #REASON, "Connections that this side refused or closed, by reason.")
#define BYTES(NAME, FIELD, DIRECTION, HELP)                                                        \
    SAMPLE(COUNTER, NAME, "bytes", HELP, 0, FIELD, "octet_gate_bytes_total", "direction",          \
           DIRECTION, "Bytes of connections beyond this machine, as they were on the wire.")

static const oct_number rows[] = {
    METRIC(GAUGE, "certificate_end_s", "s",
           "Expiry of this process's certificate, in seconds since 1970.", 0, certificate_end_s,
           "octet_tls_certificate_not_after_timestamp_seconds"),
    METRIC(GAUGE, "connections", "connections", "Open connections beyond this machine.", 0,
           connections, "octet_gate_connections"),
    METRIC(COUNTER, "accepted", "connections", "Connections accepted from other hosts.", 0,
           accepted, "octet_gate_accepted_total"),
    METRIC(COUNTER, "opened", "connections", "Connections that became usable.", 0, opened,
           "octet_gate_opened_total"),
    CLOSED(refused, "Refused: certificate, role or protocol."),
    CLOSED(overflowed, "Refused: too many connections, handshakes, or failures of an address."),
    CLOSED(expired, "Refused: a handshake of more than 3 s."),
    CLOSED(malformed, "Closed for bad messages."),
    CLOSED(dead, "Closed without a sign of life for 4 s."),
    CLOSED(revoked, "Closed because its certificate was revoked, or its CA removed."),
    METRIC(COUNTER, "relistened", "sockets",
           "Local sockets behind the gate that failed and were replaced.", 0, relistened,
           "octet_gate_relistened_total"),
    BYTES("bytes_in", bytes_in, "in", "Bytes received, as they were on the wire."),
    BYTES("bytes_out", bytes_out, "out", "Bytes sent, as they were on the wire."),
};

void
net_numbers_add(oct_numbers *numbers, const net_measurements *now)
{
    oct_numbers_add_all(numbers, rows, OCT_COUNTOF(rows), now);
}
