// octet cluster ssh: writes a plan of what runs where and becomes octet_ssh.sh, which uses ssh.

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_certs.h"
#include "cli/cli_options.h"
#include "cli/cli_python.h"
#include "cli/cluster/cli_cluster.h"
#include "cli/cluster/cli_cluster_shell.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_program.h"
#include "common/oct_reason.h"
#include "envs/env_module.h"
#include "learner/learner_checkpoints.h"

#define HOSTS_MAX 256
#define WORDS_MAX 64
#define PROGRAM   "octet_ssh.sh"
#define REMOTE    "octet-runs"
// in the folder that the daemons run in
#define RELAY    "ipc://relay-" CLI_SHELL_RELAY_INDEX ".ipc"
#define HEAD_MIB 96 // programs, checkpoints, logs; replay's rows are beyond what is known here

typedef struct ssh_options {
    cli_cluster_options cluster;
    char *host_list; // --hosts
    char *hosts[HOSTS_MAX];
    size_t host_count;
    char *ssh_texts[WORDS_MAX]; // --ssh
    size_t ssh_text_count;
    char *ssh[WORDS_MAX];
    size_t ssh_count;
    const char *learner_host;
    const char *address;
    bool relays;
    bool installed;
    bool resume;
} ssh_options;

static const oct_arg ssh_rows[] = {
    {OCT_ARG_TEXT("hosts", "A,B,…", ssh_options, host_list),
     .missing = "no --hosts given; name the hosts to train on",
     .help = "Train on these hosts, named as for ssh: learner and replay run on the first, actors "
             "on the others"},
    {OCT_ARG_TEXT("learner-host", "HOST", ssh_options, learner_host),
     .help = "Run learner and replay on this host (default: the first)"},
    {OCT_ARG_TEXT("address", "ADDRESS", ssh_options, address), .check = cli_certs_host_is_valid,
     .allowed = "is a DNS name or an IP address, without a port",
     .help = "Set the address by which the other hosts reach the learner's host (default: its name "
             "in ssh's configuration)"},
    {OCT_ARG_TEXTS("ssh", "OPTIONS", ssh_options, ssh_texts, ssh_text_count),
     .help = "Pass options to ssh and scp, such as \"-F my_config -o Port=2222\" (default: those "
             "of your configuration)"},
    {OCT_ARG_FLAG("relays", ssh_options, relays),
     .help =
         "Run a relay on each host with actors, which connect through it; for hundreds of actors"},
    {OCT_ARG_FLAG("installed", ssh_options, installed),
     .help = "Use Octet's programs on the hosts' PATH instead of copying them there"},
    {OCT_ARG_FLAG("resume", ssh_options, resume),
     .help = "Continue the run in --run-dir, on these or other hosts"},
    {0},
};

static void
host_add(ssh_options *o, char *host)
{
    const char *at = strrchr(host, '@');
    if (host[0] == '\0' || host[0] == '-' || (at != NULL && at[1] == '\0') ||
        strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@") !=
            strlen(host)) {
        cli_usage_error(
            o->cluster.command,
            "--hosts has '%s'; allowed are names or addresses, also USER@HOST, separated by commas",
            host);
    }
    for (size_t i = 0; i < o->host_count; i++) {
        if (strcmp(o->hosts[i], host) == 0) {
            cli_usage_error(o->cluster.command, "--hosts has '%s' twice", host);
        }
    }
    if (o->host_count == HOSTS_MAX) {
        cli_usage_error(o->cluster.command, "--hosts has more than %d hosts", HOSTS_MAX);
    }
    o->hosts[o->host_count++] = host;
}

