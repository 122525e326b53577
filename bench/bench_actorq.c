// Environment steps per second of one acting thread, for the tasks of ActorQ's table: by width of
// the policy (three hidden layers), precision, and number of environments in a forward pass.
//
// Checked first: int8 outputs are those of the scalar reference, to the bit, over the observations
// that the actor recorded. The baselines are in the same run: fp32 of the same weights, which takes
// turns with the others, and the environment alone. JSON lines; nanoseconds of the thread's CPU
// time per environment step, medians. usage: bench_actorq [quick] [TASK...]
//        bench_actorq policy=FILE: that policy in its environment instead (bench_actorq_torch.py)
#include <math.h>
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
#include "policy/policy_file.h"
#include "quantizer/quantizer_convert.h"

enum { ROUNDS_MAX = 7, PRECISIONS = 4, HIDDEN = 3, TURN_NS = 60000000 };

static const char *const tasks[] = {
    "dmc:cartpole_balance", "dmc:walker_stand", "dmc:hopper_stand",   "dmc:reacher_hard",
    "dmc:cheetah_run",      "dmc:finger_spin",  "dmc:humanoid_stand", "dmc:humanoid_walk",
    "CartPole-v1",          "MountainCar-v0",   "Acrobot-v1",
};
static const uint32_t widths[] = {256, 512, 2048};
static const uint32_t batches[] = {1, 4, 16};
static const policy_precision precisions[PRECISIONS] = {POLICY_FP32, POLICY_BF16, POLICY_INT8,
                                                        POLICY_INT4};
static const char *const precision_names[PRECISIONS] = {"fp32", "bf16", "int8", "int4"};

// One precision of one policy, acting.
typedef struct contestant {
    policy_image *image;
    policy_net *net;
    actor_run *run;
    actor_batch *batch;
    double ns[ROUNDS_MAX];
} contestant;

// NULL: this build does not have it.
static env *
opened(const char *task, uint32_t count)
{
    env *e;
    oct_reason why;
    env_request request = {.id = task, .options = "", .count = count, .seed = 1, .autoreset = true};
    oct_err err = env_open(&e, &request, &why);
    if (err == OCT_ENOTFOUND) {
        return NULL;
    }
    if (err != OCT_OK) {
        fprintf(stderr, "bench_actorq: %s\n", why.text);
        exit(1);
    }
    return e;
}

static policy_spec
spec_of(const env *e, const char *task, uint32_t width)
{
    const octet_env_spec *of = env_spec(e);
    policy_spec spec = {.obs_dtype = POLICY_F32, .obs_count = 1};
    const uint32_t hidden[HIDDEN] = {width, width, width};
    (void)snprintf(spec.env_id, sizeof(spec.env_id), "%s", task);
    for (uint32_t i = 0; i < of->obs.rank; i++) {
        spec.obs_count *= of->obs.shape[i];
    }
    if (of->action.n > 0) {
        spec.action_kind = POLICY_DISCRETE;
        spec.action_count = of->action.n;
        spec.head = POLICY_HEAD_VALUES;
    } else {
        spec.action_kind = POLICY_BOX;
        spec.action_count = of->action.shape[0];
        spec.head = POLICY_HEAD_TANH;
        for (uint32_t i = 0; i < spec.action_count; i++) {
            spec.action_low[i] = (float)of->action.low[i];
            spec.action_high[i] = (float)of->action.high[i];
        }
    }
    OCT_ASSERT(policy_spec_set_mlp(&spec, hidden, HIDDEN, POLICY_RELU, false, spec.action_count) ==
               OCT_OK);
    return spec;
}

// Weights as they begin a run: normal, so that activations keep their size.
static float *
random_params(const policy_spec *spec)
{
    size_t count = policy_spec_params(spec);
    float *params = oct_alloc(count * sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, 7, 7);
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        policy_offsets at = policy_spec_layer(spec, l);
        float deviation = 1 / sqrtf((float)spec->layers[l].inputs);
        for (size_t i = 0; i < policy_layer_weights(&spec->layers[l]); i++) {
            params[at.weight + i] = deviation * oct_rng_normal(&rng);
        }
    }
    return params;
}

static void
act(const contestant *c, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        if (!actor_batch_has_room(c->batch, actor_run_shape(c->run))) {
            actor_batch_seal(c->batch);
            actor_run_open_batch(c->run, c->batch);
        }
        OCT_ASSERT(actor_run_step(c->run, c->batch) == OCT_OK);
    }
}

