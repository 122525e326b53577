// Environment steps per second of one acting thread: policy inference, exploration, environments
// and recording what happened, as octet-actor does it, without a network.
//
// Checked first: with exploration off, the actions in the batch are those of a forward pass by the
// scalar reference. The baseline in the same run is the environment alone, stepped with the same
// number of environments and fixed actions. JSON lines; nanoseconds of the thread's CPU time per
// step, medians; last the bytes of a step on the wire. usage: bench_actor [quick]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_run.h"
#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "quantizer/quantizer_convert.h"

enum { ENVS = 64, ROUNDS = 11, ROUND_STEPS = 20000 };

typedef struct bench_case {
    uint32_t hidden[2];
    policy_precision precision;
} bench_case;

static const bench_case cases[] = {
    {{64, 64}, POLICY_INT8},
    {{256, 256}, POLICY_INT8},
    {{64, 64}, POLICY_FP32},
    {{256, 256}, POLICY_FP32},
};

static env *
cartpole(void)
{
    env *e;
    oct_reason why;
    env_request request = {
        .id = "CartPole-v1", .options = "", .count = ENVS, .seed = 1, .autoreset = true};
    if (env_open(&e, &request, &why) != OCT_OK) {
        fprintf(stderr, "bench_actor: %s\n", why.text);
        exit(1);
    }
    return e;
}

static policy_image *
random_policy(const bench_case *what)
{
    policy_spec spec = {
        .env_id = "CartPole-v1",
        .obs_dtype = POLICY_F32,
        .obs_count = 4,
        .action_kind = POLICY_DISCRETE,
        .action_count = 2,
        .head = POLICY_HEAD_VALUES,
    };
    OCT_ASSERT(policy_spec_set_mlp(&spec, what->hidden, 2, POLICY_RELU, false, 2) == OCT_OK);
    size_t count = policy_spec_params(&spec);
    float *params = oct_alloc(count * sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, 7, 7);
    for (size_t i = 0; i < count; i++) {
        params[i] = 0.1f * oct_rng_normal(&rng);
    }
    // An fp32 policy of the same weights is what an int8 one is made from.
    policy_image *image;
    OCT_ASSERT(policy_image_create(&image, &spec, what->precision) == OCT_OK);
    if (what->precision == POLICY_INT8) {
        OCT_ASSERT(quantizer_convert(image, params, &QUANTIZER_METHOD_DEFAULT) == OCT_OK);
    } else {
        for (uint32_t l = 0; l < spec.layer_count; l++) {
            policy_offsets at = policy_spec_layer(&spec, l);
            size_t weights = (size_t)spec.layers[l].outputs * spec.layers[l].inputs;
            memcpy(image->weights[l], params + at.weight, weights * sizeof(float));
            memcpy(image->bias[l], params + at.bias, spec.layers[l].outputs * sizeof(float));
        }
    }
    image->origin.version = 1;
    free(params);
    return image;
}

static actor_run *
make_run(const config_experiment *config, const policy_net *net)
{
    actor_run *run;
    const actor_seed seed = {1, 0, 0};
    OCT_ASSERT(actor_run_create(&run, cartpole(), config, policy_net_spec(net), &seed) == OCT_OK);
    actor_run_set_policy(run, net);
    return run;
}

// Steps until count environment steps are done; batches are sealed and emptied, never sent.
static void
act(actor_run *run, actor_batch *batch, uint64_t count)
{
    const actor_batch_shape *shape = actor_run_shape(run);
    for (uint64_t done = 0; done < count; done += ENVS) {
        if (!actor_batch_has_room(batch, shape)) {
            actor_batch_seal(batch);
            actor_run_open_batch(run, batch);
        }
        OCT_ASSERT(actor_run_step(run, batch) == OCT_OK);
    }
}

// Every row but the ends of episodes carries the action taken at its observation.
static void
check(const config_experiment *config, const policy_image *image, const policy_net *net)
{
    config_experiment greedy = *config;
    greedy.actor.epsilon_base = 0;
    greedy.actor.epsilon_anneal_steps = 0;
    actor_run *run = make_run(&greedy, net);
    actor_batch *batch = actor_batch_create(actor_run_shape(run));
    actor_run_open_batch(run, batch);
    act(run, batch, (uint64_t)ENVS * 4);
    actor_batch_seal(batch);
    policy_net *reference;
    policy_isa isa = policy_net_precision(net) == POLICY_INT8 ? POLICY_ISA_REF : POLICY_ISA_BEST;
    OCT_ASSERT(policy_net_create(&reference, image, isa) == OCT_OK);
    policy_scratch *scratch = policy_scratch_create(policy_net_spec(net), 1);
    for (uint32_t i = 0; i < batch->count; i++) {
        float y[2];
        int32_t want, got;
        const uint8_t *obs = batch->obs + (size_t)i * batch->obs_bytes;
        if ((batch->flags[i] & WIRE_END) != 0) {
            continue;
        }
        policy_forward(reference, scratch, obs, batch->obs_bytes, 1, y);
        policy_act(policy_net_spec(net), y, 1, &want);
        memcpy(&got, batch->action + i * sizeof(got), sizeof(got));
        if (got != want) {
            fprintf(stderr, "bench_actor: wrong action %d, reference says %d\n", got, want);
            exit(1);
        }
    }
    policy_scratch_destroy(scratch);
    policy_net_destroy(reference);
    actor_batch_destroy(batch);
    actor_run_destroy(run);
}

