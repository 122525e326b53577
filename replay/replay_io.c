// The network side of replay: receives batches, acknowledges them, and serves the learner's
// requests.
#include "replay/replay_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_url.h"
#include "proto/wire_gather.h"
#include "replay/replay_state_io.h"

// Roles that may call the service.
#define CALLERS           (OCT_ROLE_BIT(OCT_ROLE_LEARNER) | OCT_ROLE_BIT(OCT_ROLE_OPERATOR))
#define SECOND_NS         1000000000ull
#define TICK_MS           20              // timer of replay_io
#define STALL_NS          (5 * SECOND_NS) // a longer wait is logged
#define REQUEST_BYTES_MAX (16u << 20)
#define ACK_QUEUE         8192       // the most that NNG takes
#define GATHERED_BYTES    (1u << 20) // in a relay's message, more than one batch
// Roles that may send batches and ask for acks.
#define SENDERS         (OCT_ROLE_BIT(OCT_ROLE_ACTOR) | OCT_ROLE_BIT(OCT_ROLE_RELAY))
#define BAD_BATCHES_MAX 16 // of one connection, which is then closed; one forged batch is enough

void
replay_pump(replay_io *io)
{
    replay_serve_held(io);
    if (io->is_stalled && io->table && replay_table_may_insert(io->table)) {
        io->is_stalled = false;
        replay_waiting_end(&io->activity.insert_wait, oct_clock_ns());
        net_pull_resume(io->pull);
    }
    if (!io->table) {
        return;
    }
    const replay_limiter limiter = replay_table_joined(io->table);
    double width = limiter.balance_max - limiter.balance_min;
    // Batches differ a little in size, so only a band half as wide again gets another line.
    if (limiter.is_widened && width > 1.5 * io->band_logged &&
        limiter.spec.samples_per_insert > 0) {
        io->band_logged = width;
        oct_log_notice("REPLAY-BAND-WIDENED",
                       "width=%.0f insert_max=%" PRIu32 " sample_max=%" PRIu32
                       " samples_per_insert=%g tolerance=%g",
                       width, limiter.insert_chunk, limiter.sample_chunk,
                       limiter.spec.samples_per_insert, limiter.spec.tolerance);
    }
}

// ---- batches in

// Rejects the current message and logs its sender's certificate: an actor's or a relay's.
static void
message_reject(replay_io *io, oct_log_limit *complaint, const char *id, const char *reason)
{
    oct_holder holder;
    replay_complaints_note(&io->complaints, reason);
    if (oct_log_limit_is_due(complaint)) {
        if (net_pull_holder(io->pull, &holder) != OCT_OK) {
            holder.name[0] = '\0';
        }
        replay_complain_of(complaint, id, &holder, reason);
    }
}

// Logs a session for which there is no slot. Its batches are not acknowledged, so its actor sends
// them again.
static void
refused_note(replay_io *io)
{
    message_reject(io, &io->complaints.no_place, "REPLAY-SESSION-REFUSED",
                   "no place for another session: those that replay remembers may still send "
                   "batches again; the actor tries again, and an old session gives way after 10 "
                   "minutes without a batch");
}

// Gives the session of the current message a slot under its sender's certificate. Returns false if
// the sender's connection is closed, so that its certificate is unknown.
static bool
session_open(replay_io *io, const wire_batch *batch)
{
    replay_dedupe *dedupe = replay_table_dedupe(io->table);
    oct_holder holder;
    if (batch->session == 0 || replay_dedupe_knows(dedupe, batch->actor_id)) {
        return true;
    }
    oct_err err = net_pull_holder(io->pull, &holder);
    if (err == OCT_OK || err == OCT_ENOTFOUND) {
        (void)replay_dedupe_open(dedupe, batch->actor_id, batch->session,
                                 replay_dedupe_holder(err == OCT_OK ? &holder : NULL));
    }
    return err == OCT_OK || err == OCT_ENOTFOUND;
}

