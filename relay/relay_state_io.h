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

// What the parts of a relay share: relay_io.c (policies, life), relay_line_io.c (a line's links
// below), relay_up_io.c (links above), relay_join_io.c (registering). Nobody else includes this.
//
// Threads: the loop thread.
#define RELAY_EXIT_FAILED  1
#define RELAY_EXIT_REFUSED 3
#define RELAY_GATHER_BYTES (256u << 10) // of batches of a line, in one message

typedef struct relay_counts {
    uint64_t policies, policy_bytes;  // passed on, each counted once
    uint64_t batches, batch_bytes;    // taken from below
    uint64_t messages, message_bytes; // that they went up in
    uint64_t acks, ack_bytes;         // passed on
    uint64_t bad;                     // messages from either side that were dropped
    uint64_t stalls;                  // times that batches had to wait
} relay_counts;

// What goes to one replay and comes from it. Lines share nothing: one that is full stops those
// whose sessions are of its replay, and nobody else.
typedef struct relay_line {
    relay_io *io;

    // below
    net_pull *pull;
    net_post *post;
    bool is_stalled;        // a message waits with NNG for net_pull_resume
    uint32_t gathered_done; // of that message
    relay_routes *routes;
    wire_gatherer down[RELAY_CHILDREN_MAX]; // acks

    // above
    char replay[NET_URL_MAX]; // where it is dialed now; "": nowhere
    net_push *push;
    net_sub *acks;
    bool is_up;       // push has a connection
    uint64_t down_ns; // since when it has none
    bool is_push_busy;
    bool is_due;       // what was gathered has waited for long enough
    wire_gatherer up;  // batches
    net_timer *gather; // runs while something waits to be due
} relay_line;

struct relay_io {
    net_loop *loop;
    relay_io_options options;
    uint64_t number; // random, of this process
    int exit_code;
    relay_counts counts;
    net_timer *tick;
    net_pub *pub; // below

    // above
    char policies[NET_URL_MAX]; // where they are dialed now; "": nowhere yet
    bool is_above;              // that, and where each line goes, is the relay above
    uint64_t above_number;      // of that one; 0: not known yet
    bool above_lost;            // it could not be reached, or said nothing
    uint32_t above_silent;      // calls of relay_up_watch since it said something
    net_sub *sub;

    uint32_t line_count; // that listen; the first does from the start
    relay_line lines[WIRE_SHARDS_MAX];

    // the learner
    net_rpc_client *rpc;
    wire_client *client;
    uint64_t label;
    bool is_calling;
    bool is_registered;
    bool is_told; // that the learner does not answer
};

void relay_io_fail(relay_io *io, int exit_code);
// Counts a message that is dropped, and logs the first one.
void relay_bad(relay_io *io, const char *reason);

// ---- relay_line_io.c
// Listens for the sessions of one more replay. OCT_EIO, OCT_EINVAL: it cannot.
OCT_CHECKED oct_err relay_line_open(relay_io *io);
void relay_line_close(relay_line *line);
// Now and then: tells the relays below that this one lives.
void relay_line_tell(relay_line *line);
// There is room above again.
void relay_line_room(relay_line *line);
// arg: the line.
void relay_line_acks_arrived(void *arg, net_msg *msg);

// ---- relay_up_io.c
// Dials what is above: the relay that was named, else where the learner said that policies and
// replays are, one for each line. The same as before: nothing happens.
OCT_CHECKED oct_err relay_up_dial(relay_io *io, const char *policies, char replay[][NET_URL_MAX],
                                  uint32_t count);
void relay_up_close(relay_line *line);
// Takes a frame that is to go up. False: no room now; relay_line_room is called when there is.
bool relay_up_put(relay_line *line, const uint8_t *frame, size_t length);
// About as often as the relay above calls relay_line_tell.
void relay_up_watch(relay_io *io);

// ---- relay_io.c
void relay_policy_arrived(void *arg, net_msg *msg);
// Whose batches came lately.
uint32_t relay_io_sessions(const relay_io *io);

// ---- relay_join_io.c
OCT_CHECKED oct_err relay_join_open(relay_io *io);
void relay_join_close(relay_io *io);
// Once a second. A net_fn.
void relay_join_go(void *arg);

#endif // RELAY_RELAY_STATE_IO_H
