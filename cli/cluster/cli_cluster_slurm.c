// octet cluster slurm: prints a job script for sbatch, which needs only itself and Octet's
// programs.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cluster/cli_cluster.h"
#include "cli/cluster/cli_cluster_needs.h"
#include "cli/cluster/cli_cluster_shell.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"

#define END         "OCTET_END" // of a text within the script
#define MIB_MIN     16
#define MIB_MAX     (1u << 24)
#define NOTICE_S    120  // SIGTERM so long before the time limit
#define ACTORS_MORE 1000 // than the job has, for which the learner has memory
#define PORT_STRIDE 100u // from the first port of a job to that of the next one

typedef struct slurm_options {
    cli_cluster_options cluster;
    const char *sbatch, *sbatch_actors;
    uint32_t learner_nodes; // more than one: learners in a component of their own
    bool insecure_mpi;
    uint32_t learner_mib, replay_mib, actor_mib; // 0: what the experiment needs
} slurm_options;

#define WORDS_ALLOWED "are options of sbatch on one line, such as --partition=long"

// Returns true for one line of words, because it becomes a line of the script.
static bool
is_line(const char *text)
{
    return strncmp(text, "--", 2) == 0 && strpbrk(text, "\n\r") == NULL;
}

static const oct_arg slurm_rows[] = {
    {OCT_ARG_TEXT("sbatch", "OPTIONS", slurm_options, sbatch), .check = is_line,
     .allowed = WORDS_ALLOWED,
     .help =
         "Set options of sbatch for learner and replay, such as \"--partition=long --time=1-0\""},
    {OCT_ARG_TEXT("sbatch-actors", "OPTIONS", slurm_options, sbatch_actors), .check = is_line,
     .allowed = WORDS_ALLOWED,
     .help = "Set options of sbatch for the actors, such as \"--partition=preempt\""},
    {OCT_ARG_COUNT("learner-nodes", "N", slurm_options, learner_nodes, 1, CLI_LEARNERS_MAX),
     .help = "Run the learners on N nodes, connected by MPI (default: 1, without MPI)"},
    {OCT_ARG_FLAG("insecure-mpi", slurm_options, insecure_mpi),
     .help = "Let learners on several nodes exchange batches and gradients without encryption, "
             "over a network of the cluster's own; everything else uses TLS"},
    {OCT_ARG_COUNT("learner-memory", "MIB", slurm_options, learner_mib, MIB_MIN, MIB_MAX),
     .help = "Set the memory of the learner's step, or of each learner with --learner-nodes "
             "(default, as of the following: what the experiment needs)"},
    {OCT_ARG_COUNT("replay-memory", "MIB", slurm_options, replay_mib, MIB_MIN, MIB_MAX),
     .help = "Set the memory of replay's step"},
    {OCT_ARG_COUNT("actor-memory", "MIB", slurm_options, actor_mib, MIB_MIN, MIB_MAX),
     .help = "Set the memory of each actor and evaluator"},
    {0},
};

static const oct_args slurm_args = {
    .rows = slurm_rows,
    .shared = {{cli_cluster_rows, offsetof(slurm_options, cluster), CLI_CLUSTER_GROUP}},
    .usage = "FILE",
    .doc =
        "Prints a job script for Slurm. Learner, replay and evaluators run on one node, actors in "
        "another component of the job, and learners on several nodes in a component of their own. "
        "The job saves everything before its time limit; if it is requeued, it continues its run.\v"
        "FILE is an experiment, or the name of a preset (octet presets).\n\n"
        "Examples:\n"
        "  octet cluster slurm cartpole --actors 16 > job.sh && sbatch job.sh\n"
        "  sbatch --array=0-15 RUN/actors.sh     # more actors, at any time\n\n"
        "The run folder (default: runs/NAME-JOB in the folder where sbatch is called) must be on a "
        "file system that all nodes share.",
};

// Refuses learners over several nodes that octet-learner would refuse, before the job waits for its
// nodes.
static void
learners_check(const slurm_options *o, const cli_cluster_plan *plan)
{
    uint32_t count = plan->config.learner.count;
    if (o->learner_nodes == 1) {
        return;
    }
    if (plan->config.learner.asynchronous) {
        cli_usage_error(o->cluster.command, "--learner-nodes: learners that share their parameters "
                                            "(learner.asynchronous) must run on one node");
    }
    if (count % o->learner_nodes != 0) {
        cli_usage_error(o->cluster.command,
                        "--learner-nodes is %u, but learner.count is %u; every node has the same "
                        "number of learners, so --learners must be a multiple of --learner-nodes",
                        (unsigned)o->learner_nodes, (unsigned)count);
    }
    if (!o->cluster.insecure && !o->insecure_mpi) {
        cli_usage_error(
            o->cluster.command,
            "--learner-nodes: learners on several nodes exchange batches and gradients by MPI, "
            "which is not encrypted; give --insecure-mpi if their network is the cluster's own");
    }
}

