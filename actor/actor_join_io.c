// Registers the actor with the learner, first and after the connection or the learner was lost.
//
// The first Register (STEP_CONFIG) carries no environment and returns the configuration, from
// which the actor opens its environment. The second (STEP_SPEC) carries the spec and returns
// session, token, index, policy topic and addresses. Whenever the learner does not know the actor,
// or the way to replay is lost, the actor registers again from STEP_SPEC. If the answer shows
// another run, session, configuration of acting, or replay, the actor starts over: it leaves, and
// the process executes itself (actor_main.c). Failures retry with back-off, without limit.
//
// The answer also names the addresses for policies and batches: those of the learner and replay
// themselves, or those of a relay that stands for both. A relay may end at any time. An actor that
// has lost one, or gets no acknowledgements through it, registers again and reports it; the learner
// answers with another relay or with the direct addresses, and the actor moves there.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "actor/actor_spec.h"
#include "actor/actor_state_io.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_libm.h"
#include "common/oct_log.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "net/net_probe.h"
#include "proto/wire_sign.h"

#define ASK_AGAIN_MS 500 // while a relay is awaited: relays register once a second

void
actor_join_label(actor_io *io)
{
    OCT_ASSERT(getrandom(&io->label, sizeof(io->label), 0) == sizeof(io->label));
}

void
actor_join_again(actor_io *io)
{
    io->step = STEP_SPEC;
    io->retry_ms = ACTOR_RETRY_MIN_MS;
    actor_join_go(io);
}

void
actor_join_retry(actor_io *io)
{
    net_timer_stop(io->retry);
    io->retry = net_timer_start(io->loop, io->retry_ms, 0, actor_join_go, io);
    io->retry_ms = OCT_MIN(io->retry_ms * 2, (uint32_t)ACTOR_RETRY_MAX_MS);
}

void
actor_join_failed(actor_io *io, const char *detail)
{
    if (!io->learner_lost) {
        io->learner_lost = true;
        oct_log_notice("ACTOR-WAIT-LEARNER", "learner=%s %s; trying again", io->options.learner,
                       detail);
    }
    actor_join_retry(io);
}

// Takes the learner's configuration and opens the environment. False: it was logged, and the
// process must end.
static bool
config_take(actor_io *io, const char *text)
{
    oct_reason message;
    config_default(&io->config);
    oct_err err = config_parse(&io->config, "the learner's configuration", text, strlen(text),
                               message.text, sizeof(message.text));
    if (err != OCT_OK) {
        oct_log_error("ACTOR-CONFIG", "%s", message.text);
        return false;
    }
    if (io->options.envs_max > 0 && io->config.actor.envs > io->options.envs_max) {
        oct_log_error("ACTOR-ENVS",
                      "the learner asks for actor.envs: %u environments of %s; --envs-max of this "
                      "actor is %u: raise it if you trust this learner",
                      io->config.actor.envs, io->config.env.id, io->options.envs_max);
        return false;
    }
    env_request request = {
        .id = io->config.env.id,
        .options = io->config.env.options,
        .mjcf_dir = io->config.env.mjcf_dir,
        .count = io->options.evaluate ? 1 : io->config.actor.envs,
        .seed = io->config.run.seed, // the acting thread seeds each environment (actor_seed.h)
        .autoreset = true,
        .takes_begins = true,
        .plugins = io->options.plugins,
    };
    if (io->options.exit_when_stuck) {
        actor_watchdog_limit(io->watchdog, io->options.exit_when_stuck_s > 0
                                               ? io->options.exit_when_stuck_s
                                               : io->config.run.env_hang_s);
    }
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_ENV);
    actor_watchdog_opens(io->watchdog, true);
    err = env_open(&io->e, &request, &message);
    if (err == OCT_OK) {
        io->task = actor_spec_copy(env_spec(io->e));
    }
    if (err == OCT_OK && io->options.evaluate) { // each evaluation opens its own
        env_close(io->e);
        io->e = NULL;
    }
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    actor_watchdog_opens(io->watchdog, false);
    if (err != OCT_OK) {
        oct_log_error("ACTOR-ENV", "%s", message.text);
    }
    return err == OCT_OK;
}

