#ifndef COMMON_OCT_LATEST_H
#define COMMON_OCT_LATEST_H

// A mailbox for one pointer, newest wins: how a new policy reaches the acting thread.
//
// Threads: any may put; any may take. Lock-free.
// Owns: nothing. put returns what it displaced (unread, or NULL): the caller frees that. take
// returns the newest since the last take, or NULL.
typedef struct oct_latest {
    _Atomic(void *) item;
} oct_latest;

void oct_latest_init(oct_latest *latest);
void *oct_latest_put(oct_latest *latest, void *item);
void *oct_latest_take(oct_latest *latest);

#endif // COMMON_OCT_LATEST_H
