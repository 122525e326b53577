// The daemons of a run on this machine: their names and command lines.

#include "cli/run/cli_run_daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_blas.h"
#include "envs/env.h"
#include "group/group_launch.h"
#include "net/net_daemon.h"

#define EVALUATOR_WAIT_S "15" // to start and to open an environment, on a busy machine
#define NAME_MAX_BYTES   32

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

// Of what actors send: a shard.
static void
replay_add(cli_supervisor *supervisor, const cli_run_request *q, const char *pid, uint32_t shard)
{
    const oct_config *config = q->config;
    char interval[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
    char listen[OCT_CONFIG_TEXT_MAX], path[OCT_CONFIG_TEXT_MAX + NAME_MAX_BYTES];
    bool is_durable = strcmp(config->replay.path, "none") != 0;
    (void)snprintf(interval, sizeof(interval), "%g", config->replay.sync_interval_s);
    oct_config_shard_name("replay", shard, name, sizeof(name));
    oct_config_shard_name(config->replay.path, shard, path, sizeof(path));
    oct_config_replay_address(config, shard, listen);
    const char *const argv[] = {"octet-replay",
                                "--listen",
                                listen,
                                "--follow-parent",
                                pid,
                                CLI_PULSE_OPTIONS,
                                is_durable ? "--path" : NULL, // the list ends here without
                                path,
                                "--sync",
                                oct_sync_words[config->replay.sync],
                                "--sync-interval",
                                interval,
                                NULL};
    (void)add(supervisor, q, name, q->replay, argv);
}

// Of a data set: beside the other one, or in its place.
static void
data_add(cli_supervisor *supervisor, const cli_run_request *q, const char *pid)
{
    bool is_offline = oct_config_is_offline(q->config);
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
    enum { MORE = 2 * NET_DAEMON_METRICS_MAX + 2 }; // with --resume and the end of the list
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
    // For Python processes, whose NumPy brings an OpenBLAS: it would start a thread for each CPU.
    (void)snprintf(threads, sizeof(threads), "%u", (unsigned)q->config->learner.threads);
    (void)setenv("OPENBLAS_NUM_THREADS", threads, 1);
    if (q->config->learner.blas_kernels == OCT_KERNELS_AUTO) {
        (void)oct_blas_clear_environment();
    }
    group_launch_forget(); // where mpirun or srun has started octet train, it is the only one here
    char number[NAME_MAX_BYTES];
    // This user chose the code: the file or the name itself, and no other.
    (void)unsetenv("OCTET_PLUGINS");
    const char *plugins = env_is_code(q->config->env.id) ? "--plugins" : NULL;
    const char *const actor[] = {"octet-actor",     "--learner", CLI_RUN_LEARNER,
                                 "--follow-parent", pid,         CLI_PULSE_OPTIONS,
                                 "--index",         number,
                                 plugins, // the list ends here without
                                 q->config->env.id, NULL};
    const char *const evaluator[] = {
        "octet-actor",     "--learner",  CLI_RUN_LEARNER, "--follow-parent", pid,
        CLI_PULSE_OPTIONS, "--evaluate", plugins,         q->config->env.id, NULL};
    if (!oct_config_is_offline(q->config)) { // a data set is not sharded
        for (uint32_t i = 0; i < oct_config_shards(q->config); i++) {
            replay_add(supervisor, q, pid, i);
        }
    }
    if (oct_config_data_windows(q->config) > 0) {
        data_add(supervisor, q, pid);
    }
    uint32_t index = learner_add(supervisor, q, pid);
    uint32_t actors = oct_config_is_offline(q->config) ? 0 : q->config->actor.count;
    for (uint32_t i = 0; i < actors; i++) {
        char name[NAME_MAX_BYTES];
        (void)snprintf(name, sizeof(name), "actor-%u", (unsigned)i);
        (void)snprintf(number, sizeof(number), "%u", (unsigned)i);
        (void)add(supervisor, q, name, q->actor, actor);
    }
    (void)add(supervisor, q, "evaluator", q->actor, evaluator);
    return index;
}
