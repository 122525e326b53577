// MinAtar's Space Invaders: aliens move from side to side and down, the cannon in row 9 shoots.
// Channels: cannon, alien, alien moving left, alien moving right, friendly bullet, enemy bullet. An
// alien is worth 1; a bullet or an alien on the cannon ends the episode. Only the sticky action is
// random.
#include "envs/env_registry.h"
#include "envs/minatar/minatar.h"

#define CHANNELS       6
#define WAVE_ROWS      4    // rows of a new wave
#define WAVE_ROW       0xfc // columns 2 to 7
#define ROW_FULL       0x3ff
#define INTERVAL       12 // steps between moves of the aliens at first
#define INTERVAL_LEAST 6  // the shortest interval of ramping
#define SHOT_STEPS     10 // steps between shots of the aliens
#define COOLDOWN       5  // steps after an own shot

static void
wave_begin(minatar_invaders *s)
{
    for (int row = 0; row < WAVE_ROWS; row++) {
        s->aliens[row] = WAVE_ROW;
    }
}

static void
reset(minatar_state *state, minatar_draws *draws)
{
    (void)draws;
    minatar_invaders *s = &state->invaders;
    *s = (minatar_invaders){.x = 5,
                            .direction = -1,
                            .interval = INTERVAL,
                            .move_timer = INTERVAL,
                            .shot_timer = SHOT_STEPS};
    wave_begin(s);
}

static int
bits_count(int16_t row)
{
    return __builtin_popcount((unsigned)row);
}

static int16_t
aliens_count(const minatar_invaders *s)
{
    int count = 0;
    for (int row = 0; row < MINATAR_SIDE; row++) {
        count += bits_count(s->aliens[row]);
    }
    return (int16_t)count;
}

// Returns the columns that hold aliens, as bits.
static int
columns_taken(const minatar_invaders *s)
{
    int columns = 0;
    for (int row = 0; row < MINATAR_SIDE; row++) {
        columns |= s->aliens[row];
    }
    return columns;
}

static bool
is_on_cannon(const minatar_invaders *s, const int16_t *rows)
{
    return (rows[MINATAR_LAST] >> s->x & 1) != 0;
}

static void
cannon_act(minatar_invaders *s, int action)
{
    if (action == MINATAR_FIRE && s->cooldown == 0) {
        s->friendly[MINATAR_LAST] |= (int16_t)(1 << s->x);
        s->cooldown = COOLDOWN;
    }
    int right = (action == MINATAR_RIGHT) - (action == MINATAR_LEFT);
    s->x = minatar_clamp(s->x + right, 0, MINATAR_LAST);
}

static void
bullets_move(minatar_invaders *s)
{
    for (int row = 0; row < MINATAR_LAST; row++) {
        s->friendly[row] = s->friendly[row + 1];
        s->enemy[MINATAR_LAST - row] = s->enemy[MINATAR_LAST - row - 1];
    }
    s->friendly[MINATAR_LAST] = 0;
    s->enemy[0] = 0;
}

static void
aliens_down(minatar_invaders *s)
{
    int16_t last = s->aliens[MINATAR_LAST];
    for (int row = MINATAR_LAST; row > 0; row--) {
        s->aliens[row] = s->aliens[row - 1];
    }
    s->aliens[0] = last;
}

static void
aliens_move(minatar_invaders *s, minatar_turn *turn)
{
    int16_t count = aliens_count(s);
    s->move_timer = count < s->interval ? count : s->interval;
    int edge = s->direction < 0 ? 0 : MINATAR_LAST;
    if ((columns_taken(s) >> edge & 1) != 0) {
        s->direction = (int16_t)-s->direction;
        turn->terminal = turn->terminal || s->aliens[MINATAR_LAST] != 0;
        aliens_down(s);
    } else {
        for (int row = 0; row < MINATAR_SIDE; row++) {
            int moved = s->direction < 0 ? s->aliens[row] >> 1 : s->aliens[row] << 1;
            s->aliens[row] = (int16_t)(moved & ROW_FULL);
        }
    }
    turn->terminal = turn->terminal || is_on_cannon(s, s->aliens);
}

