#ifndef OCTET_LEARNER_H
#define OCTET_LEARNER_H

/* A learner of your own on Octet's actors. octet-learner samples, publishes, evaluates and writes
 * the run folder as usual, and passes each batch to this process, which learns from it. Plain C99.
 *
 * The experiment has algo.name: external (octet config --explain external). octet train, or
 * octet-learner on its own, runs on the same machine and as the same user; actors and replay may be
 * anywhere.
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
 * Batches are in memory that both processes share, so this side copies nothing. Threads: one thread
 * at a time uses a handle. Owns: the memory, until the handle is closed. One process learns at a
 * time. If the process leaves, the run waits for another one (algo.client_wait_s) and continues
 * with it. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_LEARNER_OK = 0,
    OCTET_LEARNER_EINVAL = 1,  /* shapes, counts, numbers that are not finite; nothing was sent */
    OCTET_LEARNER_EAGAIN = 2,  /* nothing yet: try again */
    OCTET_LEARNER_ECLOSED = 3, /* the run or its process has ended; see octet_learner_error */
    OCTET_LEARNER_EIO = 7,     /* the system refused memory or sockets */
    OCTET_LEARNER_ESTALE = 9   /* another process learns in this run */
};

enum { OCTET_LEARNER_N_STEP = 1, OCTET_LEARNER_SEQUENCE = 2, OCTET_LEARNER_ROLLOUT = 3 };
enum { OCTET_LEARNER_DISCRETE = 1, OCTET_LEARNER_BOX = 2 };
enum {
    OCTET_LEARNER_DENSE = 1,
    OCTET_LEARNER_CONV = 2,
    OCTET_LEARNER_MAX_POOL = 3, /* pools have no parameters */
    OCTET_LEARNER_MEAN_POOL = 4 /* does not count zeros around the map */
};
enum {
    OCTET_LEARNER_LINEAR = 0,
    OCTET_LEARNER_RELU = 1,
    OCTET_LEARNER_TANH = 2,
    OCTET_LEARNER_ELU = 3,       /* alpha 1 */
    OCTET_LEARNER_SILU = 4,      /* x sigmoid(x) */
    OCTET_LEARNER_GELU = 5,      /* x Phi(x) */
    OCTET_LEARNER_GELU_TANH = 6, /* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
    OCTET_LEARNER_SIGMOID = 7,
    OCTET_LEARNER_SOFTPLUS = 8,    /* log(1 + exp(x)) */
    OCTET_LEARNER_MISH = 9,        /* x tanh(softplus(x)) */
    OCTET_LEARNER_LEAKY_RELU = 10, /* 0.01 x below 0 */
    OCTET_LEARNER_RELU6 = 11,      /* min(max(x, 0), 6) */
    OCTET_LEARNER_HARD_SWISH = 12  /* x min(max(x + 3, 0), 6) / 6 */
};

/* The meaning of the last layer's outputs. Outputs for a box, and deviations, are in units of half
 * the range: the action is (low + high) / 2 + x (high - low) / 2, where x is tanh of the output
 * (TANH), the sample clipped to [-1, 1] (GAUSSIAN), or tanh of the sample (TANH_GAUSSIAN).
 * Log-probabilities are those of the sample (GAUSSIAN) or of x (TANH_GAUSSIAN). */
enum {
    OCTET_LEARNER_HEAD_VALUES = 1,   /* [actions] Q-values */
    OCTET_LEARNER_HEAD_LOGITS = 2,   /* [actions] */
    OCTET_LEARNER_HEAD_TANH = 3,     /* [dim]; the action is their tanh, mapped onto the box */
    OCTET_LEARNER_HEAD_ATOMS = 4,    /* [actions][atoms] logits of the return */
    OCTET_LEARNER_HEAD_GAUSSIAN = 5, /* [dim] means; log deviations are parameters of their own */
    OCTET_LEARNER_HEAD_TANH_GAUSSIAN = 6 /* [2 dim] means, then log deviations, before the tanh */
};

