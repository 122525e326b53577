// The connections to a run on other hosts, and the reasons of their failures.

#include "cli/remote/cli_remote.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/remote/cli_link.h"
#include "common/oct_reason.h"
#include "net/net_probe.h"

struct cli_remote {
    net_loop *loop;
    bool insecure, asks_once;
    uint64_t run_meant; // cli_remote_options.run_id
    struct {
        cli_link link;
        char url[NET_URL_MAX]; // "": there is no such daemon, or its address is not known
    } daemons[CLI_REMOTE_DAEMONS];
    uint64_t run_id;
    config_experiment config;
    bool meeting, closing; // a call of cli_remote_register is in flight; cli_remote_close has begun
    cli_remote_fn done;    // of cli_remote_register
    void *done_arg;
};

// ---- options

const oct_arg cli_remote_rows[] = {
    {OCT_ARG_TEXT("learner", "ADDRESS", cli_remote_options, learner),
     .help = "Use the run whose learner has this address, which its actors use, too: "
             "tls+tcp://HOST:5555"},
    {OCT_ARG_TEXT("replay", "ADDRESS", cli_remote_options, replay),
     .help = "Use replay at this address, or its shards at these addresses, separated by commas "
             "(default: as the learner reports)"},
    {OCT_ARG_PATH("tls", "FOLDER", cli_remote_options, tls),
     .help = "Read the certificates of the role operator for tls+tcp:// addresses from FOLDER "
             "(default: $OCTET_TLS)"},
    {OCT_ARG_FLAG("insecure", cli_remote_options, insecure),
     .help = "Allow tcp:// addresses, which have no TLS; for trusted networks"},
    {0},
};

// A command that is given a run's folder goes there before it reads the certificates.
static void
tls_make_absolute(cli_remote_options *options)
{
    static char path[2 * PATH_MAX]; // of the one command of this process
    char here[PATH_MAX];
    if (options->tls != NULL && options->tls[0] != '/' && getcwd(here, sizeof(here)) != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", here, options->tls);
        options->tls = path;
    }
}

void
cli_remote_default(cli_remote_options *options)
{
    *options = (cli_remote_options){.tls = net_loop_tls_default()};
}

