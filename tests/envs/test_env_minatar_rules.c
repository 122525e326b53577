// Rules of MinAtar's games that the recordings do not reach, each on a board that was set up by
// hand.
#include "tests/envs/minatar_board.h"

#define OPTIONS "sticky_actions=0"

// ---- Breakout: paddle, x, y, dx, dy, trail x, trail y, strike, bricks of rows 1 to 3

static void
test_breakout_ball_passes_the_brick_after_a_brick(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/Breakout-v0", OPTIONS, 0, false);
    // Row 2 is empty; from there down onto row 3, then up into row 1.
    PLACE(&b, {1, 4}, {2, 2}, {3, 1}, {4, 1}, {9, 0});
    board_step(&b, NONE);
    assert_true(b.reward == 1 && b.flags == 0);
    assert_true(!cell(b.obs, 4, 3, 5, 3)); // removed
    assert_true(cell(b.obs, 4, 2, 5, 1));  // the ball is held in its row
    board_step(&b, NONE);
    assert_true(b.reward == 0 && b.flags == 0);
    assert_true(cell(b.obs, 4, 1, 6, 3)); // stays
    assert_true(cell(b.obs, 4, 1, 6, 1)); // under the ball
    board_step(&b, NONE);
    assert_true(b.reward == 0 && cell(b.obs, 4, 0, 7, 1));
    env_close(b.e);
}

// ---- Freeway: row, move timer, left; eight cars of x, timer, speed

static void
test_freeway_at_the_top_scores_and_draws_new_speeds(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/Freeway-v0", OPTIONS, 0, false);
    PLACE(&b, {0, 1}, {1, 0});
    for (uint32_t car = 0; car < 8; car++) {
        PLACE(&b, {3 + 3 * car, (int)car}, {4 + 3 * car, 3}, {5 + 3 * car, 5});
    }
    // All to the left: 0.5 is not above 0.5.
    const double tape[] = {1, 2, 3, 4, 5, 1, 2, 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.75};
    T_OK(env_draws_set(b.e, 0, tape, 16));
    board_step(&b, UP);
    T_OK(env_draws_set(b.e, 0, NULL, 0));
    assert_true(b.reward == 1 && b.flags == 0);
    assert_true(cell(b.obs, 7, 9, 4, 0));
    static const int speeds[] = {-1, -2, -3, -4, -5, -1, -2, 3};
    for (uint32_t car = 0; car < 8; car++) {
        assert_true(cell(b.obs, 7, car + 1, car, 1)); // where it was
        assert_int_equal(saved_number(&b, 5 + 3 * car), speeds[car]);
        int behind = speeds[car] < 0 ? (int)car + 1 : (int)car - 1;
        assert_int_equal(column_of(b.obs, 7, car + 1, 1 + (uint32_t)abs(speeds[car])), behind);
    }
    assert_int_equal(saved_number(&b, 1), 2); // moved: three steps, one is over
    env_close(b.e);
}

// ---- Asterix: x, y, spawn speed, timer, move speed, timer, ramp timer, index; slots of present,
// x, right, gold

static void
test_asterix_full_board_spawns_nothing(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/Asterix-v0", OPTIONS, 0, false);
    for (uint32_t slot = 0; slot < 8; slot++) {
        PLACE(&b, {8 + 4 * slot, 1}, {9 + 4 * slot, 2}, {10 + 4 * slot, 1});
    }
    PLACE(&b, {3, 0});
    const double two[] = {0.1, 0.1};
    T_OK(env_draws_set(b.e, 0, two, 2)); // the two that are drawn in any case
    board_step(&b, NONE);
    assert_int_equal(saved_number(&b, 3), 9);
    // One free: the third number chooses among those.
    PLACE(&b, {3, 0}, {8 + 4 * 6, 0});
    const double three[] = {0.5, 0.3, 0};
    T_OK(env_draws_set(b.e, 0, three, 3));
    board_step(&b, NONE);
    assert_true(cell(b.obs, 4, 7, 9, 3)); // gold from the right: 0.5 is not below 1/2
    env_close(b.e);
}

static void
test_asterix_ramping_ends_at_1(void **state)
{
    (void)state;
    struct board b;
    board_open(&b, "MinAtar/Asterix-v0", OPTIONS, 0, false);
    PLACE(&b, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, -1}, {7, 9});
    board_step(&b, NONE);
    assert_int_equal(saved_number(&b, 2), 1);
    assert_int_equal(saved_number(&b, 4), 1);
    assert_int_equal(saved_number(&b, 6), -1);
    assert_int_equal(saved_number(&b, 7), 9);
    PLACE(&b, {2, 2}, {3, 1}, {5, 1}); // the other still ramps
    board_step(&b, NONE);
    assert_int_equal(saved_number(&b, 2), 1);
    assert_int_equal(saved_number(&b, 4), 1);
    assert_int_equal(saved_number(&b, 6), 100);
    env_close(b.e);
}

