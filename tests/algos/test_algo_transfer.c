// Fine-tuning: layers that fit are taken and the others named, with the statistics that they
// learned from observations by; frozen layers keep their bits in every algorithm while the others
// learn.
#include <math.h>
#include <stdlib.h>

#include "algos/algo_transfer.h"
#include "tests/algos/dpg_fixture.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 5, DIM = 3, B = 12, T = REINFORCE_STEPS, UPDATES = 4, LINES_MAX = 32 };

typedef struct trial {
    config_experiment config;
    policy_spec spec;
    algo *a;
    bool is_box, has_windows;
} trial;

static trial
trial_configure(config_algo_name name, bool is_box)
{
    static const config_algo_name of_windows[] = {CONFIG_ALGO_REINFORCE, CONFIG_ALGO_VTRACE,
                                                  CONFIG_ALGO_PPO, CONFIG_ALGO_A2C,
                                                  CONFIG_ALGO_TRPO};
    trial t = {.is_box = is_box};
    for (size_t i = 0; i < OCT_COUNTOF(of_windows); i++) {
        t.has_windows = t.has_windows || of_windows[i] == name;
    }
    t.config = t.has_windows ? reinforce_fixture_method(name)
               : is_box      ? dpg_fixture_config(name)
                             : fixture_config();
    t.config.algo.name = name;
    t.config.learner.batch_size = B;
    t.config.algo.target_period = 2;
    t.config.algo.target_rate = 0.5;
    return t;
}

static void
trial_begin(trial *t, uint32_t obs, uint32_t dim, uint64_t seed)
{
    t->spec = t->is_box ? fixture_box_env(obs, dim) : fixture_env(obs, dim);
    t->a = fixture_create(&t->spec, &t->config, seed);
}

static trial
trial_of(config_algo_name name, bool is_box, uint64_t seed)
{
    trial t = trial_configure(name, is_box);
    trial_begin(&t, OBS, DIM, seed);
    return t;
}

// The observations of each batch are drift larger than those of the one before.
static void
trial_learn_drifting(trial *t, uint64_t seed, int updates, float rate, float drift)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, 0);
    for (int i = 0; i < updates; i++) {
        float priority[B], numbers[ALGO_NUMBERS_MAX];
        algo_batch batch = t->has_windows ? reinforce_fixture_batch(&rng, &t->spec, B, T)
                           : t->is_box    ? dpg_fixture_batch(&rng, B, OBS, DIM)
                                          : fixture_batch(&rng, B, OBS, DIM);
        float *rows[] = {(float *)(uintptr_t)batch.obs, (float *)(uintptr_t)batch.next};
        size_t count = (size_t)B * (t->has_windows ? T + 1 : 1) * OBS;
        for (size_t k = 0; k < OCT_COUNTOF(rows) && rows[k] != NULL && drift > 0; k++) {
            for (size_t n = 0; n < count; n++) {
                rows[k][n] += drift * (float)i;
            }
        }
        T_OK(algo_update(t->a, &batch, rate, priority, numbers));
        fixture_batch_free(&batch);
    }
}

static void
trial_learn(trial *t, uint64_t seed)
{
    trial_learn_drifting(t, seed, UPDATES, 1e-2f, 0);
}

// ---- freezing

// Which layers differ between before and the network as it is, a bit for each.
static uint32_t
layers_moved(const algo_network *network, const float *params, const float *before)
{
    uint32_t moved = 0;
    for (uint32_t l = 0; l < network->net->layer_count; l++) {
        nn_range at = nn_learned_layer(network->net, network->reparam, l);
        size_t bytes = (at.end - at.at) * sizeof(float);
        moved |= (uint32_t)(memcmp(params + at.at, before + at.at, bytes) != 0) << l;
    }
    return moved;
}

static float *
copy_of(const float *floats, size_t count)
{
    float *copy = oct_alloc(count * sizeof(*copy));
    memcpy(copy, floats, count * sizeof(*copy));
    return copy;
}