/* Flags of a row of a sequence or rollout. */
enum {
    OCTET_LEARNER_TERMINATED = 1,
    OCTET_LEARNER_TRUNCATED = 2,
    OCTET_LEARNER_FIRST = 4,        /* first row of an episode, or of its rest after a rollout */
    OCTET_LEARNER_END = 8,          /* the last observation of an episode or rollout: no action */
    OCTET_LEARNER_RANDOM = 16,      /* the action was chosen at random */
    OCTET_LEARNER_FAILED = 32,      /* with END: the environment failed here */
    OCTET_LEARNER_ROLLOUT_EDGE = 64 /* with FIRST: a rollout begins, maybe within an episode; with
                                       END: a rollout ends, maybe within an episode */
};

#define OCTET_LEARNER_NAME_MAX    128
#define OCTET_LEARNER_RANK_MAX    6
#define OCTET_LEARNER_ACTIONS_MAX 256
#define OCTET_LEARNER_LAYERS_MAX  16
#define OCTET_LEARNER_NUMBERS_MAX 16
#define OCTET_LEARNER_ERROR_BYTES 1024

/* A layer, and the indices at which its parts begin in the block of parameters. Weights are a
 * matrix [rows][columns], row-major: y = W x + b. Weights of a convolution are
 * [filters][kernel rows][kernel columns][channels] over a map [height][width][channels].
 * With layer_norm, gain[outputs] and offset[outputs] are applied between W x + b and the
 * activation, epsilon 1e-5. */
typedef struct octet_learner_layer {
    uint32_t kind; /* OCTET_LEARNER_DENSE ... */
    uint32_t inputs, outputs;
    uint32_t activation; /* OCTET_LEARNER_LINEAR ... */
    uint32_t layer_norm; /* 0 or 1 */
    uint32_t rows, columns;
    /* Of a convolution or a pool, else 0. kernel: the rows of its kernel; see kernels below. */
    uint32_t height, width, channels, filters, kernel;
    uint64_t weight, bias, gain, offset;
} octet_learner_layer;

/* The kernel of a convolution or a pool along one axis of its map, in numbers of the map. There are
 * (before + size + after - kernel) / stride + 1 positions along an axis of size numbers. */
typedef struct octet_learner_kernel {
    uint32_t kernel, stride;
    uint32_t before, after; /* zeros around the map */
} octet_learner_kernel;

/* The description of the run. It does not change between the first batch and the last. */
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
    uint32_t extra_count;    /* numbers recorded with each action, see octet_learner_batch.extra */
    uint32_t has_priorities; /* 1: rows are sampled by priority, which answers should have */
    uint32_t publish_period; /* updates between versions; rollouts: 1 */
    double discount;
    uint32_t layer_count;
    octet_learner_layer layers[OCTET_LEARNER_LAYERS_MAX];
    uint64_t param_count; /* floats in the block: layers, then the log deviations */
    uint64_t deviation;   /* HEAD_GAUSSIAN: index of the [dim] log deviations; else 0 */
    uint32_t number_count;
    char number_names[OCTET_LEARNER_NUMBERS_MAX][32]; /* the numbers that answers may report */
    octet_learner_kernel kernels[OCTET_LEARNER_LAYERS_MAX][2]; /* of each layer, along rows and
                                                                  columns; 0 if it is dense */
} octet_learner_spec;

/* A batch in the shared memory. It is valid until octet_learner_update, and the caller may change
 * it. Columns that its kind of window does not have are NULL. dim: action_count of a box. */
