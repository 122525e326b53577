#ifndef NET_NET_FD_H
#define NET_NET_FD_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct addrinfo;

// Sockets of our own, beside those of NNG. Private to net/. Threads: any. All are streams that
// never block and that no child process gets.

// A socket that listens there, or -1 with errno.
int net_fd_listen(const struct addrinfo *address, int backlog);
// The address of abstract://NAME or of a path; false: it is empty or longer than
// NET_FD_LOCAL_MAX bytes.
#define NET_FD_LOCAL_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 2)
bool net_fd_local_address(const char *name, struct sockaddr_un *out, socklen_t *size);
// A socket that is connected to it, or -1. The other side must be able to take it at once.
int net_fd_local_connect(const char *name);

#endif // NET_NET_FD_H