// layers: bits. Moments are those of before as well, though they were not 0.
static void
expect_frozen(trial *t, uint32_t layers)
{
    algo_network networks[ALGO_NETWORKS_MAX];
    trial_learn(t, 3); // without, so that there are moments
    uint32_t count = t->a->ops->networks(t->a, networks);
    assert_true(count >= 1);
    nn_trainer *trainer = networks[0].trainer;
    size_t params = networks[0].net->param_count;
    float *before = copy_of(networks[0].net->params, params);
    float *moments = copy_of(trainer->m, params);
    nn_trainer_freeze(trainer, layers);
    trial_learn(t, 4);
    uint32_t all = (1u << networks[0].net->layer_count) - 1;
    assert_int_equal(layers_moved(&networks[0], networks[0].net->params, before), all & ~layers);
    if (t->config.algo.name != CONFIG_ALGO_TRPO) { // its policy has none
        assert_int_equal(layers_moved(&networks[0], trainer->m, moments), all & ~layers);
    }
    free(before);
    free(moments);
}

static void
test_frozen_layers_keep_their_bits_in_every_algorithm(void **state)
{
    (void)state;
    static const config_algo_name boxes[] = {
        CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG,      CONFIG_ALGO_TD3,
        CONFIG_ALGO_SAC,  CONFIG_ALGO_REINFORCE, CONFIG_ALGO_PPO,
        CONFIG_ALGO_A2C,  CONFIG_ALGO_VTRACE,    CONFIG_ALGO_TRPO};
    static const uint32_t layers[] = {1, 2, 4, 5};
    for (size_t k = 0; k < OCT_COUNTOF(layers); k++) {
        for (size_t i = 0; i < OCT_COUNTOF(boxes); i++) {
            trial t = trial_of(boxes[i], true, 1);
            expect_frozen(&t, layers[k]);
            algo_destroy(t.a);
        }
        trial dqn = trial_of(CONFIG_ALGO_DQN, false, 1);
        expect_frozen(&dqn, layers[k]);
        algo_destroy(dqn.a);
    }
}

// Of noisy layers means and deviations.
static void
test_frozen_layers_of_rainbow_keep_their_noise(void **state)
{
    (void)state;
    trial t = trial_configure(CONFIG_ALGO_DQN, false);
    fixture_set_rainbow(&t.config);
    trial_begin(&t, OBS, DIM, 1);
    algo_network networks[ALGO_NETWORKS_MAX];
    (void)t.a->ops->networks(t.a, networks);
    const nn_net *net = networks[0].net;
    size_t means = networks[0].reparam->mean_count;
    float *before = copy_of(net->params, net->param_count);
    nn_trainer_freeze(networks[0].trainer, 1u | 4u);
    trial_learn(&t, 4);
    assert_int_equal(layers_moved(&networks[0], net->params, before), 2);
    assert_int_equal(layers_moved(&networks[0], net->params + means, before + means), 2);
    free(before);
    algo_destroy(t.a);
}

// The gradient's norm, by which it is clipped, is without the frozen layers.
static void
test_the_norm_is_of_what_learns(void **state)
{
    (void)state;
    trial t = trial_of(CONFIG_ALGO_DQN, false, 1);
    algo_network networks[ALGO_NETWORKS_MAX];
    (void)t.a->ops->networks(t.a, networks);
    nn_trainer *trainer = networks[0].trainer;
    float x[OBS] = {1, 2, 3, 4, 5}, dy[DIM] = {1, -1, 2};
    (void)nn_trainer_forward(trainer, x, 1);
    float whole = nn_trainer_backward(trainer, dy, 1, NULL);
    float kept = nn_vec()->sum_of_squares(trainer->gradient, trainer->tape.net.layers[1].at.weight);
    nn_trainer_freeze(trainer, 1);
    float dz[DIM] = {1, -1, 2};
    (void)nn_trainer_forward(trainer, x, 1);
    float part = nn_trainer_backward(trainer, dz, 1, NULL);
    T_NEAR((double)(part * part), (double)(whole * whole - kept), 1e-4, 1e-6);
    assert_true(kept > 0);
    algo_destroy(t.a);
}

