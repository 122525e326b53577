// How episodes begin: what is drawn and from which range, over many resets; and what every task
// says of itself.
#include "tests/support/oct_test.h"

#include "tests/envs/dmc/dmc_rig.h"

#define PI 3.141592653589793

// Smallest, largest, mean of a number over resets.
struct spread {
    double low, high, sum;
    unsigned count;
};

static void
spread_add(struct spread *s, double x)
{
    assert_true(isfinite(x));
    s->low = s->count == 0 ? x : fmin(s->low, x);
    s->high = s->count == 0 ? x : fmax(s->high, x);
    s->sum += x;
    s->count++;
}

// Uniform on [low, high]: within, close to both ends, the mean within five standard errors. With
// 300 draws a gap of 5 % at an end has a chance of 2e-7.
static void
spread_is_uniform(const struct spread *s, double low, double high)
{
    double width = high - low;
    assert_true(s->count >= 300);
    assert_true(s->low >= low && s->high <= high);
    assert_true(s->low < low + 0.05 * width && s->high > high - 0.05 * width);
    T_NEAR(s->sum / s->count, (low + high) / 2, 5 * width / sqrt(12.0 * s->count), 0);
}

static void
spread_is(const struct spread *s, double value)
{
    assert_true(s->low == value && s->high == value);
}

enum { RESETS = 400 };

// Spreads of qpos, qvel and what is drawn besides, over RESETS resets of a task.
struct survey {
    rig rig;
    struct spread qpos[28], qvel[27], drawn[DMC_VALUES_MAX];
    unsigned touching; // resets with a contact
};

static struct survey s;

static void
survey_add(void)
{
    const dmc_sim *sim = &s.rig.sim;
    for (int k = 0; k < sim->m->nq; k++) {
        spread_add(&s.qpos[k], sim->d->qpos[k]);
    }
    for (int k = 0; k < sim->m->nv; k++) {
        spread_add(&s.qvel[k], sim->d->qvel[k]);
    }
    for (uint32_t k = 0; k < sim->task->value_count; k++) {
        spread_add(&s.drawn[k], sim->drawn[k]);
    }
    s.touching += sim->d->ncon > 0;
}

static void
survey_run(const char *id)
{
    memset(&s, 0, sizeof(s));
    rig_open(&s.rig, rig_task(id), 11);
    for (int k = 0; k < RESETS; k++) {
        rig_reset(&s.rig);
        survey_add();
    }
}

static void
joints_are_uniform(int first, int count)
{
    const mjModel *m = s.rig.sim.m;
    for (int j = first; j < first + count; j++) {
        const double *range = m->jnt_range + 2 * j;
        struct spread *q = &s.qpos[m->jnt_qposadr[j]];
        assert_int_equal(m->jnt_limited[j], 1);
        spread_is_uniform(q, range[0], range[1]);
    }
}

static void
at_rest(void)
{
    for (int k = 0; k < s.rig.sim.m->nv; k++) {
        spread_is(&s.qvel[k], 0);
    }
}

static void
spread_is_normal(const struct spread *q, double mean, double deviation)
{
    assert_true(q->low < mean - deviation && q->low > mean - 6 * deviation);
    assert_true(q->high > mean + deviation && q->high < mean + 6 * deviation);
    T_NEAR(q->sum / q->count, mean, 5 * deviation / sqrt(q->count), 0);
}

static void
test_dmc_reset_cartpole(void **state)
{
    (void)state;
    survey_run("dmc:cartpole_balance");
    spread_is_uniform(&s.qpos[0], -0.1, 0.1);
    spread_is_uniform(&s.qpos[1], -0.034, 0.034);
    spread_is_normal(&s.qvel[0], 0, 0.01);
    spread_is_normal(&s.qvel[1], 0, 0.01);
    rig_close(&s.rig);
    survey_run("dmc:cartpole_swingup");
    spread_is_normal(&s.qpos[0], 0, 0.01);
    spread_is_normal(&s.qpos[1], PI, 0.01);
    spread_is_normal(&s.qvel[0], 0, 0.01);
    spread_is_normal(&s.qvel[1], 0, 0.01);
    rig_close(&s.rig);
}

