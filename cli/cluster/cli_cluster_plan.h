#ifndef CLI_CLUSTER_CLI_CLUSTER_PLAN_H
#define CLI_CLUSTER_CLI_CLUSTER_PLAN_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/run/cli_preflight.h"
#include "common/oct_config.h"
#include "proto/wire.h"

// What `octet cluster ssh|slurm|k8s FILE …` starts: an experiment, checked as `octet train` checks
// it, as a list of daemons with their command lines, before anybody knows on which host each runs.
//
// A backend has options of its own and these as a child parser:
//
//     cli_cluster_options options;
//     cli_cluster_options_init(&options, "cluster slurm");
//     … cli_options_parse with {.children = {{&cli_cluster_argp, 0, NULL, 0}, {0}}}, where the
//       backend's parser gives ARGP_KEY_INIT: state->child_inputs[0] = &options;
//     cli_cluster_plan *plan = cli_cluster_plan_make(&options);
//     … cli_cluster_place: where things are, as the daemons see them …
//     cli_cluster_plan_place(plan, &place);            fills plan->daemon
//     … print or start plan->daemon[i] …
//     cli_cluster_plan_free(plan);
//
// Threads: main thread. Errors: what a user has done ends the process with words for a person.

#define CLI_CLUSTER_DAEMONS_MAX  (OCT_SHARDS_MAX + 5)
#define CLI_CLUSTER_WORDS_MAX    48
#define CLI_CLUSTER_SETTINGS_MAX 48 // of --set; octet-learner takes 64, and gets some here
#define CLI_CLUSTER_ACTORS_MAX   (WIRE_PLACES_MAX - 1) // places of a run, less an evaluator
#define CLI_CLUSTER_NAME_MAX     40 // of a run: a DNS label, with room for what a backend adds
#define CLI_CLUSTER_EXPERIMENT   "experiment.yaml" // the usual name of plan->text as a file

typedef struct cli_cluster_options {
    const char *command; // that messages name: "cluster ssh"
    const char *file;
    char *settings[CLI_CLUSTER_SETTINGS_MAX]; // "key=value", in the order given; they stay argv's
    size_t setting_count;
    uint32_t actors;     // 0: actor.count of the experiment
    uint32_t evaluators; // 1 if not given
    char learners[32];   // "learner.count=N" of --learners, which is one of the settings
    uint32_t relays;     // 0: none; else as many as the backend's own option says
    uint32_t port;       // of the learner, the first of all: see below; 0: who has_late_port
    const char *name;    // of the run; NULL: run.name, or the environment
    const char *run_dir; // as given; NULL: the backend's default
    const char *certs;   // a folder of octet certs; NULL: the backend makes certificates
    bool insecure;       // without TLS: tcp:// and --insecure; never together with certs
    bool is_trusted;     // --trust (cli_trust.h)
} cli_cluster_options;

// --set --actors --learners --evaluators --port --name --run-dir --certs --insecure --trust, FILE.
extern const struct argp cli_cluster_argp;

// Base ports, from options->port (5555) on: the learner has two, a replay three
// (docs/reference.md, Addresses).
#define CLI_CLUSTER_PORT               5555u
#define CLI_CLUSTER_PORT_REPLAY        5u  // behind the learner's
#define CLI_CLUSTER_PORT_DATA          10u // of a data set beside what actors send
#define CLI_CLUSTER_PORT_SHARD         15u // of a second shard of replay; each further one 5 more
#define CLI_CLUSTER_PORT_LEARNER_COUNT 2u
#define CLI_CLUSTER_PORT_REPLAY_COUNT  3u