void
actor_join_start_over(actor_io *io)
{
    io->start_over = true;
    actor_io_leave(io);
}

// Lock-step: the actor's identity follows from its index and the number of the learner's process.
// False: logged; the process must end.
static bool
turns_begin(actor_io *io, uint32_t life)
{
    if (!io->config.run.deterministic) {
        return true;
    }
    io->libm = oct_libm_sum();
    io->leaves_at_once = true;
    io->options.await_relay_s = 0; // there is none
    if (io->options.evaluate) {
        return true;
    }
    if (io->options.relay != NULL) {
        oct_log_error("ACTOR-NO-RELAY", "run.deterministic: in lock-step, actors do not use "
                                        "relays; start this one without --relay");
        return false;
    }
    if (io->options.place == 0) {
        oct_log_error("ACTOR-NO-INDEX",
                      "run.deterministic: an actor needs its number; start it with --index");
        return false;
    }
    io->incarnation = life;
    actor_turns_begin(&io->policies.turns, life, io->config.learner.checkpoint_turns);
    return true;
}

// Returns true, and logs it, if a learner that came back has changed a key that this actor reads.
static bool
is_other_now(actor_io *io, const wire_registered *answer)
{
    static config_experiment now;
    char message[ENV_REASON_BYTES];
    config_change change;
    config_default(&now);
    if (config_parse(&now, "the learner's configuration", answer->config, strlen(answer->config),
                     message, sizeof(message)) != OCT_OK) {
        oct_log_error("ACTOR-CONFIG", "%s", message);
        return false; // keep the configuration in use
    }
    for (size_t at = 0; config_next_change(&change, &io->config, &now, &at);) {
        if (actor_goes_by(change.name, io->options.evaluate)) {
            oct_log_notice("ACTOR-NEW-CONFIG", "%s changed from %s to %s; starting over",
                           change.name, change.before, change.now);
            return true;
        }
    }
    return false;
}

// ---- addresses

// Returns the relay to report to the learner: the lost relay, else the relay in use or to be used;
// "": none.
static const char *
relay_of(const actor_io *io)
{
    if (io->lost_relay[0] != '\0') {
        return io->lost_relay;
    }
    if (io->addresses.policies[0] != '\0') {
        return io->addresses.is_relayed ? io->addresses.policies : "";
    }
    return io->options.relay != NULL ? io->options.relay : "";
}

// Logs that the relay cannot be used, and reports it with the next Register.
static void
relay_is_lost(actor_io *io, const char *relay, const char *what, const char *why)
{
    oct_log_notice("ACTOR-RELAY-LOST", "relay=%s %s%s; asking the learner", relay, what, why);
    (void)snprintf(io->lost_relay, sizeof(io->lost_relay), "%s", relay);
    io->own_relay_lost = io->options.relay != NULL;
}

// Returns true if the actor uses the relay of --relay. If that relay acknowledges nothing, the
// learner decides, because it knows which relays run: another address in its answer ends the use.
static bool
is_through_own(actor_io *io, const wire_registered *answer, bool was_silent)
{
    if (io->options.relay == NULL || io->options.evaluate) {
        return false;
    }
    bool is_named = answer->is_relayed && strcmp(answer->replay_address, io->options.relay) == 0;
    if (was_silent && !is_named) {
        io->own_relay_lost = true;
    }
    return !io->own_relay_lost;
}