static void
test_dmc_reset_hinges_without_limits(void **state)
{
    (void)state;
    survey_run("dmc:pendulum_swingup");
    spread_is_uniform(&s.qpos[0], -PI, PI);
    at_rest();
    rig_close(&s.rig);
    survey_run("dmc:acrobot_swingup");
    spread_is_uniform(&s.qpos[0], -PI, PI);
    spread_is_uniform(&s.qpos[1], -PI, PI);
    at_rest();
    rig_close(&s.rig);
}

static void
test_dmc_reset_point_mass(void **state)
{
    (void)state;
    survey_run("dmc:point_mass_easy");
    spread_is_uniform(&s.qpos[0], -0.29, 0.29);
    spread_is_uniform(&s.qpos[1], -0.29, 0.29);
    at_rest();
    rig_close(&s.rig);
}

static void
test_dmc_reset_reacher(void **state)
{
    (void)state;
    struct spread radius = {0}, angle = {0};
    memset(&s, 0, sizeof(s));
    rig_open(&s.rig, rig_task("dmc:reacher_hard"), 12);
    for (int k = 0; k < RESETS; k++) {
        rig_reset(&s.rig);
        survey_add();
        const double *target = s.rig.sim.drawn;
        spread_add(&radius, hypot(target[0], target[1]));
        spread_add(&angle, atan2(target[0], target[1]));
        int geom = mj_name2id(s.rig.sim.m, mjOBJ_GEOM, "target");
        assert_memory_equal(s.rig.sim.d->geom_xpos + 3 * geom, target, 2 * sizeof(double));
    }
    spread_is_uniform(&s.qpos[0], -PI, PI);
    joints_are_uniform(1, 1);
    spread_is_uniform(&radius, 0.05, 0.20);
    spread_is_uniform(&angle, -PI, PI);
    at_rest();
    rig_close(&s.rig);
}

// The cheetah falls onto its feet after the draw, so the draw is looked at before.
static void
test_dmc_reset_cheetah(void **state)
{
    (void)state;
    memset(&s, 0, sizeof(s));
    rig_open(&s.rig, rig_task("dmc:cheetah_run"), 13);
    for (int k = 0; k < RESETS; k++) {
        mj_resetData(s.rig.sim.m, s.rig.sim.d);
        s.rig.sim.task->reset(&s.rig.sim);
        survey_add();
    }
    for (int root = 0; root < 3; root++) {
        spread_is(&s.qpos[root], 0);
    }
    joints_are_uniform(3, 6);
    at_rest();
    rig_reset(&s.rig);
    assert_true(s.rig.sim.d->time == 0);
    assert_true(s.rig.sim.d->ncon > 0);
    rig_close(&s.rig);
}

static void
test_dmc_reset_walker_and_hopper(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        int joints;
    } tasks[] = {{"dmc:walker_walk", 6}, {"dmc:hopper_hop", 4}};
    for (size_t i = 0; i < OCT_COUNTOF(tasks); i++) {
        survey_run(tasks[i].id);
        spread_is(&s.qpos[0], 0);
        spread_is(&s.qpos[1], 0);
        spread_is_uniform(&s.qpos[2], -PI, PI);
        joints_are_uniform(3, tasks[i].joints);
        at_rest();
        rig_close(&s.rig);
    }
}

static void
test_dmc_reset_finger_without_contact(void **state)
{
    (void)state;
    survey_run("dmc:finger_spin");
    assert_int_equal(s.touching, 0);
    spread_is_uniform(&s.qpos[2], -PI, PI); // a symmetric spinner
    at_rest();
    rig_close(&s.rig);
}

