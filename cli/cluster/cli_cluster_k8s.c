// octet cluster k8s: prints an experiment as manifests for Kubernetes, one stream for kubectl
// apply.
//
// The manifests are a template, octet_k8s.yaml.in, which says how it is filled in. Secrets are not
// printed: comments at the beginning say how to make them.

#include "cli/cluster/cli_cluster_k8s.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cluster/cli_cluster.h"
#include "cli/cluster/cli_cluster_k8s_options.h"
#include "cli/cluster/cli_cluster_needs.h"
#include "cli/cluster/cli_cluster_yaml.h"
#include "common/oct_base.h"

#define COMMAND       CLI_K8S_COMMAND
#define ADDRESS_MAX   128
#define HOSTS_MAX     (16 * 2 * ADDRESS_MAX) // the addresses of all shards of replay
#define METRICS_HERE  CLI_K8S_METRICS_HERE
#define METRICS_PORT  CLI_K8S_METRICS_PORT
#define CERTS         "/etc/octet/tls"
#define DATA          CLI_K8S_DATA
#define EXPERIMENT    "/experiment"
#define POD           "@POD@" // mark in a relay's command line for the name of its pod
#define VARIABLES_MAX 64
#define ARGUMENTS_MAX 8 // of %use
#define NAME_BYTES    64

// A variable of the template.
typedef struct variable {
    const char *name;
    char *text;
} variable;

typedef struct k8s {
    FILE *out;
    const k8s_options *o;
    cli_cluster_plan *plan;
    uint32_t shards; // of replay
    uint32_t relays;
    variable variables[VARIABLES_MAX];
    size_t variable_count;
    const char *template;
} k8s;

// ---- the template

// Sets a variable of the template. name is kept.
OCT_PRINTF(3, 4)
static void
set(k8s *k, const char *name, const char *format, ...)
{
    va_list args;
    OCT_ASSERT(k->variable_count < VARIABLES_MAX);
    variable *v = &k->variables[k->variable_count++];
    v->name = name;
    va_start(args, format);
    OCT_ASSERT(vasprintf(&v->text, format, args) >= 0);
    va_end(args);
}

// Returns the text of a variable, "" if it is not set; "1" is the first argument, "1.cpu" the
// variable "cpu" of the component that the first argument names.
static const char *
get(const k8s *k, const char *name, char args[][NAME_BYTES])
{
    char full[2 * NAME_BYTES];
    (void)snprintf(full, sizeof(full), "%s", name);
    if (name[0] >= '1' && name[0] < '1' + ARGUMENTS_MAX) {
        const char *argument = args[name[0] - '1'];
        if (name[1] == '\0') {
            return argument;
        }
        (void)snprintf(full, sizeof(full), "%s%s", argument, name + 1);
    }
    for (size_t i = 0; i < k->variable_count; i++) {
        if (strcmp(k->variables[i].name, full) == 0) {
            return k->variables[i].text;
        }
    }
    return "";
}

// Prints a line of the template up to its end, with its variables.
static void
line_print(const k8s *k, FILE *out, const char *line, size_t length, char args[][NAME_BYTES])
{
    const char *end = line + length;
    while (line < end) {
        const char *at = memchr(line, '@', (size_t)(end - line));
        const char *stop = at != NULL ? memchr(at + 1, '@', (size_t)(end - at - 1)) : NULL;
        if (stop == NULL) {
            break;
        }
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "%.*s", (int)(stop - at - 1), at + 1);
        fprintf(out, "%.*s%s", (int)(at - line), line, get(k, name, args));
        line = stop + 1;
    }
    fprintf(out, "%.*s", (int)(end - line), line);
}

static void expand(const k8s *k, const char *text, char args[][NAME_BYTES]);

