// Checks a table's description and fills the Configure message.
#include "lib/client_table.h"

#include <string.h>

#include "common/oct_reason.h"
#include "net/net_url.h"

_Static_assert(OCTET_REPLAY_UNIFORM == (int)WIRE_SAMPLER_UNIFORM &&
                   OCTET_REPLAY_PRIORITIZED == (int)WIRE_SAMPLER_PRIORITIZED &&
                   OCTET_REPLAY_FIFO == (int)WIRE_SAMPLER_FIFO &&
                   OCTET_REPLAY_N_STEP == (int)WIRE_WINDOW_N_STEP &&
                   OCTET_REPLAY_SEQUENCE == (int)WIRE_WINDOW_SEQUENCE &&
                   OCTET_REPLAY_KEY_BYTES == (int)WIRE_TOKEN_KEY_BYTES,
               "the same numbers");

oct_err
client_table_check(const octet_replay_table *table, oct_reason *why)
{
    if (table->size != sizeof(*table)) {
        return oct_refuse(why, "table: size is %u bytes, but this library knows %zu", table->size,
                          sizeof(*table));
    }
    if (table->window == OCTET_REPLAY_SEQUENCE && table->reward_clip != 0) {
        return oct_refuse(why, "reward_clip %g: rewards of sequences are not clipped; allowed is 0",
                          table->reward_clip);
    }
    return OCT_OK;
}

void
client_table_configure(wire_configure *out, const octet_replay_table *table, uint64_t run_id)
{
    *out = (wire_configure){
        .run_id = run_id,
        .capacity = table->capacity,
        .streams = table->streams,
        .obs_bytes = table->observation_bytes,
        .obs_is_float = table->observation_is_float != 0,
        .action_bytes = table->action_bytes,
        .action_is_float = table->action_is_float != 0,
        .sampler = (wire_sampler)table->sampler,
        .priority_exponent = table->priority_exponent,
        .window = (wire_window)table->window,
        .window_steps = table->steps,
        .window_stride = table->stride,
        .discount = table->discount,
        .reward_clip = table->reward_clip,
        .min_size = table->min_size,
        .samples_per_insert = table->samples_per_insert,
        .tolerance = table->tolerance,
        .seed = table->seed,
    };
    memcpy(out->token_key, table->key, sizeof(out->token_key));
}

oct_err
client_url_check(const char *url, oct_reason *why)
{
    char last[NET_URL_MAX];
    if (!net_url_is_ipc(url)) {
        return oct_refuse(why, "%s: allowed is ipc://PATH", url);
    }
    OCT_TRY(net_url_check(url, false, why));
    return net_url_offset(url, 2, last) == OCT_OK // batches use url + 1, acknowledgements + 2
               ? OCT_OK
               : oct_refuse(why, "%s: the path is too long", url);
}
