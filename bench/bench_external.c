// What it takes to hand a batch to another process and get its answer (algo.name: external),
// without anything that is learned: a process of liboctet, and with PYTHON one of octet.Learner;
// with and without the policy's weights in each answer. Beside it the update of the algorithm that
// Octet has. usage: bench_external [quick] [PYTHON]     PYTHON: has numpy, and PYTHONPATH and
// OCTET_LIBRARY set
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_batch.h"
#include "bench/bench_must.h"
#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "include/octet/octet.h"
#include "learner/learner_external.h"

#define REPEATS 11

typedef struct bench_case {
    const char *name;
    config_algo_name own;
    uint32_t hidden, batch, obs, actions;
    bool is_box;
} bench_case;

static const bench_case cases[] = {
    {"dqn_2x32_b128_obs4", CONFIG_ALGO_DQN, 32, 128, 4, 2, false},
    {"dqn_2x256_b256_obs1000", CONFIG_ALGO_DQN, 256, 256, 1000, 6, false},
    {"d4pg_2x256_b256_obs17", CONFIG_ALGO_D4PG, 256, 256, 17, 6, true},
};

static const char python_client[] =
    "import octet, sys\n"
    "learner = octet.Learner.attach(sys.argv[1])\n"
    "weights = learner.weights() if sys.argv[2] == '1' else None\n"
    "for batch in learner:\n"
    "    learner.update(priorities=batch.rewards * 0, weights=weights)\n";

static config_experiment
config_of(const bench_case *what, config_algo_name name)
{
    config_experiment config;
    config_default(&config);
    config.algo.name = name;
    config.network.hidden = (config_ints){.count = 2, .value = {what->hidden, what->hidden}};
    config.learner.batch_size = what->batch;
    return config;
}

static algo *
algorithm_of(const bench_case *what, const config_experiment *config, policy_spec *spec,
             algo_wants *wants)
{
    oct_reason why = {""};
    algo *a = NULL;
    *spec = (policy_spec){.env_id = "Bench-v0",
                          .obs_dtype = POLICY_F32,
                          .obs_count = what->obs,
                          .obs_rank = 1,
                          .obs_shape = {what->obs},
                          .action_kind = what->is_box ? POLICY_BOX : POLICY_DISCRETE,
                          .action_count = what->actions};
    for (uint32_t i = 0; what->is_box && i < what->actions; i++) {
        spec->action_low[i] = -1;
        spec->action_high[i] = 1;
    }
    if (algo_make_spec(config, spec, wants, &why) != OCT_OK) {
        bench_give_up(what->name, why.text);
    }
    bench_must(algo_create(&a, NULL, config, spec, 1), what->name);
    return a;
}

// ---- who learns nothing

static _Noreturn void
client_run(const char *folder, bool has_params)
{
    octet_learner *learner;
    octet_learner_batch batch = {.size = sizeof(batch)};
    while (octet_learner_open(&learner, folder, NULL, 0) == OCTET_LEARNER_EAGAIN) {
        (void)usleep(1000);
    }
    while (octet_learner_next(learner, -1, &batch) == OCTET_LEARNER_OK) {
        const octet_learner_answer answer = {
            .size = sizeof(answer), .has_params = has_params, .priorities = batch.importance};
        if (octet_learner_update(learner, &answer) != OCTET_LEARNER_OK) {
            break;
        }
    }
    _exit(octet_learner_has_ended(learner) ? 0 : 1);
}

static pid_t
client_start(const char *python, const char *folder, bool has_params)
{
    pid_t pid = fork();
    if (pid == 0 && python != NULL) {
        (void)execlp(python, python, "-c", python_client, folder, has_params ? "1" : "0", NULL);
        _exit(127);
    }
    if (pid == 0) {
        client_run(folder, has_params);
    }
    return pid;
}

// ---- timing

