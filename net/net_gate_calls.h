#ifndef NET_NET_GATE_CALLS_H
#define NET_NET_GATE_CALLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

// Calls from other threads to a libuv loop that a thread of its own runs. A caller waits until its
// function has run there. Private to the gate (net_gate.h).
//
// Threads: as each function says. Owns: a handle of the loop. Full: never; a call lies on its
// caller's stack.

typedef struct gate_call gate_call;

typedef struct gate_calls {
    uv_async_t wake;
    // The rest: any thread, under mutex.
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    gate_call *first; // calls that wait
    bool ended;       // the loop has ended
} gate_calls;

// Threads: the creator, before the loop runs.
void gate_calls_init(gate_calls *calls, uv_loop_t *loop);
// Runs fn(arg) on the loop's thread and waits for it. Threads: any other than the loop's.
void gate_calls_do(gate_calls *calls, void (*fn)(void *arg), void *arg);
// Closes the handle; no call may follow. Threads: the loop's.
void gate_calls_stop(gate_calls *calls);
// Says that the loop has ended. Threads: the loop's.
void gate_calls_ended(gate_calls *calls);
// Waits until the loop has ended; false: it has not after timeout_s. Threads: any other.
bool gate_calls_await_end(gate_calls *calls, uint32_t timeout_s);
void gate_calls_fini(gate_calls *calls);

#endif // NET_NET_GATE_CALLS_H
