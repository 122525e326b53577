// The locale C, created once.
#include "common/oct_locale.h"

#include <pthread.h>

#include "common/oct_base.h"

static locale_t plain;
static pthread_once_t plain_once = PTHREAD_ONCE_INIT;

static void
plain_make(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    OCT_ASSERT(plain != (locale_t)0);
}

locale_t
oct_locale_plain(void)
{
    OCT_ASSERT(pthread_once(&plain_once, plain_make) == 0);
    return plain;
}
