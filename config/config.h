#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/oct_err.h"
#include "common/oct_fifo.h"
#include "config/config_names.h"
#include "policy/policy_words.h"

// One experiment: the values of all keys. config_keys.def declares each key in one row, from which
// the fields below, the defaults, the YAML file, --set, `octet config` and the documentation are
// made.
//
// Layers. A caller begins with config_default, adds layers (a file, then settings of --set), and
// calls config_check after the last one. The experiment does not change after that.
//
// Messages. These functions print nothing. On an error they write lines for a person to message,
// each ending in '\n', which name file, line, key, value and what is allowed, and suggest a near
// key.
//
// Threads: any, because the experiment is constant after the start. Owns: a plain value.

#define CONFIG_TEXT_MAX 256
#define CONFIG_LIST_MAX 1024 // bytes of a list of addresses
// Bytes of env.options. Twice as many, which is what escaping each byte takes, fit into a message
// together with all other keys.
#define CONFIG_OPTIONS_MAX       16384
#define CONFIG_SHARDS_MAX        16
#define CONFIG_LAYERS_MAX        512 // bytes of network.layers as text
#define CONFIG_INTS_MAX          15
#define CONFIG_NOISY_SAMPLES_MAX 64
#define CONFIG_TURN_ACTORS_MAX   256      // actors that a turn of lock-step can have
#define CONFIG_SAMPLE_MAX        1048576u // transitions in one reply of replay
#define CONFIG_BATCH_MAX         65536u   // rows in one message of an actor

typedef struct config_ints {
    uint32_t count;
    uint32_t value[CONFIG_INTS_MAX];
} config_ints;

// CONFIG_KEY_learner_batch_size and so on: the index of a key in the table. CONFIG_KEYS is their
// count.
typedef enum config_key_index {
#define KEY(s, n) CONFIG_KEY_##s##_##n,
#include "config/config_keys.def"
    CONFIG_KEYS
} config_key_index;

typedef struct config_experiment {
#define SECTION(s) struct {
#define SECTION_END(s)                                                                             \
    }                                                                                              \
    s;
#define TEXT(s, n, bytes, ...) char n[bytes];
#define U32(s, n, ...)         uint32_t n;
#define U64(s, n, ...)         uint64_t n;
#define F64(s, n, ...)         double n;
#define F64_OR(s, n, ...)      double n;
#define F64_SAME(s, n, ...)                                                                        \
    double n;                                                                                      \
    bool n##_is_same;
#define BOOL(s, n, ...) bool n;
#define WORD(s, n, type, ...)                                                                      \
    type n;                                                                                        \
    _Static_assert(sizeof(type) == sizeof(unsigned), "config_value_set writes an unsigned");
#define INTS(s, n, ...)   config_ints n;
#define LAYERS(s, n, ...) char n[CONFIG_LAYERS_MAX];
#include "config/config_keys.def"
    bool is_given[CONFIG_KEYS]; // by config_key_index: a layer has set the key
} config_experiment;

// ---- layers

void config_default(config_experiment *out);
// Adds YAML text to out, which holds the defaults or an earlier layer. Messages begin with name.
OCT_CHECKED oct_err config_parse(config_experiment *out, const char *name, const char *text,
                                 size_t length, char *message, size_t message_size);
// Adds the file at path. config_load_owner also returns the user who owns the file.
OCT_CHECKED oct_err config_load(config_experiment *out, const char *path, char *message,
                                size_t message_size);
OCT_CHECKED oct_err config_load_owner(config_experiment *out, const char *path, uid_t *owner,
                                      char *message, size_t message_size);
// Adds a setting such as "learner.batch_size=128", whose value is YAML. Messages of config_set
// begin with "--set" and the setting, those of config_assign with the setting alone.
OCT_CHECKED oct_err config_set(config_experiment *out, const char *assignment, char *message,
                               size_t message_size);
OCT_CHECKED oct_err config_assign(config_experiment *out, const char *assignment, char *message,
                                  size_t message_size);
// Gives each key that no layer has set its default with algo.name, actor.count and actor.envs,
// which may have changed since the last layer.
void config_defaults_apply(config_experiment *config);
// Lets defaults follow other keys again in an experiment that was read from a printed one, which
// sets every key: a key that has the value of its default counts as not set.
void config_unset_defaults(config_experiment *config);

// ---- checks

// Checks that keys agree with each other (replay.min_size <= replay.capacity and so on). Returns
// OCT_EINVAL if they do not.
OCT_CHECKED oct_err config_check(const config_experiment *config, char *message,
                                 size_t message_size);
