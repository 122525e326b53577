#ifndef REPLAY_REPLAY_IO_H
#define REPLAY_REPLAY_IO_H

#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_prometheus.h"
#include "common/oct_reason.h"
#include "net/net_loop.h"
#include "replay/replay_disk_io.h"

// The network side of replay: receives batches (PULL), sends acks (PAIR1), and serves the learner
// (REP).
//
// Threads: the loop thread. Owns: its links, and the table once a learner configured it.
// Full: batches stay with NNG while the limiter forbids inserts, and while there is no table yet.
// Sample requests are held, at most 48 of them, until the limiter allows them or their deadline
// passes.
typedef struct replay_io replay_io;

// Opens the files, then the links. url: the base address, checked; the service listens there,
// batches at +1, acks at +2. disk: where the table's file is. data: the file of the data set to
// serve; NULL: the table holds what actors send. If a file cannot be used, reason says why, and
// OCT_EINVAL says that waiting would not help. If the addresses cannot be listened on, reason is
// empty.
OCT_CHECKED oct_err replay_io_open(replay_io **out, net_loop *loop, const char *url,
                                   const replay_disk_options *disk, const char *data,
                                   oct_reason *why);
// Answers the held requests, closes the links and the files, and destroys the table. NULL is a
// no-op.
void replay_io_close(replay_io *io);
// Logs this process's numbers in one line (REPLAY-STOP).
void replay_io_log_totals(const replay_io *io);
// Writes replay's numbers for net_metrics; arg is the replay_io (replay_status_io.c).
void replay_prometheus_write(void *arg, oct_prometheus *text);
// Returns NULL while replay works, also before a learner has configured it; otherwise why the
// table's file has no room or cannot be written.
const char *replay_prometheus_trouble(void *arg);

#endif // REPLAY_REPLAY_IO_H
