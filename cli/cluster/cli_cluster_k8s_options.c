// Reads and checks the options of octet cluster k8s.

#include "cli/cluster/cli_cluster_k8s_options.h"

#include <ctype.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cluster/cli_cluster_yaml.h"

#define COMMAND      CLI_K8S_COMMAND
#define METRICS_HERE CLI_K8S_METRICS_HERE
#define METRICS_PORT CLI_K8S_METRICS_PORT
#define DATA         CLI_K8S_DATA
#define PORT_MAX     65535u
#define LABEL_MAX    63 // of DNS, and of a value
#define IMAGE_MAX    255

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
    {OCT_ARG_COUNT("relays", "N", k8s_options, cluster.relays, 1, CLI_K8S_RELAYS_MAX),
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
                          ? CLI_K8S_PORT_RELAY + 2 * plan->config.replay.shards
                          : CLI_CLUSTER_PORT_REPLAY + CLI_CLUSTER_PORT_REPLAY_COUNT - 1;
    return o->cluster.port + behind;
}

void
cli_k8s_plan_check(const k8s_options *o, const cli_cluster_plan *plan)
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

void
cli_k8s_options_parse(k8s_options *o, int argc, char **argv)
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
