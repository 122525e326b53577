// octet cluster k8s: prints an experiment as manifests for Kubernetes, one stream for kubectl
// apply.
//
// The manifests are a template, octet_k8s.yaml.in, which says how it is filled in. Secrets are not
// printed: comments at the beginning say how to make them.

#include "cli/cluster/cli_cluster_k8s.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cluster/cli_cluster.h"
#include "cli/cluster/cli_cluster_needs.h"
#include "cli/cluster/cli_cluster_plan.h"
#include "cli/cluster/cli_cluster_yaml.h"
#include "common/oct_base.h"

#define COMMAND       "cluster k8s"
#define METRICS_HERE  9464 // port of the probes, on the pod's own loopback only
#define METRICS_PORT  9465 // port for Prometheus
#define DATA          "/var/lib/octet"
#define RELAYS_MAX    64  // their certificate names each of them
#define PORT_RELAY    15u // offset from the learner's port
#define PORT_MAX      65535u
#define LABEL_MAX     63 // of DNS, and of a value
#define IMAGE_MAX     255
#define VARIABLES_MAX 64
#define ARGUMENTS_MAX 4 // of %use
#define NAME_BYTES    64

typedef enum k8s_quantity {
    RUN_SIZE,
    REPLAY_SIZE,
    LEARNER_MEMORY,
    REPLAY_MEMORY,
    ACTOR_MEMORY,
    LEARNER_CPU, // a number of CPUs, like those that follow
    REPLAY_CPU,
    ACTOR_CPU,
    QUANTITIES
} k8s_quantity;

typedef struct k8s_options {
    cli_cluster_options cluster;
    const char *namespace;
    const char *image;
    const char *pull; // NULL: the cluster decides
    const char *storage_class;
    uint32_t actors_max;              // 0: no autoscaler
    const char *quantity[QUANTITIES]; // as the user wrote it; NULL: computed from the experiment
} k8s_options;

// A variable of the template. Its text is complete after fflush(stream).
typedef struct variable {
    char name[NAME_BYTES];
    FILE *stream;
    char *text;
    size_t size;
} variable;

typedef struct k8s {
    const k8s_options *o;
    cli_cluster_plan *plan;
    uint32_t shards; // of replay
    const char *scheme;
    const char *template;
    variable variables[VARIABLES_MAX];
    size_t variable_count;
} k8s;

// ---- options

static const char *const pull_words[] = {"Always", "IfNotPresent", "Never", NULL};

static bool
is_dns_label(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= LABEL_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && text[0] != '-' &&
           text[length - 1] != '-';
}

// Allows dots, as names of storage classes have them.
static bool
is_dns_name(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= 253 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == length &&
           isalnum((unsigned char)text[0]) != 0 && isalnum((unsigned char)text[length - 1]) != 0 &&
           strstr(text, "..") == NULL && strstr(text, ".-") == NULL && strstr(text, "-.") == NULL;
}

static bool
is_image(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= IMAGE_MAX && isalnum((unsigned char)text[0]) != 0 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/@") ==
               length;
}

// Allows a number above 0, with a fraction of up to three digits, and one of the suffixes.
static bool
is_quantity(const char *text, const char *const *suffixes)
{
    size_t whole = strspn(text, "0123456789"), length = whole, part = 0;
    if (text[whole] == '.') {
        part = strspn(text + whole + 1, "0123456789");
        length += 1 + part;
    }
    bool is_number = whole > 0 && whole <= 12 && part <= 3 && (length == whole || part > 0) &&
                     strspn(text, "0.") < length;
    for (; is_number && *suffixes != NULL; suffixes++) {
        if (strcmp(text + length, *suffixes) == 0) {
            return true;
        }
    }
    return false;
}

static bool
is_bytes(const char *text)
{
    static const char *const bytes[] = {"Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T", "", NULL};
    return is_quantity(text, bytes);
}

static bool
is_cpus(const char *text)
{
    static const char *const cpus[] = {"m", "", NULL};
    return is_quantity(text, cpus);
}

#define BYTES_ALLOWED "are bytes, such as 512Mi, 4Gi or 1.5Ti"
#define CPUS_ALLOWED  "are CPUs, such as 500m or 1.5"

