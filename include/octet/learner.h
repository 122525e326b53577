#ifndef OCTET_LEARNER_H
#define OCTET_LEARNER_H

/* A learner of your own on Octet's actors: octet-learner samples, publishes, evaluates and writes
 * the run folder as ever, and hands each batch to this process, which learns from it. Plain C99.
 *
 * The experiment says algo.name: external (octet config --explain external). octet train, or an
 * octet-learner by hand, with the same user on the same machine; actors and replay may be anywhere.
 *
 *     octet_learner *learner;
 *     char error[OCTET_LEARNER_ERROR_BYTES];
 *     while (octet_learner_open(&learner, "run", error, sizeof(error)) == OCTET_LEARNER_EAGAIN) ...
 *     octet_learner_wait(learner, -1);                 (until there is something to learn from)
 *     const octet_learner_spec *spec = octet_learner_get_spec(learner);
 *     octet_learner_batch batch = {.size = sizeof(batch)};
 *     while (octet_learner_next(learner, -1, &batch) == OCTET_LEARNER_OK) {
 *         ... learn; write new parameters to octet_learner_params(learner) ...
 *         octet_learner_answer answer = {.size = sizeof(answer), .has_params = 1};
 *         octet_learner_update(learner, &answer);
 *     }
 *     octet_learner_close(learner);
 *
 * Batches lie in memory that both processes share: nothing is copied on this side. Threads: a
 * handle is used by one thread at a time. Owns: the memory, until it is closed. One process learns
 * at a time. Where it goes, the run waits for another (algo.client_wait_s) and goes on with it. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_LEARNER_OK = 0,
    OCTET_LEARNER_EINVAL = 1,  /* shapes, counts, numbers that are not finite; nothing was sent */
    OCTET_LEARNER_EAGAIN = 2,  /* nothing yet: try again */
    OCTET_LEARNER_ECLOSED = 3, /* the run is over, or its process is gone; octet_learner_error */
    OCTET_LEARNER_EIO = 7,     /* memory or sockets of the system */
    OCTET_LEARNER_ESTALE = 9   /* another process learns in this run */
};

enum { OCTET_LEARNER_N_STEP = 1, OCTET_LEARNER_SEQUENCE = 2, OCTET_LEARNER_ROLLOUT = 3 };
enum { OCTET_LEARNER_DISCRETE = 1, OCTET_LEARNER_BOX = 2 };
enum { OCTET_LEARNER_DENSE = 1, OCTET_LEARNER_CONV = 2 };
enum {
    OCTET_LEARNER_LINEAR = 0,
    OCTET_LEARNER_RELU = 1,
    OCTET_LEARNER_TANH = 2,
    OCTET_LEARNER_ELU = 3
};

/* What the last layer's outputs are. Those of a box, and deviations, are in half-ranges: the action
 * is (low + high) / 2 + x (high - low) / 2, where x is tanh of the output (TANH), or what was
 * drawn, clipped to [-1, 1] (GAUSSIAN), or tanh of what was drawn (TANH_GAUSSIAN).
 * Log-probabilities are of what was drawn (GAUSSIAN), or of x (TANH_GAUSSIAN). */
enum {
    OCTET_LEARNER_HEAD_VALUES = 1,   /* [actions] Q-values */
    OCTET_LEARNER_HEAD_LOGITS = 2,   /* [actions] */
    OCTET_LEARNER_HEAD_TANH = 3,     /* [dim], the action is tanh of it, mapped onto the box */
    OCTET_LEARNER_HEAD_ATOMS = 4,    /* [actions][atoms] logits of the return */
    OCTET_LEARNER_HEAD_GAUSSIAN = 5, /* [dim] means; log deviations are parameters of their own */
    OCTET_LEARNER_HEAD_TANH_GAUSSIAN = 6 /* [2 dim] means, then log deviations, before the tanh */
};

