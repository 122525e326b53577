// octet cluster k8s: an experiment as manifests for Kubernetes, one stream for kubectl apply.
// deploy/kubernetes is the same for a run called "run"; script/test-kubernetes compares the two.

#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cluster/cli_cluster.h"
#include "cli/cluster/cli_cluster_k8s_options.h"
#include "cli/cluster/cli_cluster_needs.h"
#include "cli/cluster/cli_cluster_yaml.h"
#include "common/oct_base.h"

#define COMMAND      CLI_K8S_COMMAND
#define ADDRESS_MAX  128
#define HOSTS_MAX    (16 * 2 * ADDRESS_MAX) // of all shards of replay
#define METRICS_HERE CLI_K8S_METRICS_HERE
#define METRICS_PORT CLI_K8S_METRICS_PORT
#define CERTS        "/etc/octet/tls"
#define DATA         CLI_K8S_DATA
#define EXPERIMENT   "/experiment"
#define METRIC       "octet_learner_actors_wanted"
#define POD          "@POD@" // in a relay's words: the name of its pod

// What is printed, and where.
typedef struct k8s {
    FILE *out;
    const k8s_options *o;
    cli_cluster_plan *plan;
    uint32_t learner_port;
    uint32_t replay_port;
    uint32_t relay_port;
    uint32_t shards; // of replay
    uint32_t relays;
    char quantity[QUANTITIES][CLI_K8S_QUANTITY_BYTES];
} k8s;

// ---- parts of objects

#define PUT(k, ...) fprintf((k)->out, __VA_ARGS__)

// The labels that choose the pods of a component; of all components when it is NULL. Ends the line.
static void
labels(const k8s *k, const char *before, const char *component)
{
    PUT(k, "%s{app.kubernetes.io/name: octet, app.kubernetes.io/instance: \"%s\"", before,
        k->plan->name);
    if (component != NULL) {
        PUT(k, ", app.kubernetes.io/component: %s", component);
    }
    PUT(k, "}\n");
}

// Up to its spec. component NULL: it is of the whole run.
static void
object(const k8s *k, const char *api, const char *kind, const char *name, const char *component)
{
    PUT(k, "---\napiVersion: %s\nkind: %s\nmetadata:\n  name: \"%s-%s\"\n  namespace: \"%s\"\n",
        api, kind, k->plan->name, name, k->o->namespace);
    labels(k, "  labels: ", component);
}

static void
claim(const k8s *k, const char *before, const char *size)
{
    PUT(k, "%saccessModes: [ReadWriteOnce]\n", before);
    if (k->o->storage_class != NULL) {
        PUT(k, "%sstorageClassName: \"%s\"\n", before, k->o->storage_class);
    }
    PUT(k, "%sresources:\n%s  requests: {storage: \"%s\"}\n", before, before, size);
}

// A port of a component: its name, and its number.
typedef struct port {
    char name[16]; // with its end: more is not allowed
    uint32_t number;
} port;
#define PORTS_MAX (2 * OCT_SHARDS_MAX + 2)

// A relay has a pair for each shard of replay. Returns how many are written.
static size_t
relay_ports(const k8s *k, port out[PORTS_MAX])
{
    size_t count = 0;
    out[count++] = (port){"policies", k->relay_port};
    for (uint32_t i = 0; i < k->shards; i++) {
        char end[4] = "";
        if (i > 0) {
            (void)snprintf(end, sizeof(end), "-%u", (unsigned)(i % 100)); // at most OCT_SHARDS_MAX
        }
        port *batches = &out[count++], *acks = &out[count++];
        batches->number = k->relay_port + 2 * i + 1;
        acks->number = k->relay_port + 2 * i + 2;
        (void)snprintf(batches->name, sizeof(batches->name), "batches%s", end);
        (void)snprintf(acks->name, sizeof(acks->name), "acks%s", end);
    }
    return count;
}

