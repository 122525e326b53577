#ifndef REPLAY_REPLAY_IO_H
#define REPLAY_REPLAY_IO_H

#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_prometheus.h"
#include "net/net_loop.h"
#include "replay/replay_disk_io.h"

// The shell around the table: batches in (PULL), acks out (PAIR1), the service Replay (REP).
//
// Threads: loop thread. Owns: its links, and the table once a learner configured one.
// Full: batches stay with NNG while the limiter forbids inserts, and while there is no table yet;
// Sample requests are held, at most 48 of them, until the limiter allows them or their time is up.
typedef struct replay_io replay_io;

// url: the base address, checked; the service is there, batches at +1, acks at +2. disk: where the
// table lies; data: the file of the data set that it is of, NULL: of what actors send. reason
// says why such a file cannot be used, with OCT_EINVAL when that will not change by itself; it is
// empty when the addresses cannot be listened on.
OCT_CHECKED oct_err replay_io_open(replay_io **out, net_loop *loop, const char *url,
                                   const replay_disk_options *disk, const char *data, char *reason,
                                   size_t reason_size);
// Answers what is held, closes the links.
void replay_io_close(replay_io *io);
// The daemon's own numbers, as one log line (REPLAY-STOP).
void replay_io_log_totals(const replay_io *io);
// The same and more for net_metrics; arg is the replay_io. (replay_status_io.c)
void replay_prometheus_write(void *arg, oct_prometheus *text);
// NULL: a replay that answers is well, also before a learner has configured it. Else: the file of
// its table has no room, or cannot be written.
const char *replay_prometheus_trouble(void *arg);

#endif // REPLAY_REPLAY_IO_H
