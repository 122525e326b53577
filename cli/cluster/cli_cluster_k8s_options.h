#ifndef CLI_CLUSTER_CLI_CLUSTER_K8S_OPTIONS_H
#define CLI_CLUSTER_CLI_CLUSTER_K8S_OPTIONS_H

#include "cli/cluster/cli_cluster_plan.h"

// The options of `octet cluster k8s`, and checks for what the manifests cannot express. Threads:
// main thread. Errors: a mistake of the user ends the process with a message and exit code 2.

#define CLI_K8S_COMMAND      "cluster k8s"
#define CLI_K8S_METRICS_HERE 9464 // port of the probes, on the pod's own loopback only
#define CLI_K8S_METRICS_PORT 9465 // port for Prometheus
#define CLI_K8S_DATA         "/var/lib/octet"
#define CLI_K8S_RELAYS_MAX   64  // their certificate names each of them
#define CLI_K8S_PORT_RELAY   15u // offset from the learner's port

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
#define CLI_K8S_QUANTITY_BYTES 24

typedef struct k8s_options {
    cli_cluster_options cluster;
    const char *namespace;
    const char *image;
    const char *pull; // NULL: the cluster decides
    const char *storage_class;
    uint32_t actors_max;              // 0: no autoscaler
    const char *quantity[QUANTITIES]; // as the user wrote it; NULL: computed from the experiment
} k8s_options;

// Sets defaults, then reads argv, which the strings are borrowed from.
void cli_k8s_options_parse(k8s_options *o, int argc, char **argv);
// Checks what depends on the experiment.
void cli_k8s_plan_check(const k8s_options *o, const cli_cluster_plan *plan);

#endif // CLI_CLUSTER_CLI_CLUSTER_K8S_OPTIONS_H
