#ifndef ENVS_DMC_DMC_TASKS_H
#define ENVS_DMC_DMC_TASKS_H

#include "envs/dmc/dmc_task.h"

// The tasks by name, for dmc_tasks.c and tests. A new task needs its domain's file, a line here and
// a row in dmc_tasks.c. Threads: any.
extern const dmc_task dmc_acrobot_swingup, dmc_acrobot_swingup_sparse;
extern const dmc_task dmc_ball_in_cup_catch;
extern const dmc_task dmc_cartpole_balance, dmc_cartpole_balance_sparse;
extern const dmc_task dmc_cartpole_swingup, dmc_cartpole_swingup_sparse;
extern const dmc_task dmc_cheetah_run;
extern const dmc_task dmc_finger_spin, dmc_finger_turn_easy, dmc_finger_turn_hard;
extern const dmc_task dmc_fish_upright, dmc_fish_swim;
extern const dmc_task dmc_hopper_stand, dmc_hopper_hop;
extern const dmc_task dmc_humanoid_stand, dmc_humanoid_walk, dmc_humanoid_run;
extern const dmc_task dmc_pendulum_swingup;
extern const dmc_task dmc_point_mass_easy;
extern const dmc_task dmc_reacher_easy, dmc_reacher_hard;
extern const dmc_task dmc_swimmer_swimmer6, dmc_swimmer_swimmer15;
extern const dmc_task dmc_walker_stand, dmc_walker_walk, dmc_walker_run;

#endif // ENVS_DMC_DMC_TASKS_H
