// Checks a run before it starts: opens its environment and builds its network.
//
// The environment is opened in a child process, because a plug-in may crash or hang. The child
// writes what it finds into shared memory as it goes: if it then hangs in a reset, the parent still
// knows that the environment could be opened, and what was measured.

#include "cli/run/cli_preflight.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "actor/actor_evaluate.h"
#include "actor/actor_spec.h"
#include "algos/algo.h"
#include "cli/cli_data.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_option.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "envs/env.h"
#include "envs/env_child.h"
#include "learner/learner_environment.h"
#include "learner/learner_publisher.h"
#include "learner/learner_source.h"
#include "quantizer/quantizer_scaling.h"
#include "replay/replay_config.h"
#include "replay/replay_data.h"

#define ARENA_BYTES (64u << 10) // for one unpacked environment

#define CHANNELS_USUAL 16 // of a picture; a first side up to this may be the channels

// What the child finds out. The memory is shared, because the child may never return from a reset.
typedef struct verdict {
    atomic_bool is_open; // err and the union are written
    oct_err err;
    union {
        char reason[CONFIG_NAME_MAX + ENV_REASON_BYTES];
        cli_environment environment;
    };
    uint32_t timing_ms;   // time limit of the measurement; 0: no measurement
    uint64_t measured_ns; // when the measurement began
    cli_timing timing;
} verdict;

typedef struct opening {
    const config_experiment *config;
    verdict *found;
} opening;

// Packs the description of an environment into bytes: a cli_environment contains no pointers, so it
// can pass through shared memory and into a file.
static void
environment_pack(cli_environment *out, const wire_env_spec *spec)
{
    uint8_t *bytes = wire_env_pack(spec, &out->length);
    OCT_ASSERT(out->length <= sizeof(out->bytes));
    memcpy(out->bytes, bytes, out->length);
    free(bytes);
}

// Unpacks an environment. out points into the arena, which the caller destroys.
static wire_arena *
environment_unpack(wire_env_spec *out, const cli_environment *environment)
{
    wire_arena *arena = wire_arena_create(ARENA_BYTES);
    oct_err err = wire_env_unpack(out, arena, environment->bytes, environment->length);
    OCT_ASSERT(err == OCT_OK); // it was packed here
    return arena;
}

// Checks the table that the learner would ask replay for.
static oct_err
table_check(const config_experiment *config, const policy_spec *spec, const algo_wants *wants,
            oct_reason *why)
{
    const learner_source_options options = {
        .config = config, .spec = spec, .wants = *wants, .batch_size = config->learner.batch_size};
    OCT_TRY(learner_source_check(&options, why));
    wire_configure table = learner_source_table(&options);
    OCT_TRY(replay_config_check(&table, why));
    replay_config_blocks blocks = replay_config_layout(&table);
    uint32_t size = config->learner.batch_size;
    uint32_t most = replay_config_batch_windows(&table, &blocks);
    if (config_shards(config) > 1 || size <= most) {
        return OCT_OK;
    }
    uint64_t capacity = replay_config_capacity_for(&table, size);
    if (capacity == 0) {
        return oct_refuse(
            why, "learner.batch_size: %u windows, but a reply of replay can hold at most %u", size,
            most);
    }
    return oct_refuse(why,
                      "replay.capacity: %llu rows, from which replay can sample at most %u windows "
                      "at once, fewer than learner.batch_size: %u; %llu rows are enough",
                      (unsigned long long)config->replay.capacity, most, size,
                      (unsigned long long)capacity);
}

// Makes the network that the learner would make for the environment, and what its algorithm wants.
static oct_err
spec_make(policy_spec *spec, algo_wants *wants, const config_experiment *config,
          const wire_env_spec *own, oct_reason *why)
{
    learner_environment_of(spec, own);
    OCT_TRY(algo_make_spec(config, spec, wants, why));
    spec->normalise = config->policy.scale_observations && quantizer_is_scalable(spec);
    return policy_spec_check(spec, why);
}

// Checks everything that the learner would refuse at its start, without the learner.
static oct_err
network_check(const config_experiment *config, const wire_env_spec *own, oct_reason *why)
{
    policy_spec spec;
    algo_wants wants;
    OCT_TRY(spec_make(&spec, &wants, config, own, why));
    OCT_TRY(learner_publisher_check(config, &spec, why));
    return table_check(config, &spec, &wants, why);
}

