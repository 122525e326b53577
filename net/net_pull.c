// A listening PULL socket on the loop. It stops reading while its handler cannot take messages, and
// closes peers that send too many bad ones.
#include "net/net_pull.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "common/oct_log_limit.h"
#include "net/net_internal.h"
#include "net/net_sp.h"
#include "net/net_url.h"

#define SLOTS             8  // receives in flight: enough to hide the hop between the threads
#define DELIVERIES_A_TURN 64 // then timers, signals and other links have their turn

// A connection that brought bad messages. Tags count up, so connections of the same time have
// different slots of the table (tag modulo its size).
struct bad_peer {
    uint64_t tag;      // 0: the slot is free
    uint32_t messages; // bad messages so far
};

struct net_pull {
    nng_socket socket;
    net_listening listening;
    net_wakeup *wakeup;
    net_pull_fn handler;
    void *arg;
    size_t recv_bytes_max;
    char url[NET_URL_MAX];
    uint64_t rejected;
    oct_log_limit too_long; // limits the log of messages that are too long
    uint32_t bad_max;       // bad messages of one connection until it is closed; 0: never
    uint64_t closed;
    struct bad_peer bad[NET_PULL_PEERS];
    nng_msg *offered;      // taken from the head slot; the handler has not taken it yet. NULL: none
    uint64_t offered_tag;  // tag of the sender's connection; 0: not behind the gate
    oct_role offered_role; // of the sender, which may disconnect before the message is taken
    bool stalled;  // the handler returned OCT_EAGAIN and net_pull_resume has not been called since
    bool draining; // within pull_drain, so that close leaves offered to it
    bool closing;
    // A ring in the order of arming. NNG fills receives in the order in which they were armed, but
    // reports them on several threads, so only the head may be handed over, whichever is marked
    // first.
    unsigned head;
    net_op slots[SLOTS];
};

static void
slot_arm(net_pull *pull, net_op *slot)
{
    nng_recv_aio(pull->socket, slot->aio);
}

// Moves the head's message to offered, without its tag. Returns false if no message has come.
static bool
head_take(net_pull *pull)
{
    net_op *slot = &pull->slots[pull->head];
    if (!net_op_take(slot)) {
        return false;
    }
    int code = nng_aio_result(slot->aio);
    if (code != 0) {
        if (code != NNG_ECLOSED && code != NNG_ECANCELED) {
            oct_log_error("NET-RECV", "error=\"%s\"", nng_strerror(code));
        }
        return false;
    }
    pull->offered = net_op_take_msg(slot);
    pull->offered_role = net_listening_role(&pull->listening, pull->offered);
    pull->offered_tag = 0;
    if (pull->listening.end != NULL && nng_msg_len(pull->offered) >= NET_SP_TAG_BYTES) {
        memcpy(&pull->offered_tag, nng_msg_body(pull->offered), NET_SP_TAG_BYTES);
        (void)nng_msg_trim(pull->offered, NET_SP_TAG_BYTES);
    }
    return true;
}

static void
head_rearm(net_pull *pull)
{
    pull->offered = NULL;
    slot_arm(pull, &pull->slots[pull->head]);
    pull->head = (pull->head + 1) % SLOTS;
}

// Counts a bad message for the connection that it came on, and closes that at the limit.
// (nng_pipe_close is not usable: in NNG 1.5.2 it can leave the reaper waiting forever for a receive
// that was being armed.)
static void
peer_blame(net_pull *pull, bool is_forged)
{
    uint64_t tag = pull->offered_tag;
    if (pull->bad_max == 0 || tag == 0 || pull->closing) {
        return;
    }
    struct bad_peer *peer = &pull->bad[tag % NET_PULL_PEERS];
    if (peer->tag != tag) {
        *peer = (struct bad_peer){.tag = tag};
    }
    bool was_closed = peer->messages >= pull->bad_max; // messages sent before the close still come
    peer->messages = is_forged ? pull->bad_max : peer->messages + !was_closed;
    if (!was_closed && peer->messages >= pull->bad_max) {
        pull->closed++;
        net_gate_end_blame(pull->listening.end, tag);
    }
}

static void
too_long_log(net_pull *pull, size_t bytes)
{
    if (oct_log_limit_is_due(&pull->too_long)) {
        oct_log_warn("NET-TOO-LONG", "url=%s bytes=%zu most=%zu messages=%" PRIu64, pull->url,
                     bytes, pull->recv_bytes_max, pull->too_long.count);
    }
}