static void
test_dmc_reset_finger_target_around_the_hinge(void **state)
{
    (void)state;
    struct spread angle = {0};
    memset(&s, 0, sizeof(s));
    rig_open(&s.rig, rig_task("dmc:finger_turn_hard"), 14);
    for (int k = 0; k < RESETS; k++) {
        rig_reset(&s.rig);
        survey_add();
        const double *target = s.rig.sim.drawn;
        T_NEAR(hypot(target[0] - 0.2, target[1] - 0.4), 0.13, 1e-12, 0);
        spread_add(&angle, atan2(target[0] - 0.2, target[1] - 0.4));
        int site = mj_name2id(s.rig.sim.m, mjOBJ_SITE, "target");
        const double *at = s.rig.sim.d->site_xpos + 3 * site;
        assert_true(at[0] == target[0] && at[2] == target[1]);
    }
    assert_int_equal(s.touching, 0);
    spread_is_uniform(&angle, -PI, PI);
    rig_close(&s.rig);
}

static void
test_dmc_reset_ball_without_contact(void **state)
{
    (void)state;
    survey_run("dmc:ball_in_cup_catch");
    assert_int_equal(s.touching, 0);
    spread_is(&s.qpos[0], 0);
    spread_is(&s.qpos[1], 0);
    assert_true(s.qpos[2].low >= -0.2 && s.qpos[2].high <= 0.2);
    assert_true(s.qpos[3].low >= 0.2 && s.qpos[3].high <= 0.5);
    at_rest();
    rig_close(&s.rig);
}

// Four numbers from [0, 1), normalised: none negative, each up to 1, on average about a half.
static void
test_dmc_reset_humanoid(void **state)
{
    (void)state;
    survey_run("dmc:humanoid_run");
    assert_int_equal(s.touching, 0);
    spread_is(&s.qpos[0], 0);
    spread_is(&s.qpos[1], 0);
    spread_is(&s.qpos[2], 1.5);
    for (int k = 3; k < 7; k++) {
        assert_true(s.qpos[k].low >= 0 && s.qpos[k].low < 0.1);
        assert_true(s.qpos[k].high > 0.8 && s.qpos[k].high <= 1);
        T_NEAR(s.qpos[k].sum / s.qpos[k].count, 0.47, 0.07, 0);
    }
    T_NEAR(mju_norm(s.rig.sim.d->qpos + 3, 4), 1, 1e-15, 0);
    for (int j = 1; j < s.rig.sim.m->njnt; j++) {
        const double *range = s.rig.sim.m->jnt_range + 2 * j;
        const struct spread *q = &s.qpos[s.rig.sim.m->jnt_qposadr[j]];
        assert_true(q->low >= range[0] && q->high <= range[1]);
        assert_true(q->high - q->low > 0.9 * (range[1] - range[0]));
    }
    at_rest();
    rig_close(&s.rig);
}

static void
test_dmc_reset_fish(void **state)
{
    (void)state;
    survey_run("dmc:fish_swim");
    for (int k = 3; k < 7; k++) { // any orientation
        assert_true(s.qpos[k].low < -0.8 && s.qpos[k].high > 0.8);
        T_NEAR(s.qpos[k].sum / s.qpos[k].count, 0, 5 * 0.5 / sqrt(RESETS), 0);
    }
    for (int k = 7; k < 14; k++) {
        spread_is_uniform(&s.qpos[k], -0.2, 0.2);
    }
    spread_is_uniform(&s.drawn[0], -0.4, 0.4);
    spread_is_uniform(&s.drawn[1], -0.4, 0.4);
    spread_is_uniform(&s.drawn[2], 0.1, 0.3);
    at_rest();
    rig_close(&s.rig);
}