static const oct_arg k8s_rows[] = {
    {OCT_ARG_TEXT("namespace", "NAME", k8s_options, namespace), .check = is_dns_label,
     .allowed = "are a-z, 0-9 and, not at an end, '-', at most 63 characters",
     .help = "Put all objects in this namespace (default: octet)"},
    {OCT_ARG_TEXT("image", "IMAGE", k8s_options, image), .check = is_image,
     .allowed = "are names such as registry.example.org/octet:0.9.0",
     .help = "Run this image, built from deploy/Dockerfile (default: octet)"},
    {OCT_ARG_TEXT("pull", "WHEN", k8s_options, pull), .words = pull_words,
     .help = "Pull the image Always, IfNotPresent or Never (default: IfNotPresent if IMAGE has no "
             "'/', else as Kubernetes does by its tag)"},
    {OCT_ARG_COUNT("actors-max", "N", k8s_options, actors_max, 1, CLI_CLUSTER_ACTORS_MAX),
     .help = "Add an autoscaler, which follows the number that the learner asks for, from --actors "
             "to N actors (default: none)"},
    {OCT_ARG_COUNT("relays", "N", k8s_options, cluster.relays, 1, RELAYS_MAX),
     .help = "Put N relays, at most 64, between actors and learner, for hundreds of actors "
             "(default: none)"},
    {OCT_ARG_TEXT("storage-class", "NAME", k8s_options, storage_class), .check = is_dns_name,
     .allowed = "are a-z, 0-9 and, not at an end, '-' and '.'",
     .help = "Use this storage class for both volumes (default: the cluster's)"},
    {OCT_ARG_TEXT("run-size", "SIZE", k8s_options, quantity[RUN_SIZE]), .check = is_bytes,
     .allowed = BYTES_ALLOWED,
     .help =
         "Set the size of the run's volume (default, here and below: what the experiment needs)"},
    {OCT_ARG_TEXT("replay-size", "SIZE", k8s_options, quantity[REPLAY_SIZE]), .check = is_bytes,
     .allowed = BYTES_ALLOWED, .help = "Set the size of replay's volume"},
    {OCT_ARG_TEXT("learner-memory", "SIZE", k8s_options, quantity[LEARNER_MEMORY]),
     .check = is_bytes, .allowed = BYTES_ALLOWED, .help = "Set the learner's memory"},
    {OCT_ARG_TEXT("replay-memory", "SIZE", k8s_options, quantity[REPLAY_MEMORY]), .check = is_bytes,
     .allowed = BYTES_ALLOWED, .help = "Set replay's memory"},
    {OCT_ARG_TEXT("actor-memory", "SIZE", k8s_options, quantity[ACTOR_MEMORY]), .check = is_bytes,
     .allowed = BYTES_ALLOWED, .help = "Set the memory of each actor and evaluator"},
    {OCT_ARG_TEXT("learner-cpu", "CPUS", k8s_options, quantity[LEARNER_CPU]), .check = is_cpus,
     .allowed = CPUS_ALLOWED, .help = "Request this many CPUs for the learner"},
    {OCT_ARG_TEXT("replay-cpu", "CPUS", k8s_options, quantity[REPLAY_CPU]), .check = is_cpus,
     .allowed = CPUS_ALLOWED, .help = "Request this many CPUs for replay"},
    {OCT_ARG_TEXT("actor-cpu", "CPUS", k8s_options, quantity[ACTOR_CPU]), .check = is_cpus,
     .allowed = CPUS_ALLOWED, .help = "Request this many CPUs for each actor and evaluator"},
    {0},
};

