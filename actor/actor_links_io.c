// The links for policies and batches: to the learner and replay themselves, or to a relay that
// stands for both.
//
// A relay may end at any time. An actor that has lost one, or gets no acknowledgements through it,
// registers again and reports it; the learner answers with another relay or with the direct
// addresses. Batches that were not acknowledged are then sent again, and replay drops duplicates,
// so nothing is lost.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "actor/actor_state_io.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"

#define ACK_BYTES_MAX 4096
#define ACK_QUEUE     16
#define DOWN_NS       UINT64_C(2000000000) // a restarted relay is back by then
#define MUTE_NS       UINT64_C(4000000000) // the learner has dropped a relay that hangs by then

// Callbacks of the links.
static void
link_up(void *arg)
{
    actor_io *io = arg;
    io->link_down_ns = 0;
    actor_send_again(io);
}

static void
link_down(void *arg)
{
    actor_io *io = arg;
    io->link_down_ns = oct_clock_ns();
    actor_send_lost(io);
}

static void
acks_up(void *arg)
{
    actor_io *io = arg;
    io->acks_up = true;
}

// Batches go to the first address after replay_address, acknowledgements come from the second. A
// relay has the same addresses for each shard.
oct_err
actor_links_open(actor_io *io)
{
    char url[NET_URL_MAX];
    uint8_t topic[WIRE_FRAME_BYTES], ask[WIRE_ACK_REQUEST_BYTES_MAX];
    const net_push_events events = {
        .on_ready = actor_send_batches,
        .on_connected = link_up,
        .on_disconnected = link_down,
        .arg = io,
    };
    unsigned learner = OCT_ROLE_BIT(io->is_relayed ? OCT_ROLE_RELAY : OCT_ROLE_LEARNER);
    unsigned replay = OCT_ROLE_BIT(io->is_relayed ? OCT_ROLE_RELAY : OCT_ROLE_REPLAY);
    io->link_down_ns = io->heard_ns = io->acked_ns = oct_clock_ns();
    io->acks_up = false;
    OCT_TRY(net_url_offset(io->replay_address, 2, url));
    OCT_TRY(net_post_dial(
        &io->ack_sub, io->loop, &(net_endpoint){url, replay, ACK_BYTES_MAX, ACK_QUEUE},
        &(net_sub_options){ask, actor_send_ask(io, ask), actor_send_acked, acks_up, io}));
    OCT_TRY(net_url_offset(io->replay_address, 1, url));
    OCT_TRY(net_push_open(&io->push, io->loop, url, replay, &events));
    wire_policy_topic(io->policy_topic, topic);
    return net_sub_open(
        &io->policy_sub, io->loop,
        &(net_endpoint){io->policy_address, learner, WIRE_MESSAGE_BYTES_MAX, ACTOR_POLICY_QUEUE},
        &(net_sub_options){topic, sizeof(topic), actor_policy_arrived, NULL, io});
}

void
actor_links_close(actor_io *io)
{
    net_push_close(io->push);
    net_sub_close(io->ack_sub);
    net_sub_close(io->policy_sub);
}

bool
actor_links_unreached(const actor_io *io, char out[NET_URL_MAX])
{
    bool has_link = io->push != NULL && io->link_down_ns == 0;
    return io->replay_address[0] != '\0' && !(has_link && io->acks_up) &&
           net_url_offset(io->replay_address, has_link ? 2 : 1, out) == OCT_OK;
}

// ---- addresses

const char *
actor_links_relay(const actor_io *io)
{
    if (io->lost_relay[0] != '\0') {
        return io->lost_relay;
    }
    if (io->policy_address[0] != '\0') {
        return io->is_relayed ? io->policy_address : "";
    }
    return io->options.relay != NULL ? io->options.relay : "";
}

// Logs that the relay cannot be used, and reports it with the next Register.
static void
relay_is_lost(actor_io *io, const char *relay, const char *what, const char *why)
{
    oct_log_notice("ACTOR-RELAY-LOST", "relay=%s %s%s; asking the learner", relay, what, why);
    (void)snprintf(io->lost_relay, sizeof(io->lost_relay), "%s", relay);
    io->own_relay_lost = io->options.relay != NULL;
}

// Returns true if the actor uses the relay of --relay. If that relay acknowledges nothing, the
// learner decides, because it knows which relays run: another address in its answer ends the use.
static bool
is_through_own(actor_io *io, const wire_registered *answer)
{
    if (io->options.relay == NULL || io->options.evaluate) {
        return false;
    }
    bool is_named = answer->is_relayed && strcmp(answer->replay_address, io->options.relay) == 0;
    if (io->relay_silent && !is_named) {
        io->own_relay_lost = true;
    }
    return !io->own_relay_lost;
}