// Nanoseconds of CPU per step of the environment alone.
static double
env_alone_ns(int rounds)
{
    env *e = cartpole();
    float obs[ENVS][4], final[ENVS][4], reward[ENVS], returns[ENVS];
    int32_t action[ENVS], length[ENVS];
    uint8_t flags[ENVS];
    octet_env_io io = {
        .size = sizeof(io),
        .action = action,
        .action_stride = sizeof(action[0]),
        .obs = obs,
        .obs_stride = sizeof(obs[0]),
        .final_obs = final,
        .final_obs_stride = sizeof(final[0]),
        .reward = reward,
        .flags = flags,
        .ep_return = returns,
        .ep_length = length,
    };
    for (int i = 0; i < ENVS; i++) {
        action[i] = i & 1;
    }
    OCT_ASSERT(env_reset(e, NULL, NULL, &io) == OCT_OK);
    double ns[ROUNDS];
    for (int r = 0; r < rounds; r++) {
        uint64_t begin = oct_clock_thread_cpu_ns();
        for (int t = 0; t < ROUND_STEPS / ENVS; t++) {
            OCT_ASSERT(env_step(e, &io) == OCT_OK);
        }
        ns[r] = (double)(oct_clock_thread_cpu_ns() - begin) / (ROUND_STEPS / ENVS * ENVS);
    }
    env_close(e);
    return bench_median(ns, rounds);
}

// Bytes that a step costs on the wire, in messages of 512 steps, and steps of an episode with that
// policy: its end is a row, too.
static void
measure_wire(const config_experiment *config, const bench_case *what)
{
    enum { MESSAGES = 400 };
    config_experiment small = *config;
    small.actor.batch_steps = 512;
    policy_image *image = random_policy(what);
    policy_net *net;
    OCT_ASSERT(policy_net_create(&net, image, POLICY_ISA_BEST) == OCT_OK);
    actor_run *run = make_run(&small, net);
    actor_batch *batch = actor_batch_create(actor_run_shape(run));
    size_t bytes = 0, steps = 0, rows = 0;
    for (uint32_t n = 1; n <= MESSAGES; n++) {
        actor_run_open_batch(run, batch);
        while (actor_batch_has_room(batch, actor_run_shape(run))) {
            OCT_ASSERT(actor_run_step(run, batch) == OCT_OK);
        }
        actor_batch_seal(batch);
        batch->sequence = n;
        wire_batch view = actor_batch_view(batch, UINT32_MAX, UINT64_MAX, n);
        bytes += wire_batch_size(&view);
        steps += batch->steps;
        rows += batch->count;
    }
    printf("{\"bench\": \"actor_wire\", \"size\": \"CartPole b%d, messages of 512 steps\", "
           "\"unit\": \"bytes per env step\", \"mean\": %.2f, \"steps_per_episode\": %.1f, "
           "\"n\": %d, \"commit\": \"%s\"}\n",
           ENVS, (double)bytes / (double)steps, (double)steps / (double)(rows - steps), MESSAGES,
           OCT_COMMIT);
    actor_batch_destroy(batch);
    actor_run_destroy(run);
    policy_net_destroy(net);
    policy_image_destroy(image);
}

static void
measure(const config_experiment *config, const bench_case *what, int rounds)
{
    policy_image *image = random_policy(what);
    policy_net *net;
    OCT_ASSERT(policy_net_create(&net, image, POLICY_ISA_BEST) == OCT_OK);
    check(config, image, net);
    actor_run *run = make_run(config, net);
    actor_batch *batch = actor_batch_create(actor_run_shape(run));
    actor_run_open_batch(run, batch);
    act(run, batch, ROUND_STEPS);
    double ns[ROUNDS], best = 1e30;
    for (int r = 0; r < rounds; r++) {
        uint64_t begin = oct_clock_thread_cpu_ns();
        act(run, batch, ROUND_STEPS);
        ns[r] = (double)(oct_clock_thread_cpu_ns() - begin) / ROUND_STEPS;
        best = OCT_MIN(best, ns[r]);
    }
    double middle = bench_median(ns, rounds), alone = env_alone_ns(rounds);
    printf("{\"bench\": \"actor\", \"size\": \"CartPole %ux%u b%d\", \"precision\": \"%s\", "
           "\"kernel\": \"%s\", \"unit\": \"ns per env step\", \"median\": %.1f, \"min\": %.1f, "
           "\"env_alone\": %.1f, \"steps_per_s\": %.0f, \"n\": %d, \"commit\": \"%s\"}\n",
           what->hidden[0], what->hidden[1], ENVS, what->precision == POLICY_INT8 ? "int8" : "fp32",
           policy_isa_name(policy_net_isa(net)), middle, best, alone, 1e9 / middle, rounds,
           OCT_COMMIT);
    actor_batch_destroy(batch);
    actor_run_destroy(run);
    policy_net_destroy(net);
    policy_image_destroy(image);
}

int
main(int argc, char **argv)
{
    static config_experiment config;
    int rounds = argc > 1 && strcmp(argv[1], "quick") == 0 ? 1 : ROUNDS;
    config_default(&config);
    config.actor.envs = ENVS;
    config.actor.batch_steps = 1024;
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        measure(&config, &cases[i], rounds);
    }
    measure_wire(&config, &cases[0]);
    return 0;
}