// Refuses options that the manifests cannot express.
static void
options_check(const k8s_options *o)
{
    if (o->cluster.run_dir != NULL) {
        cli_usage_error(COMMAND,
                        "--run-dir: not with Kubernetes, where the run folder is in the learner's "
                        "volume, at %s/run",
                        DATA);
    }
    // The folder is printed in commands for a shell.
    const char *certs = o->cluster.certs;
    if (certs != NULL) {
        bool is_plain = strspn(certs, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._/+-") == strlen(certs);
        if (!is_plain || certs[0] == '\0') {
            cli_usage_error(COMMAND,
                            "--certs is '%s'; allowed are folders with letters, digits and "
                            ". _ / + - in their names",
                            certs);
        }
    }
}

// Returns the last port of a pod: of replay, or of a relay, which has two for each shard of replay.
static uint32_t
port_last(const k8s_options *o, const cli_cluster_plan *plan)
{
    uint32_t behind = o->cluster.relays > 0
                          ? PORT_RELAY + 2 * plan->config.replay.shards
                          : CLI_CLUSTER_PORT_REPLAY + CLI_CLUSTER_PORT_REPLAY_COUNT - 1;
    return o->cluster.port + behind;
}

// Checks what depends on the experiment.
static void
plan_check(const k8s_options *o, const cli_cluster_plan *plan)
{
    if (config_data_windows(&plan->config) > 0) {
        cli_usage_error(COMMAND,
                        "%s: replay.data is a file, which no volume of these manifests contains; "
                        "allowed are experiments without a data set",
                        o->cluster.file);
    }
    if (isdigit((unsigned char)plan->name[0]) != 0) {
        cli_usage_error(
            COMMAND,
            "the run's name is '%s', but names of Services begin with a letter; give --name",
            plan->name);
    }
    uint32_t first = o->cluster.port, last = port_last(o, plan);
    if (last > PORT_MAX) {
        cli_usage_error(COMMAND, "--port is %u; allowed are numbers up to %u, since %s %u more",
                        (unsigned)first, (unsigned)(PORT_MAX - (last - first)),
                        o->cluster.relays > 0 ? "with --relays the run uses" : "the run uses",
                        (unsigned)(last - first));
    }
    if (first <= METRICS_PORT && last >= METRICS_HERE) {
        cli_usage_error(
            COMMAND,
            "--port is %u; ports %u to %u must not include %d or %d, where metrics are served",
            (unsigned)first, (unsigned)first, (unsigned)last, METRICS_HERE, METRICS_PORT);
    }
    if (o->actors_max > 0 && o->actors_max < plan->actors) {
        cli_usage_error(COMMAND, "--actors-max is %u; allowed are --actors (%u) and more",
                        (unsigned)o->actors_max, (unsigned)plan->actors);
    }
    cli_cluster_plan_actors_check(plan, o->actors_max);
    if (!cli_yaml_is_text(plan->text)) {
        cli_usage_error(COMMAND, "%s: the experiment has text that is not UTF-8", o->cluster.file);
    }
}

// Sets defaults, then reads argv, which the strings are borrowed from.
static void
options_parse(k8s_options *o, int argc, char **argv)
{
    *o = (k8s_options){.namespace = "octet", .image = "octet"};
    const oct_args args = {
        .rows = k8s_rows,
        .usage = "FILE",
        .doc =
            "Prints the Kubernetes manifests of an experiment as one stream of YAML. Comments at "
            "the beginning explain how to make the certificates.\v"
            "Example:\n"
            "  octet cluster k8s cartpole --actors 2 --actors-max 64 | kubectl apply -f -",
        .shared = {{cli_cluster_rows, offsetof(k8s_options, cluster), CLI_CLUSTER_GROUP}},
    };
    cli_cluster_options_init(&o->cluster, COMMAND);
    cli_args_parse(&args, argc, argv, o);
    options_check(o);
    // An image without a registry was loaded on the nodes. Without a tag, or with latest,
    // Kubernetes would pull it all the same.
    if (o->pull == NULL && strchr(o->image, '/') == NULL) {
        o->pull = "IfNotPresent";
    }
}

// ---- the template

// Returns the variable of that name, or the first free one.
static variable *
find(k8s *k, const char *name)
{
    size_t i = 0;
    while (i < k->variable_count && strcmp(k->variables[i].name, name) != 0) {
        i++;
    }
    OCT_ASSERT(i < VARIABLES_MAX);
    return &k->variables[i];
}

// Returns a stream that appends to the variable of that name.
static FILE *
var(k8s *k, const char *name)
{
    variable *v = find(k, name);
    if (v->stream == NULL) {
        (void)snprintf(v->name, sizeof(v->name), "%s", name);
        v->stream = open_memstream(&v->text, &v->size);
        OCT_ASSERT(v->stream != NULL);
        k->variable_count++;
    }
    return v->stream;
}

// text: NULL adds nothing.
static void
set(k8s *k, const char *name, const char *text)
{
    OCT_ASSERT(text == NULL || fputs(text, var(k, name)) >= 0);
}

static void
set_number(k8s *k, const char *name, uint32_t number)
{
    fprintf(var(k, name), "%u", (unsigned)number);
}

// Returns the text of a variable, "" if it is not set; "1" is the first argument, "1.cpu" the
// variable "cpu" of the component that the first argument names.
static const char *
get(k8s *k, const char *name, char *const *args)
{
    char full[2 * NAME_BYTES];
    bool is_argument = args != NULL && name[0] >= '1' && name[0] < '1' + ARGUMENTS_MAX;
    const char *argument = is_argument ? args[name[0] - '1'] : "";
    if (is_argument && name[1] == '\0') {
        return argument;
    }
    (void)snprintf(full, sizeof(full), "%s%s", argument, name + is_argument);
    const variable *v = find(k, full);
    OCT_ASSERT(v->stream == NULL || fflush(v->stream) == 0);
    return v->stream != NULL ? v->text : "";
}

// Returns a line of the template with the texts of its variables. The caller frees it.
static char *
filled(k8s *k, const char *line, size_t length, char *const *args)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    OCT_ASSERT(out != NULL);
    for (const char *end = line + length, *stop; line < end; line = stop + 1) {
        const char *at = memchr(line, '@', (size_t)(end - line));
        stop = at != NULL ? memchr(at + 1, '@', (size_t)(end - at - 1)) : NULL;
        if (stop == NULL) {
            fprintf(out, "%.*s", (int)(end - line), line);
            break;
        }
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "%.*s", (int)(stop - at - 1), at + 1);
        fprintf(out, "%.*s%s", (int)(at - line), line, get(k, name, args));
    }
    OCT_ASSERT(fclose(out) == 0);
    return text;
}

