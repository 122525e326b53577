#include "cli/cli_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

void
cli_facts_clear(cli_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->batch_size = NAN;
    facts->env_steps_per_s = NAN;
    facts->lag_mean = NAN;
}

double
cli_facts_number(const cli_daemon_facts *daemon, const char *name)
{
    for (size_t i = 0; i < daemon->count; i++) {
        if (strcmp(daemon->number[i].name, name) == 0) {
            return daemon->number[i].value;
        }
    }
    return NAN;
}

void
cli_facts_take_status(cli_daemon_facts *daemon, const wire_status *status)
{
    daemon->heard = true;
    daemon->why[0] = '\0';
    daemon->count = 0;
    (void)snprintf(daemon->state, sizeof(daemon->state), "%s", status->state);
    for (uint32_t i = 0; i < status->stat_count && i < WIRE_STATS_MAX; i++) {
        cli_fact *fact = &daemon->number[daemon->count];
        if (snprintf(fact->name, sizeof(fact->name), "%s", status->stat_name[i]) <
            (int)sizeof(fact->name)) { // a longer one is of another release
            fact->value = status->stat_value[i];
            daemon->count++;
        }
    }
}

void
cli_facts_miss_status(cli_daemon_facts *daemon, const char *why)
{
    daemon->heard = false;
    daemon->count = 0;
    daemon->state[0] = '\0';
    (void)snprintf(daemon->why, sizeof(daemon->why), "%s", why);
}

void
cli_facts_take_peers(cli_facts *facts, const wire_peers *peers)
{
    facts->has_peers = true;
    facts->peers_why[0] = '\0';
    facts->policy_version = peers->policy_version;
    facts->actors = peers->actors;
    facts->evaluators = peers->evaluators;
    facts->silent = peers->silent;
    facts->gone = peers->gone;
    facts->env_steps_per_s = peers->env_steps_per_s;
    facts->lag_mean = peers->lag_mean;
    facts->peer_count = peers->count;
    for (uint32_t i = 0; i < peers->count; i++) {
        facts->peer[i] = (cli_peer){.id = peers->id[i],
                                    .role = (wire_role)peers->role[i],
                                    .pid = peers->pid[i],
                                    .is_silent = peers->is_silent[i] != 0,
                                    .version = peers->version[i],
#define X(name) .name = peers->name[i],
                                    WIRE_PEER_NUMBERS(X)
#undef X
        };
        (void)snprintf(facts->peer[i].host, sizeof(facts->peer[i].host), "%s", peers->host[i]);
    }
}

void
cli_facts_miss_peers(cli_facts *facts, const char *why)
{
    facts->has_peers = false;
    facts->actors = facts->evaluators = facts->silent = facts->gone = 0;
    facts->env_steps_per_s = facts->lag_mean = NAN;
    facts->peer_count = 0;
    (void)snprintf(facts->peers_why, sizeof(facts->peers_why), "%s", why);
}
