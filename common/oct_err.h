#ifndef COMMON_OCT_ERR_H
#define COMMON_OCT_ERR_H

// One error type for the whole tree. 0 is success. Only the list below contains the codes, their
// names and their texts. Callers of NNG, libuv and the C library convert foreign codes at once.
#define OCT_ERR_MAP(X)                                                                             \
    X(OCT_OK, 0, "ok")                                                                             \
    X(OCT_EINVAL, 1, "invalid argument")                                                           \
    X(OCT_EAGAIN, 2, "not now, try again")                                                         \
    X(OCT_ECLOSED, 3, "closed")                                                                    \
    X(OCT_ETIMEDOUT, 4, "timed out")                                                               \
    X(OCT_EPROTO, 5, "malformed message")                                                          \
    X(OCT_ENOTFOUND, 6, "not found")                                                               \
    X(OCT_EIO, 7, "input/output error")                                                            \
    X(OCT_EINTERNAL, 8, "internal error")                                                          \
    X(OCT_ESTALE, 9, "superseded by another")

typedef enum oct_err {
#define X(name, num, text) name = num,
    OCT_ERR_MAP(X)
#undef X
} oct_err;

// The text of a code; "unknown error" for anything else. Threads: any. Static storage.
const char *oct_strerror(oct_err err);

#define OCT_CHECKED __attribute__((warn_unused_result))

// Forwards an error to the caller. Use only where nothing has to be undone; otherwise write the
// goto.
#define OCT_TRY(call)                                                                              \
    do {                                                                                           \
        oct_err try_err_ = (call);                                                                 \
        if (try_err_ != OCT_OK) {                                                                  \
            return try_err_;                                                                       \
        }                                                                                          \
    } while (0)

#endif // COMMON_OCT_ERR_H