// What the kernel gives for the observations of the batch at hand is what the reference gives.
static void
check(const contestant *c, const policy_spec *spec)
{
    uint32_t outputs = spec->layers[spec->layer_count - 1].outputs;
    float got[POLICY_ACTIONS_MAX], want[POLICY_ACTIONS_MAX];
    policy_net *reference;
    OCT_ASSERT(policy_net_create(&reference, c->image, POLICY_ISA_REF) == OCT_OK);
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    for (uint32_t i = 0; i < OCT_MIN(c->batch->count, 4u); i++) {
        const uint8_t *obs = c->batch->obs + (size_t)i * c->batch->obs_bytes;
        policy_forward(c->net, scratch, obs, c->batch->obs_bytes, 1, got);
        policy_forward(reference, scratch, obs, c->batch->obs_bytes, 1, want);
        if (memcmp(got, want, outputs * sizeof(float)) != 0) {
            fprintf(stderr, "bench_actorq: %s: outputs are not the reference's\n", spec->env_id);
            exit(1);
        }
    }
    policy_scratch_destroy(scratch);
    policy_net_destroy(reference);
}

// Begins to act with the policy of its image, which checks int8.
static void
contestant_begin(contestant *c, const config_experiment *config)
{
    const actor_seed seed = {1, 0, 0};
    env *e = opened(c->image->spec.env_id, config->actor.envs);
    OCT_ASSERT(policy_net_create(&c->net, c->image, POLICY_ISA_BEST) == OCT_OK);
    OCT_ASSERT(actor_run_create(&c->run, e, config, &c->image->spec, &seed) == OCT_OK);
    actor_run_set_policy(c->run, c->net);
    c->batch = actor_batch_create(actor_run_shape(c->run));
    actor_run_open_batch(c->run, c->batch);
    act(c, 8);
    if (c->image->precision == POLICY_INT8) {
        check(c, &c->image->spec);
    }
}

static void
contestant_make(contestant *c, const config_experiment *config, const policy_spec *spec,
                const float *params, policy_precision precision)
{
    OCT_ASSERT(policy_image_create(&c->image, spec, precision) == OCT_OK);
    OCT_ASSERT(quantizer_convert(c->image, params, &QUANTIZER_METHOD_DEFAULT) == OCT_OK);
    c->image->origin.version = 1;
    contestant_begin(c, config);
}

static void
contestant_free(contestant *c)
{
    actor_batch_destroy(c->batch);
    actor_run_destroy(c->run);
    policy_net_destroy(c->net);
    policy_image_destroy(c->image);
}

// CPU nanoseconds of one environment step, of at least steps calls.
static double
turn(const contestant *c, uint32_t count, uint32_t steps)
{
    uint64_t begin = oct_clock_thread_cpu_ns();
    act(c, steps);
    return (double)(oct_clock_thread_cpu_ns() - begin) / (double)steps / count;
}

// Calls that fill a turn, at the speed that a first few have.
static uint32_t
turn_steps(const contestant *c, uint64_t turn_ns)
{
    uint64_t begin = oct_clock_thread_cpu_ns();
    act(c, 4);
    double each = (double)(oct_clock_thread_cpu_ns() - begin) / 4;
    return (uint32_t)OCT_MAX(4, (double)turn_ns / OCT_MAX(each, 1));
}

static double
env_alone_ns(const char *task, const policy_spec *spec, uint32_t count, int rounds,
             uint64_t turn_ns)
{
    env *e = opened(task, count);
    size_t obs_bytes = spec->obs_count * sizeof(float);
    size_t action_bytes = spec->action_kind == POLICY_BOX ? spec->action_count * 4u : 4u;
    uint8_t *rows = oct_alloc(count * (2 * obs_bytes + action_bytes));
    float reward[16], returns[16];
    int32_t length[16];
    uint8_t flags[16];
    octet_env_io io = {
        .size = sizeof(io),
        .action = rows, // zeros: the middle of the box, or the first action
        .action_stride = (uint32_t)action_bytes,
        .obs = rows + count * action_bytes,
        .obs_stride = (uint32_t)obs_bytes,
        .final_obs = rows + count * (action_bytes + obs_bytes),
        .final_obs_stride = (uint32_t)obs_bytes,
        .reward = reward,
        .flags = flags,
        .ep_return = returns,
        .ep_length = length,
    };
    double ns[ROUNDS_MAX];
    OCT_ASSERT(env_reset(e, NULL, NULL, &io) == OCT_OK);
    for (int r = 0; r < rounds; r++) {
        uint64_t begin = oct_clock_thread_cpu_ns(), now = begin;
        double steps = 0;
        while (now - begin < turn_ns) {
            for (int i = 0; i < 16; i++) {
                OCT_ASSERT(env_step(e, &io) == OCT_OK);
            }
            steps += 16.0 * count;
            now = oct_clock_thread_cpu_ns();
        }
        ns[r] = (double)(now - begin) / steps;
    }
    env_close(e);
    free(rows);
    return bench_median(ns, rounds);
}

