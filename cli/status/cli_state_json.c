// The state of a run, as one line of JSON.

#include <math.h>

#include <jansson.h>

#include "cli/status/cli_view.h"
#include "cli/status/cli_waiting.h"
#include "common/oct_base.h"

static json_t *
number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

// What is cut or foreign may end in the middle of a character.
static json_t *
text(const char *bytes)
{
    json_t *out = json_string(bytes);
    return out != NULL ? out : json_string("(not UTF-8)");
}

static void
put(json_t *object, const char *name, json_t *value)
{
    OCT_ASSERT(json_object_set_new(object, name, value) == 0);
}

static json_t *
hexadecimal(uint64_t value)
{
    return json_sprintf("%016llx", (unsigned long long)value);
}

static json_t *
daemon_json(const cli_daemon_state *daemon)
{
    json_t *out = json_object(), *numbers = json_object();
    put(out, "address", text(daemon->url));
    put(out, "heard", json_boolean(daemon->heard));
    if (!daemon->heard) {
        put(out, "why", text(daemon->why));
    }
    put(out, "state", text(daemon->state));
    for (size_t i = 0; i < daemon->count; i++) {
        put(numbers, daemon->number[i].name, number(daemon->number[i].value));
    }
    put(out, "numbers", numbers);
    return out;
}

static json_t *
peer_json(const cli_peer *peer)
{
    json_t *out = json_object();
    put(out, "id", json_sprintf("%08x", (unsigned)peer->id));
    put(out, "role", text(peer->role == WIRE_ROLE_EVALUATOR ? "evaluator" : "actor"));
    put(out, "host", text(peer->host));
    put(out, "pid", json_integer(peer->pid));
    put(out, "silent", json_boolean(peer->is_silent));
    put(out, "policy_version", json_integer((json_int_t)peer->version));
#define X(name) put(out, #name, number(peer->name));
    WIRE_PEER_NUMBERS(X)
#undef X
    return out;
}

static json_t *
peers_json(const cli_state *state)
{
    json_t *out = json_object(), *list = json_array();
    put(out, "heard", json_boolean(state->has_peers));
    if (!state->has_peers) {
        put(out, "why", text(state->peers_why));
    }
    put(out, "actors", json_integer(state->actors));
    put(out, "evaluators", json_integer(state->evaluators));
    put(out, "silent", json_integer(state->silent));
    put(out, "gone", json_integer(state->gone));
    put(out, "env_steps_per_s", number(state->env_steps_per_s));
    put(out, "lag_mean", number(state->lag_mean));
    for (size_t i = 0; i < state->peer_count; i++) {
        OCT_ASSERT(json_array_append_new(list, peer_json(&state->peer[i])) == 0);
    }
    put(out, "list", list);
    return out;
}

char *
cli_state_json(const cli_state *state)
{
    cli_waiting waiting;
    json_t *out = json_object(), *waits = json_object();
    cli_waiting_judge(&waiting, state);
    put(out, "folder", state->folder[0] != '\0' ? text(state->folder) : json_null());
    put(out, "ended", json_false());
    put(out, "run_id", hexadecimal(state->run_id));
    put(out, "env", text(state->env));
    put(out, "learner", daemon_json(&state->learner));
    put(out, "replay", daemon_json(&state->replay));
    put(out, "peers", peers_json(state));
    put(waits, "who", text(waiting.who));
    put(waits, "for", text(waiting.for_whom));
    put(waits, "share", number(waiting.share));
    put(waits, "why", text(waiting.text));
    put(out, "waiting", waits);
    put(out, "note", state->note[0] != '\0' ? text(state->note) : json_null());
    put(out, "warning", state->warning[0] != '\0' ? text(state->warning) : json_null());
    char *line = json_dumps(out, JSON_COMPACT);
    OCT_ASSERT(line != NULL);
    json_decref(out);
    return line;
}
