#ifndef OCTET_VECTOR_H
#define OCTET_VECTOR_H

/* Environments by name, n of which are stepped together: Octet's own ("CartPole-v1"), the Control
 * Suite ("dmc:cheetah_run"), Gymnasium's ("gym:NAME") and plug-ins ("./mine.so"). Plain C99; the
 * only other header of Octet is env.h.
 *
 *     octet_vector_config config = {.size = sizeof(config), .id = "CartPole-v1", .count = 64,
 *                                   .autoreset = OCTET_VECTOR_SAME_STEP};
 *     octet_vector *vector;
 *     char error[1024];
 *     if (octet_vector_open(&vector, &config, error, sizeof(error)) != OCTET_VECTOR_OK) ...
 *     octet_vector_reset(vector, NULL, NULL, &io);
 *     octet_vector_step(vector, &io);                     (as often as needed, allocates nothing)
 *     octet_vector_close(vector);
 *
 * Threads: one thread at a time uses a vector; different vectors may run in parallel. With
 * config.threads above 1, a vector has threads of its own, which sleep between calls and do not
 * survive fork(). A vector of "gym:NAME" has a process, which a fork would share; a child process
 * opens its own vector. Results do not depend on the number of threads. Owns: nothing of the io. If
 * memory runs out while a vector is opened, the process ends with a message.
 *
 * The vector checks every number. An environment fails if its reward or observation is not finite,
 * or if it reports a failure itself. Its flags then get OCTET_ENV_FAILED and OCTET_ENV_TRUNCATED,
 * the metrics of its episode are NaN, and it begins a new episode or stays at the end, as after any
 * other end. octet_vector_failure has the reason. */

#include "env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_VECTOR_OK = 0,
    OCTET_VECTOR_EINVAL = 1,    /* options, counts, actions, strides; nothing was stepped */
    OCTET_VECTOR_ENOTFOUND = 6, /* no such environment (the error names the nearest), or it cannot
                                   be drawn */
    OCTET_VECTOR_EINTERNAL = 8  /* the environment reports an error; a thread cannot be started */
};

/* What follows the end of an episode, with the names of Gymnasium's AutoresetMode. */
enum {
    OCTET_VECTOR_DISABLED = 0,  /* the environment stays at the end until it is reset */
    OCTET_VECTOR_SAME_STEP = 1, /* obs is the first of the next episode, final_obs the last one */
    OCTET_VECTOR_NEXT_STEP = 2  /* obs is the last one; the next step ignores the action and resets:
                                   reward 0, flags OCTET_ENV_OBS_IS_RESET. If the episode cannot
                                   begin, that step fails and the following one tries again */
};

typedef struct octet_vector octet_vector;

typedef struct octet_vector_config {
    uint32_t size;       /* set by the caller: sizeof(octet_vector_config) */
    uint32_t count;      /* environments, 1 to 2^20 */
    uint32_t threads;    /* 0 and 1: only the caller's thread; at most count and 256 */
    uint32_t autoreset;  /* OCTET_VECTOR_... */
    uint64_t seed;       /* environment i starts from seed + i */
    const char *id;      /* borrowed for the call */
    const char *options; /* "key=value,key=value"; NULL: none; borrowed for the call */
} octet_vector_config;

#define OCTET_VECTOR_ERROR_BYTES 1024 /* enough for every reason of octet_vector_open */

/* On failure *out is unchanged, and error (may be NULL with size 0) has one line for the user. */
int octet_vector_open(octet_vector **out, const octet_vector_config *config, char *error,
                      size_t error_size);
void octet_vector_close(octet_vector *vector); /* NULL is a no-op */

/* Returns the description of the environments: spaces, time limit, names. Valid until the vector is
 * closed. */
const octet_env_spec *octet_vector_spec(const octet_vector *vector);

/* Begins new episodes in the environments whose mask[count] is not 0 (NULL: all), and writes their
 * first observations to their rows of io->obs. seeds[count], or NULL: their generators continue. */
int octet_vector_reset(octet_vector *vector, const uint8_t *mask, const uint64_t *seeds,
                       octet_env_io *io);

/* Steps all environments: reads io->action and writes the buffers of io that are not NULL (see
 * env.h). io->reward64 is written for every environment, even if it only has float rewards. */
int octet_vector_step(octet_vector *vector, octet_env_io *io);

/* Returns one line about the last call that failed, or "" if none has failed. Valid until the next
 * call. */
const char *octet_vector_error(const octet_vector *vector);

/* Return how many times an environment has failed, and the reason of the last failure ("": never).
 * With several threads, that is the last failure among the environments of one thread. */
uint64_t octet_vector_failures(const octet_vector *vector);
const char *octet_vector_failure(const octet_vector *vector);

/* Read and set the physical state of environment i, spec->state_count numbers, and the count of
 * steps in its episode. Setting writes row i of obs if io and io->obs are not NULL.
 * OCTET_VECTOR_EINVAL: the environment has no OCTET_ENV_CAN_STATE. */
int octet_vector_get_state(octet_vector *vector, uint32_t i, double *state, uint32_t *episode_step);
int octet_vector_set_state(octet_vector *vector, uint32_t i, const double *state,
                           uint32_t episode_step, octet_env_io *io);

/* Sets *width and *height to a size in pixels that suits pictures of the environment, and
 * *frames_per_second to the frame rate for a video of every step.
 * OCTET_VECTOR_ENOTFOUND: the environment cannot be drawn. */
int octet_vector_picture(octet_vector *vector, uint32_t *width, uint32_t *height,
                         double *frames_per_second);
/* Draws environment i, whose current observation is obs, into rgb[height][width][3], from the top
 * left. width and height 0: the size of octet_vector_picture. */
int octet_vector_render(octet_vector *vector, uint32_t i, const void *obs, uint32_t width,
                        uint32_t height, uint8_t *rgb);

/* Lists the ids that this library knows without a file; they have static storage. Writes at most
 * room ids and returns how many there are. Ids of the Control Suite are included if its module is
 * installed. */
size_t octet_vector_ids(const char **ids, size_t room);

/* Sets a function that reports interrupts, for all vectors; call it before the first vector is
 * opened. A call on a vector of "gym:NAME" waits for a process. Meanwhile the waiting threads call
 * take_interrupt a few times per second. The function returns whether the program received a SIGINT
 * since its last call. If so (not 0), the signal is raised again for the program and passed to the
 * process, which abandons environments that still hang 2 s after the call began. NULL (the
 * default): only a SIGINT that reaches the process itself, like one from a terminal, has this
 * effect. */
void octet_vector_on_wait(int (*take_interrupt)(void));

#ifdef __cplusplus
}
#endif

#endif /* OCTET_VECTOR_H */
