#ifndef REPLAY_REPLAY_CONFIG_H
#define REPLAY_REPLAY_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"
#include "replay/replay_limiter.h"

// What a Configure means: may it be, how much memory does it take, what has to be done.
// Threads: any; no state.

#define REPLAY_CAPACITY_MAX 4294967294u // transitions: a slot is 32 bits
#define REPLAY_SESSIONS_MAX 4096

typedef enum replay_config_action {
    REPLAY_CONFIG_CREATE,  // there is no table yet
    REPLAY_CONFIG_KEEP,    // the table is the one wanted; set its limiter
    REPLAY_CONFIG_REPLACE, // another run: a new table in place of the old
    REPLAY_CONFIG_REFUSE,  // reason says why
} replay_config_action;

typedef struct replay_budget_line {
    const char *name;
    uint64_t bytes;
} replay_budget_line;

#define REPLAY_BUDGET_LINES 6

// Bounds of every number (limiter_only: of the limiter's). OCT_EINVAL: reason says which, and what
// is allowed.
OCT_CHECKED oct_err replay_config_check(const wire_configure *wanted, char *reason,
                                        size_t reason_size);
// current: what the table was made with, NULL when there is none. wanted has passed the check.
replay_config_action replay_config_decide(const wire_configure *current,
                                          const wire_configure *wanted, char *reason,
                                          size_t reason_size);
replay_limiter_spec replay_config_limiter(const wire_configure *configure);

// All memory of a table, by name; gives the total. wanted has passed the check.
uint64_t replay_config_budget(const wire_configure *wanted,
                              replay_budget_line out[REPLAY_BUDGET_LINES]);
// Bytes of one transition in a Sample reply, and the largest reply in transitions.
uint64_t replay_config_row_bytes(const wire_configure *configure);
uint32_t replay_config_reply_rows(const wire_configure *configure);
// Transitions, and observations, that one batch may hold.
uint32_t replay_config_batch_rows(const wire_configure *configure);

#endif // REPLAY_REPLAY_CONFIG_H
