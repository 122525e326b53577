#ifndef NET_NET_HTTP_H
#define NET_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "net/net_loop.h"
#include "net/net_url.h"

// A small HTTP server for a daemon's own numbers and for octet's pages: GET and HEAD of a few
// paths, HTTP/1.0 and 1.1, one request per connection. libmicrohttpd parses
// (docs/internals/decisions/0020-http-server.md). The handler runs on the loop, so it may read all
// that the daemon's other handlers read.
//
// https:// is served behind the gate (net_gate.h), which does TLS, admits only certificates of the
// role operator, and applies its limits of connections and handshakes before those below. The gate
// passes plain HTTP on to a local socket in a folder that other users cannot enter.
//
// Threads: the loop thread. Owns: its socket and connections.
// Bounds: at most NET_HTTP_CONNECTIONS_MAX connections; when the last slot is taken, the oldest
// other connection is closed, first of those without a complete request. Further ones wait in the
// kernel's queue (NET_HTTP_BACKLOG). Request line and headers may take NET_HTTP_MEMORY_BYTES per
// connection, otherwise the answer is 431 or 413. A connection is cut NET_HTTP_DEADLINE_MS after
// accept, even if its peer keeps sending. Bodies of requests are not read.
typedef struct net_http net_http;

#define NET_HTTP_CONNECTIONS_MAX 16
#define NET_HTTP_BACKLOG         64
#define NET_HTTP_MEMORY_BYTES    16384
#define NET_HTTP_DEADLINE_MS     5000
#define NET_HTTP_PATH_MAX        128 // bytes; longer ones are 404

typedef struct net_http_request {
    const char *path; // without the query
    const char *host; // value of the Host header, HOST or HOST:PORT; NULL: no such header
} net_http_request;

typedef struct net_http_answer {
    int status;               // 200, 404, 503 ...
    const char *content_type; // static
    char *body;               // NULL: empty
    size_t length;
    // Frees body, with owner as its argument, once the body is sent or given up. NULL: free(body).
    void (*release)(void *owner);
    void *owner;
    // Static: name, value, name, value ..., NULL. NULL: no other headers.
    const char *const *headers;
} net_http_answer;

// Fills in an answer; its body is a copy of bytes.
void net_http_answer_copy(net_http_answer *out, int status, const char *content_type,
                          const char *bytes, size_t length);

// Answers GET or HEAD by filling in *out, which begins as an empty 404.
typedef void (*net_http_fn)(void *arg, const net_http_request *request, net_http_answer *out);

// What may be served, and which options of the program allow more; error messages name these
// options.
typedef struct net_http_terms {
    bool insecure;              // http:// on other addresses than loopback is allowed
    bool has_tls;               // there are certificates for https
    const char *to_be_insecure; // "--insecure"; NULL: none
    const char *to_have_tls;    // the option, "--tls FOLDER"
} net_http_terms;

// Checks an address: http://HOST:PORT, where HOST must be loopback unless insecure, or
// https://HOST:PORT, which needs certificates; a final / is allowed. OCT_EINVAL, with one line for
// a person in reason: the address breaks a rule.
OCT_CHECKED oct_err net_http_check(const char *url, const net_http_terms *terms, oct_reason *why);

// Listens. An http:// address of loopback refuses requests for other hosts (net_http_set_local).
// Errors are logged (NET-HTTP; NET-LISTEN for a port of https):
//   OCT_EINVAL  the address is wrong, or it is https and net_loop_use_tls was not called before
//   OCT_EIO  the address cannot be listened on
OCT_CHECKED oct_err net_http_open(net_http **out, net_loop *loop, const char *url,
                                  net_http_fn handler, void *arg);
// Serves plain HTTP on a listening stream socket of any family, for a caller that puts encryption
// before it; only that caller may be able to reach the socket. Takes take_fd, on failure too.
// OCT_EIO: no memory or descriptors (logged).
OCT_CHECKED oct_err net_http_open_fd(net_http **out, net_loop *loop, int take_fd,
                                     net_http_fn handler, void *arg);
// Makes a socket for net_http_open_fd at an http:// address. OCT_EINVAL: the address is wrong;
// OCT_EIO: it cannot be listened on; both with one line for a person in reason.
OCT_CHECKED oct_err net_http_listen(int *fd, const char *url, oct_reason *why);
// Returns true if host, of a request, names this machine as its own programs do: localhost or a
// loopback address, with any port; NULL is false. Any other name that resolves to this machine must
// not count: answering it would let a foreign web page read what is served here (DNS rebinding).
bool net_http_is_local(const char *host);
// Makes the server answer 403 to requests whose Host is missing or not local (net_http_is_local).
void net_http_set_local(net_http *http);
// Makes a socket for net_http_open_fd at a path of at most 107 bytes, which only this user can
// connect to (0600). OCT_EIO: it cannot be made (logged).
OCT_CHECKED oct_err net_http_listen_local(int *fd, const char *path);
unsigned net_http_port(const net_http *http); // the TCP port; 0 with https or a local socket
unsigned net_http_connections(const net_http *http);
void net_http_close(net_http *http); // NULL is a no-op

// A client for checks: sends GET path (for example "/healthz") to url (http://HOST:PORT). *status
// is the code, body the 0-terminated body, cut to body_size. Blocks for timeout_ms at most, so it
// must not run on a loop; resolving a host name is not bounded by that. Errors, with one line in
// reason:
//   OCT_EINVAL  the address is wrong or https
//   OCT_EIO  no process answers, or the connection was closed early
//   OCT_ETIMEDOUT  no answer in time
//   OCT_EPROTO  the answer is not HTTP
OCT_CHECKED oct_err net_http_get(const char *url, const char *path, uint32_t timeout_ms,
                                 int *status, char *body, size_t body_size, oct_reason *why);

// ---- for the files net_http*.c
#define NET_HTTP_NO_TLS "https needs certificates"

typedef struct net_http_address {
    char host[256]; // without brackets
    char port[8];
    bool is_https;
} net_http_address;

// Takes an http:// or https:// address apart. OCT_EINVAL, with one line for a person in reason.
OCT_CHECKED oct_err net_http_parse(const char *url, net_http_address *out, oct_reason *why);

#endif // NET_NET_HTTP_H