static size_t
ports_of(const k8s *k, const char *component, port out[PORTS_MAX])
{
    size_t count = 0;
    if (strcmp(component, "learner") == 0) {
        out[count++] = (port){"calls", k->learner_port};
        out[count++] = (port){"policies", k->learner_port + 1};
    } else if (strcmp(component, "replay") == 0) {
        out[count++] = (port){"calls", k->replay_port};
        out[count++] = (port){"batches", k->replay_port + 1};
        out[count++] = (port){"acks", k->replay_port + 2};
    } else if (strcmp(component, "relay") == 0) {
        count = relay_ports(k, out);
    }
    out[count++] = (port){"metrics", METRICS_PORT};
    return count;
}

// A word of a relay: its pod's name, which Kubernetes puts there, stands for POD.
static void
relay_argument(const k8s *k, const char *word)
{
    const char *pod = strstr(word, POD);
    if (pod == NULL) {
        cli_yaml_argument(k->out, word);
    } else {
        PUT(k, "\"%.*s$(POD_NAME)%s\"", (int)(pod - word), word, pod + strlen(POD));
    }
}

static void
arguments(const k8s *k, const cli_cluster_daemon *daemon)
{
    bool is_relay = strcmp(daemon->name, "relay") == 0;
    PUT(k, "          args:\n");
    for (size_t i = 0; daemon->argv[i] != NULL; i++) {
        if (!cli_yaml_is_text(daemon->argv[i])) {
            cli_usage_error(COMMAND, "%s: %s would get an argument that is not UTF-8",
                            k->o->cluster.file, daemon->argv[0]);
        }
        PUT(k, "            - ");
        if (is_relay) {
            relay_argument(k, daemon->argv[i]);
        } else {
            cli_yaml_argument(k->out, daemon->argv[i]);
        }
        PUT(k, "\n");
    }
    if (is_relay) {
        PUT(k, "          env:\n            - name: POD_NAME\n"
               "              valueFrom: {fieldRef: {fieldPath: metadata.name}}\n");
    }
    const char *value = daemon->env != NULL ? strchr(daemon->env, '=') : NULL;
    if (value != NULL) {
        PUT(k, "          env:\n            - {name: %.*s, value: ", (int)(value - daemon->env),
            daemon->env);
        cli_yaml_argument(k->out, value + 1);
        PUT(k, "}\n");
    }
}

static void
probe(const k8s *k, const char *name, const char *alive, int period_s, int failures)
{
    PUT(k,
        "          %s:\n"
        "            exec: {command: [octet, health, %s\"http://127.0.0.1:%d\"]}\n"
        "            periodSeconds: %d\n            timeoutSeconds: 5\n"
        "            failureThreshold: %d\n",
        name, alive, METRICS_HERE, period_s, failures);
}

// What a pod of a component has, beside what all have.
typedef struct pod {
    const char *component;
    int grace_s;
    const char *cpu;
    const char *memory;
    const char *volume; // at DATA; NULL: none
} pod;

static void
container(const k8s *k, const cli_cluster_daemon *daemon, const pod *p)
{
    port ports[PORTS_MAX];
    size_t count = ports_of(k, p->component, ports);
    PUT(k, "      containers:\n        - name: %s\n          image: \"%s\"\n", p->component,
        k->o->image);
    if (k->o->pull != NULL) {
        PUT(k, "          imagePullPolicy: %s\n", k->o->pull);
    }
    arguments(k, daemon);
    PUT(k, "          ports:\n");
    for (size_t i = 0; i < count; i++) {
        PUT(k, "            - {name: %s, containerPort: %u}\n", ports[i].name,
            (unsigned)ports[i].number);
    }
    PUT(k, "          securityContext:\n"
           "            allowPrivilegeEscalation: false\n"
           "            readOnlyRootFilesystem: true\n"
           "            capabilities: {drop: [ALL]}\n");
    probe(k, "startupProbe", "--alive, ", 2, 150);
    probe(k, "livenessProbe", "--alive, ", 10, 6);
    probe(k, "readinessProbe", "", 5, 3);
    PUT(k,
        "          resources:\n            requests: {cpu: \"%s\", memory: \"%s\"}\n"
        "            limits: {memory: \"%s\"}\n          volumeMounts:\n",
        p->cpu, p->memory, p->memory);
    if (p->volume != NULL) {
        PUT(k, "            - {name: %s, mountPath: %s}\n", p->volume, DATA);
    }
    if (daemon->may_finish) {
        PUT(k, "            - {name: experiment, mountPath: %s, readOnly: true}\n", EXPERIMENT);
    }
    if (!k->o->cluster.insecure) {
        PUT(k, "            - {name: tls, mountPath: %s/%s, readOnly: true}\n", CERTS,
            p->component);
    }
    PUT(k, "            - {name: tmp, mountPath: /tmp}\n");
}

