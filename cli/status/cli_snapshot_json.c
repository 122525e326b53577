// Prints the state of a run as one line of JSON.

#include "cli/cli_json.h"
#include "cli/status/cli_view.h"
#include "cli/status/cli_waiting.h"
#include "common/oct_base.h"

static json_t *
daemon_json(const cli_daemon_state *daemon)
{
    json_t *out = json_object(), *numbers = json_object();
    cli_json_put(out, "address", cli_json_text(daemon->url));
    cli_json_put(out, "heard", json_boolean(daemon->heard));
    if (!daemon->heard) {
        cli_json_put(out, "why", cli_json_text(daemon->why));
    }
    cli_json_put(out, "state", cli_json_text(daemon->state));
    if (daemon->refused[0] != '\0') {
        cli_json_put(out, "refused", cli_json_text(daemon->refused));
    }
    for (size_t i = 0; i < daemon->count; i++) {
        cli_json_put(numbers, daemon->number[i].name, cli_json_number(daemon->number[i].value));
    }
    cli_json_put(out, "numbers", numbers);
    return out;
}

// The replays that share the work of the actors. The first is also in "replay".
static json_t *
shards_json(const cli_snapshot *state)
{
    json_t *out = json_array();
    for (uint32_t i = 0; i < OCT_MAX(state->shards, 1u); i++) {
        cli_json_append(out, daemon_json(i == 0 ? &state->replay : &state->other_shard[i - 1]));
    }
    return out;
}

// An address, or null if it is "".
static json_t *
address_json(const char *address)
{
    return address[0] != '\0' ? cli_json_text(address) : json_null();
}

// The relay is given by its address, the certificate only if there is one.
static json_t *
peer_json(const cli_snapshot *state, const cli_peer *peer)
{
    json_t *out = json_object();
    const cli_relay *relay = peer->relay > 0 ? &state->relay[peer->relay - 1] : NULL;
    cli_json_put(out, "id", json_sprintf("%08x", (unsigned)peer->id));
    cli_json_put(out, "role",
                 cli_json_text(peer->role == WIRE_ROLE_EVALUATOR ? "evaluator" : "actor"));
    cli_json_put(out, "host", cli_json_text(peer->host));
    cli_json_put(out, "pid", json_integer(peer->pid));
    cli_json_put(out, "silent", json_boolean(peer->is_silent));
    cli_json_put(out, "health", cli_json_text(cli_snapshot_health_word(peer->health)));
    cli_json_put(out, "unreached", address_json(peer->unreached));
    cli_json_put(out, "policy_version", cli_json_whole(peer->version));
    cli_json_put(out, "relay", address_json(relay != NULL ? relay->address : ""));
    if (peer->certificate[0] != '\0') {
        cli_json_put(out, "certificate", cli_json_text(peer->certificate));
        cli_json_put(out, "certificate_id", json_sprintf("%08x", (unsigned)peer->certificate_id));
        cli_json_put(out, "places", json_integer(peer->places));
    }
#define X(name) cli_json_put(out, #name, cli_json_number(peer->name));
    WIRE_PEER_NUMBERS(X)
    WIRE_PEER_LATER_NUMBERS(X)
#undef X
    return out;
}

static json_t *
relay_json(const cli_relay *relay)
{
    return CLI_JSON_OBJECT(
        {"host", cli_json_text(relay->host)}, {"pid", json_integer(relay->pid)},
        {"address", address_json(relay->address)}, {"above", address_json(relay->above)},
        {"silent", json_boolean(relay->is_silent)}, {"heard_s", cli_json_number(relay->heard_s)},
        {"actors", json_integer(relay->actors)}, {"sessions", json_integer(relay->sessions)});
}

static json_t *
peers_json(const cli_snapshot *state)
{
    json_t *out = json_object(), *list = json_array(), *relays = json_array();
    cli_json_put(out, "heard", json_boolean(state->has_peers));
    if (!state->has_peers) {
        cli_json_put(out, "why", cli_json_text(state->peers_why));
    }
    cli_json_put(out, "actors", json_integer(state->actors));
    cli_json_put(out, "evaluators", json_integer(state->evaluators));
    cli_json_put(out, "silent", json_integer(state->silent));
    cli_json_put(out, "stuck", json_integer(state->stuck));
    cli_json_put(out, "gone", json_integer(state->gone));
    cli_json_put(out, "places_max", json_integer(state->places_max));
    cli_json_put(out, "env_steps_per_s", cli_json_number(state->env_steps_per_s));
    cli_json_put(out, "lag_mean", cli_json_number(state->lag_mean));
    for (size_t i = 0; i < state->peer_count; i++) {
        cli_json_append(list, peer_json(state, &state->peer[i]));
    }
    cli_json_put(out, "list", list);
    for (size_t i = 0; i < state->relay_count; i++) {
        cli_json_append(relays, relay_json(&state->relay[i]));
    }
    cli_json_put(out, "relays", relays);
    return out;
}

// The result is part of the interface (docs/reference.md): names stay, and unknown numbers are
// null.
char *
cli_snapshot_json(const cli_snapshot *state)
{
    cli_waiting waiting;
    json_t *out = json_object(), *waits = json_object();
    cli_waiting_judge(&waiting, state);
    cli_json_put(out, "folder",
                 state->folder[0] != '\0' ? cli_json_text(state->folder) : json_null());
    cli_json_put(out, "ended", json_false());
    cli_json_put(out, "run_id", cli_json_hexadecimal(state->run_id));
    cli_json_put(out, "env", cli_json_text(state->env));
    cli_json_put(out, "learner", daemon_json(&state->learner));
    cli_json_put(out, "replay", daemon_json(&state->replay));
    cli_json_put(out, "shards", shards_json(state));
    cli_json_put(out, "data", state->data.url[0] != '\0' ? daemon_json(&state->data) : json_null());
    cli_json_put(out, "peers", peers_json(state));
    cli_json_put(waits, "who", cli_json_text(waiting.who));
    cli_json_put(waits, "for", cli_json_text(waiting.for_whom));
    cli_json_put(waits, "share", cli_json_number(waiting.share));
    cli_json_put(waits, "why", cli_json_text(waiting.text));
    cli_json_put(out, "waiting", waits);
    cli_json_put(out, "note", state->note[0] != '\0' ? cli_json_text(state->note) : json_null());
    cli_json_put(out, "warning",
                 state->warning[0] != '\0' ? cli_json_text(state->warning) : json_null());
    char *line = cli_json_print(out, JSON_COMPACT);
    json_decref(out);
    return line;
}
