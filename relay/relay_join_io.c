// Registration of a relay with the learner.
#include "relay/relay_join_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_rpc.h"

#define TIMEOUT_MS   3000
#define INFLIGHT_MAX 2
// REQ repeats a request at once when the link is lost, so rarely otherwise
#define RESEND_MS    60000
#define ARENA_BYTES  (1u << 20)
#define ANSWER_BYTES (1u << 20)

struct relay_join {
    relay_join_options options;
    net_rpc_client *rpc;
    wire_client *client;
    uint64_t label; // random, names this relay in requests
    bool is_calling;
    bool is_registered;
    bool is_logged; // it was logged that the learner does not answer
};

// Turns an address from the learner into an address that can be dialed from here. Returns false if
// that is not possible (logged).
static bool
address_take(const relay_join *join, const char *name, const char *address, char out[NET_URL_MAX])
{
    oct_reason why = {""};
    if (net_url_as_seen_from(address, join->options.learner, out) != OCT_OK ||
        net_url_check(out, join->options.insecure, &why) != OCT_OK) {
        oct_log_error("RELAY-ADDRESS", "the learner named %s=%s: %s", name, address, why.text);
        return false;
    }
    return true;
}

static bool
addresses_take(relay_join *join, const wire_registered *answer)
{
    char policies[NET_URL_MAX], replay[WIRE_SHARDS_MAX][NET_URL_MAX];
    // A learner of an earlier release names one replay, and allows relays only with one replay.
    const char *const *named =
        answer->shard_count > 0 ? answer->shard_address : &answer->replay_address;
    uint32_t count = answer->shard_count > 0 ? answer->shard_count : 1;
    bool is_good = address_take(join, "policies", answer->policy_address, policies);
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = address_take(join, "replay", named[i], replay[i]);
    }
    return is_good && join->options.found(join->options.arg, policies, replay, count) == OCT_OK;
}

static void
registered(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    relay_join *join = arg;
    join->is_calling = false;
    if (err == OCT_ECLOSED) {
        return; // this process is closing its links
    }
    if (err == OCT_EINVAL || (err == OCT_OK && !answer->accepted)) {
        oct_log_error("RELAY-REFUSED", "%s", err == OCT_OK ? answer->reason : detail);
        join->options.failed(join->options.arg, true);
        return;
    }
    if (err != OCT_OK) {
        join->is_registered = false;
        if (!join->is_logged) {
            join->is_logged = true;
            oct_log_notice("RELAY-WAIT-LEARNER", "learner=%s %s; trying again",
                           join->options.learner, detail);
        }
        return;
    }
    if (!join->is_registered) {
        oct_log_notice("RELAY-REGISTERED", "learner=%s run=%016" PRIx64 " announced=%s",
                       join->options.learner, answer->run_id,
                       join->options.announce[0] != '\0' ? join->options.announce
                                                         : "to relays only");
    }
    join->is_registered = true;
    join->is_logged = false;
    if (!addresses_take(join, answer)) {
        join->options.failed(join->options.arg, false);
    }
}

void
relay_join_go(relay_join *join)
{
    char host[WIRE_NAME_MAX] = "";
    if (join->is_calling) {
        return;
    }
    (void)gethostname(host, sizeof(host) - 1);
    wire_register request = {
        .role = WIRE_ROLE_RELAY,
        .label = join->label,
        .host = host,
        .pid = (uint32_t)getpid(),
        .env = {.env_id = ""},
        .relay_address = join->options.announce,
        .knows_shards = true,
    };
    join->options.describe(join->options.arg, &request);
    join->is_calling =
        wire_call_register_actor(join->client, &request, TIMEOUT_MS, registered, join) == OCT_OK;
}

oct_err
relay_join_open(relay_join **out, const relay_join_options *options)
{
    relay_join *join = oct_alloc(sizeof(*join));
    join->options = *options;
    OCT_ASSERT(getrandom(&join->label, sizeof(join->label), 0) == sizeof(join->label));
    oct_err err =
        net_rpc_client_open(&join->rpc, options->loop,
                            &(net_endpoint){options->learner, OCT_ROLE_BIT(OCT_ROLE_LEARNER),
                                            ANSWER_BYTES, INFLIGHT_MAX},
                            RESEND_MS);
    if (err != OCT_OK) {
        free(join);
        return err;
    }
    join->client = wire_client_create(net_rpc_call, join->rpc, ARENA_BYTES);
    *out = join;
    return OCT_OK;
}

void
relay_join_close(relay_join *join)
{
    if (join != NULL) {
        net_rpc_client_close(join->rpc);
        wire_client_destroy(join->client);
        free(join);
    }
}

bool
relay_join_is_registered(const relay_join *join)
{
    return join->is_registered;
}