static void
hosts_take(ssh_options *o, char *list)
{
    for (char *comma; list != NULL; list = comma) {
        comma = strchr(list, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        host_add(o, list);
    }
}

static void
ssh_take(ssh_options *o, char *text)
{
    char *left = NULL;
    for (char *word = strtok_r(text, " ", &left); word != NULL; word = strtok_r(NULL, " ", &left)) {
        if (o->ssh_count == WORDS_MAX) {
            cli_usage_error(o->cluster.command, "--ssh has more than %d words", WORDS_MAX);
        }
        o->ssh[o->ssh_count++] = word;
    }
}

static const oct_args ssh_args = {
    .rows = ssh_rows,
    .shared = {{cli_cluster_rows, offsetof(ssh_options, cluster), CLI_CLUSTER_GROUP}},
    .usage = "FILE --hosts A,B,…",
    .doc = "Trains on several hosts with nothing but ssh: copies programs and certificates to the "
           "hosts, starts the daemons and shows their logs. At the end, or on Ctrl-C, it stops the "
           "daemons, copies the run folder to this machine and removes what it had copied.\v"
           "FILE is an experiment, or the name of a preset (octet presets).\n\n"
           "Example:\n"
           "  octet cluster ssh cartpole --hosts train,node1,node2 --actors 16\n\n"
           "ssh must work without a password (BatchMode). The actors' hosts must be able to reach "
           "the ports of learner and replay on the first host.",
};

static void
options_check(ssh_options *o)
{
    const char *command = o->cluster.command;
    hosts_take(o, o->host_list);
    for (size_t i = 0; i < o->ssh_text_count; i++) {
        ssh_take(o, o->ssh_texts[i]);
    }
    o->cluster.relays = o->relays ? 1 : 0;
    if (o->learner_host == NULL) {
        o->learner_host = o->hosts[0];
    }
    bool is_there = false;
    for (size_t i = 0; i < o->host_count; i++) {
        is_there = is_there || strcmp(o->hosts[i], o->learner_host) == 0;
    }
    if (!is_there) {
        cli_usage_error(command, "--learner-host is '%s', which is not one of --hosts",
                        o->learner_host);
    }
    if (o->resume && o->cluster.run_dir == NULL) {
        cli_usage_error(command, "--resume needs --run-dir: the folder of the run to continue");
    }
}

_Noreturn static void
fail(const ssh_options *o, const char *reason)
{
    exit(cli_error(o->cluster.command, "%s", reason));
}

// ---- what octet_ssh.sh reads

static void
list_write(FILE *out, const char *name, char *const *words, size_t count)
{
    fprintf(out, "%s=(", name);
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? " " : "", out);
        cli_cluster_shell_word(out, words[i]);
    }
    fputs(")\n", out);
}

// Writes which programs of this machine are copied, unless the hosts have them.
static void
programs_write(FILE *out, const ssh_options *o, const cli_cluster_plan *plan)
{
    static const char *const names[] = {"octet-replay", "octet-learner", "octet-actor",
                                        "octet-relay"};
    size_t name_count = OCT_COUNTOF(names) - (plan->relays == 0 ? 1 : 0);
    static char paths[OCT_COUNTOF(names)][CLI_PATH_MAX], module[ENV_MODULE_PATH_MAX];
    char *words[OCT_COUNTOF(names)];
    oct_reason why;
    char *modules[] = {module};
    size_t count = 0, module_count = 0;
    for (; !o->installed && count < name_count; count++) {
        if (cli_folder_find_daemon(paths[count], names[count], &why) != OCT_OK) {
            fail(o, why.text);
        }
        words[count] = paths[count];
    }
    if (!o->installed && env_module_has(plan->config.env.id)) {
        if (env_module_path(module, &why) != OCT_OK) {
            fail(o, why.text);
        }
        module_count = 1;
    }
    list_write(out, "programs", words, count);
    list_write(out, "modules", modules, module_count);
}

// Writes the name of the folder on the hosts. It contains the name of the run folder here, so that
// a folder that was left behind can be recognised.
static void
remote_write(FILE *out, const char *run_dir)
{
    char name[CLI_PATH_MAX + 16];
    const char *slash = strrchr(run_dir, '/');
    (void)snprintf(name, sizeof(name), REMOTE "/%s", slash != NULL ? slash + 1 : run_dir);
    for (char *at = name + strlen(REMOTE) + 1; *at != '\0'; at++) {
        *at = isalnum((unsigned char)*at) || strchr("._-", *at) != NULL ? *at : '-';
    }
    cli_cluster_shell_set(out, "remote", name);
}

static void
plan_write(FILE *out, const ssh_options *o, cli_cluster_plan *plan, const cli_folder *folder)
{
    char keep[CLI_PATH_MAX], self[CLI_PATH_MAX];
    oct_reason why;
    char certs[CLI_PATH_MAX] = "";
    if (cli_python_find(keep, PROGRAM, &why) != OCT_OK) {
        fail(o, why.text);
    }
    *strrchr(keep, '/') = '\0';
    (void)oct_program_folder(self, sizeof(self) - sizeof("/octet"));
    (void)snprintf(self + strlen(self), sizeof("/octet"), "/octet");
    if (o->cluster.certs != NULL && realpath(o->cluster.certs, certs) == NULL) {
        certs[0] = '\0';
    }
    cli_cluster_shell_set(out, "octet", self);
    cli_cluster_shell_set(out, "keep", keep);
    cli_cluster_shell_set(out, "run_dir", folder->path);
    cli_cluster_shell_set(out, "certs", certs);
    cli_cluster_shell_set(out, "insecure", o->cluster.insecure ? "1" : "");
    cli_cluster_shell_set(out, "resume", o->resume ? "1" : "");
    cli_cluster_shell_set(out, "learner_host", o->learner_host);
    cli_cluster_shell_set(out, "head", o->address != NULL ? o->address : "");
    fprintf(out, "room=%d\nport=%u\nlock=%d\n", HEAD_MIB, (unsigned)o->cluster.port,
            folder->lock_fd);
    remote_write(out, folder->path);
    list_write(out, "hosts", o->hosts, o->host_count);
    list_write(out, "ssh_options", o->ssh, o->ssh_count);
    programs_write(out, o, plan);
    cli_cluster_shell_plan(out, plan);
}

