#ifndef LEARNER_LEARNER_LINK_IO_H
#define LEARNER_LEARNER_LINK_IO_H

#include "learner/learner_run.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// The link to an octet-replay that the run learns from: configures it, keeps samples of it in
// flight, returns priorities, asks for the hash of its table, and gives it back at the end.
//
// Threads: the loop thread. Owns: its sockets. Lost: it is asked again at every tick.
typedef struct learner_link_io learner_link_io;

typedef struct learner_link_io_options {
    net_loop *loop;
    learner_run *run; // borrowed
    learner_origin origin;
    const char *url; // borrowed
    uint32_t links;  // of the run: their answers share the learner's line
    bool in_turns;   // lock-step: a turn waits for its priorities, however slow replay is
    // OCT_ESTALE: it serves another learner of this run by now, how says it. OCT_EINVAL: it refuses
    // what it was asked for, which is logged; how is why the run ends.
    void (*ended)(void *arg, oct_err err, const char *how);
    void *ended_arg;
    void (*counted)(void *arg); // a shard has said what it has: the others are to be told
    // It has the configuration's limiter from now on: so are the other shards to have it.
    void (*limited)(void *arg, learner_origin origin);
    void *arg;
} learner_link_io_options;

// Errors as of net_rpc_client_open.
OCT_CHECKED oct_err learner_link_io_open(learner_link_io **out,
                                         const learner_link_io_options *options);
void learner_link_io_close(learner_link_io *link); // NULL is a no-op
// Every 20 ms or so: whatever is due.
void learner_link_io_tick(learner_link_io *link);
// The training thread has something: priorities go out, samples are asked for.
void learner_link_io_woke(learner_link_io *link);
// Every millisecond, and when another shard has said what it has: a shard is told what the others
// have, and asked for its counters, if that is due. A replay that is no shard is asked while it
// owes a sample for long.
void learner_link_io_tell(learner_link_io *link);
// A shard is to have the configuration's limiter, whatever an operator has set.
void learner_link_io_limit(learner_link_io *link);
net_traffic learner_link_io_traffic(const learner_link_io *link);

#endif // LEARNER_LEARNER_LINK_IO_H