// A pod's spec, which is in a template.
static void
pod_spec(const k8s *k, const cli_cluster_daemon *daemon, const pod *p)
{
    PUT(k,
        "      automountServiceAccountToken: false\n      enableServiceLinks: false\n"
        "      terminationGracePeriodSeconds: %d\n"
        "      securityContext:\n        runAsNonRoot: true\n        runAsUser: 10001\n"
        "        runAsGroup: 10001\n        fsGroup: 10001\n"
        "        fsGroupChangePolicy: OnRootMismatch\n"
        "        seccompProfile: {type: RuntimeDefault}\n",
        p->grace_s);
    container(k, daemon, p);
    PUT(k, "      volumes:\n");
    if (daemon->may_finish) {
        PUT(k,
            "        - name: run\n          persistentVolumeClaim: {claimName: \"%s-learner\"}\n"
            "        - name: experiment\n          configMap: {name: \"%s-experiment\"}\n",
            k->plan->name, k->plan->name);
    }
    if (!k->o->cluster.insecure) {
        PUT(k,
            "        - name: tls\n          secret: {secretName: \"%s-%s-tls\", defaultMode: "
            "0440}\n",
            k->plan->name, p->component);
    }
    PUT(k, "        - name: tmp\n          emptyDir: {medium: Memory, sizeLimit: 64Mi}\n");
}

// The head of a template, behind "spec:".
static void template(const k8s *k, const char *component)
{
    PUT(k, "  template:\n    metadata:\n");
    labels(k, "      labels: ", component);
    PUT(k, "    spec:\n");
}

// ---- objects

static void
service(const k8s *k, const char *component)
{
    port ports[PORTS_MAX];
    size_t count = ports_of(k, component, ports);
    object(k, "v1", "Service", component, component);
    PUT(k, "spec:\n  clusterIP: None\n  publishNotReadyAddresses: true\n");
    labels(k, "  selector: ", component);
    PUT(k, "  ports:\n");
    for (size_t i = 0; i < count; i++) {
        PUT(k, "    - {name: %s, port: %u, targetPort: %s}\n", ports[i].name,
            (unsigned)ports[i].number, ports[i].name);
    }
}

static void
learner(const k8s *k)
{
    const pod p = {.component = "learner",
                   .grace_s = 120,
                   .cpu = k->quantity[LEARNER_CPU],
                   .memory = k->quantity[LEARNER_MEMORY],
                   .volume = "run"};
    object(k, "v1", "ConfigMap", "experiment", "learner");
    PUT(k, "data:\n  %s:", CLI_CLUSTER_EXPERIMENT);
    cli_yaml_block(k->out, k->plan->text, 4);
    object(k, "v1", "PersistentVolumeClaim", "learner", "learner");
    PUT(k, "spec:\n");
    claim(k, "  ", k->quantity[RUN_SIZE]);
    object(k, "batch/v1", "Job", "learner", "learner");
    PUT(k, "spec:\n  completions: 1\n  parallelism: 1\n  backoffLimit: 1000\n"
           "  podReplacementPolicy: Failed\n  podFailurePolicy:\n    rules:\n"
           "      - action: FailJob\n"
           "        onExitCodes: {containerName: learner, operator: In, values: [2, 3]}\n"
           "      - action: Ignore\n        onPodConditions:\n"
           "          - {type: DisruptionTarget, status: \"True\"}\n");
    template(k, "learner");
    PUT(k, "      restartPolicy: Never\n");
    pod_spec(k, cli_cluster_plan_find(k->plan, "learner"), &p);
    service(k, "learner");
}

