// Turns MuJoCo's fatal errors, which end the process, into return values, and silences its
// warnings.
#include "envs/dmc/dmc_guard.h"

#include <mujoco/mujoco.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

struct guard {
    jmp_buf back;
    struct guard *outer;
    char message[200];
};

// Initial-exec: found without a call, although it lies in a module, because every step reads it.
static _Thread_local struct guard *innermost __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The handler of other code in this process that uses MuJoCo.
static void (*their_on_error)(const char *text);

static void
on_error(const char *text)
{
    if (innermost == NULL && their_on_error != NULL) {
        their_on_error(text);
    }
    OCT_ASSERT(innermost != NULL); // all calls of MuJoCo here run under the guard
    snprintf(innermost->message, sizeof(innermost->message), "%s", text);
    longjmp(innermost->back, 1);
}

static void
on_warning(const char *text)
{
    (void)text;
}

static void
install(void)
{
    their_on_error = mju_user_error;
    mju_user_error = on_error;
    mju_user_warning = on_warning;
}

void
dmc_guard_install(void)
{
    OCT_ASSERT(pthread_once(&once, install) == 0);
}

static bool
ran(struct guard *guard, void (*work)(void *arg), void *arg)
{
    guard->outer = innermost;
    if (setjmp(guard->back) != 0) {
        innermost = innermost->outer;
        return false;
    }
    innermost = guard;
    work(arg);
    innermost = guard->outer;
    return true;
}

bool
dmc_guard_run(void (*work)(void *arg), void *arg, char *text, size_t text_size)
{
    struct guard guard;
    if (ran(&guard, work, arg)) {
        return true;
    }
    snprintf(text, text_size, "%s", guard.message);
    oct_text_tame(text, strlen(text), ' ');
    return false;
}
