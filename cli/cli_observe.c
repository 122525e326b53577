// Plays some episodes with a policy to obtain observations for octet quantize, import and inspect.
#include "cli/cli_observe.h"

#include <stdio.h>

#include "actor/actor_evaluate.h"
#include "common/oct_reason.h"

#define EPISODES 10

void
cli_observe_row(void *reservoir, const void *obs)
{
    quantizer_reservoir_add(reservoir, obs, 0, 1);
}

oct_err
cli_observe(cli_observed *out, quantizer_reservoir *reservoir, const policy_image *fp32,
            const char *env_id, const char *env_options, uint64_t seed, oct_reason *why)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, fp32, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        oct_reason_set(why, "cannot run policies here: %s", policy_isa_refused().text);
        return err;
    }
    actor_evaluate_request request = {
        .env_id = env_id,
        .options = env_options,
        .episodes = EPISODES,
        .envs = EPISODES,
        .seed = seed,
        .observe = cli_observe_row,
        .observe_arg = reservoir,
    };
    actor_evaluate_result result = {0};
    err = actor_evaluate(net, &request, &result, why);
    policy_net_destroy(net);
    if (err != OCT_OK) {
        return err;
    }
    int length = snprintf(out->text, sizeof(out->text), "%d episodes", EPISODES);
    if (result.failed > 0) {
        (void)snprintf(out->text + length, sizeof(out->text) - (size_t)length,
                       " (and %u that failed)", result.failed);
    }
    return OCT_OK;
}
