#ifndef COMMON_OCT_CONFIG_TEXT_H
#define COMMON_OCT_CONFIG_TEXT_H

#include "common/oct_config.h"

// Experiments and their keys as text: printed, compared, described.
//
// Threads: any. Owns: nothing.

// The resolved experiment as YAML that parses back to the same value; malloc'd.
char *oct_config_print(const oct_config *config);
// The same as the last release takes it (tests/common/last_release.txt): keys that it lacks are
// left out at their default, which is what it does; algo.n_step 0 is the number that it stands for.
char *oct_config_print_for_peers(const oct_config *config);
// The same as the base of others, which may have another algo.name: keys that follow it, and that
// nobody has set, are left out.
char *oct_config_print_base(const oct_config *config);
// How two experiments differ, key by key in the table's order: the next difference at or after *at
// (0 at first), which moves on. False: there is none. Values are as in YAML.
#define OCT_CONFIG_NAME_MAX  64
#define OCT_CONFIG_VALUE_MAX (2 * OCT_CONFIG_OPTIONS_MAX + 16)
typedef struct oct_config_change {
    char name[OCT_CONFIG_NAME_MAX]; // "learner.batch_size"
    char before[OCT_CONFIG_VALUE_MAX];
    char now[OCT_CONFIG_VALUE_MAX];
} oct_config_change;
bool oct_config_next_change(oct_config_change *out, const oct_config *before, const oct_config *now,
                            size_t *at);
// The line, from 1, where the file at path sets the key "learner.batch_size"; 0: it does not, or
// cannot be read.
size_t oct_config_line(const char *path, const char *name);
// Whether a key ("learner.batch_size") holds a number, and a whole one. False too: no such key.
bool oct_config_key_is_number(const char *name, bool *is_whole);
// The value of a key ("learner.batch_size"), as in YAML; of an option ("env.options.NAME") as in
// oct_option.h, "" where it is not set. False: there is no such key.
bool oct_config_key_print(const oct_config *config, const char *name,
                          char out[OCT_CONFIG_VALUE_MAX]);
// The key that Stable-Baselines3, CleanRL, Acme, RLlib or Tianshou call name: "algo.discount" for
// "gamma", "algo.entropy_cost or algo.temperature" for "ent_coef". Capitals, '-' for '_' and a
// leading "--" make no difference. Returns NULL if the name is unknown. Static storage.
const char *oct_config_key_meant(const char *name);
// What another budget (run.env_steps, run.updates) means for a run that has made these steps and
// updates: a line for each schedule over the budget whose value jumps, "run.env_steps:
// algo.learning_rate continues at 0.00083, where it was 0.0001". "": none does. Values are those of
// before and now, so that a key that changes itself counts, too.
void oct_config_note_schedules(const oct_config *before, const oct_config *now, uint64_t env_steps,
                               uint64_t updates, char *notes, size_t notes_size);
// The first key that text names, as "learner.batch_size". False: none.
bool oct_config_key_in(char out[OCT_CONFIG_NAME_MAX], const char *text);
// `octet config`: every key with type, bounds, default and help; markdown for docs/. malloc'd.
char *oct_config_describe(bool markdown);
// `octet config --explain`: the keys that matter to an algorithm, a line for each, with default and
// usual values; for a synonym ("rainbow") of its algorithm. malloc'd; NULL: there is no such
// algorithm.
char *oct_config_explain(const char *algorithm);
// For the completion of shells: each candidate is given to offer. The keys of `octet config`, and
// their sections.
typedef void (*oct_config_offer)(const char *candidate);
void oct_config_offer_keys(oct_config_offer offer);
// What a setting "KEY=VALUE", written as far as word, can become: of the key in word each word that
// it takes ("algo.name=dqn"), and each other key ("learner.threads=").
void oct_config_offer_settings(const char *word, oct_config_offer offer);
// Each word that algo.name and oct_config_explain take: algorithms, then synonyms.
void oct_config_offer_algorithms(oct_config_offer offer);
bool oct_config_is_algorithm(const char *word);
// "; did you mean rainbow?", or "" if no algorithm or synonym is near word. Returns out.
const char *oct_config_suggest_algorithm(const char *word, char *out, size_t size);
// The words of algo.name, "dqn d4pg …".
const char *oct_config_algo_words(void);
// The word of one. Returns out.
const char *oct_config_algo_word(oct_algo_name name, char out[OCT_CONFIG_NAME_MAX]);
// What a synonym sets, for a person: "dqn with algo.distributional: true" for "c51". NULL: word is
// not a synonym. Returns out.
const char *oct_config_algo_made_of(const char *word, char out[OCT_CONFIG_VALUE_MAX]);
// The next synonym of an algorithm ("dqn": "rainbow", then "c51"), from *at on (0 at first), which
// moves. NULL: there are no more.
const char *oct_config_algo_next_name(const char *algorithm, size_t *at);

#endif // COMMON_OCT_CONFIG_TEXT_H
