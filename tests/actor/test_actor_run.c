#include "actor/actor_run.h"
#include "tests/actor/actor_fixture.h"

// The odd environment observes (seed, episode, step), and its reward is the step's number plus a
// tenth of the action: each transition can be checked against what it says of itself.

enum { OBS = 3, ROWS_MAX = 4096 };

struct session {
    actor_run *run;
    actor_batch *batch;
    policy_net *net;
    oct_config config;
    float rows[ROWS_MAX][OBS]; // every observation sent, by number
    uint32_t known;
    uint32_t transitions;
};

static struct session *
session_begin(const char *options, uint32_t envs, uint32_t n_step)
{
    struct session *session = oct_alloc(sizeof(*session));
    session->config = fixture_config(odd_path());
    session->config.algo.n_step = n_step;
    session->net = fixture_policy(OBS, 5, 0, -1); // always action 1
    env *e = fixture_env(odd_path(), options, envs, 10);
    T_OK(actor_run_create(&session->run, e, &session->config, policy_net_spec(session->net), 0, 9));
    actor_run_set_policy(session->run, session->net);
    session->batch = actor_batch_create(actor_run_shape(session->run));
    actor_run_open_batch(session->run, session->batch);
    return session;
}

static void
session_end(struct session *session)
{
    actor_run_destroy(session->run);
    actor_batch_destroy(session->batch);
    policy_net_destroy(session->net);
    free(session);
}

static void
assert_consistent(const struct session *session, const actor_batch *batch, uint32_t row)
{
    int64_t first = (int64_t)batch->obs_first;
    const float *obs = session->rows[first + batch->obs_offset[row]];
    const float *next = session->rows[first + batch->next_offset[row]];
    int k = (int)(next[2] - obs[2]);
    double sum = 0, power = 1;
    for (int t = 1; t <= k; t++) {
        sum += power * (obs[2] + t + 0.1);
        power *= session->config.algo.discount;
    }
    int32_t action;
    memcpy(&action, batch->action + 4 * row, 4);
    assert_int_equal(action, 1);
    assert_true(obs[0] == next[0]); // of one environment
    assert_true(obs[1] == next[1]); // of one episode: the true final observation
    assert_true(k >= 1 && k <= (int)session->config.algo.n_step);
    T_NEAR(batch->reward[row], sum, 1e-5, 1e-5);
    bool terminated = (batch->flags[row] & WIRE_TERMINATED) != 0;
    T_NEAR(batch->discount[row], terminated ? 0 : power, 0, 1e-6);
    assert_true(batch->flags[row] != 0 || k == (int)session->config.algo.n_step);
}

static void
session_seal(struct session *session)
{
    actor_batch *batch = session->batch;
    assert_int_equal(batch->obs_first, session->known);
    assert_true(session->known + batch->obs_count <= ROWS_MAX);
    memcpy(session->rows[session->known], batch->obs, batch->obs_count * sizeof(float) * OBS);
    session->known += batch->obs_count;
    for (uint32_t row = 0; row < batch->count; row++) {
        assert_consistent(session, batch, row);
    }
    session->transitions += batch->count;
    actor_run_open_batch(session->run, batch);
}

static void
session_steps(struct session *session, uint32_t steps)
{
    for (uint32_t t = 0; t < steps; t++) {
        if (!actor_batch_has_room(session->batch, actor_run_shape(session->run))) {
            session_seal(session);
        }
        T_OK(actor_run_step(session->run, session->batch));
    }
    session_seal(session);
}

// Actions in a box: what the batch holds is what was taken, inside the bounds and not the greedy
// one.
static void
test_run_explores_actions_in_a_box(void **state)
{
    (void)state;
    enum { STEPS = 50 };
    oct_config config = fixture_config("Pendulum-v1");
    config.algo.n_step = 1;
    config.actor.batch_transitions = 2 * STEPS;
    const uint32_t widths[] = {3, 1};
    policy_spec spec = random_spec(widths, 2, POLICY_LINEAR, false);
    spec.action_kind = POLICY_BOX;
    spec.action_count = 1;
    spec.action_low[0] = -2;
    spec.action_high[0] = 2;
    spec.head = POLICY_HEAD_TANH;
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32)); // of zeros: the greedy action is 0
    policy_net *net = NULL;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_image_destroy(image);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env("Pendulum-v1", "", 1, 3), &config, &spec, 0, 1));
    actor_run_set_policy(run, net);
    actor_batch *batch = actor_batch_create(actor_run_shape(run));
    actor_run_open_batch(run, batch);
    for (int t = 0; t < STEPS; t++) {
        T_OK(actor_run_step(run, batch));
    }
    assert_int_equal(batch->count, STEPS);
    env *twin = fixture_env("Pendulum-v1", "", 1, 3);
    float obs[3], reward, action;
    octet_env_io io = {.size = sizeof(io),
                       .action = &action,
                       .action_stride = sizeof(action),
                       .obs = obs,
                       .obs_stride = sizeof(obs),
                       .reward = &reward};
    T_OK(env_reset(twin, NULL, NULL, &io));
    for (uint32_t t = 0; t < STEPS; t++) {
        memcpy(&action, batch->action + t * sizeof(action), sizeof(action));
        assert_true(action >= -2 && action <= 2 && action != 0);
        T_OK(env_step(twin, &io));
        assert_true(reward == batch->reward[t]);
        assert_memory_equal(obs, batch->obs + (t + 1) * sizeof(obs), sizeof(obs));
    }
    env_close(twin);
    actor_run_destroy(run);
    actor_batch_destroy(batch);
    policy_net_destroy(net);
}

