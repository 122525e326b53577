// sweep.json, and what stands behind --over. What is accepted prints and parses back to the same,
// and each of its points is one that the keys take.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sweep/cli_sweep_file.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "tests/fuzz/fuzz.h"

#define DRAWS 3

static oct_reason reason;
static config_experiment base;

static void
expect_round_trip(const cli_sweep_plan *plan)
{
    cli_sweep_plan again = {.count = 0};
    char *printed = cli_sweep_file_print(plan);
    OCT_ASSERT(cli_sweep_file_parse("again", printed, strlen(printed), &base, &again, &reason) ==
               OCT_OK);
    char *twice = cli_sweep_file_print(&again);
    OCT_ASSERT(strcmp(printed, twice) == 0);
    cli_sweep_plan_fini(&again);
    free(printed);
    free(twice);
}

static void
ask(cli_sweep_plan *plan)
{
    uint32_t trial, seed;
    cli_sweep_plan_resume(plan);
    OCT_ASSERT(cli_sweep_plan_count(plan, CLI_SWEEP_RUNNING) == 0);
    if (cli_sweep_plan_next(plan, &trial, &seed)) {
        char name[CLI_SWEEP_NAME_MAX], words[64];
        OCT_ASSERT(trial < plan->count && seed < plan->seeds);
        OCT_ASSERT(cli_sweep_plan_name(plan, trial, seed, name)[0] == 't');
        (void)cli_sweep_plan_words(plan, trial, words, sizeof(words));
        (void)cli_sweep_plan_return(plan, trial);
    }
}

static void
expect_settings(const cli_space *space, const cli_point *point)
{
    static config_experiment config;
    char setting[CONFIG_NAME_MAX + CLI_SPACE_VALUE_MAX + 2];
    config = base;
    for (size_t i = 0; i < space->count; i++) {
        (void)snprintf(setting, sizeof(setting), "%s=%s", space->key[i].name, point->value[i]);
        OCT_ASSERT(config_set(&config, setting, reason.text, sizeof(reason.text)) == OCT_OK);
    }
}

static void
over(const char *text)
{
    static cli_point point;
    cli_space space = {.count = 0};
    if (cli_space_add(&space, text, &base, &reason) == OCT_OK) {
        char words[128];
        (void)cli_space_words(&space.key[0], words, sizeof(words));
        for (uint64_t i = 0; i < DRAWS; i++) {
            cli_space_draw(&space, 1, i, &point);
            expect_settings(&space, &point);
        }
        if (!cli_space_has_range(&space)) {
            cli_space_grid(&space, cli_space_grid_size(&space) - 1, &point);
            expect_settings(&space, &point);
        }
        fuzz_accept();
    }
    cli_space_fini(&space);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_sweep_plan plan = {.count = 0};
    config_default(&base);
    char *text = fuzz_text(data, size);
    reason.text[0] = '\0';
    oct_err err = cli_sweep_file_parse("sweep.json", text, size, &base, &plan, &reason);
    OCT_ASSERT(err == OCT_OK || err == OCT_EINVAL);
    OCT_ASSERT((err == OCT_OK) == (reason.text[0] == '\0'));
    if (err == OCT_OK) {
        expect_round_trip(&plan);
        ask(&plan);
        fuzz_accept();
    }
    cli_sweep_plan_fini(&plan);
    if (size > 0 && text[0] != '{') {
        over(text);
    }
    free(text);
    return 0;
}

static void
seed_of(const char *values, cli_sweep_method method)
{
    cli_sweep_plan plan = {.method = method, .seeds = 2, .first_seed = 1, .wanted = 2};
    config_default(&base);
    OCT_ASSERT(cli_space_add(&plan.space, values, &base, &reason) == OCT_OK);
    cli_sweep_plan_fill(&plan);
    plan.trial[0]->run[0] = (cli_sweep_run){.state = CLI_SWEEP_FINISHED, .mean = 490.5};
    char *text = cli_sweep_file_print(&plan);
    fuzz_seed(text, strlen(text));
    free(text);
    cli_sweep_plan_fini(&plan);
}

void
fuzz_seeds(void)
{
    static const char *const texts[] = {
        "algo.learning_rate=1e-4..1e-2",
        "algo.learning_rate=lin:1e-4..1e-2",
        "learner.batch_size=log:16..1_024",
        "network.hidden=[32,32],[64]",
        "algo.name=dqn,sac",
        "algo.n_step=1..4",
        "algo.learning_rate_final=same,0.001",
        "env.id=\"a,b\",../x.so",
    };
    static const char *const bad[] = {
        "algo.lerning_rate=1..2",
        "algo.discount=log:0..1",
        "algo.n_step=4..1",
        "algo.learning_rate=nan..inf",
        "run.seed=1,2",
        "=",
        "{\"format\": 1}",
        "{\"format\": 2}",
        "{",
    };
    seed_of("algo.n_step=1,2", CLI_SWEEP_GRID);
    seed_of("algo.learning_rate=1e-4..1e-2", CLI_SWEEP_RANDOM);
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        fuzz_seed(texts[i], strlen(texts[i]));
    }
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        fuzz_seed_bad(bad[i], strlen(bad[i]));
    }
}