static void
test_layers_are_frozen_by_the_configuration(void **state)
{
    (void)state;
    trial t = trial_configure(CONFIG_ALGO_D4PG, true);
    t.config.learner.freeze = (config_ints){.count = 2, .value = {0, 1}};
    trial_begin(&t, OBS, DIM, 1);
    algo_network networks[ALGO_NETWORKS_MAX];
    (void)t.a->ops->networks(t.a, networks);
    float *before = copy_of(networks[0].net->params, networks[0].net->param_count);
    float *critic = copy_of(networks[1].net->params, networks[1].net->param_count);
    trial_learn(&t, 4);
    assert_int_equal(layers_moved(&networks[0], networks[0].net->params, before), 4);
    assert_int_equal(layers_moved(&networks[1], networks[1].net->params, critic), 7);
    free(before);
    free(critic);
    algo_destroy(t.a);
    algo *none = (algo *)1;
    t.config.learner.freeze = (config_ints){.count = 1, .value = {3}};
    T_ERR(algo_create(&none, NULL, &t.config, &t.spec, 1), OCT_EINVAL);
    assert_null(none);
}

// ---- taking

typedef struct heard {
    uint32_t count;
    algo_taken line[LINES_MAX];
} heard;

static void
hear(void *arg, const algo_taken *taken)
{
    heard *h = arg;
    assert_true(h->count < LINES_MAX);
    h->line[h->count++] = *taken;
}

static uint32_t
take(trial *to, trial *from, heard *h)
{
    return algo_take(to->a, &to->spec, &(algo_source){&from->spec, from->a, NULL}, hear, h);
}

static const algo_taken *
line_of(const heard *h, const char *network, uint32_t layer)
{
    for (uint32_t i = 0; i < h->count; i++) {
        if (strcmp(h->line[i].network, network) == 0 && h->line[i].layer == layer) {
            return &h->line[i];
        }
    }
    fail_msg("no line of %s %u", network, layer);
    return NULL;
}

static void
expect_line(const heard *h, const char *network, uint32_t layer, bool is_taken, const char *why)
{
    const algo_taken *line = line_of(h, network, layer);
    assert_int_equal(line->is_taken, is_taken);
    assert_string_equal(line->why, why);
}

static const config_algo_name all_boxes[] = {
    CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG, CONFIG_ALGO_TD3,    CONFIG_ALGO_SAC, CONFIG_ALGO_REINFORCE,
    CONFIG_ALGO_PPO,  CONFIG_ALGO_A2C,  CONFIG_ALGO_VTRACE, CONFIG_ALGO_TRPO};

// All networks and targets; not the moments and counts.
static void
test_the_same_algorithm_gives_all_networks(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(all_boxes); i++) {
        trial from = trial_of(all_boxes[i], true, 1), to = trial_of(all_boxes[i], true, 2);
        algo_network own[ALGO_NETWORKS_MAX], its[ALGO_NETWORKS_MAX];
        heard h = {0};
        trial_learn(&from, 3);
        uint32_t count = to.a->ops->networks(to.a, own);
        (void)from.a->ops->networks(from.a, its);
        assert_int_equal(take(&to, &from, &h), 3 * count);
        for (uint32_t n = 0; n < count; n++) {
            size_t bytes = own[n].net->param_count * sizeof(float);
            assert_memory_equal(own[n].net->params, its[n].net->params, bytes);
            if (own[n].target != NULL) {
                assert_memory_equal(own[n].target->params, its[n].target->params, bytes);
            }
            assert_int_equal(own[n].trainer->steps, 0);
            assert_true(nn_vec()->sum_of_squares(own[n].trainer->m, own[n].net->param_count) == 0);
        }
        assert_int_equal(algo_updates(to.a), 0);
        assert_memory_equal(algo_policy_params(to.a), algo_policy_params(from.a),
                            policy_spec_params(&to.spec) * sizeof(float));
        algo_destroy(from.a);
        algo_destroy(to.a);
    }
}

