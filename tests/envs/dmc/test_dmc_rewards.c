// Rewards at states picked by hand, where their value is known from the task's definition
// (dm_control's suite, Tassa et al. 2018).
#include "tests/support/oct_test.h"

#include "tests/envs/dmc/dmc_rig.h"

#define PI   3.141592653589793
#define NEAR 1e-12

static rig r;
static double *q, *v, *u; // its qpos, qvel, ctrl

// The model's own pose, at rest.
static void
begin(const char *id)
{
    rig_open(&r, rig_task(id), 1);
    mj_resetData(r.sim.m, r.sim.d);
    q = r.sim.d->qpos;
    v = r.sim.d->qvel;
    u = r.sim.d->ctrl;
}

static double
reward(void)
{
    rig_passive(&r);
    return r.sim.task->reward(&r.sim);
}

static void
test_dmc_tolerance(void **state)
{
    (void)state;
    FILE *file = fopen("tests/data/dmc/tolerance.txt", "r");
    assert_non_null(file);
    double shape, x, low, high, margin, value, want;
    unsigned rows = 0;
    while (fscanf(file, "%lf %lf %lf %lf %lf %lf %lf", &shape, &x, &low, &high, &margin, &value,
                  &want) == 7) {
        T_NEAR(dmc_tolerance(x, low, high, margin, (dmc_shape)shape, value), want, 1e-14, 1e-13);
        rows++;
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rows, 2560);
}

