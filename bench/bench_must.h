#ifndef BENCH_BENCH_MUST_H
#define BENCH_BENCH_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_err.h"

// A benchmark that cannot measure what it should says why and ends with status 1. Threads: any.

// "PROGRAM: what: detail"; detail may be NULL.
_Noreturn static inline void
bench_give_up(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, what, detail == NULL ? "" : ": ",
            detail == NULL ? "" : detail);
    exit(1);
}

static inline void
bench_must(oct_err err, const char *what)
{
    if (err != OCT_OK) {
        bench_give_up(what, oct_strerror(err));
    }
}

#endif // BENCH_BENCH_MUST_H
