// The links of a relay to what is above it: it subscribes once, and gathers batches into larger
// messages.
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "relay/relay_state_io.h"

#define GATHER_MS      5
#define GATHER_BYTES   (256u << 10)
#define POLICY_QUEUE   64 // of several topics
#define ACKS_QUEUE     16
#define ACKS_BYTES_MAX (1u << 20)
#define ABOVE_LOST_NS  UINT64_C(2000000000)

static void
up_flush(relay_io *io)
{
    size_t length = wire_gatherer_length(&io->up);
    if (io->push == NULL || io->is_push_busy || length == 0) {
        return;
    }
    net_msg *msg = net_msg_create(length);
    wire_gatherer_take(&io->up, net_msg_body(msg));
    io->is_due = false;
    if (net_push_send(io->push, msg) != OCT_OK) {
        net_msg_destroy(msg); // never: is_push_busy says so. Actors would send it again
        return;
    }
    io->is_push_busy = true;
    io->counts.messages++;
    io->counts.message_bytes += length;
}

static void
gather_over(void *arg)
{
    relay_io *io = arg;
    net_timer_stop(io->gather);
    io->gather = NULL;
    io->is_due = wire_gatherer_length(&io->up) > 0;
    up_flush(io);
}

// A frame that is longer than what is gathered at most: alone.
static bool
up_send_alone(relay_io *io, const uint8_t *frame, size_t length)
{
    up_flush(io);
    if (io->push == NULL || io->is_push_busy || wire_gatherer_length(&io->up) > 0) {
        io->is_due = true;
        return false;
    }
    size_t bytes = wire_gathered_size(length);
    net_msg *msg = net_msg_create(bytes);
    wire_gathered_pack(io->number, frame, length, net_msg_body(msg));
    if (net_push_send(io->push, msg) != OCT_OK) {
        net_msg_destroy(msg);
        return false;
    }
    io->is_push_busy = true;
    io->counts.messages++;
    io->counts.message_bytes += bytes;
    return true;
}

bool
relay_up_put(relay_io *io, const uint8_t *frame, size_t length)
{
    if (length > GATHER_BYTES - WIRE_GATHERED_EACH_BYTES) {
        return up_send_alone(io, frame, length);
    }
    if (!wire_gatherer_add(&io->up, frame, length)) {
        up_flush(io);
        if (!wire_gatherer_add(&io->up, frame, length)) {
            io->is_due = true;
            return false;
        }
    }
    if (io->is_due) {
        up_flush(io);
    } else if (io->gather == NULL) {
        io->gather = net_timer_start(io->loop, GATHER_MS, 0, gather_over, io);
    }
    return true;
}

static void
up_ready(void *arg)
{
    relay_io *io = arg;
    io->is_push_busy = false;
    if (io->is_due) {
        up_flush(io);
    }
    relay_up_room(io);
}

static void
up_connected(void *arg)
{
    relay_io *io = arg;
    io->is_up = true;
    oct_log_notice("RELAY-UP", "policies=%s replay=%s", io->policies, io->replay);
}

static void
up_disconnected(void *arg)
{
    relay_io *io = arg;
    io->is_up = false;
    io->down_ns = oct_clock_ns();
    oct_log_notice("RELAY-DOWN", "the connection to replay=%s was lost; dialing again", io->replay);
}

static oct_err
links_open(relay_io *io)
{
    static const uint8_t topic[] = {'O', 'C', 'T', WIRE_POLICY};
    char batches[NET_URL_MAX], acks[NET_URL_MAX];
    uint8_t name[WIRE_GATHERED_HEAD_BYTES];
    const net_push_events events = {up_ready, up_connected, up_disconnected, io};
    unsigned relay = OCT_ROLE_BIT(OCT_ROLE_RELAY);
    unsigned learner = io->is_above ? relay : OCT_ROLE_BIT(OCT_ROLE_LEARNER);
    unsigned replay = io->is_above ? relay : OCT_ROLE_BIT(OCT_ROLE_REPLAY);
    wire_gathered_pack(io->number, NULL, 0, name);
    OCT_TRY(net_url_offset(io->replay, 1, batches));
    OCT_TRY(net_url_offset(io->replay, 2, acks));
    OCT_TRY(net_post_dial(&io->acks, io->loop, acks, replay, name, sizeof(name), ACKS_QUEUE,
                          ACKS_BYTES_MAX, relay_acks_arrived, NULL, io));
    OCT_TRY(net_push_open(&io->push, io->loop, batches, replay, &events));
    return net_sub_open(&io->sub, io->loop, io->policies, learner, topic, sizeof(topic),
                        POLICY_QUEUE, WIRE_MESSAGE_BYTES_MAX, relay_policy_arrived, NULL, io);
}

// What is above has gone, or is another: what hangs there is left to itself.
static void
links_leave(relay_io *io)
{
    net_push_abandon(io->push);
    net_sub_abandon(io->acks);
    net_sub_abandon(io->sub);
    io->push = NULL;
    io->acks = io->sub = NULL;
    io->is_push_busy = io->is_up = false;
}

oct_err
relay_up_dial(relay_io *io, const char *policies, const char *replay)
{
    bool is_above = io->options.relay != NULL && !io->above_lost;
    const char *from = is_above ? io->options.relay : policies;
    const char *to = is_above ? io->options.relay : replay;
    if (strcmp(io->policies, from) == 0 && strcmp(io->replay, to) == 0) {
        return OCT_OK;
    }
    if (io->push != NULL) {
        links_leave(io);
    } else {
        wire_gatherer_init(&io->up, io->number, GATHER_BYTES);
    }
    memcpy(io->policies, from, strlen(from) + 1);
    memcpy(io->replay, to, strlen(to) + 1);
    io->is_above = is_above;
    io->down_ns = oct_clock_ns();
    OCT_TRY(links_open(io));
    up_flush(io);
    relay_up_room(io);
    return OCT_OK;
}

void
relay_up_watch(relay_io *io)
{
    if (io->is_above && !io->above_lost && !io->is_up &&
        oct_clock_ns() - io->down_ns > ABOVE_LOST_NS) {
        io->above_lost = true; // the learner's next answer says where else
        oct_log_warn("RELAY-ABOVE-LOST",
                     "relay=%s cannot be reached; going to the learner and replay instead",
                     io->options.relay);
    }
}

void
relay_up_close(relay_io *io)
{
    net_timer_stop(io->gather);
    net_push_close(io->push);
    net_sub_close(io->acks);
    net_sub_close(io->sub);
    wire_gatherer_fini(&io->up);
}