// ---- Space Invaders: x, direction, interval, move timer, shot timer, cooldown, ramp index; rows
// of aliens, friendly bullets, enemy bullets

#define ALIENS 7u
#define ENEMY  27u

#define CLEAR                                                                                      \
    {ALIENS, 0}, {ALIENS + 1, 0}, {ALIENS + 2, 0},                                                 \
    {                                                                                              \
        ALIENS + 3, 0                                                                              \
    }

static void
invaders_open(struct board *b)
{
    board_open(b, "MinAtar/SpaceInvaders-v0", OPTIONS, 0, false);
}

static void
test_invaders_that_land_or_reach_the_cannon_end_the_episode(void **state)
{
    (void)state;
    struct board b;
    invaders_open(&b); // at the left edge, one in row 9: they turn, and have landed
    PLACE(&b, CLEAR, {3, 0}, {ALIENS + 5, 1}, {ALIENS + 9, 1 << 2});
    board_step(&b, NONE);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    assert_true(cell(b.obs, 6, 6, 0, 1) && cell(b.obs, 6, 0, 2, 1)); // row 9 goes to row 0
    env_close(b.e);
    invaders_open(&b); // one in row 9 moves onto the cannon
    PLACE(&b, CLEAR, {3, 0}, {ALIENS + 9, 1 << 6});
    board_step(&b, NONE);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    invaders_open(&b); // the cannon moves onto one
    PLACE(&b, CLEAR, {3, 5}, {ALIENS + 9, 1 << 6});
    board_step(&b, RIGHT);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    invaders_open(&b); // beside it nothing happens
    PLACE(&b, CLEAR, {3, 5}, {ALIENS + 9, 1 << 7});
    board_step(&b, RIGHT);
    assert_int_equal(b.flags, 0);
    env_close(b.e);
}

static void
test_invaders_nearest_lowest_alien_shoots(void **state)
{
    (void)state;
    struct board b;
    invaders_open(&b); // columns 3 and 7 are equally far from 5: the left one, its lowest alien
    PLACE(&b, CLEAR, {3, 5}, {4, 0}, {ALIENS + 2, 1 << 3 | 1 << 7}, {ALIENS + 4, 1 << 3});
    board_step(&b, NONE);
    assert_true(cell(b.obs, 6, 4, 3, 5) && cell(b.obs, 6, 4, 3, 1));
    assert_int_equal(saved_number(&b, ENEMY + 2), 0);
    env_close(b.e);
    invaders_open(&b);
    PLACE(&b, CLEAR, {3, 5}, {4, 0}, {ALIENS + 2, 1 << 2 | 1 << 7});
    board_step(&b, NONE);
    assert_true(cell(b.obs, 6, 2, 7, 5));
    env_close(b.e);
}

static void
test_invaders_waves_get_no_faster_than_6(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int before, after;
    } cases[] = {{OPTIONS, 12, 11}, {OPTIONS, 6, 6}, {OPTIONS ",ramping=0", 12, 12}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        struct board b;
        board_open(&b, "MinAtar/SpaceInvaders-v0", cases[i].options, 0, false);
        PLACE(&b, {2, cases[i].before}, {3, 3}, {ALIENS, 0}, {ALIENS + 1, 0}, {ALIENS + 2, 0},
              {ALIENS + 3, 1}, {17 + 4, 1}); // a bullet below the last one
        board_step(&b, NONE);
        assert_true(b.reward == 1 && b.flags == 0);
        assert_int_equal(saved_number(&b, 2), cases[i].after);
        assert_int_equal(saved_number(&b, ALIENS + 3), 0xfc);
        assert_int_equal(saved_number(&b, 3), 2); // the timers go on
        env_close(b.e);
    }
}

// ---- Seaquest: oxygen, divers aboard, x, y, right, enemy speed, timer, diver timer, move speed,
// ramp index, cooldown, surface; counts; lists of x, y, right, timer, shot timer

