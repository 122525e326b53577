// The table of the Control Suite's tasks.
#include "envs/dmc/dmc_tasks.h"

#include <stddef.h>

static const dmc_task *const tasks[] = {
    &dmc_acrobot_swingup,
    &dmc_acrobot_swingup_sparse,
    &dmc_ball_in_cup_catch,
    &dmc_cartpole_balance,
    &dmc_cartpole_balance_sparse,
    &dmc_cartpole_swingup,
    &dmc_cartpole_swingup_sparse,
    &dmc_cheetah_run,
    &dmc_finger_spin,
    &dmc_finger_turn_easy,
    &dmc_finger_turn_hard,
    &dmc_fish_swim,
    &dmc_fish_upright,
    &dmc_hopper_hop,
    &dmc_hopper_stand,
    &dmc_humanoid_run,
    &dmc_humanoid_stand,
    &dmc_humanoid_walk,
    &dmc_pendulum_swingup,
    &dmc_point_mass_easy,
    &dmc_reacher_easy,
    &dmc_reacher_hard,
    &dmc_swimmer_swimmer15,
    &dmc_swimmer_swimmer6,
    &dmc_walker_run,
    &dmc_walker_stand,
    &dmc_walker_walk,
    NULL,
};

const dmc_task *const *
dmc_tasks(void)
{
    return tasks;
}