// Logs the first overrun: the learner waits for more windows than the table ever holds, which may
// repeat.
static void
overrun_log(const replay_io *io)
{
    replay_table_stats stats = replay_table_stats_get(io->table);
    const wire_configure *configure = replay_table_configure(io->table);
    oct_log_warn("REPLAY-OVERRUN",
                 "lost=%" PRIu64 " held=%" PRIu64 " wanted=%" PRIu32 " capacity=%" PRIu64
                 " streams=%" PRIu32 " expected=%" PRIu32 " (later losses are only counted)",
                 stats.overrun, stats.size, io->held_count > 0 ? io->held[0].request.batch_size : 0,
                 configure->capacity, (uint32_t)stats.streams, configure->streams);
}

// Leaves the current batch with NNG until replay_pump resumes it.
static oct_err
batch_stall(replay_io *io, uint64_t now_ns)
{
    io->is_stalled = true;
    if (io->table) {
        replay_waiting_begin(&io->activity.insert_wait, now_ns);
    }
    return OCT_EAGAIN;
}

oct_err
replay_batch_insert(replay_io *io, const wire_batch *batch, size_t length, uint32_t relay,
                    replay_insert *result)
{
    OCT_TRY(replay_table_insert(result, io->table, batch));
    io->activity.bytes_in += length;
    if (io->disk) {
        replay_disk_inserted(io->disk);
    }
    if (result->kind == REPLAY_INSERT_REJECTED) {
        oct_holder holder;
        bool has_holder = result->is_aside && net_pull_holder(io->pull, &holder) == OCT_OK;
        replay_complaints_rejected(&io->complaints, batch, result, has_holder ? &holder : NULL);
    } else if (result->kind == REPLAY_INSERT_TAKEN && result->rows > 0) {
        io->inserted_session[result->session] = batch->session;
    }
    if (result->overrun > 0 && !io->is_overrun_logged) {
        io->is_overrun_logged = true;
        overrun_log(io);
    }
    if (result->kind == REPLAY_INSERT_REFUSED) {
        refused_note(io);
    } else if (result->kind == REPLAY_INSERT_STALE) {
        replay_complaints_stale(&io->complaints, batch, result->session);
    } else if (result->session != REPLAY_SESSION_NONE) {
        replay_stale_end(&io->complaints.stale[result->session]);
        replay_acks_note(io->acks, result->session, relay, oct_clock_ns());
    }
    return OCT_OK;
}

// Stores the batch and frees its message. OCT_EAGAIN: the message stays with its socket.
static oct_err
batch_take(replay_io *io, const wire_batch *batch, net_msg *msg, uint32_t relay, uint64_t now_ns)
{
    replay_insert result;
    if (replay_turns_is_on(io->turns)) {
        replay_turn_arrived(io, batch, msg, relay);
        return OCT_OK;
    }
    if (io->table && !session_open(io, batch)) {
        net_msg_destroy(msg); // its actor sends it again
        return OCT_OK;
    }
    oct_err err = io->table ? replay_batch_insert(io, batch, net_msg_length(msg), relay, &result)
                            : OCT_EAGAIN;
    if (err == OCT_EAGAIN) {
        return batch_stall(io, now_ns);
    }
    net_msg_destroy(msg);
    return OCT_OK;
}

// Checks that the sender is a session that the learner registered. It does so before the batch is
// decoded, so that an unknown sender costs little and stalls no other.
static oct_err
batch_admit(replay_io *io, wire_claim *claim, net_msg *msg)
{
    oct_err err = wire_claim_find(claim, net_msg_body(msg), net_msg_length(msg));
    if (err != OCT_OK) {
        message_reject(io, &io->complaints.bad_batch, "REPLAY-BAD-BATCH",
                       err == OCT_EINVAL ? "another protocol version" : "not a batch");
        return err;
    }
    if (io->table && !replay_admit_check(io->admit, claim)) {
        message_reject(io, &io->complaints.bad_token, "REPLAY-BAD-TOKEN",
                       "the sender's session is not registered with this run");
        return OCT_ECLOSED; // a forged batch: the connection ends
    }
    return OCT_OK;
}

static oct_err
batch_decode(replay_io *io, wire_batch *batch, const wire_claim *claim, net_msg *msg)
{
    wire_arena_reset(io->arena);
    oct_err err = wire_batch_unpack(batch, io->arena, net_msg_body(msg), net_msg_length(msg));
    const char *reason = wire_arena_reason(io->arena);
    if (err == OCT_OK && (batch->actor_id != claim->actor_id || batch->session != claim->session)) {
        // A field appears twice: the decoded sender is not the one that was checked.
        err = OCT_EPROTO;
        reason = "its sender is named twice";
    }
    if (err != OCT_OK) {
        message_reject(io, &io->complaints.bad_batch, "REPLAY-BAD-BATCH",
                       *reason ? reason : oct_strerror(err));
    }
    return err;
}

