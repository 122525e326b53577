// The enumerated models and the exact solver against exact values of another program
// (tests/data/toy_text): so the models are Gymnasium's in every state, visited or not.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include "envs/env_native.h"
#include "envs/env_options.h"
#include "envs/env_registry.h"
#include "tests/envs/toy_reference.h"
#include "tests/envs/toy_solver.h"

#define STATES_MAX  704
#define ACTIONS_MAX 6

static octet_env_handle *
handle_of(const toy_variant *variant)
{
    oct_reason why = {""};
    env_options options;
    octet_env_handle *handle = NULL;
    T_OK(env_options_init(&options, variant->options, &why));
    octet_env_config config = {.size = sizeof(config),
                               .count = 1,
                               .options = options.items,
                               .option_count = options.count};
    const octet_env_api *api = env_registry_find(variant->id);
    if (api->create(&config, &handle, why.text, sizeof(why.text)) != 0) {
        fail_msg("%s", why.text);
    }
    env_options_fini(&options);
    return handle;
}

static void
near(double got, double want, const char *where, const char *what)
{
    if (!(fabs(got - want) <= 1e-10 * fmax(1, fabs(want)))) {
        fail_msg("%s, %s: %.17g, want %.17g", where, what, got, want);
    }
}

static void
test_solver_finds_the_exact_values(void **state)
{
    (void)state;
    static toy_table table;
    static double v[STATES_MAX], q[STATES_MAX * ACTIONS_MAX];
    toy_variant variants[TOY_VARIANTS_MAX];
    unsigned count = toy_variants(variants), rows = 0;
    char solved[TOY_CELL_BYTES] = "", discount[TOY_CELL_BYTES] = "";
    uint32_t actions = 0;
    toy_table_open(&table, "optimal_values.csv");
    for (; toy_table_next(&table); rows++) {
        if (strcmp(solved, table.cell[0]) != 0 || strcmp(discount, table.cell[1]) != 0) {
            memcpy(solved, table.cell[0], sizeof(solved));
            memcpy(discount, table.cell[1], sizeof(discount));
            octet_env_handle *handle = handle_of(toy_variant_find(variants, count, solved));
            const toy_model *model = env_native_task_of(handle)->model;
            actions = model->actions;
            toy_solve(model, strtod(discount, NULL), v, q);
            env_native_destroy(handle);
        }
        unsigned long s = strtoul(table.cell[2], NULL, 10);
        near(v[s], strtod(table.cell[3], NULL), solved, "v");
        for (uint32_t a = 0; a < actions; a++) {
            near(q[s * actions + a], strtod(table.cell[4 + a], NULL), solved, "q");
        }
    }
    assert_true(rows > 0);
    toy_table_close(&table);
}

// Fickle passengers are not in the model.
static bool
is_of_model(const toy_variant *variant)
{
    return strcmp(variant->id, "Blackjack-v1") != 0 && strstr(variant->options, "fickle") == NULL;
}

// The policy that optimal_values.csv has for this file and discount.
static void
policy_read(uint32_t *policy, const char *file, const char *discount)
{
    static toy_table table;
    toy_table_open(&table, "optimal_values.csv");
    while (toy_table_next(&table)) {
        if (strcmp(table.cell[0], file) == 0 && strcmp(table.cell[1], discount) == 0) {
            policy[strtoul(table.cell[2], NULL, 10)] =
                (uint32_t)strtoul(table.cell[table.count - 1], NULL, 10);
        }
    }
    toy_table_close(&table);
}

static void
test_solver_finds_the_return_within_the_limit(void **state)
{
    (void)state;
    static toy_table table;
    toy_variant variants[TOY_VARIANTS_MAX];
    unsigned count = toy_variants(variants), rows = 0;
    toy_table_open(&table, "optimal_returns.csv");
    while (toy_table_next(&table)) {
        const toy_variant *variant = toy_variant_find(variants, count, table.cell[0]);
        if (is_of_model(variant)) {
            uint32_t policy[STATES_MAX] = {0};
            octet_env_handle *handle = handle_of(variant);
            const toy_model *model = env_native_task_of(handle)->model;
            uint32_t limit = env_native_spec(handle)->max_episode_steps;
            limit = limit > 0 ? limit : 20000;
            policy_read(policy, table.cell[0], table.cell[1]);
            double got = toy_return(model, policy, limit);
            near(got, strtod(table.cell[5], NULL), variant->file, "return");
            assert_true(toy_return_best(model, limit) >= got - 1e-9);
            env_native_destroy(handle);
            rows++;
        }
    }
    assert_true(rows > 0);
    toy_table_close(&table);
}

static void
test_solver_plays_blackjack(void **state)
{
    (void)state;
    static toy_table table;
    uint32_t policy[STATES_MAX] = {0};
    unsigned rows = 0;
    toy_table_open(&table, "blackjack_values.csv");
    for (; toy_table_next(&table); rows++) {
        int total = atoi(table.cell[0]), dealer = atoi(table.cell[1]), ace = atoi(table.cell[2]);
        double q[2];
        toy_blackjack(total, dealer, ace, q);
        near(q[0], strtod(table.cell[3], NULL), "Blackjack", "stick");
        near(q[1], strtod(table.cell[4], NULL), "Blackjack", "hit");
        policy[(total * 11 + dealer) * 2 + ace] = (uint32_t)atoi(table.cell[5]);
    }
    assert_true(rows > 0);
    toy_table_close(&table);
    T_NEAR(toy_blackjack_return(policy), -0.043113105413477015, 1e-12, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solver_finds_the_exact_values),
        cmocka_unit_test(test_solver_finds_the_return_within_the_limit),
        cmocka_unit_test(test_solver_plays_blackjack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
