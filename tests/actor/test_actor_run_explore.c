// How the acting core chooses: exploration beside the policy's actions, and policies that are drawn
// from.
#include <math.h>

#include "actor/actor_run.h"
#include "tests/actor/actor_session.h"

enum { ODD_OBS = 3 };

static const actor_seed some_seed = {7, 0, 0};

static uint32_t
count_random(uint64_t env_steps_known, uint64_t anneal, uint32_t planned)
{
    config_experiment config = fixture_config(odd_path());
    config.actor.epsilon_anneal_steps = anneal;
    config.actor.count = planned;
    config.actor.batch_steps = 1000;
    session *s =
        session_open(&config, "", 3, fixture_policy(ODD_OBS, 1, env_steps_known, -1), some_seed);
    session_steps(s, 170, 0);
    uint32_t random = 0, zeros = 0;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t row = 0; row < s->count[i]; row++) {
            const session_row *kept = &s->rows[i][row];
            bool is_random = (kept->flags & WIRE_RANDOM) != 0;
            random += is_random;
            zeros += (kept->flags & WIRE_END) == 0 && kept->action == 0;
            // The policy takes 1: whatever is 0 was made so, and is marked.
            assert_true((kept->flags & WIRE_END) != 0 || kept->action == 1 || is_random);
        }
    }
    assert_true(zeros <= random && (random < 50 || zeros > random / 3));
    session_close(s);
    return random;
}

static void
test_run_anneals_by_its_own_steps_and_by_the_learners(void **state)
{
    (void)state;
    assert_in_range(count_random(0, 1000000, 1), 480, 510); // begins at random
    assert_int_equal(count_random(1000000, 1000000, 1), 0); // the learner says: annealed
    uint32_t half = count_random(0, 510, 1);                // 510 own steps: half are random
    assert_in_range(half, 200, 310);
    assert_true(count_random(0, 510, 4) < half); // three more are stepping, too
}

// With the same actors, all environments are on one ladder: the last of this one is at 2 of 11.
static void
test_run_explores_by_the_ladder_of_all_planned_actors(void **state)
{
    (void)state;
    config_experiment config = fixture_config(odd_path());
    config.actor.count = 4;
    config.actor.epsilon_base = 0.4;
    config.actor.epsilon_power = 7;
    session *s = session_open(&config, "", 3, fixture_policy(ODD_OBS, 1, 0, -1), some_seed);
    session_steps(s, 400, 0);
    uint32_t random = 0;
    for (uint32_t row = 0; row < s->count[2]; row++) {
        random += (s->rows[2][row].flags & WIRE_RANDOM) != 0;
    }
    assert_in_range(random, 30, 90); // 0.4 to the power of 1 + 6 * 2 / 11 is 0.147
    session_close(s);
}

// CartPole's pole falls within some 10 steps of the same action. Held for 10000 steps on the
// average the first one would be the only one.
static void
test_run_holds_no_action_into_the_next_episode(void **state)
{
    (void)state;
    config_experiment config = fixture_config("CartPole-v1");
    config.actor.epsilon_base = config.actor.epsilon_power = 1;
    config.actor.epsilon_persistence = 1.01;
    session *s = session_open(&config, "", 1, fixture_policy(4, 1, 0, -1), some_seed);
    session_steps(s, 500, 0);
    uint32_t episodes = actor_run_numbers(s->run)->episode_count, within = 0, between = 0;
    int32_t before = s->rows[0][0].action;
    for (uint32_t row = 1; row < s->count[0]; row++) {
        const session_row *kept = &s->rows[0][row];
        if ((kept->flags & WIRE_END) != 0) {
            continue;
        }
        assert_true((kept->flags & WIRE_RANDOM) != 0); // held ones, too
        bool is_first = (kept->flags & WIRE_FIRST) != 0;
        within += kept->action != before && !is_first;
        between += kept->action != before && is_first;
        before = kept->action;
    }
    assert_true(episodes > 20 && between > episodes / 4 && within < episodes / 4);
    session_close(s);
}

// A policy of Pendulum whose outputs are all 0: it would always do nothing.
static policy_net *
pendulum_policy(policy_head head)
{
    const uint32_t outputs = head == POLICY_HEAD_TANH_GAUSSIAN ? 2 : 1;
    const uint32_t widths[] = {3, outputs};
    policy_spec spec = random_spec(widths, 2, POLICY_LINEAR, false);
    spec.action_kind = POLICY_BOX;
    spec.action_count = 1;
    spec.action_low[0] = -2;
    spec.action_high[0] = 2;
    spec.head = head;
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    return net_of(image);
}

// Pendulum's episodes have 200 steps. Noise of such correlation moves by 0.014 of its deviation
// from step to step, and by more than a tenth of it where it begins anew (0.94 of the time).
static void
test_run_carries_no_noise_into_the_next_episode(void **state)
{
    (void)state;
    config_experiment config = fixture_config("Pendulum-v1");
    config.actor.noise = config.actor.noise_low = 0.1;
    config.actor.noise_correlation = 0.9999;
    session *s = session_open(&config, "", 1, pendulum_policy(POLICY_HEAD_TANH), some_seed);
    session_steps(s, 20 * 200 + 1, 0);
    uint32_t episodes = 0, jumps = 0;
    float before = s->rows[0][0].box;
    for (uint32_t row = 1; row < s->count[0]; row++) {
        const session_row *kept = &s->rows[0][row];
        if ((kept->flags & WIRE_END) != 0) {
            continue;
        }
        bool jumped = fabsf(kept->box - before) > 0.1f * 0.1f * 2; // half of the range is 2
        if ((kept->flags & WIRE_FIRST) != 0) {
            episodes++;
            jumps += jumped;
        } else {
            assert_false(jumped);
        }
        before = kept->box;
    }
    assert_int_equal(episodes, 20);
    assert_in_range(jumps, 15, 20);
    session_close(s);
}

