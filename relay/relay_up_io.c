// The links of a relay to what is above it: one subscription, and for each line a PUSH for batches
// and a link for acks.
//
// Batches are gathered for GATHER_MS, so that replay gets few large messages. One message is in
// flight at a time; while it is, gathering continues up to RELAY_GATHER_BYTES, and then the line
// reads no more from below until push is ready. A frame that is longer than that goes alone, after
// what was gathered.
//
// With --relay everything leads to the relay above. If no line has been up for ABOVE_LOST_NS, or
// the relay has sent nothing for ABOVE_SILENT turns, the relay above is given up for good, and the
// learner's next answer says where policies and replays are. A link that is left may hang, so it is
// abandoned, not closed; its batches are lost, and actors send them again.
#include <inttypes.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "relay/relay_state_io.h"

#define GATHER_MS      5
#define POLICY_QUEUE   64 // policies of several topics
#define ACKS_QUEUE     16
#define ACKS_BYTES_MAX (1u << 20)
#define ABOVE_LOST_NS  UINT64_C(2000000000) // without a connection
// Turns without a message; not time, because this process may have been stopped.
#define ABOVE_SILENT 3

static void
up_flush(relay_line *line)
{
    size_t length = wire_gatherer_length(&line->up);
    if (line->push == NULL || line->is_push_busy || length == 0) {
        return;
    }
    net_msg *msg = net_msg_create(length);
    wire_gatherer_take(&line->up, net_msg_body(msg));
    line->is_due = false;
    if (net_push_send(line->push, msg) != OCT_OK) {
        net_msg_destroy(msg); // cannot happen while is_push_busy is right; actors would send again
        return;
    }
    line->is_push_busy = true;
    line->io->counts.messages++;
    line->io->counts.message_bytes += length;
}

static void
gather_over(void *arg)
{
    relay_line *line = arg;
    net_timer_stop(line->gather);
    line->gather = NULL;
    line->is_due = wire_gatherer_length(&line->up) > 0;
    up_flush(line);
}

// Sends a frame that is longer than RELAY_GATHER_BYTES alone. Returns false if there is no room
// now.
static bool
up_send_alone(relay_line *line, const uint8_t *frame, size_t length)
{
    up_flush(line);
    if (line->push == NULL || line->is_push_busy || wire_gatherer_length(&line->up) > 0) {
        line->is_due = true;
        return false;
    }
    size_t bytes = wire_gathered_size(length);
    net_msg *msg = net_msg_create(bytes);
    wire_gathered_pack(line->io->number, frame, length, net_msg_body(msg));
    if (net_push_send(line->push, msg) != OCT_OK) {
        net_msg_destroy(msg);
        return false;
    }
    line->is_push_busy = true;
    line->io->counts.messages++;
    line->io->counts.message_bytes += bytes;
    return true;
}

bool
relay_up_put(relay_line *line, const uint8_t *frame, size_t length)
{
    if (length > RELAY_GATHER_BYTES - WIRE_GATHERED_EACH_BYTES) {
        return up_send_alone(line, frame, length);
    }
    if (!wire_gatherer_add(&line->up, frame, length)) {
        up_flush(line);
        if (!wire_gatherer_add(&line->up, frame, length)) {
            line->is_due = true;
            return false;
        }
    }
    if (line->is_due) {
        up_flush(line);
    } else if (line->gather == NULL) {
        line->gather = net_timer_start(line->io->loop, GATHER_MS, 0, gather_over, line);
    }
    return true;
}

static void
up_ready(void *arg)
{
    relay_line *line = arg;
    line->is_push_busy = false;
    if (line->is_due) {
        up_flush(line);
    }
    relay_line_room(line);
}

static void
up_connected(void *arg)
{
    relay_line *line = arg;
    line->is_up = true;
    line->io->above_silent = 0; // it sends its number only after it has this relay's
    oct_log_notice("RELAY-UP", "policies=%s replay=%s", line->io->policies, line->replay);
}

static void
up_disconnected(void *arg)
{
    relay_line *line = arg;
    line->is_up = false;
    line->down_ns = oct_clock_ns();
    oct_log_notice("RELAY-DOWN", "the connection to replay=%s was lost; dialing again",
                   line->replay);
}

// ---- addresses

