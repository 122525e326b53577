#ifndef CLI_CLUSTER_CLI_CLUSTER_K8S_OPTIONS_H
#define CLI_CLUSTER_CLI_CLUSTER_K8S_OPTIONS_H

#include "cli/cluster/cli_cluster_plan.h"

// The options of `octet cluster k8s`, and what the manifests have no place for. Threads: main
// thread. Errors: they end the process with words for a person (exit code 2).

#define CLI_K8S_COMMAND      "cluster k8s"
#define CLI_K8S_METRICS_HERE 9464 // of the probes, inside a pod alone
#define CLI_K8S_METRICS_PORT 9465 // for Prometheus
#define CLI_K8S_DATA         "/var/lib/octet"
#define CLI_K8S_RELAYS_MAX   64  // each has a name in their certificate
#define CLI_K8S_PORT_RELAY   15u // behind the learner's

typedef enum k8s_quantity {
    RUN_SIZE,
    REPLAY_SIZE,
    LEARNER_MEMORY,
    REPLAY_MEMORY,
    ACTOR_MEMORY,
    LEARNER_CPU, // and those after it: CPUs
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
    const char *quantity[QUANTITIES]; // as given; NULL: as the experiment needs
} k8s_options;

// With their defaults. The texts of what is parsed stay argv's.
void cli_k8s_options_parse(k8s_options *o, int argc, char **argv);
// What depends on the experiment.
void cli_k8s_plan_check(const k8s_options *o, const cli_cluster_plan *plan);

#endif // CLI_CLUSTER_CLI_CLUSTER_K8S_OPTIONS_H