static void expand(k8s *k, FILE *out, const char *text, char *const *args);

// Expands a section. words: its name, then its arguments.
static void
section_use(k8s *k, FILE *out, char *words)
{
    char head[2 * NAME_BYTES], *args[ARGUMENTS_MAX + 1] = {NULL}, *left;
    (void)snprintf(head, sizeof(head), "%%section %s\n", strtok_r(words, " ", &left));
    for (size_t i = 0; (args[i] = strtok_r(NULL, " ", &left)) != NULL; i++) {
        OCT_ASSERT(i < ARGUMENTS_MAX);
    }
    const char *section = strstr(k->template, head);
    OCT_ASSERT(section != NULL);
    expand(k, out, section + strlen(head), args);
}

// Prints the template from text on, to its end or to %end.
static void
expand(k8s *k, FILE *out, const char *text, char *const *args)
{
    char name[NAME_BYTES];
    int at = 0;
    uint32_t skipped = 0; // conditions around the line, of which the outermost is false
    for (const char *line = text, *next; strncmp(line, "%end", 4) != 0 && *line != '\0';
         line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        char *full = filled(k, line, length, args);
        if (strncmp(line, "%section ", 9) == 0) {
            next = strstr(line, "\n%end\n") + strlen("\n%end\n");
        } else if (strncmp(line, "%if ", 4) == 0) {
            skipped += skipped > 0 || full[4] == '\0';
        } else if (strncmp(line, "%fi", 3) == 0) {
            skipped -= skipped > 0;
        } else if (skipped == 0 && strncmp(line, "%use ", 5) == 0) {
            section_use(k, out, full + 5);
        } else if (sscanf(full, "%%set %63s %n", name, &at) == 1) {
            set(k, name, full + at);
        } else if (skipped == 0 && line[0] != '%' && length > 0) {
            fprintf(out, "%s%s", full, full[strlen(full) - 1] == '\n' ? "" : "\n");
        }
        free(full);
    }
}

// ---- variables