// Expands the section of %use, given the line behind "%use ".
static void
section_use(const k8s *k, const char *line, size_t length, char args[][NAME_BYTES])
{
    char given[1 + ARGUMENTS_MAX][NAME_BYTES] = {{0}}, head[NAME_BYTES + 16], *words = NULL, *left;
    size_t size, count = 0;
    FILE *out = open_memstream(&words, &size);
    OCT_ASSERT(out != NULL);
    line_print(k, out, line, length, args);
    OCT_ASSERT(fclose(out) == 0);
    for (char *word = strtok_r(words, " ", &left); word != NULL;
         word = strtok_r(NULL, " ", &left)) {
        OCT_ASSERT(count < OCT_COUNTOF(given) && strlen(word) < NAME_BYTES);
        (void)snprintf(given[count++], NAME_BYTES, "%s", word);
    }
    free(words);
    (void)snprintf(head, sizeof(head), "%%section %s\n", given[0]);
    const char *section = strstr(k->template, head);
    OCT_ASSERT(section != NULL);
    expand(k, section + strlen(head), &given[1]);
}

// Prints the template from text on, to its end or to %end.
static void
expand(const k8s *k, const char *text, char args[][NAME_BYTES])
{
    uint32_t skipped = 0; // conditions around the line, of which the outermost is false
    for (const char *line = text, *next; *line != '\0'; line = next) {
        size_t length = strcspn(line, "\n");
        char name[NAME_BYTES];
        next = line + length + (line[length] == '\n');
        if (strncmp(line, "%end", 4) == 0) {
            return;
        }
        if (strncmp(line, "%section ", 9) == 0) {
            next = strstr(line, "\n%end\n") + strlen("\n%end\n");
        } else if (sscanf(line, "%%if %63s", name) == 1) {
            skipped += skipped > 0 || get(k, name, args)[0] == '\0';
        } else if (strncmp(line, "%fi", 3) == 0) {
            skipped -= skipped > 0;
        } else if (skipped == 0 && strncmp(line, "%use ", 5) == 0) {
            section_use(k, line + 5, length - 5, args);
        } else if (skipped == 0 && line[0] != '%' && length > 0) {
            line_print(k, k->out, line, length, args);
            (void)fputc('\n', k->out);
        }
    }
}

// ---- variables

// Sets name to what was written to the memory stream out, less its last newline, and ends out.
static void
set_written(k8s *k, const char *name, FILE *out, char **text)
{
    OCT_ASSERT(fclose(out) == 0);
    size_t length = strlen(*text);
    set(k, name, "%.*s", (int)(length - (length > 0 && (*text)[length - 1] == '\n')), *text);
    free(*text);
}

// Prints a word of a command line. POD becomes an environment variable, which Kubernetes sets to
// the pod's name.
static void
argument_print(FILE *out, const char *word)
{
    const char *pod = strstr(word, POD);
    fputs("            - ", out);
    if (pod == NULL) {
        cli_yaml_argument(out, word);
    } else {
        fprintf(out, "\"%.*s$(POD_NAME)%s\"", (int)(pod - word), word, pod + strlen(POD));
    }
    fputs("\n", out);
}

// Sets the command line of a component, and its environment.
static void
arguments_set(k8s *k, const char *name, const char *component)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    OCT_ASSERT(out != NULL);
    const cli_cluster_daemon *daemon = cli_cluster_plan_find(k->plan, component);
    for (size_t i = 0; daemon->argv[i] != NULL; i++) {
        if (!cli_yaml_is_text(daemon->argv[i])) {
            cli_usage_error(COMMAND, "%s: %s would get an argument that is not UTF-8",
                            k->o->cluster.file, daemon->argv[0]);
        }
        argument_print(out, daemon->argv[i]);
    }
    if (strcmp(component, "relay") == 0) {
        fputs("          env:\n            - name: POD_NAME\n"
              "              valueFrom: {fieldRef: {fieldPath: metadata.name}}\n",
              out);
    }
    const char *value = daemon->env != NULL ? strchr(daemon->env, '=') : NULL;
    if (value != NULL) {
        fprintf(out,
                "          env:\n            - {name: %.*s, value: ", (int)(value - daemon->env),
                daemon->env);
        cli_yaml_argument(out, value + 1);
        fputs("}\n", out);
    }
    set_written(k, name, out, &text);
}

