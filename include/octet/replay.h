#ifndef OCTET_REPLAY_H
#define OCTET_REPLAY_H

/* octet-replay as a service for anybody's steps: writers append them, samplers draw windows of
 * them. liboctet-replay (link with -loctet-replay). Plain C99; of Octet it includes nothing.
 *
 * The service is a process of its own, octet-replay --listen ipc://PATH --path FILE. Whoever starts
 * it chooses a run id and a key, both random, and configures the table; the same again after every
 * start, which goes on with what is in FILE. Samplers need the address and the run id, writers the
 * key as well, and a number that no other writer of the service ever had.
 *
 *     octet_replay *replay;
 *     char error[OCTET_REPLAY_ERROR_BYTES];
 *     octet_replay_open(&replay, "ipc:///tmp/mine/s", run_id, error, sizeof(error));
 *     octet_replay_configure(replay, &table, 10000);
 *     octet_replay_batch batch = {.size = sizeof(batch)};
 *     octet_replay_sample(replay, 256, 2, 0.4, 1000, &batch);
 *     ...
 *     octet_replay_batch_free(batch.memory);
 *     octet_replay_close(replay);
 *
 * What it promises: a step that a flush has confirmed is in the table once, whatever process was
 * killed meanwhile (docs/internals/replay-file.md says what survives a machine that stops). A
 * writer that is killed takes with it what it did not flush, and nothing of that is half there.
 *
 * Threads: a handle is used by one thread at a time; different handles in parallel. Each has a
 * thread of its own, which blocks all signals, and the network library has some more. None
 * survives fork(): in a child, calls with an inherited handle answer OCTET_REPLAY_EINVAL, and a
 * child of a process that has opened a handle cannot open one (start it by exec: multiprocessing's
 * "spawn" and "forkserver").
 *
 * Waiting: timeout_ms bounds every call that waits. Where memory runs out, the process ends with a
 * message. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_REPLAY_OK = 0,
    OCTET_REPLAY_EINVAL = 1,    /* refused; the error says why, and nothing has changed */
    OCTET_REPLAY_EAGAIN = 2,    /* replay cannot now (its disk is full); the error says why */
    OCTET_REPLAY_ETIMEDOUT = 4, /* not in time; what was asked for goes on: call again */
    OCTET_REPLAY_EPROTO = 5,    /* what came is not what was asked for */
    OCTET_REPLAY_EIO = 7,       /* no connection, not enough room */
    OCTET_REPLAY_ESTALE = 9     /* somebody else has taken the table over */
};

#define OCTET_REPLAY_ERROR_BYTES  1024
#define OCTET_REPLAY_KEY_BYTES    32
#define OCTET_REPLAY_NAME_BYTES   64
#define OCTET_REPLAY_PREFETCH_MAX 64
#define OCTET_REPLAY_STREAMS_MAX  4096 /* of one writer */

enum { OCTET_REPLAY_UNIFORM = 1, OCTET_REPLAY_PRIORITIZED = 2, OCTET_REPLAY_FIFO = 3 };
enum { OCTET_REPLAY_N_STEP = 1, OCTET_REPLAY_SEQUENCE = 2 };

/* A table; docs/internals/replay.md has the meaning of each number. The sizes, the sampler and the
 * exponent are the table's for ever, the rest may change each time that it is configured. */
typedef struct octet_replay_table {
    uint32_t size;              /* set by the caller: sizeof(octet_replay_table) */
    uint32_t streams;           /* of all writers, that are expected at the same time */
    uint64_t capacity;          /* rows: one for each step, one more at the end of each episode */
    uint32_t observation_bytes; /* of one, 1 to 2^20 */
    uint32_t observation_is_float; /* float32: must be finite */
    uint32_t action_bytes;         /* of one, a multiple of 4, at most 1024 */
    uint32_t action_is_float;
    uint32_t sampler; /* OCTET_REPLAY_UNIFORM ... */
    uint32_t window;  /* OCTET_REPLAY_N_STEP ... */
    uint32_t steps;   /* n, or T */
    uint32_t stride;  /* sequences: of their beginnings (of one step: those with an action);
                         0: by episodes, filled up at the end */
    double priority_exponent;
    double discount;           /* gamma, of n-step returns */
    double reward_clip;        /* n-step: each reward to [-x, x] before it is summed; 0: not */
    uint64_t min_size;         /* windows before the first sample */
    double samples_per_insert; /* 0: no limit */
    double tolerance;
    uint64_t seed;
    uint8_t key[OCTET_REPLAY_KEY_BYTES]; /* secret: who has it may write */
} octet_replay_table;

/* What a sample is: columns of count windows, in one block of memory. R is 1 for n-step windows and
 * steps for sequences. Row i of a column is that of key i. */
typedef struct octet_replay_batch {
    uint32_t size; /* set by the caller: sizeof(octet_replay_batch) */
    uint32_t count;
    uint32_t steps; /* T of sequences; 0: n-step */
    uint32_t observation_bytes;
    uint32_t action_bytes;
    uint32_t reserved;
    uint64_t incarnation;          /* of the replay whose keys these are */
    const void *observations;      /* [count][observation_bytes]; sequences: [count][T + 1][...] */
    const void *next_observations; /* [count][observation_bytes], behind the window; n-step only */
    const void *actions;           /* [count][R][action_bytes] */
    const float *rewards;          /* n-step: [count] sum of gamma^i r_i; sequences: [count][T] */
    const float *discounts;        /* [count] gamma^k, 0 where the window terminated; n-step only */
    const uint8_t *flags;          /* [count][T] OCTET_REPLAY_TERMINATED ...; sequences only */
    const float *weights;       /* [count] importance: (N p)^-exponent, the largest is 1 (Schaul et
                                   al. 2016, section 3.4) */
    const float *probabilities; /* [count] of having been drawn */
    const uint64_t *keys;       /* [count] for octet_replay_update */
    uint64_t windows;           /* in the table when it was drawn */
    uint64_t inserts, samples;  /* windows, ever */
    void *memory;               /* the caller's: octet_replay_batch_free */
    uint64_t memory_bytes;
} octet_replay_batch;

