// Parses and checks http:// and https:// addresses by the rules of tcp:// addresses: the same hosts
// and ports are allowed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_reason.h"
#include "net/net_http.h"

#define TCP "tcp://"

static const char *
scheme_end(const char *url, bool *is_https)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(schemes[i]);
        if (strncmp(url, schemes[i], length) == 0) {
            *is_https = i == 1;
            return url + length;
        }
    }
    return NULL;
}

oct_err
net_http_parse(const char *url, net_http_address *out, oct_reason *why)
{
    bool is_https = false;
    const char *rest = scheme_end(url, &is_https);
    if (rest == NULL || strlen(url) >= NET_URL_MAX - sizeof(TCP)) {
        return oct_refuse(
            why, "an address is http://HOST:PORT or https://HOST:PORT, of at most %zu bytes",
            NET_URL_MAX - sizeof(TCP) - 1);
    }
    size_t length = strcspn(rest, "/");
    char tcp[NET_URL_MAX];
    (void)snprintf(tcp, sizeof(tcp), TCP "%.*s", (int)length, rest);
    if (net_url_check(tcp, true, why) != OCT_OK) {
        return OCT_EINVAL;
    }
    if (rest[length] != '\0' && rest[length + 1] != '\0') {
        return oct_refuse(why, "the address must end after the port, as in %.*sHOST:PORT",
                          (int)(rest - url), url);
    }
    const char *colon = strrchr(tcp, ':'); // net_url_check has seen a port
    const char *host = tcp + strlen(TCP);
    bool is_bracketed = host[0] == '[';
    int host_length = (int)(colon - host) - 2 * is_bracketed;
    if ((size_t)host_length >= sizeof(out->host)) {
        return oct_refuse(why, "the host is too long");
    }
    out->is_https = is_https;
    (void)snprintf(out->host, sizeof(out->host), "%.*s", host_length, host + is_bracketed);
    (void)snprintf(out->port, sizeof(out->port), "%.6s", colon + 1);
    return OCT_OK;
}

bool
net_http_is_local(const char *host)
{
    char tcp[NET_URL_MAX];
    if (host == NULL || strlen(host) > 64) {
        return false;
    }
    // Appends any port where there is none: browsers leave out 80.
    const char *behind = host[0] == '[' ? strchr(host, ']') : host;
    bool has_port = behind != NULL && strchr(behind, ':') != NULL;
    (void)snprintf(tcp, sizeof(tcp), TCP "%s%s", host, has_port ? "" : ":80");
    return net_url_check(tcp, true, NULL) == OCT_OK && net_url_is_loopback(tcp);
}

oct_err
net_http_check(const char *url, const net_http_terms *terms, oct_reason *why)
{
    net_http_address address;
    OCT_TRY(net_http_parse(url, &address, why));
    if (address.is_https && !terms->has_tls) {
        return oct_refuse(why, NET_HTTP_NO_TLS ": %s", terms->to_have_tls);
    }
    if (address.is_https) {
        return OCT_OK;
    }
    char tcp[NET_URL_MAX];
    bool is_ipv6 = strchr(address.host, ':') != NULL;
    (void)snprintf(tcp, sizeof(tcp), is_ipv6 ? TCP "[%s]:%s" : TCP "%s:%s", address.host,
                   address.port);
    OCT_TRY(net_url_check(tcp, true, why));
    if (!terms->insecure && !net_url_is_loopback(tcp)) {
        bool may = terms->to_be_insecure != NULL;
        return oct_refuse(
            why,
            "'%s' is open to other machines, without encryption or authentication: use "
            "https://%s%s%s",
            address.host, may ? ", or give " : "", may ? terms->to_be_insecure : "",
            may ? " if the network is trusted" : "");
    }
    return OCT_OK;
}