// What is mapped is what was taken.
static void
test_rainbow_gives_streams_and_noise(void **state)
{
    (void)state;
    trial from = trial_configure(CONFIG_ALGO_DQN, false);
    fixture_set_rainbow(&from.config);
    trial to = from;
    heard h = {0};
    trial_begin(&from, OBS, DIM, 1);
    trial_begin(&to, OBS, DIM, 2);
    trial_learn(&from, 3);
    assert_int_equal(take(&to, &from, &h), 3);
    assert_memory_equal(algo_policy_params(to.a), algo_policy_params(from.a),
                        policy_spec_params(&to.spec) * sizeof(float));
    algo_destroy(to.a);
    h.count = 0;
    to.config.algo.value_max = 6;
    trial_begin(&to, OBS, DIM, 2);
    assert_int_equal(take(&to, &from, &h), 2);
    expect_line(&h, "policy", 2, false,
                "11 atoms over [-5, 5] in the source, 11 over [-5, 6] in this run");
    algo_destroy(to.a);
    algo_destroy(from.a);
}

// Another task: the first and the last layer begin anew, and stay as they were made.
static void
test_other_sizes_keep_the_middle(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_D4PG, true, 1);
    trial to = trial_configure(CONFIG_ALGO_D4PG, true), twin = to;
    heard h = {0};
    trial_begin(&to, OBS + 1, DIM - 1, 2);
    trial_begin(&twin, OBS + 1, DIM - 1, 2);
    trial_learn(&from, 3);
    assert_int_equal(take(&to, &from, &h), 3);
    expect_line(&h, "policy", 0, false,
                "observations of 5 numbers in the source, of 6 in this run");
    expect_line(&h, "policy", 1, true, "");
    expect_line(&h, "policy", 2, false, "8 -> 3, linear in the source");
    expect_line(&h, "critic 1", 0, false,
                "observations of 5 numbers in the source, of 6 in this run");
    expect_line(&h, "critic 1", 1, true, "");
    expect_line(&h, "critic 1", 2, true, "");
    algo_network own[ALGO_NETWORKS_MAX], fresh[ALGO_NETWORKS_MAX];
    (void)to.a->ops->networks(to.a, own);
    (void)twin.a->ops->networks(twin.a, fresh);
    assert_int_equal(layers_moved(&own[0], own[0].net->params, fresh[0].net->params), 2);
    assert_int_equal(layers_moved(&own[1], own[1].net->params, fresh[1].net->params), 6);
    algo_destroy(from.a);
    algo_destroy(to.a);
    algo_destroy(twin.a);
}

static void
test_another_algorithm_gives_the_policy_alone(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_D4PG, true, 1), td3 = trial_of(CONFIG_ALGO_TD3, true, 2);
    trial ppo = trial_configure(CONFIG_ALGO_PPO, true);
    ppo.config.network.activation = from.config.network.activation;
    trial_begin(&ppo, OBS, DIM, 2);
    algo_network own[ALGO_NETWORKS_MAX];
    heard h = {0};
    trial_learn(&from, 3);
    assert_int_equal(take(&td3, &from, &h), 3);
    expect_line(&h, "critic 2", 1, false, "learned by d4pg in the source");
    (void)td3.a->ops->networks(td3.a, own); // its target is as the policy itself
    assert_memory_equal(own[0].target->params, own[0].net->params,
                        own[0].net->param_count * sizeof(float));
    h.count = 0;
    assert_int_equal(take(&ppo, &from, &h), 2);
    expect_line(&h, "policy", 2, false, "tanh in the source, a Gaussian in this run");
    expect_line(&h, "policy", 3, false, "none in the source"); // deviations
    expect_line(&h, "value", 0, false, "learned by d4pg in the source");
    algo_destroy(from.a);
    algo_destroy(td3.a);
    algo_destroy(ppo.a);
}

