// MinAtar's Breakout: a ball that moves diagonally, a paddle in row 9, bricks in rows 1 to 3.
// Channels: paddle, ball, trail, brick. A brick is worth 1; the episode ends when the ball passes
// the paddle. New bricks appear when the last brick is hit.
#include "envs/env_registry.h"
#include "envs/minatar/minatar.h"

#define CHANNELS  4
#define ROW_FIRST 1 // of bricks
#define ROWS      3
#define ROW_FULL  0x3ff

static void
bricks_fill(minatar_breakout *s)
{
    for (int row = 0; row < ROWS; row++) {
        s->bricks[row] = ROW_FULL;
    }
}

static void
reset(minatar_state *state, minatar_draws *draws)
{
    minatar_breakout *s = &state->breakout;
    bool from_left = minatar_integer(draws, 0, 1) == 0;
    *s = (minatar_breakout){.paddle = 4, .y = 3, .dy = 1};
    s->x = from_left ? 0 : MINATAR_LAST;
    s->dx = from_left ? 1 : -1;
    s->trail_x = s->x;
    s->trail_y = s->y;
    bricks_fill(s);
}

static bool
is_brick(const minatar_breakout *s, int x, int y)
{
    return y >= ROW_FIRST && y < ROW_FIRST + ROWS && (s->bricks[y - ROW_FIRST] >> x & 1) != 0;
}

// Returns the row in which a ball ends that has come to row 9 at column x.
static int16_t
paddle_meet(minatar_breakout *s, int16_t x, int16_t y, minatar_turn *turn)
{
    if ((s->bricks[0] | s->bricks[1] | s->bricks[2]) == 0) {
        bricks_fill(s);
    }
    if (s->x == s->paddle) {
        s->dy = (int16_t)-s->dy;
        return s->y;
    }
    if (x == s->paddle) {
        s->dx = (int16_t)-s->dx;
        s->dy = (int16_t)-s->dy;
        return s->y;
    }
    turn->terminal = true;
    return y;
}

static void
step(minatar_state *state, minatar_turn *turn)
{
    minatar_breakout *s = &state->breakout;
    int move = (turn->action == MINATAR_RIGHT) - (turn->action == MINATAR_LEFT);
    s->paddle = minatar_clamp(s->paddle + move, 0, MINATAR_LAST);
    s->trail_x = s->x;
    s->trail_y = s->y;
    int16_t x = (int16_t)(s->x + s->dx), y = (int16_t)(s->y + s->dy);
    if (!minatar_is_on_board(x)) {
        x = minatar_clamp(x, 0, MINATAR_LAST);
        s->dx = (int16_t)-s->dx;
    }
    bool hit = false;
    if (y < 0) {
        y = 0;
        s->dy = (int16_t)-s->dy;
    } else if (is_brick(s, x, y)) {
        hit = true;
        if (s->strike == 0) { // the ball passes through a second brick in succession
            turn->reward = 1;
            s->bricks[y - ROW_FIRST] &= (int16_t) ~(1 << x);
            y = s->y;
            s->dy = (int16_t)-s->dy;
        }
    } else if (y == MINATAR_LAST) {
        y = paddle_meet(s, x, y, turn);
    }
    s->strike = hit;
    s->x = x;
    s->y = y;
}

static void
observe(const minatar_state *state, uint8_t *obs)
{
    const minatar_breakout *s = &state->breakout;
    obs[minatar_cell(MINATAR_LAST, s->paddle, CHANNELS)] = 1;
    obs[minatar_cell(s->y, s->x, CHANNELS) + 1] = 1;
    obs[minatar_cell(s->trail_y, s->trail_x, CHANNELS) + 2] = 1;
    for (int row = 0; row < ROWS; row++) {
        uint8_t *cells = obs + minatar_cell(ROW_FIRST + row, 0, CHANNELS) + 3;
        for (int x = 0; x < MINATAR_SIDE; x++) {
            cells[x * CHANNELS] = s->bricks[row] >> x & 1;
        }
    }
}

static bool
is_sane(const minatar_state *state)
{
    const minatar_breakout *s = &state->breakout;
    bool sane = minatar_is_on_board(s->paddle) && minatar_is_on_board(s->x) &&
                minatar_is_on_board(s->y) && minatar_is_on_board(s->trail_x) &&
                minatar_is_on_board(s->trail_y) && (s->dx == 1 || s->dx == -1) &&
                (s->dy == 1 || s->dy == -1) && (s->strike == 0 || s->strike == 1);
    for (int row = 0; row < ROWS; row++) {
        sane = sane && s->bricks[row] >= 0 && s->bricks[row] <= ROW_FULL;
    }
    return sane;
}

static const minatar_game game = {
    .ids = {"MinAtar/Breakout-v0", "MinAtar/Breakout-v1"},
    .channels = CHANNELS,
    .minimal_count = 3,
    .minimal = {MINATAR_NONE, MINATAR_LEFT, MINATAR_RIGHT},
    .reward_high = 1,
    .random = true,
    .state_bytes = sizeof(minatar_breakout),
    .reset = reset,
    .step = step,
    .observe = observe,
    .is_sane = is_sane,
};

MINATAR_APIS(breakout, game);
