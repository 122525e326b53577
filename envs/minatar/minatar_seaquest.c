// MinAtar's Seaquest: a submarine shoots fish and enemy submarines (1 each), picks up divers and
// brings six of them to the surface, for up to 10 by the oxygen that is left. Channels: front and
// back of the submarine, its bullets, trails, enemy bullets, fish, enemy submarines, the gauges of
// oxygen and divers (row 9), divers.
#include <string.h>

#include "common/oct_base.h"
#include "envs/env_registry.h"
#include "envs/minatar/minatar.h"

#define CHANNELS      10
#define DEPTH_MAX     8 // row 9 holds the gauges
#define OXYGEN        200
#define DIVERS        6        // a full load
#define DIVERS_LEAST  (-32000) // keeps the count in an int16_t
#define ENEMY_SPEED   20       // steps between new enemies at first
#define DIVER_SPEED   30       // steps between new divers
#define DIVER_STEPS   5        // steps between moves of a diver
#define MOVE_SPEED    5        // steps between moves of an enemy at first
#define MOVE_SPEED_OK 2        // lowest move_speed of ramping
#define SHOT_STEPS    10       // steps between shots of an enemy submarine
#define COOLDOWN      5        // steps after an own shot

enum {
    FRONT,
    BACK,
    FRIENDLY_BULLET,
    TRAIL,
    ENEMY_BULLET,
    ENEMY_FISH,
    ENEMY_SUB,
    OXYGEN_GAUGE,
    DIVER_GAUGE,
    DIVER
};

static void
reset(minatar_state *state, minatar_draws *draws)
{
    (void)draws;
    // Counts end the lists; what lies after them is never read, but saved.
    state->seaquest = (minatar_seaquest){.oxygen = OXYGEN,
                                         .x = 5,
                                         .enemy_speed = ENEMY_SPEED,
                                         .enemy_timer = ENEMY_SPEED,
                                         .diver_timer = DIVER_SPEED,
                                         .move_speed = MOVE_SPEED,
                                         .surface = 1};
}

// Appends a thing. Play cannot exceed max of a kind; in a state that was made by hand, the rest is
// dropped.
static void
thing_append(minatar_thing *list, int16_t *count, int16_t max, minatar_thing thing)
{
    if (*count < max) {
        list[(*count)++] = thing;
    }
}

static void
thing_remove(minatar_thing *list, int16_t *count, int16_t i)
{
    (*count)--;
    memmove(&list[i], &list[i + 1], (size_t)(*count - i) * sizeof(*list));
}

// Removes the first thing of the list on that cell. Returns true if there was one.
static bool
thing_take(minatar_thing *list, int16_t *count, int16_t x, int16_t y)
{
    for (int16_t i = 0; i < *count; i++) {
        if (list[i].x == x && list[i].y == y) {
            thing_remove(list, count, i);
            return true;
        }
    }
    return false;
}

// Moves a thing by one cell. Returns true if it is still on the board.
static bool
thing_move(minatar_thing *thing)
{
    thing->x = (int16_t)(thing->x + (thing->right != 0 ? 1 : -1));
    return minatar_is_on_board(thing->x);
}

static bool
is_on_player(const minatar_seaquest *s, const minatar_thing *thing)
{
    return thing->x == s->x && thing->y == s->y;
}

static bool
goes_against(const minatar_thing *list, int16_t count, const minatar_thing *thing)
{
    for (int16_t i = 0; i < count; i++) {
        if (list[i].y == thing->y && list[i].right != thing->right) {
            return true;
        }
    }
    return false;
}

static void
enemy_spawn(minatar_seaquest *s, minatar_draws *draws)
{
    minatar_thing thing = {.right = minatar_uniform(draws) < 1.0 / 2};
    bool sub = minatar_uniform(draws) < 1.0 / 3;
    thing.x = thing.right != 0 ? 0 : MINATAR_LAST;
    thing.y = minatar_integer(draws, 1, DEPTH_MAX);
    thing.timer = s->move_speed;
    if (goes_against(s->fish, s->fish_count, &thing) ||
        goes_against(s->subs, s->sub_count, &thing)) {
        return;
    }
    if (sub) {
        thing.shot_timer = SHOT_STEPS;
        thing_append(s->subs, &s->sub_count, MINATAR_SWIMMERS_MAX, thing);
    } else {
        thing_append(s->fish, &s->fish_count, MINATAR_SWIMMERS_MAX, thing);
    }
}