// Fills in memory that was not given. More actors may join at any time.
static void
memory_fill(slurm_options *o, const cli_cluster_plan *plan)
{
    cli_cluster_needs needs;
    cli_cluster_needs_find(&needs, plan, plan->actors + ACTORS_MORE);
    uint32_t learners = o->learner_nodes > 1 ? plan->config.learner.count : 1;
    uint32_t learner = (needs.learner_mib + learners - 1) / learners;
    o->learner_mib = o->learner_mib > 0 ? o->learner_mib : learner;
    o->replay_mib = o->replay_mib > 0 ? o->replay_mib : needs.replay_mib;
    o->actor_mib = o->actor_mib > 0 ? o->actor_mib : needs.actor_mib;
}

// ---- the script

static void
sbatch_line(FILE *out, const char *options)
{
    if (options != NULL) {
        fprintf(out, "#SBATCH %s\n", options);
    }
}

// Returns the CPUs of one of several learners: its threads, and a loop.
static uint32_t
rank_cpus(const cli_cluster_plan *plan)
{
    return plan->config.learner.threads + 1;
}

static void
head_print(FILE *out, const slurm_options *o, const cli_cluster_plan *plan)
{
    uint32_t replays = 0, evaluators = o->cluster.evaluators, cpus, mib;
    bool is_spread = o->learner_nodes > 1;
    for (size_t i = 0; i < plan->count; i++) {
        replays += strcmp(plan->daemon[i].role, "replay") == 0;
    }
    cpus = replays + evaluators + (is_spread ? 0 : plan->learner_cpus);
    mib = (is_spread ? 0 : o->learner_mib) + replays * o->replay_mib + evaluators * o->actor_mib;
    fprintf(out,
            "#!/bin/bash\n"
            "# %s on several nodes, by octet cluster slurm (Octet " OCTET_VERSION "): sbatch FILE\n"
            "#SBATCH --job-name=octet-%s\n"
            "#SBATCH --output=octet-%s-%%j.log\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --requeue\n"
            "#SBATCH --signal=B:TERM@%d\n"
            "#SBATCH --nodes=1 --ntasks=1 --cpus-per-task=%u --mem-per-cpu=%uM\n",
            plan->config.env.id, plan->name, plan->name, NOTICE_S, (unsigned)cpus,
            (unsigned)((mib + cpus - 1) / cpus));
    sbatch_line(out, o->sbatch);
    if (is_spread) {
        fprintf(out,
                "#SBATCH hetjob\n"
                "#SBATCH --nodes=%u --ntasks=%u --ntasks-per-node=%u --cpus-per-task=%u "
                "--mem-per-cpu=%uM\n",
                (unsigned)o->learner_nodes, (unsigned)plan->config.learner.count,
                (unsigned)(plan->config.learner.count / o->learner_nodes),
                (unsigned)rank_cpus(plan), (unsigned)(o->learner_mib / rank_cpus(plan)));
        sbatch_line(out, o->sbatch);
    }
    if (plan->actors > 0) {
        fprintf(out,
                "#SBATCH hetjob\n"
                "#SBATCH --ntasks=%u --cpus-per-task=1 --mem-per-cpu=%uM\n",
                (unsigned)plan->actors, (unsigned)o->actor_mib);
        sbatch_line(out, o->sbatch_actors);
    }
}

// Prints a PATH that begins with the folders of Octet's programs.
static void
path_print(FILE *out, const slurm_options *o)
{
    static const char *const names[] = {"octet-replay", "octet-learner", "octet-actor"};
    char path[CLI_PATH_MAX];
    oct_reason why;
    char all[8 * CLI_PATH_MAX], seen[CLI_PATH_MAX + 2];
    (void)oct_program_folder(path, sizeof(path));
    int used = snprintf(all, sizeof(all), "%s:", path);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        if (cli_folder_find_daemon(path, names[i], &why) != OCT_OK) {
            exit(cli_error(o->cluster.command, "%s", why.text));
        }
        *strrchr(path, '/') = '\0';
        (void)snprintf(seen, sizeof(seen), "%s:", path);
        if (strstr(all, seen) == NULL) {
            used += snprintf(all + used, sizeof(all) - (size_t)used, "%s", seen);
        }
    }
    all[used - 1] = '\0';
    cli_cluster_shell_set(out, "octet_path", all);
    fputs("export PATH=$octet_path:$PATH\n", out);
}

