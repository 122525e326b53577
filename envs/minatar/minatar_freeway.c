// MinAtar's Freeway: a chicken in column 4 crosses eight rows of cars; at the top it scores 1 and
// starts again. The episode has 2501 steps and then ends as terminated. Difficulty does not ramp.
// Channels: chicken, car, then a car's trail by its speed, 1 (fastest) to 5.
#include "envs/env_registry.h"
#include "envs/minatar/minatar.h"

#define CHANNELS   7
#define COLUMN     4 // of the chicken
#define CARS       8 // in rows 1 to 8
#define SPEED_MAX  5
#define MOVE_STEPS 3 // steps between moves of the chicken
#define TIME       2500

static int16_t
magnitude(int16_t speed)
{
    return (int16_t)(speed < 0 ? -speed : speed);
}

static void
speeds_draw(minatar_freeway *s, minatar_draws *draws)
{
    for (int k = 0; k < CARS; k++) {
        s->cars[k].timer = minatar_integer(draws, 1, SPEED_MAX);
    }
    for (int k = 0; k < CARS; k++) {
        bool right = minatar_uniform(draws) > 0.5;
        s->cars[k].speed = (int16_t)(right ? s->cars[k].timer : -s->cars[k].timer);
    }
}

static void
reset(minatar_state *state, minatar_draws *draws)
{
    minatar_freeway *s = &state->freeway;
    *s = (minatar_freeway){.row = MINATAR_LAST, .move_timer = MOVE_STEPS, .left = TIME};
    speeds_draw(s, draws);
}

static void
contact(minatar_freeway *s, int car)
{
    if (s->cars[car].x == COLUMN && s->row == car + 1) {
        s->row = MINATAR_LAST;
    }
}

// A car of speed v moves every v + 1 steps.
static void
car_move(minatar_freeway *s, int car)
{
    contact(s, car);
    if (s->cars[car].timer > 0) {
        s->cars[car].timer--;
        return;
    }
    int way = s->cars[car].speed > 0 ? 1 : MINATAR_SIDE - 1;
    s->cars[car].timer = magnitude(s->cars[car].speed);
    s->cars[car].x = (int16_t)((s->cars[car].x + way) % MINATAR_SIDE);
    contact(s, car);
}

static void
step(minatar_state *state, minatar_turn *turn)
{
    minatar_freeway *s = &state->freeway;
    int down = (turn->action == MINATAR_DOWN) - (turn->action == MINATAR_UP);
    if (down != 0 && s->move_timer == 0) {
        s->move_timer = MOVE_STEPS;
        s->row = minatar_clamp(s->row + down, 0, MINATAR_LAST);
    }
    if (s->row == 0) {
        turn->reward = 1;
        speeds_draw(s, turn->draws);
        s->row = MINATAR_LAST;
    }
    for (int car = 0; car < CARS; car++) {
        car_move(s, car);
    }
    s->move_timer = (int16_t)(s->move_timer - (s->move_timer > 0));
    s->left--;
    turn->terminal = s->left < 0;
}

static void
observe(const minatar_state *state, uint8_t *obs)
{
    const minatar_freeway *s = &state->freeway;
    obs[minatar_cell(s->row, COLUMN, CHANNELS)] = 1;
    for (int k = 0; k < CARS; k++) {
        int x = s->cars[k].x;
        int behind = (x + (s->cars[k].speed > 0 ? MINATAR_SIDE - 1 : 1)) % MINATAR_SIDE;
        obs[minatar_cell(k + 1, x, CHANNELS) + 1] = 1;
        obs[minatar_cell(k + 1, behind, CHANNELS) + 1 + (uint32_t)magnitude(s->cars[k].speed)] = 1;
    }
}

static bool
is_sane(const minatar_state *state)
{
    const minatar_freeway *s = &state->freeway;
    bool sane = minatar_is_on_board(s->row) && s->move_timer >= 0 && s->move_timer <= MOVE_STEPS &&
                s->left >= -1 && s->left <= TIME;
    for (int k = 0; k < CARS; k++) {
        int16_t speed = s->cars[k].speed;
        sane = sane && minatar_is_on_board(s->cars[k].x) && speed >= -SPEED_MAX &&
               speed <= SPEED_MAX && speed != 0 && s->cars[k].timer >= 0 &&
               s->cars[k].timer <= SPEED_MAX;
    }
    return sane;
}

static const minatar_game game = {
    .ids = {"MinAtar/Freeway-v0", "MinAtar/Freeway-v1"},
    .channels = CHANNELS,
    .minimal_count = 3,
    .minimal = {MINATAR_NONE, MINATAR_UP, MINATAR_DOWN},
    .reward_high = 1,
    .random = true,
    .state_bytes = sizeof(minatar_freeway),
    .reset = reset,
    .step = step,
    .observe = observe,
    .is_sane = is_sane,
};

MINATAR_APIS(freeway, game);