// relay: index of the relay that brought the batch (replay_acks_io.h); 0: none.
static oct_err
batch_arrived(replay_io *io, net_msg *msg, uint32_t relay)
{
    uint64_t begin_ns = oct_clock_ns();
    wire_claim claim;
    wire_batch batch;
    OCT_TRY(batch_admit(io, &claim, msg));
    OCT_TRY(batch_decode(io, &batch, &claim, msg));
    oct_err err = batch_take(io, &batch, msg, relay, begin_ns);
    io->activity.insert_ns += oct_clock_ns() - begin_ns;
    replay_pump(io); // also after OCT_EAGAIN, because a FIFO table depends on both sides
    return err;
}

// Takes one batch of a relay's message. OCT_EAGAIN: it must wait.
static oct_err
gathered_take(replay_io *io, const uint8_t *frame, size_t length, uint32_t relay)
{
    net_msg *msg = net_msg_create(length);
    memcpy(net_msg_body(msg), frame, length);
    oct_err err = batch_arrived(io, msg, relay);
    if (err != OCT_OK) {
        net_msg_destroy(msg);
    }
    return err;
}

// Takes the batches that a relay brought. A bad batch among them is its sender's fault, not the
// relay's: it is counted, and the others are taken.
static oct_err
gathered_arrived(replay_io *io, net_msg *msg)
{
    wire_gathered gathered;
    oct_role role = net_pull_role(io->pull);
    if (role == OCT_ROLE_NONE) { // the connection is closed; the actors send these batches again
        net_msg_destroy(msg);
        return OCT_OK;
    }
    bool is_its = oct_role_may_relay(role);
    const char *reason =
        is_its ? "not a message of a relay" : "a message of a relay from another peer";
    if (!is_its || wire_gathered_open(&gathered, WIRE_BATCH, net_msg_body(msg),
                                      net_msg_length(msg)) != OCT_OK) {
        message_reject(io, &io->complaints.bad_batch, "REPLAY-BAD-BATCH", reason);
        return OCT_EPROTO;
    }
    const uint8_t *frame;
    size_t length;
    uint32_t relay = replay_acks_find_relay(io->acks, gathered.relay);
    for (uint32_t i = 0; wire_gathered_next(&gathered, &frame, &length); i++) {
        if (i >= io->gathered_done && gathered_take(io, frame, length, relay) == OCT_EAGAIN) {
            io->gathered_done = i; // the batches before i are stored
            return OCT_EAGAIN;
        }
    }
    io->gathered_done = 0;
    net_msg_destroy(msg);
    return OCT_OK;
}

static oct_err
message_arrived(void *arg, net_msg *msg)
{
    replay_io *io = arg;
    return wire_is_gathered(net_msg_body(msg), net_msg_length(msg)) ? gathered_arrived(io, msg)
                                                                    : batch_arrived(io, msg, 0);
}

// ---- acks out

// A connection asks for the acks of a session; it gets them only with that session's token.
static void
acks_asked(void *arg, uint32_t peer, oct_role role, const uint8_t *name, size_t length)
{
    replay_io *io = arg;
    wire_claim claim;
    wire_gathered relay;
    if (wire_gathered_open(&relay, WIRE_ACK, name, length) == OCT_OK) {
        if (!oct_role_may_relay(role)) {
            replay_complain(&io->complaints.bad_ask, "REPLAY-BAD-ASK",
                            "a relay's name from another peer");
        } else if (replay_acks_relay(io->acks, peer, relay.relay) != OCT_OK) {
            replay_complain(&io->complaints.bad_ask, "REPLAY-BAD-ASK",
                            "more relays than a run may have");
        }
        return;
    }
    oct_err err = wire_ack_request_unpack(&claim, name, length);
    bool is_admitted = err == OCT_OK && replay_admit_check(io->admit, &claim);
    if (!is_admitted && (err != OCT_OK || replay_admit_has_key(io->admit))) {
        replay_complain(&io->complaints.bad_ask, "REPLAY-BAD-ASK",
                        err == OCT_OK       ? "the token is not of that session and this run"
                        : err == OCT_EINVAL ? "another protocol version"
                                            : "not a request for acknowledgements");
    }
    if (err == OCT_OK) {
        replay_acks_named(io->acks, peer, &claim, is_admitted);
    }
}