// One target in five is from the small box, where 9 of 400 of the others are too.
static void
test_dmc_reset_swimmer(void **state)
{
    (void)state;
    static const char *const ids[] = {"dmc:swimmer_swimmer6", "dmc:swimmer_swimmer15"};
    for (size_t i = 0; i < OCT_COUNTOF(ids); i++) {
        unsigned near = 0;
        memset(&s, 0, sizeof(s));
        rig_open(&s.rig, rig_task(ids[i]), 15);
        for (int k = 0; k < RESETS; k++) {
            rig_reset(&s.rig);
            survey_add();
            const double *target = s.rig.sim.drawn;
            near += fabs(target[0]) < 0.3 && fabs(target[1]) < 0.3;
        }
        double share = 0.2 + 0.8 * 0.15 * 0.15;
        T_NEAR(near / (double)RESETS, share, 5 * sqrt(share * (1 - share) / RESETS), 0);
        assert_true(s.drawn[0].low < -1.8 && s.drawn[1].high > 1.8);
        spread_is(&s.qpos[0], 0);
        spread_is_uniform(&s.qpos[2], -PI, PI);
        joints_are_uniform(3, s.rig.sim.m->njnt - 3);
        at_rest();
        rig_close(&s.rig);
    }
}

// From dm_control: numbers observed, actions, seconds of 1000 control steps.
static const struct {
    const char *id;
    uint32_t obs_count;
    int actions;
    double seconds;
} table[] = {
    {"dmc:acrobot_swingup", 6, 1, 10},
    {"dmc:acrobot_swingup_sparse", 6, 1, 10},
    {"dmc:ball_in_cup_catch", 8, 2, 20},
    {"dmc:cartpole_balance", 5, 1, 10},
    {"dmc:cartpole_balance_sparse", 5, 1, 10},
    {"dmc:cartpole_swingup", 5, 1, 10},
    {"dmc:cartpole_swingup_sparse", 5, 1, 10},
    {"dmc:cheetah_run", 17, 6, 10},
    {"dmc:finger_spin", 9, 2, 20},
    {"dmc:finger_turn_easy", 12, 2, 20},
    {"dmc:finger_turn_hard", 12, 2, 20},
    {"dmc:fish_swim", 24, 5, 40},
    {"dmc:fish_upright", 21, 5, 40},
    {"dmc:hopper_hop", 15, 4, 20},
    {"dmc:hopper_stand", 15, 4, 20},
    {"dmc:humanoid_run", 67, 21, 25},
    {"dmc:humanoid_stand", 67, 21, 25},
    {"dmc:humanoid_walk", 67, 21, 25},
    {"dmc:pendulum_swingup", 3, 1, 20},
    {"dmc:point_mass_easy", 4, 2, 20},
    {"dmc:reacher_easy", 6, 2, 20},
    {"dmc:reacher_hard", 6, 2, 20},
    {"dmc:swimmer_swimmer15", 61, 14, 30},
    {"dmc:swimmer_swimmer6", 25, 5, 30},
    {"dmc:walker_run", 24, 6, 25},
    {"dmc:walker_stand", 24, 6, 25},
    {"dmc:walker_walk", 24, 6, 25},
};

static void
names_are_unique(const char *const *names, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        assert_non_null(names[k]);
        for (uint32_t other = 0; other < k; other++) {
            assert_string_not_equal(names[k], names[other]);
        }
    }
}

// Writes as many numbers as it says, and leaves the others alone.
static void
observation_fits(rig *r)
{
    const double canary = 12345.678;
    double obs[80];
    for (size_t k = 0; k < OCT_COUNTOF(obs); k++) {
        obs[k] = canary;
    }
    uint32_t count = r->sim.task->obs_count;
    r->sim.task->observe(&r->sim, obs);
    for (uint32_t k = 0; k < OCT_COUNTOF(obs); k++) {
        assert_true(isfinite(obs[k]) && (obs[k] == canary) == (k >= count));
    }
}

