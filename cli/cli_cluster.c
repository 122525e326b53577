// octet cluster: runs an experiment on several hosts, with the programs that start processes there.

#include "cli/cluster/cli_cluster.h"
#include "cli/cli_commands.h"
#include "cli/cli_options.h"

int
cli_cluster(int argc, char **argv)
{
    static const cli_command commands[] = {
        {"k8s", cli_cluster_k8s, "print an experiment as Kubernetes manifests"},
        {"ssh", cli_cluster_ssh, "copy programs to hosts, train there and fetch the run"},
        {"slurm", cli_cluster_slurm, "print a job script for Slurm's sbatch"},
    };
    static const cli_family family = {.name = "cluster",
                                      .about = "Trains on several hosts.",
                                      .list = commands,
                                      .count = OCT_COUNTOF(commands),
                                      .start = "octet cluster ssh cartpole --hosts a,b,c"};
    return cli_family_run(&family, argc, argv);
}