// ---- time

static void
stall_log(replay_io *io, uint64_t now_ns)
{
    replay_waiting *const waits[] = {&io->activity.insert_wait, &io->activity.sample_wait};
    for (size_t i = 0; io->table && i < OCT_COUNTOF(waits); i++) {
        replay_waiting *wait = waits[i];
        if (wait->since_ns == 0 || wait->is_logged || now_ns - wait->since_ns < STALL_NS) {
            continue;
        }
        char why[256];
        wait->is_logged = true;
        (wait == &io->activity.insert_wait
             ? replay_table_explain_insert
             : replay_table_explain_sample)(io->table, why, sizeof(why));
        oct_log_warn("REPLAY-STALL", "waited_ms=%" PRIu64 " why=\"%s\"",
                     (now_ns - wait->since_ns) / 1000000, why);
    }
}

// Notes which learner the table in the file belonged to. The time 0 says that it may have ended.
static void
found_note(replay_io *io)
{
    const wire_configure *of = replay_table_configure(replay_disk_found(io->disk));
    replay_fence_note(&io->fence, of->run_id, of->epoch, 0);
}

static void
tick(void *arg)
{
    replay_io *io = arg;
    uint64_t now_ns = oct_clock_ns();
    if (io->table) {
        replay_dedupe_set_time(replay_table_dedupe(io->table), now_ns / SECOND_NS);
    }
    replay_serve_expired(io, now_ns);
    replay_acks_repeat(io->acks, now_ns);
    if (io->disk) {
        if (replay_disk_look(io->disk, now_ns)) {
            found_note(io);
        }
        replay_disk_tick(io->disk, now_ns);
    }
    replay_activity_second(&io->activity, io->table, now_ns);
    stall_log(io, now_ns);
}

// ---- links

static oct_err
links_open(replay_io *io, const char *url)
{
    char batches[NET_URL_MAX], acks[NET_URL_MAX];
    OCT_TRY(net_url_offset(url, 1, batches));
    OCT_TRY(net_url_offset(url, 2, acks));
    // Acks first, because an actor that can send batches needs them.
    io->acks = replay_acks_create(io->loop, io->incarnation);
    OCT_TRY(net_post_open(&io->post, io->loop,
                          &(net_endpoint){acks, SENDERS, WIRE_ACK_REQUEST_BYTES_MAX, ACK_QUEUE},
                          acks_asked, io));
    replay_acks_set_post(io->acks, io->post);
    OCT_TRY(
        net_pull_open(&io->pull, io->loop,
                      &(net_endpoint){batches, SENDERS, WIRE_BATCH_BYTES_MAX + GATHERED_BYTES, 0},
                      message_arrived, io));
    net_pull_limit_bad(io->pull, BAD_BATCHES_MAX);
    return net_rpc_server_open(&io->rpc, io->loop,
                               &(net_endpoint){url, CALLERS, REQUEST_BYTES_MAX, REPLAY_CONTEXTS},
                               replay_serve_frame, io);
}

static void
disk_synced(void *arg)
{
    replay_io *io = arg;
    replay_acks_synced(io->acks, oct_clock_ns());
}

// Opens the file before the links, so that the first learner that connects finds its table.
static oct_err
disk_open(replay_io *io, const replay_disk_options *options, oct_reason *why)
{
    if (!options->path) {
        return OCT_OK;
    }
    oct_err err = replay_disk_open(&io->disk, io->loop, options, disk_synced, io, why);
    if (err == OCT_OK && replay_disk_found(io->disk)) {
        found_note(io);
    }
    return err;
}

