// Evaluations: environments that fail or never end, fair counting of episodes, and repeatable
// greedy play.
#include <stdatomic.h>

#include "actor/actor_evaluate.h"
#include "common/oct_reason.h"
#include "tests/actor/actor_fixture.h"

enum { OBS = 3, EPISODES_MAX = 64 };

static oct_reason reason;
static uint32_t max_steps; // of evaluate_odd; 0: the default
static float returns[EPISODES_MAX];
static uint32_t lengths[EPISODES_MAX];

// Of the last evaluation with evaluate_odd.
static struct observed {
    uint32_t rows;
    uint32_t blank;   // of no episode
    uint32_t episode; // the highest number of one
} observed;

static void
observe(void *arg, const void *obs)
{
    struct observed *o = arg;
    float row[OBS]; // seed, episode, step
    memcpy(row, obs, sizeof(row));
    o->rows++;
    o->blank += row[1] == 0;
    o->episode = OCT_MAX(o->episode, (uint32_t)row[1]);
}

static struct observed looked; // the same of what was to be seen of environment 0

static oct_err
look(void *arg, env *e, const void *obs, uint32_t ended, oct_reason *why)
{
    (void)e, (void)ended, (void)why->text;
    observe(arg, obs);
    return OCT_OK;
}

static oct_err
evaluate_odd(const char *options, uint32_t episodes, uint32_t envs, actor_evaluate_result *result)
{
    policy_net *net = fixture_policy(OBS, 1, 0, -1);
    actor_evaluate_request request = {.env_id = odd_path(),
                                      .options = options,
                                      .episodes = episodes,
                                      .envs = envs,
                                      .seed = 1,
                                      .max_steps = max_steps,
                                      .observe = observe,
                                      .observe_arg = &observed,
                                      .look = look,
                                      .look_arg = &looked};
    observed = looked = (struct observed){0};
    *result = (actor_evaluate_result){.returns = returns, .lengths = lengths};
    reason.text[0] = '\0';
    oct_err err = actor_evaluate(net, &request, result, &reason);
    policy_net_destroy(net);
    return err;
}

// Return of an episode of length steps with action 1 throughout.
static double
return_of(uint32_t length)
{
    return length * (length + 1) / 2.0 + 0.1 * length;
}

static void
test_evaluate_policy_that_does_not_fit(void **state)
{
    (void)state;
    actor_evaluate_result result;
    policy_net *net = fixture_policy(4, 1, 0, 0);
    actor_evaluate_request request = {
        .env_id = odd_path(), .options = "", .episodes = 1, .envs = 1};
    T_ERR(actor_evaluate(net, &request, &result, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "reads 4 numbers, but an observation of Odd-v0 has 3"));
    policy_net_destroy(net);
}

static const policy_origin no_run;