// Nor are deviations, if no layer of the policy fits: nothing has changed.
static void
test_nothing_is_taken_from_what_does_not_fit(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_PPO, true, 1), to = trial_configure(CONFIG_ALGO_PPO, true);
    heard h = {0};
    size_t length;
    to.config.network.hidden = to.config.network.critic_hidden =
        (config_ints){.count = 1, .value = {5}};
    trial_begin(&to, OBS, DIM, 2);
    trial_learn(&from, 3);
    uint8_t *before = fixture_save(to.a, &length);
    assert_int_equal(take(&to, &from, &h), 0);
    uint8_t *behind = fixture_save(to.a, &length);
    assert_memory_equal(before, behind, length);
    expect_line(&h, "policy", 2, false, "no layer of the policy is taken");
    free(before);
    free(behind);
    algo_destroy(from.a);
    algo_destroy(to.a);
}

static void
test_other_shapes_are_named(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_DQN, false, 1);
    trial to = trial_configure(CONFIG_ALGO_DQN, false);
    heard h = {0};
    to.config.network.activation = POLICY_TANH;
    to.config.network.first_layer_norm = true;
    to.config.network.hidden = (config_ints){.count = 3, .value = {8, 8, 8}};
    trial_begin(&to, OBS, DIM, 2);
    assert_int_equal(take(&to, &from, &h), 1);
    expect_line(&h, "policy", 0, false, "relu in the source");
    expect_line(&h, "policy", 1, false, "relu in the source");
    expect_line(&h, "policy", 2, false, "no such hidden layer in the source");
    expect_line(&h, "policy", 3, true, "");
    algo_destroy(to.a);
    algo_destroy(from.a);
}

// Of a policy's parameters: both networks begin with them.
static void
test_a_policy_gives_its_layers(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_TD3, true, 1), to = trial_of(CONFIG_ALGO_TD3, true, 2);
    algo_network own[ALGO_NETWORKS_MAX];
    heard h = {0};
    size_t bytes = policy_spec_params(&from.spec) * sizeof(float);
    trial_learn(&from, 3);
    const float *params = algo_policy_params(from.a);
    assert_int_equal(algo_take(to.a, &to.spec, &(algo_source){&from.spec, NULL, params}, hear, &h),
                     3);
    assert_memory_equal(algo_policy_params(to.a), params, bytes);
    (void)to.a->ops->networks(to.a, own);
    assert_memory_equal(own[0].target->params, params, bytes);
    expect_line(&h, "critic 1", 0, false, "not in a policy file");
    trial_learn(&to, 4); // it learns on
    assert_memory_not_equal(algo_policy_params(to.a), params, bytes);
    algo_destroy(from.a);
    algo_destroy(to.a);
}

// Outputs are for a range of actions, whatever it is.
static void
test_an_output_layer_of_other_bounds_is_taken_and_said(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_TD3, true, 1), to = trial_of(CONFIG_ALGO_TD3, true, 2);
    heard h = {0};
    policy_spec other = from.spec;
    other.action_low[1] = -0.5f;
    other.action_high[1] = 2;
    const float *params = algo_policy_params(from.a);
    assert_int_equal(algo_take(to.a, &to.spec, &(algo_source){&other, NULL, params}, hear, &h), 3);
    char words[96];
    (void)snprintf(words, sizeof(words),
                   "action 1 is in [-0.5, 2] in the source, in [%g, %g] in this run",
                   (double)to.spec.action_low[1], (double)to.spec.action_high[1]);
    expect_line(&h, "policy", 1, true, "");
    expect_line(&h, "policy", 2, true, words);
    algo_destroy(from.a);
    algo_destroy(to.a);
}

static void
test_a_first_layer_of_normalised_observations_is_not_taken(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_TD3, true, 1), to = trial_of(CONFIG_ALGO_TD3, true, 2);
    heard h = {0};
    policy_spec other = from.spec;
    other.normalise = true;
    const float *params = algo_policy_params(from.a);
    assert_int_equal(algo_take(to.a, &to.spec, &(algo_source){&other, NULL, params}, hear, &h), 2);
    expect_line(&h, "policy", 0, false, "observations are scaled one by one in the source");
    assert_memory_not_equal(algo_policy_params(to.a), params, OBS * sizeof(float));
    algo_destroy(from.a);
    algo_destroy(to.a);
}