typedef struct octet_learner_batch {
    uint32_t size;       /* set by the caller: sizeof(octet_learner_batch) */
    uint32_t B, T;       /* T 0: n-step */
    uint64_t number;     /* counts batches; begins with the run's updates at its start */
    float learning_rate; /* current, by algo.learning_rate and algo.learning_rate_final */
    float *obs;          /* [B][obs_count]; sequences and rollouts [B][T + 1][obs_count]. Bytes with
                            a bound above 1 are divided by the least power of two that is not
                            below it (256 for pictures), and the parameters are for a network
                            that reads these numbers: docs/environments.md */
    float *next_obs;     /* [B][obs_count], after the n steps; n-step only */
    void *action;        /* int32, or float [dim] within the box; [B], or [B][T] */
    float *reward;       /* n-step: [B] sum of discount^i r_i; others [B][T]; each r within
                            +-algo.reward_clip */
    float *discount;   /* [B] discount^k for k steps, 0 when the episode terminated; n-step only */
    uint8_t *flags;    /* [B][T] OCTET_LEARNER_TERMINATED ...; not n-step */
    uint32_t *version; /* [B][T] version of the policy that acted; not n-step */
    float *extra;      /* [B] or [B][T], each [extra_count]: for logits the log-probability of the
                          action; for Gaussians 1 + dim numbers, the log-probability and the
                          sample before it was clipped (HEAD_GAUSSIAN) or squashed; 0 for n-step
                          windows from a data set that was recorded without them */
    float *importance; /* [B] weights of prioritised replay, at most 1; else 1 */
} octet_learner_batch;

/* The answer of this process to a batch. */
typedef struct octet_learner_answer {
    uint32_t size;       /* set by the caller: sizeof(octet_learner_answer) */
    uint32_t has_params; /* 1: octet_learner_params has new parameters, the policy from now on */
    const float *priorities; /* [B], >= 0, such as |TD error|; NULL: all 1 */
    const float *numbers;    /* [number_count] for metrics.csv, NaN: none; NULL: no numbers */
} octet_learner_answer;

typedef struct octet_learner octet_learner;

/* Connects to the learner of a run folder; does not wait. OCTET_LEARNER_EAGAIN: the folder has no
 * learner yet. On failure *out is unchanged, and error has one line for the user. */
int octet_learner_open(octet_learner **out, const char *folder, char *error, size_t error_size);
/* Waits until there is something to learn from; then octet_learner_get_spec has the spec.
 * timeout_ms -1: no limit.
 *   OCTET_LEARNER_EAGAIN   not yet, or a signal arrived
 *   OCTET_LEARNER_ESTALE   another process learns in this run
 *   OCTET_LEARNER_ECLOSED  as octet_learner_next */
int octet_learner_wait(octet_learner *learner, int timeout_ms);
/* Returns NULL before octet_learner_wait has succeeded. Valid until the learner is closed. */
const octet_learner_spec *octet_learner_get_spec(const octet_learner *learner);
/* Returns the block of parameters, [param_count], or NULL before octet_learner_wait has succeeded.
 * At first it has those of the policy, after a resume those of the checkpoint, after another
 * process those of its last answer. The caller may write it at any time; octet-learner reads it
 * with an answer that has has_params. */
float *octet_learner_params(octet_learner *learner);
/* Waits for the next batch. timeout_ms and OCTET_LEARNER_EAGAIN as above.
 *   OCTET_LEARNER_EINVAL   out->size is wrong, or the last batch was not answered
 *   OCTET_LEARNER_ESTALE   as octet_learner_wait
 *   OCTET_LEARNER_ECLOSED  there is no further batch; octet_learner_error has the reason */
int octet_learner_next(octet_learner *learner, int timeout_ms, octet_learner_batch *out);
/* Answers the batch, once. After the run has ended, the answer is dropped and the result is
 * OCTET_LEARNER_OK; the next octet_learner_next reports the end. OCTET_LEARNER_EINVAL: answer->size
 * is wrong, there is no batch, a number is not finite, or a priority is below 0; nothing was sent,
 * and the batch still needs an answer. */
int octet_learner_update(octet_learner *learner, const octet_learner_answer *answer);
/* Returns 1 if the run ended regularly, 0 if it continues or its process died. */
int octet_learner_has_ended(const octet_learner *learner);
/* Returns one line about the last call that failed, or "" if none has failed. Valid until the next
 * call. */
const char *octet_learner_error(const octet_learner *learner);
/* Stops learning. Pointers into the shared memory stay valid. */
void octet_learner_leave(octet_learner *learner);
/* Leaves, and frees the memory. NULL is a no-op. */
void octet_learner_close(octet_learner *learner);

#ifdef __cplusplus
}
#endif

#endif /* OCTET_LEARNER_H */
