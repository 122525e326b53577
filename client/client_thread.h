#ifndef CLIENT_CLIENT_THREAD_H
#define CLIENT_CLIENT_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "net/net_loop.h"

// An event loop with a thread of its own, in a process that is not Octet's: it takes no signals,
// does not end the process, and knows that it does not survive fork().
//
// Order: create, open the links on its loop, start. Threads: one user.
typedef struct client_thread client_thread;

// Whether this process may have one at all. OCT_EINVAL: it was forked from one that had. OCT_EIO: a
// limit does not allow its threads or files (net/net_limits.h).
OCT_CHECKED oct_err client_thread_check(char *reason, size_t reason_size);
// The thread waits for start or abandon. From here to there the calling thread takes no signals:
// whatever threads the links make must not either. OCT_EIO, with one line for a person in reason:
// the system does not give a thread.
OCT_CHECKED oct_err client_thread_create(client_thread **out, char *reason, size_t reason_size);
net_loop *client_thread_loop(const client_thread *thread);
// close runs on the thread when it stops: it closes the links.
void client_thread_start(client_thread *thread, net_fn close, void *arg);
// In place of start: the links are closed. Frees it.
void client_thread_abandon(client_thread *thread);
// Whether this is the process that made it.
bool client_thread_is_here(const client_thread *thread);
// Frees it. False: its links could not be closed in time (net_loop.h), or this is a forked child;
// then it stays, with all that it uses.
bool client_thread_stop(client_thread *thread);

#endif // CLIENT_CLIENT_THREAD_H
