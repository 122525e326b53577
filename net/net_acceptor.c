// Connects to the daemon's own local sockets to check that NNG still makes pipes of connections.
#include "net/net_acceptor.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_sp.h"
#include "net/net_url.h"

// Counters of pipes, by listener number modulo this; two listeners in one notice later.
#define LISTENERS     64
#define PROTOCOL_NONE 0
#define TOLD_TICKS    6 // without an answer (3 s) until health reports it

// Counts for the process, because NNG's threads may report a pipe until a socket is closed.
static atomic_uint pipes_made[LISTENERS];
static atomic_uint stuck_count; // listeners that health reports

struct net_acceptor {
    char url[NET_URL_MAX];
    int listener_id;
    int fd; // of the check; -1: no connection
    // The counter's value before the connection, and ticks since it was made and since the last
    // answer.
    bool is_asked;
    unsigned pipes_before;
    unsigned asked_ticks, rest_ticks;
    net_timer *timer;
};

static atomic_uint *
pipes_of(int listener_id)
{
    return &pipes_made[(unsigned)listener_id % LISTENERS];
}

void
net_acceptor_heard(int listener_id)
{
    (void)atomic_fetch_add_explicit(pipes_of(listener_id), 1, memory_order_release);
}

net_acceptor *
net_acceptor_create(const char *url, int listener_id)
{
    net_acceptor *acceptor = oct_alloc(sizeof(*acceptor));
    (void)snprintf(acceptor->url, sizeof(acceptor->url), "%s", url);
    acceptor->listener_id = listener_id;
    acceptor->fd = -1;
    return acceptor;
}

static void
hang_up(net_acceptor *acceptor)
{
    if (acceptor->fd >= 0) {
        (void)close(acceptor->fd);
    }
    acceptor->fd = -1;
    acceptor->is_asked = false;
    if (acceptor->asked_ticks >= TOLD_TICKS) {
        (void)atomic_fetch_sub(&stuck_count, 1);
    }
    acceptor->asked_ticks = acceptor->rest_ticks = 0;
}

void
net_acceptor_destroy(net_acceptor *acceptor)
{
    if (acceptor == NULL) {
        return;
    }
    hang_up(acceptor);
    net_timer_stop(acceptor->timer);
    free(acceptor);
}

// ---- one check

static bool
is_another_process(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid != getpid();
}

// Connects. Returns false if that says nothing about the listener: no descriptors, or another
// process listens. A refused connection or a full backlog counts as asked: no pipe will come.
static bool
ask(net_acceptor *acceptor)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint8_t header[NET_SP_HEADER_BYTES];
    acceptor->pipes_before =
        atomic_load_explicit(pipes_of(acceptor->listener_id), memory_order_acquire);
    const char *path = net_url_ipc_path(acceptor->url);
    memcpy(address.sun_path, path, OCT_MIN(strlen(path), sizeof(address.sun_path) - 1));
    acceptor->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (acceptor->fd < 0) {
        return false;
    }
    net_sp_header_write(header, PROTOCOL_NONE);
    acceptor->is_asked = true;
    if (connect(acceptor->fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        return true;
    }
    return !is_another_process(acceptor->fd) &&
           send(acceptor->fd, header, sizeof(header), MSG_NOSIGNAL) == (ssize_t)sizeof(header);
}

net_acceptor_state
net_acceptor_look(net_acceptor *acceptor)
{
    if (!acceptor->is_asked && !ask(acceptor)) {
        hang_up(acceptor);
        return NET_ACCEPTOR_UNKNOWN;
    }
    unsigned pipes = atomic_load_explicit(pipes_of(acceptor->listener_id), memory_order_acquire);
    if (pipes == acceptor->pipes_before) {
        return NET_ACCEPTOR_ASKED;
    }
    hang_up(acceptor);
    return NET_ACCEPTOR_ANSWERS;
}

// ---- watching

static void
tick(void *arg)
{
    net_acceptor *acceptor = arg;
    bool rests = ++acceptor->rest_ticks < NET_ACCEPTOR_PERIOD_MS / NET_ACCEPTOR_TICK_MS;
    if ((!acceptor->is_asked && rests) || net_acceptor_look(acceptor) != NET_ACCEPTOR_ASKED) {
        return;
    }
    acceptor->asked_ticks++;
    if (acceptor->asked_ticks == TOLD_TICKS) {
        (void)atomic_fetch_add(&stuck_count, 1);
    }
    if (acceptor->asked_ticks == NET_ACCEPTOR_MUTE_TICKS) {
        oct_log_error("NET-LISTENER-STUCK",
                      "url=%s: NNG accepts no more connections there; this process ends and must "
                      "be restarted",
                      acceptor->url);
        _exit(NET_ACCEPTOR_EXIT);
    }
}

void
net_acceptor_watch(net_acceptor *acceptor, net_loop *loop, uint32_t tick_ms)
{
    net_timer_stop(acceptor->timer);
    acceptor->timer = net_timer_start(loop, tick_ms, tick_ms, tick, acceptor);
}

bool
net_acceptor_trouble(char *out, size_t out_size)
{
    unsigned count = atomic_load(&stuck_count);
    if (count > 0) {
        (void)snprintf(out, out_size, "%u of its local sockets accept no connections", count);
    }
    return count > 0;
}