static void
test_run_refuses_what_no_batch_can_hold(void **state)
{
    (void)state;
    oct_config config = fixture_config(odd_path());
    config.algo.n_step = 1000;
    policy_net *net = fixture_policy(OBS, 1, 0, 0);
    env *e = fixture_env(odd_path(), "", 100, 1);
    actor_run *run = NULL;
    T_ERR(actor_run_create(&run, e, &config, policy_net_spec(net), 0, 1), OCT_EINVAL);
    env_close(e);
    policy_net_destroy(net);
}

static void
test_run_sends_each_step_once(void **state)
{
    (void)state;
    static const char *const options[] = {"length=5", "length=1", "length=4,spread=3,truncate=1",
                                          "length=7,truncate=2", "length=0"};
    for (size_t i = 0; i < OCT_COUNTOF(options); i++) {
        for (uint32_t n = 1; n <= 4; n += 3) {
            struct session *session = session_begin(options[i], 3, n);
            session_steps(session, 60);
            const actor_news *news = actor_run_news(session->run);
            assert_int_equal(news->env_steps, 180);
            assert_int_equal(news->policy_version, 5);
            assert_int_equal(news->failures, 0);
            // All but the open windows.
            assert_in_range(session->transitions, 180 - 3 * (n - 1), 180);
            session_end(session);
        }
    }
}

static void
test_run_tells_each_episode(void **state)
{
    (void)state;
    struct session *session = session_begin("length=5", 2, 3);
    session_steps(session, 14);
    actor_news *news = actor_run_news(session->run);
    assert_int_equal(news->episode_count, 4);
    assert_int_equal(news->episode_length[0], 5);
    T_NEAR(news->episode_return[0], 15.5, 0, 1e-6);
    session_end(session);
}

static void
test_run_counts_episodes_that_nobody_asked_for(void **state)
{
    (void)state;
    struct session *session = session_begin("length=1", 2, 1);
    session_steps(session, ACTOR_EPISODES_MAX / 2 + 3);
    actor_news *news = actor_run_news(session->run);
    assert_int_equal(news->episode_count, ACTOR_EPISODES_MAX);
    assert_int_equal(news->episodes_lost, 6);
    session_end(session);
}

// Step 4 of the first episode of each environment fails. That transition and the open window are
// dropped; steps 1 .. 3 in full windows stay.
static void
test_run_drops_a_failed_transition_and_its_window(void **state)
{
    (void)state;
    struct session *session = session_begin("length=6,nan_at=4,nan_once=1", 2, 2);
    session_steps(session, 4);
    assert_int_equal(actor_run_news(session->run)->failures, 2);
    assert_int_equal(session->transitions, 4); // from steps 1 and 2; step 3 waited for step 4
    assert_int_equal(actor_run_news(session->run)->episode_count, 0);
    session_steps(session, 6);
    assert_int_equal(session->transitions, 4 + 12); // the next episode is whole
    assert_int_equal(actor_run_news(session->run)->episode_count, 2);
    assert_int_equal(actor_run_news(session->run)->failures, 2);
    session_end(session);
}

// Nothing is learned from an environment that always fails, and nothing grows.
static void
test_run_of_an_environment_that_always_fails(void **state)
{
    (void)state;
    struct session *session = session_begin("nan_at=1", 2, 3);
    session_steps(session, 100);
    assert_int_equal(session->transitions, 0);
    assert_int_equal(actor_run_news(session->run)->failures, 200);
    assert_string_equal(actor_run_news(session->run)->failure,
                        "environment 1: the reward is not finite");
    session_end(session);
}

static void
test_run_says_when_the_environment_is_broken(void **state)
{
    (void)state;
    struct session *session = session_begin("error_at=3", 2, 3);
    T_OK(actor_run_step(session->run, session->batch));
    T_OK(actor_run_step(session->run, session->batch));
    T_ERR(actor_run_step(session->run, session->batch), OCT_EINTERNAL);
    assert_non_null(strstr(actor_run_error(session->run), "the odd environment is broken"));
    session_end(session);
}

