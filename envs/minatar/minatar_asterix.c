// MinAtar's Asterix: enemies and gold cross the board in rows 1 to 8, at most one in each row.
// Channels: player, enemy, trail, gold. Gold is worth 1; an enemy ends the episode.
#include "envs/env_registry.h"
#include "envs/minatar/minatar.h"

#define CHANNELS    4
#define SLOTS       8   // rows 1 to 8
#define SPAWN_SPEED 10  // steps between new entities at first
#define MOVE_SPEED  5   // steps between moves of entities at first
#define RAMP_STEPS  100 // steps between increases of difficulty

static void
reset(minatar_state *state, minatar_draws *draws)
{
    (void)draws;
    state->asterix = (minatar_asterix){.x = 5,
                                       .y = 5,
                                       .spawn_speed = SPAWN_SPEED,
                                       .spawn_timer = SPAWN_SPEED,
                                       .move_speed = MOVE_SPEED,
                                       .move_timer = MOVE_SPEED,
                                       .ramp_timer = RAMP_STEPS};
}

static void
spawn(minatar_asterix *s, minatar_draws *draws)
{
    bool right = minatar_uniform(draws) < 1.0 / 2;
    bool gold = minatar_uniform(draws) < 1.0 / 3;
    int16_t empty[SLOTS], count = 0;
    for (int16_t k = 0; k < SLOTS; k++) {
        if (s->slots[k].present == 0) {
            empty[count++] = k;
        }
    }
    if (count == 0) {
        return;
    }
    int k = empty[minatar_integer(draws, 0, (int16_t)(count - 1))];
    s->slots[k].present = 1;
    s->slots[k].x = right ? 0 : MINATAR_LAST;
    s->slots[k].right = right;
    s->slots[k].gold = gold;
}

static void
contacts(minatar_asterix *s, minatar_turn *turn)
{
    int k = s->y - 1; // the slot of the player's row
    if (s->slots[k].present == 0 || s->slots[k].x != s->x) {
        return;
    }
    if (s->slots[k].gold != 0) {
        s->slots[k].present = 0;
        turn->reward++;
    } else {
        turn->terminal = true;
    }
}

static void
entities_move(minatar_asterix *s)
{
    for (int k = 0; k < SLOTS; k++) {
        if (s->slots[k].present == 0) {
            continue;
        }
        s->slots[k].x = (int16_t)(s->slots[k].x + (s->slots[k].right != 0 ? 1 : -1));
        if (!minatar_is_on_board(s->slots[k].x)) {
            s->slots[k].present = 0;
            s->slots[k].x = 0;
        }
    }
}

static void
ramp(minatar_asterix *s)
{
    if (s->spawn_speed <= 1 && s->move_speed <= 1) {
        return;
    }
    if (s->ramp_timer >= 0) {
        s->ramp_timer--;
        return;
    }
    if (s->move_speed > 1 && s->ramp_index % 2 == 1) {
        s->move_speed--;
    }
    if (s->spawn_speed > 1) {
        s->spawn_speed--;
    }
    s->ramp_index++;
    s->ramp_timer = RAMP_STEPS;
}

static void
step(minatar_state *state, minatar_turn *turn)
{
    minatar_asterix *s = &state->asterix;
    if (s->spawn_timer == 0) {
        spawn(s, turn->draws);
        s->spawn_timer = s->spawn_speed;
    }
    int right = (turn->action == MINATAR_RIGHT) - (turn->action == MINATAR_LEFT);
    int down = (turn->action == MINATAR_DOWN) - (turn->action == MINATAR_UP);
    s->x = minatar_clamp(s->x + right, 0, MINATAR_LAST);
    s->y = minatar_clamp(s->y + down, 1, SLOTS);
    contacts(s, turn);
    if (s->move_timer == 0) {
        s->move_timer = s->move_speed;
        entities_move(s);
        contacts(s, turn);
    }
    s->spawn_timer--;
    s->move_timer--;
    if (turn->ramping) {
        ramp(s);
    }
}

static void
observe(const minatar_state *state, uint8_t *obs)
{
    const minatar_asterix *s = &state->asterix;
    obs[minatar_cell(s->y, s->x, CHANNELS)] = 1;
    for (int k = 0; k < SLOTS; k++) {
        if (s->slots[k].present == 0) {
            continue;
        }
        int x = s->slots[k].x, behind = s->slots[k].right != 0 ? x - 1 : x + 1;
        obs[minatar_cell(k + 1, x, CHANNELS) + (s->slots[k].gold != 0 ? 3 : 1)] = 1;
        if (minatar_is_on_board(behind)) {
            obs[minatar_cell(k + 1, behind, CHANNELS) + 2] = 1;
        }
    }
}

static bool
is_sane(const minatar_state *state)
{
    const minatar_asterix *s = &state->asterix;
    bool sane = minatar_is_on_board(s->x) && s->y >= 1 && s->y <= SLOTS && s->spawn_speed >= 1 &&
                s->spawn_speed <= SPAWN_SPEED && s->move_speed >= 1 &&
                s->move_speed <= MOVE_SPEED && s->spawn_timer >= 0 &&
                s->spawn_timer <= SPAWN_SPEED && s->move_timer >= 0 &&
                s->move_timer <= MOVE_SPEED && s->ramp_timer >= -1 && s->ramp_timer <= RAMP_STEPS &&
                s->ramp_index >= 0 && s->ramp_index <= RAMP_STEPS;
    for (int k = 0; k < SLOTS; k++) {
        sane = sane && minatar_is_on_board(s->slots[k].x);
    }
    return sane;
}

static const minatar_game game = {
    .ids = {"MinAtar/Asterix-v0", "MinAtar/Asterix-v1"},
    .channels = CHANNELS,
    .minimal_count = 5,
    .minimal = {MINATAR_NONE, MINATAR_LEFT, MINATAR_UP, MINATAR_RIGHT, MINATAR_DOWN},
    .reward_high = 1,
    .random = true,
    .state_bytes = sizeof(minatar_asterix),
    .reset = reset,
    .step = step,
    .observe = observe,
    .is_sane = is_sane,
};

MINATAR_APIS(asterix, game);