// Checks that a run that was trained with before can resume with now. has_tables: replay still has
// the run's tables. On OCT_OK message holds a warning line for each key whose change makes earlier
// learning refer to other values, or "". Algorithm, network and support are checked with the
// checkpoint instead.
//   OCT_EINVAL  the environment, its options or learner.init_from differ, or has_tables and now
//               needs other tables
OCT_CHECKED oct_err config_check_resume(const config_experiment *before,
                                        const config_experiment *now, bool has_tables,
                                        char *message, size_t message_size);

// ---- what follows from several keys

// Environments of all actors together.
static inline uint64_t
config_environments(const config_experiment *config)
{
    return (uint64_t)config->actor.count * config->actor.envs;
}

// Steps of the n-step return: algo.n_step, or the steps that the algorithm was published with.
uint32_t config_n_step(const config_experiment *config);
// Widths of the critics: network.critic_hidden, or network.hidden if that is empty. Borrowed.
const config_ints *config_critic_hidden(const config_experiment *config);
// Returns the layers of the policy before the last one: network.layers, or the short form of
// network.conv and network.hidden. hidden, if it is neither NULL nor network.hidden, replaces the
// dense layers. OCT_EINVAL, with a reason: more layers than a network can have.
OCT_CHECKED oct_err config_words(const config_experiment *config, const config_ints *hidden,
                                 policy_words *out, oct_reason *why);
// Returns true if the policy has convolutions or pools.
bool config_has_maps(const config_experiment *config);
// Returns true if the algorithm uses each window once, whatever replay.sampler says.
bool config_takes_each_once(const config_experiment *config);
// Returns true if replay's limiter holds sampling to replay.samples_per_insert and replay.min_size.
// Windows that are used once, by the algorithm or by replay.sampler, have no limiter.
bool config_has_limiter(const config_experiment *config);
// Returns true if the policy is a table, which has no layers.
bool config_is_tabular(const config_experiment *config);
// Returns true if each actor makes a batch of rollouts, algo.sequence_steps steps of every
// environment, with one policy version and then waits for the next version
// (docs/internals/decisions/0031-rollouts.md).
bool config_has_rollouts(const config_experiment *config);
// Returns true if actors wait for each policy version: in lock-step, and with rollouts.
bool config_actors_wait(const config_experiment *config);
// Returns true if the learner and the actors never work at the same time: in lock-step, and with
// rollouts of which none may be late.
bool config_takes_turns(const config_experiment *config);
// Returns the number of actors whose order of work is fixed by turns; 0: the run is not in
// lock-step.
uint32_t config_turn_actors(const config_experiment *config);
// Returns the number of copies of the table that replay keeps beside it, for resuming in lock-step.
uint32_t config_table_copies(const config_experiment *config);
// Maximum rows of one environment's rollout: its steps, one end row per four steps, and two more.
// A rollout that needs more rows ends early.
uint32_t config_rollout_rows(uint32_t steps);
// Maximum steps of a rollout that fits into rows; 0 if not even one step fits.
uint32_t config_rollout_steps(uint64_t rows);
// Rows that all tables together need before any actor waits: a rollout of each environment for each
// version that may be ahead, in every shard, because all actors may send to the same shard.
uint64_t config_rollouts_held(const config_experiment *config, uint64_t envs);
// Space in replay for an algorithm that uses sequences or episodes once.
oct_fifo config_fifo(const config_experiment *config);
// Windows of each batch that come from replay.data; 0 without a data set.
uint32_t config_data_windows(const config_experiment *config);
// Returns true if all windows come from replay.data. Then there are no actors, and steps are not
// counted.
bool config_is_offline(const config_experiment *config);
// Returns true if some windows come from replay.data and some from actors. Then the run has two
// replays.
bool config_is_mixed(const config_experiment *config);
// Replays that share the actors' rows (docs/internals/replay.md): replay.shards, or the count of
// addresses in net.replay if that is larger.
uint32_t config_shards(const config_experiment *config);
// Rows that each shard keeps.
uint64_t config_shard_capacity(const config_experiment *config);
// Copies the address of a shard in net.replay to out and returns its length in bytes. Returns 0 if
// there is none. If the address is too long, out is "".
size_t config_replay_address(const config_experiment *config, uint32_t shard,
                             char out[CONFIG_TEXT_MAX]);
// Writes the file name of one shard: for "replay.oct" it is replay.oct, replay-1.oct and so on. The
// name is cut to size.
void config_shard_name(const char *name, uint32_t shard, char *out, size_t size);

#endif // CONFIG_CONFIG_H