static void
test_dmc_cartpole_is_a_product(void **state)
{
    (void)state;
    begin("dmc:cartpole_balance");
    T_NEAR(reward(), 1, NEAR, 0);
    q[0] = 2;
    T_NEAR(reward(), 0.55, NEAR, 0);
    u[0] = 1;
    T_NEAR(reward(), 0.55 * 0.8, NEAR, 0);
    v[1] = -5;
    T_NEAR(reward(), 0.55 * 0.8 * 0.55, NEAR, 0);
    q[1] = PI / 2;
    T_NEAR(reward(), 0.5 * 0.55 * 0.8 * 0.55, NEAR, 0);
    q[1] = PI;
    T_NEAR(reward(), 0, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_cartpole_sparse_has_edges(void **state)
{
    (void)state;
    begin("dmc:cartpole_swingup_sparse");
    q[0] = -0.25;
    q[1] = acos(0.9951);
    assert_true(reward() == 1);
    q[0] = -0.2501;
    assert_true(reward() == 0);
    q[0] = 0;
    q[1] = acos(0.9949);
    assert_true(reward() == 0);
    rig_close(&r);
}

static void
test_dmc_pendulum_within_eight_degrees(void **state)
{
    (void)state;
    begin("dmc:pendulum_swingup");
    q[0] = -7.99 * PI / 180;
    assert_true(reward() == 1);
    q[0] = 8.01 * PI / 180;
    assert_true(reward() == 0);
    rig_close(&r);
}

// Straight arm along x: the target is put at a distance from the finger.
static void
reacher_edge(const char *id, double radii)
{
    begin(id);
    rig_passive(&r);
    int finger = mj_name2id(r.sim.m, mjOBJ_GEOM, "finger");
    const double *at = r.sim.d->geom_xpos + 3 * finger;
    double inside[2] = {at[0], at[1] + radii - 1e-6}, outside[2] = {at[0], at[1] + radii + 1e-6};
    r.sim.task->place(&r.sim, inside);
    assert_true(reward() == 1);
    r.sim.task->place(&r.sim, outside);
    assert_true(reward() == 0);
    rig_close(&r);
}

static void
test_dmc_reacher_touches_the_target(void **state)
{
    (void)state;
    reacher_edge("dmc:reacher_easy", 0.06);
    reacher_edge("dmc:reacher_hard", 0.025);
}

static void
test_dmc_cheetah_speed_to_ten(void **state)
{
    (void)state;
    begin("dmc:cheetah_run");
    static const double cases[][2] = {{0, 0}, {-3, 0}, {2.5, 0.25}, {10, 1}, {14, 1}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        v[0] = cases[i][0];
        T_NEAR(reward(), cases[i][1], NEAR, 0);
    }
    rig_close(&r);
}

static void
walker_case(const char *id, double speed, double lower, double want)
{
    begin(id);
    q[0] = -lower; // rootz comes first
    v[1] = speed;
    T_NEAR(reward(), want, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_walker_stands_and_moves(void **state)
{
    (void)state;
    walker_case("dmc:walker_stand", 0, 0, 1);
    walker_case("dmc:walker_stand", 0, 0.7, 0.325); // 0.6 m: one margin too low
    walker_case("dmc:walker_walk", 0, 0, 1.0 / 6);
    walker_case("dmc:walker_walk", 1, 0, 1);
    walker_case("dmc:walker_walk", 0.75, 0, (5 * 0.75 + 1) / 6);
    walker_case("dmc:walker_run", 4, 0, 3.5 / 6);
    walker_case("dmc:walker_run", 9, 0.7, 0.325);
    begin("dmc:walker_stand");
    q[2] = PI; // on its head
    T_NEAR(reward(), 0.75, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_hopper_stands_and_hops(void **state)
{
    (void)state;
    begin("dmc:hopper_stand");
    T_NEAR(reward(), 1, NEAR, 0);
    u[0] = u[1] = 1;
    T_NEAR(reward(), 0.9, NEAR, 0);
    q[2] = PI / 2; // lying
    assert_true(reward() == 0);
    rig_close(&r);
    begin("dmc:hopper_hop");
    static const double cases[][2] = {{0, 0}, {1, 0.5}, {1.5, 0.75}, {2, 1}, {3, 1}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        v[0] = cases[i][0];
        T_NEAR(reward(), cases[i][1], NEAR, 0);
    }
    rig_close(&r);
}

// Tilted step by step: standing ends where the torso's centre of mass is 0.6 m over the foot's,
// which is not where its frame is.
static void
test_dmc_hopper_height_is_between_centres_of_mass(void **state)
{
    (void)state;
    begin("dmc:hopper_stand");
    int torso = mj_name2id(r.sim.m, mjOBJ_BODY, "torso");
    int foot = mj_name2id(r.sim.m, mjOBJ_BODY, "foot");
    unsigned frames_differ = 0;
    for (int k = 0; k < 400; k++) {
        q[2] = k * (PI / 2) / 400;
        double got = reward();
        double height = r.sim.d->xipos[3 * torso + 2] - r.sim.d->xipos[3 * foot + 2];
        double frames = r.sim.d->xpos[3 * torso + 2] - r.sim.d->xpos[3 * foot + 2];
        assert_true(got == (height >= 0.6 ? 1 : 0));
        frames_differ += (height >= 0.6) != (frames >= 0.6);
    }
    assert_true(frames_differ > 0);
    rig_close(&r);
}

static void
test_dmc_finger_spins_backwards(void **state)
{
    (void)state;
    begin("dmc:finger_spin");
    v[2] = -15.001;
    assert_true(reward() == 1);
    v[2] = -14.999;
    assert_true(reward() == 0);
    v[2] = 15.001;
    assert_true(reward() == 0);
    int hinge = mj_name2id(r.sim.m, mjOBJ_JOINT, "hinge");
    assert_true(r.sim.m->dof_damping[r.sim.m->jnt_dofadr[hinge]] == 0.03);
    rig_close(&r);
}

static void
finger_edge(const char *id, double radius)
{
    begin(id);
    rig_passive(&r);
    const double *tip = r.sim.d->site_xpos + 3 * mj_name2id(r.sim.m, mjOBJ_SITE, "tip");
    double inside[2] = {tip[0] + radius - 1e-6, tip[2]};
    double outside[2] = {tip[0], tip[2] - radius - 1e-6};
    r.sim.task->place(&r.sim, inside);
    assert_true(reward() == 1);
    r.sim.task->place(&r.sim, outside);
    assert_true(reward() == 0);
    int hinge = mj_name2id(r.sim.m, mjOBJ_JOINT, "hinge");
    assert_true(r.sim.m->dof_damping[r.sim.m->jnt_dofadr[hinge]] == 0.5);
    rig_close(&r);
}

static void
test_dmc_finger_turns_to_the_target(void **state)
{
    (void)state;
    finger_edge("dmc:finger_turn_easy", 0.07);
    finger_edge("dmc:finger_turn_hard", 0.03);
}

static void
humanoid_case(const char *id, double vx, double vy, double want)
{
    begin(id);
    v[0] = vx;
    v[1] = vy;
    T_NEAR(reward(), want, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_humanoid_stands_and_moves(void **state)
{
    (void)state;
    humanoid_case("dmc:humanoid_stand", 0, 0, 1);
    humanoid_case("dmc:humanoid_stand", 0, -2, 0.55);
    humanoid_case("dmc:humanoid_walk", 0, 0, 1.0 / 6);
    humanoid_case("dmc:humanoid_walk", 0.3, -0.4, 3.5 / 6);
    humanoid_case("dmc:humanoid_walk", 0, 1, 1);
    humanoid_case("dmc:humanoid_run", 3, 4, 3.5 / 6);
    begin("dmc:humanoid_stand");
    u[20] = 1;
    T_NEAR(reward(), (4 + 20.0 / 21) / 5, NEAR, 0);
    q[3] = 0; // upside down
    q[4] = 1;
    T_NEAR(reward(), 0, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_ball_has_to_be_inside_the_cup(void **state)
{
    (void)state;
    begin("dmc:ball_in_cup_catch");
    q[3] = 0.35; // from 0.2 to the target's middle at 0.55
    assert_true(reward() == 1);
    q[2] = -0.0249;
    assert_true(reward() == 1);
    q[2] = -0.0251;
    assert_true(reward() == 0);
    q[2] = 0;
    q[3] = 0.35 + 0.0251;
    assert_true(reward() == 0);
    rig_close(&r);
}

static void
test_dmc_acrobot_tip_at_the_target(void **state)
{
    (void)state;
    begin("dmc:acrobot_swingup");
    T_NEAR(reward(), 1, NEAR, 0);
    q[1] = 2 * asin(0.6); // 1.2 m from the target: one margin
    T_NEAR(reward(), 0.1, NEAR, 0);
    q[0] = PI;
    q[1] = 0;
    T_NEAR(reward(), pow(0.1, 3.8 * 3.8), 1e-16, 1e-9);
    rig_close(&r);
    begin("dmc:acrobot_swingup_sparse");
    q[1] = 2 * asin(0.0999);
    assert_true(reward() == 1);
    q[1] = 2 * asin(0.1001);
    assert_true(reward() == 0);
    rig_close(&r);
}

static void
test_dmc_point_mass_in_the_middle(void **state)
{
    (void)state;
    begin("dmc:point_mass_easy");
    T_NEAR(reward(), 1, NEAR, 0);
    q[0] = 0.018;
    q[1] = -0.024; // 0.03 away: one margin
    T_NEAR(reward(), 0.1, NEAR, 0);
    u[0] = u[1] = -1;
    T_NEAR(reward(), 0.08, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_fish_upright_and_at_the_target(void **state)
{
    (void)state;
    begin("dmc:fish_upright");
    T_NEAR(reward(), 1, NEAR, 0);
    q[3] = 0;
    q[5] = 1; // half a turn about y
    T_NEAR(reward(), 1e-4, NEAR, 0);
    rig_close(&r);
    begin("dmc:fish_swim");
    rig_passive(&r);
    const double *mouth = r.sim.d->geom_xpos + 3 * mj_name2id(r.sim.m, mjOBJ_GEOM, "mouth");
    double at[3] = {mouth[0], mouth[1], mouth[2]};
    r.sim.task->place(&r.sim, at);
    T_NEAR(reward(), 1, NEAR, 0);
    at[1] += 3 * 0.045; // one margin outside
    r.sim.task->place(&r.sim, at);
    T_NEAR(reward(), 1.7 / 8, NEAR, 0);
    rig_close(&r);
}

static void
test_dmc_swimmer_nose_at_the_target(void **state)
{
    (void)state;
    static const char *const ids[] = {"dmc:swimmer_swimmer6", "dmc:swimmer_swimmer15"};
    for (size_t i = 0; i < OCT_COUNTOF(ids); i++) {
        begin(ids[i]);
        q[2] = 0.7;
        rig_passive(&r);
        const double *nose = r.sim.d->geom_xpos + 3 * mj_name2id(r.sim.m, mjOBJ_GEOM, "nose");
        double at[2] = {nose[0], nose[1] - 0.0999};
        r.sim.task->place(&r.sim, at);
        T_NEAR(reward(), 1, NEAR, 0);
        at[1] = nose[1] - 0.6; // one margin outside
        r.sim.task->place(&r.sim, at);
        T_NEAR(reward(), 0.1, NEAR, 0);
        rig_close(&r);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_tolerance),
        cmocka_unit_test(test_dmc_cartpole_is_a_product),
        cmocka_unit_test(test_dmc_cartpole_sparse_has_edges),
        cmocka_unit_test(test_dmc_pendulum_within_eight_degrees),
        cmocka_unit_test(test_dmc_reacher_touches_the_target),
        cmocka_unit_test(test_dmc_cheetah_speed_to_ten),
        cmocka_unit_test(test_dmc_walker_stands_and_moves),
        cmocka_unit_test(test_dmc_hopper_stands_and_hops),
        cmocka_unit_test(test_dmc_hopper_height_is_between_centres_of_mass),
        cmocka_unit_test(test_dmc_finger_spins_backwards),
        cmocka_unit_test(test_dmc_finger_turns_to_the_target),
        cmocka_unit_test(test_dmc_humanoid_stands_and_moves),
        cmocka_unit_test(test_dmc_ball_has_to_be_inside_the_cup),
        cmocka_unit_test(test_dmc_acrobot_tip_at_the_target),
        cmocka_unit_test(test_dmc_point_mass_in_the_middle),
        cmocka_unit_test(test_dmc_fish_upright_and_at_the_target),
        cmocka_unit_test(test_dmc_swimmer_nose_at_the_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