static void
replay(const k8s *k)
{
    const pod p = {.component = "replay",
                   .grace_s = 60,
                   .cpu = k->quantity[REPLAY_CPU],
                   .memory = k->quantity[REPLAY_MEMORY],
                   .volume = "table"};
    object(k, "apps/v1", "StatefulSet", "replay", "replay");
    PUT(k,
        "spec:\n  serviceName: \"%s-replay\"\n  replicas: %u\n"
        "  podManagementPolicy: Parallel\n  selector:\n",
        k->plan->name, (unsigned)k->shards);
    labels(k, "    matchLabels: ", "replay");
    template(k, "replay");
    pod_spec(k, cli_cluster_plan_find(k->plan, "replay"), &p);
    PUT(k, "  volumeClaimTemplates:\n    - metadata:\n        name: table\n      spec:\n");
    claim(k, "        ", k->quantity[REPLAY_SIZE]);
    service(k, "replay");
}

// A set, for the names of its pods: an actor has three connections to one and the same relay.
static void
relay(const k8s *k)
{
    const pod p = {.component = "relay", .grace_s = 30, .cpu = "100m", .memory = "256Mi"};
    object(k, "apps/v1", "StatefulSet", "relay", "relay");
    PUT(k,
        "spec:\n  serviceName: \"%s-relay\"\n  replicas: %u\n"
        "  podManagementPolicy: Parallel\n  selector:\n",
        k->plan->name, (unsigned)k->relays);
    labels(k, "    matchLabels: ", "relay");
    template(k, "relay");
    pod_spec(k, cli_cluster_plan_find(k->plan, "relay"), &p);
    service(k, "relay");
}

static void
acting(const k8s *k, const char *component)
{
    const cli_cluster_daemon *daemon = cli_cluster_plan_find(k->plan, component);
    const pod p = {.component = component,
                   .grace_s = 30,
                   .cpu = k->quantity[ACTOR_CPU],
                   .memory = k->quantity[ACTOR_MEMORY]};
    bool is_scaled = strcmp(component, "actor") == 0 && k->o->actors_max > 0;
    object(k, "apps/v1", "Deployment", component, component);
    PUT(k, "spec:\n");
    if (!is_scaled) { // applied again, a number would undo the autoscaler
        PUT(k, "  replicas: %u\n", (unsigned)daemon->count);
    }
    PUT(k, "  selector:\n");
    labels(k, "    matchLabels: ", component);
    template(k, component);
    pod_spec(k, daemon, &p);
}

static void
autoscaler(const k8s *k)
{
    object(k, "autoscaling/v2", "HorizontalPodAutoscaler", "actor", "actor");
    PUT(k,
        "spec:\n"
        "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: \"%s-actor\"}\n"
        "  minReplicas: %u\n  maxReplicas: %u\n  metrics:\n    - type: Object\n      object:\n"
        "        describedObject: {apiVersion: v1, kind: Service, name: \"%s-learner\"}\n"
        "        metric: {name: %s}\n"
        "        target: {type: AverageValue, averageValue: \"1\"}\n",
        k->plan->name, (unsigned)k->plan->actors, (unsigned)k->o->actors_max, k->plan->name,
        METRIC);
    PUT(k, "  behavior:\n    scaleUp:\n      stabilizationWindowSeconds: 60\n      policies:\n"
           "        - {type: Percent, value: 100, periodSeconds: 60}\n"
           "        - {type: Pods, value: 4, periodSeconds: 60}\n"
           "    scaleDown:\n      stabilizationWindowSeconds: 300\n      policies:\n"
           "        - {type: Percent, value: 50, periodSeconds: 60}\n");
}

