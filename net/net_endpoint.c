// Opens and closes listeners and dialers of NNG sockets, directly or through the TLS gate.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_internal.h"
#include "net/net_sp.h"
#include "net/net_url.h"

#define REDIAL_MIN_MS   20 // NNG doubles its wait from here
#define REDIAL_MAX_MS   500
#define IPC_PERMISSIONS 0600
#define REST_NS         10000000 // 10 ms, for pipes to come to rest

oct_err
net_socket_limits(nng_socket socket, size_t recv_bytes_max, size_t header_bytes)
{
    // NNG takes 0 as unlimited: a peer could then make us allocate any size.
    if (recv_bytes_max == 0) {
        return OCT_EINVAL;
    }
    int code = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, recv_bytes_max + header_bytes);
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_SENDTIMEO, NNG_DURATION_INFINITE);
    }
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, NNG_DURATION_INFINITE);
    }
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, REDIAL_MIN_MS);
    }
    if (code == 0) {
        code = nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, REDIAL_MAX_MS);
    }
    return net_err_from_nng(code);
}

// NNG removes a file at the path, even a regular one, if no process accepts connections there.
static bool
ipc_path_is_taken_by_a_file(const char *url)
{
    struct stat status;
    const char *path = net_url_ipc_path(url);
    return path != NULL && lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode);
}

static const char *
listen_hint(int code)
{
    return code == NNG_EADDRINUSE ? "another process listens on this socket" : nng_strerror(code);
}

// Starts a listener of NNG; *id is its number if the result is 0.
static int
listener_start(nng_socket socket, const char *url, int *id)
{
    nng_listener listener;
    int code = nng_listener_create(&listener, socket, url);
    if (code != 0) {
        return code;
    }
    if (net_url_is_ipc(url)) {
        code = nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, IPC_PERMISSIONS);
    }
    if (code == 0) {
        code = nng_listener_start(listener, 0);
    }
    if (code != 0) {
        (void)nng_listener_close(listener);
    }
    *id = nng_listener_id(listener);
    return code;
}

bool
net_pipe_is_of_this_user(nng_pipe pipe, uint64_t *uid)
{
    *uid = UINT64_MAX;
    return nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_UID, uid) == 0 &&
           (*uid == geteuid() || *uid == 0);
}

static void
ipc_pipe_added(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    uint64_t uid;
    (void)event;
    (void)arg;
    if (!net_pipe_is_of_this_user(pipe, &uid)) {
        (void)nng_pipe_close(pipe);
    }
    net_acceptor_heard(nng_listener_id(nng_pipe_listener(pipe)));
}

static oct_err
listen_direct(net_listening *listening, net_loop *loop, nng_socket socket, const char *url)
{
    int id = 0;
    if (ipc_path_is_taken_by_a_file(url)) {
        oct_log_error("NET-LISTEN", "url=%s error=\"the path exists and is not a socket\"", url);
        return OCT_EIO;
    }
    int code = net_url_is_ipc(url)
                   ? nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, ipc_pipe_added, NULL)
                   : 0;
    if (code == 0) {
        code = listener_start(socket, url, &id);
    }
    if (code != 0) {
        oct_log_error("NET-LISTEN", "url=%s error=\"%s\"", url, listen_hint(code));
        oct_err err = net_err_from_nng(code);
        return err == OCT_EINVAL ? OCT_EINVAL : OCT_EIO;
    }
    if (net_url_is_ipc(url)) {
        listening->acceptor = net_acceptor_create(url, id);
        net_acceptor_watch(listening->acceptor, loop, NET_ACCEPTOR_TICK_MS);
    }
    return OCT_OK;
}

// ---- behind the gate

bool
net_pipe_is_ours(net_gate *gate, nng_pipe pipe)
{
    uint64_t pid = 0;
    bool ours =
        nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_PID, &pid) == 0 && pid == (uint64_t)getpid();
    if (ours) {
        net_gate_pipe_made(gate, nng_listener_id(nng_pipe_listener(pipe)));
    } else {
        (void)nng_pipe_close(pipe);
    }
    return ours;
}

