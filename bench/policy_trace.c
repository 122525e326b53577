// Writes the policies that a learner publishes to a folder, one file each, for bench_codec_delta:
// runs of consecutive versions (a chain of changes needs neighbours) with pauses between them, so
// that few files show the beginning, the middle and the end of a training run. The learner should
// publish fp32 (policy.precision), from which every other precision can be made.
//
// usage: policy_trace URL FOLDER [BURST PAUSE FILES]
//   URL     where the learner publishes, e.g. ipc://runs/NAME/learner.ipc.1
//   BURST   versions of one run of neighbours (default 12)
//   PAUSE   versions left out after it (default 200)
//   FILES   after which it ends (default 60)

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "net/net_pub.h"
#include "proto/wire.h"

#define QUEUE 16
#define PATH  1024

typedef struct trace {
    net_loop *loop;
    wire_arena *arena;
    const char *folder;
    uint64_t burst, pause, files;
    uint64_t seen;
    uint64_t written;
} trace;

static void
trace_keep(trace *self, const wire_policy *policy)
{
    char path[PATH];
    (void)snprintf(path, sizeof(path), "%s/%010" PRIu64 ".policy", self->folder, policy->updates);
    if (oct_file_write(path, policy->bytes, policy->length) != OCT_OK) {
        fprintf(stderr, "policy_trace: cannot write '%s'\n", path);
        exit(1);
    }
    printf("%s version %" PRIu64 "\n", path, policy->version);
    if (++self->written == self->files) {
        net_loop_stop(self->loop);
    }
}

static void
trace_arrived(void *arg, net_msg *msg)
{
    trace *self = arg;
    wire_policy policy;
    wire_arena_reset(self->arena);
    oct_err err = wire_policy_unpack(&policy, self->arena, net_msg_body(msg), net_msg_length(msg));
    if (err != OCT_OK || policy.base_version != 0) {
        fprintf(stderr, "policy_trace: a message that is not a complete policy\n");
        return;
    }
    if (self->seen++ % (self->burst + self->pause) < self->burst && self->written < self->files) {
        trace_keep(self, &policy);
    }
}

static uint64_t
argument(int argc, char **argv, int i, uint64_t fallback)
{
    return argc > i ? strtoull(argv[i], NULL, 10) : fallback;
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: policy_trace URL FOLDER [BURST PAUSE FILES]\n");
        return 2;
    }
    trace self = {
        .loop = net_loop_create(),
        .arena = wire_arena_create(WIRE_MESSAGE_BYTES_MAX),
        .folder = argv[2],
        .burst = argument(argc, argv, 3, 12),
        .pause = argument(argc, argv, 4, 200),
        .files = argument(argc, argv, 5, 60),
    };
    static const uint8_t topic[] = {'O', 'C', 'T', WIRE_POLICY};
    net_sub *sub;
    oct_err err = net_sub_open(
        &sub, self.loop, &(net_endpoint){argv[1], OCT_ROLES_ANY, WIRE_MESSAGE_BYTES_MAX, QUEUE},
        &(net_sub_options){topic, sizeof(topic), trace_arrived, NULL, &self});
    if (err != OCT_OK) {
        fprintf(stderr, "policy_trace: %s: %s\n", argv[1], oct_strerror(err));
        return 1;
    }
    net_loop_run(self.loop);
    net_loop_exit_deadline(self.loop, 2000, 0);
    net_sub_close(sub);
    net_loop_destroy(self.loop);
    wire_arena_destroy(self.arena);
    return 0;
}