static void
test_fits_says_what_does_not(void **state)
{
    (void)state;
    env *e = fixture_env("CartPole-v1", "", 1, 1), *box = fixture_env("Pendulum-v1", "", 1, 1);
    const uint32_t widths[] = {4, 2};
    policy_spec good = random_spec(widths, 2, POLICY_RELU, false);
    T_OK(actor_fits(&good, &no_run, env_spec(e), &reason));
    policy_spec spec = good;
    spec.obs_dtype = POLICY_U8;
    T_ERR(actor_fits(&spec, &no_run, env_spec(e), &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "or another type"));
    spec = good;
    spec.action_count = 3;
    T_ERR(actor_fits(&spec, &no_run, env_spec(e), &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "gives 3 discrete actions, but CartPole-v1 takes 2"));
    spec = good;
    spec.obs_count = 3;
    T_ERR(actor_fits(&spec, &no_run, env_spec(box), &reason), OCT_EINVAL);
    assert_non_null(
        strstr(reason.text, "gives 2 discrete actions, but Pendulum-v1 takes 1 numbers"));
    const uint32_t filters[] = {2}, hidden[] = {4};
    spec = random_conv_spec(2, 2, 1, 1, filters, 1, hidden, 1, 2, POLICY_RELU);
    T_ERR(actor_fits(&spec, &no_run, env_spec(e), &reason), OCT_EINVAL);
    assert_non_null(
        strstr(reason.text,
               "reads a map of 2 x 2 x 1, but observations of CartPole-v1 have another shape"));
    // A map is a picture, a picture of one channel, or a sequence; a vector is a sequence.
    static const struct {
        uint32_t map[3], rank, shape[3];
        bool fits;
    } maps[] = {
        {{2, 3, 4}, 3, {2, 3, 4}, true},  {{2, 3, 4}, 3, {3, 2, 4}, false},
        {{2, 3, 1}, 2, {2, 3}, true},     {{2, 1, 3}, 2, {2, 3}, true},
        {{1, 2, 3}, 2, {2, 3}, false},    {{3, 2, 1}, 2, {2, 3}, false},
        {{4, 1, 1}, 1, {4}, true},        {{1, 4, 1}, 1, {4}, false},
        {{2, 2, 1}, 1, {4}, false},       {{2, 3, 1}, 3, {2, 3, 1}, true},
        {{2, 1, 3}, 4, {2, 1, 3}, false},
    };
    for (size_t i = 0; i < OCT_COUNTOF(maps); i++) {
        octet_env_spec task = *env_spec(e);
        spec = random_words_spec(maps[i].map, "conv 2 1x1", POLICY_RELU, 2);
        task.obs = (octet_env_space){
            .size = sizeof(task.obs), .dtype = OCTET_ENV_F32, .rank = maps[i].rank};
        for (uint32_t d = 0; d < task.obs.rank; d++) {
            task.obs.shape[d] = d < 3 ? maps[i].shape[d] : 1;
        }
        assert_int_equal(actor_fits(&spec, &no_run, &task, &reason) == OCT_OK, maps[i].fits);
    }
    env_close(e);
    env_close(box);
}

// An actor's bounds are a policy's: in another box its actions are others than it learned.
static void
test_fits_asks_for_the_bounds_that_a_policy_was_trained_with(void **state)
{
    (void)state;
    env *e = fixture_env("Pendulum-v1", "", 1, 1);
    const policy_origin trained = {.run_id = 1};
    const uint32_t widths[] = {3, 1};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    spec.action_kind = POLICY_BOX;
    spec.head = POLICY_HEAD_TANH;
    spec.action_low[0] = -2;
    spec.action_high[0] = 2;
    T_OK(actor_fits(&spec, &trained, env_spec(e), &reason));
    spec.action_high[0] = 5;
    (void)snprintf(spec.env_id, sizeof(spec.env_id), "Other-v0");
    T_ERR(actor_fits(&spec, &trained, env_spec(e), &reason), OCT_EINVAL);
    assert_string_equal(reason.text,
                        "the policy (for Other-v0) was trained with action 0 in [-2, 5], "
                        "but Pendulum-v1 takes it in [-2, 2]");
    spec.action_high[0] = 2;
    spec.action_low[0] = -1;
    T_ERR(actor_fits(&spec, &trained, env_spec(e), &reason), OCT_EINVAL);
    T_OK(actor_fits(&spec, &no_run, env_spec(e), &reason)); // imported: its model's
    env_close(e);
}

static void
test_evaluate_unknown_environment(void **state)
{
    (void)state;
    policy_net *net = fixture_policy(4, 1, 0, 0);
    actor_evaluate_request request = {.env_id = "CartPole-v9", .options = "", .episodes = 1};
    actor_evaluate_result result = {.episodes = 0};
    T_ERR(actor_evaluate(net, &request, &result, &reason), OCT_ENOTFOUND);
    policy_net_destroy(net);
}

