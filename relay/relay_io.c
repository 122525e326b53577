// A relay as a whole: forwards policies, opens and closes its parts, and reports its numbers.
#include "relay/relay_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "relay/relay_numbers.h"
#include "relay/relay_state_io.h"

// roles of the peers that connect to a relay
#define BELOW         (OCT_ROLE_BIT(OCT_ROLE_ACTOR) | OCT_ROLE_BIT(OCT_ROLE_RELAY))
#define PUBLISH_QUEUE 16 // the learner's value
#define TICK_MS       1000

void
relay_bad(relay_io *io, const char *reason)
{
    if (io->counts.bad++ == 0) {
        oct_log_warn("RELAY-BAD-MESSAGE", "%s; later bad messages are only counted", reason);
    }
}

// ---- policies down

void
relay_policy_arrived(void *arg, net_msg *msg)
{
    relay_io *io = arg;
    wire_frame frame;
    size_t length = net_msg_length(msg);
    if (wire_frame_unpack(&frame, net_msg_body(msg), length) != OCT_OK ||
        frame.kind != WIRE_POLICY) {
        relay_bad(io, "not a policy");
        return;
    }
    net_msg *copy = net_msg_create(length);
    memcpy(net_msg_body(copy), net_msg_body(msg), length);
    net_pub_send(io->pub, copy);
    io->counts.policies++;
    io->counts.policy_bytes += length;
}

// ---- the learner

// Returns the count of sessions with recent batches, of all lines.
static uint32_t
sessions_count(const relay_io *io)
{
    uint32_t sessions = 0;
    for (uint32_t i = 0; i < io->line_count; i++) {
        sessions += relay_routes_active(io->lines[i].routes, oct_clock_ns());
    }
    return sessions;
}

static void
describe(void *arg, wire_register *request)
{
    const relay_io *io = arg;
    request->relay_above = io->is_above ? io->options.relay : "";
    request->relay_number = io->number;
    request->relay_above_number = io->is_above ? io->above_number : 0;
    request->relay_sessions = sessions_count(io);
}

static oct_err
addresses_found(void *arg, const char *policies, char replay[][NET_URL_MAX], uint32_t count)
{
    return relay_up_dial(arg, policies, replay, count);
}

static void
join_failed(void *arg, bool is_refused)
{
    relay_io *io = arg;
    io->exit_code = is_refused ? RELAY_EXIT_REFUSED : RELAY_EXIT_FAILED;
    net_loop_stop(io->loop);
}

static oct_err
join_open(relay_io *io)
{
    const relay_join_options options = {
        .loop = io->loop,
        .learner = io->options.learner,
        .announce = io->options.announce,
        .insecure = io->options.insecure,
        .describe = describe,
        .found = addresses_found,
        .failed = join_failed,
        .arg = io,
    };
    return relay_join_open(&io->join, &options);
}

// ---- open and close

static void
tick(void *arg)
{
    relay_io *io = arg;
    relay_up_watch(io);
    for (uint32_t i = 0; i < io->line_count; i++) {
        relay_line_tell(&io->lines[i]);
    }
    relay_join_go(io->join);
}

oct_err
relay_io_open(relay_io **out, net_loop *loop, const relay_io_options *options)
{
    relay_io *io = oct_alloc(sizeof(*io));
    io->loop = loop;
    io->options = *options;
    OCT_ASSERT(getrandom(&io->number, sizeof(io->number), 0) == sizeof(io->number));
    io->number += io->number == 0;
    oct_err err = relay_line_open(io); // every run has one replay
    if (err == OCT_OK) {
        err = net_pub_open(&io->pub, loop, options->listen, BELOW, PUBLISH_QUEUE);
    }
    if (err == OCT_OK) {
        err = join_open(io);
    }
    if (err != OCT_OK) {
        relay_io_close(io);
        return err;
    }
    io->tick = net_timer_start(loop, 1, TICK_MS, tick, io);
    *out = io;
    return OCT_OK;
}

void
relay_io_close(relay_io *io)
{
    if (io == NULL) {
        return;
    }
    net_timer_stop(io->tick);
    relay_join_close(io->join);
    for (uint32_t i = 0; i < io->line_count; i++) {
        relay_line_close(&io->lines[i]);
    }
    net_sub_close(io->sub);
    if (io->pub != NULL) {
        net_pub_close(io->pub);
    }
    free(io);
}

int
relay_io_exit_code(const relay_io *io)
{
    return io->exit_code;
}

void
relay_io_log_totals(const relay_io *io)
{
    const relay_counts *c = &io->counts;
    oct_log_notice("RELAY-STOP",
                   "batches=%" PRIu64 " batch_bytes=%" PRIu64 " messages=%" PRIu64 " acks=%" PRIu64
                   " policies=%" PRIu64 " policy_bytes=%" PRIu64 " stalls=%" PRIu64 " bad=%" PRIu64
                   " cpu_s=%.2f",
                   c->batches, c->batch_bytes, c->messages, c->acks, c->policies, c->policy_bytes,
                   c->stalls, c->bad, (double)oct_clock_process_cpu_ns() / 1e9);
}

// ---- for net_metrics

// Returns true if every line to a replay of the run is up. Lines of replays that the run no longer
// has do not count; the first line leads to a replay as soon as any does.
static bool
is_up(const relay_io *io)
{
    bool is_all = io->lines[0].replay[0] != '\0';
    for (uint32_t i = 0; i < io->line_count; i++) {
        is_all = is_all && (io->lines[i].is_up || io->lines[i].replay[0] == '\0');
    }
    return is_all;
}

void
relay_io_prometheus(void *arg, oct_prometheus *text)
{
    const relay_io *io = arg;
    const relay_counts *c = &io->counts;
    const relay_measurements now = {
        .sessions = sessions_count(io),
        .up = is_up(io),
        .batches = (double)c->batches,
        .batch_bytes = (double)c->batch_bytes,
        .messages = (double)c->messages,
        .message_bytes = (double)c->message_bytes,
        .acks = (double)c->acks,
        .policies = (double)c->policies,
        .policy_bytes = (double)c->policy_bytes,
        .stalls = (double)c->stalls,
        .bad = (double)c->bad,
    };
    oct_numbers *numbers = oct_numbers_create("relay.");
    relay_numbers_add(numbers, &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
}

const char *
relay_io_trouble(void *arg)
{
    const relay_io *io = arg;
    if (!relay_join_is_registered(io->join)) {
        return "the learner does not answer";
    }
    return is_up(io) ? NULL : "not connected to every replay, or to the relay above";
}
