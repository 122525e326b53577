#ifndef REPLAY_REPLAY_STATUS_IO_H
#define REPLAY_REPLAY_STATUS_IO_H

#include "common/oct_prometheus.h"
#include "net/net_pull.h"
#include "proto/wire_rpc.h"
#include "replay/replay_acks_io.h"
#include "replay/replay_activity.h"
#include "replay/replay_complaints.h"
#include "replay/replay_data.h"
#include "replay/replay_disk_io.h"

// Replay's numbers, for ReplayStatus and for Prometheus.
//
// Threads: the loop thread. Owns: nothing.

// The parts of the daemon that are measured; borrowed.
typedef struct replay_status_of {
    const replay_table *table; // NULL until a learner configures one
    const replay_disk *disk;   // NULL: the table is in memory only
    const replay_data *data;   // NULL: actors send the rows
    const replay_activity *activity;
    const replay_complaints *complaints;
    net_pull *pull;
    const replay_acks *acks;
    uint32_t held; // Sample requests that wait
} replay_status_of;

// Answers a ReplayStatus request.
void replay_status_reply(const replay_status_of *of, wire_call *call);
void replay_status_write(const replay_status_of *of, oct_prometheus *text);

#endif // REPLAY_REPLAY_STATUS_IO_H
