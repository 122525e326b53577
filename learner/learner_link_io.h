#ifndef LEARNER_LEARNER_LINK_IO_H
#define LEARNER_LEARNER_LINK_IO_H

#include "learner/learner_run.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// The link to one octet-replay that the run learns from, a member of learner_batches.h: configures
// it, keeps two requests for samples in flight, returns priorities, asks for the hash of its table,
// and releases the table at the end.
//
// Threads: the loop thread. Owns: its sockets. Requests that replay does not answer are repeated at
// every tick.
typedef struct learner_link_io learner_link_io;

typedef struct learner_link_io_options {
    net_loop *loop;
    learner_run *run; // borrowed
    uint32_t member;  // of learner_batches.h
    bool is_data;     // replay serves a data set, beside the replay of the actors
    const char *url;  // borrowed
    uint32_t links;   // count of the run's links, whose answers share the learner's bandwidth
    // The run cannot continue. OCT_ESTALE: replay now serves another learner of this run; how is
    // its answer. OCT_EINVAL: replay refuses a request, which is logged; how is the reason of the
    // end.
    void (*ended)(void *arg, oct_err err, const char *how);
    void *ended_arg;
    void (*counted)(void *arg); // counters arrived, so other shards may have to be asked for theirs
    // Replay now has the configuration's limiter: the other shards must have it, too.
    void (*limited)(void *arg, uint32_t member);
    void *arg;
} learner_link_io_options;

// Errors as of net_rpc_client_open.
OCT_CHECKED oct_err learner_link_io_open(learner_link_io **out,
                                         const learner_link_io_options *options);
void learner_link_io_close(learner_link_io *link); // NULL is a no-op
// Call about every 20 ms.
void learner_link_io_tick(learner_link_io *link);
// Call when the training thread has finished something: sends priorities, asks for samples.
void learner_link_io_woke(learner_link_io *link);
// Call every millisecond where there are shards, and when counters of another shard arrived: asks
// for counters if learner_run_tell says so.
void learner_link_io_tell(learner_link_io *link);
// Sets a shard's limiter to the configuration's, even if an operator has set another.
void learner_link_io_limit(learner_link_io *link);
net_traffic learner_link_io_traffic(const learner_link_io *link);

#endif // LEARNER_LEARNER_LINK_IO_H
