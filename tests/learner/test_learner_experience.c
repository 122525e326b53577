// What an update learns from is what the environment gave: steps go through the acting core, over
// the wire, through replay and into a batch, and are compared with n-step returns added up from the
// same environment stepped by hand.
#include <stdlib.h>
#include <string.h>

#include "actor/actor_run.h"
#include "common/oct_reason.h"
#include "replay/replay_table.h"
#include "tests/actor/actor_fixture.h"
#include "tests/learner/batch_fixture.h"

enum { STEPS = 1500, BATCH = 8, OBS_MAX = 512, SESSION = 3 };

// One stream of rows as the environment gave them by hand.
typedef struct by_hand {
    uint8_t obs[STEPS][OBS_MAX];       // before the step
    uint8_t obs_after[STEPS][OBS_MAX]; // after it, the episode's own
    int32_t action[STEPS];
    float reward[STEPS];
    uint8_t flags[STEPS]; // the environment's
} by_hand;

typedef struct line {
    config_experiment config;
    policy_spec spec;
    actor_seed seed;
    policy_net *net;
    actor_run *run;
    actor_batch *batch;
    wire_arena *arena;
    replay_table *table;
    uint64_t sequence;
    int32_t action[STEPS]; // as the rows tell
    uint32_t acted;
    by_hand hand;
} line;

static policy_spec
spec_of(const config_experiment *config, const octet_env_spec *from)
{
    policy_spec spec = {
        .obs_dtype = from->obs.dtype == OCTET_ENV_U8 ? POLICY_U8 : POLICY_F32,
        .obs_count = env_space_count(&from->obs),
        .obs_rank = from->obs.rank,
        .action_kind = POLICY_DISCRETE,
        .action_count = from->action.n,
    };
    oct_reason why = {""};
    memcpy(spec.obs_shape, from->obs.shape, sizeof(spec.obs_shape));
    T_OK(algo_make_spec(config, &spec, NULL, &why));
    return spec;
}

static policy_net *
policy_of(const policy_spec *spec)
{
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, spec, POLICY_FP32));
    return net_of(image);
}

// As the learner configures it, but oldest first and each window once, so that all of them are
// seen, in an order that is known.
static replay_table *
table_of(const line *l)
{
    wire_configure configure = {
        .run_id = 1,
        .capacity = 4 * STEPS,
        .streams = 1,
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(&l->spec),
        .obs_is_float = l->spec.obs_dtype == POLICY_F32,
        .action_bytes = (uint32_t)policy_spec_action_bytes(&l->spec),
        .sampler = WIRE_SAMPLER_FIFO,
        .window = WIRE_WINDOW_N_STEP,
        .window_steps = l->config.algo.n_step,
        .discount = l->config.algo.discount,
        .min_size = 1,
        .seed = 1,
    };
    return replay_table_create(&configure);
}

static line *
line_open(const char *id, uint32_t n_step)
{
    line *l = oct_alloc(sizeof(*l));
    l->config = fixture_config(id);
    l->config.algo.n_step = n_step;
    l->config.actor.epsilon_base = 1; // at random: all that can happen does
    l->config.actor.epsilon_power = 1;
    l->config.actor.batch_steps = 50;
    l->seed = (actor_seed){5, 0, 0};
    env *e = fixture_env(id, "", 1, 10);
    l->spec = spec_of(&l->config, env_spec(e));
    assert_true(policy_spec_obs_bytes(&l->spec) <= OBS_MAX);
    l->net = policy_of(&l->spec);
    T_OK(actor_run_create(&l->run, e, &l->config, &l->spec, &l->seed));
    actor_run_set_policy(l->run, l->net);
    l->batch = actor_batch_create(actor_run_shape(l->run));
    actor_run_open_batch(l->run, l->batch);
    l->arena = wire_arena_create(1u << 20);
    l->table = table_of(l);
    return l;
}

static void
line_close(line *l)
{
    actor_run_destroy(l->run);
    actor_batch_destroy(l->batch);
    policy_net_destroy(l->net);
    wire_arena_destroy(l->arena);
    replay_table_destroy(l->table);
    free(l);
}

// The batch as it is, over the wire and into replay.
static void
line_send(line *l)
{
    actor_batch_seal(l->batch);
    l->batch->sequence = ++l->sequence;
    wire_batch view = actor_batch_view(l->batch, 0, SESSION, 1), got;
    size_t length = wire_batch_size(&view);
    uint8_t *bytes = oct_alloc(length);
    wire_batch_pack(&view, bytes);
    T_OK(wire_batch_unpack(&got, l->arena, bytes, length));
    for (uint32_t row = 0; row < got.count; row++) {
        if ((got.flags[row] & WIRE_END) == 0) {
            memcpy(&l->action[l->acted++], got.action + (size_t)row * got.action_bytes, 4);
        }
    }
    replay_insert taken;
    T_OK(replay_table_insert(&taken, l->table, &got));
    assert_int_equal(taken.kind, REPLAY_INSERT_TAKEN);
    wire_arena_reset(l->arena);
    free(bytes);
    actor_run_open_batch(l->run, l->batch);
}