// Sets the command line of a component, and its environment.
static void
arguments_set(k8s *k, const char *component)
{
    char args[NAME_BYTES], env[NAME_BYTES];
    const cli_cluster_daemon *daemon = cli_cluster_plan_find(k->plan, component);
    (void)snprintf(args, sizeof(args), "%s.args", component);
    (void)snprintf(env, sizeof(env), "%s.env", component);
    for (size_t i = 0; daemon->argv[i] != NULL; i++) {
        if (!cli_yaml_is_text(daemon->argv[i])) {
            cli_usage_error(COMMAND, "%s: %s would get an argument that is not UTF-8",
                            k->o->cluster.file, daemon->argv[0]);
        }
        set(k, args, "            - ");
        // A relay's words are all made here, and one of them names its pod, $(POD_NAME).
        (strcmp(component, "relay") == 0 ? cli_yaml_string : cli_yaml_argument)(var(k, args),
                                                                                daemon->argv[i]);
        set(k, args, "\n");
    }
    const char *value = daemon->env != NULL ? strchr(daemon->env, '=') : NULL;
    if (value != NULL) {
        fprintf(var(k, env), "{name: %.*s, value: ", (int)(value - daemon->env), daemon->env);
        cli_yaml_argument(var(k, env), value + 1);
        set(k, env, "}");
    }
}

// Sets the ports of a relay after its first one, a pair for each shard of replay, and what only a
// run with relays has.
static void
relays_set(k8s *k, uint32_t port)
{
    char name[16]; // Kubernetes allows 15 characters
    arguments_set(k, "relay");
    set(k, "relay.env", "{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}");
    set_number(k, "relays", k->plan->relays);
    set_number(k, "relay_last", k->plan->relays - 1);
    set_number(k, "relay", port);
    for (uint32_t i = 0; i < 2 * k->shards; i++) {
        (void)snprintf(name, sizeof(name), i < 2 ? "%s" : "%s-%u", i % 2 == 0 ? "batches" : "acks",
                       (unsigned)(i / 2 % 100)); // at most CONFIG_SHARDS_MAX
        port++;
        fprintf(var(k, "container_port.relay"), "            - {name: %s, containerPort: %u}\n",
                name, (unsigned)port);
        fprintf(var(k, "service_port.relay"), "    - {name: %s, port: %u, targetPort: %s}\n", name,
                (unsigned)port, name);
        fprintf(var(k, "port.relay"), "        - {protocol: TCP, port: %u}\n", (unsigned)port);
    }
}

// Sets the names that pods of StatefulSets have, which stay: as options for their certificate, and
// the host of replay. For several shards the host is "A:PORT,SCHEME://B", so that a scheme before
// it and a port after it make a list of addresses.
static void
hosts_set(k8s *k)
{
    const char *name = k->plan->name;
    for (uint32_t i = 0; i < k->plan->relays; i++) {
        fprintf(var(k, "relay_hosts"), " --host %s-relay-%u.%s-relay", name, (unsigned)i, name);
    }
    if (k->shards == 1) {
        fprintf(var(k, "replay_host"), "%s-replay", name);
        return;
    }
    for (uint32_t i = 0; i < k->shards; i++) {
        fprintf(var(k, "replay_hosts"), " --host %s-replay-%u.%s-replay", name, (unsigned)i, name);
        if (i > 0) {
            fprintf(var(k, "replay_host"), ":%u,%s://",
                    (unsigned)(k->o->cluster.port + CLI_CLUSTER_PORT_REPLAY), k->scheme);
        }
        fprintf(var(k, "replay_host"), "%s-replay-%u.%s-replay", name, (unsigned)i, name);
    }
    if (strlen(get(k, "replay_host", NULL)) + sizeof("tls+tcp://:65535") > CONFIG_TEXT_MAX) {
        cli_usage_error(COMMAND,
                        "the addresses of %u shards of replay are too long for net.replay; give a "
                        "shorter --name",
                        (unsigned)k->shards);
    }
}