// Takes the next address of a list. False: there is none left.
static bool
address_next(const char **list, char out[NET_URL_MAX])
{
    if (*list == NULL || **list == '\0') {
        return false;
    }
    size_t length = strcspn(*list, ",");
    (void)snprintf(out, NET_URL_MAX, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static void
address_check(const char *command, const char *option, const char *url, bool insecure)
{
    oct_reason why;
    if (net_url_check(url, insecure, &why) != OCT_OK) {
        cli_usage_error(command, "%s '%s': %s", option, url, why.text);
    }
}

static void
replays_check(const char *command, const char *list, bool insecure)
{
    char url[NET_URL_MAX] = "";
    uint32_t count = 0;
    do {
        (void)address_next(&list, url); // of an empty list: ""
        address_check(command, "--replay", url, insecure);
        if (++count > CONFIG_SHARDS_MAX) {
            cli_usage_error(command, "--replay: more than %d addresses", CONFIG_SHARDS_MAX);
        }
    } while (*list != '\0');
}

void
cli_remote_check(const char *command, cli_remote_options *options)
{
    tls_make_absolute(options);
    if (options->learner != NULL) {
        address_check(command, "--learner", options->learner, options->insecure);
    }
    if (options->replay != NULL) {
        replays_check(command, options->replay, options->insecure);
    }
    if (options->replay != NULL && options->learner == NULL) {
        cli_usage_error(command, "--replay needs --learner");
    }
}

const char *
cli_remote_tls_url(const char *learner, const char *replay)
{
    return learner != NULL && net_url_is_tls(learner) ? learner
           : replay != NULL && net_url_is_tls(replay) ? replay
                                                      : NULL;
}

bool
cli_remote_secure(const char *command, const cli_remote_options *options, net_loop *loop,
                  const char *learner, const char *replay)
{
    oct_reason why;
    const char *secure = cli_remote_tls_url(learner, replay);
    if (options->tls == NULL && secure != NULL) {
        cli_error(command,
                  "%s needs a certificate of the role operator: --tls FOLDER, or "
                  "OCTET_TLS (octet certs issue operator NAME makes one)",
                  secure);
        return false;
    }
    if (options->tls == NULL) {
        return true;
    }
    oct_err err = net_loop_use_tls(loop, options->tls, &why);
    if (secure == NULL) { // the learner may name a replay that needs them
        return true;
    }
    if (err != OCT_OK) {
        cli_error(command, "--tls %s: %s", options->tls, why.text);
        return false;
    }
    if (net_loop_check_role(loop, OCT_ROLE_OPERATOR, &why) != OCT_OK) {
        cli_error(command, "--tls %s: %s", options->tls, why.text);
        return false;
    }
    return true;
}

// ---- links

// Dials a daemon. The url is kept for messages.
static oct_err
link_open(cli_remote *remote, cli_remote_daemon daemon, const char *url)
{
    unsigned roles =
        OCT_ROLE_BIT(daemon == CLI_REMOTE_LEARNER ? OCT_ROLE_LEARNER : OCT_ROLE_REPLAY);
    (void)snprintf(remote->daemons[daemon].url, NET_URL_MAX, "%s", url);
    return cli_link_open(&remote->daemons[daemon].link, remote->loop, url, roles,
                         !remote->asks_once);
}

oct_err
cli_remote_open(cli_remote **out, net_loop *loop, const cli_remote_options *options)
{
    cli_remote *remote = oct_alloc(sizeof(*remote));
    remote->loop = loop;
    remote->insecure = options->insecure;
    remote->asks_once = options->asks_once;
    remote->run_meant = options->run_id;
    const char *replays = options->replay;
    char url[NET_URL_MAX];
    oct_err err = link_open(remote, CLI_REMOTE_LEARNER, options->learner);
    for (int i = 0; err == OCT_OK && i < CONFIG_SHARDS_MAX && address_next(&replays, url); i++) {
        err = link_open(remote, CLI_REMOTE_REPLAY + i, url);
    }
    if (err != OCT_OK) {
        cli_remote_close(remote);
        return err;
    }
    *out = remote;
    return OCT_OK;
}

void
cli_remote_close(cli_remote *remote)
{
    if (remote != NULL) {
        remote->closing = true;
        for (size_t i = 0; i < CLI_REMOTE_DAEMONS; i++) {
            cli_link_close(&remote->daemons[i].link);
        }
        free(remote);
    }
}

// ---- meeting

// Dials a shard of replay at the address that the learner reports, unless its address was given.
// Returns why that is impossible, or NULL.
static const char *
replay_meet(cli_remote *remote, uint32_t shard, const char *reported, oct_reason *why)
{
    char url[NET_URL_MAX];
    oct_reason said;
    cli_remote_daemon daemon = CLI_REMOTE_REPLAY + shard;
    if (remote->daemons[daemon].link.rpc != NULL) {
        return NULL;
    }
    if (net_url_as_seen_from(reported, remote->daemons[CLI_REMOTE_LEARNER].url, url) != OCT_OK) {
        return "the learner reports no valid address for replay; give --replay";
    }
    if (net_url_check(url, remote->insecure, &said) != OCT_OK) {
        oct_reason_set(why, "the learner reports replay=%s: %s", url, said.text);
        return why->text;
    }
    if (link_open(remote, daemon, url) != OCT_OK) {
        oct_reason_set(why,
                       "cannot dial replay at %s, the address that the learner reports; give "
                       "--replay (and --tls, if it is tls+tcp://)",
                       url);
        return why->text;
    }
    return NULL;
}

// Dials the replay of a data set. A failure is no error, because the rest of the run can be asked
// without it.
static void
data_meet(cli_remote *remote)
{
    char url[NET_URL_MAX];
    oct_reason said;
    const char *reported = remote->config.net.data;
    if (!config_is_mixed(&remote->config) || remote->daemons[CLI_REMOTE_DATA].link.rpc != NULL) {
        return;
    }
    bool is_url =
        net_url_as_seen_from(reported, remote->daemons[CLI_REMOTE_LEARNER].url, url) == OCT_OK &&
        net_url_check(url, remote->insecure, &said) == OCT_OK;
    if (!is_url || link_open(remote, CLI_REMOTE_DATA, url) != OCT_OK) {
        (void)snprintf(remote->daemons[CLI_REMOTE_DATA].url, NET_URL_MAX, "%s", reported);
    }
}

// Takes the learner's answer. Returns why it cannot be used, or NULL.
static const char *
answer_take(cli_remote *remote, const wire_registered *answer, oct_reason *why)
{
    if (remote->run_meant != 0 && answer->run_id != remote->run_meant) {
        oct_reason_set(why, "another run, %016" PRIx64 ", now has the address %s", answer->run_id,
                       remote->daemons[CLI_REMOTE_LEARNER].url);
        return why->text;
    }
    config_default(&remote->config);
    if (config_parse(&remote->config, "the learner's configuration", answer->config,
                     strlen(answer->config), why->text, sizeof(why->text)) != OCT_OK) {
        why->text[strcspn(why->text, "\n")] = '\0';
        return why->text;
    }
    remote->run_id = answer->run_id;
    data_meet(remote);
    uint32_t shards = config_shards(&remote->config);
    if (shards == 1) {
        return replay_meet(remote, 0, answer->replay_address, why);
    }
    const char *bad = NULL;
    for (uint32_t i = 0; bad == NULL && i < OCT_MIN(shards, (uint32_t)CONFIG_SHARDS_MAX); i++) {
        char reported[CONFIG_TEXT_MAX];
        config_replay_address(&remote->config, i, reported);
        bad = replay_meet(remote, i, reported, why);
    }
    return bad;
}

// The learner's answer to cli_remote_register.
static void
met(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    cli_remote *remote = arg;
    oct_reason why = {""};
    remote->meeting = false;
    if (remote->closing) {
        return;
    }
    if (err != OCT_OK) {
        cli_remote_why(remote, CLI_REMOTE_LEARNER, err, detail, &why);
        remote->done(remote->done_arg, err, why.text);
        return;
    }
    const char *bad = answer_take(remote, answer, &why);
    remote->done(remote->done_arg, bad == NULL ? OCT_OK : OCT_EPROTO, bad == NULL ? "" : bad);
}

oct_err
cli_remote_register(cli_remote *remote, uint32_t timeout_ms, cli_remote_fn done, void *arg)
{
    OCT_ASSERT(!remote->meeting);
    const wire_register request = {.role = WIRE_ROLE_TOOL, .host = "", .env = {.env_id = ""}};
    remote->done = done;
    remote->done_arg = arg;
    OCT_TRY(wire_call_register_actor(remote->daemons[CLI_REMOTE_LEARNER].link.client, &request,
                                     timeout_ms, met, remote));
    remote->meeting = true;
    return OCT_OK;
}

uint64_t
cli_remote_run_id(const cli_remote *remote)
{
    return remote->run_id;
}

config_experiment *
cli_remote_config(cli_remote *remote)
{
    return &remote->config;
}

const char *
cli_remote_url(const cli_remote *remote, cli_remote_daemon daemon)
{
    return remote->daemons[daemon].url;
}

wire_client *
cli_remote_client(cli_remote *remote, cli_remote_daemon daemon)
{
    return remote->daemons[daemon].link.client;
}

// ---- reasons of failures

bool
cli_remote_in_trouble(cli_remote *remote, cli_remote_daemon daemon, char *out, size_t out_size)
{
    net_rpc_client *rpc = remote->daemons[daemon].link.rpc;
    bool is_cut = rpc != NULL && net_rpc_client_trouble(rpc, out, out_size);
    if (is_cut && out[0] != '\0') {
        (void)net_probe(remote->daemons[daemon].url, out, out_size); // says more, if it can
    }
    return is_cut && out[0] != '\0';
}

void
cli_remote_why(cli_remote *remote, cli_remote_daemon daemon, oct_err err, const char *detail,
               oct_reason *out)
{
    net_rpc_client *rpc = remote->daemons[daemon].link.rpc;
    char trouble[256];
    if (err != OCT_ETIMEDOUT && err != OCT_EIO) {
        oct_reason_set(out, "%s", detail); // the daemon answered with an error
    } else if (!net_rpc_client_trouble(rpc, trouble, sizeof(trouble))) {
        oct_reason_set(out, "connected, but the process there does not answer");
    } else if (!net_probe(remote->daemons[daemon].url, out->text, sizeof(out->text))) {
        oct_reason_set(out, "%s", trouble[0] != '\0' ? trouble : "no answer");
    }
}
