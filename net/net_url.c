// Parses and checks the addresses of endpoints: tls+tcp://, tcp://, ipc:// and inproc://.
#include "net/net_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"

#define TCP             "tcp://"
#define TLS             "tls+tcp://"
#define IPC             "ipc://"
#define INPROC          "inproc://"
#define PORT_MAX        65535
#define IPC_PATH_MAX    (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
#define INPROC_NAME_MAX 120 // NNG's NNG_MAXADDRLEN is 128

// A tcp address in parts. host has no brackets, and is empty in tcp://:PORT.
typedef struct tcp_address {
    char host[NET_URL_MAX];
    unsigned port;
    bool is_ipv6;
} tcp_address;

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Returns what precedes the host: TCP or TLS; NULL: another scheme.
static const char *
tcp_scheme(const char *url)
{
    return starts_with(url, TCP) ? TCP : starts_with(url, TLS) ? TLS : NULL;
}

OCT_PRINTF(2, 3)
static oct_err
url_print(char out[NET_URL_MAX], const char *format, ...)
{
    char text[NET_URL_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(text)) {
        return OCT_EINVAL;
    }
    memcpy(out, text, (size_t)length + 1); // out may overlap the arguments
    return OCT_OK;
}

static bool
port_parse(const char *text, unsigned *out)
{
    unsigned port = 0;
    size_t digits = strlen(text);
    if (digits == 0 || digits > 5) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    if (port == 0 || port > PORT_MAX) {
        return false;
    }
    *out = port;
    return true;
}

static bool
host_is_well_formed(const char *host, bool is_ipv6)
{
    if (is_ipv6) {
        struct in6_addr address;
        return inet_pton(AF_INET6, host, &address) == 1;
    }
    if (strcmp(host, "*") == 0) {
        return true;
    }
    for (; *host != '\0'; host++) {
        if (!isalnum((unsigned char)*host) && strchr("-._", *host) == NULL) {
            return false;
        }
    }
    return true;
}

// Parses rest, which follows the scheme.
static oct_err
tcp_parse(const char *rest, tcp_address *out, oct_reason *why)
{
    bool is_ipv6 = rest[0] == '[';
    const char *host = rest + is_ipv6;
    size_t length = strcspn(host, is_ipv6 ? "]" : ":");
    const char *after = host + length;
    if (is_ipv6) {
        if (*after != ']') {
            return oct_refuse(why, "the address has [ without ]");
        }
        after++;
    }
    if (*after != ':' || !port_parse(after + 1, &out->port)) {
        return oct_refuse(why, "a tcp address ends in :PORT, a number from 1 to %d", PORT_MAX);
    }
    if (length >= sizeof(out->host)) {
        return oct_refuse(why, "the host is too long");
    }
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    out->is_ipv6 = is_ipv6;
    if (!host_is_well_formed(out->host, is_ipv6)) {
        return oct_refuse(why, "'%s' is neither a host name nor an address (IPv6 goes in [ ])",
                          out->host);
    }
    return OCT_OK;
}

static bool
host_is_wildcard(const tcp_address *address)
{
    struct in6_addr ipv6;
    if (address->is_ipv6) {
        return inet_pton(AF_INET6, address->host, &ipv6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&ipv6);
    }
    return address->host[0] == '\0' || strcmp(address->host, "*") == 0 ||
           strcmp(address->host, "0.0.0.0") == 0;
}

static bool
host_is_loopback(const tcp_address *address)
{
    if (address->is_ipv6) {
        struct in6_addr ipv6;
        return inet_pton(AF_INET6, address->host, &ipv6) == 1 && IN6_IS_ADDR_LOOPBACK(&ipv6);
    }
    struct in_addr ipv4;
    if (inet_pton(AF_INET, address->host, &ipv4) == 1) {
        return ntohl(ipv4.s_addr) >> 24 == 127;
    }
    return strcasecmp(address->host, "localhost") == 0;
}

static oct_err
tcp_check(const char *rest, bool insecure, oct_reason *why)
{
    tcp_address address;
    OCT_TRY(tcp_parse(rest, &address, why));
    if (!insecure) {
        if (host_is_wildcard(&address)) {
            return oct_refuse(
                why,
                "'%s' means every interface of this machine, without encryption or authentication: "
                "use tls+tcp://, or give --insecure if the network is trusted",
                address.host);
        }
        if (host_is_loopback(&address)) {
            return oct_refuse(why,
                              "'%s' is open to every user of this machine, without authentication: "
                              "use ipc:// (or tls+tcp://), or give --insecure if they are trusted",
                              address.host);
        }
        return oct_refuse(why,
                          "'%s' is on another machine, without encryption or authentication: use "
                          "tls+tcp://, or give --insecure if the network is trusted",
                          address.host);
    }
    return OCT_OK;
}

bool
net_url_is_tls(const char *url)
{
    return starts_with(url, TLS);
}

bool
net_url_is_loopback(const char *url)
{
    tcp_address address;
    return net_url_is_tcp(url) &&
           tcp_parse(url + strlen(tcp_scheme(url)), &address, NULL) == OCT_OK &&
           host_is_loopback(&address);
}

bool
net_url_is_wildcard(const char *url)
{
    tcp_address address;
    return net_url_is_tcp(url) &&
           tcp_parse(url + strlen(tcp_scheme(url)), &address, NULL) == OCT_OK &&
           host_is_wildcard(&address);
}

