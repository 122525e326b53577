// A mailbox for one pointer between threads, newest wins.
#include "common/oct_latest.h"

#include <stdatomic.h>
#include <stddef.h>

void
oct_latest_init(oct_latest *latest)
{
    atomic_init(&latest->item, NULL);
}

void *
oct_latest_put(oct_latest *latest, void *item)
{
    return atomic_exchange_explicit(&latest->item, item, memory_order_acq_rel);
}

// The acting thread calls this at every step, nearly always in vain. The load leaves the cache line
// shared; an exchange would take it from the other thread each time.
void *
oct_latest_take(oct_latest *latest)
{
    if (atomic_load_explicit(&latest->item, memory_order_relaxed) == NULL) {
        return NULL;
    }
    return atomic_exchange_explicit(&latest->item, NULL, memory_order_acq_rel);
}
