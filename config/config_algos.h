#ifndef CONFIG_CONFIG_ALGOS_H
#define CONFIG_CONFIG_ALGOS_H

#include "config/config_table.h"

// Which keys each algorithm reads, with the values that are usual for it, in one table. `octet
// config --explain` and the check for keys without effect are loops over it. A new algorithm adds a
// row. A new key that only some algorithms read is added to their lists. Private to config/.
//
// Threads: any. Owns: static storage.

typedef struct config_use {
    const char *key;   // "algo.learning_rate"
    const char *usual; // the values that presets and papers have, in words
} config_use;

// What an algorithm learns from.
typedef enum config_windows {
    CONFIG_WINDOWS_SAMPLED,   // windows that replay.sampler chooses
    CONFIG_WINDOWS_SEQUENCES, // sequences, each once
    CONFIG_WINDOWS_EPISODES,  // episodes, or algo.sequence_steps of one, each once
    CONFIG_WINDOWS_ROLLOUTS,  // rollouts of the newest policy, each once
} config_windows;

typedef struct config_algo {
    const char *about; // what the algorithm is, and its actions
    const config_use *uses;
    size_t use_count;
    uint32_t n_step;        // the value that algo.n_step 0 stands for
    config_windows windows; // external: as algo.window says
    bool is_tabular;        // the policy is a table and has no layers
} config_algo;

extern const config_algo config_algos[CONFIG_ALGOS]; // by config_algo_name

// Returns the use that an algorithm lists for key, or NULL.
const config_use *config_use_find(config_algo_name name, const char *key);
// Returns true if an algorithm reads key. A key that no algorithm lists is read by all.
bool config_is_read(config_algo_name name, const char *key);
// Finds the next key, from the row *at on, that is not at its default and that algo.name does not
// read, and moves *at behind it. Its value is printed to out. Returns NULL if there is none.
const config_key *config_next_unread(const config_experiment *config, size_t *at,
                                     char out[CONFIG_VALUE_MAX]);
// Returns true if key is a switch and value is "true".
bool config_is_on(const config_key *key, const char *value);
// Writes the algorithms that list key: "dqn, td3". Returns out.
#define CONFIG_READERS_MAX 256
const char *config_readers(const char *key, char out[CONFIG_READERS_MAX]);
// Writes what stands in front of a key's help: "dqn, td3: ", or "all but table: " if few do not
// list the key, or "" if all do or none does. Returns out.
const char *config_readers_brief(const char *key, char out[CONFIG_READERS_MAX]);

#endif // CONFIG_CONFIG_ALGOS_H