// Where things are as the daemons see them: names of hosts may differ from this machine's view, and
// paths are those of the host or container. Any text may hold a mark of the backend's ("@HEAD@")
// that it replaces later. All stay the caller's, until cli_cluster_plan_free.
typedef struct cli_cluster_place {
    const char *learner_host; // by which actors and evaluators reach the learner
    const char *replay_host;  // by which learner, actors and evaluators reach replay
    const char *data_host;    // by which the learner reaches the replay of a data set
    const char *experiment;   // the file with plan->text, for the learner
    const char *run_dir;      // the learner's
    const char *replay_dir;   // replay keeps its table in a file here; NULL: in memory only
    const char *certs;        // a folder with one for each role in it; NULL with --insecure
    // With relays: where each listens; and by which address actors find it that the learner gives
    // them. NULL: by the same, and the actors of its host are told.
    const char *relay;
    const char *relay_announced;
    bool actors_give_up; // a day after the learner's last answer: no supervisor starts them again
    bool has_late_port;  // ports are written as marks, @PORT+5@, for who learns the first one later
} cli_cluster_place;

typedef struct cli_cluster_daemon {
    // "replay" ("replay-1" … of shards), "data", "learner", "evaluator", "relay", "actor"
    const char *name;
    const char *role; // of its certificate, and of the folder in certs: "replay" of "data"
    uint32_t count;   // that many alike: 1, but for actors, evaluators and relays
    uint32_t port;    // it listens from here on; 0: it only dials
    uint32_t ports;   // so many
    bool may_finish;  // the learner: exit code 0 is the end of the run, not a death
    bool is_data;     // it reads replay.data and keeps nothing
    const char *env;  // "NAME=value" for its environment, or NULL
    const char *argv[CLI_CLUSTER_WORDS_MAX]; // NULL-terminated; [0] the program, "octet-learner"
} cli_cluster_daemon;

typedef struct cli_cluster_plan {
    const cli_cluster_options *options;
    oct_config config;                   // resolved; net.* and actor.count as in the file
    char *text;                          // config as YAML, which the learner reads
    char name[CLI_CLUSTER_NAME_MAX + 1]; // [a-z0-9-], begins and ends with a letter or digit
    cli_environment environment;         // what the preflight found it to be
    uint32_t actors;                     // 0: of a data set alone
    uint32_t relays;                     // options->relays, until the backend knows better
    uint32_t learner_cpus; // its threads and those of its other processes, and its loop
    cli_cluster_daemon daemon[CLI_CLUSTER_DAEMONS_MAX]; // in the order to start them
    size_t count;
    char **words; // that daemon[].argv points to
    size_t word_count;
} cli_cluster_plan;

// How many ports a plan has from its first one on.
uint32_t cli_cluster_plan_ports(const cli_cluster_plan *plan);
void cli_cluster_options_init(cli_cluster_options *options, const char *command);

// Loads FILE and --set, opens the environment (cli_preflight.h), and looks that --certs has what
// is needed. Ends the process with exit code 2 or 1 and the place of the mistake otherwise. Notes
// on standard error files of this machine that the daemons must find under the same path.
cli_cluster_plan *cli_cluster_plan_make(const cli_cluster_options *options);
// The daemons and their command lines. The learner resumes where its folder holds a run (--resume
// begins a new one where it does not), so that it may be started again by anybody; its exit code is
// 0 of a finished run alone, and 143 when a signal has stopped it. Ends the process where the last
// port would be higher than there are.
void cli_cluster_plan_place(cli_cluster_plan *plan, const cli_cluster_place *place);
// One more word of a daemon's, before or after others: a copy is kept.
void cli_cluster_plan_add(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const char *word);
// Ends the process where so many actors would not all get a place at the learner: over TLS all of
// them have one certificate. cli_cluster_plan_make has looked at plan->actors.
void cli_cluster_plan_actors_check(const cli_cluster_plan *plan, uint32_t actors);
// NULL: the plan has none of that name.
cli_cluster_daemon *cli_cluster_plan_find(cli_cluster_plan *plan, const char *name);
void cli_cluster_plan_free(cli_cluster_plan *plan);

#endif // CLI_CLUSTER_CLI_CLUSTER_PLAN_H