static void
disruption(const k8s *k, const char *component, const char *budget)
{
    object(k, "policy/v1", "PodDisruptionBudget", component, component);
    PUT(k, "spec:\n  %s\n  unhealthyPodEvictionPolicy: AlwaysAllow\n  selector:\n", budget);
    labels(k, "    matchLabels: ", component);
}

// ---- the network

// Behind "metadata": whom a policy is for. component NULL: all pods of the run.
static void
policy(const k8s *k, const char *name, const char *component)
{
    object(k, "networking.k8s.io/v1", "NetworkPolicy", name, component);
    PUT(k, "spec:\n  podSelector:\n");
    labels(k, "    matchLabels: ", component);
    PUT(k, "  policyTypes: [Ingress, Egress]\n");
}

// One rule: way is "from" or "to"; peers are components, NULL ends them.
static void
rule(const k8s *k, const char *way, const char *const *peers, uint32_t first, uint32_t count)
{
    PUT(k, "    - %s:\n", way);
    for (; *peers != NULL; peers++) {
        PUT(k, "        - podSelector:\n");
        labels(k, "            matchLabels: ", *peers);
    }
    PUT(k, "      ports:\n");
    for (uint32_t i = 0; i < count; i++) {
        PUT(k, "        - {protocol: TCP, port: %u}\n", (unsigned)(first + i));
    }
}

// Relays connect as actors do, and actors to them.
static void
relay_network(const k8s *k)
{
    static const char *const actors[] = {"actor", NULL};
    static const char *const to_learner[] = {"learner", NULL};
    static const char *const to_replay[] = {"replay", NULL};
    policy(k, "relay", "relay");
    PUT(k, "  ingress:\n");
    rule(k, "from", actors, k->relay_port, 1 + 2 * k->shards);
    PUT(k, "  egress:\n");
    rule(k, "to", to_learner, k->learner_port, 2);
    rule(k, "to", to_replay, k->replay_port + 1, 2);
}

static void
network(const k8s *k)
{
    static const char *const all[] = {"actor", "evaluator", "operator", "relay", NULL};
    static const char *const all_but_relays[] = {"actor", "evaluator", "operator", NULL};
    static const char *const callers[] = {"learner", "operator", NULL};
    static const char *const actors_and_relays[] = {"actor", "relay", NULL};
    static const char *const actors_alone[] = {"actor", NULL};
    static const char *const to_learner[] = {"learner", NULL};
    static const char *const to_replay[] = {"replay", NULL};
    static const char *const to_relay[] = {"relay", NULL};
    const char *const *actors = k->relays > 0 ? actors_and_relays : actors_alone;
    uint32_t calls = k->learner_port, samples = k->replay_port;
    policy(k, "deny", NULL);
    policy(k, "learner", "learner");
    PUT(k, "  ingress:\n");
    rule(k, "from", k->relays > 0 ? all : all_but_relays, calls, 1);
    rule(k, "from", actors, calls + 1, 1);
    PUT(k, "  egress:\n");
    rule(k, "to", to_replay, samples, 1);
    policy(k, "replay", "replay");
    PUT(k, "  ingress:\n");
    rule(k, "from", callers, samples, 1);
    rule(k, "from", actors, samples + 1, 2);
    policy(k, "actor", "actor");
    PUT(k, "  egress:\n");
    rule(k, "to", to_learner, calls, 2);
    rule(k, "to", to_replay, samples + 1, 2);
    if (k->relays > 0) {
        rule(k, "to", to_relay, k->relay_port, 1 + 2 * k->shards);
        relay_network(k);
    }
    policy(k, "evaluator", "evaluator");
    PUT(k, "  egress:\n");
    rule(k, "to", to_learner, calls, 1);
    policy(k, "operator", "operator");
    PUT(k, "  egress:\n");
    rule(k, "to", to_learner, calls, 1);
    rule(k, "to", to_replay, samples, 1);
    policy(k, "names-and-metrics", NULL);
    PUT(k,
        "  ingress:\n    - from:\n"
        "        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}\n"
        "      ports:\n        - {protocol: TCP, port: %d}\n"
        "  egress:\n    - to:\n"
        "        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}\n"
        "      ports:\n        - {protocol: UDP, port: 53}\n"
        "        - {protocol: TCP, port: 53}\n",
        METRICS_PORT);
}

