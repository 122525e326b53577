// Keeps a dialing socket connected, with one pipe at a time.
//
// NNG dials in the background, but three faults of version 1.5.2 need help from outside:
//
// 1. A dialer whose peer dies in the middle of the handshake may never dial again, without an
//    error. So a socket that has had no pipe for SPARE_TICKS_MIN seconds gets a spare dialer, a
//    second after twice as long, and so on up to SPARES_MAX. When two dialers connect, the later
//    pipe is refused in ADD_PRE and its dialer closed in REM_POST.
// 2. A dialer of an ipc socket without a listener wakes NNG's poller without end. So an ipc
//    address is not dialed before its file exists: the loop checks every LOOK_MS, and after
//    LOOKS_FAST checks every LOOK_SLOW_MS. The file alone does not mean that a process listens; the
//    dialer then tries by itself.
// 3. NNG does not check who listens at an ipc path. The pipe of a process of another user is
//    refused before the protocol has seen it, and net_redial_trouble names that user.
//
// Addresses of tcp:// and tls+tcp:// are dialed by the gate. The socket then listens on a local
// address of the gate, only pipes from this process are accepted, and no spare dialers are needed.
//
// With once, the socket has one pipe in its lifetime: after that pipe ends, the owner closes the
// socket and opens another. Pipe events come on NNG's threads; ticks and checks on the loop thread.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "net/net_internal.h"
#include "net/net_url.h"

#define TICK_MS 1000
// Ticks without a pipe until the first spare dialer; doubles for each further one.
#define SPARE_TICKS_MIN 2u
#define SPARES_MAX      4u
#define LOOK_MS         5    // between checks for an ipc socket's file
#define LOOKS_FAST      200u // checks, for 1 s in all; then every LOOK_SLOW_MS
#define LOOK_SLOW_MS    50

static bool
user_is_good(net_redial *redial, nng_pipe pipe)
{
    uint64_t uid;
    bool is_good = net_pipe_is_of_this_user(pipe, &uid);
    atomic_store_explicit(&redial->foreign_uid, is_good ? 0 : uid + 1, memory_order_release);
    return is_good;
}