// Sets the ports of a relay after its first one: a pair for each shard of replay.
static void
relay_ports_set(k8s *k, uint32_t first)
{
    static const char *const names[] = {"batches", "acks"};
    char *text[3] = {NULL}, name[16]; // Kubernetes allows 15 characters
    size_t size[3];
    FILE *out[3];
    for (size_t i = 0; i < OCT_COUNTOF(out); i++) {
        out[i] = open_memstream(&text[i], &size[i]);
        OCT_ASSERT(out[i] != NULL);
    }
    for (uint32_t i = 0; i < 2 * k->shards; i++) {
        unsigned port = first + 1 + i;
        (void)snprintf(name, sizeof(name), i < 2 ? "%s" : "%s-%u", names[i % 2],
                       (unsigned)(i / 2 % 100)); // at most CONFIG_SHARDS_MAX
        fprintf(out[0], "            - {name: %s, containerPort: %u}\n", name, port);
        fprintf(out[1], "    - {name: %s, port: %u, targetPort: %s}\n", name, port, name);
        fprintf(out[2], "        - {protocol: TCP, port: %u}\n", port);
    }
    set_written(k, "container_port.relay", out[0], &text[0]);
    set_written(k, "service_port.relay", out[1], &text[1]);
    set_written(k, "port.relay", out[2], &text[2]);
}

// Sets the options by which the certificate of a StatefulSet names its pods.
static void
pod_hosts_set(k8s *k, const char *name, const char *component, uint32_t pods)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    OCT_ASSERT(out != NULL);
    for (uint32_t i = 0; i < pods; i++) {
        fprintf(out, " --host %s-%s-%u.%s-%s", k->plan->name, component, (unsigned)i, k->plan->name,
                component);
    }
    set_written(k, name, out, &text);
}

static void
texts_set(k8s *k)
{
    const char *certs = k->o->cluster.certs;
    bool is_insecure = k->o->cluster.insecure;
    const struct {
        const char *name, *text; // NULL: the variable stays unset
    } texts[] = {{"run", k->plan->name},
                 {"namespace", k->o->namespace},
                 {"image", k->o->image},
                 {"pull", k->o->pull},
                 {"storage_class", k->o->storage_class},
                 {"data", DATA},
                 {"learner.volume", "run"},
                 {"learner.finishes", "1"},
                 {"replay.volume", "table"},
                 {"relay.memory", "256Mi"},
                 {"relay.cpu", "100m"},
                 {"tls", is_insecure ? NULL : "1"},
                 {"insecure", is_insecure ? "1" : NULL},
                 {"own_certs", is_insecure || certs != NULL ? NULL : "1"},
                 {"given_certs", certs != NULL ? "1" : NULL},
                 {"certs", certs}};
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        if (texts[i].text != NULL) {
            set(k, texts[i].name, "%s", texts[i].text);
        }
    }
    if (certs == NULL) {
        set(k, "certs", "octet-certs-%s", k->plan->name);
    }
    pod_hosts_set(k, "replay_hosts", "replay", k->shards > 1 ? k->shards : 0);
    pod_hosts_set(k, "relay_hosts", "relay", k->relays);
}

