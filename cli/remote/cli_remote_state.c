// What is known of a run on other hosts at this moment.

#include "cli/remote/cli_remote_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

void
cli_remote_state_clear(cli_remote_state *state)
{
    memset(state, 0, sizeof(*state));
    state->batch_size = NAN;
    state->env_steps_per_s = NAN;
    state->lag_mean = NAN;
}

double
cli_remote_state_number(const cli_daemon_state *daemon, const char *name)
{
    for (size_t i = 0; i < daemon->count; i++) {
        if (strcmp(daemon->number[i].name, name) == 0) {
            return daemon->number[i].value;
        }
    }
    return NAN;
}

void
cli_remote_state_take_status(cli_daemon_state *daemon, const wire_status *status)
{
    daemon->heard = true;
    daemon->why[0] = '\0';
    daemon->count = 0;
    (void)snprintf(daemon->state, sizeof(daemon->state), "%s", status->state);
    for (uint32_t i = 0; i < status->stat_count && i < WIRE_STATS_MAX; i++) {
        cli_daemon_number *fact = &daemon->number[daemon->count];
        if (snprintf(fact->name, sizeof(fact->name), "%s", status->stat_name[i]) <
            (int)sizeof(fact->name)) { // a longer one is of another release
            fact->value = status->stat_value[i];
            daemon->count++;
        }
    }
}

void
cli_remote_state_miss_status(cli_daemon_state *daemon, const char *why)
{
    daemon->heard = false;
    daemon->count = 0;
    daemon->state[0] = '\0';
    (void)snprintf(daemon->why, sizeof(daemon->why), "%s", why);
}

void
cli_remote_state_take_peers(cli_remote_state *state, const wire_peers *peers)
{
    state->has_peers = true;
    state->peers_why[0] = '\0';
    state->policy_version = peers->policy_version;
    state->actors = peers->actors;
    state->evaluators = peers->evaluators;
    state->silent = peers->silent;
    state->gone = peers->gone;
    state->env_steps_per_s = peers->env_steps_per_s;
    state->lag_mean = peers->lag_mean;
    state->peer_count = peers->count;
    for (uint32_t i = 0; i < peers->count; i++) {
        state->peer[i] = (cli_peer){.id = peers->id[i],
                                    .role = (wire_role)peers->role[i],
                                    .pid = peers->pid[i],
                                    .is_silent = peers->is_silent[i] != 0,
                                    .version = peers->version[i],
#define X(name) .name = peers->name[i],
                                    WIRE_PEER_NUMBERS(X)
#undef X
        };
        (void)snprintf(state->peer[i].host, sizeof(state->peer[i].host), "%s", peers->host[i]);
    }
}

void
cli_remote_state_miss_peers(cli_remote_state *state, const char *why)
{
    state->has_peers = false;
    state->actors = state->evaluators = state->silent = state->gone = 0;
    state->env_steps_per_s = state->lag_mean = NAN;
    state->peer_count = 0;
    (void)snprintf(state->peers_why, sizeof(state->peers_why), "%s", why);
}
