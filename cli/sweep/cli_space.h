#ifndef CLI_SWEEP_CLI_SPACE_H
#define CLI_SWEEP_CLI_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_config_text.h"

// What a sweep varies: for each key a list of values, or a range of numbers.
//
//   algo.learning_rate=1e-4..1e-2     a range; by its logarithm when both ends are above 0 and a
//   actor.epsilon_base=lin:0.1..0.9   factor of ten or more apart, unless lin: or log: says it
//   network.hidden=[32,32],[64,64]    a list, split at commas outside of brackets and quotes
//
// A list has a grid. A point is drawn by a generator of its own: PCG32 seeded by seed and the
// point's index, a stream for each key, so that point 7 is the same among 10 and among 100. Random
// search: Bergstra and Bengio, JMLR 2012.
//
// Threads: any, one user at a time. Owns: the texts; cli_space_fini frees them.

#define CLI_SPACE_KEYS_MAX   16
#define CLI_SPACE_VALUES_MAX 1000 // of a list
#define CLI_SPACE_GRID_MAX   10000
#define CLI_SPACE_OVER_MAX   65536 // bytes of KEY=VALUES
#define CLI_SPACE_VALUE_MAX  OCT_CONFIG_TEXT_MAX

typedef enum cli_space_kind { CLI_SPACE_LIST, CLI_SPACE_LINEAR, CLI_SPACE_LOG } cli_space_kind;

typedef struct cli_space_key {
    char name[OCT_CONFIG_NAME_MAX];
    char *spec; // as given, what follows '='
    cli_space_kind kind;
    bool is_given;    // lin: or log:
    bool is_whole;    // ranges: whole numbers
    double low, high; // ranges: inclusive
    char **value;     // lists
    char **stored;    // the same as the table has them: 1e-3 and 0.001 are one
    size_t count;
} cli_space_key;

typedef struct cli_space {
    cli_space_key key[CLI_SPACE_KEYS_MAX];
    size_t count;
} cli_space;

// A value for each key, in the order of the keys.
typedef struct cli_point {
    char value[CLI_SPACE_KEYS_MAX][CLI_SPACE_VALUE_MAX];
} cli_point;

// over: "KEY=VALUES". Each value, or both ends, must be one that the key takes (oct_config_set on a
// copy of base). OCT_EINVAL, with one line in reason: the space is as it was.
OCT_CHECKED oct_err cli_space_add(cli_space *space, const char *over, const oct_config *base,
                                  char *reason, size_t reason_size);
bool cli_space_has_range(const cli_space *space);
// How many points the grid has, at most CLI_SPACE_GRID_MAX + 1; ranges have none.
uint64_t cli_space_grid_size(const cli_space *space);
// The index-th of them; the last key varies fastest.
void cli_space_grid(const cli_space *space, uint64_t index, cli_point *out);
// Numbers of a range have four significant digits, and stay within its ends.
void cli_space_draw(const cli_space *space, uint64_t seed, uint64_t index, cli_point *out);
// "log 1e-4 .. 1e-2", "lin 1 .. 8, whole", "one of 1, 2": for a person. Returns out.
const char *cli_space_words(const cli_space_key *key, char *out, size_t size);
void cli_space_fini(cli_space *space);

#endif // CLI_SWEEP_CLI_SPACE_H