bool
actor_links_find(actor_io *io, const wire_registered *answer, actor_addresses *out)
{
    oct_reason why = {""};
    const char *reached = io->options.learner;
    bool is_own = is_through_own(io, answer);
    io->relay_silent = false; // the learner has answered
    out->is_relayed = answer->is_relayed || is_own;
    out->shard = answer->shard;
    if (out->is_relayed) { // the relay's own address, not relative to the learner's
        const char *relay = is_own ? io->options.relay : answer->replay_address;
        if (net_url_check_relay(relay, is_own ? relay : reached, out->shard + 1, &why) == OCT_OK &&
            net_url_offset(relay, 0, out->policies) == OCT_OK &&
            net_url_line(relay, out->shard, out->replay) == OCT_OK) {
            return true;
        }
        relay_is_lost(io, relay, "cannot be used: ", why.text);
        io->retry_ms = ACTOR_ASK_AGAIN_MS;
        actor_join_retry(io);
        return false;
    }
    if (net_url_as_seen_from(answer->policy_address, reached, out->policies) == OCT_OK &&
        net_url_as_seen_from(answer->replay_address, reached, out->replay) == OCT_OK &&
        net_url_check(out->policies, io->options.insecure, &why) == OCT_OK &&
        net_url_check(out->replay, io->options.insecure, &why) == OCT_OK) {
        return true;
    }
    oct_log_error("ACTOR-ADDRESS", "the learner sent policies=%s replay=%s: %s",
                  answer->policy_address, answer->replay_address, why.text);
    actor_io_fail(io, ACTOR_EXIT_REFUSED);
    return false;
}

bool
actor_links_are(const actor_io *io, const actor_addresses *addresses)
{
    return strcmp(io->policy_address, addresses->policies) == 0 &&
           strcmp(io->replay_address, addresses->replay) == 0;
}

void
actor_links_set(actor_io *io, const actor_addresses *addresses)
{
    memcpy(io->policy_address, addresses->policies, sizeof(io->policy_address));
    memcpy(io->replay_address, addresses->replay, sizeof(io->replay_address));
    io->is_relayed = addresses->is_relayed;
    io->shard = addresses->shard;
    io->lost_relay[0] = '\0';
}

void
actor_links_move(actor_io *io, const actor_addresses *addresses)
{
    oct_log_notice("ACTOR-MOVED", "policies=%s replay=%s relay=%d", addresses->policies,
                   addresses->replay, addresses->is_relayed);
    net_push_abandon(io->push);
    net_sub_abandon(io->ack_sub);
    net_sub_abandon(io->policy_sub);
    io->push = NULL;
    io->ack_sub = io->policy_sub = NULL;
    actor_links_set(io, addresses);
    actor_outbox_go_back(&io->outbox);
    actor_resend_init(&io->resend);
    if (actor_links_open(io) != OCT_OK) {
        oct_log_error("ACTOR-LINKS", "cannot reach replay=%s or policies=%s", io->replay_address,
                      io->policy_address);
        actor_io_fail(io, ACTOR_EXIT_FAILED);
    }
}

// ---- loss of a relay

// Registers again, for other addresses.
static void
way_ask(actor_io *io)
{
    io->step = STEP_SPEC;
    io->retry_ms = ACTOR_RETRY_MIN_MS;
    actor_join_go(io);
}

void
actor_links_watch(actor_io *io)
{
    uint64_t now_ns = oct_clock_ns();
    if (!io->is_relayed || io->step != STEP_RUN || io->leaving) {
        return;
    }
    if (io->link_down_ns != 0 && now_ns - io->link_down_ns > DOWN_NS) {
        relay_is_lost(io, io->policy_address, "cannot be reached", "");
        io->link_down_ns = now_ns; // ask again only after another DOWN_NS
        way_ask(io);
        return;
    }
    if (io->outbox.sent == 0) {
        io->heard_ns = now_ns; // no acknowledgement is to be expected
    } else if (now_ns - io->heard_ns > MUTE_NS) {
        oct_log_info("ACTOR-RELAY-SILENT", "relay=%s acknowledges nothing; asking the learner",
                     io->policy_address);
        io->heard_ns = now_ns;
        io->lost_relay[0] = '\0'; // the learner knows whether it runs
        io->relay_silent = true;
        way_ask(io);
    }
}
