#ifndef RELAY_RELAY_STATE_IO_H
#define RELAY_RELAY_STATE_IO_H

#include "net/net_post.h"
#include "net/net_pub.h"
#include "net/net_pull.h"
#include "net/net_push.h"
#include "net/net_url.h"
#include "proto/wire_gather.h"
#include "relay/relay_io.h"
#include "relay/relay_join_io.h"
#include "relay/relay_routes.h"

// What the parts of a relay share: relay_io.c (policies, open and close), relay_line_io.c (a line's
// links below), relay_up_io.c (links above). Private to these files.
//
// Threads: the loop thread.
#define RELAY_EXIT_FAILED  1
#define RELAY_EXIT_REFUSED 3            // the learner refuses this relay
#define RELAY_GATHER_BYTES (256u << 10) // of batches of a line, gathered in one message

typedef struct relay_counts {
    uint64_t policies, policy_bytes;  // forwarded, each counted once
    uint64_t batches, batch_bytes;    // accepted from below
    uint64_t messages, message_bytes; // sent up, with these batches
    uint64_t acks, ack_bytes;         // forwarded
    uint64_t bad;                     // messages from below and above that were dropped
    uint64_t stalls;                  // times that batches had to wait for room above
} relay_counts;

// The links for one replay. Lines share nothing: a full line stops the actors whose sessions belong
// to its replay, and no others.
typedef struct relay_line {
    relay_io *io;

    // below
    net_pull *pull;
    net_post *post;
    bool is_stalled;        // a message waits with NNG for net_pull_resume
    uint32_t gathered_done; // batches of that message that have gone up
    relay_routes *routes;
    wire_gatherer down[RELAY_CHILDREN_MAX]; // acks gathered per relay below

    // above
    char replay[NET_URL_MAX]; // base address that is dialed now; "": none
    net_push *push;
    net_sub *acks;
    bool is_up;        // push has a connection
    uint64_t down_ns;  // since when push has no connection (oct_clock_ns)
    bool is_push_busy; // a message is in flight
    bool is_due;       // the gathered batches have waited long enough; send when push is free
    wire_gatherer up;  // batches gathered
    net_timer *gather; // runs until gathered batches are due; else NULL
} relay_line;

struct relay_io {
    net_loop *loop;
    relay_io_options options;
    uint64_t number; // random, of this process; never 0
    int exit_code;
    relay_counts counts;
    net_timer *tick;
    net_pub *pub; // publishes to the peers below

    // above
    char policies[NET_URL_MAX]; // base address that is dialed now; "": none yet
    bool is_above;              // policies and all lines lead to the relay above
    uint64_t above_number;      // number of the relay above; 0: not known yet
    bool above_lost;            // the relay above could not be reached or was silent; never reset
    uint32_t above_silent;      // calls of relay_up_watch since it last sent something
    net_sub *sub;

    uint32_t line_count; // lines that listen; the first from the start
    relay_line lines[WIRE_SHARDS_MAX];

    relay_join *join; // the learner
};

// Counts a message that is dropped, and logs the first one.
void relay_bad(relay_io *io, const char *reason);

// ---- relay_line_io.c
// Listens for the sessions of one more replay. OCT_EIO, OCT_EINVAL: it cannot listen (logged).
OCT_CHECKED oct_err relay_line_open(relay_io *io);
void relay_line_close(relay_line *line);
// Sends this relay's number to the relays below, once a second.
void relay_line_tell(relay_line *line);
// Reads batches again, after there is room above.
void relay_line_room(relay_line *line);
// Takes a message of acks from above; arg is the line.
void relay_line_acks_arrived(void *arg, net_msg *msg);

// ---- relay_up_io.c
// Dials what is above: the relay of --relay, else the addresses that the learner gave for policies
// and for each replay. Links whose address has not changed stay.
OCT_CHECKED oct_err relay_up_dial(relay_io *io, const char *policies, char replay[][NET_URL_MAX],
                                  uint32_t count);
void relay_up_close(relay_line *line);
// Takes a frame that is to go up. False: no room now; relay_line_room is called when there is.
bool relay_up_put(relay_line *line, const uint8_t *frame, size_t length);
// Gives up the relay above if it cannot be reached or is silent. Runs once a second, as often as
// the relay above calls relay_line_tell.
void relay_up_watch(relay_io *io);

// ---- relay_io.c
void relay_policy_arrived(void *arg, net_msg *msg);

#endif // RELAY_RELAY_STATE_IO_H
