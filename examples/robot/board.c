/* The same policy for a microcontroller: call control at every tick of your timer.
 *
 *     arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard -Os -c board.c
 */
#include "pole.h"

static pole_work work;

/* The action, or -1 where the observation has a number that is not finite. */
int32_t
control(const float observation[POLE_OBSERVATION_COUNT])
{
    int32_t action;
    return pole_act(&work, observation, &action) == 0 ? action : -1;
}