// A program of its own has the policy here, and nothing else; its values are such as another's.
static void
test_a_program_of_its_own_gives_the_policy(void **state)
{
    (void)state;
    trial from = trial_of(CONFIG_ALGO_EXTERNAL, false, 1), to = trial_of(CONFIG_ALGO_DQN, false, 2);
    trial td3 = trial_of(CONFIG_ALGO_TD3, true, 2), box = trial_of(CONFIG_ALGO_EXTERNAL, true, 1);
    heard h = {0};
    size_t bytes = policy_spec_params(&from.spec) * sizeof(float);
    assert_int_equal(take(&to, &from, &h), 3);
    assert_memory_equal(algo_policy_params(to.a), algo_policy_params(from.a), bytes);
    trial_learn(&to, 4);
    assert_memory_not_equal(algo_policy_params(to.a), algo_policy_params(from.a), bytes);
    h.count = 0;
    assert_int_equal(take(&td3, &box, &h), 3);
    expect_line(&h, "policy", 2, true, "");
    expect_line(&h, "critic 2", 0, false, "learned by external in the source");
    algo_destroy(from.a);
    algo_destroy(to.a);
    algo_destroy(td3.a);
    algo_destroy(box.a);
}

// ---- normalised observations

enum { OUTPUTS_MAX = B * 64, NETS_MAX = 2 * ALGO_NETWORKS_MAX };

static const config_algo_name normalising[] = {CONFIG_ALGO_PPO,  CONFIG_ALGO_A2C,  CONFIG_ALGO_TRPO,
                                               CONFIG_ALGO_D4PG, CONFIG_ALGO_DDPG, CONFIG_ALGO_TD3,
                                               CONFIG_ALGO_SAC};

static trial
normalising_trial(config_algo_name name, bool normalises, uint64_t seed)
{
    trial t = trial_configure(name, true);
    t.config.algo.normalise_observations = normalises;
    t.config.algo.kl_max = 1e-12; // what follows a step, not a rate, stays as well
    t.config.algo.target_rate = 1e-9;
    trial_begin(&t, OBS, DIM, seed);
    return t;
}

// What each network and its target compute of the same raw observations, and actions.
static uint32_t
outputs(const trial *t, float out[NETS_MAX][OUTPUTS_MAX])
{
    algo_network networks[ALGO_NETWORKS_MAX];
    uint32_t count = t->a->ops->networks(t->a, networks), used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const algo_normaliser *n = networks[i].inside;
        nn_net *nets[] = {networks[i].net, networks[i].target};
        uint32_t columns = nets[0]->layers[0].inputs;
        uint32_t width = nets[0]->layers[nets[0]->layer_count - 1].outputs;
        float x[B * (OBS + DIM)];
        oct_rng rng;
        oct_rng_init(&rng, 9, 0);
        for (uint32_t k = 0; k < B * columns; k++) {
            uint32_t column = k % columns;
            x[k] = 4 * oct_rng_float(&rng) - 1;
            if (n != NULL && column < n->count) {
                x[k] = (x[k] - n->offset[column]) * n->scale[column];
            }
        }
        assert_true(width * B <= OUTPUTS_MAX);
        for (size_t k = 0; k < OCT_COUNTOF(nets) && nets[k] != NULL; k++) {
            memcpy(out[used++], nn_net_forward(nets[k], x, B), B * width * sizeof(float));
        }
    }
    return used;
}

// The largest difference of the first count networks' outputs from those of before.
static double
moved(const trial *t, float before[NETS_MAX][OUTPUTS_MAX], uint32_t count)
{
    float behind[NETS_MAX][OUTPUTS_MAX] = {0};
    double largest = 0;
    (void)outputs(t, behind);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < OUTPUTS_MAX; k++) {
            largest = fmax(largest, fabs((double)behind[i][k] - (double)before[i][k]));
        }
    }
    return largest;
}

