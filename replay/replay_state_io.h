#ifndef REPLAY_REPLAY_STATE_IO_H
#define REPLAY_REPLAY_STATE_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "net/net_loop.h"
#include "net/net_post.h"
#include "net/net_pull.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"
#include "replay/replay_acks_io.h"
#include "replay/replay_activity.h"
#include "replay/replay_admit.h"
#include "replay/replay_complaints.h"
#include "replay/replay_data.h"
#include "replay/replay_disk_io.h"
#include "replay/replay_fence.h"
#include "replay/replay_status_io.h"
#include "replay/replay_table.h"
#include "replay/replay_turns.h"

// The state of the daemon, shared by the files of its network side: replay_io.c (links, incoming
// batches), replay_serve_io.c (the service) and replay_turn_io.c (lock-step). Private to them.
//
// Threads: the loop thread.

#define REPLAY_CONTEXTS 64 // open at once
#define REPLAY_HELD_MAX 48 // of these, Sample requests that wait

// A request of the service while it is open; it counts the bytes of its reply.
typedef struct replay_request {
    struct replay_io *io;
    void *call; // net_rpc's handle of the request; NULL: the slot is free
} replay_request;

// A Sample request that waits for the limiter.
typedef struct replay_held {
    wire_call *call;
    wire_sample request;
    uint64_t deadline_ns; // by oct_clock_ns; then it is answered without windows
} replay_held;

struct replay_io {
    net_loop *loop;
    net_rpc_server *rpc;
    net_pull *pull;
    net_post *post;
    net_timer *tick;
    wire_server *server;
    wire_arena *arena; // holds the batch that is being decoded
    replay_acks *acks;
    replay_admit *admit;     // has a key once a table is configured
    replay_table *table;     // NULL until a learner configures one
    replay_disk *disk;       // NULL: the table is in memory only
    replay_data *data;       // of the data set that the table serves; NULL: actors send the rows
    replay_fence fence;      // the learner that the table belongs to
    uint64_t returned_epoch; // epoch of the last learner that reported what it has learned from
    replay_turns *turns;     // lock-step: batches that wait for their turn
    uint64_t turns_epoch;    // epoch of the learner that the turns belong to
    uint64_t incarnation;    // random, drawn when replay starts

    bool is_stalled;        // a batch waits with NNG until net_pull_resume
    uint32_t gathered_done; // batches of the current or waiting relay message that are done
    replay_request request[REPLAY_CONTEXTS];
    replay_held held[REPLAY_HELD_MAX]; // oldest first
    uint32_t held_count;

    // By session index: the session whose rows this process stored.
    uint64_t inserted_session[REPLAY_SESSIONS_MAX];
    double band_logged;     // width of the widened band when it was logged; 0: not logged
    bool is_overrun_logged; // for this table
    replay_complaints complaints;
    replay_activity activity;
};

// Returns what the numbers are measured from. It is valid until io or its table changes.
replay_status_of replay_io_status(const struct replay_io *io);

// Answers held Sample requests, and resumes batches, as far as the limiter allows now. Call it
// after every insert, every sample and every change of the limiter.
void replay_pump(struct replay_io *io);

// Inserts a batch and handles its result: logs, acks, sync. OCT_EAGAIN: it must wait, and the
// caller keeps the message. relay: index of the relay that brought it (replay_acks_io.h); 0: none.
OCT_CHECKED oct_err replay_batch_insert(struct replay_io *io, const wire_batch *batch,
                                        size_t length, uint32_t relay, replay_insert *result);

// ---- replay_turn_io.c: lock-step
// Takes a batch that arrived: holds it until its turn, stores it, or rejects it. Owns take.
void replay_turn_arrived(struct replay_io *io, const wire_batch *batch, net_msg *take,
                         uint32_t relay);
// Checks a request for a turn. OCT_EINVAL: it cannot be answered, now or later.
OCT_CHECKED oct_err replay_turn_ask(struct replay_io *io, const wire_sample *request,
                                    oct_reason *why);
// Call it before a Configure takes a table: goes back to the turn that the Configure names, once
// for each learner. OCT_EINVAL: that is impossible; OCT_EAGAIN: not now.
OCT_CHECKED oct_err replay_turn_begin(struct replay_io *io, const wire_configure *wanted,
                                      oct_reason *why);
// Returns false if batches of the turn are still missing.
bool replay_turn_sample(struct replay_io *io, const wire_sample *request, wire_sampled *out);
// Handler of the learner's TableDigest request, which also keeps a copy of the table.
void replay_turn_digest(void *arg, wire_call *call, const wire_digest_request *request);

// ---- replay_serve_io.c
// Makes an answer without windows.
wire_sampled replay_serve_nothing(const struct replay_io *io, bool is_configured);
extern const wire_replay_handlers replay_serve_handlers;
extern const oct_responder replay_serve_responder; // the calls it gets are replay_requests
// Handles a request; a net_rpc_fn with the replay_io as arg.
void replay_serve_frame(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length);
void replay_serve_held(struct replay_io *io); // answers held requests as far as allowed
// Answers the held requests whose deadline has passed.
void replay_serve_expired(struct replay_io *io, uint64_t now_ns);
void replay_serve_close(struct replay_io *io); // answers all held requests with OCT_ECLOSED

#endif // REPLAY_REPLAY_STATE_IO_H