static void
local_pipe_added(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    (void)event;
    (void)net_pipe_is_ours(arg, pipe);
}

// Makes socket listen at path, for net_gate_spec. Threads: the gate's.
static int
local_listen(uint32_t socket, const char *path, oct_reason *why)
{
    char url[NET_GATE_LOCAL_MAX + sizeof("ipc://")];
    nng_listener listener;
    (void)snprintf(url, sizeof(url), "ipc://%s", path);
    int code = nng_listener_create(&listener, (nng_socket){.id = socket}, url);
    if (code == 0) {
        code = nng_listener_set_int(listener, NNG_OPT_IPC_PERMISSIONS, IPC_PERMISSIONS);
        if (code == 0) {
            code = nng_listener_start(listener, 0);
        }
        if (code != 0) {
            (void)nng_listener_close(listener);
        }
    }
    if (code != 0) {
        oct_reason_set(why, "%s: %s", path, nng_strerror(code));
        return -1;
    }
    return nng_listener_id(listener);
}

oct_err
net_gate_spec_of(net_gate_spec *out, nng_socket socket, const net_endpoint *at)
{
    int protocol = 0, peer = 0;
    OCT_TRY(net_err_from_nng(nng_socket_get_int(socket, NNG_OPT_PROTO, &protocol)));
    OCT_TRY(net_err_from_nng(nng_socket_get_int(socket, NNG_OPT_PEER, &peer)));
    *out = (net_gate_spec){
        .url = at->url,
        .roles = at->roles,
        .protocol = (uint16_t)protocol,
        .peer_protocol = (uint16_t)peer,
        .message_bytes_max = at->recv_bytes_max,
        .listen_local = local_listen,
        .socket = socket.id,
    };
    return OCT_OK;
}

static oct_err
listen_gated(net_listening *listening, net_loop *loop, nng_socket socket, const net_endpoint *at)
{
    net_gate_spec spec;
    OCT_TRY(net_gate_spec_of(&spec, socket, at));
    spec.tagged = listening->tagged;
    spec.message_bytes_max -= listening->tagged ? NET_SP_TAG_BYTES : 0;
    OCT_TRY(net_err_from_nng(
        nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, local_pipe_added, net_loop_gate(loop))));
    OCT_TRY(net_gate_listen(net_loop_gate(loop), &spec, &listening->end));
    return net_gate_end_start(listening->end);
}

oct_err
net_listen(net_listening *listening, net_loop *loop, nng_socket socket, const net_endpoint *at)
{
    *listening = (net_listening){.tagged = listening->tagged};
    return net_url_is_tcp(at->url) ? listen_gated(listening, loop, socket, at)
                                   : listen_direct(listening, loop, socket, at->url);
}

oct_role
net_listening_role(const net_listening *listening, nng_msg *msg)
{
    if (listening->end == NULL) {
        return OCT_ROLE_LOCAL;
    }
    int id = nng_listener_id(nng_pipe_listener(nng_msg_get_pipe(msg)));
    return net_gate_end_role(listening->end, id); // OCT_ROLE_NONE: the pipe has ended already
}

void
net_listening_stop(net_listening *listening)
{
    net_gate_end_close(listening->end);
    net_acceptor_destroy(listening->acceptor);
    listening->end = NULL;
    listening->acceptor = NULL;
}

// ---- dialing

oct_err
net_dial(nng_socket socket, const char *url)
{
    nng_dialer dialer;
    int code = nng_dialer_create(&dialer, socket, url);
    if (code == 0) {
        code = nng_dialer_start(dialer, NNG_FLAG_NONBLOCK);
    }
    if (code != 0) {
        oct_log_error("NET-DIAL", "url=%s error=\"%s\"", url, nng_strerror(code));
        oct_err err = net_err_from_nng(code);
        return err == OCT_EINVAL ? OCT_EINVAL : OCT_EIO;
    }
    return OCT_OK;
}

void
net_socket_close(nng_socket socket)
{
    struct timespec rest = {.tv_nsec = REST_NS};
    (void)nanosleep(&rest, NULL);
    (void)nng_close(socket);
}
