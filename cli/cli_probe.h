#ifndef CLI_CLI_PROBE_H
#define CLI_CLI_PROBE_H

#include "policy/policy_format.h"

// Observations on which policies are compared: a sample of those that an evaluation saw, or, where
// there is no environment, random ones.
//
// Threads: one at a time. Owns: its rows. Full: each row seen so far is kept with equal probability
// (reservoir sampling).
typedef struct cli_probe cli_probe;

cli_probe *cli_probe_create(const policy_spec *spec, uint32_t rows_max, uint64_t seed);
void cli_probe_destroy(cli_probe *probe); // NULL is a no-op

// count rows of the spec's dtype, stride bytes apart. Rows that are not finite are passed over.
void cli_probe_add(cli_probe *probe, const void *obs, size_t stride, uint32_t count);
// What fp32 sees while it plays some episodes. Errors as of actor_evaluate, with one line in
// reason.
#define CLI_PROBE_EPISODES 10
OCT_CHECKED oct_err cli_probe_play(cli_probe *probe, const policy_image *fp32, const char *env_id,
                                   const char *env_options, uint64_t seed, char *reason,
                                   size_t reason_size);
// Fills up with random rows: floats normal, by the image's normalisation where it has one (mean 0
// and deviation 1 otherwise); bytes uniform.
void cli_probe_fill(cli_probe *probe, const policy_image *image);

const float *cli_probe_rows(const cli_probe *probe); // [count][obs_count]
uint32_t cli_probe_count(const cli_probe *probe);

#endif // CLI_CLI_PROBE_H