// Episodes without an end are truncated, each after max_steps of its own, and their returns count.
static void
test_evaluate_environment_that_never_ends(void **state)
{
    (void)state;
    actor_evaluate_result result;
    max_steps = 50;
    T_OK(evaluate_odd("length=0", 5, 2, &result));
    assert_int_equal(result.truncated, 5);
    assert_int_equal(result.max_steps, 50);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(lengths[i], 50);
        T_NEAR(returns[i], return_of(50), 0, 1e-3); // it began with a reset
    }
    T_OK(evaluate_odd("length=50", 1, 1, &result));
    assert_int_equal(result.truncated, 0);
    T_OK(evaluate_odd("length=30", 3, 1, &result)); // each of them within 50
    assert_int_equal(result.truncated, 0);
    // Beside an environment whose episodes end by themselves.
    T_OK(evaluate_odd("length=30,spread=30", 4, 2, &result));
    assert_int_equal(result.truncated, 2);
    const uint32_t expected[] = {30, 50, 30, 50};
    assert_memory_equal(lengths, expected, sizeof(expected));
    max_steps = 0;
    T_OK(evaluate_odd("length=0", 1, 1, &result));
    assert_int_equal(lengths[0], ACTOR_EVALUATE_STEPS_MAX);
    max_steps = 7; // in environment steps: two actions of five
    T_OK(evaluate_odd("length=0,action_repeat=5", 1, 1, &result));
    assert_int_equal(lengths[0], 2);
    assert_int_equal(result.max_steps, 10);
    max_steps = 0;
}

static void
test_evaluate_ends_before_the_environments_own_limit(void **state)
{
    (void)state;
    actor_evaluate_result result = {.lengths = lengths};
    policy_net *net = fixture_policy(4, 1, 0, -1); // its pole falls later than that
    actor_evaluate_request request = {
        .env_id = "CartPole-v1", .options = "", .episodes = 2, .envs = 1, .max_steps = 5};
    T_OK(actor_evaluate(net, &request, &result, &reason));
    assert_true(lengths[0] == 5 && lengths[1] == 5 && result.truncated == 2);
    policy_net_destroy(net);
}

static void
test_evaluate_environment_that_always_fails(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_ERR(evaluate_odd("length=9,nan_at=2", 2, 2, &result), OCT_EINTERNAL);
    assert_non_null(strstr(reason.text, "failed 101 times"));
    assert_non_null(strstr(reason.text, ": the reward is not finite)"));
}

static void
test_evaluate_environment_that_breaks(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_ERR(evaluate_odd("error_at=3", 2, 2, &result), OCT_EINTERNAL);
    assert_non_null(strstr(reason.text, "the odd environment is broken"));
}

static void
test_evaluate_stops_when_told(void **state)
{
    (void)state;
    atomic_int stop = 1;
    policy_net *net = fixture_policy(4, 1, 0, 0);
    actor_evaluate_request request = {
        .env_id = "CartPole-v1", .options = "", .episodes = 1, .envs = 1, .stop = &stop};
    actor_evaluate_result result = {.episodes = 0};
    T_ERR(actor_evaluate(net, &request, &result, &reason), OCT_ECLOSED);
    assert_string_equal(reason.text, "stopped");
    policy_net_destroy(net);
}

// An episode in which the environment failed is no episode of return 0.
static void
test_evaluate_plays_a_failed_episode_again(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=6,nan_at=3,nan_once=1", 4, 2, &result));
    assert_int_equal(result.failed, 2);
    assert_string_equal(result.failure, "environment 1: the reward is not finite");
    for (int i = 0; i < 4; i++) {
        T_NEAR(returns[i], return_of(6), 0, 1e-6);
        assert_int_equal(lengths[i], 6);
    }
}

// Its first step tries again, as any other would.
static void
test_evaluate_begins_though_an_environment_cannot(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=6,shut=3", 4, 2, &result));
    assert_int_equal(result.failed, 0); // there was no episode
    assert_true(result.env_failures >= 1);
    assert_string_equal(result.failure, "environment 1: its last reset failed");
    for (int i = 0; i < 4; i++) {
        T_NEAR(returns[i], return_of(6), 0, 1e-6);
    }
    T_ERR(evaluate_odd("length=200,shut=1000", 2, 1, &result), OCT_EINTERNAL);
    assert_non_null(strstr(reason.text, "failed 101 times"));
    assert_non_null(strstr(reason.text, "reset: the odd environment is broken)"));
}