// From what has no statistics, or few rows of them: the networks taken stay what they are while the
// new run's move.
static void
test_networks_stay_until_statistics_are_settled(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(normalising); i++) {
        for (int kind = 0; kind < 3; kind++) {
            float before[NETS_MAX][OUTPUTS_MAX] = {0};
            trial from = normalising_trial(normalising[i], kind == 1, 1);
            trial to = normalising_trial(normalising[i], true, 2);
            heard h = {0};
            uint32_t count;
            trial_learn_drifting(&from, 3, 10, 1e-2f, 0.1f);
            if (kind < 2) {
                assert_true(take(&to, &from, &h) > 0);
                count = outputs(&to, before);
            } else { // as many as are the policy's
                assert_true(algo_take(to.a, &to.spec,
                                      &(algo_source){&from.spec, NULL, algo_policy_params(from.a)},
                                      hear, &h) > 0);
                (void)outputs(&to, before);
                count = 1;
            }
            assert_true(moved(&from, before, count) < 1e-5);
            expect_line(
                &h, "statistics", 0, kind == 1,
                kind == 1 ? "" : "none in the source; layer 0 computes the same for 1000000 rows");
            trial_learn_drifting(&to, 4, 20, 1e-12f, 0.1f);
            assert_true(moved(&to, before, count) < 1e-4);
            algo_destroy(from.a);
            algo_destroy(to.a);
        }
    }
}

// Settled statistics go along, and go on; what is taken stays as near as they do.
static void
test_statistics_go_along(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCT_COUNTOF(normalising); i++) {
        float before[NETS_MAX][OUTPUTS_MAX] = {0};
        trial from = normalising_trial(normalising[i], true, 1);
        trial to = normalising_trial(normalising[i], true, 2);
        algo_network own[ALGO_NETWORKS_MAX], its[ALGO_NETWORKS_MAX];
        heard h = {0};
        trial_learn_drifting(&from, 3, 10, 1e-2f, 0.1f);
        algo_normaliser *n = to.a->ops->normaliser(to.a);
        oct_columns *seen = &from.a->ops->normaliser(from.a)->seen;
        double more = 2.0 * ALGO_NORMALISER_SETTLED / seen->rows;
        for (uint32_t k = 0; k < OBS; k++) {
            seen->squares[k] *= more;
        }
        seen->rows *= more;
        assert_true(take(&to, &from, &h) > 0);
        expect_line(&h, "statistics", 0, true, "");
        assert_string_equal(line_of(&h, "statistics", 0)->shape, "2000000 rows");
        uint32_t count = to.a->ops->networks(to.a, own);
        (void)from.a->ops->networks(from.a, its);
        for (uint32_t k = 0; k < count; k++) { // nothing is multiplied
            assert_memory_equal(own[k].net->params, its[k].net->params,
                                own[k].net->param_count * sizeof(float));
        }
        assert_memory_equal(n->seen.mean, seen->mean, OBS * sizeof(double));
        assert_memory_equal(n->seen.squares, seen->squares, OBS * sizeof(double));
        assert_int_equal(algo_normaliser_kept(n), 0);
        count = outputs(&to, before);
        trial_learn_drifting(&to, 4, 20, 1e-12f, 0.1f);
        assert_true(moved(&to, before, count) < 1e-3);
        assert_true(n->seen.rows > seen->rows);
        algo_destroy(from.a);
        algo_destroy(to.a);
    }
}

