#ifndef ENVS_DMC_DMC_SIM_H
#define ENVS_DMC_DMC_SIM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_reason.h"
#include "envs/dmc/dmc_task.h"

// One environment of the Control Suite, reset and stepped as dm_control 1.0.7 does, in the same
// order of MuJoCo's functions, so that equal starts give equal bits (MuJoCo's warm start depends on
// what was computed before). Sizes: nq, nv, nu of the model.
//
// Errors: a function returns false if MuJoCo raised an error or a warning (a number is not finite,
// a buffer is full), and the sim is broken until it is reset; or if it refused its numbers and
// changed nothing. dmc_sim_fault says what happened. Nothing prints or exits.
// Threads: a sim is used by one thread at a time. Owns: its model and data.

// Makes a copy of compiled (each sim writes into its own), its data, and looks up the task's names.
// rng must outlive the sim. Returns false with one line in reason.
bool dmc_sim_init(dmc_sim *sim, const dmc_task *task, const mjModel *compiled, oct_pcg64 *rng,
                  oct_reason *why);
void dmc_sim_fini(dmc_sim *sim);

// Begins an episode that is drawn from rng.
bool dmc_sim_reset(dmc_sim *sim);
// Runs one control step with action[nu], clipped to [-1, 1].
bool dmc_sim_step(dmc_sim *sim, const float *action);
// Does the same for a caller that holds the guard for many sims (dmc_guard_run): an error of MuJoCo
// leaves through that guard, with sim->broken set.
bool dmc_sim_step_guarded(dmc_sim *sim, const float *action);

// Sets the start of a recorded episode: state is qpos, qvel, then the task's values; a value that
// is NaN keeps the present one. settle: the values are qpos before settling; the sim settles from
// there, and the resulting qpos and qvel replace those of state.
bool dmc_sim_place(dmc_sim *sim, const double *state, bool settle);

// Returns qpos[nq] with quaternions as they were before MuJoCo normalised them; after dmc_sim_place
// those given.
const double *dmc_sim_qpos(const dmc_sim *sim);

// Shows or hides the model's cameras and lights. MuJoCo computes them in every step, but only
// pictures need them, so a stepping sim hides them. To draw: show, draw or copy, hide.
void dmc_sim_cameras(dmc_sim *sim, bool shown);

// The numbers on which a step depends besides the model and rng: dmc_sim_memory_count of them.
uint32_t dmc_sim_memory_count(const dmc_sim *sim);
void dmc_sim_memory_get(const dmc_sim *sim, double *memory);
bool dmc_sim_memory_set(dmc_sim *sim, const double *memory);

// Returns what went wrong in the last call that returned false, in static storage of the calling
// thread.
const char *dmc_sim_fault(void);

#endif // ENVS_DMC_DMC_SIM_H