static void
measure(config_experiment *config, const char *task, uint32_t width, uint32_t count, int rounds,
        uint64_t turn_ns)
{
    contestant contestants[PRECISIONS] = {0};
    uint32_t steps[PRECISIONS];
    env *e = opened(task, 1);
    policy_spec spec = spec_of(e, task, width);
    env_close(e);
    config->actor.envs = count;
    float *params = random_params(&spec);
    for (int p = 0; p < PRECISIONS; p++) {
        contestant_make(&contestants[p], config, &spec, params, precisions[p]);
        steps[p] = turn_steps(&contestants[p], turn_ns);
    }
    for (int r = 0; r < rounds; r++) {
        for (int p = 0; p < PRECISIONS; p++) {
            contestants[p].ns[r] = turn(&contestants[p], count, steps[p]);
        }
    }
    double alone = env_alone_ns(task, &spec, count, rounds, turn_ns);
    double fp32 = bench_median(contestants[0].ns, rounds);
    for (int p = 0; p < PRECISIONS; p++) {
        double ns = bench_median(contestants[p].ns, rounds);
        printf("{\"bench\": \"actorq\", \"task\": \"%s\", \"hidden\": \"3x%u\", \"envs\": %u, "
               "\"precision\": \"%s\", \"kernel\": \"%s\", \"unit\": \"ns per env step\", "
               "\"median\": %.1f, \"env_alone\": %.1f, \"steps_per_s\": %.0f, "
               "\"over_fp32\": %.3f, \"n\": %d, \"commit\": \"%s\"}\n",
               task, width, count, precision_names[p],
               policy_isa_name(policy_net_isa(contestants[p].net)), ns, alone, 1e9 / ns, fp32 / ns,
               rounds, OCT_COMMIT);
        contestant_free(&contestants[p]);
    }
    (void)fflush(stdout);
    free(params);
}

// A policy that somebody else made, one environment a call.
static void
measure_file(config_experiment *config, const char *path)
{
    contestant c = {0};
    oct_reason why;
    if (policy_file_load(&c.image, path, &why) != OCT_OK) {
        fprintf(stderr, "bench_actorq: %s: %s\n", path, why.text);
        exit(1);
    }
    config->actor.envs = 1;
    contestant_begin(&c, config);
    uint32_t steps = turn_steps(&c, TURN_NS);
    for (int r = 0; r < ROUNDS_MAX; r++) {
        c.ns[r] = turn(&c, 1, steps);
    }
    const policy_spec *spec = &c.image->spec;
    double alone = env_alone_ns(spec->env_id, spec, 1, ROUNDS_MAX, TURN_NS);
    printf("{\"task\": \"%s\", \"precision\": \"%s\", \"kernel\": \"%s\", \"unit\": \"ns per env "
           "step\", "
           "\"median\": %.1f, \"env_alone\": %.1f, \"n\": %d, \"commit\": \"%s\"}\n",
           spec->env_id, policy_precision_name(c.image->precision),
           policy_isa_name(policy_net_isa(c.net)), bench_median(c.ns, ROUNDS_MAX), alone,
           ROUNDS_MAX, OCT_COMMIT);
    contestant_free(&c);
}

static bool
is_task(const char *name)
{
    bool is = false;
    for (size_t t = 0; t < OCT_COUNTOF(tasks); t++) {
        is = is || strcmp(tasks[t], name) == 0;
    }
    return is;
}

static bool
is_wanted(const char *task, int count, char **names)
{
    bool is = count == 0;
    for (int i = 0; i < count; i++) {
        is = is || strcmp(names[i], task) == 0;
    }
    return is;
}

int
main(int argc, char **argv)
{
    static config_experiment config;
    bool is_quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    int names = argc - 1 - is_quick;
    config_default(&config);
    config.actor.batch_steps = 256;
    if (argc == 2 && strncmp(argv[1], "policy=", strlen("policy=")) == 0) {
        measure_file(&config, argv[1] + strlen("policy="));
        return 0;
    }
    for (int i = argc - names; i < argc; i++) {
        if (!is_task(argv[i])) {
            fprintf(stderr, "%s: no task '%s'\nusage: %s [quick] [TASK...] | policy=FILE\n",
                    argv[0], argv[i], argv[0]);
            return 2;
        }
    }
    for (size_t t = 0; t < OCT_COUNTOF(tasks); t++) {
        env *e = is_wanted(tasks[t], names, argv + argc - names) ? opened(tasks[t], 1) : NULL;
        if (e == NULL) {
            continue;
        }
        env_close(e);
        for (size_t w = 0; w < OCT_COUNTOF(widths) - is_quick; w++) {
            for (size_t b = 0; b < OCT_COUNTOF(batches); b++) {
                measure(&config, tasks[t], widths[w], batches[b], is_quick ? 1 : ROUNDS_MAX,
                        is_quick ? 1 : TURN_NS);
            }
        }
    }
    return 0;
}