bool
net_url_is_ipc(const char *url)
{
    return net_url_ipc_path(url) != NULL;
}

const char *
net_url_ipc_path(const char *url)
{
    return starts_with(url, IPC) ? url + strlen(IPC) : NULL;
}

bool
net_url_is_tcp(const char *url)
{
    return tcp_scheme(url) != NULL;
}

oct_err
net_url_host(const char *url, char host[NET_URL_MAX], unsigned *port)
{
    tcp_address address;
    if (tcp_scheme(url) == NULL) {
        return OCT_EINVAL;
    }
    OCT_TRY(tcp_parse(url + strlen(tcp_scheme(url)), &address, NULL));
    memcpy(host, address.host, sizeof(address.host));
    *port = address.port;
    return OCT_OK;
}

static oct_err
name_check(const char *name, size_t length_max, oct_reason *why)
{
    size_t length = strlen(name);
    if (length == 0) {
        return oct_refuse(why, "nothing follows ://");
    }
    if (length > length_max) {
        return oct_refuse(why, "%zu bytes follow ://, at most %zu are allowed", length, length_max);
    }
    return OCT_OK;
}

oct_err
net_url_check(const char *url, bool insecure, oct_reason *why)
{
    if (strlen(url) >= NET_URL_MAX) {
        return oct_refuse(why, "the address is longer than %d bytes", NET_URL_MAX - 1);
    }
    if (oct_text_has_control(url, strlen(url))) {
        return oct_refuse(why, "the address has a control character");
    }
    if (tcp_scheme(url) != NULL) {
        const char *rest = url + strlen(tcp_scheme(url));
        return tcp_check(rest, insecure || net_url_is_tls(url), why);
    }
    if (net_url_is_ipc(url)) {
        return name_check(net_url_ipc_path(url), IPC_PATH_MAX, why);
    }
    if (starts_with(url, INPROC)) {
        return name_check(url + strlen(INPROC), INPROC_NAME_MAX, why);
    }
    return oct_refuse(why, "an address is tls+tcp://HOST:PORT, tcp://HOST:PORT, ipc://PATH or "
                           "inproc://NAME");
}

oct_err
net_url_absolute(const char *url, char out[NET_URL_MAX])
{
    char folder[NET_URL_MAX];
    const char *path = net_url_ipc_path(url);
    bool is_relative = path != NULL && path[0] != '/';
    if (!is_relative || getcwd(folder, sizeof(folder)) == NULL ||
        strlen(folder) + 1 + strlen(path) + NET_URL_OFFSET_BYTES > IPC_PATH_MAX) {
        return url_print(out, "%s", url);
    }
    return url_print(out, IPC "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, path);
}

static oct_err
tcp_print(char out[NET_URL_MAX], const char *scheme, const tcp_address *address, unsigned port)
{
    return url_print(out, address->is_ipv6 ? "%s[%s]:%u" : "%s%s:%u", scheme, address->host, port);
}

oct_err
net_url_offset(const char *url, unsigned offset, char out[NET_URL_MAX])
{
    char result[NET_URL_MAX];
    if (offset == 0) {
        OCT_TRY(url_print(result, "%s", url));
    } else if (tcp_scheme(url) != NULL) {
        tcp_address address;
        OCT_TRY(tcp_parse(url + strlen(tcp_scheme(url)), &address, NULL));
        if (offset > PORT_MAX - address.port) {
            return OCT_EINVAL;
        }
        OCT_TRY(tcp_print(result, tcp_scheme(url), &address, address.port + offset));
    } else {
        OCT_TRY(url_print(result, "%s.%u", url, offset));
    }
    // The appended part may make the address too long. The caller has already checked that the
    // original may be used.
    OCT_TRY(net_url_check(result, true, NULL));
    return url_print(out, "%s", result);
}

oct_err
net_url_line(const char *relay, unsigned line, char out[NET_URL_MAX])
{
    return net_url_offset(relay, 2 * line, out);
}

oct_err
net_url_check_relay(const char *relay, const char *learner, unsigned lines, oct_reason *why)
{
    char last[NET_URL_MAX];
    size_t scheme = strcspn(learner, ":") + 1;
    // A peer that may use the learner's address may use another of its kind.
    OCT_TRY(net_url_check(relay, true, why));
    if (!net_url_is_ipc(relay) && strncmp(relay, learner, scheme) != 0) {
        return oct_refuse(
            why,
            "the learner's address begins with %.*s//, so a relay's has to begin with "
            "it or with ipc://",
            (int)scheme, learner);
    }
    if (net_url_line(relay, lines - 1, last) != OCT_OK || net_url_offset(last, 2, last) != OCT_OK) {
        return oct_refuse(why, "it leaves no room for the %u addresses after it", 2 * lines);
    }
    return OCT_OK;
}

oct_err
net_url_as_seen_from(const char *url, const char *reached, char out[NET_URL_MAX])
{
    if (tcp_scheme(url) == NULL || tcp_scheme(reached) == NULL) {
        return url_print(out, "%s", url);
    }
    tcp_address named;
    tcp_address via;
    OCT_TRY(tcp_parse(url + strlen(tcp_scheme(url)), &named, NULL));
    OCT_TRY(tcp_parse(reached + strlen(tcp_scheme(reached)), &via, NULL));
    if (!host_is_wildcard(&named) && !host_is_loopback(&named)) {
        return url_print(out, "%s", url);
    }
    return tcp_print(out, tcp_scheme(url), &via, named.port);
}
