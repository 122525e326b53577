#ifndef ACTOR_ACTOR_WATCHDOG_H
#define ACTOR_ACTOR_WATCHDOG_H

#include "actor/actor_worker.h"

// Ends the process when code of an environment does not return, so that the program that supervises
// the process starts it again. Such code cannot be stopped otherwise: it runs in this process. A
// thread of its own looks twice a second, because the environment is opened on the loop thread.
//
// Threads: create, destroy and all calls on the loop thread; on_stuck on the watchdog's thread.
// Owns: its thread. Full: never.
typedef struct actor_watchdog actor_watchdog;

// Called once, with how long the code has taken. It should end the process: nothing follows.
typedef void (*actor_stuck_fn)(double stuck_s);

// Without a limit until actor_watchdog_limit. NULL: no thread could be made.
actor_watchdog *actor_watchdog_create(actor_stuck_fn on_stuck);
void actor_watchdog_destroy(actor_watchdog *watchdog); // NULL is a no-op
// Seconds that code of an environment may take; 0: any time. NULL is a no-op, as below.
void actor_watchdog_limit(actor_watchdog *watchdog, double limit_s);
// The loop thread opens or closes an environment from here on, until false.
void actor_watchdog_opens(actor_watchdog *watchdog, bool opens);
// Watches the steps of this worker, too; NULL: of none. Call it before the worker is destroyed.
void actor_watchdog_worker(actor_watchdog *watchdog, const actor_worker *worker);

#endif // ACTOR_ACTOR_WATCHDOG_H
