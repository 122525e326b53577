#ifndef NET_NET_LOOP_H
#define NET_NET_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "common/oct_role.h"

// A daemon's event loop (libuv). All of net/ is used from the thread that runs it, except
// net_wakeup_send and functions that say otherwise.
//
// Closing a link drops what is still queued: answer, let the loop turn, then close. Where possible,
// close a receiver after those that send to it; otherwise net_*_close may hang
// (net_loop_exit_deadline).
// Close order: the links (net_pull_close ...), timers, wakeups, then net_loop_destroy, which turns
// the loop until all handles are closed. It first ends the handling of signals, because what their
// handlers use may be freed by then; a signal after that ends the process.
typedef struct net_loop net_loop;
typedef struct net_timer net_timer;
typedef struct net_wakeup net_wakeup;
typedef struct net_input net_input;
typedef void (*net_fn)(void *arg);
typedef void (*net_signal_fn)(void *arg, int signal_number);

// Ends the process if it cannot have the needed threads or descriptors (net_limits.h).
net_loop *net_loop_create(void);
void net_loop_destroy(net_loop *loop);
// Runs until net_loop_stop. Shows its turns to a supervisor (common/oct_pulse.h).
void net_loop_run(net_loop *loop);
void net_loop_stop(net_loop *loop);
// Starts a detached thread that logs NET-STUCK and calls _exit(exit_code) after timeout_ms, because
// nng_close can hang forever (docs/internals/decisions/). Call before closing links; the end of
// net_loop_destroy disarms it. A second call changes nothing.
void net_loop_exit_deadline(net_loop *loop, uint32_t timeout_ms, int exit_code);

// Sets the certificates for tls+tcp:// addresses. folder holds ca.crt, node.crt, node.key and
// optionally crl.pem; they are read now, and again whenever they change. Call before the first link
// opens. Errors, with one line for a person in reason:
//   OCT_EINVAL  something about the files is wrong
//   OCT_EAGAIN  they are not valid by the clock of this machine (net_tls_open)
OCT_CHECKED oct_err net_loop_use_tls(net_loop *loop, const char *folder, oct_reason *why);

// Returns the folder that a program uses without --tls: the environment's OCTET_TLS, or NULL if
// that is unset or empty.
const char *net_loop_tls_default(void);

// Returns the role of that certificate; OCT_ROLE_LOCAL without one.
oct_role net_loop_role(const net_loop *loop);
// OCT_EINVAL, with one line for a person in reason: the certificate has another role than wanted.
OCT_CHECKED oct_err net_loop_check_role(const net_loop *loop, oct_role wanted, oct_reason *why);

// Calls fn after first_ms and then every repeat_ms (0: once; the timer stays valid until it is
// stopped).
net_timer *net_timer_start(net_loop *loop, uint32_t first_ms, uint32_t repeat_ms, net_fn fn,
                           void *arg);
void net_timer_stop(net_timer *timer); // frees it; NULL is a no-op

// Makes a wakeup: fn runs on the loop thread some time after net_wakeup_send, once for any number
// of sends, and sees what a thread wrote before its send. No send may come after the destroy.
net_wakeup *net_wakeup_create(net_loop *loop, net_fn fn, void *arg);
void net_wakeup_send(net_wakeup *wakeup); // any thread
void net_wakeup_destroy(net_wakeup *wakeup);

// Calls fn whenever fd (a terminal, a pipe) has something to read or has ended. Makes fd
// non-blocking. OCT_EINVAL: fd cannot be waited for, as a regular file.
OCT_CHECKED oct_err net_input_start(net_input **out, net_loop *loop, int fd, net_fn fn, void *arg);
void net_input_stop(net_input *input); // before the caller closes its fd; NULL is a no-op

// Calls fn on the loop thread when that signal comes. A loop can watch several signals.
OCT_CHECKED oct_err net_loop_on_signal(net_loop *loop, int signal_number, net_signal_fn fn,
                                       void *arg);
// Ends the watching of all signals, so that the next one ends the process. For a loop that will not
// turn again.
void net_loop_signals_end(net_loop *loop);

#endif // NET_NET_LOOP_H
