// The table of all keys of an experiment: name, type, bounds, default value and help of each.
#include "common/oct_config_table.h"
#include "common/oct_config_text.h"

#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"

// The help, and after it .is_new = true where the key is.
#define KEY(s, n, k, ...)                                                                          \
    .section = #s, .name = #n, .kind = (k), .offset = offsetof(oct_config, s.n), .help = __VA_ARGS__
#define U32(s, n, low, high, value, ...)                                                           \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_U32, __VA_ARGS__), .min = (low), .max = (high), .preset = (value)     \
    }
#define U64(s, n, low, high, value, ...)                                                           \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_U64, __VA_ARGS__), .min = (low), .max = (high), .preset = (value)     \
    }
#define F64(s, n, low, high, value, ...)                                                           \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_F64, __VA_ARGS__), .min = (low), .max = (high), .preset = (value)     \
    }
#define F64_OR(s, n, word, flag, low, high, value, ...)                                            \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_F64, __VA_ARGS__), .none = (word), .none_flag = (flag), .min = (low), \
                                                .max = (high), .preset = (value)                   \
    }
#define BOOL(s, n, value, ...)                                                                     \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_BOOL, __VA_ARGS__), .preset = (value)                                 \
    }
#define TEXT(s, n, value, ...)                                                                     \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_TEXT, __VA_ARGS__), .max = sizeof(((oct_config *)NULL)->s.n) - 1,     \
                                                 .preset = (value)                                 \
    }
#define WORD(s, n, all, value, ...)                                                                \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_WORD, __VA_ARGS__), .words = (all), .preset = (value)                 \
    }
#define INTS(s, n, low, high, value, ...)                                                          \
    {                                                                                              \
        KEY(s, n, OCT_CONFIG_INTS, __VA_ARGS__), .min = (low), .max = (high), .preset = (value)    \
    }

#define YEAR_S (366.0 * 86400)
#define MIB    1048576.0

// The words of replay.sync.
const char *const oct_sync_words[OCT_SYNCS] = {"none", "interval", "always"};