static void
line_act(line *l)
{
    for (uint32_t t = 0; t < STEPS; t++) {
        if (!actor_batch_has_room(l->batch, actor_run_shape(l->run))) {
            line_send(l);
        }
        T_OK(actor_run_step(l->run, l->batch));
    }
    line_send(l);
    assert_int_equal(l->acted, STEPS);
}

// The same actions in an environment of the same seed.
static void
line_by_hand(line *l)
{
    by_hand *hand = &l->hand;
    uint8_t obs[OBS_MAX], final_obs[OBS_MAX];
    octet_env_io io = {.size = sizeof(io),
                       .action_stride = 4,
                       .obs = obs,
                       .obs_stride = OBS_MAX,
                       .final_obs = final_obs,
                       .final_obs_stride = OBS_MAX};
    env *e = fixture_env(l->config.env.id, "", 1, 99);
    uint64_t seed = actor_seed_of(&l->seed, ACTOR_SEED_ENV, 0);
    T_OK(env_reset(e, NULL, &seed, &io));
    for (uint32_t t = 0; t < STEPS; t++) {
        hand->action[t] = l->action[t];
        memcpy(hand->obs[t], obs, OBS_MAX);
        io.action = &hand->action[t];
        io.reward = &hand->reward[t];
        io.flags = &hand->flags[t];
        T_OK(env_step(e, &io));
        bool ended = (hand->flags[t] & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0;
        memcpy(hand->obs_after[t], ended ? final_obs : obs, OBS_MAX);
    }
    env_close(e);
}

static void
assert_obs(const policy_spec *spec, const float *got, const uint8_t *wanted)
{
    for (uint32_t k = 0; k < spec->obs_count; k++) {
        float number = wanted[k];
        if (spec->obs_dtype == POLICY_F32) {
            memcpy(&number, wanted + k * sizeof(number), sizeof(number));
        }
        assert_true(got[k] == number);
    }
}

// Row i of the batch is the window that begins at step t.
static void
assert_window(const line *l, const algo_batch *batch, uint32_t i, uint32_t t)
{
    const by_hand *hand = &l->hand;
    double sum = 0, discount = 1;
    bool terminated = false, ended = false;
    uint32_t last = t;
    for (uint32_t k = 0; k < l->config.algo.n_step && !ended; k++) {
        last = t + k;
        assert_true(last < STEPS);
        sum += discount * (double)hand->reward[last];
        discount *= l->config.algo.discount;
        terminated = (hand->flags[last] & OCTET_ENV_TERMINATED) != 0;
        ended = terminated || (hand->flags[last] & OCTET_ENV_TRUNCATED) != 0;
    }
    assert_obs(&l->spec, batch->obs + (size_t)i * l->spec.obs_count, hand->obs[t]);
    assert_obs(&l->spec, batch->next + (size_t)i * l->spec.obs_count, hand->obs_after[last]);
    assert_int_equal(((const int32_t *)batch->action)[i], hand->action[t]);
    T_NEAR(batch->reward[i], sum, 1e-6, 0);
    T_NEAR(batch->discount[i], terminated ? 0 : discount, 1e-6, 0);
}

static void
assert_experience(const char *id, uint32_t n_step, uint8_t end)
{
    line *l = line_open(id, n_step);
    line_act(l);
    line_by_hand(l);
    learner_batch *batch = learner_batch_create(&l->spec, BATCH, 0);
    uint32_t t = 0, ends = 0;
    while (replay_table_may_sample(l->table, BATCH, 1, 0) > 0) {
        wire_sampled sampled;
        replay_table_sample(&sampled, l->table, BATCH, 1);
        T_OK(batch_fill(batch, &l->spec, &sampled, 0, 0));
        for (uint32_t i = 0; i < BATCH; i++, t++) {
            assert_window(l, &batch->view, i, t);
            ends += (l->hand.flags[t] & end) != 0;
        }
    }
    assert_true(t > STEPS - BATCH - n_step && ends >= 5);
    learner_batch_destroy(batch);
    line_close(l);
}

static void
test_deaths_and_rewards_of_games_arrive(void **state)
{
    (void)state;
    assert_experience("MinAtar/Asterix-v1", 1, OCTET_ENV_TERMINATED);
    assert_experience("MinAtar/Asterix-v1", 3, OCTET_ENV_TERMINATED);
    assert_experience("MinAtar/Breakout-v1", 5, OCTET_ENV_TERMINATED);
}

// An episode that a time limit ends goes on in the values: the observation behind it is its own.
static void
test_time_limits_do_not_end_values(void **state)
{
    (void)state;
    assert_experience("MountainCar-v0", 3, OCTET_ENV_TRUNCATED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths_and_rewards_of_games_arrive),
        cmocka_unit_test(test_time_limits_do_not_end_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
