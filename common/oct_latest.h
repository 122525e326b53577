#ifndef COMMON_OCT_LATEST_H
#define COMMON_OCT_LATEST_H

// A mailbox that holds one pointer, the newest. It passes each new policy to the acting thread.
//
// Threads: any may put; any may take. Lock-free.
// Owns: nothing. put returns the pointer that it displaced (not taken, or NULL), and the caller
// frees it. take returns the newest pointer since the last take, or NULL.
typedef struct oct_latest {
    _Atomic(void *) item;
} oct_latest;

void oct_latest_init(oct_latest *latest);
void *oct_latest_put(oct_latest *latest, void *item);
void *oct_latest_take(oct_latest *latest);

#endif // COMMON_OCT_LATEST_H
