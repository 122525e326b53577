// Plays a few episodes with a policy to have observations for octet quantize and octet inspect.
#include "cli/cli_observe.h"

#include <stdio.h>

#include "actor/actor_evaluate.h"

static void
observe_watch(void *arg, const void *obs, size_t stride, uint32_t rows, uint32_t counted)
{
    (void)counted;
    quantizer_reservoir_add(arg, obs, stride, rows);
}

oct_err
cli_observe(quantizer_reservoir *reservoir, const policy_image *fp32, const char *env_id,
            const char *env_options, uint64_t seed, char *reason, size_t reason_size)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, fp32, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        (void)snprintf(reason, reason_size, "cannot run policies here: %s",
                       policy_isa_refused().text);
        return err;
    }
    actor_evaluate_request request = {
        .env_id = env_id,
        .options = env_options,
        .episodes = CLI_OBSERVE_EPISODES,
        .envs = CLI_OBSERVE_EPISODES,
        .seed = seed,
        .watch = observe_watch,
        .watch_arg = reservoir,
    };
    actor_evaluate_result result = {0};
    err = actor_evaluate(net, &request, &result, reason, reason_size);
    policy_net_destroy(net);
    return err;
}
