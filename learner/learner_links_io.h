#ifndef LEARNER_LEARNER_LINKS_IO_H
#define LEARNER_LEARNER_LINKS_IO_H

#include "learner/learner_run.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// The links to all replays that the run learns from: members of learner_batches.h, in their order.
//
// Threads: the loop thread. Owns: the links, and a timer where there are shards.
typedef struct learner_links_io learner_links_io;

typedef struct learner_links_io_options {
    net_loop *loop;
    learner_run *run;                                       // borrowed
    const config_experiment *config;                        // borrowed
    void (*ended)(void *arg, oct_err err, const char *how); // as of learner_link_io_options
    void *arg;
} learner_links_io_options;

// Errors as of learner_link_io_open.
OCT_CHECKED oct_err learner_links_io_open(learner_links_io **out,
                                          const learner_links_io_options *options);
void learner_links_io_close(learner_links_io *links); // NULL is a no-op
// Call learner_link_io_tick and _woke for every link.
void learner_links_io_tick(learner_links_io *links);
void learner_links_io_woke(learner_links_io *links);
// Returns the address of a shard, valid as long as links.
const char *learner_links_io_address(const learner_links_io *links, uint32_t shard);
// Sums the bytes of the actors' replays, and gives those of the data set's replay.
void learner_links_io_traffic(const learner_links_io *links, net_traffic *replay,
                              net_traffic *data);

#endif // LEARNER_LEARNER_LINKS_IO_H
