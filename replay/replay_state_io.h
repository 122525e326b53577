#ifndef REPLAY_REPLAY_STATE_IO_H
#define REPLAY_REPLAY_STATE_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_allowance.h"
#include "common/oct_complaint.h"
#include "net/net_loop.h"
#include "net/net_post.h"
#include "net/net_pull.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"
#include "replay/replay_acks_io.h"
#include "replay/replay_admit.h"
#include "replay/replay_aside.h"
#include "replay/replay_data.h"
#include "replay/replay_disk_io.h"
#include "replay/replay_fence.h"
#include "replay/replay_stale.h"
#include "replay/replay_table.h"
#include "replay/replay_turns.h"

// The state of the daemon, shared by the files of its shell: replay_io.c (links, batches in),
// replay_serve_io.c (the service), replay_status_io.c (numbers). Private to them.
// Threads: loop thread.

#define REPLAY_CONTEXTS 64 // requests open at once
#define REPLAY_HELD_MAX 48 // of them Sample requests that wait

// A request of the service while it is open, so that its reply can be counted.
typedef struct replay_request {
    struct replay_io *io;
    void *call; // net_rpc's; NULL: free
} replay_request;

typedef struct replay_held {
    wire_call *call;
    wire_sample request;
    uint64_t deadline_ns;
} replay_held;

// One side waiting: since when (0: it does not), for how long in all.
typedef struct replay_waiting {
    uint64_t since_ns;
    uint64_t total_ns;
    bool is_logged; // this wait, as REPLAY-STALL
} replay_waiting;

// What is reported as a rate, over the last full second. NaN: none is over since the table began.
typedef struct replay_rates {
    uint64_t at_ns;
    uint64_t inserts;
    uint64_t samples;
    double insert_rate;
    double sample_rate;
    double insert_waited_s, sample_waited_s; // so far
    double insert_wait_share, sample_wait_share;
} replay_rates;

struct replay_io {
    net_loop *loop;
    net_rpc_server *rpc;
    net_pull *pull;
    net_post *post;
    net_timer *tick;
    wire_server *server;
    wire_arena *arena; // of the batch being decoded
    replay_acks *acks;
    replay_admit *admit;     // has a key since there is a table
    replay_table *table;     // NULL until a learner configures one
    replay_disk *disk;       // NULL: the table is in memory only
    replay_data *data;       // the table is of a data set; NULL: of actors' steps
    replay_fence fence;      // whose it is
    uint64_t returned_epoch; // the last learner that said what it has learned from
    replay_turns *turns;     // in lock-step, what waits for its turn
    uint64_t turns_epoch;    // of the learner whose turns they are
    uint64_t incarnation;
    uint64_t start_ns;

    bool is_stalled;        // a batch waits with NNG for net_pull_resume
    uint32_t relay;         // that the batch at hand came through (replay_acks_io.h); 0: none
    uint32_t gathered_done; // of the message with several that waits, or is at hand
    replay_waiting insert_wait;
    replay_waiting sample_wait;
    replay_request request[REPLAY_CONTEXTS];
    replay_held held[REPLAY_HELD_MAX]; // oldest first
    uint32_t held_count;

    uint64_t reported_session[REPLAY_SESSIONS_MAX]; // whose rejected batch was logged
    uint64_t inserted_session[REPLAY_SESSIONS_MAX]; // whose rows this process took
    replay_stale stale[REPLAY_SESSIONS_MAX];        // what came of sessions that they replaced
    double band_logged;                             // width of the widened band in the log
    bool is_overrun_logged;                         // of this table
    const replay_request *serving;                  // the request at work
    oct_allowance reported;                         // lines about them
    replay_aside aside;                             // rows with numbers outside the run's range
    oct_complaint bad_batch;
    uint64_t bad_header_count;        // of bad_batch: those that the table counted, too
    char rejected[WIRE_NAME_MAX + 1]; // why a batch was rejected last; "": none was
    oct_complaint bad_token;
    oct_complaint no_place; // batches of sessions that are refused
    oct_complaint bad_ask;  // for acks
    oct_complaint bad_request;
    oct_complaint fenced;   // learners that may not use the table
    oct_complaint bad_copy; // copies that could not be written
    replay_rates rates;
    // The counters of what this process did with tables that are gone, less those that the present
    // table had when it became this process's: with the present one's they are the process's.
    replay_table_stats elsewhere;
    uint64_t bytes_in;
    uint64_t bytes_replied;
    uint64_t insert_ns; // spent in inserts, decoding included
    uint64_t sample_ns; // spent in samples, encoding included
};