// Returns the key that the reason of a failed open is about: env.options if it names an option.
static const char *
key_of(const config_experiment *config, const char *reason)
{
    char name[CONFIG_TEXT_MAX];
    bool is_option = config->env.options[0] != '\0' && strstr(reason, " option") != NULL;
    for (const char *one = config->env.options; one != NULL && *one != '\0';) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(one, "="), one);
        is_option = is_option || strstr(reason, name) != NULL;
        one = oct_option_end(one);
        one += one != NULL && *one == ',';
    }
    return is_option                            ? "env.options"
           : strstr(reason, "mjcf_dir") != NULL ? "env.mjcf_dir"
                                                : "env.id";
}

// Runs in the child.
static void
open_and_pack(void *arg, void *answer)
{
    const opening *wanted = arg;
    const config_experiment *config = wanted->config;
    verdict *out = wanted->found;
    env *e = NULL;
    const env_request request = {.id = config->env.id,
                                 .options = config->env.options,
                                 .mjcf_dir = config->env.mjcf_dir,
                                 .count = 1,
                                 .seed = config->run.seed,
                                 .autoreset = true};
    static actor_spec own;
    oct_reason why = {""};
    (void)answer;
    out->err = env_open(&e, &request, &why);
    if (out->err != OCT_OK) {
        (void)snprintf(out->reason, sizeof(out->reason), "%s: %s", key_of(config, why.text),
                       why.text);
        return;
    }
    out->err = actor_spec_init(&own, env_spec(e), &why);
    if (out->err == OCT_OK) {
        environment_pack(&out->environment, &own.wire);
    } else {
        (void)snprintf(out->reason, sizeof(out->reason), "env.id: %s", why.text);
    }
    atomic_store(&out->is_open, true);
    if (out->err == OCT_OK && out->timing_ms > 0) {
        const struct itimerval end = {
            .it_value = {out->timing_ms / 1000, out->timing_ms % 1000 * 1000}};
        out->measured_ns = oct_clock_ns();
        (void)setitimer(ITIMER_REAL, &end, NULL); // its signal ends this process
        // what the environment prints goes to the parent (said_show)
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        cli_timing_measure(e, &out->timing);
    }
    env_close(e);
}

// Checks that the learner's table can be made from the data set.
static oct_err
data_fit(const replay_data *data, const config_experiment *config, const wire_env_spec *own,
         oct_reason *why)
{
    policy_spec spec;
    learner_source_options options = {
        .config = config, .spec = &spec, .batch_size = config->learner.batch_size};
    learner_environment_of(&spec, own);
    OCT_TRY(algo_make_spec(config, &spec, &options.wants, why));
    wire_configure wanted = learner_source_table(&options), fitted;
    return replay_data_fit(&fitted, data, &wanted, why);
}

// Checks that replay.data was recorded in this environment, and has what the algorithm learns from.
static oct_err
data_check(const config_experiment *config, const wire_env_spec *own, oct_reason *why)
{
    if (strcmp(config->replay.data, "none") == 0) {
        return OCT_OK;
    }
    oct_reason text;
    replay_data *data;
    oct_err err = replay_data_open(&data, config->replay.data, &text);
    if (err != OCT_OK) {
        return oct_fail(why, err, "replay.data: %s", text.text);
    }
    err = cli_data_check_env(&data->header->env, own, &text);
    if (err != OCT_OK) {
        (void)oct_refuse(why, "replay.data: %s was not recorded in the run's environment: %s",
                         config->replay.data, text.text);
    } else {
        err = data_fit(data, config, own, why);
    }
    replay_data_close(data);
    return err;
}

// ---- replay.path

// Returns why replay cannot keep a table at path, or NULL if it can.
static const char *
table_trouble(const char *path)
{
    char folder[CLI_PATH_MAX + 2 * CONFIG_TEXT_MAX];
    struct stat file;
    if (oct_file_stat(path, &file) == 0) {
        bool is_refused = access(path, R_OK | W_OK) != 0;
        return S_ISDIR(file.st_mode)    ? "it is a folder"
               : !S_ISREG(file.st_mode) ? "it is not a regular file"
               : is_refused             ? oct_file_strerror(errno)
                                        : NULL;
    }
    (void)snprintf(folder, sizeof(folder), "%s", path);
    bool is_new = errno == ENOENT && (!oct_file_cut_last(folder) || access(folder, W_OK) == 0);
    return is_new ? NULL : oct_file_strerror(errno);
}