// ---- the whole

// How to make what the manifests name and do not hold. Each run has an authority of its own.
static void
comment_issue(const k8s *k, const char *role, const char *folder)
{
    const char *name = k->plan->name;
    bool is_replay = strcmp(role, "replay") == 0, is_relay = strcmp(role, "relay") == 0;
    PUT(k, "#   octet certs issue %s %s", role, role);
    if (is_replay || strcmp(role, "learner") == 0) { // who is called by a name
        PUT(k, " --host %s-%s", name, role);
    }
    uint32_t pods = is_relay ? k->relays : is_replay && k->shards > 1 ? k->shards : 0;
    for (uint32_t i = 0; i < pods; i++) {
        PUT(k, " --host %s-%s-%u.%s-%s", name, role, (unsigned)i, name, role);
    }
    PUT(k, " --dir %s\n", folder);
}

static void
comment_certs(const k8s *k)
{
    static const char *const roles[] = {"learner", "replay", "actor", "evaluator", "relay"};
    size_t role_count = OCT_COUNTOF(roles) - (k->relays == 0 ? 1 : 0);
    const char *name = k->plan->name, *namespace = k->o->namespace;
    char made[sizeof("octet-certs-") + CLI_CLUSTER_NAME_MAX];
    const char *certs = k->o->cluster.certs, *folder = certs != NULL ? certs : made;
    (void)snprintf(made, sizeof(made), "octet-certs-%s", name);
    if (certs == NULL) {
        PUT(k, "#   octet certs init --dir %s\n", folder);
    } else {
        PUT(k, "#   (the certificates of learner and replay need --host %s-learner, %s-replay)\n",
            name, name);
    }
    if (certs != NULL && k->relays > 0) {
        PUT(k, "#   (that of relays needs --host %s-relay-0.%s-relay and so on, up to %u)\n", name,
            name, (unsigned)k->relays - 1);
    }
    for (size_t i = 0; certs == NULL && i < role_count; i++) {
        comment_issue(k, roles[i], folder);
    }
    for (size_t i = 0; i < role_count; i++) {
        PUT(k, "#   kubectl -n %s create secret generic %s-%s-tls --from-file=%s/%s\n", namespace,
            name, roles[i], folder, roles[i]);
    }
}

static void
comment(const k8s *k)
{
    const char *name = k->plan->name, *namespace = k->o->namespace;
    PUT(k,
        "# A run of Octet on Kubernetes, made by octet cluster k8s. docs/kubernetes.md explains "
        "it.\n"
        "# First, once:\n"
        "#   kubectl create namespace %s\n",
        namespace);
    if (!k->o->cluster.insecure) {
        comment_certs(k);
    }
    PUT(k, "# Then: octet cluster k8s ... | kubectl apply -f -\n");
    if (k->o->cluster.insecure) {
        PUT(k, "#   kubectl -n %s exec job/%s-learner -- octet status %s/run --watch\n", namespace,
            name, DATA);
    } else { // octet status needs an operator's certificate, which no pod has
        PUT(k,
            "#   kubectl -n %s exec job/%s-learner -- octet health http://127.0.0.1:%d\n"
            "#   kubectl -n %s logs -f job/%s-learner\n",
            namespace, name, METRICS_HERE, namespace, name);
    }
    PUT(k, "#   kubectl -n %s wait --for=condition=complete --timeout=-1s job/%s-learner\n",
        namespace, name);
}