static void
diver_spawn(minatar_seaquest *s, minatar_draws *draws)
{
    minatar_thing thing = {.right = minatar_uniform(draws) < 1.0 / 2, .timer = DIVER_STEPS};
    thing.x = thing.right != 0 ? 0 : MINATAR_LAST;
    thing.y = minatar_integer(draws, 1, DEPTH_MAX);
    thing_append(s->divers, &s->diver_count, MINATAR_DIVERS_MAX, thing);
}

static void
player_act(minatar_seaquest *s, int action)
{
    switch (action) {
    case MINATAR_FIRE:
        if (s->cooldown == 0) {
            minatar_thing bullet = {.x = s->x, .y = s->y, .right = s->right};
            thing_append(s->friendly, &s->friendly_count, MINATAR_DIVERS_MAX, bullet);
            s->cooldown = COOLDOWN;
        }
        break;
    case MINATAR_LEFT:
    case MINATAR_RIGHT:
        s->right = action == MINATAR_RIGHT;
        s->x = minatar_clamp(s->x + (s->right != 0 ? 1 : -1), 0, MINATAR_LAST);
        break;
    case MINATAR_UP:
    case MINATAR_DOWN:
        s->y = minatar_clamp(s->y + (action == MINATAR_DOWN ? 1 : -1), 0, DEPTH_MAX);
        break;
    default:
        break;
    }
}

// All lists are walked from the newest to the oldest, so that a removal moves only things already
// done.
static void
friendly_bullets_move(minatar_seaquest *s, minatar_turn *turn)
{
    for (int16_t i = (int16_t)(s->friendly_count - 1); i >= 0; i--) {
        minatar_thing *bullet = &s->friendly[i];
        if (!thing_move(bullet)) {
            thing_remove(s->friendly, &s->friendly_count, i);
        } else if (thing_take(s->fish, &s->fish_count, bullet->x, bullet->y) ||
                   thing_take(s->subs, &s->sub_count, bullet->x, bullet->y)) {
            thing_remove(s->friendly, &s->friendly_count, i);
            turn->reward++;
        }
    }
}

static bool
diver_pick_up(minatar_seaquest *s, int16_t i)
{
    if (!is_on_player(s, &s->divers[i]) || s->divers_aboard >= DIVERS) {
        return false;
    }
    s->divers_aboard++;
    thing_remove(s->divers, &s->diver_count, i);
    return true;
}

static void
divers_move(minatar_seaquest *s)
{
    for (int16_t i = (int16_t)(s->diver_count - 1); i >= 0; i--) {
        minatar_thing *diver = &s->divers[i];
        if (diver_pick_up(s, i)) {
            continue;
        }
        if (diver->timer > 0) {
            diver->timer--;
            continue;
        }
        diver->timer = DIVER_STEPS;
        if (!thing_move(diver)) {
            thing_remove(s->divers, &s->diver_count, i);
        } else {
            (void)diver_pick_up(s, i);
        }
    }
}

// Moves one fish or enemy submarine. Returns true if it has left the list.
static bool
enemy_move(minatar_seaquest *s, minatar_thing *thing, minatar_turn *turn)
{
    turn->terminal = turn->terminal || is_on_player(s, thing);
    if (thing->timer > 0) {
        thing->timer--;
        return false;
    }
    thing->timer = s->move_speed;
    if (!thing_move(thing)) {
        return true;
    }
    if (is_on_player(s, thing)) {
        turn->terminal = true;
        return false;
    }
    if (thing_take(s->friendly, &s->friendly_count, thing->x, thing->y)) {
        turn->reward++;
        return true;
    }
    return false;
}