// A plug-in that forgets its sums has no return of 0.
static void
test_evaluate_adds_up_the_rewards_itself(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=6,no_sums=1", 4, 2, &result));
    T_NEAR(result.mean, return_of(6), 0, 1e-6);
    T_NEAR(result.std, 0, 0, 1e-6);
    T_NEAR(result.mean_length, 6, 0, 0);
}

// Environment i plays 2 + 10 i steps. Each plays its share: were the first n to end counted, all
// would be of the short ones.
static void
test_evaluate_does_not_favour_short_episodes(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=2,spread=10", 7, 3, &result));
    double sum = 0, length = 0;
    for (uint32_t i = 0; i < 7; i++) {
        uint32_t steps = 2 + 10 * (i % 3);
        assert_int_equal(lengths[i], steps);
        T_NEAR(returns[i], return_of(steps), 0, 1e-6);
        sum += return_of(steps);
        length += steps;
    }
    assert_int_equal(result.episodes, 7);
    T_NEAR(result.mean, sum / 7, 0, 1e-6);
    T_NEAR(result.mean_length, length / 7, 0, 1e-6);
    T_NEAR(result.min, return_of(2), 0, 1e-6);
    T_NEAR(result.max, return_of(22), 0, 1e-6);
    double squares = 0;
    for (uint32_t i = 0; i < 7; i++) {
        squares += pow(return_of(2 + 10 * (i % 3)) - sum / 7, 2);
    }
    T_NEAR(result.std, sqrt(squares / 6), 0, 1e-5);
}

// As vector environments of others do: the step that only begins an episode is none of it.
static void
test_evaluate_counts_no_step_that_only_begins_an_episode(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=5,begins=1", 4, 2, &result));
    assert_int_equal(result.env_steps, 20);
    assert_true(result.failed == 0 && result.env_failures == 0 && observed.blank == 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(lengths[i], 5);
        T_NEAR(returns[i], return_of(5), 0, 1e-4);
    }
}

static void
test_evaluate_one_episode_with_more_environments(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=4", 1, 50, &result));
    assert_int_equal(result.env_steps, 4); // one environment was enough
    T_NEAR(result.std, 0, 0, 0);
    T_OK(evaluate_odd("length=4", 3, 0, &result));
    assert_int_equal(result.env_steps, 12);
    T_OK(evaluate_odd("length=4,action_repeat=2", 3, 0, &result));
    assert_int_equal(result.env_steps, 12); // two steps of two
}

// Three environments play 7 episodes: 0 three of them, the others two. The number is measured in
// the first and the third, and of no episode that was not asked for.
static void
test_evaluate_means_what_the_environment_measures(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=2,spread=10", 7, 3, &result));
    assert_int_equal(result.metric_names.count, 2);
    assert_string_equal(result.metric_names.name[0], "steps");
    assert_string_equal(result.metric_names.name[1], "number");
    assert_int_equal(result.metrics[0].episodes, 7);
    T_NEAR(oct_metric_mean(&result.metrics[0]), result.mean_length, 0, 1e-9);
    assert_int_equal(result.metrics[1].episodes, 4);
    T_NEAR(oct_metric_mean(&result.metrics[1]), (1 + 3 + 1 + 1) / 4.0, 0, 0);
    T_OK(evaluate_odd("length=4,action_repeat=3", 6, 2, &result)); // which ends within a step
    assert_int_equal(result.metrics[0].episodes, 6);
    T_NEAR(oct_metric_mean(&result.metrics[0]), 4, 0, 0);
}

// What a plug-in does not write at an end is no number of an episode before.
static void
test_evaluate_measures_nothing_where_nothing_is_written(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=2,forgets=1", 6, 2, &result)); // three of each
    assert_int_equal(result.metrics[0].episodes, 6);
    assert_int_equal(result.metrics[1].episodes, 4); // the first and the third
    T_NEAR(oct_metric_mean(&result.metrics[1]), 2, 0, 0);
}

// The first episode of each fails: what counts is the second and the third.
static void
test_evaluate_measures_nothing_of_an_episode_that_failed(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=3,nan_at=3,nan_once=1", 4, 2, &result));
    assert_int_equal(result.metrics[0].episodes, 4);
    assert_int_equal(result.metrics[1].episodes, 2);
    T_NEAR(oct_metric_mean(&result.metrics[1]), 3, 0, 0);
    assert_true(isnan(oct_metric_mean(&(oct_metric){0})));
}