// A dropped batch leaves a hole in the numbers, never two observations of one number.
static void
test_run_numbers_go_on_over_a_dropped_batch(void **state)
{
    (void)state;
    struct session *session = session_begin("length=5", 2, 3);
    T_OK(actor_run_step(session->run, session->batch));
    uint32_t sent = session->batch->obs_count;
    actor_run_open_batch(session->run, session->batch);
    assert_int_equal(session->batch->obs_first, sent);
    T_OK(actor_run_step(session->run, session->batch));
    T_OK(actor_run_step(session->run, session->batch));
    assert_int_equal(session->batch->count, 2);
    assert_int_equal(session->batch->obs_offset[0], -(int)sent); // it began in the dropped one
    session_end(session);
}

static uint32_t
count_random(uint64_t env_steps_known, uint64_t anneal, uint32_t planned)
{
    oct_config config = fixture_config(odd_path());
    config.actor.epsilon_anneal_steps = anneal;
    config.actor.count = planned;
    config.actor.batch_transitions = 1000;
    policy_net *net = fixture_policy(OBS, 1, env_steps_known, -1);
    actor_run *run;
    T_OK(actor_run_create(&run, fixture_env(odd_path(), "", 10, 1), &config, policy_net_spec(net),
                          0, 1));
    actor_run_set_policy(run, net);
    actor_batch *batch = actor_batch_create(actor_run_shape(run));
    actor_run_open_batch(run, batch);
    for (int i = 0; i < 50; i++) {
        T_OK(actor_run_step(run, batch));
    }
    uint32_t zeros = 0;
    for (uint32_t row = 0; row < batch->count; row++) {
        zeros += batch->action[4 * row] == 0;
    }
    actor_run_destroy(run);
    actor_batch_destroy(batch);
    policy_net_destroy(net);
    return zeros;
}

// Half of the random actions differ from the policy's; about 470 transitions.
static void
test_run_anneals_by_its_own_steps_and_by_the_learners(void **state)
{
    (void)state;
    assert_in_range(count_random(0, 1000000, 1), 180, 300); // begins at random
    assert_int_equal(count_random(1000000, 1000000, 1), 0); // the learner says: annealed
    uint32_t half = count_random(0, 500, 1);                // 500 own steps: half are random
    assert_in_range(half, 80, 160);
    assert_true(count_random(0, 500, 4) < half); // three more are stepping, too
}

// CartPole's pole falls within some 10 steps of the same action. Held for 10000 steps on the
// average the first one would be the only one.
static void
test_run_holds_no_action_into_the_next_episode(void **state)
{
    (void)state;
    enum { STEPS = 500 };
    oct_config config = fixture_config("CartPole-v1");
    config.algo.n_step = 1;
    config.actor.epsilon_base = config.actor.epsilon_power = 1;
    config.actor.epsilon_persistence = 1.01;
    config.actor.batch_transitions = 2 * STEPS;
    policy_net *net = fixture_policy(4, 1, 0, -1);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env("CartPole-v1", "", 1, 3), &config, policy_net_spec(net),
                          0, 1));
    actor_run_set_policy(run, net);
    actor_batch *batch = actor_batch_create(actor_run_shape(run));
    actor_run_open_batch(run, batch);
    for (int t = 0; t < STEPS; t++) {
        T_OK(actor_run_step(run, batch));
    }
    uint32_t episodes = actor_run_news(run)->episode_count, within = 0, between = 0;
    for (uint32_t row = 1; row < batch->count; row++) {
        bool changes = batch->action[4 * row] != batch->action[4 * row - 4];
        within += changes && batch->flags[row - 1] == 0;
        between += changes && batch->flags[row - 1] != 0;
    }
    assert_true(episodes > 20 && between > episodes / 4 && within < episodes / 4);
    actor_run_destroy(run);
    actor_batch_destroy(batch);
    policy_net_destroy(net);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_explores_actions_in_a_box),
        cmocka_unit_test(test_run_refuses_what_no_batch_can_hold),
        cmocka_unit_test(test_run_says_when_the_environment_is_broken),
        cmocka_unit_test(test_run_drops_a_failed_transition_and_its_window),
        cmocka_unit_test(test_run_of_an_environment_that_always_fails),
        cmocka_unit_test(test_run_numbers_go_on_over_a_dropped_batch),
        cmocka_unit_test(test_run_sends_each_step_once),
        cmocka_unit_test(test_run_tells_each_episode),
        cmocka_unit_test(test_run_counts_episodes_that_nobody_asked_for),
        cmocka_unit_test(test_run_holds_no_action_into_the_next_episode),
        cmocka_unit_test(test_run_anneals_by_its_own_steps_and_by_the_learners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
