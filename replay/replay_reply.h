#ifndef REPLAY_REPLAY_REPLY_H
#define REPLAY_REPLAY_REPLY_H

#include "replay/replay_config.h"
#include "replay/replay_gather.h"

// Memory that a Sample reply is gathered into, for windows_max windows.
//
// Threads: those of the table. Owns: the columns.
typedef struct replay_reply {
    uint32_t windows_max;
    uint32_t *slot;
    float *probability;
    replay_columns columns;
} replay_reply;

void replay_reply_init(replay_reply *reply, const wire_configure *configure);
void replay_reply_fini(replay_reply *reply);

#endif // REPLAY_REPLAY_REPLY_H