// Environment 0 goes on to its eleventh episode while the last one is in its second.
static void
test_evaluate_observes_what_it_counts(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=2,spread=10", 7, 3, &result));
    assert_int_equal(observed.rows, 3 * 2 + 2 * 12 + 2 * 22);
    assert_int_equal(observed.episode, 3);
    T_OK(evaluate_odd("length=6,nan_at=3,nan_once=1", 4, 2, &result));
    assert_int_equal(observed.rows, 4 * 6 + result.failed * 3);
}

// The host has cleared its row.
static void
test_evaluate_observes_nothing_where_no_episode_began(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=6,shut=3", 4, 2, &result));
    assert_int_equal(observed.rows, 4 * 6);
    assert_int_equal(observed.blank, 0);
    assert_int_equal(looked.blank, 0);
    T_OK(evaluate_odd("length=6,nan_at=3,nan_once=1,reset_errors=4", 4, 2, &result));
    assert_int_equal(observed.rows, 4 * 6 + 2 * 3);
    assert_int_equal(observed.blank, 0);
    assert_true(looked.rows >= 2 * 6 + 3);
    assert_int_equal(looked.blank, 0);
    T_ERR(evaluate_odd("length=200,shut=1000", 1, 1, &result), OCT_EINTERNAL);
    assert_int_equal(observed.rows, 0);
    assert_int_equal(looked.rows, 0);
}

// A plug-in may go on as if an episode had begun: that one counts from the second step on.
static void
test_evaluate_counts_no_step_that_nothing_was_observed_before(void **state)
{
    (void)state;
    actor_evaluate_result result;
    T_OK(evaluate_odd("length=6,lost=1", 2, 2, &result));
    assert_int_equal(result.failed, 1);
    assert_int_equal(lengths[0], 5);
    T_NEAR(returns[0], return_of(6) - return_of(1), 0, 1e-6);
    assert_int_equal(lengths[1], 6);
    assert_int_equal(observed.rows, 1 + 5 + 6);
}

typedef struct watched {
    uint32_t calls;
    uint32_t steps;
    uint32_t counted;
    bool ordered;
} watched;

static void
watch(void *arg, const env *e, uint32_t envs, uint32_t counted)
{
    assert_int_equal(env_failures(e), 0);
    watched *w = arg;
    w->ordered &= counted >= w->counted;
    w->calls++;
    w->steps += envs;
    w->counted = counted;
}

// Three environments, episodes of 4 steps, 5 wanted: two rounds of 4 steps, each told before it.
static void
test_evaluate_tells_each_step(void **state)
{
    (void)state;
    watched w = {.ordered = true};
    policy_net *net = fixture_policy(OBS, 1, 0, -1);
    actor_evaluate_request request = {.env_id = odd_path(),
                                      .options = "length=4",
                                      .episodes = 5,
                                      .envs = 3,
                                      .seed = 1,
                                      .watch = watch,
                                      .watch_arg = &w};
    actor_evaluate_result result = {.returns = returns};
    T_OK(actor_evaluate(net, &request, &result, &reason));
    assert_int_equal(w.calls, 8);
    assert_int_equal(w.steps, result.env_steps);
    assert_int_equal(w.counted, 3); // of the first round, all through the second
    assert_true(w.ordered);
    policy_net_destroy(net);
}

// Greedy: the same seeds give the same returns, however the episodes are spread.
static void
test_evaluate_is_greedy_and_repeatable(void **state)
{
    (void)state;
    policy_net *net = fixture_policy(4, 3, 0, 0);
    float again[EPISODES_MAX];
    actor_evaluate_request request = {
        .env_id = "CartPole-v1", .options = "", .episodes = 20, .envs = 5, .seed = 77};
    actor_evaluate_result result = {.returns = returns}, second = {.returns = again};
    T_OK(actor_evaluate(net, &request, &result, &reason));
    T_OK(actor_evaluate(net, &request, &second, &reason));
    assert_memory_equal(returns, again, 20 * sizeof(float));
    assert_true(result.max > result.min);
    policy_net_destroy(net);
}

