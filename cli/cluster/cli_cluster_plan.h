#ifndef CLI_CLUSTER_CLI_CLUSTER_PLAN_H
#define CLI_CLUSTER_CLI_CLUSTER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/run/cli_preflight.h"
#include "cli/run/cli_settings.h"
#include "common/oct_args.h"
#include "config/config.h"
#include "proto/wire.h"

// The plan of `octet cluster ssh|slurm|k8s FILE …`: an experiment, checked as `octet train` checks
// it, as a list of daemons with their command lines. The backend decides later on which host each
// daemon runs. A backend has options of its own and shares these (oct_args_shared):
//
//     cli_cluster_options options;
//     cli_cluster_options_init(&options, "cluster slurm");
//     … cli_args_parse with .shared = {{cli_cluster_rows, …, CLI_CLUSTER_GROUP}}
//     cli_cluster_plan *plan = cli_cluster_plan_make(&options);
//     … cli_cluster_layout: where things are, as the daemons see them …
//     cli_cluster_plan_lay_out(plan, &layout);         fills plan->daemon
//     … print or start plan->daemon[i] …
//     cli_cluster_plan_free(plan);
//
// Threads: the main thread. Errors: a mistake of the user ends the process with a message.

#define CLI_CLUSTER_DAEMONS_MAX  (CONFIG_SHARDS_MAX + 5)
#define CLI_CLUSTER_WORDS_MAX    48
#define CLI_CLUSTER_SETTINGS_MAX 48 // of --set; octet-learner takes 64, some of which the plan adds
#define CLI_CLUSTER_ACTORS_MAX   (WIRE_PLACES_MAX - 1) // peers of a run, less an evaluator
#define CLI_CLUSTER_NAME_MAX     40 // of a run: a DNS label, with room for what a backend adds
#define CLI_CLUSTER_EXPERIMENT   "experiment.yaml" // the usual name of plan->text as a file

typedef struct cli_cluster_options {
    const char *command; // named in messages: "cluster ssh"
    const char *file;
    cli_settings settings; // at most CLI_CLUSTER_SETTINGS_MAX
    uint32_t actors;       // 0: actor.count of the experiment
    uint32_t evaluators;   // 1 if not given
    uint32_t relays;       // 0: none; set by the backend's own option
    uint32_t port;         // the learner's, the lowest of all (see below); 0 with has_late_port
    const char *name;      // of the run; NULL: run.name, or the environment
    const char *run_dir;   // as given; NULL: the backend's default
    const char *certs;     // a folder of octet certs; NULL: the backend makes certificates
    bool insecure;         // without TLS: tcp:// and --insecure; never together with certs
    bool is_trusted;       // --trust (cli_trust.h)
} cli_cluster_options;

// --set --actors --learners --evaluators --port --name --run-dir --certs --insecure --trust, FILE.
// Their struct is a cli_cluster_options.
extern const oct_arg cli_cluster_rows[];
#define CLI_CLUSTER_GROUP 1 // of these options in --help

// Base ports, from options->port (5555) on: the learner has two, a replay three
// (docs/reference.md, Addresses).
#define CLI_CLUSTER_PORT               5555u
#define CLI_CLUSTER_PORT_REPLAY        5u  // added to the learner's
#define CLI_CLUSTER_PORT_DATA          10u // of a data set beside what actors send
#define CLI_CLUSTER_PORT_SHARD         15u // of a second shard of replay; each further one 5 more
#define CLI_CLUSTER_PORT_LEARNER_COUNT 2u
#define CLI_CLUSTER_PORT_REPLAY_COUNT  3u

