// Which names, hosts and roles certificates may have.

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/cli_certs.h"
#include "common/oct_base.h"

#define LABEL_MAX 63

// Learner and replay listen and dial; whoever holds another certificate can only dial, and nobody
// will take him for a learner or a replay.
const cli_certs_role cli_certs_roles[] = {
    {"learner", "serverAuth, clientAuth", "octet-learner"},
    {"replay", "serverAuth, clientAuth", "octet-replay"},
    {"actor", "serverAuth, clientAuth", "octet-actor"},
    {"operator", "clientAuth", "octet status"},
};
const size_t cli_certs_role_count = OCT_COUNTOF(cli_certs_roles);

const cli_certs_role *
cli_certs_role_find(const char *name)
{
    for (size_t i = 0; i < OCT_COUNTOF(cli_certs_roles); i++) {
        if (strcmp(name, cli_certs_roles[i].name) == 0) {
            return &cli_certs_roles[i];
        }
    }
    return NULL;
}

static bool
is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool
cli_certs_name_is_valid(const char *name)
{
    static const char *const taken[] = {"db", "ca.crt", "ca.key", "crl.pem", "openssl.cnf"};
    size_t length = strlen(name);
    if (length == 0 || length > CLI_CERTS_NAME_MAX || name[0] == '.' || name[0] == '-') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_plain(name[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < OCT_COUNTOF(taken); i++) {
        if (strcasecmp(name, taken[i]) == 0) {
            return false;
        }
    }
    return true;
}

bool
cli_certs_host_is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

// Labels of letters, digits, '-' and '_' between dots. The last one is no number: 10.0.0.256 is a
// mistyped address.
static bool
is_dns_name(const char *host)
{
    size_t length = strlen(host), label = 0;
    bool is_number = true;
    if (length == 0 || length > CLI_CERTS_HOST_MAX) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (host[i] == '.') {
            if (label == 0 || i + 1 == length || host[i - 1] == '-') {
                return false;
            }
            label = 0;
            is_number = true;
            continue;
        }
        if (!is_plain(host[i]) || (label == 0 && host[i] == '-') || ++label > LABEL_MAX) {
            return false;
        }
        is_number = is_number && isdigit((unsigned char)host[i]);
    }
    return !is_number && host[length - 1] != '-';
}

bool
cli_certs_host_is_valid(const char *host)
{
    return cli_certs_host_is_address(host) || is_dns_name(host);
}

// One spelling for each address, so that openssl's "FE80:0:0:0:0:0:0:1" is not a second one.
static void
host_spell(char out[CLI_CERTS_HOST_MAX + 1], const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET6, host, bytes) != 1 ||
        inet_ntop(AF_INET6, bytes, out, CLI_CERTS_HOST_MAX + 1) == NULL) {
        (void)snprintf(out, CLI_CERTS_HOST_MAX + 1, "%s", host);
    }
}

bool
cli_certs_host_add(cli_certs_request *request, const char *host)
{
    char spelt[CLI_CERTS_HOST_MAX + 1];
    OCT_ASSERT(strlen(host) <= CLI_CERTS_HOST_MAX);
    host_spell(spelt, host);
    for (size_t i = 0; i < request->host_count; i++) {
        if (strcasecmp(request->hosts[i], spelt) == 0) {
            return true;
        }
    }
    if (request->host_count == OCT_COUNTOF(request->hosts)) {
        return false;
    }
    (void)snprintf(request->hosts[request->host_count++], sizeof(request->hosts[0]), "%s", spelt);
    return true;
}
