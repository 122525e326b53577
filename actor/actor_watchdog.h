#ifndef ACTOR_ACTOR_WATCHDOG_H
#define ACTOR_ACTOR_WATCHDOG_H

#include "actor/actor_worker.h"

// Ends the process when code of an environment does not return, so that the supervisor starts it
// again. Such code runs in this process, so nothing else can stop it. The watchdog has its own
// thread, because the loop thread opens the environment. It checks twice a second.
//
// Threads: all calls on the loop thread; on_stuck on the watchdog's thread. Owns: its thread.
// Full: never.
typedef struct actor_watchdog actor_watchdog;

// Called at most once, with the seconds that the code has taken. It should end the process: the
// watchdog stops watching.
typedef void (*actor_stuck_fn)(double stuck_s);

// Starts the thread, without a limit. NULL: the system refused a thread.
actor_watchdog *actor_watchdog_create(actor_stuck_fn on_stuck);
void actor_watchdog_destroy(actor_watchdog *watchdog); // NULL is a no-op
// Sets how many seconds code of an environment may take; 0: any time. In all functions below, a
// NULL watchdog is a no-op.
void actor_watchdog_limit(actor_watchdog *watchdog, double limit_s);
// true: the loop thread opens or closes an environment from now on. false: it has finished.
void actor_watchdog_opens(actor_watchdog *watchdog, bool opens);
// Watches the steps of this worker, too; NULL: of none. The worker must not be destroyed while it
// is watched.
void actor_watchdog_worker(actor_watchdog *watchdog, const actor_worker *worker);

#endif // ACTOR_ACTOR_WATCHDOG_H