/* Flags of a row of a sequence or rollout. */
enum {
    OCTET_LEARNER_TERMINATED = 1,
    OCTET_LEARNER_TRUNCATED = 2,
    OCTET_LEARNER_FIRST = 4,        /* of an episode, or of what goes on behind a rollout */
    OCTET_LEARNER_END = 8,          /* the last observation of an episode or rollout: no action */
    OCTET_LEARNER_RANDOM = 16,      /* the action was drawn at random */
    OCTET_LEARNER_FAILED = 32,      /* with END: the environment failed here */
    OCTET_LEARNER_ROLLOUT_EDGE = 64 /* with FIRST: a rollout begins, and maybe no episode; with
                                       END: it ends, and the episode may go on */
};

#define OCTET_LEARNER_NAME_MAX    128
#define OCTET_LEARNER_RANK_MAX    6
#define OCTET_LEARNER_ACTIONS_MAX 256
#define OCTET_LEARNER_LAYERS_MAX  16
#define OCTET_LEARNER_NUMBERS_MAX 16
#define OCTET_LEARNER_ERROR_BYTES 1024

/* A layer, and where its parts begin in the block of parameters. Weights are a matrix
 * [rows][columns], row-major: y = W x + b. A convolution's are [filters][kernel][kernel][channels]
 * over a map [height][width][channels], stride 1, no padding. With layer_norm: gain[outputs] and
 * offset[outputs], between W x + b and the activation, epsilon 1e-5. */
typedef struct octet_learner_layer {
    uint32_t kind; /* OCTET_LEARNER_DENSE, OCTET_LEARNER_CONV */
    uint32_t inputs, outputs;
    uint32_t activation; /* OCTET_LEARNER_LINEAR ... */
    uint32_t layer_norm; /* 0 or 1 */
    uint32_t rows, columns;
    uint32_t height, width, channels, filters, kernel; /* of a convolution, else 0 */
    uint64_t weight, bias, gain, offset;
} octet_learner_layer;

/* What the run is. It is the same from the first batch to the last. */
typedef struct octet_learner_spec {
    uint32_t size;
    uint32_t window; /* OCTET_LEARNER_N_STEP ... */
    char env_id[OCTET_LEARNER_NAME_MAX];
    uint32_t batch_size; /* B: windows in a batch */
    uint32_t steps;      /* T: rows of a sequence or rollout; 0: n-step */
    uint32_t n_step;
    uint32_t obs_count, obs_rank, obs_shape[OCTET_LEARNER_RANK_MAX];
    uint32_t action_kind, action_count; /* number of actions, or dimensions of the box */
    float action_low[OCTET_LEARNER_ACTIONS_MAX], action_high[OCTET_LEARNER_ACTIONS_MAX];
    uint32_t head;
    uint32_t atoms; /* algo.atoms, on the support [value_min, value_max] of returns */
    float value_min, value_max;
    uint32_t extra_count;    /* numbers beside each action: see extra */
    uint32_t has_priorities; /* rows are drawn by priority: answers should have some */
    uint32_t publish_period; /* updates between versions; rollouts: 1 */
    double discount;
    uint32_t layer_count;
    octet_learner_layer layers[OCTET_LEARNER_LAYERS_MAX];
    uint64_t param_count; /* floats of the block: layers, then the log deviations */
    uint64_t deviation;   /* of HEAD_GAUSSIAN: where [dim] log deviations begin; else 0 */
    uint32_t number_count;
    char number_names[OCTET_LEARNER_NUMBERS_MAX][32]; /* what answers may report */
} octet_learner_spec;

/* A batch, in the shared memory: valid until octet_learner_update, and the caller's to change.
 * Columns that its kind of window does not have are NULL. dim: action_count of a box. */