// Runs on threads of NNG. REM_POST follows every ADD_PRE; ADD_POST may arrive after it and means
// nothing then.
//
// A pipe is refused in ADD_PRE, before the protocol has seen it. Its dialer is closed in REM_POST:
// NNG dials again only after that returns, so the dialer is idle. Closing it during a connect can
// stop the listener from accepting for good, and closing it in ADD_PRE would wait for itself.
static void
redial_event(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    net_redial *redial = arg;
    int id = nng_pipe_id(pipe);
    int none = 0;
    if (event == NNG_PIPE_EV_ADD_PRE && redial->gate != NULL &&
        !net_pipe_is_ours(redial->gate, pipe)) {
        return;
    }
    if (event == NNG_PIPE_EV_ADD_PRE && redial->is_ipc && !user_is_good(redial, pipe)) {
        (void)nng_pipe_close(pipe);
        return;
    }
    if (event == NNG_PIPE_EV_ADD_PRE &&
        !atomic_compare_exchange_strong_explicit(&redial->pipe, &none, id, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        (void)nng_pipe_close(pipe);
        return;
    }
    int used = atomic_load_explicit(&redial->pipe, memory_order_acquire);
    bool ours = used == id;
    // The dialer of a pipe that was refused while there was no other pipe dials again.
    bool is_done = ours ? redial->once : used != 0;
    if (event == NNG_PIPE_EV_REM_POST && is_done && redial->gate == NULL) {
        (void)nng_dialer_close(nng_pipe_dialer(pipe));
    }
    if (!ours) {
        return;
    }
    if (redial->fn != NULL) {
        redial->fn(redial->arg, event);
    }
    if (event == NNG_PIPE_EV_REM_POST && !redial->once) {
        atomic_store_explicit(&redial->pipe, 0, memory_order_release);
    }
}

static void
redial_tick(void *arg)
{
    net_redial *redial = arg;
    if (atomic_load_explicit(&redial->pipe, memory_order_acquire) != 0) {
        redial->ticks = 0;
        redial->spares = 0;
        return;
    }
    redial->ticks++;
    if (redial->spares == SPARES_MAX || redial->ticks < SPARE_TICKS_MIN << redial->spares) {
        return;
    }
    redial->ticks = 0;
    // A failure is logged; a later tick tries again.
    if (net_dial(redial->socket, redial->url) == OCT_OK) {
        redial->spares++;
    }
}

static int
redial_watch(net_redial *redial)
{
    static const nng_pipe_ev events[] = {NNG_PIPE_EV_ADD_PRE, NNG_PIPE_EV_ADD_POST,
                                         NNG_PIPE_EV_REM_POST};
    for (size_t i = 0; i < OCT_COUNTOF(events); i++) {
        int code = nng_pipe_notify(redial->socket, events[i], redial_event, redial);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static oct_err
redial_dial(net_redial *redial)
{
    redial->ticks = 0;
    redial->timer = net_timer_start(redial->loop, TICK_MS, TICK_MS, redial_tick, redial);
    return net_dial(redial->socket, redial->url);
}

static bool
something_is_there(const char *ipc_url)
{
    return oct_file_is_there(net_url_ipc_path(ipc_url));
}

static void
redial_look(void *arg)
{
    net_redial *redial = arg;
    redial->ticks++;
    if (something_is_there(redial->url)) {
        net_timer_stop(redial->timer);
        (void)redial_dial(redial); // a failure is logged; a spare dialer tries again
    } else if (redial->ticks == LOOKS_FAST) {
        net_timer_stop(redial->timer);
        redial->timer =
            net_timer_start(redial->loop, LOOK_SLOW_MS, LOOK_SLOW_MS, redial_look, redial);
    }
}

// Lets the gate dial; the gate brings the connection to a local address of the socket.
static oct_err
redial_gated(net_redial *redial, const char *url)
{
    net_gate_spec spec;
    const net_endpoint at = {url, redial->roles, redial->recv_bytes_max, 0};
    OCT_TRY(net_gate_spec_of(&spec, redial->socket, &at));
    OCT_TRY(net_gate_dial(redial->gate, &spec, &redial->end));
    return net_gate_end_start(redial->end);
}

oct_err
net_redial_start(net_redial *redial, net_loop *loop, nng_socket socket, const char *url)
{
    redial->loop = loop;
    redial->socket = socket;
    redial->ticks = 0;
    redial->spares = 0;
    redial->timer = NULL;
    redial->end = NULL;
    redial->gate = net_url_is_tcp(url) ? net_loop_gate(loop) : NULL;
    redial->is_ipc = net_url_is_ipc(url);
    atomic_init(&redial->pipe, 0);
    atomic_init(&redial->foreign_uid, 0);
    OCT_TRY(net_err_from_nng(redial_watch(redial)));
    if (redial->gate != NULL) {
        oct_err err = redial_gated(redial, url);
        if (err != OCT_OK) {
            net_redial_stop(redial);
        }
        return err;
    }
    size_t url_bytes = strlen(url) + 1;
    redial->url = oct_alloc(url_bytes);
    memcpy(redial->url, url, url_bytes);
    if (redial->is_ipc && !something_is_there(url)) {
        redial->timer = net_timer_start(loop, LOOK_MS, LOOK_MS, redial_look, redial);
        return OCT_OK;
    }
    oct_err err = redial_dial(redial);
    if (err != OCT_OK) {
        net_redial_stop(redial);
    }
    return err;
}

// Writes why there is no connection to the socket at path, for a person: its owner, where this user
// may not use it, otherwise that nothing listens.
static void
local_trouble(const char *path, char *out, size_t out_size)
{
    struct stat file;
    if (oct_file_stat(path, &file) != 0) {
        bool is_denied = errno == EACCES;
        (void)snprintf(out, out_size, "%s",
                       is_denied ? "this user may not enter its folder" : "nothing listens there");
    } else if (file.st_uid != geteuid() && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) {
        (void)snprintf(out, out_size, "it belongs to user %" PRIu64 ", and this is user %" PRIu64,
                       (uint64_t)file.st_uid, (uint64_t)geteuid());
    } else {
        (void)snprintf(out, out_size, "nothing listens there");
    }
}

bool
net_redial_trouble(net_redial *redial, char *out, size_t out_size)
{
    bool connected = atomic_load_explicit(&redial->pipe, memory_order_acquire) != 0;
    uint64_t foreign_uid = atomic_load_explicit(&redial->foreign_uid, memory_order_acquire);
    if (foreign_uid != 0 && !connected) {
        (void)snprintf(out, out_size, "a process of user %" PRIu64 " listens there",
                       foreign_uid - 1);
        return true;
    }
    if (connected) {
        out[0] = '\0';
    } else if (redial->end != NULL) {
        net_gate_end_trouble(redial->end, out, out_size);
    } else if (redial->is_ipc && redial->timer != NULL) {
        local_trouble(net_url_ipc_path(redial->url), out, out_size);
    } else {
        (void)snprintf(out, out_size, "nothing listens there");
    }
    return !connected;
}

void
net_redial_stop(net_redial *redial)
{
    net_gate_end_close(redial->end);
    redial->end = NULL;
    if (redial->timer != NULL) {
        net_timer_stop(redial->timer);
        redial->timer = NULL;
        free(redial->url);
    }
}