// Makes the lowest alien in the column nearest to the cannon shoot; of two columns, the left one.
static void
alien_shoot(minatar_invaders *s)
{
    int columns = columns_taken(s), x = -1;
    for (int far = 0; far < MINATAR_SIDE && x < 0; far++) {
        if (s->x - far >= 0 && (columns >> (s->x - far) & 1) != 0) {
            x = s->x - far;
        } else if (s->x + far <= MINATAR_LAST && (columns >> (s->x + far) & 1) != 0) {
            x = s->x + far;
        }
    }
    for (int row = MINATAR_LAST; row >= 0 && x >= 0; row--) {
        if ((s->aliens[row] >> x & 1) != 0) {
            s->enemy[row] |= (int16_t)(1 << x);
            return;
        }
    }
}

static void
hits_take(minatar_invaders *s, minatar_turn *turn)
{
    for (int row = 0; row < MINATAR_SIDE; row++) {
        int16_t hit = s->aliens[row] & s->friendly[row];
        if (hit == 0) {
            continue;
        }
        turn->reward += bits_count(hit);
        s->aliens[row] &= (int16_t)~hit;
        s->friendly[row] &= (int16_t)~hit;
    }
}

static void
step(minatar_state *state, minatar_turn *turn)
{
    minatar_invaders *s = &state->invaders;
    cannon_act(s, turn->action);
    bullets_move(s);
    turn->terminal = is_on_cannon(s, s->enemy) || is_on_cannon(s, s->aliens);
    if (s->move_timer == 0) {
        aliens_move(s, turn);
    }
    if (s->shot_timer == 0) {
        s->shot_timer = SHOT_STEPS;
        alien_shoot(s);
    }
    hits_take(s, turn);
    s->cooldown = (int16_t)(s->cooldown - (s->cooldown > 0));
    s->move_timer--;
    s->shot_timer--;
    if (columns_taken(s) == 0) {
        if (s->interval > INTERVAL_LEAST && turn->ramping) {
            s->interval--;
            s->ramp_index++;
        }
        wave_begin(s);
    }
}

static void
observe(const minatar_state *state, uint8_t *obs)
{
    const minatar_invaders *s = &state->invaders;
    uint32_t side = s->direction < 0 ? 2 : 3;
    for (int y = 0; y < MINATAR_SIDE; y++) {
        uint8_t *cell = obs + minatar_cell(y, 0, CHANNELS);
        if ((s->aliens[y] | s->friendly[y] | s->enemy[y]) == 0) {
            continue;
        }
        for (int x = 0; x < MINATAR_SIDE; x++, cell += CHANNELS) {
            cell[1] = s->aliens[y] >> x & 1;
            cell[side] = cell[1];
            cell[4] = s->friendly[y] >> x & 1;
            cell[5] = s->enemy[y] >> x & 1;
        }
    }
    obs[minatar_cell(MINATAR_LAST, s->x, CHANNELS)] = 1;
}

static bool
is_sane(const minatar_state *state)
{
    const minatar_invaders *s = &state->invaders;
    bool sane = minatar_is_on_board(s->x) && (s->direction == 1 || s->direction == -1) &&
                s->interval >= INTERVAL_LEAST && s->interval <= INTERVAL && s->move_timer >= 0 &&
                s->move_timer <= INTERVAL && s->shot_timer >= 0 && s->shot_timer <= SHOT_STEPS &&
                s->cooldown >= 0 && s->cooldown <= COOLDOWN && s->ramp_index >= 0 &&
                s->ramp_index <= INTERVAL && columns_taken(s) != 0;
    for (int row = 0; row < MINATAR_SIDE; row++) {
        sane = sane && ((s->aliens[row] | s->friendly[row] | s->enemy[row]) & ~ROW_FULL) == 0;
    }
    return sane;
}

static const minatar_game game = {
    .ids = {"MinAtar/SpaceInvaders-v0", "MinAtar/SpaceInvaders-v1"},
    .channels = CHANNELS,
    .minimal_count = 4,
    .minimal = {MINATAR_NONE, MINATAR_LEFT, MINATAR_RIGHT, MINATAR_FIRE},
    .reward_high = 2, // at most two bullets fly at once
    .random = false,
    .state_bytes = sizeof(minatar_invaders),
    .reset = reset,
    .step = step,
    .observe = observe,
    .is_sane = is_sane,
};

MINATAR_APIS(invaders, game);