// Offers the message to the handler. Returns false if the handler wants it later, or closed the
// link.
static bool
offer(net_pull *pull)
{
    nng_msg *msg = pull->offered;
    pull->stalled = true; // cleared if the message is taken, or if the handler itself resumes
    oct_err err = OCT_EPROTO;
    if (nng_msg_len(msg) <= pull->recv_bytes_max) {
        err = pull->handler(pull->arg, (net_msg *)msg);
    } else {
        too_long_log(pull, nng_msg_len(msg));
    }
    if (err == OCT_EAGAIN && !pull->closing) {
        return !pull->stalled;
    }
    if (err != OCT_OK) {
        if (err != OCT_EAGAIN) {
            pull->rejected++;
            peer_blame(pull, err == OCT_ECLOSED);
        }
        nng_msg_free(msg);
    }
    pull->offered = NULL;
    if (pull->closing) {
        return false;
    }
    pull->stalled = false;
    head_rearm(pull);
    return true;
}

static void
pull_drain(void *arg)
{
    net_pull *pull = arg;
    if (pull->stalled || pull->closing) {
        return;
    }
    pull->draining = true;
    int turn = 0;
    while (turn < DELIVERIES_A_TURN && (pull->offered != NULL || head_take(pull)) && offer(pull)) {
        turn++;
    }
    pull->draining = false;
    if (turn == DELIVERIES_A_TURN) {
        net_wakeup_send(pull->wakeup);
    }
}

static oct_err
pull_socket_open(nng_socket *out, net_listening *listening, net_loop *loop, net_endpoint at)
{
    OCT_TRY(net_err_from_nng(nng_pull0_open(out)));
    *listening = (net_listening){.tagged = true};
    bool is_gated = net_url_is_tcp(at.url);
    size_t tag_bytes = is_gated ? NET_SP_TAG_BYTES : 0;
    // The gate logs and refuses longer messages. NNG would close the connection without a log line,
    // so for processes of this machine it accepts twice the length, and offer drops and logs the
    // message.
    oct_err err =
        net_socket_limits(*out, at.recv_bytes_max, is_gated ? tag_bytes : at.recv_bytes_max);
    if (err == OCT_OK) {
        at.recv_bytes_max += tag_bytes;
        err = net_listen(listening, loop, *out, &at);
    }
    if (err != OCT_OK) {
        net_listening_stop(listening);
        (void)nng_close(*out);
    }
    return err;
}

oct_err
net_pull_open(net_pull **out, net_loop *loop, const net_endpoint *at, net_pull_fn handler,
              void *arg)
{
    nng_socket socket;
    net_listening listening;
    OCT_TRY(pull_socket_open(&socket, &listening, loop, *at));
    net_pull *pull = oct_alloc(sizeof(*pull));
    pull->socket = socket;
    pull->listening = listening;
    pull->handler = handler;
    pull->arg = arg;
    pull->recv_bytes_max = at->recv_bytes_max;
    (void)snprintf(pull->url, sizeof(pull->url), "%s", at->url);
    pull->wakeup = net_wakeup_create(loop, pull_drain, pull);
    for (int i = 0; i < SLOTS; i++) {
        net_op_init(&pull->slots[i], pull->wakeup);
    }
    for (int i = 0; i < SLOTS; i++) {
        slot_arm(pull, &pull->slots[i]);
    }
    *out = pull;
    return OCT_OK;
}

// Wakes the loop: the handler runs in a turn of its own, never inside the caller of resume.
void
net_pull_resume(net_pull *pull)
{
    pull->stalled = false;
    net_wakeup_send(pull->wakeup);
}

oct_role
net_pull_role(const net_pull *pull)
{
    return pull->offered_role;
}

oct_err
net_pull_holder(const net_pull *pull, oct_holder *out)
{
    if (pull->offered_tag == 0) {
        return OCT_ENOTFOUND;
    }
    net_gate_end *end = pull->listening.end;
    return end == NULL ? OCT_ECLOSED : net_gate_end_holder(end, pull->offered_tag, out);
}

void
net_pull_limit_bad(net_pull *pull, uint32_t messages_max)
{
    pull->bad_max = messages_max;
}

uint64_t
net_pull_closed(const net_pull *pull)
{
    return pull->closed;
}

uint64_t
net_pull_rejected(const net_pull *pull)
{
    return pull->rejected;
}

void
net_pull_close(net_pull *pull)
{
    if (pull == NULL) {
        return;
    }
    pull->closing = true;
    net_listening_stop(&pull->listening);
    net_socket_close(pull->socket);
    for (int i = 0; i < SLOTS; i++) {
        net_op_fini(&pull->slots[i]);
    }
    if (pull->offered != NULL && !pull->draining) {
        nng_msg_free(pull->offered);
    }
    net_wakeup_destroy_with(pull->wakeup, pull);
}
