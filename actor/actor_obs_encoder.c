// Turns discrete observations into the one-hot rows that policies read.
#include "actor/actor_obs_encoder.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

policy_dtype
actor_obs_encoder_dtype(const octet_env_space *space)
{
    return space->n > 0 || space->dtype == OCTET_ENV_U8 ? POLICY_U8 : POLICY_F32;
}

uint32_t
actor_obs_encoder_count(const octet_env_space *space)
{
    return space->n > 0 ? space->n : env_space_count(space);
}

bool
actor_obs_encoder_is_known(const octet_env_space *space)
{
    return space->n > 0 || space->dtype == OCTET_ENV_U8 || space->dtype == OCTET_ENV_F32;
}

void
actor_obs_encoder_init(actor_obs_encoder *sight, const octet_env_space *space, uint32_t rows,
                       bool has_final, octet_env_io *io)
{
    *sight = (actor_obs_encoder){
        .n = space->n,
        .rows = rows,
        .bytes = space->n > 0 ? space->n : env_space_bytes(space),
    };
    sight->obs = oct_alloc(rows * sight->bytes);
    sight->final = has_final ? oct_alloc(rows * sight->bytes) : NULL;
    io->obs_stride = io->final_obs_stride = env_space_bytes(space);
    if (space->n > 0) {
        sight->index = oct_alloc(rows * sizeof(*sight->index));
        sight->final_index = oct_alloc(rows * sizeof(*sight->final_index));
    }
    io->obs = space->n > 0 ? sight->index : sight->obs;
    io->final_obs = !has_final ? NULL : space->n > 0 ? sight->final_index : sight->final;
}

void
actor_obs_encoder_fini(actor_obs_encoder *sight)
{
    free(sight->obs);
    free(sight->final);
    free(sight->index);
    free(sight->final_index);
    *sight = (actor_obs_encoder){0};
}

// The environment has been checked: index[i] < n (env_step).
static uint8_t *
one_hot(const actor_obs_encoder *sight, void *base, const int32_t *index, uint32_t i)
{
    uint8_t *row = (uint8_t *)base + i * sight->bytes;
    memset(row, 0, sight->bytes);
    row[index[i]] = 1;
    return row;
}

void
actor_obs_encoder_renew(actor_obs_encoder *sight)
{
    for (uint32_t i = 0; sight->n > 0 && i < sight->rows; i++) {
        (void)one_hot(sight, sight->obs, sight->index, i);
    }
}

const void *
actor_obs_encoder_final(actor_obs_encoder *sight, uint32_t i)
{
    if (sight->n > 0) {
        return one_hot(sight, sight->final, sight->final_index, i);
    }
    return (const uint8_t *)sight->final + i * sight->bytes;
}