// Bounds are what the parts can carry (sizes on the wire, the width of an int32 accumulator, times
// that a person can mean); they are not advice.
const oct_config_key oct_config_keys[] = {
    TEXT(run, name, "", "name of the run; empty: the environment's ID"),
    U64(run, seed, 0, 9007199254740992.0, "1", "seed of every random generator of the run"),
    U64(run, env_steps, 1, 1e15, "200000",
        "budget of environment steps over all actors; replay counts whole batches "
        "(actor.batch_steps) and the learner checks the count every 20 ms, so a run exceeds its "
        "budget by what its actors do in that time; in lock-step that is less than one batch of "
        "each actor or, with rollouts, at most 1 + algo.rollout_lag rollouts of each environment"),
    U64(run, updates, 0, 1e15, "0",
        "budget of updates; 0: no limit. Required if the run learns from replay.data alone"),
    F64_OR(run, stop_at_return, "none", 0, -1e12, 1e12, "none",
           "mean evaluation return at which the run ends; none: the run ends with its budget"),
    F64(run, wall_s, 0, YEAR_S, "0",
        "limit on wall time in seconds, after which training ends; the final evaluation ends a "
        "tenth "
        "of it later, but has at least 60 seconds; 0: no limit"),
    F64(run, hang_s, 0, 86400, "60",
        "octet train: seconds without progress after which a daemon is killed and restarted; octet "
        "train reports the daemon after half that time; at least 1, or 0: never"),
    F64(run, env_hang_s, 0, YEAR_S, "600",
        "as run.hang_s, for a daemon that executes a step or reset of an environment; environments "
        "of Gymnasium are timed one by one, and their processes restart after "
        "$OCTET_GYM_TIMEOUT_S"),
    BOOL(run, deterministic, "false",
         "run in lock-step: turns follow from counts instead of time, so that runs with the same "
         "seed produce the same weights and the same replay table"),
    U64(run, hash_updates, 1, 1e15, "1000",
        "deterministic: updates between two hashes of the weights and the replay table"),

    TEXT(env, id, NULL, "environment: an ID such as CartPole-v1, or the path of a plug-in (.so)"),
    TEXT(env, options, "",
         "options of the environment: a section of them, or key=value,key=value; every environment "
         "takes action_repeat=K, which repeats each action for K steps"),
    TEXT(env, mjcf_dir, "",
         "dmc: environments except the swimmers: folder with dm_control's own model files; empty: "
         "Octet's models"),

    INTS(network, hidden, 1, 65536, "[64, 64]", "widths of the hidden layers"),
    WORD(network, activation, "relu tanh elu", "relu", "activation of the hidden layers"),
    BOOL(network, first_layer_norm, "false",
         "layer norm and tanh after the first hidden layer, as in Acme's LayerNormMLP"),
    INTS(network, conv, 1, 1024, "[]",
         "channels of 3x3 convolutions before the hidden layers, for observations of rows x "
         "columns x channels"),
    INTS(network, critic_hidden, 1, 65536, "[]",
         "widths of the critic's hidden layers; []: those of network.hidden"),
    BOOL(network, critic_residual, "false",
         "use critics with layer norm on all hidden layers; from the second on, the layers form "
         "residual blocks of two: x + LN(W2 act(LN(W1 x + b1)) + b2); critic_hidden lists 1 + 2 "
         "x blocks equal widths"),

    WORD(algo, name, "dqn d4pg ddpg td3 reinforce sac table ppo a2c vtrace trpo external", "dqn",
         "learning algorithm: dqn for discrete actions; d4pg, ddpg, td3, sac for actions in a box; "
         "reinforce, ppo, a2c, vtrace, trpo for both; table for discrete observations and actions; "
         "external: your own program (docs/python-api.md); also rainbow, c51, double_dqn, "
         "dueling_dqn, noisy_dqn, q_learning, sarsa, expected_sarsa, impala, a3c, which set other "
         "keys, too (octet config --explain NAME)"),
    WORD(algo, target, "q_learning sarsa expected_sarsa", "q_learning",
         "value of the next state: the value of the best action, the value of the action that was "
         "taken there, or the mean over an epsilon-greedy policy"),
    F64(algo, target_epsilon, 0, 1, "0.1",
        "epsilon of the policy of algo.target (for expected_sarsa, and for sarsa where an "
        "episode was truncated)"),
    F64(algo, initial_value, -1e12, 1e12, "0",
        "initial value of every action; a value above all returns makes actors try every action"),
    F64(algo, discount, 0, 1, "0.99", "discount factor per step"),
    U32(algo, n_step, 0, 1000, "0",
        "steps of the n-step return before the bootstrap value; 0: 5 for dqn and d4pg, else 1"),
    BOOL(algo, double_q, "true",
         "choose the bootstrap action with the online network (double DQN)"),
    F64(algo, huber_delta, 1e-6, 1e12, "1", "TD error above which the Huber loss is linear"),
    F64(algo, learning_rate, 1e-12, 10, "0.001",
        "Adam's learning rate at the start; table: share of each error that is applied"),
    F64_OR(algo, learning_rate_final, "same",
           offsetof(oct_config, algo.learning_rate_final_is_same), 0, 10, "same",
           "Adam's learning rate at the end of the budget, reached linearly; same: the rate is "
           "constant"),
    F64(algo, adam_beta1, 0, 0.999999, "0.9", "decay of Adam's first moment"),
    F64(algo, adam_beta2, 0, 0.9999999, "0.999", "decay of Adam's second moment"),
    // Squares of gradients below 3e-18 are 0 in a float: a smaller one would be all that they are
    // divided by.
    F64(algo, adam_epsilon, 1e-15, 1, "1e-08", "added to the root of Adam's second moment"),
    F64(algo, grad_norm_max, 0, 1e12, "0",
        "largest norm of a gradient; larger gradients are scaled down to it; 0: off"),
    F64(algo, reward_clip, 0, 1e12, "0", "clip each step's reward to [-x, x]; 0: off"),
    U32(algo, target_period, 1, 1e9, "100",
        "learner updates between two updates of the target network; with algo.policy_delay, the "
        "target network is updated when both numbers divide the update count"),
    F64(algo, target_rate, 1e-9, 1, "1",
        "weight of the online network in an update of the target network; 1: a copy, below 1: a "
        "soft update (Polyak averaging); below about 1e-5, fp32 rounds most steps away"),
    BOOL(algo, distributional, "false",
         "learn the distribution of the return on algo.atoms atoms (C51)"),
    BOOL(algo, dueling, "false", "use value and advantage streams (dueling networks)"),
    BOOL(algo, noisy, "false", "explore with learned noise in the dense layers (noisy networks)"),
    F64(algo, noisy_sigma, 0, 10, "0.5",
        "initial standard deviation of the noise of algo.noisy, in units of 1/sqrt(inputs)"),
    U32(algo, noisy_samples, 1, OCT_NOISY_SAMPLES_MAX, "8",
        "noise samples of algo.noisy that are published; each actor chooses one by its index; "
        "1: all use the same"),
    U32(algo, atoms, 2, 4096, "51",
        "atoms of the return distribution (dqn: with "
        "algo.distributional)"),
    F64(algo, value_min, -1e12, 1e12, "-150",
        "lowest of algo.atoms; discounted returns below it are clipped"),
    F64(algo, value_max, -1e12, 1e12, "150",
        "highest of algo.atoms; discounted returns above it are clipped"),
    F64_OR(algo, critic_learning_rate, "same",
           offsetof(oct_config, algo.critic_learning_rate_is_same), 1e-12, 10, "same",
           "Adam's learning rate for critics at the start; it follows the schedule of "
           "learning_rate; same: algo.learning_rate"),
    F64(algo, action_grad_norm_max, 0, 1e12, "0",
        "largest norm of the value's gradient with respect to the action; larger ones are "
        "scaled down to it, row by row; 0: off"),
    F64(algo, pre_activation_cost, 0, 1e6, "0",
        "weight in the policy's loss of the squares of its outputs before tanh, which keeps "
        "actions away from the ends of their range; 0: off"),
    U32(algo, policy_delay, 0, 1000, "0", "critic updates per policy update; 0: 2 for td3, else 1"),
    U32(algo, critics, 0, 2, "0",
        "number of critics, each with a target network; with two, the smaller value is used "
        "(clipped double Q-learning); 0: 2 for td3 and sac, else 1"),
    F64(algo, target_noise, 0, 10, "0.2",
        "standard deviation of the noise on target actions (target smoothing), as a share of "
        "half their range"),
    F64(algo, target_noise_clip, 0, 10, "0.5",
        "limit to which algo.target_noise is clipped on both sides"),
    F64_OR(algo, temperature, "learned", 0, 0, 1e6, "learned",
           "weight of the policy's entropy relative to the return; learned: adjusted until the "
           "policy's entropy is algo.target_entropy"),
    F64(algo, initial_temperature, 1e-12, 1e6, "1",
        "algo.temperature at the start, if it is "
        "learned"),
    F64_OR(algo, target_entropy, "dimensions", 0, -1e6, 1e6, "dimensions",
           "entropy that the temperature is learned for, in nats, with actions in units of half "
           "their range; dimensions: minus the number of action dimensions"),
    U32(algo, sequence_steps, 1, 16384, "500",
        "steps of a window (reinforce and table split longer episodes; a window of vtrace may span "
        "several); for ppo, a2c and trpo, steps of each environment in a rollout, which is shorter "
        "if more episodes end in one environment than a quarter of this number"),
    U32(algo, lag_max, 0, 1e9, "0",
        "discard windows with actions of policies more than this many versions old; 0: discard "
        "none"),
    BOOL(algo, normalise_advantage, "true",
         "normalise the advantages of a batch (ppo: of a minibatch) to mean 0 and standard "
         "deviation 1"),
    F64(algo, ratio_max, 1e-6, 1e6, "2",
        "upper limit of the importance weights (ppo, trpo: with algo.correction: decoupled), "
        "which are the ratio of the learner's policy to the policy that acted (rho-bar of "
        "V-trace)"),
    F64(algo, trace_max, 0, 1e6, "1",
        "upper limit of the ratios by which errors of later steps are carried back (c-bar); at "
        "most algo.ratio_max; 0: errors are not carried back"),
    F64(algo, entropy_cost, 0, 1e6, "0.01", "weight of the policy's entropy in the loss"),
    F64_OR(algo, entropy_cost_final, "same", offsetof(oct_config, algo.entropy_cost_final_is_same),
           0, 1e6, "same",
           "algo.entropy_cost at the end of the budget, reached linearly; same: the weight is "
           "constant"),
    F64(algo, value_cost, 1e-6, 1e6, "0.5", "weight of the value loss"),
    F64(algo, initial_deviation, 1e-6, 7, "1",
        "box actions: standard deviation of actions at the start, as a share of half their range"),
    F64(algo, gae_lambda, 0, 1, "0.95",
        "decay of later steps' errors in an advantage (lambda of GAE and V-trace); 1: "
        "advantages from full returns"),
    U32(algo, epochs, 1, 1000, "10",
        "passes over the steps of a batch in one update (trpo: for the values only)"),
    U32(algo, minibatches, 1, 65536, "4", "gradient steps in each pass"),
    F64(algo, clip, 1e-6, 0.999999, "0.2", "clip the ratio to [1 - clip, 1 + clip]"),
    F64(algo, value_clip, 0, 1e12, "0",
        "clip range of value losses: a value's loss is at least that of the value clipped to "
        "this distance from the old value; 0: off"),
    F64(algo, kl_max, 0, 1e6, "0",
        "for ppo, end an update when a minibatch's KL divergence from the policy that acted "
        "(correction: ratio), or from the policy before the update (decoupled, none), exceeds "
        "this; 0: off. For trpo, limit on the KL divergence of a policy step, which is made as "
        "long "
        "as the limit allows"),
    WORD(algo, correction, "ratio decoupled none", "ratio",
         "how to correct for the policy that acted, which is older or quantised: by the clipped "
         "ratio itself, by an importance weight beside a ratio to the policy before the update, "
         "or not at all"),
    BOOL(algo, scale_rewards, "false",
         "divide rewards by the standard deviation of their discounted sums so far"),
    F64(algo, mean_noise, 0, 1e3, "0",
        "largest uniform noise added to each Gaussian mean in an update (RPO), as a share of "
        "half the action's range, so that deviations stay wide; 0: off"),
    BOOL(algo, normalise_observations, "false",
         "normalise observations by their mean and standard deviation over all batches so far"),
    U32(algo, rollout_lag, 0, 1000, "0",
        "versions by which the learner may be ahead of a rollout; actors make this many "
        "rollouts before the next version arrives"),
    U32(algo, cg_iterations, 1, 1000, "10", "conjugate-gradient steps to the natural gradient"),
    F64(algo, cg_damping, 0, 1e6, "0.1",
        "number added to the diagonal of the Fisher matrix; larger numbers turn the step "
        "towards the plain gradient"),
    U32(algo, line_search_steps, 1, 1000, "10",
        "steps of the line search to try, each shorter than the last, before the policy is left "
        "unchanged"),
    F64(algo, line_search_shrink, 0.01, 0.99, "0.8",
        "length of each step of the line search relative to the previous one"),
    WORD(algo, window, "n_step sequence rollout", "n_step",
         "what a batch contains: transitions of algo.n_step steps; sequences of "
         "algo.sequence_steps rows that may begin anywhere; or rollouts of algo.sequence_steps "
         "steps of every environment by the newest policy, each used once, for which "
         "algo.sequence_steps and learner.batch_size have the defaults of ppo"),
    WORD(algo, head, "auto values logits atoms tanh gaussian tanh_gaussian", "auto",
         "meaning of the network's outputs; auto: values for discrete actions, tanh for actions "
         "in a box"),
    F64(algo, client_wait_s, 0, YEAR_S, "60",
        "seconds to wait for a process that learns, at the start and after one has disconnected, "
        "before the run ends; 0: do not wait"),

    U32(learner, count, 1, 64, "1",
        "learners that share each batch, as processes on one machine or, under mpirun, on several; "
        "each computes the gradient of its part, and the mean is applied"),
    U32(learner, batch_size, 1, 65536, "256",
        "windows in one update: n-step transitions or sequences of steps; for rollouts, at most "
        "one of each environment"),
    U32(learner, prefetch, 1, 1024, "8", "batches to keep ready for the training thread"),
    U32(learner, batches_per_request, 1, 256, "4", "batches in one request to replay"),
    U32(learner, threads, 1, 256, "1", "threads for matrix products"),
    WORD(learner, blas_kernels, "auto environment", "auto",
         "OpenBLAS kernels to use: the best for this CPU, or those that OPENBLAS_CORETYPE names"),
    BOOL(learner, bf16, "false",
         "compute matrix products in bfloat16 with fp32 sums, if this CPU supports them"),
    BOOL(learner, gradients_bf16, "false",
         "let learners (learner.count) send each other gradients rounded to bfloat16, which halves "
         "the bytes"),
    BOOL(learner, asynchronous, "false",
         "let learners (learner.count) run without waiting for each other: each computes gradients "
         "of whole batches of its own and applies them to the shared parameters"),
    U32(learner, staleness_max, 0, 1e6, "32",
        "learner.asynchronous: discard a gradient if other learners have applied more than this "
        "many since its parameters were fetched; 0: if any has"),
    U32(learner, publish_period, 1, 1e9, "100", "updates between policy versions"),
    F64(learner, publish_s, 0, YEAR_S, "0",
        "seconds after which to publish a version even before publish_period; 0: off"),
    F64(learner, publish_s_min, 0, 3600, "0.01", "minimum seconds between policy versions"),
    F64(learner, publish_core_share, 0, 1, "0.1",
        "maximum share of one core to spend on publishing; above it, versions are published less "
        "often; 0: no limit"),
    F64(learner, publish_bytes_per_s, 0, 1e12, "0",
        "maximum bytes per second of policies sent to all actors together; above it, versions are "
        "published less often; 0: no limit"),
    BOOL(learner, quantisation_aware, "false",
         "quantisation-aware training: learn with the weights rounded to policy.precision, as "
         "actors will use them"),
    F64(learner, ema_decay, 0, 0.9999, "0",
        "publish an exponential moving average of the policy's parameters, which decays by this "
        "factor in each update, instead of the parameters; 0: no average"),
    TEXT(learner, init_from, "none",
         "run folder or policy file whose layers the run starts from, where they fit "
         "(docs/transfer.md); none: random weights"),
    INTS(learner, freeze, 0, OCT_CONFIG_INTS_MAX, "[]",
         "layers of the policy that do not learn, numbered as octet inspect numbers them; critics "
         "always learn"),
    F64(learner, checkpoint_s, 0, YEAR_S, "30", "seconds between checkpoints; 0: only at the end"),
    U32(learner, checkpoints_kept, 1, 16, "3",
        "checkpoints to keep in the run folder; if the newest is damaged, the run resumes from the "
        "one before it"),
    U32(learner, checkpoint_turns, 1, 1e6, "200",
        "deterministic: turns between checkpoints; actors restart their environments at each"),
    U32(learner, actors_per_certificate, 0, 16384, "1024",
        "maximum number of registered actors and evaluators that share one TLS certificate; 0: "
        "only the limit for all, 16384"),
    F64(learner, metrics_s, 0.01, 86400, "1", "seconds between rows of metrics"),
    U32(learner, metrics_rows, 16, 1e9, "20000",
        "maximum rows of metrics.csv and TensorBoard's files; beyond that, old rows are merged"),
    U32(learner, probe_rows, 1, 65536, "256",
        "observations on which the quantised policy is compared with the fp32 policy"),
    F64(learner, divergence_warn, 0, 1e6, "0.1",
        "relative difference between their outputs above which the learner logs a warning; 0: "
        "never"),

    WORD(policy, precision, "int8 fp32 bf16 fp16 int4", "int8",
         "precision of the policy that actors run"),
    BOOL(policy, scale_observations, "true",
         "publish policies that normalise observations by their mean and standard deviation; "
         "training uses unscaled observations"),
    WORD(policy, scale, "row tensor", "row",
         "weights that share one int8 scale: those of a row (per-channel) or of a whole layer "
         "(per-tensor)"),
    WORD(policy, range, "absmax percentile mse", "absmax",
         "range that a scale covers: up to the largest weight, up to a percentile of the weights, "
         "or the range with the smallest error"),
    F64(policy, percentile, 50.000001, 100, "99.9",
        "policy.range percentile: percentage of weights that are not clipped"),
    BOOL(policy, delta, "true",
         "int8 and int4: publish only the changes since the last version if they are shorter"),
    F64(policy, dead_band, 0.5, 16, "0.5",
        "distance between a weight and its code, in steps of the scale, at which the code changes; "
        "0.5: plain rounding"),
    F64(policy, drift, 0.001, 1, "0.02",
        "relative change of a row's range above which the row gets a new scale"),
    U32(policy, key_frame_period, 0, 1e9, "0",
        "publications between complete policies; 0: complete policies only on request"),

    U32(actor, count, 1, OCT_TURN_ACTORS_MAX, "1", "actors that octet train starts"),
    U32(actor, envs, 1, 65536, "16", "environments that each actor steps together"),
    F64(actor, epsilon_base, 0, 1, "0.4",
        "exploration ladder: each environment acts at random with probability base^k, where k "
        "ranges from 1 to power over the environments"),
    F64(actor, epsilon_power, 1, 1000, "8",
        "largest k in the ladder of actor.epsilon_base, which spans all environments of all "
        "actors"),
    F64_OR(actor, epsilon_persistence, "none", 0, 1.01, 100, "none",
           "exponent x of how long random actions are repeated: for n steps, with P(n >= k) = k^(1 "
           "- x); 2 gives long repeats; none: one step"),
    U64(actor, epsilon_anneal_steps, 0, 1e15, "10000",
        "environment steps over which epsilon falls from 1 to the ladder's value; 0: it begins "
        "there"),
    F64(actor, noise, 0, 10, "0.2",
        "box actions: standard deviation of the exploration noise, as a share of half the actions' "
        "range"),
    F64_OR(actor, noise_low, "same", offsetof(oct_config, actor.noise_low_is_same), 0, 10, "same",
           "lower end of a ladder of noise: deviations are spaced evenly from this to actor.noise "
           "over all environments of all actors; same: no ladder"),
    F64_OR(actor, noise_final, "same", offsetof(oct_config, actor.noise_final_is_same), 0, 10,
           "same",
           "deviation that every environment reaches, linearly from its own, after "
           "actor.noise_steps; same: deviations do not change"),
    U64(actor, noise_steps, 0, 1e15, "0",
        "environment steps until deviations reach actor.noise_final; 0: run.env_steps"),
    F64(actor, noise_correlation, 0, 0.9999, "0",
        "correlation between the noise of one step and the next; 0: independent"),
    U64(actor, random_steps, 0, 1e15, "0",
        "box actions: environment steps at the start, over all actors, in which actions are "
        "uniformly random; 0: none"),
    U32(actor, batch_steps, 1, 65536, "512",
        "environment steps in a full batch; fewer if replay.capacity is small"),
    F64(actor, flush_s, 0.0001, 3600, "0.02",
        "seconds after which a batch is sent even if it is not full"),
    F64(actor, rollout_wait_s, 0.01, 86400, "5",
        "rollouts: seconds without a new version after which an actor makes one more rollout, or "
        "four times the shortest of its last four waits for a version if that is longer"),
    U32(actor, ring_batches, 3, 4096, "16",
        "batches that an actor keeps until replay acknowledges them; its ring is full when all are "
        "in use"),
    WORD(actor, when_full, "wait drop", "wait",
         "what an actor does while its ring (actor.ring_batches) is full: stop stepping, or "
         "drop steps"),
    F64(actor, report_s, 0.01, 3600, "0.25", "seconds between reports to the learner"),

    U32(replay, shards, 1, OCT_SHARDS_MAX, "1",
        "octet train: replay processes that share the rows; without octet train, the addresses in "
        "net.replay determine the number"),
    U64(replay, capacity, 1, 2147483648.0, "100000",
        "rows to keep, one for each step and each end of an episode; the oldest are evicted first; "
        "each shard keeps an equal part; a resumed run must have the same capacity"),
    U64(replay, min_size, 1, 2147483648.0, "1000",
        "windows that must be in the table before the first is sampled"),
    WORD(replay, sampler, "uniform prioritized fifo", "prioritized",
         "how windows are chosen; fifo: each once and the oldest first, without replay.min_size "
         "and replay.samples_per_insert; reinforce, table, ppo, a2c, vtrace and trpo ignore this "
         "and use each window once; a resumed run must have the same sampler"),
    F64(replay, priority_exponent, 0, 10, "0.6",
        "priority exponent: a priority is the absolute TD error (the KL divergence if values are "
        "distributions) to this power; 0: uniform; a resumed run must have the same exponent"),
    F64(replay, importance_exponent, 0, 10, "0.2",
        "importance-sampling exponent: a weight is 1/p to this power; 0: no correction"),
    F64_OR(replay, importance_exponent_final, "same",
           offsetof(oct_config, replay.importance_exponent_final_is_same), 0, 10, "same",
           "replay.importance_exponent at the end of the budget, reached linearly; same: the "
           "exponent is constant"),
    F64(replay, samples_per_insert, 0, 1e6, "8",
        "windows sampled for each window inserted; 0: no limit"),
    F64(replay, tolerance, 0, 1e6, "0.1",
        "allowed deviation from replay.samples_per_insert in either direction, as a share of "
        "min_size * samples_per_insert; if it is less than one message of an actor and one request "
        "for samples need, even 0, it is raised to that"),
    TEXT(replay, path, "replay.oct",
         "octet train: file in the run folder, or absolute path, in which replay keeps its table, "
         "so "
         "that nothing is lost if replay is killed; none: in memory only"),
    WORD(replay, sync, "none interval always", "interval",
         "what survives a power failure: nothing for certain, everything but the last interval, or "
         "every acknowledged batch"),
    F64(replay, sync_interval_s, 0.01, 3600, "1",
        "seconds between two syncs of replay.path to "
        "disk"),
    TEXT(
        replay, data, "none",
        "data set (octet data) to learn from, see replay.data_share; none: learn only from actors"),
    F64(replay, data_share, 0.001, 1, "1",
        "share of each batch that comes from replay.data; the rest comes from actors; 1: learn "
        "from the data set alone, without actors, for run.updates"),

    U32(evaluation, episodes, 1, 65536, "100", "episodes in one evaluation"),
    U32(evaluation, screen_episodes, 1, 65536, "10",
        "episodes in a short evaluation; a full evaluation follows if the mean return reaches "
        "run.stop_at_return or beats the best"),
    F64(evaluation, final_share, 0, 100, "0.1",
        "when training ends by itself, a final evaluation of further episodes decides which of the "
        "best versions is kept: at most this share of the episodes evaluated during training; 0: "
        "none"),
    F64(evaluation, period_s, 0, YEAR_S, "0.2", "minimum seconds between evaluations"),
    U32(evaluation, period_turns, 1, 1e6, "20", "deterministic: turns between evaluations"),
    U32(evaluation, envs, 1, 65536, "50", "environments that the evaluator steps together"),
    U32(evaluation, max_steps, 0, 1e9, "0",
        "environment steps after which an evaluation truncates an episode; 0: the environment's "
        "own "
        "limit, or 10000 if it has none",
        .is_new = true),
    BOOL(evaluation, sampling, "false",
         "evaluate with actions that are sampled from the policy's distribution, as in training "
         "but without further exploration; false: greedily",
         .is_new = true),

    TEXT(net, learner, "ipc://learner.ipc",
         "the learner's address: this port serves calls, the next publishes policies"),
    TEXT(net, replay, "ipc://replay.ipc",
         "replay's address: this port serves calls, the next receives batches, the one after it "
         "sends acknowledgements; for several shards, their addresses separated by commas, always "
         "in the same order"),
    TEXT(net, data, "ipc://data.ipc",
         "base address of the octet-replay that serves replay.data next to the other replay"),
    BOOL(net, insecure, "false",
         "allow tcp:// addresses, which are unencrypted and open to everyone who can reach them"),
};
const size_t oct_config_key_count = OCT_COUNTOF(oct_config_keys);

_Static_assert(OCT_COUNTOF(oct_config_keys) <= OCT_CONFIG_KEYS_MAX, "raise OCT_CONFIG_KEYS_MAX");

void
oct_config_key_name(const oct_config_key *key, char out[OCT_CONFIG_NAME_MAX])
{
    int used = snprintf(out, OCT_CONFIG_NAME_MAX, "%s.%s", key->section, key->name);
    OCT_ASSERT(used > 0 && used < OCT_CONFIG_NAME_MAX);
}

const oct_config_key *
oct_config_key_find(const char *section, const char *name)
{
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        if (strcmp(key->section, section) == 0 && strcmp(key->name, name) == 0) {
            return key;
        }
    }
    return NULL;
}

bool
oct_config_section_exists(const char *section)
{
    for (size_t i = 0; i < oct_config_key_count; i++) {
        if (strcmp(oct_config_keys[i].section, section) == 0) {
            return true;
        }
    }
    return false;
}
