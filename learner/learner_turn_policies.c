// Keeps copies of the versions of a life in their order.
#include "learner/learner_turn_policies.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_turn.h"

struct learner_turn_policies {
    uint32_t life_turns;
    uint32_t count;
    quantizer_publication **version; // [life_turns], numbers without a gap
};

learner_turn_policies *
learner_turn_policies_create(uint32_t life_turns)
{
    learner_turn_policies *kept = oct_alloc(sizeof(*kept));
    kept->life_turns = life_turns;
    kept->version = oct_alloc(life_turns * sizeof(quantizer_publication *));
    return kept;
}

static void
kept_forget(learner_turn_policies *kept)
{
    while (kept->count > 0) {
        quantizer_publication_release(kept->version[--kept->count]);
    }
}

void
learner_turn_policies_destroy(learner_turn_policies *kept)
{
    if (kept != NULL) {
        kept_forget(kept);
        free(kept->version);
        free(kept);
    }
}

void
learner_turn_policies_add(learner_turn_policies *kept, const quantizer_publication *publication)
{
    uint32_t life = wire_turn_life(publication->version, kept->life_turns);
    if (publication->version == wire_turn_first(life, kept->life_turns)) {
        kept_forget(kept);
    }
    OCT_ASSERT(kept->count < kept->life_turns);
    quantizer_publication *copy = quantizer_publication_create();
    copy->version = publication->version;
    copy->updates = publication->updates;
    copy->env_steps = publication->env_steps;
    copy->length = publication->length;
    copy->bytes = oct_alloc(publication->length);
    memcpy(copy->bytes, publication->bytes, publication->length);
    kept->version[kept->count++] = copy;
}

const quantizer_publication *
learner_turn_policies_next(const learner_turn_policies *kept, uint64_t have)
{
    if (kept->count == 0 || kept->version[kept->count - 1]->version <= have) {
        return NULL;
    }
    uint64_t first = kept->version[0]->version;
    return kept->version[have < first ? 0 : have + 1 - first];
}