static oct_err
data_open(replay_io *io, const char *path, oct_reason *why)
{
    if (!path) {
        return OCT_OK;
    }
    uint64_t begin_ns = oct_clock_ns();
    if (replay_data_open(&io->data, path, why) != OCT_OK) {
        return OCT_EINVAL;
    }
    OCT_TRY(replay_data_check(io->data, why));
    oct_log_notice("REPLAY-DATA",
                   "path=%s env=%s blocks=%" PRIu32 " bytes=%" PRIu64 " took_ms=%" PRIu64, path,
                   io->data->header->env.id, io->data->header->blocks, io->data->bytes,
                   (oct_clock_ns() - begin_ns) / 1000000);
    return OCT_OK;
}

static void
message_release(void *message)
{
    net_msg_destroy(message);
}

oct_err
replay_io_open(replay_io **out, net_loop *loop, const char *url, const replay_disk_options *disk,
               const char *data, oct_reason *why)
{
    replay_io *io = oct_alloc(sizeof(*io));
    io->loop = loop;
    io->activity.start_ns = oct_clock_ns();
    replay_activity_begin(&io->activity, NULL, io->activity.start_ns);
    if (getrandom(&io->incarnation, sizeof(io->incarnation), 0) != sizeof(io->incarnation)) {
        io->incarnation = oct_clock_wall_us(); // it has to differ from the last process's only
    }
    replay_complaints_init(&io->complaints);
    io->admit = replay_admit_create();
    io->turns = replay_turns_create(message_release);
    io->arena = wire_arena_create(WIRE_BATCH_BYTES_MAX + (1u << 20));
    io->server = wire_server_create_replay(&replay_serve_handlers, io, &replay_serve_responder,
                                           REQUEST_BYTES_MAX + (1u << 20));
    why->text[0] = 0;
    oct_err err = disk_open(io, disk, why);
    if (err == OCT_OK) {
        err = data_open(io, data, why);
    }
    if (err == OCT_OK) {
        why->text[0] = 0; // there is no file yet, which is not an error
        err = links_open(io, url);
    }
    if (err != OCT_OK) {
        replay_io_close(io);
        return err;
    }
    io->tick = net_timer_start(loop, TICK_MS, TICK_MS, tick, io);
    *out = io;
    return OCT_OK;
}

void
replay_io_close(replay_io *io)
{
    if (!io) {
        return;
    }
    net_timer_stop(io->tick);
    replay_serve_close(io);
    net_rpc_server_close(io->rpc);
    net_pull_close(io->pull);
    net_post_close(io->post);
    replay_acks_destroy(io->acks);
    wire_server_destroy(io->server);
    wire_arena_destroy(io->arena);
    replay_disk_close(io->disk); // writes the table a last time
    replay_table_destroy(io->table);
    replay_data_close(io->data);
    replay_admit_destroy(io->admit);
    replay_turns_destroy(io->turns);
    free(io);
}

void
replay_io_log_totals(const replay_io *io)
{
    replay_table_stats stats = {0};
    if (io->table) {
        stats = replay_table_stats_get(io->table);
    }
    oct_log_notice(
        "REPLAY-STOP",
        "rows=%" PRIu64 " inserts=%" PRIu64 " samples=%" PRIu64 " size=%" PRIu64
        " duplicates=%" PRIu64 " gaps=%" PRIu64 " cut=%" PRIu64 " rejected=%" PRIu64
        " rejected_token=%" PRIu64 " bytes_in=%" PRIu64 " bytes_out=%" PRIu64 " cpu_s=%.2f",
        stats.rows_taken, stats.inserts, stats.samples, stats.size, stats.duplicates, stats.gaps,
        stats.cut, replay_complaints_count(&io->complaints, &stats), io->complaints.bad_token.count,
        io->activity.bytes_in, io->activity.bytes_replied + replay_acks_bytes(io->acks),
        (double)oct_clock_process_cpu_ns() / SECOND_NS);
}

replay_status_of
replay_io_status(const replay_io *io)
{
    return (replay_status_of){
        .table = io->table,
        .disk = io->disk,
        .data = io->data,
        .activity = &io->activity,
        .complaints = &io->complaints,
        .pull = io->pull,
        .acks = io->acks,
        .held = io->held_count,
    };
}

void
replay_prometheus_write(void *arg, oct_prometheus *text)
{
    const replay_status_of of = replay_io_status(arg);
    replay_status_write(&of, text);
}

const char *
replay_prometheus_trouble(void *arg)
{
    const replay_io *io = arg;
    return io->disk ? replay_disk_trouble(io->disk) : NULL;
}