// Hosts and paths as the daemons see them, on their hosts or in their containers. A text may have a
// mark ("@HEAD@") that the backend replaces later. The texts stay the caller's, until
// cli_cluster_plan_free.
typedef struct cli_cluster_layout {
    const char *learner_host; // by which actors and evaluators reach the learner
    const char *replay_host;  // by which learner, actors and evaluators reach replay
    const char *data_host;    // by which the learner reaches the replay of a data set
    const char *experiment;   // the file with plan->text, for the learner
    const char *run_dir;      // the learner's
    const char *replay_dir;   // replay keeps its table in a file here; NULL: in memory only
    const char *certs;        // a folder with one for each role in it; NULL with --insecure
    const char *relay;        // address on which each relay listens; only with relays
    // Address at which actors reach a relay, which the learner passes to them. NULL: relay, which
    // actors get by --relay.
    const char *relay_announced;
    bool actors_give_up; // a day after the learner's last answer, since no supervisor restarts them
    bool has_late_port;  // ports are marks, @PORT+5@: the first port is known only to the job
} cli_cluster_layout;

typedef struct cli_cluster_daemon {
    // "replay" ("replay-1" … of shards), "data", "learner", "evaluator", "relay", "actor"
    const char *name;
    const char *role; // of its certificate, and of the folder in certs: "replay" of "data"
    uint32_t count;   // instances with this command line; above 1 for actors, evaluators, relays
    uint32_t port;    // the first port on which it listens; 0: it only dials
    uint32_t ports;   // count of ports on which it listens
    bool may_finish;  // exit code 0 ends the run, as for the learner, and is no failure
    bool is_data;     // reads replay.data and keeps nothing
    const char *env;  // "NAME=value" for its environment, or NULL
    const char *argv[CLI_CLUSTER_WORDS_MAX]; // NULL-terminated; [0] the program, "octet-learner"
} cli_cluster_daemon;

typedef struct cli_cluster_plan {
    const cli_cluster_options *options;
    config_experiment config;            // resolved; net.* and actor.count as in the file
    char *text;                          // config as YAML, which the learner reads
    char name[CLI_CLUSTER_NAME_MAX + 1]; // [a-z0-9-], begins and ends with a letter or digit
    cli_environment environment;         // as the preflight found it
    uint32_t actors;                     // 0: the run learns from a data set alone
    uint32_t relays;                     // options->relays, which a backend may change
    uint32_t learner_cpus; // of the learner's threads in all its processes, and of its loop
    cli_cluster_daemon daemon[CLI_CLUSTER_DAEMONS_MAX]; // in the order to start them
    size_t count;
    char **words; // owned; daemon[].argv points to them
    size_t word_count;
} cli_cluster_plan;

// Returns the count of ports that a plan uses, from its first one on.
uint32_t cli_cluster_plan_ports(const cli_cluster_plan *plan);
void cli_cluster_options_init(cli_cluster_options *options, const char *command);

// Loads FILE and --set, opens the environment (cli_preflight.h), and checks that --certs has what
// is needed. On a mistake ends the process with exit code 2 or 1 and names its file or option.
// Notes on standard error which files of this machine the daemons must find under the same path.
cli_cluster_plan *cli_cluster_plan_make(const cli_cluster_options *options);
// Fills plan->daemon. The learner gets --resume, which begins a new run where its folder has none,
// so that a backend may start it again at any time. Its exit code is 0 only when the run is
// finished, and 143 after a signal. Ends the process if the last port is above 65535.
void cli_cluster_plan_lay_out(cli_cluster_plan *plan, const cli_cluster_layout *layout);
// Adds a copy of word to a daemon's command line.
void cli_cluster_plan_add(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const char *word);
// Ends the process if the learner would not admit that count of actors: over TLS all of them have
// one certificate. cli_cluster_plan_make has checked plan->actors.
void cli_cluster_plan_actors_check(const cli_cluster_plan *plan, uint32_t actors);
// Returns NULL if the plan has no daemon of that name.
cli_cluster_daemon *cli_cluster_plan_find(cli_cluster_plan *plan, const char *name);
void cli_cluster_plan_free(cli_cluster_plan *plan);

#endif // CLI_CLUSTER_CLI_CLUSTER_PLAN_H