static void
subs_move(minatar_seaquest *s, minatar_turn *turn)
{
    for (int16_t i = (int16_t)(s->sub_count - 1); i >= 0; i--) {
        minatar_thing sub = s->subs[i];
        bool removed = enemy_move(s, &sub, turn);
        if (sub.shot_timer == 0) { // a submarine that was just shot or has left shoots, too
            sub.shot_timer = SHOT_STEPS;
            minatar_thing bullet = {.x = sub.x, .y = sub.y, .right = sub.right};
            thing_append(s->bullets, &s->bullet_count, MINATAR_BULLETS_MAX, bullet);
        } else {
            sub.shot_timer--;
        }
        s->subs[i] = sub;
        if (removed) {
            thing_remove(s->subs, &s->sub_count, i);
        }
    }
}

static void
enemy_bullets_move(minatar_seaquest *s, minatar_turn *turn)
{
    for (int16_t i = (int16_t)(s->bullet_count - 1); i >= 0; i--) {
        minatar_thing *bullet = &s->bullets[i];
        turn->terminal = turn->terminal || is_on_player(s, bullet);
        if (!thing_move(bullet)) {
            thing_remove(s->bullets, &s->bullet_count, i);
        } else {
            turn->terminal = turn->terminal || is_on_player(s, bullet);
        }
    }
}

static void
fish_move(minatar_seaquest *s, minatar_turn *turn)
{
    for (int16_t i = (int16_t)(s->fish_count - 1); i >= 0; i--) {
        if (enemy_move(s, &s->fish[i], turn)) {
            thing_remove(s->fish, &s->fish_count, i);
        }
    }
}

static void
ramp(minatar_seaquest *s)
{
    if (s->enemy_speed <= 1 && s->move_speed <= MOVE_SPEED_OK) {
        return;
    }
    if (s->move_speed > MOVE_SPEED_OK && s->ramp_index % 2 == 1) {
        s->move_speed--;
    }
    if (s->enemy_speed > 1) {
        s->enemy_speed--;
    }
    s->ramp_index++;
}

// Below the surface oxygen falls; coming up without a diver ends the episode. Coming up with six
// earns a reward by the oxygen that is left and sets the count to 0. Coming up always takes one
// diver off, so after six the count is -1, as in the original.
static void
oxygen_update(minatar_seaquest *s, minatar_turn *turn)
{
    turn->terminal = turn->terminal || s->oxygen <= 0;
    if (s->y > 0) {
        s->oxygen = (int16_t)(s->oxygen - (s->oxygen > -1));
        s->surface = 0;
        return;
    }
    if (s->surface != 0) {
        return;
    }
    if (s->divers_aboard == 0) {
        turn->terminal = true;
        return;
    }
    s->surface = 1;
    if (s->divers_aboard == DIVERS) {
        s->divers_aboard = 0;
        turn->reward += s->oxygen * 10 / OXYGEN;
    }
    s->oxygen = OXYGEN;
    s->divers_aboard = (int16_t)OCT_MAX(s->divers_aboard - 1, DIVERS_LEAST);
    if (turn->ramping) {
        ramp(s);
    }
}

static void
step(minatar_state *state, minatar_turn *turn)
{
    minatar_seaquest *s = &state->seaquest;
    if (s->enemy_timer == 0) {
        enemy_spawn(s, turn->draws);
        s->enemy_timer = s->enemy_speed;
    }
    if (s->diver_timer == 0) {
        diver_spawn(s, turn->draws);
        s->diver_timer = DIVER_SPEED;
    }
    player_act(s, turn->action);
    friendly_bullets_move(s, turn);
    divers_move(s);
    subs_move(s, turn);
    enemy_bullets_move(s, turn);
    fish_move(s, turn);
    s->enemy_timer = (int16_t)(s->enemy_timer - (s->enemy_timer > 0));
    s->diver_timer = (int16_t)(s->diver_timer - (s->diver_timer > 0));
    s->cooldown = (int16_t)(s->cooldown - (s->cooldown > 0));
    oxygen_update(s, turn);
}

static void
list_observe(const minatar_thing *list, int16_t count, uint8_t *obs, int channel, bool trails)
{
    for (int16_t i = 0; i < count; i++) {
        int x = list[i].x, behind = list[i].right != 0 ? x - 1 : x + 1;
        obs[minatar_cell(list[i].y, x, CHANNELS) + (uint32_t)channel] = 1;
        if (trails && minatar_is_on_board(behind)) {
            obs[minatar_cell(list[i].y, behind, CHANNELS) + TRAIL] = 1;
        }
    }
}