/* Flags of a sequence's row. */
enum {
    OCTET_REPLAY_TERMINATED = 1,
    OCTET_REPLAY_TRUNCATED = 2,
    OCTET_REPLAY_FIRST = 4, /* of an episode, or of what goes on behind a cut */
    OCTET_REPLAY_END = 8    /* no action: the final observation, or filling */
};

typedef struct octet_replay_stat {
    char name[OCTET_REPLAY_NAME_BYTES]; /* docs/reference.md */
    double value;
} octet_replay_stat;

typedef struct octet_replay octet_replay;
typedef struct octet_replay_writer octet_replay_writer;

/* Does not wait: it connects in the background, whenever there is somebody. On failure *out is
 * untouched and error (may be NULL with size 0) holds one line. */
int octet_replay_open(octet_replay **out, const char *url, uint64_t run_id, char *error,
                      size_t error_size);
void octet_replay_close(octet_replay *replay); /* NULL is a no-op */
/* One line about the last call that failed; "" while none has. Valid until the next call. */
const char *octet_replay_error(const octet_replay *replay);

/* Makes the table, or takes up the one in the file. Waits until it is answered or in vain. */
int octet_replay_configure(octet_replay *replay, const octet_replay_table *table,
                           uint32_t timeout_ms);

/* batch_size windows. prefetch 0: drawn now. Otherwise so many batches are kept drawn or on their
 * way, for the calls to come: they are older, come in any order, and a FIFO table loses those that
 * nobody takes. Other numbers than in the call before discard what was prefetched. ETIMEDOUT: call
 * again, nothing is lost by it; octet_replay_stats says what replay waits for. */
int octet_replay_sample(octet_replay *replay, uint32_t batch_size, uint32_t prefetch,
                        double importance_exponent, uint32_t timeout_ms, octet_replay_batch *out);
void octet_replay_batch_free(void *memory); /* any thread; NULL is a no-op */

/* New priorities of windows, finite and not negative: with one that is not, OCTET_REPLAY_EINVAL,
 * and none is sent. Keys of windows that have left the table, and those of a replay that has been
 * started anew since, are ignored. */
int octet_replay_update(octet_replay *replay, uint64_t incarnation, uint32_t count,
                        const uint64_t *keys, const float *priorities, uint32_t timeout_ms);

/* What replay measures: *count gets how many there are, stats[room] the first of them, state (may
 * be NULL with size 0) what it does or waits for, in words. */
int octet_replay_stats(octet_replay *replay, octet_replay_stat *stats, size_t room, size_t *count,
                       char *state, size_t state_size, uint32_t timeout_ms);

/* ---- writing */

typedef struct octet_replay_writer_config {
    uint32_t size;    /* set by the caller: sizeof(octet_replay_writer_config) */
    uint32_t streams; /* that are appended to together, 1 to OCTET_REPLAY_STREAMS_MAX */
    const char *url;  /* as of octet_replay_open */
    uint64_t run_id;
    uint32_t number; /* no other writer of this service has it, or ever had; 1 and above */
    uint32_t reserved;
    const octet_replay_table *table; /* as configured; borrowed for the call */
} octet_replay_writer_config;

/* One step of each stream, in columns. What follows a step is next_observations: where the next
 * step of the stream begins with another observation, or none follows, a row is added that holds
 * it, so that every step is sampled as it was given. Episodes that go on without a gap take one row
 * for each step. */
typedef struct octet_replay_steps {
    uint32_t size; /* set by the caller: sizeof(octet_replay_steps) */
    uint32_t reserved;
    const void *observations;      /* [streams][observation_bytes] */
    const void *actions;           /* [streams][action_bytes] */
    const float *rewards;          /* [streams] finite */
    const uint8_t *terminated;     /* [streams] 0 or 1: the episode ended, no bootstrap */
    const uint8_t *truncated;      /* [streams] 0 or 1: it was cut, bootstrap */
    const void *next_observations; /* [streams][observation_bytes] the true ones, before a reset */
    const uint8_t *mask;           /* [streams] 0: this stream has no step now; NULL: all have */
} octet_replay_steps;

int octet_replay_writer_open(octet_replay_writer **out, const octet_replay_writer_config *config,
                             char *error, size_t error_size);
/* What was not flushed may be lost. NULL is a no-op. */
void octet_replay_writer_close(octet_replay_writer *writer);
const char *octet_replay_writer_error(const octet_replay_writer *writer);

/* Checks everything, then copies it. Steps go out when there are enough, or when a call comes 0.1 s
 * after the first of them. ETIMEDOUT: replay takes no more now (its limiter, or it is gone);
 * nothing was appended. */
int octet_replay_append(octet_replay_writer *writer, const octet_replay_steps *steps,
                        uint32_t timeout_ms);

/* Sends everything, and waits until replay has it. A stream in the middle of an episode goes on,
 * but windows end here: whatever was appended can be sampled. ETIMEDOUT: not all is confirmed; call
 * again. */
int octet_replay_flush(octet_replay_writer *writer, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_REPLAY_H */