enum {
    OXYGEN,
    ABOARD,
    X,
    Y,
    RIGHTWARD,
    E_SPEED,
    E_TIMER,
    D_TIMER,
    M_SPEED,
    R_INDEX,
    COOL,
    SURFACE
};
enum { N_FRIENDLY = 12, N_BULLETS, N_FISH, N_SUBS, N_DIVERS };
enum { AT_FRIENDLY = 17, AT_BULLETS = 57, AT_FISH = 537, AT_SUBS = 857, AT_DIVERS = 1177 };

static void
seaquest_open(struct board *b)
{
    board_open(b, "MinAtar/Seaquest-v0", OPTIONS, 0, false);
    PLACE(b, {Y, 4}, {SURFACE, 0}, {OXYGEN, 100});
}

#define THING(at, x, y, right, timer, shot)                                                        \
    {(at), (x)}, {(at) + 1, (y)}, {(at) + 2, (right)}, {(at) + 3, (timer)},                        \
    {                                                                                              \
        (at) + 4, (shot)                                                                           \
    }

static void
test_seaquest_touching_what_is_hostile_ends_the_episode(void **state)
{
    (void)state;
    struct board b;
    seaquest_open(&b); // a fish where the player is
    PLACE(&b, {N_FISH, 1}, THING(AT_FISH, 5, 4, 1, 3, 0));
    board_step(&b, NONE);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    seaquest_open(&b); // a submarine moves there
    PLACE(&b, {N_SUBS, 1}, THING(AT_SUBS, 4, 4, 1, 0, 3));
    board_step(&b, NONE);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    seaquest_open(&b); // the player moves into a bullet
    PLACE(&b, {N_BULLETS, 1}, THING(AT_BULLETS, 6, 4, 1, 0, 0));
    board_step(&b, RIGHT);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    seaquest_open(&b); // a bullet moves there
    PLACE(&b, {N_BULLETS, 1}, THING(AT_BULLETS, 6, 4, 0, 0, 0));
    board_step(&b, NONE);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    seaquest_open(&b); // beside it nothing happens
    PLACE(&b, {N_BULLETS, 1}, {N_FISH, 1}, THING(AT_BULLETS, 7, 4, 0, 0, 0),
          THING(AT_FISH, 3, 4, 1, 0, 0));
    board_step(&b, NONE);
    assert_int_equal(b.flags, 0);
    assert_true(cell(b.obs, 10, 4, 6, 4) && cell(b.obs, 10, 4, 4, 5) && cell(b.obs, 10, 4, 3, 3));
    env_close(b.e);
}

static void
test_seaquest_breathing(void **state)
{
    (void)state;
    struct board b;
    seaquest_open(&b); // the last of the oxygen lasts one step
    PLACE(&b, {OXYGEN, 1});
    board_step(&b, NONE);
    assert_int_equal(b.flags, 0);
    board_step(&b, NONE);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    seaquest_open(&b); // up without a diver
    PLACE(&b, {Y, 1});
    board_step(&b, UP);
    assert_int_equal(b.flags, OCTET_ENV_TERMINATED);
    env_close(b.e);
    seaquest_open(&b); // with one: it is given away, nothing else is gained but oxygen
    PLACE(&b, {Y, 1}, {ABOARD, 1}, {R_INDEX, 1});
    board_step(&b, UP);
    assert_true(b.flags == 0 && b.reward == 0);
    assert_int_equal(saved_number(&b, OXYGEN), 200);
    assert_int_equal(saved_number(&b, ABOARD), 0);
    assert_int_equal(saved_number(&b, E_SPEED), 19);
    assert_int_equal(saved_number(&b, M_SPEED), 4);
    board_step(&b, NONE); // and staying there costs nothing
    assert_true(b.flags == 0 && saved_number(&b, OXYGEN) == 200);
    env_close(b.e);
    seaquest_open(&b); // six: floor(119 * 10 / 200) = 5
    PLACE(&b, {Y, 1}, {ABOARD, 6}, {OXYGEN, 119}, {E_SPEED, 1}, {E_TIMER, 1}, {M_SPEED, 2});
    board_step(&b, UP);
    assert_true(b.flags == 0 && b.reward == 5);
    assert_int_equal(saved_number(&b, ABOARD), -1);
    assert_int_equal(saved_number(&b, R_INDEX), 0); // as fast as it gets
    assert_int_equal(column_of(b.obs, 10, 9, 8), -1);
    env_close(b.e);
}

