#ifndef NET_NET_FD_H
#define NET_NET_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct addrinfo;

// Sockets of our own, beside those of NNG. Private to net/. Threads: any. All are stream sockets
// that never block and that child processes do not inherit.

// Returns a socket that listens at address, or -1 with errno. The IPv6 wildcard accepts IPv4, too.
int net_fd_listen(const struct addrinfo *address, int backlog);
// Does the same at that port of every address of this machine, of IPv6 and IPv4 as far as the
// machine has them. IPv4 peers then have IPv6 addresses of the form ::ffff:a.b.c.d.
int net_fd_listen_everywhere(const char *port, int backlog);
// Returns a socket that is connected to address, or -1 with errno; ETIMEDOUT: no answer until
// end_ns (oct_clock_ns). Blocks until then at most.
int net_fd_connect(const struct addrinfo *address, uint64_t end_ns);
// Blocks until an event of poll in events comes. Returns false if none has come until end_ns.
bool net_fd_wait(int fd, short events, uint64_t end_ns);
// Fills in the address of a path. Returns false if the path is empty or longer than
// NET_FD_LOCAL_MAX bytes.
#define NET_FD_LOCAL_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
bool net_fd_local_address(const char *path, struct sockaddr_un *out, socklen_t *size);
// Returns a socket that is connected to path, or -1 with errno; EAGAIN: the listener's backlog is
// full.
int net_fd_local_connect(const char *path);

// Prepares a TCP connection between hosts: messages leave at once, the kernel asks an idle peer
// every second for a sign of life, and it keeps little unsent, so that data does not grow stale on
// a slow link.
void net_fd_prepare(int fd);
// Returns true if the peer of such a connection was asked for a sign of life and has given none for
// longer than limit_ms.
bool net_fd_is_silent(int fd, unsigned limit_ms);
// Makes the coming close reset the connection at once, so that the kernel keeps no state for it.
void net_fd_reset(int fd);

#endif // NET_NET_FD_H
