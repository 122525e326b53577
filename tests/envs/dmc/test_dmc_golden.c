// Every task against trajectories of dm_control's own models under MuJoCo 2.2.2: state, observation
// and reward. Data and recipe: tests/data/dmc/README.md.
#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>

#include "envs/env_csv.h"
#include "tests/envs/dmc/dmc_rig.h"

#define FOLDER    "tests/data/dmc/"
#define TOLERANCE 1e-7 // machines differ in the last bit of sin, cos and exp

// Where a number of the task is recorded.
struct column {
    uint32_t at;
    double offset; // added to the recorded number
};

struct replay {
    rig rig;
    env_csv *csv;
    const env_csv_cell *cells;
    struct column action[32], qpos[32], qvel[32], obs[80], values[DMC_VALUES_MAX], reward;
    double worst;
    uint32_t rows, states_differing;
};

static struct column
column(struct replay *r, const char *name)
{
    double offset = 0;
    if (strcmp(name, "dist_to_target_easy[0]") == 0) { // recorded for the small target
        name = "dist_to_target_hard[0]";
        offset = 0.03 - 0.07;
    }
    int32_t at = env_csv_find(r->csv, name);
    if (at < 0) {
        fail_msg("no column %s", name);
    }
    return (struct column){(uint32_t)at, offset};
}

static void
columns(struct replay *r, struct column *out, const char *prefix, int count)
{
    for (int k = 0; k < count; k++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%d", prefix, k);
        out[k] = column(r, name);
    }
}

static void
header_understand(struct replay *r)
{
    const dmc_task *task = r->rig.sim.task;
    const mjModel *m = r->rig.sim.m;
    columns(r, r->action, "u", m->nu);
    columns(r, r->qpos, "qpos", m->nq);
    columns(r, r->qvel, "qvel", m->nv);
    for (uint32_t k = 0; k < task->obs_count; k++) {
        r->obs[k] = column(r, task->obs_names[k]);
    }
    for (uint32_t k = 0; k < task->value_count; k++) {
        r->values[k] = column(r, task->value_names[k]);
    }
    r->reward = column(r, task->reward_name);
}

static void
numbers(const struct replay *r, double *out, const struct column *from, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        assert_false(r->cells[from[k].at].absent);
        out[k] = r->cells[from[k].at].value + from[k].offset;
    }
}

static bool
compared(struct replay *r, double got, struct column c)
{
    double want = r->cells[c.at].value + c.offset, error = fabs(got - want);
    if (!(error <= TOLERANCE)) {
        fail_msg("%s: line %u: %s: got %.17g, want %.17g", r->rig.sim.task->id,
                 env_csv_line(r->csv), env_csv_name(r->csv, c.at), got, want);
    }
    r->worst = fmax(r->worst, error);
    return error == 0;
}

static void
row_compare(struct replay *r, bool first)
{
    const dmc_sim *sim = &r->rig.sim;
    double obs[80] = {0};
    bool same = true;
    sim->task->observe(sim, obs);
    for (uint32_t k = 0; k < sim->task->obs_count; k++) {
        compared(r, obs[k], r->obs[k]);
    }
    for (int k = 0; k < sim->m->nq; k++) {
        same &= compared(r, sim->d->qpos[k], r->qpos[k]);
    }
    for (int k = 0; k < sim->m->nv; k++) {
        same &= compared(r, sim->d->qvel[k], r->qvel[k]);
    }
    if (!first) {
        compared(r, sim->task->reward(sim), r->reward);
    }
    r->rows++;
    r->states_differing += !same;
}

static void
start_place(struct replay *r)
{
    double qpos[32], qvel[32], values[DMC_VALUES_MAX];
    const dmc_sim *sim = &r->rig.sim;
    numbers(r, qpos, r->qpos, (uint32_t)sim->m->nq);
    numbers(r, qvel, r->qvel, (uint32_t)sim->m->nv);
    numbers(r, values, r->values, sim->task->value_count);
    rig_place(&r->rig, qpos, qvel, values);
}

static void
replay(const char *id, const char *file)
{
    char path[96];
    oct_reason why;
    struct replay r = {0};
    snprintf(path, sizeof(path), "%s%s.csv", FOLDER, file);
    if (env_csv_open(&r.csv, path, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    rig_open(&r.rig, rig_task(id), 0);
    header_understand(&r);
    struct column t = column(&r, "t");
    while (env_csv_next(r.csv, &r.cells) == OCT_OK) {
        bool first = r.cells[t.at].value == 0;
        if (first) {
            start_place(&r);
        } else {
            double action[32];
            numbers(&r, action, r.action, (uint32_t)r.rig.sim.m->nu);
            rig_step(&r.rig, action);
        }
        row_compare(&r, first);
    }
    assert_string_equal(env_csv_error(r.csv), "");
    assert_true(r.rows > 60);
    print_message("%-28s %4u rows, %4u states with other bits, worst %.1e\n", id, r.rows,
                  r.states_differing, r.worst);
    rig_close(&r.rig);
    env_csv_close(r.csv);
}

static void
test_dmc_golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < RIG_RECORDED; i++) {
        replay(rig_recorded[i][0], rig_recorded[i][1]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
