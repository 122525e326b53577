#ifndef OCTET_REPLAY_H
#define OCTET_REPLAY_H

/* octet-replay as a service for the steps of any program: writers append steps, samplers draw
 * windows of them. liboctet-replay (link with -loctet-replay). Plain C99, no other header of Octet.
 *
 * The service is a process of its own, octet-replay --listen ipc://PATH --path FILE. The program
 * that starts it chooses a run id and a key, both random, and configures the table. After every
 * restart it configures the same table again, and the service continues with the content of FILE.
 * Samplers need the address and the run id. Writers also need the key, and a number that no other
 * writer of the service has or ever had.
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
 * Guarantee: a step that a flush has confirmed is in the table exactly once, even if any of the
 * processes was killed meanwhile (docs/internals/replay-file.md describes what survives if the
 * machine stops). The steps that a killed writer had not flushed may be lost, but no step is stored
 * in part.
 *
 * Threads: one thread at a time uses a handle; different handles may be used in parallel. Each
 * handle has a thread of its own, which blocks all signals, and the network library has some more.
 * No thread survives fork(): in a child, calls with an inherited handle return OCTET_REPLAY_EINVAL,
 * and a child of a process that has opened a handle cannot open one. Start such a child with exec
 * (multiprocessing's "spawn" and "forkserver").
 *
 * Waiting: timeout_ms bounds every call that waits. If memory runs out, the process ends with a
 * message. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_REPLAY_OK = 0,
    OCTET_REPLAY_EINVAL = 1,    /* refused; the error has the reason, and nothing has changed */
    OCTET_REPLAY_EAGAIN = 2,    /* replay cannot do it now (its disk is full); see the error */
    OCTET_REPLAY_ETIMEDOUT = 4, /* not in time; the request continues: call again */
    OCTET_REPLAY_EPROTO = 5,    /* the answer does not match the request */
    OCTET_REPLAY_EIO = 7,       /* no connection, or not enough room */
    OCTET_REPLAY_ESTALE = 9     /* another program has taken over the table */
};

#define OCTET_REPLAY_ERROR_BYTES  1024
#define OCTET_REPLAY_KEY_BYTES    32
#define OCTET_REPLAY_NAME_BYTES   64
#define OCTET_REPLAY_PREFETCH_MAX 64
#define OCTET_REPLAY_STREAMS_MAX  4096 /* of one writer */

enum { OCTET_REPLAY_UNIFORM = 1, OCTET_REPLAY_PRIORITIZED = 2, OCTET_REPLAY_FIFO = 3 };
enum { OCTET_REPLAY_N_STEP = 1, OCTET_REPLAY_SEQUENCE = 2 };

/* A table; docs/internals/replay.md has the meaning of each number. The sizes, the sampler and the
 * exponent never change; the other numbers may change each time that the table is configured. */
typedef struct octet_replay_table {
    uint32_t size;              /* set by the caller: sizeof(octet_replay_table) */
    uint32_t streams;           /* expected at the same time, of all writers together */
    uint64_t capacity;          /* rows: one for each step, one more at the end of each episode */
    uint32_t observation_bytes; /* of one observation, 1 to 2^20 */
    uint32_t observation_is_float; /* 1: float32, which must be finite */
    uint32_t action_bytes;         /* of one action, a multiple of 4, at most 1024 */
    uint32_t action_is_float;
    uint32_t sampler; /* OCTET_REPLAY_UNIFORM ... */
    uint32_t window;  /* OCTET_REPLAY_N_STEP ... */
    uint32_t steps;   /* n, or T */
    uint32_t stride;  /* sequences: rows between their beginnings (sequences of one step begin only
                         at rows with an action); 0: one after the other within an episode, padded
                         at its end */
    double priority_exponent;
    double discount;    /* gamma, of n-step returns */
    double reward_clip; /* n-step: clips each reward to [-x, x] before the sum; 0: no limit */
    uint64_t min_size;  /* windows before the first sample */
    double samples_per_insert; /* 0: no limit */
    double tolerance;
    uint64_t seed;
    uint8_t key[OCTET_REPLAY_KEY_BYTES]; /* secret: programs that have it may write */
} octet_replay_table;

/* A sample: columns of count windows, in one block of memory. R is 1 for n-step windows and `steps`
 * for sequences. Row i of each column belongs to key i. */
typedef struct octet_replay_batch {
    uint32_t size; /* set by the caller: sizeof(octet_replay_batch) */
    uint32_t count;
    uint32_t steps; /* T of sequences; 0: n-step */
    uint32_t observation_bytes;
    uint32_t action_bytes;
    uint32_t reserved;
    uint64_t incarnation;          /* of the replay process to which the keys belong */
    const void *observations;      /* [count][observation_bytes]; sequences: [count][T + 1][...] */
    const void *next_observations; /* [count][observation_bytes], after the window; n-step only */
    const void *actions;           /* [count][R][action_bytes] */
    const float *rewards;          /* n-step: [count] sum of gamma^i r_i; sequences: [count][T] */
    const float *discounts;        /* [count] gamma^k, 0 if the window terminated; n-step only */
    const uint8_t *flags;          /* [count][T] OCTET_REPLAY_TERMINATED ...; sequences only */
    const float *weights;       /* [count] importance: (N p)^-exponent, the largest is 1 (Schaul et
                                   al. 2016, section 3.4) */
    const float *probabilities; /* [count] with which the windows were drawn */
    const uint64_t *keys;       /* [count] for octet_replay_update */
    uint64_t windows;           /* in the table when the sample was drawn */
    uint64_t inserts, samples;  /* windows, in total */
    void *memory;               /* belongs to the caller: octet_replay_batch_free */
    uint64_t memory_bytes;
} octet_replay_batch;

