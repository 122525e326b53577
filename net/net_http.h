#ifndef NET_NET_HTTP_H
#define NET_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net_loop.h"
#include "net/net_url.h"

// A small HTTP server for a daemon's own numbers and for octet's pages: GET and HEAD of a few
// paths, HTTP/1.0 and 1.1, one request a connection. libmicrohttpd parses
// (docs/internals/decisions/0020-http-server.md); the handler runs on the loop, so it may read
// whatever the daemon's other handlers read.
//
// https:// is served behind the gate (net/net_gate.h): TLS, certificates of role operator only, its
// bounds of connections and handshakes before those below. Plain HTTP goes from there to a local
// socket in a folder that nobody else may enter.
//
// Threads: the loop thread. Owns: its socket and connections.
// Bounds: NET_HTTP_CONNECTIONS_MAX connections at once, of which the oldest is closed when the last
// place is taken, first those whose request is not complete; further ones wait in the kernel's
// queue (NET_HTTP_BACKLOG); NET_HTTP_MEMORY_BYTES of each for request line and headers, else 431 or
// 413; NET_HTTP_DEADLINE_MS from accept to the last byte of the answer, then it is cut, however
// often the peer sends something. Bodies of requests are not read.
typedef struct net_http net_http;

#define NET_HTTP_CONNECTIONS_MAX 16
#define NET_HTTP_BACKLOG         64
#define NET_HTTP_MEMORY_BYTES    16384
#define NET_HTTP_DEADLINE_MS     5000
#define NET_HTTP_PATH_MAX        128 // bytes; longer ones are 404

typedef struct net_http_request {
    const char *path; // without its query
    const char *host; // of the header of that name, HOST or HOST:PORT; NULL: there is none
} net_http_request;

typedef struct net_http_answer {
    int status;               // 200, 404, 503 …
    const char *content_type; // static
    char *body;               // NULL: none
    size_t length;
    void (*release)(void *owner); // of body, once it is sent or given up; NULL: free(body)
    void *owner;
    const char *const *headers; // static: names and values in turn, then NULL. NULL: no others
} net_http_answer;

// Fills in an answer whose body is a copy of bytes.
void net_http_answer_copy(net_http_answer *out, int status, const char *content_type,
                          const char *bytes, size_t length);

// GET or HEAD. Fill *out; it is a 404 before.
typedef void (*net_http_fn)(void *arg, const net_http_request *request, net_http_answer *out);

// What may be served, and which options of the program change that: reasons name them.
typedef struct net_http_terms {
    bool insecure;              // http beyond this machine
    bool has_tls;               // there are certificates, for https
    const char *to_be_insecure; // "--insecure"; NULL: nothing
    const char *to_have_tls;    // "--tls FOLDER"
} net_http_terms;

// An address: http://HOST:PORT, where HOST must be of this machine (loopback) unless insecure, or
// https://HOST:PORT, for which there must be certificates; with or without a / behind it.
// OCT_EINVAL with one line for a person in reason.
OCT_CHECKED oct_err net_http_check(const char *url, const net_http_terms *terms, char *reason,
                                   size_t reason_size);

// Listens. At an http:// address of loopback requests for another host are refused
// (net_http_set_local). OCT_EIO: it cannot be listened on; OCT_EINVAL: the address, or https
// without net_loop_use_tls before. Both are logged (NET-HTTP; NET-LISTEN for a port of https).
OCT_CHECKED oct_err net_http_open(net_http **out, net_loop *loop, const char *url,
                                  net_http_fn handler, void *arg);
// The plain side alone, for who puts the encryption before it: takes a socket that listens, of any
// family (stream). Nobody but that one may reach it. Owns: fd, on failure too.
OCT_CHECKED oct_err net_http_open_fd(net_http **out, net_loop *loop, int take_fd,
                                     net_http_fn handler, void *arg);
// A socket for net_http_open_fd at an http:// address. OCT_EIO, OCT_EINVAL: one line for a person
// in reason.
OCT_CHECKED oct_err net_http_listen(int *fd, const char *url, char *reason, size_t reason_size);
// Whether host (of a request) names this machine as its own programs do: localhost or an address of
// loopback, with any port. A name that a stranger has let point to this machine does not; to answer
// it would let that stranger's page read what is served here (DNS rebinding).
bool net_http_is_local(const char *host);
// From now on a request whose Host is missing, or not of this machine (net_http_is_local), is
// answered with 403.
void net_http_set_local(net_http *http);
// A socket for net_http_open_fd, for peers on this machine: at a path of at most 107 bytes, for
// this user alone (0600). OCT_EIO: logged.
OCT_CHECKED oct_err net_http_listen_local(int *fd, const char *path);
unsigned net_http_port(const net_http *http); // of TCP, else 0: https, a local socket
unsigned net_http_connections(const net_http *http);
void net_http_close(net_http *http); // NULL is a no-op

// The other side, for checks: GET of path ("/healthz") at url (http://HOST:PORT) in at most
// timeout_ms. *status gets the code, body (0-terminated, cut to size) what came with it.
// OCT_EINVAL: the address, https too; OCT_EIO: nobody answers; OCT_ETIMEDOUT; OCT_EPROTO: that was
// no HTTP. One line in reason. Blocks: not for a loop.
OCT_CHECKED oct_err net_http_get(const char *url, const char *path, uint32_t timeout_ms,
                                 int *status, char *body, size_t body_size, char *reason,
                                 size_t reason_size);

// ---- for net_http*.c
#define NET_HTTP_NO_TLS "https needs certificates"

typedef struct net_http_address {
    char host[256]; // without brackets
    char port[8];
    bool is_https;
} net_http_address;

OCT_CHECKED oct_err net_http_parse(const char *url, net_http_address *out, char *reason,
                                   size_t reason_size);

#endif // NET_NET_HTTP_H
