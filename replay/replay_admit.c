// Admits batches of registered sessions only, by their tokens, and remembers the tokens that it has
// computed.
#include "replay/replay_admit.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// A remembered session and its valid token.
struct slot {
    uint64_t session;
    uint32_t actor_id;
    bool is_used;
    uint8_t token[WIRE_TOKEN_BYTES];
};

struct replay_admit {
    wire_token_maker *maker; // NULL: there is no key yet
    uint8_t key[WIRE_TOKEN_KEY_BYTES];
    uint64_t run_id;
    uint64_t computed;
    struct slot slots[REPLAY_ADMIT_SLOTS]; // by session, see slot_of
};

replay_admit *
replay_admit_create(void)
{
    return oct_alloc(sizeof(replay_admit));
}

void
replay_admit_destroy(replay_admit *admit)
{
    if (admit) {
        wire_token_maker_destroy(admit->maker);
        explicit_bzero(admit, sizeof(*admit));
        free(admit);
    }
}

bool
replay_admit_set_key(replay_admit *admit, uint64_t run_id, const uint8_t key[WIRE_TOKEN_KEY_BYTES])
{
    if (admit->maker && admit->run_id == run_id &&
        memcmp(admit->key, key, WIRE_TOKEN_KEY_BYTES) == 0) {
        return false;
    }
    wire_token_maker_destroy(admit->maker);
    admit->maker = wire_token_maker_create(key);
    admit->run_id = run_id;
    memcpy(admit->key, key, WIRE_TOKEN_KEY_BYTES);
    memset(admit->slots, 0, sizeof(admit->slots));
    return true;
}

bool
replay_admit_has_key(const replay_admit *admit)
{
    return admit->maker != NULL;
}

static struct slot *
slot_of(replay_admit *admit, const wire_claim *claim)
{
    uint64_t mixed = claim->session * 0x9e3779b97f4a7c15u; // 2^64 / golden ratio
    return &admit->slots[(mixed >> 32) % REPLAY_ADMIT_SLOTS];
}

bool
replay_admit_check(replay_admit *admit, const wire_claim *claim)
{
    if (!admit->maker || !claim->has_token) {
        return false;
    }
    struct slot *slot = slot_of(admit, claim);
    if (slot->is_used && slot->session == claim->session && slot->actor_id == claim->actor_id) {
        return wire_token_equal(slot->token, claim->token);
    }
    uint8_t token[WIRE_TOKEN_BYTES];
    wire_token_make(admit->maker, admit->run_id, claim->session, claim->actor_id, token);
    admit->computed++;
    if (!wire_token_equal(token, claim->token)) {
        return false;
    }
    slot->is_used = true;
    slot->session = claim->session;
    slot->actor_id = claim->actor_id;
    memcpy(slot->token, token, sizeof(token));
    return true;
}

uint64_t
replay_admit_computed(const replay_admit *admit)
{
    return admit->computed;
}