// Checks replay.path. Of a run folder that does not exist yet, replay reports problems later; of a
// folder that cannot be written, cli_folder_open does.
static oct_err
tables_check(const cli_experiment *experiment, const config_experiment *config, oct_reason *why)
{
    char name[CONFIG_TEXT_MAX + 32], path[CLI_PATH_MAX + sizeof(name)];
    const char *run_dir = experiment->run_dir, *configured = config->replay.path;
    bool is_absolute = configured[0] == '/';
    struct stat folder;
    bool is_here = is_absolute || (run_dir != NULL && oct_file_stat(run_dir, &folder) == 0 &&
                                   S_ISDIR(folder.st_mode) && access(run_dir, W_OK) == 0);
    bool is_asked = strcmp(configured, "none") != 0 && !config_is_offline(config);
    for (uint32_t i = 0; is_asked && is_here && i < config_shards(config); i++) {
        config_shard_name(configured, i, name, sizeof(name));
        (void)snprintf(path, sizeof(path), "%s%s%s", is_absolute ? "" : run_dir,
                       is_absolute ? "" : "/", name);
        const char *trouble = table_trouble(path);
        if (trouble != NULL) {
            return oct_refuse(why, "replay.path: %s: %s; " CLI_EXPERIMENT_TABLES, path, trouble);
        }
    }
    return OCT_OK;
}

static void
init_print(void *arg, const char *line)
{
    (void)arg;
    printf("init: %s\n", line);
    (void)fflush(stdout);
}

// Runs learner.init_from on a fresh network, so that a file that does not fit is found before the
// run starts.
oct_err
cli_preflight_init(const cli_environment *environment, const config_experiment *config,
                   learner_init_from_fn tell, oct_reason *why)
{
    if (!learner_init_from_is_wanted(config)) {
        return OCT_OK;
    }
    wire_env_spec own;
    policy_spec spec;
    algo *a = NULL;
    quantizer_observed *observed = NULL;
    wire_arena *arena = environment_unpack(&own, environment);
    learner_environment_of(&spec, &own);
    oct_err err = algo_make_spec(config, &spec, NULL, why);
    if (err == OCT_OK) {
        err = algo_create(&a, NULL, config, &spec, config->run.seed);
        oct_reason_set(why, "algo.name: %s", oct_strerror(err));
    }
    if (err == OCT_OK) {
        bool is_scaled = config->policy.scale_observations && quantizer_is_scalable(&spec);
        observed = is_scaled ? quantizer_observed_create(spec.obs_count) : NULL;
        err = learner_init_from(a, config, &spec, observed, tell, NULL, why);
    }
    quantizer_observed_destroy(observed);
    algo_destroy(a);
    wire_arena_destroy(arena);
    return err;
}

// Copies the child's result out of the shared memory.
static oct_err
verdict_read(cli_environment *out, const verdict *found, cli_timing *timing, oct_reason *why)
{
    if (found->err != OCT_OK) {
        oct_reason_set(why, "%s", found->reason);
        return found->err;
    }
    *out = found->environment;
    if (timing != NULL) {
        *timing = found->timing;
    }
    return OCT_OK;
}

// Prints what an environment writes while it is opened (env_child_said's take). What it writes
// during the measurement also appears in the run's logs, and is dropped here.
static void
said_show(void *arg, const char *bytes, size_t length)
{
    const verdict *found = arg;
    if (!atomic_load(&found->is_open)) {
        (void)fwrite(bytes, 1, length, stderr);
    }
}

// OCT_OK, too, if the environment opened and the measurement then hung or crashed: then the run may
// begin, and timing says what is known.
oct_err
cli_preflight_open(cli_environment *out, const config_experiment *config, uint32_t timeout_ms,
                   cli_timing *timing, oct_reason *why)
{
    oct_reason how;
    char unused;
    verdict *found =
        mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    OCT_ASSERT(found != MAP_FAILED);
    found->timing_ms = timing != NULL ? OCT_MIN(timeout_ms, CLI_TIMING_MS) : 0;
    const env_child_said said = {.take = said_show, .arg = found};
    opening wanted = {config, found};
    oct_err err = env_child_run(&(env_child_call){open_and_pack, &wanted, &unused, sizeof(unused)},
                                timeout_ms + found->timing_ms, &said, &how);
    double took_s = 1e-9 * (double)(oct_clock_ns() - found->measured_ns);
    // the open succeeded: a reset is slow or fails
    if (err != OCT_OK && atomic_load(&found->is_open)) {
        bool is_late = took_s >= 1e-3 * found->timing_ms && !found->timing.is_known;
        found->timing = is_late ? (cli_timing){.is_late = true, .reset_s = took_s} : found->timing;
        err = OCT_OK;
    } else if (err != OCT_OK) {
        oct_reason_set(why, "env.id: opening %s: it %s", config->env.id, how.text);
    }
    if (err == OCT_OK) {
        err = verdict_read(out, found, timing, why);
    }
    (void)munmap(found, sizeof(*found));
    return err;
}

oct_err
cli_preflight_suits(const cli_environment *environment, const config_experiment *config,
                    oct_reason *why)
{
    wire_env_spec own;
    wire_arena *arena = environment_unpack(&own, environment);
    oct_err err = network_check(config, &own, why);
    if (err == OCT_OK) {
        err = data_check(config, &own, why);
    }
    wire_arena_destroy(arena);
    return err;
}