static void
write_or_fail(const ssh_options *o, const char *path, const char *text)
{
    if (oct_file_write(path, text, strlen(text)) != OCT_OK) {
        exit(
            cli_error(o->cluster.command, "cannot write '%s': %s", path, oct_file_strerror(errno)));
    }
}

// Makes a private folder with what octet_ssh.sh needs; octet_ssh.sh removes it.
static void
plan_folder_make(char folder[CLI_PATH_MAX], const ssh_options *o, cli_cluster_plan *plan,
                 const cli_folder *run)
{
    char path[CLI_PATH_MAX + 32], *text = NULL;
    const char *temporary = getenv("TMPDIR");
    size_t length;
    (void)snprintf(folder, CLI_PATH_MAX, "%s/octet-ssh-XXXXXX",
                   temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        exit(cli_error(o->cluster.command, "cannot make the folder '%s': %s", folder,
                       strerror(errno)));
    }
    FILE *out = open_memstream(&text, &length);
    OCT_ASSERT(out != NULL);
    plan_write(out, o, plan, run);
    OCT_ASSERT(fclose(out) == 0);
    (void)snprintf(path, sizeof(path), "%s/plan.sh", folder);
    write_or_fail(o, path, text);
    (void)snprintf(path, sizeof(path), "%s/" CLI_CLUSTER_EXPERIMENT, folder);
    write_or_fail(o, path, plan->text);
    free(text);
}

// ---- the command

// Checks that there is a checkpoint from which the learner can continue.
static void
resume_check(const ssh_options *o)
{
    if (o->resume && !learner_checkpoints_any(o->cluster.run_dir)) {
        exit(cli_error(
            o->cluster.command,
            "'%s' has no checkpoint to resume from; start it without --resume, in another "
            "folder",
            o->cluster.run_dir));
    }
}

int
cli_cluster_ssh(int argc, char **argv)
{
    static ssh_options o;
    static cli_folder folder;
    oct_reason why;
    char plan_folder[CLI_PATH_MAX], program[CLI_PATH_MAX];
    cli_cluster_options_init(&o.cluster, argv[0]);
    cli_args_parse(&ssh_args, argc, argv, &o);
    options_check(&o);
    resume_check(&o);
    cli_cluster_plan *plan = cli_cluster_plan_make(&o.cluster);
    if (o.cluster.actors == 0 && plan->actors > 0) { // none of the hosts is left without one
        plan->actors = (uint32_t)OCT_MAX((size_t)plan->actors, o.host_count - 1);
    }
    if (plan->relays > 0) { // one for each host that has actors
        plan->relays = (uint32_t)OCT_MIN(OCT_MAX(o.host_count - 1, 1u), (size_t)plan->actors);
    }
    const cli_cluster_layout layout = {.learner_host = CLI_SHELL_HEAD,
                                       .replay_host = CLI_SHELL_HEAD,
                                       .data_host = CLI_SHELL_HEAD,
                                       .experiment = CLI_CLUSTER_EXPERIMENT,
                                       .run_dir = "run",
                                       .actors_give_up = true,
                                       .replay_dir = "run",
                                       .certs = "certs",
                                       .relay = RELAY};
    cli_cluster_plan_lay_out(plan, &layout);
    if (cli_python_find(program, PROGRAM, &why) != OCT_OK ||
        cli_folder_open(&folder, o.cluster.run_dir, plan->name, o.resume, &why) != OCT_OK) {
        fail(&o, why.text);
    }
    cli_folder_warn(&folder, o.cluster.command);
    plan_folder_make(plan_folder, &o, plan, &folder);
    cli_cluster_plan_free(plan);
    // The program inherits the lock of the run folder.
    (void)fcntl(folder.lock_fd, F_SETFD, 0);
    (void)fflush(stdout);
    char *const words[] = {"bash", program, plan_folder, NULL};
    (void)execvp(words[0], words);
    return cli_error(o.cluster.command, "cannot run bash: %s", strerror(errno));
}
