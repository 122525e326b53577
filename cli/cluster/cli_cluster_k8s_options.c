// The options of octet cluster k8s: what is allowed.

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
#define DNS_TEXT     "a-z, 0-9 and, not at an end, '-', at most 63 characters"

enum {
    KEY_NAMESPACE = 256,
    KEY_IMAGE,
    KEY_PULL,
    KEY_ACTORS_MAX,
    KEY_RELAYS,
    KEY_STORAGE_CLASS,
    KEY_QUANTITY // and those behind it: quantity_table
};

static const struct argp_option option_table[] = {
    {"namespace", KEY_NAMESPACE, "NAME", 0, "Put all objects in this namespace (default: octet)",
     0},
    {"image", KEY_IMAGE, "IMAGE", 0,
     "Run this image, built from deploy/Dockerfile (default: octet)", 0},
    {"pull", KEY_PULL, "WHEN", 0,
     "Pull the image Always, IfNotPresent or Never (default: IfNotPresent if IMAGE has no '/', "
     "else as Kubernetes does by its tag)",
     0},
    {"actors-max", KEY_ACTORS_MAX, "N", 0,
     "Add an autoscaler, which follows the number that the learner asks for, from --actors to N "
     "actors (default: none)",
     0},
    {"relays", KEY_RELAYS, "N", 0,
     "Put N relays, at most 64, between actors and learner, for hundreds of actors (default: none)",
     0},
    {"storage-class", KEY_STORAGE_CLASS, "NAME", 0,
     "Use this storage class for both volumes (default: the cluster's)", 0},
    {"run-size", KEY_QUANTITY + RUN_SIZE, "SIZE", 0,
     "Set the size of the run's volume (default, here and below: what the experiment needs)", 0},
    {"replay-size", KEY_QUANTITY + REPLAY_SIZE, "SIZE", 0, "Set the size of replay's volume", 0},
    {"learner-memory", KEY_QUANTITY + LEARNER_MEMORY, "SIZE", 0, "Set the learner's memory", 0},
    {"replay-memory", KEY_QUANTITY + REPLAY_MEMORY, "SIZE", 0, "Set replay's memory", 0},
    {"actor-memory", KEY_QUANTITY + ACTOR_MEMORY, "SIZE", 0,
     "Set the memory of each actor and evaluator", 0},
    {"learner-cpu", KEY_QUANTITY + LEARNER_CPU, "CPUS", 0, "Request this many CPUs for the learner",
     0},
    {"replay-cpu", KEY_QUANTITY + REPLAY_CPU, "CPUS", 0, "Request this many CPUs for replay", 0},
    {"actor-cpu", KEY_QUANTITY + ACTOR_CPU, "CPUS", 0,
     "Request this many CPUs for each actor and evaluator", 0},
    {0},
};

static const char *const pull_words[] = {"Always", "IfNotPresent", "Never", NULL};

static bool
is_dns_label(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= LABEL_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && text[0] != '-' &&
           text[length - 1] != '-';
}

// A name with dots, as classes of storage have.
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

// Digits, a fraction of up to three digits, and one of the suffixes; not nothing, and above 0.
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

static void
quantity_take(k8s_options *o, int index, const char *option, const char *text)
{
    static const char *const bytes[] = {"Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T", "", NULL};
    static const char *const cpus[] = {"m", "", NULL};
    bool is_cpu = index >= LEARNER_CPU;
    if (!is_quantity(text, is_cpu ? cpus : bytes)) {
        cli_usage_error(COMMAND, "%s is '%s'; allowed are %s", option, text,
                        is_cpu ? "CPUs, such as 500m or 1.5"
                               : "bytes, such as 512Mi, 4Gi or 1.5Ti");
    }
    o->quantity[index] = text;
}

static void
require(bool is_valid, const char *option, const char *text, const char *allowed)
{
    if (!is_valid) {
        cli_usage_error(COMMAND, "%s is '%s'; allowed are %s", option, text, allowed);
    }
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    k8s_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->cluster;
        return 0;
    case KEY_NAMESPACE:
        require(is_dns_label(arg), "--namespace", arg, DNS_TEXT);
        o->namespace = arg;
        return 0;
    case KEY_IMAGE:
        require(is_image(arg), "--image", arg, "names such as registry.example.org/octet:0.9.0");
        o->image = arg;
        return 0;
    case KEY_PULL:
        o->pull = pull_words[cli_option_word(COMMAND, "--pull", arg, pull_words,
                                             "Always, IfNotPresent, Never")];
        return 0;
    case KEY_ACTORS_MAX:
        o->actors_max =
            (uint32_t)cli_option_number(COMMAND, "--actors-max", arg, 1, CLI_CLUSTER_ACTORS_MAX);
        return 0;
    case KEY_RELAYS:
        o->cluster.relays =
            (uint32_t)cli_option_number(COMMAND, "--relays", arg, 1, CLI_K8S_RELAYS_MAX);
        return 0;
    case KEY_STORAGE_CLASS:
        require(is_dns_name(arg), "--storage-class", arg,
                "a-z, 0-9 and, not at an end, '-' and '.'");
        o->storage_class = arg;
        return 0;
    default:
        if (key < KEY_QUANTITY || key >= KEY_QUANTITY + QUANTITIES) {
            return ARGP_ERR_UNKNOWN;
        }
        for (const struct argp_option *one = option_table; one->name != NULL; one++) {
            if (one->key == key) {
                char option[64];
                (void)snprintf(option, sizeof(option), "--%s", one->name);
                quantity_take(o, key - KEY_QUANTITY, option, arg);
            }
        }
        return 0;
    }
}

// What the manifests have no place for, in words.
static void
options_check(const k8s_options *o)
{
    if (o->cluster.run_dir != NULL) {
        cli_usage_error(COMMAND,
                        "--run-dir: not with Kubernetes, where the run folder is in the learner's "
                        "volume, at %s/run",
                        DATA);
    }
    // It stands in commands for a shell.
    const char *certs = o->cluster.certs;
    if (certs != NULL) {
        bool is_plain = strspn(certs, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._/+-") == strlen(certs);
        require(is_plain && certs[0] != '\0', "--certs", certs,
                "folders with letters, digits and . _ / + - in their names");
    }
}

// The last port of a pod of the run: of learner and replay, or of a relay, which has two for each
// shard of replay.
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
    if (oct_config_data_windows(&plan->config) > 0) {
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
    const struct argp_child children[] = {{&cli_cluster_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = option_table,
        .parser = parse,
        .args_doc = "FILE",
        .doc =
            "Prints the Kubernetes manifests of an experiment as one stream of YAML. Comments at "
            "the beginning explain how to make the certificates.\v"
            "Example:\n"
            "  octet cluster k8s cartpole --actors 2 --actors-max 64 | kubectl apply -f -",
        .children = children,
    };
    cli_cluster_options_init(&o->cluster, COMMAND);
    cli_options_parse(&argp, argc, argv, o);
    options_check(o);
    // It is of no registry, so that it was loaded on the nodes. Without a tag, or with latest,
    // Kubernetes would pull it all the same.
    if (o->pull == NULL && strchr(o->image, '/') == NULL) {
        o->pull = "IfNotPresent";
    }
}
