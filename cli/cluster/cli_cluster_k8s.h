#ifndef CLI_CLUSTER_CLI_CLUSTER_K8S_H
#define CLI_CLUSTER_CLI_CLUSTER_K8S_H

// Returns the text of an embedded file by its name, or NULL: the template of `octet cluster k8s`.
// Threads: any.
const char *cli_cluster_k8s_text(const char *name);

#endif // CLI_CLUSTER_CLI_CLUSTER_K8S_H