static void
settings_print(FILE *out, const slurm_options *o, const cli_cluster_plan *plan)
{
    char run[CLI_PATH_MAX + 2] = "", certs[CLI_PATH_MAX] = "", here[CLI_PATH_MAX] = "";
    const char *given = o->cluster.run_dir;
    if (given != NULL && given[0] != '/' && getcwd(here, sizeof(here)) == NULL) {
        exit(cli_error(o->cluster.command, "--run-dir: cannot find the current folder"));
    }
    if (given != NULL) {
        FILE *text = fmemopen(run, sizeof(run), "w");
        OCT_ASSERT(text != NULL);
        fprintf(text, "%s%s%s", here, here[0] != '\0' ? "/" : "", given);
        OCT_ASSERT(fclose(text) == 0);
        cli_cluster_shell_set(out, "run", run);
    } else {
        fprintf(out, "run=$SLURM_SUBMIT_DIR/runs/%s-$SLURM_JOB_ID\n", plan->name);
    }
    if (o->cluster.certs != NULL && realpath(o->cluster.certs, certs) == NULL) {
        certs[0] = '\0';
    }
    cli_cluster_shell_set(out, "certs", certs);
    cli_cluster_shell_set(out, "insecure", o->cluster.insecure ? "1" : "");
    OCT_ASSERT(cli_cluster_plan_ports(plan) <= PORT_STRIDE); // even with the most shards
    fprintf(out,
            "port=%u\nports=%u\nport_stride=%u\nactors=%u\nlearners=%u\nlearner_nodes=%u\nlearner_"
            "cpus=%u\n"
            "learner_memory=%u\nreplay_memory=%u\nactor_memory=%u\n",
            (unsigned)o->cluster.port, (unsigned)cli_cluster_plan_ports(plan), PORT_STRIDE,
            (unsigned)plan->actors, (unsigned)plan->config.learner.count,
            (unsigned)o->learner_nodes,
            (unsigned)(o->learner_nodes > 1 ? rank_cpus(plan) : plan->learner_cpus),
            (unsigned)o->learner_mib, (unsigned)o->replay_mib, (unsigned)o->actor_mib);
}

static void
text_print(FILE *out, const char *to, const char *text)
{
    fprintf(out, "    cat >%s <<'" END "'\n%s%s" END "\n", to, text,
            text[strlen(text) - 1] == '\n' ? "" : "\n");
}

// Prints the function that writes the files of the job.
static void
files_print(FILE *out, const slurm_options *o, const cli_cluster_plan *plan)
{
    char *keep = cli_cluster_shell_program(o->cluster.command, "octet_keep.sh");
    char *actors = cli_cluster_shell_program(o->cluster.command, "octet_slurm_actors.sh");
    fputs("keep_text() {\n", out);
    text_print(out, "&1", keep);
    fputs("}\nwrite_files() {\n    keep_text >\"$work/keep.sh\"\n", out);
    text_print(out, "\"$work/" CLI_CLUSTER_EXPERIMENT "\"", plan->text);
    if (plan->actors > 0) {
        fprintf(out,
                "    {\n"
                "        cat <<'" END "'\n"
                "#!/bin/bash\n"
                "#SBATCH --job-name=octet-%s-actors\n"
                "#SBATCH --open-mode=append --requeue\n"
                "#SBATCH --nodes=1 --ntasks=1 --cpus-per-task=1 --mem=%uM\n",
                plan->name, (unsigned)o->actor_mib);
        sbatch_line(out, o->sbatch_actors);
        fprintf(out,
                END "\n"
                    "        printf '#SBATCH --output=\"%%s\"\\n' \"$run/log/actor-%%A_%%a.log\"\n"
                    "        printf 'run=%%q\\njob=%%q\\nexport PATH=%%q:$PATH\\n' \"$run\" "
                    "\"$SLURM_JOB_ID\" \"$octet_path\"\n"
                    "        cat <<'" END "'\n%s" END "\n"
                    "    } >\"$run/actors.sh\"\n",
                actors);
    }
    fputs("}\n", out);
    free(keep);
    free(actors);
}

static void
script_print(FILE *out, const slurm_options *o, const cli_cluster_plan *plan)
{
    char *body = cli_cluster_shell_program(o->cluster.command, "octet_slurm.sh");
    head_print(out, o, plan);
    path_print(out, o);
    settings_print(out, o, plan);
    cli_cluster_shell_plan(out, plan);
    files_print(out, o, plan);
    fputs(body, out);
    free(body);
}

int
cli_cluster_slurm(int argc, char **argv)
{
    static slurm_options o;
    o = (slurm_options){.learner_nodes = 1};
    cli_cluster_options_init(&o.cluster, argv[0]);
    o.cluster.port = 0;
    cli_args_parse(&slurm_args, argc, argv, &o);
    cli_cluster_plan *plan = cli_cluster_plan_make(&o.cluster);
    learners_check(&o, plan);
    memory_fill(&o, plan);
    if (strstr(plan->text, "\n" END "\n") != NULL) {
        return cli_error(o.cluster.command, "the experiment has a line '" END "'");
    }
    const cli_cluster_layout layout = {.learner_host = CLI_SHELL_LEARNER,
                                       .replay_host = CLI_SHELL_HEAD,
                                       .data_host = CLI_SHELL_HEAD,
                                       .has_late_port = true,
                                       .experiment = CLI_SHELL_WORK "/" CLI_CLUSTER_EXPERIMENT,
                                       .run_dir = CLI_SHELL_RUN,
                                       .actors_give_up = true,
                                       .replay_dir = CLI_SHELL_RUN,
                                       .certs = CLI_SHELL_WORK "/certs"};
    cli_cluster_plan_lay_out(plan, &layout);
    if (o.learner_nodes > 1 && !o.cluster.insecure) { // TLS stays; MPI has none
        cli_cluster_plan_add(plan, cli_cluster_plan_find(plan, "learner"), "--insecure");
    }
    script_print(stdout, &o, plan);
    cli_cluster_plan_free(plan);
    return 0;
}
