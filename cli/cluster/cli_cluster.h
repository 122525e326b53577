#ifndef CLI_CLUSTER_CLI_CLUSTER_H
#define CLI_CLUSTER_CLI_CLUSTER_H

// The commands of `octet cluster`, each in a file of its own: cli_cluster_ssh.c and so on. argv[0]
// is "cluster ssh". They return the exit code (cli_commands.h). Threads: main thread.

int cli_cluster_k8s(int argc, char **argv);
int cli_cluster_slurm(int argc, char **argv);
int cli_cluster_ssh(int argc, char **argv);

#endif // CLI_CLUSTER_CLI_CLUSTER_H
