#ifndef CLI_SWEEP_CLI_SPACE_H
#define CLI_SWEEP_CLI_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "config/config_text.h"

// What a sweep varies: a list of values, or a range of numbers, for each key.
//
//   algo.learning_rate=1e-4..1e-2    a range
//   actor.epsilon_base=lin:0.1..0.9  a range that is drawn uniformly (log: by its logarithm)
//   network.hidden=[32,32],[64,64]   a list, split at commas outside brackets and quotes
//
// A range without lin: or log: is drawn by its logarithm if both ends are above 0 and a factor of
// ten or more apart, and uniformly otherwise.
//
// If all keys have lists, the space has a grid. A random point is drawn by a generator of its own:
// PCG32, seeded by the sweep's seed and the point's index, with a stream for each key. So point 7
// of 10 equals point 7 of 100. Random search: Bergstra and Bengio, JMLR 2012.
//
// Threads: any, one user at a time. Owns: the texts; cli_space_fini frees them.

#define CLI_SPACE_KEYS_MAX   16
#define CLI_SPACE_VALUES_MAX 1000 // of a list
#define CLI_SPACE_GRID_MAX   10000
#define CLI_SPACE_OVER_MAX   65536 // bytes of KEY=VALUES
#define CLI_SPACE_VALUE_MAX  CONFIG_TEXT_MAX

typedef enum cli_space_kind { CLI_SPACE_LIST, CLI_SPACE_LINEAR, CLI_SPACE_LOG } cli_space_kind;

typedef struct cli_space_key {
    char name[CONFIG_NAME_MAX];
    char *spec; // the values as given, after '='
    cli_space_kind kind;
    bool is_given;    // the user gave lin: or log:
    bool is_whole;    // of a range: only whole numbers are drawn
    double low, high; // of a range, inclusive
    char **value;     // [count] of a list, as given
    char **stored;    // [count] the same in canonical form: 1e-3 and 0.001 are one value
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

// Adds "KEY=VALUES". Each value of a list, or both ends of a range, must be valid for the key
// (config_set on a copy of base). OCT_EINVAL: reason gets one line, and the space is unchanged.
OCT_CHECKED oct_err cli_space_add(cli_space *space, const char *over, const config_experiment *base,
                                  oct_reason *why);
bool cli_space_has_range(const cli_space *space);
// Returns the number of points of the grid, at most CLI_SPACE_GRID_MAX + 1. The space must not have
// a range.
uint64_t cli_space_grid_size(const cli_space *space);
// Writes point `index` of the grid; the last key varies fastest.
void cli_space_grid(const cli_space *space, uint64_t index, cli_point *out);
// Draws point `index` of a seed. Numbers of a range have four significant digits and stay within
// its ends.
void cli_space_draw(const cli_space *space, uint64_t seed, uint64_t index, cli_point *out);
// Describes a key's values for a person: "1e-04 .. 0.01, log-uniform", "1 .. 8, uniform, whole
// numbers", "one of 1,2". Returns out.
const char *cli_space_words(const cli_space_key *key, char *out, size_t size);
void cli_space_fini(cli_space *space);

#endif // CLI_SWEEP_CLI_SPACE_H
