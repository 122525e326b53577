// The table of relays, and the choice of one for each actor.
#include "learner/learner_relays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "learner/learner_actors.h"

#define SECOND_NS UINT64_C(1000000000)

struct learner_relays {
    uint64_t begin_ns;
    learner_relay table[LEARNER_RELAYS_MAX];
    char kept[WIRE_NAME_MAX + 1]; // the last answer of learner_relays_choose
};

learner_relays *
learner_relays_create(uint64_t now_ns)
{
    learner_relays *relays = oct_alloc(sizeof(*relays));
    relays->begin_ns = now_ns;
    return relays;
}

void
learner_relays_destroy(learner_relays *relays)
{
    free(relays);
}

bool
learner_relay_is_live(const learner_relay *relay, uint64_t now_ns)
{
    return relay->label != 0 && now_ns - relay->seen_ns < LEARNER_RELAY_SILENT_S * SECOND_NS;
}

// Returns the number of the relay that a live relay goes through; 0: none, or not known.
static uint64_t
above_of(const learner_relays *relays, uint64_t number, uint64_t now_ns)
{
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX; i++) {
        const learner_relay *relay = &relays->table[i];
        if (relay->number == number && learner_relay_is_live(relay, now_ns)) {
            return relay->above_number;
        }
    }
    return 0;
}

bool
learner_relays_is_loop(const learner_relays *relays, const wire_register *relay, uint64_t now_ns)
{
    uint64_t above = relay->relay_above_number;
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX && above != 0; i++) {
        if (above == relay->relay_number) {
            return true;
        }
        above = above_of(relays, above, now_ns);
    }
    return false;
}

// Returns the entry with that label. Without one, returns a free entry or the relay that was silent
// longest.
static learner_relay *
entry_of(learner_relays *relays, uint64_t label)
{
    learner_relay *oldest = &relays->table[0];
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX; i++) {
        learner_relay *relay = &relays->table[i];
        if (relay->label == label) {
            return relay;
        }
        oldest = relay->seen_ns < oldest->seen_ns ? relay : oldest;
    }
    return oldest;
}

oct_err
learner_relays_note(learner_relays *relays, const wire_register *relay, uint64_t now_ns,
                    bool *is_new)
{
    if (relay->label == 0) {
        return OCT_EINVAL;
    }
    learner_relay *entry = entry_of(relays, relay->label);
    bool is_same = entry->label == relay->label;
    if (!is_same && learner_relay_is_live(entry, now_ns)) {
        return OCT_EAGAIN;
    }
    *is_new = !is_same || !learner_relay_is_live(entry, now_ns);
    if (!is_same) {
        *entry = (learner_relay){.label = relay->label};
    }
    entry->seen_ns = now_ns;
    entry->pid = relay->pid;
    entry->sessions = relay->relay_sessions;
    oct_text_copy(entry->host, sizeof(entry->host), relay->host);
    oct_text_copy(entry->address, sizeof(entry->address), relay->relay_address);
    oct_text_copy(entry->above, sizeof(entry->above), relay->relay_above);
    entry->number = relay->relay_number;
    entry->above_number = relay->relay_above_number;
    entry->key = learner_relays_key(entry->address);
    return OCT_OK;
}

static bool
is_of_host(const learner_relay *relay, const char *host)
{
    size_t length = oct_text_cut(host, sizeof(relay->host) - 1); // as it is stored
    return strncmp(relay->host, host, length) == 0 && relay->host[length] == '\0';
}

// A relay with only a local socket serves only actors on its host.
static bool
is_reachable(const learner_relay *relay, const wire_register *actor)
{
    return relay->address[0] != '\0' &&
           (strncmp(relay->address, "ipc://", 6) != 0 || is_of_host(relay, actor->host)) &&
           !(actor->relay_lost && strcmp(relay->address, actor->relay_address) == 0);
}

static bool
is_better(const learner_relay *a, const learner_relay *b, const char *host)
{
    bool is_near = is_of_host(a, host);
    return is_near != is_of_host(b, host) ? is_near : a->actors < b->actors;
}

const char *
learner_relays_choose(learner_relays *relays, const wire_register *request, uint64_t now_ns)
{
    const learner_relay *best = NULL;
    bool has_one = request->relay_address[0] != '\0' && !request->relay_lost, is_known = false;
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX; i++) {
        const learner_relay *relay = &relays->table[i];
        is_known =
            is_known || (relay->label != 0 && strcmp(relay->address, request->relay_address) == 0);
        if (!learner_relay_is_live(relay, now_ns) || !is_reachable(relay, request)) {
            continue;
        }
        if (has_one && strcmp(relay->address, request->relay_address) == 0) {
            return relay->address;
        }
        best = best == NULL || is_better(relay, best, request->host) ? relay : best;
    }
    if (has_one && !is_known && now_ns - relays->begin_ns < LEARNER_RELAYS_LEARN_S * SECOND_NS) {
        (void)snprintf(relays->kept, sizeof(relays->kept), "%s", request->relay_address);
        return relays->kept; // the relay may not have registered with this learner yet
    }
    return best != NULL ? best->address : "";
}

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
uint64_t
learner_relays_key(const char *address)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    for (const char *at = address; *at != '\0'; at++) {
        key = (key ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    return address[0] != '\0' ? key : 0;
}

uint32_t
learner_relays_live(const learner_relays *relays, uint64_t now_ns)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX; i++) {
        count += learner_relay_is_live(&relays->table[i], now_ns);
    }
    return count;
}

static bool
is_missed(const learner_relays *relays, const learner_relay *relay, uint64_t now_ns)
{
    if (relay->label == 0 || now_ns - relay->seen_ns >= LEARNER_PEER_GONE_S * SECOND_NS) {
        return false;
    }
    for (uint32_t i = 0; relay->key != 0 && i < LEARNER_RELAYS_MAX; i++) {
        if (relays->table[i].key == relay->key && relays->table[i].seen_ns > relay->seen_ns) {
            return false;
        }
    }
    return true;
}

uint32_t
learner_relays_list(const learner_relays *relays, uint64_t now_ns, const learner_relay *out[])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX; i++) {
        const learner_relay *relay = &relays->table[i];
        if (learner_relay_is_live(relay, now_ns) || is_missed(relays, relay, now_ns)) {
            out[count++] = relay;
        }
    }
    return count;
}

void
learner_relays_count(learner_relays *relays, uint64_t now_ns, learner_relays_actors_fn actors_of,
                     void *arg)
{
    for (uint32_t i = 0; i < LEARNER_RELAYS_MAX; i++) {
        learner_relay *relay = &relays->table[i];
        bool has_some = relay->key != 0 &&
                        (learner_relay_is_live(relay, now_ns) || is_missed(relays, relay, now_ns));
        relay->actors = has_some ? actors_of(arg, relay->key, now_ns) : 0;
    }
}