// Makes the host of replay. For several shards it is "A:PORT,SCHEME://B", so that a scheme before
// it and a port after it make a list of addresses. The pods of a StatefulSet have fixed names.
static void
replay_hosts(const k8s *k, char out[HOSTS_MAX])
{
    const char *name = k->plan->name;
    size_t used = 0;
    if (k->shards == 1) {
        (void)snprintf(out, HOSTS_MAX, "%s-replay", name);
        return;
    }
    for (uint32_t i = 0; i < k->shards; i++) {
        if (i > 0) {
            used += (size_t)snprintf(out + used, HOSTS_MAX - used, ":%u,%s://",
                                     (unsigned)(k->o->cluster.port + CLI_CLUSTER_PORT_REPLAY),
                                     k->o->cluster.insecure ? "tcp" : "tls+tcp");
        }
        used += (size_t)snprintf(out + used, HOSTS_MAX - used, "%s-replay-%u.%s-replay", name,
                                 (unsigned)i, name);
    }
    if (used + sizeof("tls+tcp://:65535") > CONFIG_TEXT_MAX) {
        cli_usage_error(COMMAND,
                        "the addresses of %u shards of replay are too long for net.replay; give a "
                        "shorter --name",
                        (unsigned)k->shards);
    }
}

static void
daemons_place(k8s *k)
{
    char learner_host[ADDRESS_MAX], replay_host[HOSTS_MAX], here[64], there[64];
    char relay_here[ADDRESS_MAX], relay_there[ADDRESS_MAX];
    const char *scheme = k->o->cluster.insecure ? "tcp" : "tls+tcp";
    uint32_t relay_port = k->o->cluster.port + CLI_K8S_PORT_RELAY;
    (void)snprintf(relay_here, sizeof(relay_here), "%s://*:%u", scheme, (unsigned)relay_port);
    (void)snprintf(relay_there, sizeof(relay_there), "%s://" POD ".%s-relay:%u", scheme,
                   k->plan->name, (unsigned)relay_port);
    (void)snprintf(learner_host, sizeof(learner_host), "%s-learner", k->plan->name);
    replay_hosts(k, replay_host);
    const cli_cluster_place place = {.learner_host = learner_host,
                                     .replay_host = replay_host,
                                     .experiment = EXPERIMENT "/" CLI_CLUSTER_EXPERIMENT,
                                     .run_dir = DATA "/run",
                                     .replay_dir = DATA,
                                     .certs = CERTS,
                                     .relay = relay_here,
                                     .relay_announced = relay_there};
    // All shards have the same command line and port, in pods of their own. So the plan has only
    // one of them, while the learner's configuration (plan->text) has all.
    k->plan->config.replay.shards = 1;
    cli_cluster_plan_place(k->plan, &place);
    (void)snprintf(here, sizeof(here), "http://127.0.0.1:%d", METRICS_HERE);
    (void)snprintf(there, sizeof(there), "%s://*:%d", k->o->cluster.insecure ? "http" : "https",
                   METRICS_PORT);
    for (size_t i = 0; i < k->plan->count; i++) {
        cli_cluster_daemon *daemon = &k->plan->daemon[i];
        cli_cluster_plan_add(k->plan, daemon, "--metrics");
        cli_cluster_plan_add(k->plan, daemon, here);
        cli_cluster_plan_add(k->plan, daemon, "--metrics");
        cli_cluster_plan_add(k->plan, daemon, there);
    }
}