// Logits whose softmax is 1/4 and 3/4, wherever it is.
static policy_net *
logits_policy(void)
{
    const uint32_t widths[] = {OBS, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    spec.head = POLICY_HEAD_LOGITS;
    policy_image *image = NULL;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    image->bias[0][1] = logf(3);
    return net_of(image);
}

// The reward of a step is its number, and a tenth of its action.
static void
test_evaluate_draws_actions_by_their_probabilities(void **state)
{
    (void)state;
    enum { EPISODES = 10, ENVS = 4, STEPS = 200 };
    policy_net *net = logits_policy();
    const float logits[] = {0, logf(3)};
    actor_evaluate_request request = {.env_id = odd_path(),
                                      .options = "length=200",
                                      .episodes = EPISODES,
                                      .envs = ENVS,
                                      .seed = 5,
                                      .sampling = true};
    actor_evaluate_result result = {.returns = returns};
    T_OK(actor_evaluate(net, &request, &result, &reason));
    int ones = 0;
    for (uint32_t i = 0; i < ENVS; i++) { // each draws on through its episodes
        policy_rng rng;
        policy_rng_init(&rng, request.seed, i);
        for (uint32_t episode = i; episode < EPISODES; episode += ENVS) {
            int drawn = 0;
            float log_prob;
            for (int step = 0; step < STEPS; step++) {
                drawn += policy_draw_softmax(logits, 2, &rng, &log_prob);
            }
            T_NEAR((double)returns[episode], STEPS * (STEPS + 1) / 2.0 + 0.1 * drawn, 1e-2, 0);
            ones += drawn;
        }
    }
    // 2000 draws: five deviations of the binomial are 0.048
    T_NEAR((double)ones / (EPISODES * STEPS), 0.75, 0.048, 0);
    request.sampling = false;
    T_OK(actor_evaluate(net, &request, &result, &reason));
    T_NEAR(result.mean, STEPS * (STEPS + 1) / 2.0 + 0.1 * STEPS, 1e-2, 0); // the likelier one
    assert_true(result.max == result.min);
    policy_net_destroy(net);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate_policy_that_does_not_fit),
        cmocka_unit_test(test_fits_says_what_does_not),
        cmocka_unit_test(test_fits_asks_for_the_bounds_that_a_policy_was_trained_with),
        cmocka_unit_test(test_evaluate_unknown_environment),
        cmocka_unit_test(test_evaluate_environment_that_never_ends),
        cmocka_unit_test(test_evaluate_ends_before_the_environments_own_limit),
        cmocka_unit_test(test_evaluate_environment_that_always_fails),
        cmocka_unit_test(test_evaluate_environment_that_breaks),
        cmocka_unit_test(test_evaluate_stops_when_told),
        cmocka_unit_test(test_evaluate_plays_a_failed_episode_again),
        cmocka_unit_test(test_evaluate_begins_though_an_environment_cannot),
        cmocka_unit_test(test_evaluate_adds_up_the_rewards_itself),
        cmocka_unit_test(test_evaluate_does_not_favour_short_episodes),
        cmocka_unit_test(test_evaluate_counts_no_step_that_only_begins_an_episode),
        cmocka_unit_test(test_evaluate_one_episode_with_more_environments),
        cmocka_unit_test(test_evaluate_means_what_the_environment_measures),
        cmocka_unit_test(test_evaluate_measures_nothing_where_nothing_is_written),
        cmocka_unit_test(test_evaluate_measures_nothing_of_an_episode_that_failed),
        cmocka_unit_test(test_evaluate_observes_what_it_counts),
        cmocka_unit_test(test_evaluate_observes_nothing_where_no_episode_began),
        cmocka_unit_test(test_evaluate_counts_no_step_that_nothing_was_observed_before),
        cmocka_unit_test(test_evaluate_tells_each_step),
        cmocka_unit_test(test_evaluate_is_greedy_and_repeatable),
        cmocka_unit_test(test_evaluate_draws_actions_by_their_probabilities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