// The host of replay; of several shards "A:PORT,SCHEME://B", which a scheme and a port make a list
// of addresses: the pods of a StatefulSet have names of their own, in an order that stays.
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
    if (used + sizeof("tls+tcp://:65535") > OCT_CONFIG_TEXT_MAX) {
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
    k->relay_port = k->o->cluster.port + CLI_K8S_PORT_RELAY;
    (void)snprintf(relay_here, sizeof(relay_here), "%s://*:%u", scheme, (unsigned)k->relay_port);
    (void)snprintf(relay_there, sizeof(relay_there), "%s://" POD ".%s-relay:%u", scheme,
                   k->plan->name, (unsigned)k->relay_port);
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
    // Alike, in pods of their own at one port: the plan needs one, and the learner has them all.
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
    k->learner_port = cli_cluster_plan_find(k->plan, "learner")->port;
    k->replay_port = cli_cluster_plan_find(k->plan, "replay")->port;
}

// What was given, or what the experiment needs.
static void
quantities_fill(k8s *k)
{
    cli_cluster_needs needs;
    uint32_t actors = OCT_MAX(k->plan->actors, k->o->actors_max);
    cli_cluster_needs_find(&needs, k->plan, actors);
    const uint32_t needed[QUANTITIES] = {
        [RUN_SIZE] = needs.run_gib,
        [REPLAY_SIZE] = needs.replay_gib,
        [LEARNER_MEMORY] = needs.learner_mib,
        [REPLAY_MEMORY] = needs.replay_mib,
        [ACTOR_MEMORY] = needs.actor_mib,
        [LEARNER_CPU] = needs.learner_millicpus,
        [REPLAY_CPU] = needs.replay_millicpus,
        [ACTOR_CPU] = needs.actor_millicpus,
    };
    for (size_t i = 0; i < QUANTITIES; i++) {
        const char *unit = i <= REPLAY_SIZE ? "Gi" : i <= ACTOR_MEMORY ? "Mi" : "m";
        if (k->o->quantity[i] != NULL) {
            (void)snprintf(k->quantity[i], CLI_K8S_QUANTITY_BYTES, "%s", k->o->quantity[i]);
        } else {
            (void)snprintf(k->quantity[i], CLI_K8S_QUANTITY_BYTES, "%u%s", (unsigned)needed[i],
                           unit);
        }
    }
}

static void
print(const k8s *k)
{
    comment(k);
    learner(k);
    replay(k);
    if (k->relays > 0) {
        relay(k);
    }
    acting(k, "actor");
    acting(k, "evaluator");
    if (k->o->actors_max > 0) {
        autoscaler(k);
    }
    network(k);
    char all[32];
    (void)snprintf(all, sizeof(all), "minAvailable: %u", (unsigned)k->shards);
    disruption(k, "learner", "minAvailable: 1");
    disruption(k, "replay", all);
    disruption(k, "actor", "maxUnavailable: 50%");
    if (k->relays > 0) {
        disruption(k, "relay", "maxUnavailable: 50%");
    }
}

int
cli_cluster_k8s(int argc, char **argv)
{
    k8s_options options;
    cli_k8s_options_parse(&options, argc, argv);
    cli_cluster_plan *plan = cli_cluster_plan_make(&options.cluster);
    cli_k8s_plan_check(&options, plan);
    // Whole or not at all: what is wrong is said before the first line.
    char *text = NULL;
    size_t size = 0;
    k8s k = {.out = open_memstream(&text, &size),
             .o = &options,
             .plan = plan,
             .shards = plan->config.replay.shards,
             .relays = plan->relays};
    OCT_ASSERT(k.out != NULL);
    quantities_fill(&k); // before the shards of replay are one to the plan
    daemons_place(&k);
    print(&k);
    OCT_ASSERT(fclose(k.out) == 0);
    bool is_written = fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0;
    free(text);
    cli_cluster_plan_free(plan);
    if (!is_written) {
        cli_error(COMMAND, "the manifests could not be written");
        return CLI_EXIT_FAILED;
    }
    return 0;
}