static oct_err
line_dial(relay_line *line)
{
    relay_io *io = line->io;
    char batches[NET_URL_MAX], acks[NET_URL_MAX];
    uint8_t name[WIRE_GATHERED_HEAD_BYTES];
    const net_push_events events = {up_ready, up_connected, up_disconnected, line};
    unsigned replay = OCT_ROLE_BIT(io->is_above ? OCT_ROLE_RELAY : OCT_ROLE_REPLAY);
    wire_gathered_pack(io->number, NULL, 0, name);
    OCT_TRY(net_url_offset(line->replay, 1, batches));
    OCT_TRY(net_url_offset(line->replay, 2, acks));
    OCT_TRY(net_post_dial(
        &line->acks, io->loop, &(net_endpoint){acks, replay, ACKS_BYTES_MAX, ACKS_QUEUE},
        &(net_sub_options){name, sizeof(name), relay_line_acks_arrived, NULL, line}));
    return net_push_open(&line->push, io->loop, batches, replay, &events);
}

// Abandons the links of a line: what is above does not answer or has changed, so closing them may
// hang.
static void
line_leave(relay_line *line)
{
    if (line->push != NULL) {
        net_push_abandon(line->push);
    }
    net_sub_abandon(line->acks);
    line->push = NULL;
    line->acks = NULL;
    line->is_push_busy = line->is_up = false;
}

// Leads a line to the replay, or relay, at that base address; "": none.
static oct_err
line_lead(relay_line *line, const char *replay)
{
    if (strcmp(line->replay, replay) == 0) {
        return OCT_OK;
    }
    line_leave(line);
    memcpy(line->replay, replay, strlen(replay) + 1);
    line->down_ns = oct_clock_ns();
    if (replay[0] != '\0') {
        OCT_TRY(line_dial(line));
        up_flush(line);
        relay_line_room(line);
    }
    return OCT_OK;
}

static oct_err
policies_lead(relay_io *io, const char *policies)
{
    static const uint8_t topic[] = {'O', 'C', 'T', WIRE_POLICY};
    unsigned learner = OCT_ROLE_BIT(io->is_above ? OCT_ROLE_RELAY : OCT_ROLE_LEARNER);
    if (strcmp(io->policies, policies) == 0) {
        return OCT_OK;
    }
    net_sub_abandon(io->sub);
    io->sub = NULL;
    memcpy(io->policies, policies, strlen(policies) + 1);
    return net_sub_open(&io->sub, io->loop,
                        &(net_endpoint){policies, learner, WIRE_MESSAGE_BYTES_MAX, POLICY_QUEUE},
                        &(net_sub_options){topic, sizeof(topic), relay_policy_arrived, NULL, io});
}

oct_err
relay_up_dial(relay_io *io, const char *policies, char replay[][NET_URL_MAX], uint32_t count)
{
    char above[NET_URL_MAX];
    io->is_above = io->options.relay != NULL && !io->above_lost;
    OCT_TRY(policies_lead(io, io->is_above ? io->options.relay : policies));
    for (uint32_t i = 0; i < count; i++) {
        if (i == io->line_count && relay_line_open(io) != OCT_OK) {
            oct_log_error("RELAY-OPEN",
                          "cannot listen for replay %" PRIu32 " of %" PRIu32
                          " of this run: a relay uses two addresses after %s for each",
                          i + 1, count, io->options.listen);
            return OCT_EIO;
        }
        if (io->is_above) {
            OCT_TRY(net_url_line(io->options.relay, i, above));
        }
        OCT_TRY(line_lead(&io->lines[i], io->is_above ? above : replay[i]));
    }
    for (uint32_t i = count; i < io->line_count; i++) {
        OCT_TRY(line_lead(&io->lines[i], "")); // the run has fewer replays than before
    }
    return OCT_OK;
}

// Returns true if no line is up or has been within ABOVE_LOST_NS.
static bool
is_lost(const relay_io *io)
{
    uint64_t now_ns = oct_clock_ns();
    bool is_one = false;
    for (uint32_t i = 0; i < io->line_count; i++) {
        const relay_line *line = &io->lines[i];
        is_one = is_one || line->is_up ||
                 (line->replay[0] != '\0' && now_ns - line->down_ns <= ABOVE_LOST_NS);
    }
    return !is_one;
}

void
relay_up_watch(relay_io *io)
{
    if (!io->is_above || io->above_lost) {
        return;
    }
    bool is_silent = io->above_silent++ >= ABOVE_SILENT;
    if (is_lost(io) || is_silent) {
        io->above_lost = true; // the learner's next answer gives the addresses
        oct_log_warn("RELAY-ABOVE-LOST", "relay=%s %s; going to the learner and replay instead",
                     io->options.relay, is_silent ? "does not answer" : "cannot be reached");
    }
}

void
relay_up_close(relay_line *line)
{
    net_timer_stop(line->gather);
    net_push_close(line->push);
    net_sub_close(line->acks);
    wire_gatherer_fini(&line->up);
}