static void
test_dmc_tasks_are_those_of_the_suite(void **state)
{
    (void)state;
    size_t i = 0;
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++, i++) {
        assert_true(i < OCT_COUNTOF(table));
        assert_string_equal((*task)->id, table[i].id);
        rig r;
        rig_open(&r, *task, i);
        assert_int_equal((*task)->obs_count, table[i].obs_count);
        assert_int_equal(r.sim.m->nu, table[i].actions);
        T_NEAR(1000 * r.sim.m->opt.timestep * (*task)->substeps, table[i].seconds, 1e-9, 0);
        names_are_unique((*task)->obs_names, (*task)->obs_count);
        names_are_unique((*task)->value_names, (*task)->value_count);
        for (int k = 0; k < r.sim.m->nu; k++) {
            assert_int_equal(r.sim.m->actuator_ctrllimited[k], 1);
            assert_true(r.sim.m->actuator_ctrlrange[2 * k] == -1);
            assert_true(r.sim.m->actuator_ctrlrange[2 * k + 1] == 1);
        }
        rig_reset(&r);
        observation_fits(&r);
        rig_close(&r);
    }
    assert_int_equal(i, OCT_COUNTOF(table));
}

// Rewards are within [0, 1] also where a policy does its worst; the room that the models reserve
// for contacts and rows is half empty (rig_close fails on a warning of MuJoCo).
static void
test_dmc_tasks_hold_under_full_throttle(void **state)
{
    (void)state;
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        rig r;
        rig_open(&r, *task, 16);
        double u[32];
        for (int step = 0; step < 300; step++) {
            if (step % 100 == 0) {
                rig_reset(&r);
            }
            for (int k = 0; k < r.sim.m->nu && step % 7 == 0; k++) {
                u[k] = oct_pcg64_uniform(&r.rng, -1, 1) < 0 ? -1 : 1;
            }
            rig_step(&r, u);
            double reward = (*task)->reward(&r.sim);
            assert_true(reward >= 0 && reward <= 1);
            assert_true(2 * r.sim.d->maxuse_con <= r.sim.m->nconmax);
            assert_true(2 * r.sim.d->maxuse_efc <= r.sim.m->njmax);
            assert_true(2 * r.sim.d->maxuse_stack <= r.sim.m->nstack);
        }
        rig_close(&r);
    }
}

static void
test_dmc_reset_follows_the_seed(void **state)
{
    (void)state;
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        double obs[3][80] = {{0}};
        for (int i = 0; i < 3; i++) {
            rig r;
            rig_open(&r, *task, i == 2 ? 5 : 4);
            rig_reset(&r);
            (*task)->observe(&r.sim, obs[i]);
            rig_close(&r);
        }
        assert_memory_equal(obs[0], obs[1], sizeof(obs[0]));
        assert_memory_not_equal(obs[0], obs[2], sizeof(obs[0]));
    }
}

static void
test_dmc_task_names_what_a_model_lacks(void **state)
{
    (void)state;
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        dmc_sim sim = {.task = *task};
        const char *missing = "";
        sim.m = rig_compile("<mujoco/>", "empty");
        assert_false(dmc_prepare(&sim, &missing));
        assert_string_not_equal(missing, "");
        mj_deleteModel(sim.m);
    }
    assert_null(dmc_model_text("swimmer7"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_reset_cartpole),
        cmocka_unit_test(test_dmc_reset_hinges_without_limits),
        cmocka_unit_test(test_dmc_reset_point_mass),
        cmocka_unit_test(test_dmc_reset_reacher),
        cmocka_unit_test(test_dmc_reset_cheetah),
        cmocka_unit_test(test_dmc_reset_walker_and_hopper),
        cmocka_unit_test(test_dmc_reset_finger_without_contact),
        cmocka_unit_test(test_dmc_reset_finger_target_around_the_hinge),
        cmocka_unit_test(test_dmc_reset_ball_without_contact),
        cmocka_unit_test(test_dmc_reset_humanoid),
        cmocka_unit_test(test_dmc_reset_fish),
        cmocka_unit_test(test_dmc_reset_swimmer),
        cmocka_unit_test(test_dmc_tasks_are_those_of_the_suite),
        cmocka_unit_test(test_dmc_tasks_hold_under_full_throttle),
        cmocka_unit_test(test_dmc_reset_follows_the_seed),
        cmocka_unit_test(test_dmc_task_names_what_a_model_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