// Sets memory, CPUs and volumes: what the user did not give follows from the experiment.
static void
quantities_set(k8s *k)
{
    cli_cluster_needs needs;
    cli_cluster_needs_find(&needs, k->plan, OCT_MAX(k->plan->actors, k->o->actors_max));
    const struct {
        k8s_quantity given;
        const char *name;
        uint32_t needed;
        const char *unit;
    } rows[] = {
        {RUN_SIZE, "run_size", needs.run_gib, "Gi"},
        {REPLAY_SIZE, "replay_size", needs.replay_gib, "Gi"},
        {LEARNER_MEMORY, "learner.memory", needs.learner_mib, "Mi"},
        {REPLAY_MEMORY, "replay.memory", needs.replay_mib, "Mi"},
        {ACTOR_MEMORY, "actor.memory", needs.actor_mib, "Mi"},
        {ACTOR_MEMORY, "evaluator.memory", needs.actor_mib, "Mi"},
        {LEARNER_CPU, "learner.cpu", needs.learner_millicpus, "m"},
        {REPLAY_CPU, "replay.cpu", needs.replay_millicpus, "m"},
        {ACTOR_CPU, "actor.cpu", needs.actor_millicpus, "m"},
        {ACTOR_CPU, "evaluator.cpu", needs.actor_millicpus, "m"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(rows); i++) {
        const char *given = k->o->quantity[rows[i].given];
        if (given != NULL) {
            set(k, rows[i].name, "%s", given);
        } else {
            set(k, rows[i].name, "%u%s", (unsigned)rows[i].needed, rows[i].unit);
        }
    }
}

// Sets the variables that depend on the daemons, after daemons_place.
static void
variables_set(k8s *k)
{
    char *experiment = NULL;
    size_t size;
    FILE *out = open_memstream(&experiment, &size);
    OCT_ASSERT(out != NULL);
    cli_yaml_block(out, k->plan->text, 4);
    set_written(k, "experiment", out, &experiment);
    uint32_t calls = cli_cluster_plan_find(k->plan, "learner")->port;
    uint32_t samples = cli_cluster_plan_find(k->plan, "replay")->port;
    uint32_t relay = k->o->cluster.port + CLI_K8S_PORT_RELAY;
    const struct {
        const char *name;
        uint32_t number; // 0: the variable stays unset
    } numbers[] = {{"calls", calls},
                   {"policies", calls + 1},
                   {"samples", samples},
                   {"batches", samples + 1},
                   {"acks", samples + 2},
                   {"relay", relay},
                   {"metrics", METRICS_PORT},
                   {"metrics_here", METRICS_HERE},
                   {"shards", k->shards},
                   {"relays", k->relays},
                   {"actors", k->plan->actors},
                   {"actors_max", k->o->actors_max},
                   {"actor.replicas", k->o->actors_max > 0 ? 0 : k->plan->actors},
                   {"evaluator.replicas", cli_cluster_plan_find(k->plan, "evaluator")->count}};
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        if (numbers[i].number > 0) {
            set(k, numbers[i].name, "%u", (unsigned)numbers[i].number);
        }
    }
    set(k, "labels", "app.kubernetes.io/name: octet, app.kubernetes.io/instance: \"%s\"",
        k->plan->name);
    arguments_set(k, "learner.args", "learner");
    arguments_set(k, "replay.args", "replay");
    arguments_set(k, "actor.args", "actor");
    arguments_set(k, "evaluator.args", "evaluator");
    if (k->relays > 0) {
        arguments_set(k, "relay.args", "relay");
        relay_ports_set(k, relay);
        set(k, "relay_last", "%u", (unsigned)k->relays - 1);
    }
    texts_set(k);
}

int
cli_cluster_k8s(int argc, char **argv)
{
    static k8s_options options;
    cli_k8s_options_parse(&options, argc, argv);
    cli_cluster_plan *plan = cli_cluster_plan_make(&options.cluster);
    cli_k8s_plan_check(&options, plan);
    // The text is complete before its first line is printed, so that an error prints no half text.
    char *text = NULL;
    size_t size = 0;
    k8s k = {.out = open_memstream(&text, &size),
             .o = &options,
             .plan = plan,
             .shards = plan->config.replay.shards,
             .relays = plan->relays,
             .template = cli_cluster_k8s_text("octet_k8s.yaml.in")};
    OCT_ASSERT(k.out != NULL);
    quantities_set(&k); // before daemons_place reduces the shards of the plan to one
    daemons_place(&k);
    variables_set(&k);
    expand(&k, k.template, NULL);
    OCT_ASSERT(fclose(k.out) == 0);
    bool is_written = fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0;
    free(text);
    for (size_t i = 0; i < k.variable_count; i++) {
        free(k.variables[i].text);
    }
    cli_cluster_plan_free(plan);
    if (!is_written) {
        cli_error(COMMAND, "the manifests could not be written");
        return CLI_EXIT_FAILED;
    }
    return 0;
}
