// sendmsg(2) of this process, in place of the C library's: it keeps NNG's local listeners alive.
//
// NNG 1.5.2 takes EPIPE for "this socket was closed here" (NNG_ECLOSED). A listener that writes its
// header to a peer that has disconnected, or a dialer whose peer disconnects in the middle of the
// handshake, then stops for good and without an error. ECONNRESET means the same to the writer, and
// after it both continue. So a write to a local socket gives ECONNRESET here; NNG writes only with
// sendmsg. Linking this file into a program (net/meson.build) is enough: its definition precedes
// that of the C library for libnng, too. It is weak for the one test in which listeners must stop.
// docs/internals/decisions/0017-gate.md says more.
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool
is_local(int fd)
{
    int domain = 0;
    socklen_t size = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

__attribute__((weak)) ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t sent = syscall(SYS_sendmsg, fd, message, flags);
    if (sent < 0 && errno == EPIPE) {
        errno = is_local(fd) ? ECONNRESET : EPIPE;
    }
    return sent;
}