static void
tell(const bench_case *what, const char *who, double *us, uint32_t count)
{
    bench_sort(us, REPEATS);
    printf("{\"bench\": \"external\", \"case\": \"%s\", \"who\": \"%s\", \"unit\": \"us\", "
           "\"n\": %" PRIu32 ", \"median\": %.1f, \"min\": %.1f, \"batches_per_s\": %.0f, "
           "\"commit\": \"%s\"}\n",
           what->name, who, count, us[REPEATS / 2], us[0], 1e6 / us[REPEATS / 2], OCT_COMMIT);
    (void)fflush(stdout);
}

static void
updates_time(algo *a, const algo_batch *batch, uint32_t count, double *us)
{
    float numbers[ALGO_NUMBERS_MAX], *priorities = oct_alloc(batch->B * sizeof(float));
    bench_must(algo_update(a, batch, 1e-5f, priorities, numbers), "update"); // also: it is there
    for (int i = 0; i < REPEATS; i++) {
        uint64_t begin_ns = oct_clock_ns();
        for (uint32_t k = 0; k < count; k++) {
            bench_must(algo_update(a, batch, 1e-5f, priorities, numbers), "update");
        }
        us[i] = (double)(oct_clock_ns() - begin_ns) * 1e-3 / count;
    }
    free(priorities);
}

static void
external_time(const bench_case *what, const algo_batch *batch, const char *python, bool has_params,
              uint32_t count)
{
    char folder[] = "/tmp/octet-bench-XXXXXX";
    oct_reason why = {""};
    char who[64];
    double us[REPEATS];
    policy_spec spec;
    algo_wants wants;
    const config_experiment config = config_of(what, CONFIG_ALGO_EXTERNAL);
    learner_external *x = NULL;
    algo *a = algorithm_of(what, &config, &spec, &wants);
    if (mkdtemp(folder) == NULL ||
        learner_external_open(&x, &config, &spec, &wants, a, folder, &why) != OCT_OK) {
        bench_give_up("external", why.text);
    }
    const algo_external_learner its = learner_external_learner(x);
    algo_external_set_learner(a, &its);
    pid_t pid = client_start(python, folder, has_params);
    updates_time(a, batch, count, us);
    learner_external_end(x, "done");
    int status = 1;
    if (waitpid(pid, &status, 0) != pid || status != 0 ||
        algo_updates(a) != 1 + (uint64_t)count * REPEATS) {
        bench_give_up("external", "the learning process did not end correctly");
    }
    (void)snprintf(who, sizeof(who), "%s%s", python != NULL ? "octet.Learner" : "liboctet",
                   has_params ? ", weights each time" : "");
    tell(what, who, us, count);
    learner_external_close(x);
    algo_destroy(a);
    (void)rmdir(folder);
}

static void
case_run(const bench_case *what, const char *python, uint32_t count)
{
    double us[REPEATS];
    oct_rng rng;
    algo_batch batch;
    policy_spec spec;
    algo_wants wants;
    oct_rng_init(&rng, 1, 1);
    const config_experiment config = config_of(what, what->own);
    algo *own = algorithm_of(what, &config, &spec, &wants);
    bench_batch_make(&batch, &rng, &spec, what->batch, 0, 0);
    updates_time(own, &batch, OCT_MAX(count / 10, 1u), us);
    tell(what, "octet's own update", us, OCT_MAX(count / 10, 1u));
    for (int k = 0; k < 2; k++) {
        external_time(what, &batch, NULL, k == 1, count);
    }
    for (int k = 0; python != NULL && k < 2; k++) {
        external_time(what, &batch, python, k == 1, count);
    }
    bench_batch_free(&batch);
    algo_destroy(own);
}

int
main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    const char *python = argc > 1 + quick ? argv[1 + quick] : NULL;
    oct_log_init("bench", OCT_LOG_WARN);
    for (size_t i = 0; i < (quick ? 1 : OCT_COUNTOF(cases)); i++) {
        case_run(&cases[i], python, quick ? 2 : 300);
    }
    return 0;
}
