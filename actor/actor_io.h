#ifndef ACTOR_ACTOR_IO_H
#define ACTOR_ACTOR_IO_H

#include <stdbool.h>

#include "common/oct_prometheus.h"
#include "envs/env_plugin_dirs.h"
#include "net/net_loop.h"
#include "proto/wire.h"

// The actor daemon's network side: registers with the learner, receives policies, sends batches to
// replay, takes acknowledgements, and reports.
//
// Threads: the loop thread. Owns: the worker and all links. Full: the worker waits for replay
// (actor_worker.h).
typedef struct actor_io actor_io;

// Exit codes of the process, beside 0.
#define ACTOR_EXIT_FAILED  1 // the environment failed, or something local: links, a thread, kernels
#define ACTOR_EXIT_REFUSED 3 // the learner refused the actor, or the actor the learner's run
#define ACTOR_EXIT_STUCK   4 // the environment does not return (--exit-when-stuck)
#define ACTOR_EXIT_GAVE_UP 5 // no learner answers (--give-up-after)

typedef struct actor_io_options {
    const char *learner; // base address
    const char *relay;   // base address to use while it can be reached; NULL: the learner chooses
    uint32_t await_relay_s; // longest wait for the learner to name a relay, before direct links
    bool evaluate;          // plays evaluations instead of training
    bool insecure;          // allows tcp:// without TLS to other hosts
    uint32_t place;         // the wanted index plus 1; 0: the learner chooses
    uint32_t envs_max;      // most environments that the learner may ask for; 0: any number
    const env_plugin_dirs *plugins; // from which the learner may choose plug-ins; outlives the io
    double exit_when_stuck_s; // limit of a call of the environment; 0: the run's run.env_hang_s
    bool exit_when_stuck;     // false: a call may take any time
    uint32_t give_up_s;       // longest time without an answer of a learner; 0: no limit
    double restarts;          // of this process by its supervisor; NaN: unknown
    bool has_pin;
    uint8_t pin[WIRE_PUBLIC_KEY_BYTES]; // the only learner's key to accept, if has_pin
} actor_io_options;

// Starts; everything else happens on the loop. OCT_EIO: the address cannot be dialed at all.
OCT_CHECKED oct_err actor_io_open(actor_io **out, net_loop *loop, const actor_io_options *options);
// Ends the actor: waits for acknowledgements (at most ACTOR_DRAIN_MS), frees its slot at the
// learner, and stops the loop. A second call skips the waiting.
void actor_io_end(actor_io *io);
// Stops the acting thread and closes the links.
void actor_io_close(actor_io *io);
// Before an execv, which would leave the processes of environments running: ends the acting thread
// and closes the environments. It does not wait for an environment that hangs: the process of
// gym:NAME is killed, and the execv ends any other. Nothing but the execv may follow.
void actor_io_close_environments(actor_io *io);
// Returns the exit code, after the loop has ended.
int actor_io_exit_code(const actor_io *io);
// Logs what was sent and what replay acknowledged. With replay's own totals, this shows that
// nothing is lost or inserted twice. Before that, logs the failed steps that were not logged yet.
void actor_io_log_totals(actor_io *io);
// Returns true if the process must start over with execv: the learner's run is another one, or the
// configuration or the session has changed.
bool actor_io_start_over(const actor_io *io);

// For net_metrics; arg is the actor_io. Hung: a call of the environment exceeds run.env_hang_s.
bool actor_io_is_hung(void *arg);
// Writes the actor's numbers.
void actor_io_prometheus(void *arg, oct_prometheus *text);
// Returns why the actor is in trouble, or NULL: not registered, stuck in the environment, no
// answer of the learner, or no acknowledgement for ACTOR_UNACKED_S. The text is valid until the
// next call.
const char *actor_io_trouble(void *arg);

#endif // ACTOR_ACTOR_IO_H
