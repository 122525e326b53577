#ifndef NET_NET_FD_H
#define NET_NET_FD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct addrinfo;

// Sockets of our own, beside those of NNG. Private to net/. Threads: any. All are streams that
// never block and that no child process gets.

// A socket that listens there, or -1 with errno. That of IPv6's wildcard takes IPv4, too.
int net_fd_listen(const struct addrinfo *address, int backlog);
// The same at that port of every address of this machine: of IPv4 and IPv6, where there is that.
// Peers of IPv4 then have addresses of IPv6 that hold theirs (::ffff:a.b.c.d).
int net_fd_listen_everywhere(const char *port, int backlog);
// A socket that is connected to it, or -1 with errno; ETIMEDOUT: not until end_ns, by
// oct_clock_ns. Blocks until then at most.
int net_fd_connect(const struct addrinfo *address, uint64_t end_ns);
// Blocks until poll's events come; false: not until end_ns.
bool net_fd_wait(int fd, short events, uint64_t end_ns);
// The address of a path; false: it is empty or longer than NET_FD_LOCAL_MAX bytes.
#define NET_FD_LOCAL_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
bool net_fd_local_address(const char *path, struct sockaddr_un *out, socklen_t *size);
// A socket that is connected to it, or -1 with errno. The other side must be able to take it at
// once.
int net_fd_local_connect(const char *path);

// A TCP connection between hosts: messages leave at once, an idle peer is asked every second
// whether it lives, and the kernel keeps little unsent, so that a slow link does not grow stale.
void net_fd_prepare(int fd);
// Of such a connection: asked for a sign of life, its peer gave none for longer than that.
bool net_fd_is_silent(int fd, unsigned limit_ms);
// The coming close ends the connection at once and leaves nothing of it in the kernel.
void net_fd_reset(int fd);

#endif // NET_NET_FD_H