static void
observe(const minatar_state *state, uint8_t *obs)
{
    const minatar_seaquest *s = &state->seaquest;
    int behind = s->right != 0 ? s->x - 1 : s->x + 1;
    obs[minatar_cell(s->y, s->x, CHANNELS) + FRONT] = 1;
    if (minatar_is_on_board(behind)) {
        obs[minatar_cell(s->y, behind, CHANNELS) + BACK] = 1;
    }
    int oxygen = OCT_MAX(s->oxygen, 0) * 10 / OXYGEN;
    for (int x = 0; x < oxygen; x++) {
        obs[minatar_cell(MINATAR_LAST, x, CHANNELS) + OXYGEN_GAUGE] = 1;
    }
    for (int k = 0; k < s->divers_aboard; k++) {
        obs[minatar_cell(MINATAR_LAST, MINATAR_LAST - 1 - k, CHANNELS) + DIVER_GAUGE] = 1;
    }
    list_observe(s->friendly, s->friendly_count, obs, FRIENDLY_BULLET, false);
    list_observe(s->bullets, s->bullet_count, obs, ENEMY_BULLET, false);
    list_observe(s->fish, s->fish_count, obs, ENEMY_FISH, true);
    list_observe(s->subs, s->sub_count, obs, ENEMY_SUB, true);
    list_observe(s->divers, s->diver_count, obs, DIVER, true);
}

static bool
list_is_sane(const minatar_thing *list, int16_t count, int16_t max)
{
    bool sane = count >= 0 && count <= max;
    for (int16_t i = 0; sane && i < count; i++) {
        sane = minatar_is_on_board(list[i].x) && list[i].y >= 0 && list[i].y <= DEPTH_MAX &&
               list[i].timer >= 0 && list[i].timer <= MOVE_SPEED && list[i].shot_timer >= 0 &&
               list[i].shot_timer <= SHOT_STEPS && (list[i].right == 0 || list[i].right == 1);
    }
    return sane;
}

static bool
is_sane(const minatar_state *state)
{
    const minatar_seaquest *s = &state->seaquest;
    return s->oxygen >= -1 && s->oxygen <= OXYGEN && s->divers_aboard >= DIVERS_LEAST &&
           s->divers_aboard <= DIVERS && minatar_is_on_board(s->x) && s->y >= 0 &&
           s->y <= DEPTH_MAX && (s->right == 0 || s->right == 1) && s->enemy_speed >= 1 &&
           s->enemy_speed <= ENEMY_SPEED && s->enemy_timer >= 0 && s->enemy_timer <= ENEMY_SPEED &&
           s->diver_timer >= 0 && s->diver_timer <= DIVER_SPEED && s->move_speed >= MOVE_SPEED_OK &&
           s->move_speed <= MOVE_SPEED && s->cooldown >= 0 && s->cooldown <= COOLDOWN &&
           s->ramp_index >= 0 && s->ramp_index <= OXYGEN && (s->surface == 0 || s->surface == 1) &&
           list_is_sane(s->friendly, s->friendly_count, MINATAR_DIVERS_MAX) &&
           list_is_sane(s->bullets, s->bullet_count, MINATAR_BULLETS_MAX) &&
           list_is_sane(s->fish, s->fish_count, MINATAR_SWIMMERS_MAX) &&
           list_is_sane(s->subs, s->sub_count, MINATAR_SWIMMERS_MAX) &&
           list_is_sane(s->divers, s->diver_count, MINATAR_DIVERS_MAX);
}

static const minatar_game game = {
    .ids = {"MinAtar/Seaquest-v0", "MinAtar/Seaquest-v1"},
    .channels = CHANNELS,
    .minimal_count = MINATAR_ACTIONS,
    .minimal = {MINATAR_NONE, MINATAR_LEFT, MINATAR_UP, MINATAR_RIGHT, MINATAR_DOWN, MINATAR_FIRE},
    .reward_high = 12, // two bullets hit, and six divers come up with all the oxygen
    .random = true,
    .state_bytes = sizeof(minatar_seaquest),
    .reset = reset,
    .step = step,
    .observe = observe,
    .is_sane = is_sane,
};

MINATAR_APIS(seaquest, game);
