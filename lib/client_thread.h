#ifndef LIB_CLIENT_THREAD_H
#define LIB_CLIENT_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "net/net_loop.h"

// An event loop with its own thread, in a program that is not Octet's. The thread blocks all
// signals, never ends the process, and does not survive fork().
//
// Order: create; open the links on its loop; then start, or abandon if that failed. Threads: one
// user. Owns: the loop and the thread.
typedef struct client_thread client_thread;

// Checks that this process may have such a thread, with one line in reason:
//   OCT_EINVAL  the process is a fork of a process that had one
//   OCT_EIO  a limit does not allow the threads or files (net/net_limits.h)
OCT_CHECKED oct_err client_thread_check(oct_reason *why);
// Makes the thread, which waits for start or abandon. Until then the calling thread blocks all
// signals, so that threads that the links start block them, too. OCT_EIO, with one line in reason:
// the system refused a thread.
OCT_CHECKED oct_err client_thread_create(client_thread **out, oct_reason *why);
net_loop *client_thread_loop(const client_thread *thread);
// Lets the thread run the loop. close runs on the thread when it stops, and closes the links.
void client_thread_start(client_thread *thread, net_fn close, void *arg);
// Replaces start if there are no links. Frees the thread.
void client_thread_abandon(client_thread *thread);
// Returns true in the process that created the thread.
bool client_thread_is_here(const client_thread *thread);
// Stops the loop, closes the links and frees the thread. False: the links did not close within 3 s
// (net_loop.h), or this is a forked child. The thread and all that it uses are then leaked.
bool client_thread_stop(client_thread *thread);

#endif // LIB_CLIENT_THREAD_H
