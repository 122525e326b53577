#ifndef ENVS_DMC_DMC_SIM_H
#define ENVS_DMC_DMC_SIM_H

#include <stdbool.h>
#include <stddef.h>

#include "envs/dmc/dmc_task.h"

// One environment of the Control Suite as dm_control 1.0.7 resets and steps it, order of MuJoCo's
// functions included, so that equal starts give equal bits (MuJoCo's warm start remembers what was
// computed before). Sizes: nq, nv, nu of the model.
//
// Errors: a function that answers false met an error or a warning of MuJoCo (a number that is not
// finite, a buffer that is full) and left the sim broken, to be reset; or it refused its numbers
// and changed nothing. dmc_sim_fault says what happened. Nothing prints or exits.
// Threads: a sim is used by one thread at a time. Owns: its model and data.

// A copy of compiled (each sim writes into its own), data for it, what the task looks up. rng must
// outlive the sim. False with one line in reason.
bool dmc_sim_init(dmc_sim *sim, const dmc_task *task, const mjModel *compiled, oct_pcg64 *rng,
                  char *reason, size_t reason_size);
void dmc_sim_fini(dmc_sim *sim);

// Begins an episode drawn from rng.
bool dmc_sim_reset(dmc_sim *sim);
// One control step with action[nu], clipped to [-1, 1].
bool dmc_sim_step(dmc_sim *sim, const float *action);
// The same for a caller that holds the guard for many sims (dmc_guard_run): an error of MuJoCo
// leaves through it, with sim->broken set.
bool dmc_sim_step_guarded(dmc_sim *sim, const float *action);

// The start of a recorded episode: state is qpos, qvel, then the task's values. A value that is NaN
// stays as it is. settle: the values are qpos before settling; it is settled, qpos and qvel are
// those that come out.
bool dmc_sim_place(dmc_sim *sim, const double *state, bool settle);

// [nq], quaternions as they were before MuJoCo normalised them: after dmc_sim_place those given.
const double *dmc_sim_qpos(const dmc_sim *sim);

// MuJoCo places cameras and lights in every step, which only pictures need: while a sim steps its
// model has none. To draw: shown true, draw or copy, shown false.
void dmc_sim_cameras(dmc_sim *sim, bool shown);

// What a step depends on besides the model and rng: dmc_sim_memory_count numbers.
uint32_t dmc_sim_memory_count(const dmc_sim *sim);
void dmc_sim_memory_get(const dmc_sim *sim, double *memory);
bool dmc_sim_memory_set(dmc_sim *sim, const double *memory);

// What went wrong in the last call that answered false, in static storage of the calling thread.
const char *dmc_sim_fault(void);

#endif // ENVS_DMC_DMC_SIM_H
