#ifndef RELAY_RELAY_STATE_IO_H
#define RELAY_RELAY_STATE_IO_H

#include "net/net_post.h"
#include "net/net_pub.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_gather.h"
#include "proto/wire_rpc.h"
#include "relay/relay_io.h"
#include "relay/relay_routes.h"

// What the parts of a relay share: relay_io.c (links below, life), relay_up_io.c (links above),
// relay_join_io.c (registering). Nobody else includes this.
//
// Threads: the loop thread.
#define RELAY_EXIT_FAILED  1
#define RELAY_EXIT_REFUSED 3

typedef struct relay_counts {
    uint64_t policies, policy_bytes;  // passed on, each counted once
    uint64_t batches, batch_bytes;    // taken from below
    uint64_t messages, message_bytes; // that they went up in
    uint64_t acks, ack_bytes;         // passed on
    uint64_t bad;                     // messages from either side that were dropped
    uint64_t stalls;                  // times that batches had to wait
} relay_counts;

struct relay_io {
    net_loop *loop;
    relay_io_options options;
    uint64_t number; // random, of this process
    int exit_code;
    relay_counts counts;

    // below
    net_pub *pub;
    net_pull *pull;
    net_post *post;
    bool is_stalled;        // a message waits with NNG for net_pull_resume
    uint32_t gathered_done; // of that message
    relay_routes *routes;

    // above
    char policies[NET_URL_MAX]; // where they are dialed now; "": nowhere yet
    char replay[NET_URL_MAX];
    bool is_above;   // that is the relay above
    bool above_lost; // it could not be reached
    net_sub *sub;
    net_push *push;
    net_sub *acks;
    bool is_up;       // push has a connection
    uint64_t down_ns; // since when it has none
    bool is_push_busy;
    bool is_due;                            // what was gathered has waited for long enough
    wire_gatherer up;                       // batches
    net_timer *gather;                      // runs while something waits to be due
    wire_gatherer down[RELAY_CHILDREN_MAX]; // acks
    net_timer *tick;

    // the learner
    net_rpc_client *rpc;
    wire_client *client;
    uint64_t label;
    bool is_calling;
    bool is_registered;
    bool is_told; // that the learner does not answer
    uint64_t run_id;
    char trouble[160];
};

void relay_io_fail(relay_io *io, int exit_code);
// Counts a message that is dropped, and logs the first one.
void relay_bad(relay_io *io, const char *reason);

// ---- relay_up_io.c
// Dials what is above: the relay that was named, else these addresses. The same as before: nothing
// happens.
OCT_CHECKED oct_err relay_up_dial(relay_io *io, const char *policies, const char *replay);
void relay_up_close(relay_io *io);
// Takes a frame that is to go up. False: no room now; relay_up_room is called when there is.
bool relay_up_put(relay_io *io, const uint8_t *frame, size_t length);
// Now and then.
void relay_up_watch(relay_io *io);

// ---- relay_io.c
void relay_up_room(relay_io *io);
void relay_policy_arrived(void *arg, net_msg *msg);
void relay_acks_arrived(void *arg, net_msg *msg);

// ---- relay_join_io.c
OCT_CHECKED oct_err relay_join_open(relay_io *io);
void relay_join_close(relay_io *io);
// Once a second. A net_fn.
void relay_join_go(void *arg);

#endif // RELAY_RELAY_STATE_IO_H
