#ifndef TESTS_PROTO_WIRE_EXAMPLES_H
#define TESTS_PROTO_WIRE_EXAMPLES_H

#include "proto/wire_learner.h"
#include "proto/wire_peers.h"
#include "proto/wire_replay.h"

// One good message of each kind, with every field set, and sizes chosen by the caller; for the
// tests and as seeds of the fuzzer. Columns are static and not to be written to.
// Runs of 5 rows.
wire_batch wire_example_batch(uint32_t count, uint32_t extra_dim);
wire_ack wire_example_ack(void);
wire_policy wire_example_policy(size_t length);
wire_register wire_example_register(bool is_box);
wire_registered wire_example_registered(void);
wire_get_policy wire_example_get_policy(void);
wire_got_policy wire_example_got_policy(void);
wire_report wire_example_report(uint32_t episodes, uint32_t stats);
wire_status wire_example_status(uint32_t stats);
wire_peers wire_example_peers(uint32_t count);
wire_configure wire_example_configure(void);
wire_configured wire_example_configured(void);
wire_sample wire_example_sample(void);
// window_steps 0: n-step windows.
wire_sampled wire_example_sampled(uint32_t count, uint32_t window_steps, uint32_t extra_dim);
wire_priorities wire_example_priorities(uint32_t count);
wire_digest_request wire_example_digest_request(void);
wire_sessions wire_example_sessions(uint32_t count); // at most WIRE_PLACES_MAX
wire_digest wire_example_digest(void);

#endif // TESTS_PROTO_WIRE_EXAMPLES_H
