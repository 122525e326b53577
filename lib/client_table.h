#ifndef LIB_CLIENT_TABLE_H
#define LIB_CLIENT_TABLE_H

#include "common/oct_reason.h"
#include "include/octet/replay.h"
#include "proto/wire_replay.h"

// Translates the user's description of a table into the message for replay. Threads: any. Owns:
// nothing. Errors: OCT_EINVAL, with one line in reason.

// Checks what the message cannot express: the struct's size, and a reward_clip for sequences.
// Replay checks the rest.
OCT_CHECKED oct_err client_table_check(const octet_replay_table *table, oct_reason *why);
// *out contains the secret key; the caller erases it after use.
void client_table_configure(wire_configure *out, const octet_replay_table *table, uint64_t run_id);
// Accepts only ipc://PATH, so that the key and the steps stay with processes of this user.
OCT_CHECKED oct_err client_url_check(const char *url, oct_reason *why);

#endif // LIB_CLIENT_TABLE_H
