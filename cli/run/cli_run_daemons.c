// Adds the daemons of a run on this machine to its supervisor, with their names and command lines.

#include "cli/run/cli_run_daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_blas.h"
#include "envs/env.h"
#include "net/net_daemon.h"
#include "nn/group/group_launch.h"

#define EVALUATOR_WAIT_S "15" // to start and to open an environment on a busy machine
#define NAME_MAX_BYTES   32

// Adds a daemon. A learner that starts again resumes from its checkpoint.
static uint32_t
add(cli_supervisor *supervisor, const cli_run_request *q, const char *name, const char *file,
    const char *const *argv)
{
    bool is_learner = file == q->learner;
    cli_daemon_request daemon = {
        .name = name,
        .file = file,
        .argv = argv,
        .again = is_learner && !q->resume ? "--resume" : NULL,
        .may_finish = is_learner,
        .one_of_many = strncmp(name, "actor-", strlen("actor-")) == 0,
        .runs_environment = file == q->actor,
        .has_pulse = true,
    };
    return cli_supervisor_add(supervisor, &daemon);
}

// Adds the replay of one shard, which holds what actors send.
static void
replay_add(cli_supervisor *supervisor, const cli_run_request *q, const char *pid, uint32_t shard)
{
    const config_experiment *config = q->config;
    char interval[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    char listen[CONFIG_TEXT_MAX], path[CONFIG_TEXT_MAX + NAME_MAX_BYTES];
    bool is_durable = strcmp(config->replay.path, "none") != 0;
    (void)snprintf(interval, sizeof(interval), "%g", config->replay.sync_interval_s);
    config_shard_name("replay", shard, name, sizeof(name));
    config_shard_name(config->replay.path, shard, path, sizeof(path));
    config_replay_address(config, shard, listen);
    const char *const argv[] = {"octet-replay",
                                "--listen",
                                listen,
                                "--follow-parent",
                                pid,
                                CLI_PULSE_OPTIONS,
                                is_durable ? "--path" : NULL, // NULL ends the list here
                                path,
                                "--sync",
                                config_sync_words[config->replay.sync],
                                "--sync-interval",
                                interval,
                                NULL};
    (void)add(supervisor, q, name, q->replay, argv);
}

// Adds the replay of a data set, beside the shards or instead of them.
static void
data_add(cli_supervisor *supervisor, const cli_run_request *q, const char *pid)
{
    bool is_offline = config_is_offline(q->config);
    const char *const argv[] = {"octet-replay",
                                "--listen",
                                is_offline ? CLI_RUN_REPLAY : CLI_RUN_DATA,
                                "--follow-parent",
                                pid,
                                CLI_PULSE_OPTIONS,
                                "--data",
                                q->config->replay.data,
                                NULL};
    (void)add(supervisor, q, is_offline ? "replay" : "data", q->replay, argv);
}

static uint32_t
learner_add(cli_supervisor *supervisor, const cli_run_request *q, const char *pid)
{
    enum { MORE = 2 * NET_DAEMON_METRICS_MAX + 2 }; // --resume and NULL, too
    const char *const begin[] = {"octet-learner",     "config.yaml",
                                 "--run-dir",         ".",
                                 "--follow-parent",   pid,
                                 CLI_PULSE_OPTIONS,   "--environment",
                                 CLI_RUN_ENVIRONMENT, "--await-evaluator",
                                 EVALUATOR_WAIT_S};
    const char *argv[OCT_COUNTOF(begin) + MORE] = {NULL};
    size_t count = OCT_COUNTOF(begin);
    memcpy(argv, begin, sizeof(begin));
    for (unsigned i = 0; i < q->metrics_count; i++) {
        argv[count++] = "--metrics";
        argv[count++] = q->metrics[i];
    }
    argv[count] = q->resume ? "--resume" : NULL;
    return add(supervisor, q, "learner", q->learner, argv);
}

uint32_t
cli_run_daemons_add(cli_supervisor *supervisor, const cli_run_request *q)
{
    char pid[NAME_MAX_BYTES];
    char threads[NAME_MAX_BYTES];
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    // For processes in Python: NumPy brings an OpenBLAS of its own, which would start a thread for
    // each CPU.
    (void)snprintf(threads, sizeof(threads), "%u", (unsigned)q->config->learner.threads);
    (void)setenv("OPENBLAS_NUM_THREADS", threads, 1);
    if (q->config->learner.blas_kernels == CONFIG_KERNELS_AUTO) {
        (void)oct_blas_clear_environment();
    }
    // mpirun or srun may have started octet train; its variables do not concern the daemons
    group_launch_forget();
    char number[NAME_MAX_BYTES];
    // This user has chosen the code, by the file or the name of the environment, and no other code
    // may run.
    (void)unsetenv("OCTET_PLUGINS");
    const char *plugins = env_is_code(q->config->env.id) ? "--plugins" : NULL;
    const char *const actor[] = {"octet-actor",     "--learner", CLI_RUN_LEARNER,
                                 "--follow-parent", pid,         CLI_PULSE_OPTIONS,
                                 "--index",         number,
                                 plugins, // NULL ends the list here
                                 q->config->env.id, NULL};
    const char *const evaluator[] = {
        "octet-actor",     "--learner",  CLI_RUN_LEARNER, "--follow-parent", pid,
        CLI_PULSE_OPTIONS, "--evaluate", plugins,         q->config->env.id, NULL};
    if (!config_is_offline(q->config)) { // a data set is not sharded
        for (uint32_t i = 0; i < config_shards(q->config); i++) {
            replay_add(supervisor, q, pid, i);
        }
    }
    if (config_data_windows(q->config) > 0) {
        data_add(supervisor, q, pid);
    }
    uint32_t index = learner_add(supervisor, q, pid);
    uint32_t actors = config_is_offline(q->config) ? 0 : q->config->actor.count;
    for (uint32_t i = 0; i < actors; i++) {
        char name[NAME_MAX_BYTES];
        (void)snprintf(name, sizeof(name), "actor-%u", (unsigned)i);
        (void)snprintf(number, sizeof(number), "%u", (unsigned)i);
        (void)add(supervisor, q, name, q->actor, actor);
    }
    (void)add(supervisor, q, "evaluator", q->actor, evaluator);
    return index;
}