oct_err
cli_preflight_spec(policy_spec *spec, algo_wants *wants, const cli_environment *environment,
                   const config_experiment *config, oct_reason *why)
{
    wire_env_spec own;
    wire_arena *arena = environment_unpack(&own, environment);
    oct_err err = spec_make(spec, wants, config, &own, why);
    wire_arena_destroy(arena);
    return err;
}

// Notes an observation that seems to have its channels first: a convolution would take them as
// rows.
static void
maps_note(const cli_environment *environment, const cli_experiment *experiment,
          const config_experiment *config)
{
    wire_env_spec own;
    policy_spec spec;
    wire_arena *arena = environment_unpack(&own, environment);
    learner_environment_of(&spec, &own);
    const uint32_t *sides = spec.obs_shape;
    if (config_has_maps(config) && spec.obs_rank == 3 && sides[0] <= CHANNELS_USUAL &&
        sides[0] < sides[1] && sides[0] < sides[2]) {
        fprintf(stderr,
                "octet %s: note: convolutions: observations of %u x %u x %u are taken as %u rows "
                "and %u columns of %u channels; if channels come first, the option "
                "channels_first=true puts them last\n",
                experiment->command != NULL ? experiment->command : "train", sides[0], sides[1],
                sides[2], sides[0], sides[1], sides[2]);
    }
    wire_arena_destroy(arena);
}

// Notes what octet env check would warn of, and how the processes share a slow environment.
static void
timing_note(const cli_timing *timing, const cli_experiment *experiment, config_experiment *config)
{
    const char *command = experiment->command != NULL ? experiment->command : "train";
    if (cli_timing_is_endless(timing)) {
        fprintf(stderr,
                "octet %s: note: env.id: %s names no limit of steps, and no episode ended within "
                "%u steps of random actions; evaluations truncate its episodes after %u steps "
                "(evaluation.max_steps)\n",
                command, config->env.id, timing->steps,
                config->evaluation.max_steps > 0 ? config->evaluation.max_steps
                                                 : ACTOR_EVALUATE_STEPS_MAX);
    }
    if (cli_timing_choose(timing, config)) {
        fprintf(stderr,
                "octet %s: note: a reset of %s takes %s%s, a step %s: actor.count: %u, actor.envs: "
                "%u, evaluation.envs: %u, so that slow environments wait for fewer others (set "
                "these keys to choose yourself)\n",
                command, config->env.id, timing->is_late ? "more than " : "",
                cli_text_seconds(timing->reset_s).text, cli_text_seconds(timing->step_s).text,
                config->actor.count, config->actor.envs, config->evaluation.envs);
    }
}

// Whether code may run is checked earlier, by cli_experiment_load. A resumed run, and a run on
// other hosts, is not measured: its environments may run elsewhere, or have been chosen already.
bool
cli_preflight_passes(cli_environment *out, const cli_experiment *experiment,
                     config_experiment *config, learner_init_from_fn tell)
{
    oct_reason why;
    char hint[CLI_TEXT_WORD_MAX + 64] = "";
    cli_timing timing = {0};
    bool is_timed = env_is_code(config->env.id) && !experiment->resume && !experiment->has_hosts;
    oct_err err = OCT_OK;
    if (!experiment->has_hosts) {
        err = tables_check(experiment, config, &why);
    }
    if (err == OCT_OK) {
        err = cli_preflight_open(out, config, CLI_PREFLIGHT_MS, is_timed ? &timing : NULL, &why);
    }
    if (err == OCT_OK) {
        timing_note(&timing, experiment, config);
        err = cli_preflight_suits(out, config, &why);
    }
    if (err == OCT_OK && !experiment->resume) {
        err = cli_preflight_init(out, config, tell, &why);
    }
    if (err == OCT_OK) {
        maps_note(out, experiment, config);
        learner_init_from_frozen(config, tell, NULL);
        return true;
    }
    // Only then does octet env check say more than the reason.
    if (err == OCT_EINTERNAL && env_is_plugin(config->env.id)) {
        (void)snprintf(hint, sizeof(hint), "; for details run 'octet env check %s'",
                       cli_text_word(config->env.id).text);
    }
    if (!cli_experiment_print_error(experiment, config, why.text, hint)) {
        cli_error(experiment->command != NULL ? experiment->command : "train", "%s%s", why.text,
                  hint);
    }
    return false;
}

void
cli_preflight(cli_environment *out, const cli_experiment *experiment, config_experiment *config)
{
    if (!cli_preflight_passes(out, experiment, config, init_print)) {
        exit(CLI_EXIT_USAGE);
    }
}
