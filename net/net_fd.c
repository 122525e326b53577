#include "net/net_fd.h"

#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"

#define ABSTRACT "abstract://"
#define KIND     (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

int
net_fd_listen(const struct addrinfo *address, int backlog)
{
    int yes = 1;
    int fd = socket(address->ai_family, KIND, 0);
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
         bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, backlog) != 0)) {
        int code = errno;
        (void)close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

bool
net_fd_local_address(const char *name, struct sockaddr_un *out, socklen_t *size)
{
    bool is_abstract = strncmp(name, ABSTRACT, strlen(ABSTRACT)) == 0;
    const char *path = is_abstract ? name + strlen(ABSTRACT) : name;
    size_t length = strlen(path);
    if (length == 0 || length > NET_FD_LOCAL_MAX) {
        return false;
    }
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + is_abstract, path, length); // an abstract name begins with a zero byte
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    return true;
}

int
net_fd_local_connect(const char *name)
{
    struct sockaddr_un address;
    socklen_t size;
    OCT_ASSERT(net_fd_local_address(name, &address, &size));
    int fd = socket(AF_UNIX, KIND, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}