// Of another algorithm's, with the policy: first weights of values and critics are for normalised
// observations all the same.
static void
test_what_begins_anew_beside_statistics_is_of_normalised_observations(void **state)
{
    (void)state;
    static const config_algo_name pairs[][2] = {{CONFIG_ALGO_TRPO, CONFIG_ALGO_PPO},
                                                {CONFIG_ALGO_D4PG, CONFIG_ALGO_TD3}};
    for (size_t i = 0; i < OCT_COUNTOF(pairs); i++) {
        trial from = normalising_trial(pairs[i][0], true, 1);
        trial to = normalising_trial(pairs[i][1], true, 2);
        trial twin = normalising_trial(pairs[i][1], true, 2);
        algo_network own[ALGO_NETWORKS_MAX], fresh[ALGO_NETWORKS_MAX];
        heard h = {0};
        trial_learn_drifting(&from, 3, 10, 1e-2f, 0.1f);
        assert_true(take(&to, &from, &h) > 0);
        expect_line(&h, "statistics", 0, true, "");
        (void)to.a->ops->networks(to.a, own);
        (void)twin.a->ops->networks(twin.a, fresh);
        if (own[1].inside == NULL) {
            const algo_normaliser *n = to.a->ops->normaliser(to.a);
            algo_normaliser_enter(n, own[1].net, own[1].net->params);
        }
        for (size_t k = 0; k < own[1].net->param_count; k++) {
            T_NEAR((double)own[1].net->params[k], (double)fresh[1].net->params[k], 1e-6, 1e-6);
        }
        algo_destroy(from.a);
        algo_destroy(to.a);
        algo_destroy(twin.a);
    }
}

// ---- setting the policy

static void
test_a_policy_is_set_as_it_is_given(void **state)
{
    (void)state;
    trial from = normalising_trial(CONFIG_ALGO_TD3, true, 1);
    trial to = normalising_trial(CONFIG_ALGO_TD3, true, 2);
    float before[NETS_MAX][OUTPUTS_MAX] = {0}, wanted[NETS_MAX][OUTPUTS_MAX] = {0};
    trial_learn_drifting(&from, 3, 10, 1e-2f, 0.1f);
    trial_learn_drifting(&to, 4, 10, 1e-2f, 0.2f);
    (void)outputs(&from, wanted);
    uint32_t count = outputs(&to, before);
    assert_true(algo_set_policy(to.a, algo_policy_params(from.a)));
    assert_true(moved(&to, wanted, 1) < 1e-5);
    memcpy(before[0], wanted[0], sizeof(before[0]));
    assert_true(moved(&to, before, count) < 1e-5); // its target and the critics stay
    algo_destroy(from.a);
    algo_destroy(to.a);
    trial rainbow = trial_configure(CONFIG_ALGO_DQN, false);
    fixture_set_rainbow(&rainbow.config);
    trial_begin(&rainbow, OBS, DIM, 1);
    assert_false(algo_set_policy(rainbow.a, algo_policy_params(rainbow.a)));
    algo_destroy(rainbow.a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frozen_layers_keep_their_bits_in_every_algorithm),
        cmocka_unit_test(test_frozen_layers_of_rainbow_keep_their_noise),
        cmocka_unit_test(test_the_norm_is_of_what_learns),
        cmocka_unit_test(test_layers_are_frozen_by_the_configuration),
        cmocka_unit_test(test_the_same_algorithm_gives_all_networks),
        cmocka_unit_test(test_rainbow_gives_streams_and_noise),
        cmocka_unit_test(test_other_sizes_keep_the_middle),
        cmocka_unit_test(test_another_algorithm_gives_the_policy_alone),
        cmocka_unit_test(test_nothing_is_taken_from_what_does_not_fit),
        cmocka_unit_test(test_other_shapes_are_named),
        cmocka_unit_test(test_a_policy_gives_its_layers),
        cmocka_unit_test(test_an_output_layer_of_other_bounds_is_taken_and_said),
        cmocka_unit_test(test_a_first_layer_of_normalised_observations_is_not_taken),
        cmocka_unit_test(test_a_program_of_its_own_gives_the_policy),
        cmocka_unit_test(test_networks_stay_until_statistics_are_settled),
        cmocka_unit_test(test_statistics_go_along),
        cmocka_unit_test(test_what_begins_anew_beside_statistics_is_of_normalised_observations),
        cmocka_unit_test(test_a_policy_is_set_as_it_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
