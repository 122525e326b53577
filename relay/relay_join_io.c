// Registers the relay with the learner once a second. The learner learns from this that the relay
// runs and where it listens; the relay learns where the learner's policies and the replays are.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "relay/relay_state_io.h"

#define TIMEOUT_MS   3000
#define INFLIGHT_MAX 2
// REQ repeats a request at once when the link is lost, so rarely otherwise
#define RESEND_MS    60000
#define ARENA_BYTES  (1u << 20)
#define ANSWER_BYTES (1u << 20)

// Turns an address from the learner into an address that can be dialed from here. Returns false if
// that is not possible (logged).
static bool
address_take(const relay_io *io, const char *name, const char *address, char out[NET_URL_MAX])
{
    oct_reason why = {""};
    if (net_url_as_seen_from(address, io->options.learner, out) != OCT_OK ||
        net_url_check(out, io->options.insecure, &why) != OCT_OK) {
        oct_log_error("RELAY-ADDRESS", "the learner named %s=%s: %s", name, address, why.text);
        return false;
    }
    return true;
}

static bool
addresses_take(relay_io *io, const wire_registered *answer)
{
    char policies[NET_URL_MAX], replay[WIRE_SHARDS_MAX][NET_URL_MAX];
    // A learner of an earlier release names one replay, and allows relays only with one replay.
    const char *const *named =
        answer->shard_count > 0 ? answer->shard_address : &answer->replay_address;
    uint32_t count = answer->shard_count > 0 ? answer->shard_count : 1;
    bool is_good = address_take(io, "policies", answer->policy_address, policies);
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = address_take(io, "replay", named[i], replay[i]);
    }
    return is_good && relay_up_dial(io, policies, replay, count) == OCT_OK;
}

static void
registered(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    relay_io *io = arg;
    io->is_calling = false;
    if (err == OCT_ECLOSED) {
        return; // this process is closing its links
    }
    if (err == OCT_EINVAL || (err == OCT_OK && !answer->accepted)) {
        oct_log_error("RELAY-REFUSED", "%s", err == OCT_OK ? answer->reason : detail);
        relay_io_fail(io, RELAY_EXIT_REFUSED);
        return;
    }
    if (err != OCT_OK) {
        io->is_registered = false;
        if (!io->is_logged) {
            io->is_logged = true;
            oct_log_notice("RELAY-WAIT-LEARNER", "learner=%s %s; trying again", io->options.learner,
                           detail);
        }
        return;
    }
    if (!io->is_registered) {
        oct_log_notice("RELAY-REGISTERED", "learner=%s run=%016" PRIx64 " announced=%s",
                       io->options.learner, answer->run_id,
                       io->options.announce[0] != '\0' ? io->options.announce : "to relays only");
    }
    io->is_registered = true;
    io->is_logged = false;
    if (!addresses_take(io, answer)) {
        relay_io_fail(io, RELAY_EXIT_FAILED);
    }
}

void
relay_join_go(void *arg)
{
    relay_io *io = arg;
    char host[WIRE_NAME_MAX] = "";
    if (io->is_calling) {
        return;
    }
    (void)gethostname(host, sizeof(host) - 1);
    const wire_register request = {
        .role = WIRE_ROLE_RELAY,
        .label = io->label,
        .host = host,
        .pid = (uint32_t)getpid(),
        .env = {.env_id = ""},
        .relay_address = io->options.announce,
        .relay_above = io->is_above ? io->options.relay : "",
        .relay_number = io->number,
        .relay_above_number = io->is_above ? io->above_number : 0,
        .relay_sessions = relay_io_sessions(io),
        .knows_shards = true,
    };
    io->is_calling =
        wire_call_register_actor(io->client, &request, TIMEOUT_MS, registered, io) == OCT_OK;
}

oct_err
relay_join_open(relay_io *io)
{
    OCT_ASSERT(getrandom(&io->label, sizeof(io->label), 0) == sizeof(io->label));
    OCT_TRY(net_rpc_client_open(&io->rpc, io->loop, io->options.learner,
                                OCT_ROLE_BIT(OCT_ROLE_LEARNER), INFLIGHT_MAX, RESEND_MS,
                                ANSWER_BYTES));
    io->client = wire_client_create(net_rpc_call, io->rpc, ARENA_BYTES);
    return OCT_OK;
}

void
relay_join_close(relay_io *io)
{
    if (io->rpc != NULL) {
        net_rpc_client_close(io->rpc);
        wire_client_destroy(io->client);
    }
}