// Chooses the addresses from the answer to a Register. False: there are none that can be used. If
// they were a relay's, the learner is informed and asked again; if they were its own, the process
// ends.
static bool
addresses_find(actor_io *io, const wire_registered *answer, actor_addresses *out)
{
    oct_reason why = {""};
    const char *reached = io->options.learner;
    bool is_own = is_through_own(io, answer, actor_batches_was_silent(io->batches));
    out->is_relayed = answer->is_relayed || is_own;
    out->shard = answer->shard;
    if (out->is_relayed) { // the relay's own address, not relative to the learner's
        const char *relay = is_own ? io->options.relay : answer->replay_address;
        if (net_url_check_relay(relay, is_own ? relay : reached, out->shard + 1, &why) == OCT_OK &&
            net_url_offset(relay, 0, out->policies) == OCT_OK &&
            net_url_line(relay, out->shard, out->replay) == OCT_OK) {
            return true;
        }
        relay_is_lost(io, relay, "cannot be used: ", why.text);
        io->retry_ms = ASK_AGAIN_MS;
        actor_join_retry(io);
        return false;
    }
    if (net_url_as_seen_from(answer->policy_address, reached, out->policies) == OCT_OK &&
        net_url_as_seen_from(answer->replay_address, reached, out->replay) == OCT_OK &&
        net_url_check(out->policies, io->options.insecure, &why) == OCT_OK &&
        net_url_check(out->replay, io->options.insecure, &why) == OCT_OK) {
        return true;
    }
    oct_log_error("ACTOR-ADDRESS", "the learner sent policies=%s replay=%s: %s",
                  answer->policy_address, answer->replay_address, why.text);
    actor_io_fail(io, ACTOR_EXIT_REFUSED);
    return false;
}

static void
addresses_set(actor_io *io, const actor_addresses *addresses)
{
    io->addresses = *addresses;
    io->policies.is_relayed = addresses->is_relayed;
    io->lost_relay[0] = '\0';
}

// Moves open links to these addresses.
static void
links_move(actor_io *io, const actor_addresses *addresses)
{
    oct_log_notice("ACTOR-MOVED", "policies=%s replay=%s relay=%d", addresses->policies,
                   addresses->replay, addresses->is_relayed);
    actor_batches_abandon(io->batches);
    net_sub_abandon(io->policy_sub);
    io->policy_sub = NULL;
    addresses_set(io, addresses);
    (void)actor_links_open(io);
}

// Handles addresses that differ from the ones in use. The actor moves to or from a relay, but
// starts over for another replay. Returns false if it starts over.
static bool
addresses_change(actor_io *io, const actor_addresses *addresses)
{
    if (strcmp(io->addresses.policies, addresses->policies) == 0 &&
        strcmp(io->addresses.replay, addresses->replay) == 0) {
        io->lost_relay[0] = '\0';
        return true;
    }
    // Another replay would insert again what the old one has inserted but not acknowledged.
    bool is_same_replay = io->addresses.shard == addresses->shard;
    if (is_same_replay && (io->addresses.is_relayed || addresses->is_relayed)) {
        if (io->batches != NULL) {
            links_move(io, addresses);
        } else {
            addresses_set(io, addresses);
        }
        return true;
    }
    oct_log_notice("ACTOR-NEW-CONFIG", "policies=%s replay=%s now; starting over",
                   addresses->policies, addresses->replay);
    actor_join_start_over(io);
    return false;
}

// Returns true, and starts over, if the learner runs another experiment than this actor's
// configuration. The learner has not registered the actor then.
static bool
is_other_run(actor_io *io, const wire_registered *answer)
{
    if (io->policies.run_id == answer->run_id) {
        return false;
    }
    oct_log_notice("ACTOR-NEW-RUN", "the learner is running another experiment; starting over");
    io->claim.actor_id = 0; // this learner holds no slot for it
    actor_join_start_over(io);
    return true;
}

// Takes the answer to the second Register. Returns false if the actor starts over or retries.
static bool
registration_take(actor_io *io, const wire_registered *answer)
{
    actor_addresses addresses;
    bool first = io->addresses.policies[0] == '\0';
    bool is_other_session = !first && answer->session != io->claim.session;
    io->claim.actor_id = answer->actor_id;
    io->claim.session = answer->session; // to be the same actor when asking again
    io->policies.least = OCT_MAX(io->policies.least, answer->newest_version);
    memcpy(io->claim.token, answer->token, sizeof(io->claim.token));
    bool is_on = actor_turns_is_on(&io->policies.turns);
    bool is_other_life = is_on && answer->incarnation != io->policies.turns.life;
    if (is_other_session && !is_on) {
        oct_log_notice("ACTOR-NEW-SESSION",
                       "the learner does not know this actor's session; starting over");
        actor_join_start_over(io);
        return false;
    }
    if ((!first && (is_on || is_other_now(io, answer))) || is_other_life) {
        actor_join_start_over(io); // in lock-step, each process of the learner begins a life
        return false;
    }
    if (is_on && answer->actor_index != io->options.place - 1) {
        actor_join_failed(io, "another actor has this index; ");
        return false;
    }
    actor_policy_subscribe(io, answer->policy_topic); // it belongs to one learner process
    if (!addresses_find(io, answer, &addresses)) {
        return false;
    }
    if (!first) {
        return addresses_change(io, &addresses);
    }
    io->actor_index = answer->actor_index;
    io->incarnation = answer->incarnation;
    addresses_set(io, &addresses);
    return true;
}