// Noise is not marked: what is left of the policy's action counts. Uniform actions are.
static void
test_run_marks_uniform_actions_but_not_noise(void **state)
{
    (void)state;
    for (uint32_t uniform = 0; uniform <= 40; uniform += 20) {
        config_experiment config = fixture_config("Pendulum-v1");
        config.actor.random_steps = uniform;
        session *s = session_open(&config, "", 2, pendulum_policy(POLICY_HEAD_TANH), some_seed);
        session_steps(s, 50, 0);
        session_compare(s); // what the rows hold is what was done
        for (uint32_t row = 0; row < s->count[0]; row++) {
            const session_row *kept = &s->rows[0][row];
            assert_true(kept->box >= -2 && kept->box <= 2 && kept->box != 0);
            assert_int_equal((kept->flags & WIRE_RANDOM) != 0, row < uniform / 2);
        }
        session_close(s);
    }
}

// ---- policies that are drawn from

// Each row's action and what is beside it, from its observation and the generator of its
// environment: the same as the core drew, whatever epsilon and noise are set to.
static void
assert_drawn(const session *s)
{
    const policy_spec *spec = policy_net_spec(s->net);
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    uint32_t extra_dim = policy_spec_extra_dim(spec);
    for (uint32_t i = 0; i < s->envs; i++) {
        policy_rng rng;
        policy_rng_init(&rng, actor_seed_of(&s->seed, ACTOR_SEED_SAMPLE, i), i);
        for (uint32_t row = 0; row < s->count[i]; row++) {
            const session_row *kept = &s->rows[i][row];
            float outputs[4], extra[SESSION_EXTRA];
            int32_t action;
            assert_int_equal(kept->flags & WIRE_RANDOM, 0);
            if ((kept->flags & WIRE_END) != 0) {
                assert_true(kept->extra[0] == 0);
                continue;
            }
            policy_forward(s->net, scratch, kept->obs, (uint32_t)policy_spec_obs_bytes(spec), 1,
                           outputs);
            policy_sample(spec, policy_net_deviation(s->net), outputs, 1, &rng, &action, extra);
            assert_int_equal(kept->action, action); // or the bytes of a number
            assert_memory_equal(kept->extra, extra, extra_dim * sizeof(float));
        }
    }
    policy_scratch_destroy(scratch);
}

static policy_net *
logits_policy(void)
{
    const uint32_t widths[] = {4, 8, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    spec.head = POLICY_HEAD_LOGITS;
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    oct_rng rng;
    oct_rng_init(&rng, 1, 3);
    random_floats(image->weights[0], 8 * 4, 1, &rng);
    random_floats(image->weights[1], 16, 1, &rng);
    return net_of(image);
}

static void
test_run_draws_from_logits(void **state)
{
    (void)state;
    config_experiment config = fixture_config("CartPole-v1");
    config.actor.epsilon_base = config.actor.epsilon_power = 1;
    session *s = session_open(&config, "", 3, logits_policy(), some_seed);
    session_steps(s, 300, 0);
    session_compare(s);
    assert_drawn(s);
    uint32_t ones = 0;
    for (uint32_t row = 0; row < s->count[0]; row++) {
        ones += s->rows[0][row].action == 1;
        assert_true(s->rows[0][row].extra[0] <= 0);
    }
    assert_in_range(ones, 30, 270);
    session_close(s);
}

// The rows that end them are none of its draws, and mark nothing as random.
static void
test_run_draws_rollouts_from_logits(void **state)
{
    (void)state;
    enum { STEPS = 7, ROLLOUTS = 30 };
    config_experiment config = fixture_config("CartPole-v1");
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = STEPS;
    config.replay.capacity = 2 * WIRE_BATCH_COUNT_MAX; // two versions
    session *s = session_open(&config, "", 3, logits_policy(), some_seed);
    session_rollouts(s, ROLLOUTS, STEPS);
    assert_true(s->count[0] > ROLLOUTS * STEPS);
    assert_drawn(s);
    session_close(s);
}

static void
test_run_draws_from_gaussians(void **state)
{
    (void)state;
    static const policy_head heads[] = {POLICY_HEAD_GAUSSIAN, POLICY_HEAD_TANH_GAUSSIAN};
    for (size_t i = 0; i < OCT_COUNTOF(heads); i++) {
        config_experiment config = fixture_config("Pendulum-v1");
        config.actor.random_steps = 1000000;
        config.actor.noise = 1;
        session *s = session_open(&config, "", 2, pendulum_policy(heads[i]), some_seed);
        session_steps(s, 250, 0);
        session_compare(s);
        assert_drawn(s);
        assert_true(s->rows[0][0].box != s->rows[1][0].box); // each has a generator of its own
        session_close(s);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_anneals_by_its_own_steps_and_by_the_learners),
        cmocka_unit_test(test_run_explores_by_the_ladder_of_all_planned_actors),
        cmocka_unit_test(test_run_holds_no_action_into_the_next_episode),
        cmocka_unit_test(test_run_carries_no_noise_into_the_next_episode),
        cmocka_unit_test(test_run_marks_uniform_actions_but_not_noise),
        cmocka_unit_test(test_run_draws_from_logits),
        cmocka_unit_test(test_run_draws_rollouts_from_logits),
        cmocka_unit_test(test_run_draws_from_gaussians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
