// The registry's rows for a relay.
#include "relay/relay_numbers.h"

#include "common/oct_base.h"

#define METRIC(...) OCT_NUMBER_METRIC(relay_measurements, __VA_ARGS__)

static const oct_number rows[] = {
    METRIC(GAUGE, "sessions", "actors", "Actors whose batches arrived in the last 10 s.", 0,
           sessions, "octet_relay_sessions"),
    METRIC(GAUGE, "up", "0, 1", "1 while connected to every replay, or to the relay above.", 0, up,
           "octet_relay_up"),
    METRIC(COUNTER, "batches", "batches", "Batches received from actors and relays below.", 0,
           batches, "octet_relay_batches_total"),
    METRIC(COUNTER, "batch_bytes", "bytes", "Bytes of these batches.", 0, batch_bytes,
           "octet_relay_batch_bytes_total"),
    METRIC(COUNTER, "messages", "messages", "Messages that carried these batches to replay.", 0,
           messages, "octet_relay_messages_total"),
    METRIC(COUNTER, "message_bytes", "bytes", "Bytes of these messages.", 0, message_bytes,
           "octet_relay_message_bytes_total"),
    METRIC(COUNTER, "acks", "acks", "Acknowledgements forwarded.", 0, acks,
           "octet_relay_acks_total"),
    METRIC(COUNTER, "policies", "policies", "Policies forwarded, each counted once.", 0, policies,
           "octet_relay_policies_total"),
    METRIC(COUNTER, "policy_bytes", "bytes", "Bytes of these policies, each counted once.", 0,
           policy_bytes, "octet_relay_policy_bytes_total"),
    METRIC(COUNTER, "stalls", "stalls", "Times that batches waited for replay.", 0, stalls,
           "octet_relay_stalls_total"),
    METRIC(COUNTER, "bad", "messages",
           "Messages dropped as malformed or without their session's token.", 0, bad,
           "octet_relay_bad_total"),
};

void
relay_numbers_add(oct_numbers *numbers, const relay_measurements *now)
{
    oct_numbers_add_all(numbers, rows, OCT_COUNTOF(rows), now);
}
