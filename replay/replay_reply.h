#ifndef REPLAY_REPLAY_REPLY_H
#define REPLAY_REPLAY_REPLY_H

#include "replay/replay_config.h"
#include "replay/replay_gather.h"

// Memory for the columns of a Sample reply, for at most windows_max windows.
//
// Threads: those of the table. Owns: the columns.
typedef struct replay_reply {
    uint32_t windows_max; // most windows of a reply
    // [windows_max] of the drawn windows
    uint32_t *slot;
    // [windows_max]
    float *probability;
    replay_columns columns;
} replay_reply;

void replay_reply_init(replay_reply *reply, const wire_configure *configure);
void replay_reply_fini(replay_reply *reply);

#endif // REPLAY_REPLAY_REPLY_H