/* Flags of a row of a sequence. */
enum {
    OCTET_REPLAY_TERMINATED = 1,
    OCTET_REPLAY_TRUNCATED = 2,
    OCTET_REPLAY_FIRST = 4, /* first row of an episode, or of its rest after a cut */
    OCTET_REPLAY_END = 8    /* no action: the final observation, or padding */
};

/* A metric of replay. */
typedef struct octet_replay_stat {
    char name[OCTET_REPLAY_NAME_BYTES]; /* docs/reference.md */
    double value;
} octet_replay_stat;

typedef struct octet_replay octet_replay;
typedef struct octet_replay_writer octet_replay_writer;

/* Opens a handle. It does not wait: the handle connects in the background as soon as the service
 * runs. On failure *out is unchanged, and error (may be NULL with size 0) has one line. */
int octet_replay_open(octet_replay **out, const char *url, uint64_t run_id, char *error,
                      size_t error_size);
void octet_replay_close(octet_replay *replay); /* NULL is a no-op */
/* Returns one line about the last call that failed, or "" if none has failed. Valid until the next
 * call. */
const char *octet_replay_error(const octet_replay *replay);

/* Makes the table, or continues with the one in the file. Waits for the answer. */
int octet_replay_configure(octet_replay *replay, const octet_replay_table *table,
                           uint32_t timeout_ms);

/* Samples batch_size windows. prefetch 0: the windows are drawn now. Otherwise `prefetch` batches
 * are kept ready or in transit for later calls: they are older, they arrive in any order, and a
 * FIFO table loses the windows of prefetched batches that no call takes. Other arguments than in
 * the previous call discard the prefetched batches. ETIMEDOUT: call again, nothing is lost;
 * octet_replay_stats reports what replay waits for. */
int octet_replay_sample(octet_replay *replay, uint32_t batch_size, uint32_t prefetch,
                        double importance_exponent, uint32_t timeout_ms, octet_replay_batch *out);
void octet_replay_batch_free(void *memory); /* any thread; NULL is a no-op */

/* Sets new priorities of windows. OCTET_REPLAY_EINVAL: a priority is not finite or is negative;
 * none is sent. Keys of windows that have left the table, and keys of a replay process that has
 * been restarted since, are ignored. */
int octet_replay_update(octet_replay *replay, uint64_t incarnation, uint32_t count,
                        const uint64_t *keys, const float *priorities, uint32_t timeout_ms);

/* Reads the metrics of replay. *count gets the count of all metrics, stats[room] the first of them,
 * and state (may be NULL with size 0) a text about what replay does or waits for. */
int octet_replay_stats(octet_replay *replay, octet_replay_stat *stats, size_t room, size_t *count,
                       char *state, size_t state_size, uint32_t timeout_ms);

/* ---- writing */

typedef struct octet_replay_writer_config {
    uint32_t size;    /* set by the caller: sizeof(octet_replay_writer_config) */
    uint32_t streams; /* to which each call appends, 1 to OCTET_REPLAY_STREAMS_MAX */
    const char *url;  /* as in octet_replay_open */
    uint64_t run_id;
    uint32_t number; /* at least 1; no other writer of this service has it, or ever had it */
    uint32_t reserved;
    const octet_replay_table *table; /* as configured; borrowed for the call */
} octet_replay_writer_config;

/* One step of each stream, in columns. next_observations is the observation after the step. If the
 * next step of the stream begins with another observation, or no step follows, the writer adds a
 * row for it, so that every step is sampled as it was given. Episodes that continue without a gap
 * take one row for each step. */
typedef struct octet_replay_steps {
    uint32_t size; /* set by the caller: sizeof(octet_replay_steps) */
    uint32_t reserved;
    const void *observations;      /* [streams][observation_bytes] */
    const void *actions;           /* [streams][action_bytes] */
    const float *rewards;          /* [streams] finite */
    const uint8_t *terminated;     /* [streams] 0 or 1: the episode ended, no bootstrap */
    const uint8_t *truncated;      /* [streams] 0 or 1: the episode was cut, bootstrap */
    const void *next_observations; /* [streams][observation_bytes], before a reset */
    const uint8_t *mask;           /* [streams] 0: this stream has no step now; NULL: all have */
} octet_replay_steps;

/* Opens a writer. As octet_replay_open, it does not wait, and the same holds for failures. */
int octet_replay_writer_open(octet_replay_writer **out, const octet_replay_writer_config *config,
                             char *error, size_t error_size);
/* Steps that were not flushed may be lost. NULL is a no-op. */
void octet_replay_writer_close(octet_replay_writer *writer);
/* As octet_replay_error. */
const char *octet_replay_writer_error(const octet_replay_writer *writer);

/* Checks the steps, then copies them. They are sent when there are enough of them, or with the
 * first call later than 0.1 s after the oldest one. ETIMEDOUT: replay takes no more steps now (its
 * limiter blocks, or it has ended); nothing was appended. */
int octet_replay_append(octet_replay_writer *writer, const octet_replay_steps *steps,
                        uint32_t timeout_ms);

/* Sends all steps and waits until replay has confirmed them. A stream in the middle of an episode
 * continues, but windows end here, so that all appended steps can be sampled. ETIMEDOUT: some steps
 * are not confirmed; call again. */
int octet_replay_flush(octet_replay_writer *writer, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_REPLAY_H */
