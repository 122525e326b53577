#ifndef CONFIG_CONFIG_TEXT_H
#define CONFIG_CONFIG_TEXT_H

#include "config/config.h"

// Experiments and their keys as text: printing, comparing, describing, completing.
//
// A key's name is "learner.batch_size". Values are printed as in YAML.
//
// Threads: any. Owns: nothing; the caller frees a returned char *.

#define CONFIG_NAME_MAX  64
#define CONFIG_VALUE_MAX (2 * CONFIG_OPTIONS_MAX + 16)

// ---- experiments

// Prints every key as YAML, which parses back to the same experiment.
char *config_print(const config_experiment *config);
// Prints what the last release can read (tests/config/last_release.txt): a key that it lacks is
// left out if it has its default, which that release does anyway, and algo.n_step 0 becomes the
// number that it stands for.
char *config_print_for_peers(const config_experiment *config);
// Prints the base of other experiments, which may change algo.name: keys that follow algo.name and
// that no layer has set are left out.
char *config_print_base(const config_experiment *config);

// Finds the next key, from the table's row *at on, whose values differ, and moves *at behind it.
// *at is 0 at first. Returns false if there is none.
typedef struct config_change {
    char name[CONFIG_NAME_MAX];
    char before[CONFIG_VALUE_MAX];
    char now[CONFIG_VALUE_MAX];
} config_change;
bool config_next_change(config_change *out, const config_experiment *before,
                        const config_experiment *now, size_t *at);

// Writes a line to notes for each schedule over the budget whose value jumps when a run that has
// made env_steps and updates gets another budget: "run.env_steps: algo.learning_rate continues at
// 0.00083, where it was 0.0001". notes is "" if none jumps.
void config_note_schedules(const config_experiment *before, const config_experiment *now,
                           uint64_t env_steps, uint64_t updates, char *notes, size_t notes_size);

// ---- keys

// Returns the line, from 1, on which the file at path sets a key, or 0 if the file does not set it
// or cannot be read.
size_t config_line(const char *path, const char *name);
// Returns true if the key holds a number. Returns false, too, if there is no such key.
bool config_key_is_number(const char *name, bool *is_whole);
// Prints the value of a key, or of an option ("env.options.NAME"; "" if it is not set). Returns
// false if there is no such key.
bool config_key_print(const config_experiment *config, const char *name,
                      char out[CONFIG_VALUE_MAX]);
// Returns the key that other libraries (Stable-Baselines3, CleanRL, Acme, RLlib, Tianshou) call
// name: "algo.discount" for "gamma", "algo.entropy_cost or algo.temperature" for "ent_coef".
// Capitals, '-' for '_' and a leading "--" make no difference. Returns NULL if name is unknown.
// Static storage.
const char *config_key_meant(const char *name);
// Finds the first key that text names. Returns false if text names none.
bool config_key_in(char out[CONFIG_NAME_MAX], const char *text);
// For a name that is not a key: "; did you mean learner.batch_size?", or the names that exist.
// Returns out.
const char *config_suggest_key(const char *name, char *out, size_t size);

// Describes keys with type, bounds, default and help: basic keys or all of them; all of them as
// Markdown, where basic keys are bold; one key, or all keys of a section. config_describe_key
// returns NULL if name is neither.
char *config_describe(bool is_all);
char *config_describe_markdown(void);
char *config_describe_key(const char *name);

// ---- algorithms; a synonym is another name of an algorithm with certain settings, as "rainbow"

// Lists the keys that matter to an algorithm or a synonym, with default and usual values. Returns
// NULL if there is no such algorithm.
char *config_explain(const char *algorithm);
bool config_is_algorithm(const char *word); // true for synonyms, too
// "; did you mean rainbow?", or "" if no algorithm or synonym is near word. Returns out.
const char *config_suggest_algorithm(const char *word, char *out, size_t size);
// The words of algo.name, separated by blanks, and the word of one algorithm.
const char *config_algo_words(void);
const char *config_algo_word(config_algo_name name);
// Writes what a synonym sets: "dqn with algo.distributional: true" for "c51". Returns NULL if word
// is not a synonym, else out.
const char *config_algo_made_of(const char *word, char out[CONFIG_VALUE_MAX]);
// Returns the next synonym of an algorithm, from *at on, and moves *at. *at is 0 at first. Returns
// NULL if there are no more.
const char *config_algo_next_name(const char *algorithm, size_t *at);

// ---- completion of shells: these call offer with each candidate

typedef void (*config_offer)(const char *candidate);
// Offers all keys and sections.
void config_offer_keys(config_offer offer);
// Offers settings KEY=VALUE that begin with word: of the key in word each value that is a word
// ("algo.name=dqn"), of each other key "learner.threads=".
void config_offer_settings(const char *word, config_offer offer);
// Offers algorithms and synonyms.
void config_offer_algorithms(config_offer offer);

#endif // CONFIG_CONFIG_TEXT_H