// Counts it, and logs it where that is due.
void replay_complain(oct_complaint *complaint, const char *id, const char *reason);
// Logs one that is due, with the peer's certificate.
void replay_complain_of(const oct_complaint *complaint, const char *id, const oct_holder *holder,
                        const char *reason);
// The same of a batch, whose reason is told with the status.
void replay_reject(struct replay_io *io, oct_complaint *complaint, const char *id,
                   const char *reason);
// Batches that were refused, for whatever reason.
uint64_t replay_rejected(const struct replay_io *io, const replay_table_stats *stats);
void replay_waiting_begin(replay_waiting *waiting, uint64_t now_ns);
void replay_waiting_end(replay_waiting *waiting, uint64_t now_ns);
double replay_waiting_s(const replay_waiting *waiting, uint64_t now_ns);

// Lets whoever waited go on as far as the limiter allows now. After every insert, sample, change of
// the limiter.
void replay_pump(struct replay_io *io);

// A batch to the table; OCT_EAGAIN: not now, the message stays the caller's.
OCT_CHECKED oct_err replay_batch_insert(struct replay_io *io, const wire_batch *batch,
                                        size_t length, replay_insert *result);

// ---- replay_turn_io.c: lock-step
// A batch that came: held until its turn, or dealt with. Takes msg.
void replay_turn_arrived(struct replay_io *io, const wire_batch *batch, net_msg *take);
// A request of a turn. OCT_EINVAL: it cannot be answered, now or later.
OCT_CHECKED oct_err replay_turn_ask(struct replay_io *io, const wire_sample *request, char *reason,
                                    size_t reason_size);
// Before a table is taken for a Configure: goes back to the turn that it names, once for each
// learner. OCT_EINVAL: it cannot be; OCT_EAGAIN: not now.
OCT_CHECKED oct_err replay_turn_begin(struct replay_io *io, const wire_configure *wanted,
                                      char *reason, size_t reason_size);
// False: the turn's batches are not all there.
bool replay_turn_sample(struct replay_io *io, const wire_sample *request, wire_sampled *out);
void replay_turn_digest(void *arg, wire_call *call, const wire_digest_request *request);

// ---- replay_serve_io.c
// An answer without windows.
wire_sampled replay_serve_nothing(const struct replay_io *io, bool is_configured);
// The service.
extern const wire_replay_handlers replay_serve_handlers;
extern const oct_responder replay_serve_responder; // its calls are replay_requests
// A net_rpc_fn; arg is the replay_io.
void replay_serve_frame(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length);
void replay_serve_held(struct replay_io *io);                     // as far as is allowed
void replay_serve_expired(struct replay_io *io, uint64_t now_ns); // whose time is up
void replay_serve_close(struct replay_io *io);

// Rates and counters are of what comes from now on: a table that was found has counted before.
// Until a second of it is over rates are unknown.
void replay_status_begin(struct replay_io *io, uint64_t now_ns);
// The present table's stats, but the counters are of the whole life of this process: they never
// fall. What it says while there is a table is io->elsewhere once that one is gone.
replay_table_stats replay_status_done(const struct replay_io *io);
void replay_status_second(struct replay_io *io, uint64_t now_ns);
void replay_status_reply(struct replay_io *io, wire_call *call);

#endif // REPLAY_REPLAY_STATE_IO_H
