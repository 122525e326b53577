#ifndef COMMON_OCT_CONFIG_ALGOS_H
#define COMMON_OCT_CONFIG_ALGOS_H

#include "common/oct_config_table.h"
#include "common/oct_config_text.h"

// Which keys each algorithm reads, and the values that are usual for it: one table, private to
// oct_config*.c. `octet config --explain` and the check for keys that have no effect are loops over
// it; a new algorithm has a row there, and a new key that not every algorithm reads is in the lists
// of those that do.
//
// Threads: any. Owns: static storage.

typedef struct oct_config_use {
    const char *key;   // "algo.learning_rate"
    const char *usual; // the range of values that presets and papers have, as text
} oct_config_use;

// What an algorithm learns from.
typedef enum oct_config_windows {
    OCT_WINDOWS_SAMPLED,   // of replay, by replay.sampler
    OCT_WINDOWS_SEQUENCES, // each once
    OCT_WINDOWS_EPISODES,  // each once, whole, or algo.sequence_steps of one
    OCT_WINDOWS_ROLLOUTS,  // of the newest policy, each once
} oct_config_windows;

typedef struct oct_config_algo {
    const char *about; // what it is, and for which actions
    const oct_config_use *uses;
    size_t use_count;
    uint32_t n_step;            // of algo.n_step 0
    oct_config_windows windows; // external: as algo.window says
    bool is_tabular;            // its policy is a table, which has no layers
} oct_config_algo;

extern const oct_config_algo oct_config_algos[OCT_ALGOS]; // by oct_algo_name

// Steps of the n-step return: algo.n_step, or what its algorithm was published with.
uint32_t oct_config_n_step(const oct_config *config);
// Widths of critics: network.critic_hidden, or, where that is empty, network.hidden. Borrowed.
const oct_config_ints *oct_config_critic_hidden(const oct_config *config);
// Whether windows are sequences that are learned from once, whatever replay.sampler says.
bool oct_config_takes_each_once(const oct_config *config);
// Whether windows are drawn again and again, as replay's limiter allows. False: each is given out
// once, by the algorithm or by replay.sampler, and nothing sets a ratio or a first number of them.
bool oct_config_has_limiter(const oct_config *config);
// Whether the policy is a table instead of layers.
bool oct_config_is_tabular(const oct_config *config);
// NULL: the algorithm does not list the key.
const oct_config_use *oct_config_use_find(oct_algo_name name, const char *key);
// Whether key has an effect with this algorithm. Those that no algorithm lists have with all.
bool oct_config_is_read(oct_algo_name name, const char *key);
// The next key from *at on, which moves, that is not at its default and that algo.name does not
// read; its value in out. NULL: there is none.
const oct_config_key *oct_config_next_unread(const oct_config *config, size_t *at,
                                             char out[OCT_CONFIG_VALUE_MAX]);
// Whether it is a switch, and the value true.
bool oct_config_is_on(const oct_config_key *key, const char *value);
// The words of all algorithms that list key ("algo.n_step"): "dqn, td3". Returns out.
#define OCT_CONFIG_READERS_MAX 256
const char *oct_config_readers(const char *key, char out[OCT_CONFIG_READERS_MAX]);
// The same before what key means, or those that do not list it, where these are few: "dqn, td3: ",
// "all but table: "; "" where all do, or none does. Returns out.
const char *oct_config_readers_brief(const char *key, char out[OCT_CONFIG_READERS_MAX]);

#endif // COMMON_OCT_CONFIG_ALGOS_H
