#ifndef ACTOR_ACTOR_IO_H
#define ACTOR_ACTOR_IO_H

#include <stdbool.h>

#include "common/oct_prometheus.h"
#include "envs/env_plugin_dirs.h"
#include "net/net_loop.h"
#include "proto/wire.h"

// The actor daemon's network side: registers with the learner, keeps the newest policy, moves
// batches to replay and acknowledgements back, reports.
//
// Threads: the loop thread. Owns: the worker, all links.
typedef struct actor_io actor_io;

// In the line ACTOR-ENV-UNSOUND of an actor: what the last cause follows, with which it ends.
#define ACTOR_UNSOUND_LAST "; the last: "

// What the process exits with, beside 0: the environment failed; the learner or this actor refused;
// the environment does not return (--exit-when-stuck); no learner answers (--give-up-after).
#define ACTOR_EXIT_FAILED  1
#define ACTOR_EXIT_REFUSED 3
#define ACTOR_EXIT_STUCK   4
#define ACTOR_EXIT_GAVE_UP 5

typedef struct actor_io_options {
    const char *learner; // base address
    const char *relay;   // to go through, as long as it can be reached; NULL: the learner chooses
    uint32_t await_relay_s; // so long the learner may take to name one, before it is gone without
    bool evaluate;
    bool insecure;
    uint32_t place;                 // the index that it is to have, plus 1; 0: the learner chooses
    uint32_t envs_max;              // environments that the learner may ask for; 0: any number
    const env_plugin_dirs *plugins; // where the learner's choice of a plug-in may come from
    double exit_when_stuck_s;       // step of an environment that ends the process; 0: none does
    bool exit_when_stuck;           // with 0 above: run.env_hang_s of the run
    uint32_t give_up_s; // time without an answer of the learner that ends it; 0: none does
    double restarts;    // of this process, by its supervisor; NaN: not known
    bool has_pin;
    uint8_t pin[WIRE_PUBLIC_KEY_BYTES]; // the key that the learner must have
} actor_io_options;

// Begins; everything else happens on the loop. OCT_EIO: the address cannot be dialed at all.
OCT_CHECKED oct_err actor_io_open(actor_io **out, net_loop *loop, const actor_io_options *options);
// The actor is to end: gives up its place at the learner, then stops the loop, soon in any case and
// at once when asked again.
void actor_io_end(actor_io *io);
// Stops the acting thread and closes the links.
void actor_io_close(actor_io *io);
// Before an execv, which leaves the processes of environments behind: ends the acting thread and
// closes the environments. One that hangs is not waited for: the process of gym:NAME is killed, any
// other is left to the execv. Nothing but the execv may follow.
void actor_io_close_environments(actor_io *io);
// What the process should exit with after the loop ended.
int actor_io_exit_code(const actor_io *io);
// What replay acknowledged and what was sent: with replay's own totals, that nothing is lost or
// taken twice. Before that the steps that failed, if there are more than were told.
void actor_io_log_totals(actor_io *io);
// The learner runs another experiment than the one this process began with: start over.
bool actor_io_start_over(const actor_io *io);

// For net_metrics; arg is the actor_io. Hung: a step of the environment exceeds run.env_hang_s.
bool actor_io_is_hung(void *arg);
// Trouble: not registered, or the learner does not answer.
// (actor_prometheus_io.c)
void actor_io_prometheus(void *arg, oct_prometheus *text);
const char *actor_io_trouble(void *arg);

#endif // ACTOR_ACTOR_IO_H