// Fills the plan's command lines.
static void
daemons_set(k8s *k)
{
    const char *name = k->plan->name;
    unsigned relay = k->o->cluster.port + PORT_RELAY;
    fprintf(var(k, "learner_host"), "%s-learner", name);
    fprintf(var(k, "relay_here"), "%s://*:%u", k->scheme, relay);
    fprintf(var(k, "relay_there"), "%s://$(POD_NAME).%s-relay:%u", k->scheme, name, relay);
    hosts_set(k);
    // All shards have the same command line and port, in pods of their own. So the plan has only
    // one of them, while the learner's configuration (plan->text) has all.
    k->plan->config.replay.shards = 1;
    cli_cluster_plan_lay_out(
        k->plan, &(cli_cluster_layout){.learner_host = get(k, "learner_host", NULL),
                                       .replay_host = get(k, "replay_host", NULL),
                                       .experiment = "/experiment/" CLI_CLUSTER_EXPERIMENT,
                                       .run_dir = DATA "/run",
                                       .replay_dir = DATA,
                                       .certs = "/etc/octet/tls",
                                       .relay = get(k, "relay_here", NULL),
                                       .relay_announced = get(k, "relay_there", NULL)});
    arguments_set(k, "learner");
    arguments_set(k, "replay");
    arguments_set(k, "actor");
    arguments_set(k, "evaluator");
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
            set(k, rows[i].name, given);
        } else {
            fprintf(var(k, rows[i].name), "%u%s", (unsigned)rows[i].needed, rows[i].unit);
        }
    }
}

// Sets what the options say.
static void
options_set(k8s *k)
{
    const k8s_options *o = k->o;
    const char *certs = o->cluster.certs;
    set(k, "run", k->plan->name);
    set(k, "namespace", o->namespace);
    set(k, "image", o->image);
    set(k, "pull", o->pull);
    set(k, "storage_class", o->storage_class);
    set(k, "data", DATA);
    if (o->cluster.insecure) {
        set(k, "insecure", "1");
    } else {
        set(k, "tls", "s"); // of https
        set(k, certs != NULL ? "given_certs" : "own_certs", "1");
    }
    set(k, "certs", certs != NULL ? certs : "octet-certs-");
    set(k, "certs", certs != NULL ? NULL : k->plan->name);
    if (o->actors_max > 0) {
        set_number(k, "actors_max", o->actors_max);
    } else {
        set_number(k, "actor.replicas", k->plan->actors);
    }
}

// Sets what the plan says.
static void
plan_set(k8s *k)
{
    uint32_t first = k->o->cluster.port, replay = first + CLI_CLUSTER_PORT_REPLAY;
    set_number(k, "calls", first);
    set_number(k, "policies", first + 1);
    set_number(k, "samples", replay);
    set_number(k, "batches", replay + 1);
    set_number(k, "acks", replay + 2);
    set_number(k, "metrics", METRICS_PORT);
    set_number(k, "metrics_here", METRICS_HERE);
    set_number(k, "shards", k->shards);
    set_number(k, "actors", k->plan->actors);
    set_number(k, "evaluator.replicas", cli_cluster_plan_find(k->plan, "evaluator")->count);
    cli_yaml_block(var(k, "experiment"), k->plan->text, 4);
    if (k->plan->relays > 0) {
        relays_set(k, first + PORT_RELAY);
    }
}

int
cli_cluster_k8s(int argc, char **argv)
{
    static k8s_options options;
    options_parse(&options, argc, argv);
    cli_cluster_plan *plan = cli_cluster_plan_make(&options.cluster);
    plan_check(&options, plan);
    k8s k = {.o = &options,
             .plan = plan,
             .shards = plan->config.replay.shards,
             .scheme = options.cluster.insecure ? "tcp" : "tls+tcp",
             .template = cli_cluster_k8s_text("octet_k8s.yaml.in")};
    quantities_set(&k); // before daemons_set reduces the shards of the plan to one
    daemons_set(&k);
    options_set(&k);
    plan_set(&k);
    // All variables are set before the first line is printed: an error prints no half text.
    expand(&k, stdout, k.template, NULL);
    bool is_written = fflush(stdout) == 0 && ferror(stdout) == 0;
    for (size_t i = 0; i < k.variable_count; i++) {
        OCT_ASSERT(fclose(k.variables[i].stream) == 0);
        free(k.variables[i].text);
    }
    cli_cluster_plan_free(plan);
    if (!is_written) {
        return cli_error(COMMAND, "the manifests could not be written");
    }
    return 0;
}