// Returns true if the answer comes from the learner that this actor knows, or from the first
// learner. Another program at the address may name another run, but its answers never make the
// actor forget the key.
static bool
answer_is_authentic(actor_io *io, const wire_registered *answer)
{
    if (!io->policies.needs_signatures) {
        if (answer->has_signature && !io->options.has_pin) { // TLS has authenticated the key
            io->policies.has_key = true;
            memcpy(io->policies.key, answer->public_key, sizeof(io->policies.key));
        }
        return true;
    }
    bool is_known = !io->policies.has_key ||
                    memcmp(io->policies.key, answer->public_key, sizeof(io->policies.key)) == 0;
    if (!is_known || !wire_is_signed_registered(answer->public_key, io->label, answer)) {
        const char *why = !answer->has_signature ? "its answer is not signed"
                          : is_known             ? "its answer is not signed with its key"
                                     : "its key is not that of the learner that this actor knows; "
                                       "if this is intended, restart the actor";
        if (io->policies.rejected++ == 0) {
            oct_log_warn("ACTOR-FORGED", "learner=%s %s", io->options.learner, why);
        }
        actor_join_failed(io, why);
        return false;
    }
    if (io->options.has_pin && answer->actor_id != 0 && !answer->names_newest) {
        actor_join_failed(io, "it does not name its newest policy (a release before this one), so "
                              "that --pin would not notice an old policy");
        return false;
    }
    io->policies.has_key = true;
    memcpy(io->policies.key, answer->public_key, sizeof(io->policies.key));
    return true;
}

// Returns true, and asks again, while --await-relay lasts and the learner names no relay: it may
// not know the relay yet. An actor that has begun without a relay continues so.
static bool
relay_is_awaited(actor_io *io, const wire_registered *answer)
{
    uint64_t now_ns = oct_clock_ns(), most_ns = io->options.await_relay_s * UINT64_C(1000000000);
    bool is_first = io->addresses.policies[0] == '\0';
    if (!is_first || answer->is_relayed || io->options.evaluate || io->options.relay != NULL ||
        most_ns == 0) {
        return false;
    }
    if (io->await_ns == 0) {
        io->await_ns = now_ns;
        oct_log_notice("ACTOR-AWAIT-RELAY",
                       "the learner names no relay; asking again for at most %" PRIu32 " s",
                       io->options.await_relay_s);
    }
    if (now_ns - io->await_ns >= most_ns) {
        return false;
    }
    io->claim.session = answer->session; // the same actor when it asks again
    memcpy(io->claim.token, answer->token, sizeof(io->claim.token));
    io->retry_ms = ASK_AGAIN_MS;
    actor_join_retry(io);
    return true;
}

