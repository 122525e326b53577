#ifndef CLIENT_CLIENT_TABLE_H
#define CLIENT_CLIENT_TABLE_H

#include "include/octet/replay.h"
#include "proto/wire_replay.h"

// A table as a caller describes it, as replay is told of it. Threads: any. Errors: OCT_EINVAL, with
// one line in reason.

// What replay cannot see from there: the struct's size. The rest is replay's to check.
OCT_CHECKED oct_err client_table_check(const octet_replay_table *table, char *reason,
                                       size_t reason_size);
// Holds the key, to be erased after use.
void client_table_configure(wire_configure *out, const octet_replay_table *table, uint64_t run_id);
// ipc://PATH alone: the key and the steps stay with this user's processes.
OCT_CHECKED oct_err client_url_check(const char *url, char *reason, size_t reason_size);

#endif // CLIENT_CLIENT_TABLE_H