static void
test_seaquest_divers(void **state)
{
    (void)state;
    struct board b;
    seaquest_open(&b); // one on the player, one leaves, one moves to the player
    PLACE(&b, {N_DIVERS, 3}, THING(AT_DIVERS, 5, 4, 1, 3, 0), THING(AT_DIVERS + 5, 9, 2, 1, 0, 0),
          THING(AT_DIVERS + 10, 6, 4, 0, 0, 0));
    board_step(&b, NONE);
    assert_int_equal(saved_number(&b, N_DIVERS), 0);
    assert_int_equal(saved_number(&b, ABOARD), 2);
    assert_true(cell(b.obs, 10, 9, 8, 8) && cell(b.obs, 10, 9, 7, 8) && !cell(b.obs, 10, 9, 6, 8));
    env_close(b.e);
    seaquest_open(&b); // a seventh stays outside and goes on
    PLACE(&b, {ABOARD, 6}, {N_DIVERS, 1}, THING(AT_DIVERS, 5, 4, 1, 0, 0));
    board_step(&b, NONE);
    assert_int_equal(saved_number(&b, ABOARD), 6);
    assert_true(cell(b.obs, 10, 4, 6, 9) && cell(b.obs, 10, 4, 5, 3));
    env_close(b.e);
}

static void
test_seaquest_shots(void **state)
{
    (void)state;
    struct board b;
    seaquest_open(&b); // no shot while the last one cools down
    PLACE(&b, {COOL, 1});
    board_step(&b, FIRE);
    assert_int_equal(saved_number(&b, N_FRIENDLY), 0);
    board_step(&b, FIRE);
    assert_int_equal(saved_number(&b, N_FRIENDLY), 1);
    assert_true(cell(b.obs, 10, 4, 4, 2)); // to the left, and already moved
    env_close(b.e);
    seaquest_open(&b); // a bullet takes the first of two fish on its cell, and stops
    PLACE(&b, {N_FRIENDLY, 1}, {N_FISH, 2}, THING(AT_FRIENDLY, 6, 2, 1, 0, 0),
          THING(AT_FISH, 7, 2, 1, 4, 0), THING(AT_FISH + 5, 7, 2, 1, 2, 0));
    board_step(&b, NONE);
    assert_true(b.reward == 1);
    assert_int_equal(saved_number(&b, N_FRIENDLY), 0);
    assert_int_equal(saved_number(&b, N_FISH), 1);
    assert_int_equal(saved_number(&b, AT_FISH + 3), 1); // the one whose timer was 2
    env_close(b.e);
    seaquest_open(&b); // a submarine that swims into a bullet is shot, and shoots
    PLACE(&b, {N_FRIENDLY, 1}, {N_SUBS, 1}, THING(AT_FRIENDLY, 6, 2, 1, 0, 0),
          THING(AT_SUBS, 8, 2, 0, 0, 0));
    board_step(&b, NONE);
    assert_true(b.reward == 1);
    assert_int_equal(saved_number(&b, N_SUBS), 0);
    assert_int_equal(saved_number(&b, N_BULLETS), 1);
    assert_true(cell(b.obs, 10, 2, 6, 4)); // from column 7, moved once
    env_close(b.e);
}

static void
test_seaquest_spawns_against_the_traffic_of_a_row_are_dropped(void **state)
{
    (void)state;
    for (int right = 0; right < 2; right++) {
        struct board b;
        seaquest_open(&b);
        PLACE(&b, {E_TIMER, 0}, {N_FISH, 1}, THING(AT_FISH, 4, 7, 1, 4, 0));
        const double tape[] = {right != 0 ? 0.4 : 0.6, 0.4, 7};
        T_OK(env_draws_set(b.e, 0, tape, 3));
        board_step(&b, NONE);
        assert_int_equal(saved_number(&b, N_FISH), 1 + right);
        assert_int_equal(saved_number(&b, E_TIMER), 19);
        env_close(b.e);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_breakout_ball_passes_the_brick_after_a_brick),
        cmocka_unit_test(test_freeway_at_the_top_scores_and_draws_new_speeds),
        cmocka_unit_test(test_asterix_full_board_spawns_nothing),
        cmocka_unit_test(test_asterix_ramping_ends_at_1),
        cmocka_unit_test(test_invaders_that_land_or_reach_the_cannon_end_the_episode),
        cmocka_unit_test(test_invaders_nearest_lowest_alien_shoots),
        cmocka_unit_test(test_invaders_waves_get_no_faster_than_6),
        cmocka_unit_test(test_seaquest_touching_what_is_hostile_ends_the_episode),
        cmocka_unit_test(test_seaquest_breathing),
        cmocka_unit_test(test_seaquest_divers),
        cmocka_unit_test(test_seaquest_shots),
        cmocka_unit_test(test_seaquest_spawns_against_the_traffic_of_a_row_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