// Callback of Register.
static void
registered(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    actor_io *io = arg;
    io->calling = false;
    if (err == OCT_ECLOSED || io->leaving) {
        return; // this process is closing its links
    }
    if (err != OCT_ETIMEDOUT && err != OCT_EIO) {
        io->answered_ns = oct_clock_ns();
    }
    if (err == OCT_EINVAL || (err == OCT_OK && !answer->accepted)) {
        oct_log_error("ACTOR-REFUSED", "%s", err == OCT_OK ? answer->reason : detail);
        actor_io_fail(io, ACTOR_EXIT_REFUSED);
        return;
    }
    if (err != OCT_OK) {
        // An actor that does not act yet can take the time to find out what answers at the
        // address.
        char why[256];
        bool is_silent = (err == OCT_ETIMEDOUT || err == OCT_EIO) && !io->learner_lost;
        bool is_known = is_silent && io->worker == NULL &&
                        (net_probe(io->options.learner, why, sizeof(why)) ||
                         (net_rpc_client_trouble(io->rpc, why, sizeof(why)) && why[0] != '\0'));
        actor_join_failed(io, is_known ? why : detail);
        return;
    }
    if (!answer_is_authentic(io, answer)) {
        return;
    }
    if (io->worker != NULL) {
        actor_learner_answered(io, OCT_OK, "");
    }
    io->learner_lost = false;
    io->retry_ms = ACTOR_RETRY_MIN_MS;
    if (io->step == STEP_CONFIG) {
        io->policies.run_id = answer->run_id; // a learner with another configuration has another id
        if (!config_take(io, answer->config) || !turns_begin(io, answer->incarnation)) {
            actor_io_fail(io, ACTOR_EXIT_REFUSED);
            return;
        }
        io->step = STEP_SPEC;
        actor_join_go(io);
        return;
    }
    if (is_other_run(io, answer) || relay_is_awaited(io, answer) ||
        !registration_take(io, answer)) {
        return;
    }
    if (io->options.evaluate) {
        actor_evaluator_begin(io);
    } else if (io->worker != NULL) {
        io->step = STEP_RUN;
        actor_policy_ask(io); // this learner's first policy may have been published before
    } else {
        io->step = STEP_POLICY;
        actor_join_go(io);
    }
}

// Sends Register, with the environment unless the step is STEP_CONFIG.
static void
register_send(actor_io *io)
{
    char host[WIRE_NAME_MAX] = "";
    (void)gethostname(host, sizeof(host) - 1);
    wire_register request = {
        .role = io->options.evaluate ? WIRE_ROLE_EVALUATOR : WIRE_ROLE_ACTOR,
        .label = io->label,
        .session = io->claim.session,
        .host = host,
        .pid = (uint32_t)getpid(),
        .has_env = io->step != STEP_CONFIG,
        .env = {.env_id = ""},
        .run_id = io->policies.run_id,
        .place = io->options.place,
        .libm = io->libm,
        .relay_address = io->options.evaluate ? "" : relay_of(io),
        .relay_lost = io->lost_relay[0] != '\0',
        .knows_shards = true,
        .knows_newest = true,
    };
    memcpy(request.token, io->claim.token, sizeof(request.token));
    actor_spec spec;
    if (request.has_env) {
        oct_reason why;
        if (actor_spec_init(&spec, io->task, &why) != OCT_OK) {
            oct_log_error("ACTOR-UNSUITED", "%s", why.text);
            actor_io_fail(io, ACTOR_EXIT_REFUSED);
            return;
        }
        request.env = spec.wire;
    }
    io->calling = true;
    if (wire_call_register_actor(io->client, &request, ACTOR_RPC_TIMEOUT_MS, registered, io) !=
        OCT_OK) {
        io->calling = false;
        actor_join_retry(io);
    }
}

void
actor_join_go(void *arg)
{
    actor_io *io = arg;
    net_timer_stop(io->retry);
    io->retry = NULL;
    if (io->calling || io->leaving) {
        return;
    }
    switch (io->step) {
    case STEP_CONFIG:
    case STEP_SPEC:
        register_send(io);
        return;
    case STEP_POLICY:
        actor_policy_ask(io);
        return;
    case STEP_RUN:
        break;
    }
}

// ---- loss of a relay

void
actor_relay_watch(actor_io *io)
{
    if (!io->addresses.is_relayed || io->step != STEP_RUN || io->leaving) {
        return;
    }
    switch (actor_batches_relay(io->batches)) {
    case ACTOR_RELAY_FINE:
        return;
    case ACTOR_RELAY_DOWN:
        relay_is_lost(io, io->addresses.policies, "cannot be reached", "");
        break;
    case ACTOR_RELAY_SILENT:
        oct_log_info("ACTOR-RELAY-SILENT", "relay=%s acknowledges nothing; asking the learner",
                     io->addresses.policies);
        io->lost_relay[0] = '\0'; // the learner knows whether it runs
        break;
    }
    actor_join_again(io);
}