typedef struct octet_learner_batch {
    uint32_t size;       /* set by the caller: sizeof(octet_learner_batch) */
    uint32_t B, T;       /* T 0: n-step */
    uint64_t number;     /* counts batches, from the updates that the run had when it began */
    float learning_rate; /* of now, by algo.learning_rate and algo.learning_rate_final */
    float *obs;          /* [B][obs_count]; sequences and rollouts [B][T + 1][obs_count]. Bytes with
                            a bound above 1 are divided by the least power of two that is not
                            below it (256 for pictures), and the parameters are of what reads
                            them so: docs/environments.md */
    float *next_obs;     /* [B][obs_count], after the n steps; n-step only */
    void *action;        /* int32, or float [dim] within the box; [B], or [B][T] */
    float *reward;       /* n-step: [B] sum of discount^i r_i; others [B][T]; each r within
                            +-algo.reward_clip */
    float *discount;   /* [B] discount^k for k steps, 0 when the episode terminated; n-step only */
    uint8_t *flags;    /* [B][T] OCTET_LEARNER_TERMINATED ...; not n-step */
    uint32_t *version; /* [B][T] of the policy that acted; not n-step */
    float *extra;      /* [B] or [B][T], each [extra_count]: logits 1, the action's
                          log-probability; Gaussians 1 + dim: it, and what was drawn before it
                          was clipped (HEAD_GAUSSIAN) or squashed; n-step, from a data set that
                          was recorded without them: 0 */
    float *importance; /* [B] weights of prioritised replay, at most 1; else 1 */
} octet_learner_batch;

/* What this process made of a batch. */
typedef struct octet_learner_answer {
    uint32_t size;       /* set by the caller: sizeof(octet_learner_answer) */
    uint32_t has_params; /* octet_learner_params has new ones: they are the policy from now on */
    const float *priorities; /* [B] >= 0, |TD error| or alike; NULL: all 1 */
    const float *numbers;    /* [number_count] for metrics.csv; NaN: none; NULL: no number */
} octet_learner_answer;

typedef struct octet_learner octet_learner;

/* Connects to the learner whose run folder is given; does not wait. OCTET_LEARNER_EAGAIN: none is
 * there yet. On failure *out is untouched, and error has one line for a person. */
int octet_learner_open(octet_learner **out, const char *folder, char *error, size_t error_size);
/* Waits until there is something to learn from: then the spec is there. timeout_ms: -1 for ever.
 * OCTET_LEARNER_EAGAIN: not yet, or a signal came. OCTET_LEARNER_ESTALE, or OCTET_LEARNER_ECLOSED
 * as of octet_learner_next. */
int octet_learner_wait(octet_learner *learner, int timeout_ms);
/* NULL before that. Valid until the learner is closed. */
const octet_learner_spec *octet_learner_get_spec(const octet_learner *learner);
/* The block of parameters, [param_count]: at first as the policy has them, after a resume those of
 * the checkpoint, after another process those that it answered with last. Written at any time;
 * taken with an answer that says so. */
float *octet_learner_params(octet_learner *learner);
/* The next batch. timeout_ms and OCTET_LEARNER_EAGAIN as above. OCTET_LEARNER_EINVAL: the last one
 * was not answered. OCTET_LEARNER_ECLOSED: octet_learner_error says why there is none. */
int octet_learner_next(octet_learner *learner, int timeout_ms, octet_learner_batch *out);
/* Answers the batch, once. OCTET_LEARNER_EINVAL: there is none, or a number is not finite or a
 * priority below 0: nothing was sent, and the batch is still to be answered. */
int octet_learner_update(octet_learner *learner, const octet_learner_answer *answer);
/* Whether the run ended as it should; 0: it goes on, or its process died. */
int octet_learner_has_ended(const octet_learner *learner);
/* One line about the last call that failed; "" while none has. Valid until the next call. */
const char *octet_learner_error(const octet_learner *learner);
/* Stops learning; what was handed out of the shared memory stays valid. */
void octet_learner_leave(octet_learner *learner);
/* Leaves, and frees the memory. NULL is a no-op. */
void octet_learner_close(octet_learner *learner);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_LEARNER_H */
