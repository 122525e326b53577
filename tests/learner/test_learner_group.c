// Learners that share each batch: what they have apart is noticed, and what is saved is whole.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "learner/learner_group.h"
#include "nn/group/group_fork.h"
#include "tests/algos/reinforce_fixture.h"
#include "tests/support/oct_test.h"

enum { OBS = 5, ACTIONS = 3, B = 24, UPDATES = 3, STATE_MAX = 1 << 17, EXIT_APART = 3 };

typedef struct saved {
    uint8_t bytes[STATE_MAX];
    size_t length;
} saved;

// Rank 0's learners, with what they learn by.
typedef struct team {
    config_experiment config;
    policy_spec spec;
    learner_group *lg;
    nn_context *context;
    algo *a;
    oct_rng rng;
} team;

// Of size learners, whose batches are windows of T rows (0: n-step), and that go on from a state
// (NULL: none); returns in rank 0 alone.
static void
team_begin_as(team *t, const config_experiment *config, uint32_t T, uint32_t size,
              const saved *from)
{
    group *members;
    config_experiment own;
    OCT_ASSERT(group_fork(&members, size) == OCT_OK);
    if (group_rank(members) > 0) {
        _exit(learner_group_serve(members));
    }
    *t = (team){.config = *config, .spec = fixture_env(OBS, ACTIONS)};
    t->config.learner.batch_size = B;
    t->config.learner.count = size;
    t->config.learner.threads = 1;
    t->lg = learner_group_create(members, config->learner.asynchronous);
    learner_group_config(t->lg, &t->config, &own);
    OCT_ASSERT(algo_make_spec(&t->config, &t->spec, NULL, NULL) == OCT_OK);
    t->context = nn_context_create(
        &(nn_context_options){.threads = 1, .group = learner_group_members(t->lg)});
    OCT_ASSERT(algo_create(&t->a, t->context, &own, &t->spec, 1) == OCT_OK);
    if (from != NULL) {
        oct_reader reader = {.at = from->bytes, .left = from->length};
        OCT_ASSERT(algo_load(t->a, &reader) == OCT_OK);
    }
    learner_group_begin(t->lg, &t->config, &t->spec, T, t->a);
    oct_rng_init(&t->rng, 5, 0);
}

static void
team_begin(team *t, uint32_t size, const saved *from)
{
    config_experiment config = fixture_config();
    team_begin_as(t, &config, 0, size, from);
}

static void
team_end(team *t)
{
    learner_group_destroy(t->lg);
    algo_destroy(t->a);
    nn_context_destroy(t->context);
}

static void
team_update(team *t)
{
    float numbers[ALGO_NUMBERS_MAX];
    algo_batch batch = fixture_batch(&t->rng, B, OBS, ACTIONS);
    OCT_ASSERT(learner_group_update(t->lg, t->a, &batch, 1e-2f, NULL, numbers) == OCT_OK);
    fixture_batch_free(&batch);
}

static void
team_save(team *t, saved *out)
{
    oct_writer writer = {.base = out->bytes, .capacity = sizeof(out->bytes)};
    learner_group_save(t->lg, t->a, &writer);
    OCT_ASSERT(!writer.failed);
    out->length = writer.used;
}

// Rank 0 alone takes another target network.
static void
learn_apart(void)
{
    static saved state;
    team t;
    algo *other;
    team_begin(&t, 2, NULL);
    OCT_ASSERT(algo_create(&other, NULL, &t.config, &t.spec, 2) == OCT_OK);
    oct_writer writer = {.base = state.bytes, .capacity = sizeof(state.bytes)};
    algo_save(other, &writer);
    oct_reader reader = {.at = state.bytes, .left = writer.used};
    OCT_ASSERT(algo_load(t.a, &reader) == OCT_OK);
    team_update(&t);
    team_end(&t);
}

static void
test_learners_that_are_apart_end(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        learn_apart();
        _exit(EXIT_SUCCESS);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_APART);
}

// A saved state is that of all: another group goes on from it as this one does.
static void
test_what_is_saved_goes_on_in_another_group(void **state)
{
    (void)state;
    static saved half, whole, again;
    team t;
    team_begin(&t, 3, NULL);
    for (int i = 0; i < UPDATES; i++) {
        team_update(&t);
    }
    team_save(&t, &half);
    oct_rng rng = t.rng;
    team_update(&t);
    team_save(&t, &whole);
    team_end(&t);
    team_begin(&t, 3, &half);
    t.rng = rng;
    team_update(&t);
    team_save(&t, &again);
    team_end(&t);
    assert_int_equal(again.length, whole.length);
    assert_memory_equal(again.bytes, whole.bytes, whole.length);
}

// At the end of the budget, entropy is nearly all that counts.
static config_experiment
config_of_entropy(void)
{
    config_experiment config = reinforce_fixture_config();
    config.algo.name = CONFIG_ALGO_VTRACE;
    config.algo.entropy_cost = 0;
    config.algo.entropy_cost_final = 1000;
    return config;
}

// The norm of the policy's gradient there.
static float
gradient_at_the_end(uint32_t size)
{
    config_experiment config = config_of_entropy();
    float numbers[ALGO_NUMBERS_MAX];
    team t;
    team_begin_as(&t, &config, REINFORCE_STEPS, size, NULL);
    algo_batch batch = reinforce_fixture_batch(&t.rng, &t.spec, B, REINFORCE_STEPS);
    batch.spent = 1;
    T_OK(learner_group_update(t.lg, t.a, &batch, 1e-2f, NULL, numbers));
    fixture_batch_free(&batch);
    team_end(&t);
    return fixture_number(&config, numbers, "policy_grad_norm");
}

static void
test_all_learners_know_how_much_of_the_budget_is_spent(void **state)
{
    (void)state;
    double alone = (double)gradient_at_the_end(1);
    assert_true(alone > 1);
    T_NEAR((double)gradient_at_the_end(3), alone, 1e-4 * alone, 0);
}

static void
test_learners_that_do_not_wait_know_how_much_of_the_budget_is_spent(void **state)
{
    (void)state;
    config_experiment config = config_of_entropy();
    oct_err err;
    uint32_t round = 0;
    team t;
    config.learner.asynchronous = true;
    config.learner.staleness_max = 1;
    team_begin_as(&t, &config, REINFORCE_STEPS, 2, NULL);
    learner_async *others = learner_group_async(t.lg);
    learner_batch *batch = learner_batch_create(&t.spec, B, REINFORCE_STEPS);
    algo_batch columns = reinforce_fixture_batch(&t.rng, &t.spec, B, REINFORCE_STEPS);
    batch->view = columns;
    batch->view.spent = 1;
    assert_true(learner_async_give(others, batch, 1e-3f, false));
    while (learner_async_take(others, &err) == NULL) {
        group_wait(round++);
    }
    T_OK(err);
    assert_true(fixture_number(&config, batch->numbers, "loss") < -100);
    fixture_batch_free(&columns);
    learner_batch_destroy(batch);
    team_end(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learners_that_are_apart_end),
        cmocka_unit_test(test_what_is_saved_goes_on_in_another_group),
        cmocka_unit_test(test_all_learners_know_how_much_of_the_budget_is_spent),
        cmocka_unit_test(test_learners_that_do_not_wait_know_how_much_of_the_budget_is_spent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
