#ifndef OCTET_VECTOR_H
#define OCTET_VECTOR_H

/* Environments by name, n of them stepped together: Octet's own ("CartPole-v1"), the Control Suite
 * ("dmc:cheetah_run"), Gymnasium's ("gym:NAME") and plug-ins ("./mine.so"). Plain C99; of Octet it
 * includes env.h alone.
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
 * Threads: a vector is used by one thread at a time; different vectors may run in parallel. With
 * config.threads above 1 it has threads of its own, which are asleep between calls and do not
 * survive fork(), and one of "gym:NAME" has a process, which a fork would share: a child opens its
 * own vector. Results do not depend on the number of threads. Owns: nothing of the io. Where memory
 * runs out while a vector is opened, the process ends with a message.
 *
 * The vector checks every number: an environment whose reward or observation is not finite has
 * failed, as one has that says so itself. Its flags get OCTET_ENV_FAILED and OCTET_ENV_TRUNCATED,
 * nothing was measured in its episode (metrics: NaN), and it begins a new one, or stays there, as
 * after any other end; octet_vector_failure says why. */

#include "env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OCTET_VECTOR_OK = 0,
    OCTET_VECTOR_EINVAL = 1,    /* options, counts, actions, strides; nothing was stepped */
    OCTET_VECTOR_ENOTFOUND = 6, /* no such environment (with the nearest); nothing can draw it */
    OCTET_VECTOR_EINTERNAL = 8  /* the environment answers an error; a thread cannot be started */
};

/* What follows the end of an episode, in the words of Gymnasium's AutoresetMode. */
enum {
    OCTET_VECTOR_DISABLED = 0,  /* the environment stays at its end until it is reset */
    OCTET_VECTOR_SAME_STEP = 1, /* obs is the first of the next episode, final_obs the last one */
    OCTET_VECTOR_NEXT_STEP = 2  /* obs is the last one; the next step ignores the action and resets:
                                   reward 0, flags OCTET_ENV_OBS_IS_RESET. One that cannot begin
                                   has failed in that step, and the next one tries again */
};

typedef struct octet_vector octet_vector;

typedef struct octet_vector_config {
    uint32_t size;       /* set by the caller: sizeof(octet_vector_config) */
    uint32_t count;      /* environments, 1 to 2^20 */
    uint32_t threads;    /* 0 and 1: the caller's alone; at most count and 256 */
    uint32_t autoreset;  /* OCTET_VECTOR_... */
    uint64_t seed;       /* environment i starts from seed + i */
    const char *id;      /* borrowed for the call */
    const char *options; /* "key=value,key=value"; NULL: none; borrowed for the call */
} octet_vector_config;

#define OCTET_VECTOR_ERROR_BYTES 1024 /* enough for every reason of octet_vector_open */

/* On failure *out is untouched and error (may be NULL with size 0) holds one line for a person. */
int octet_vector_open(octet_vector **out, const octet_vector_config *config, char *error,
                      size_t error_size);
void octet_vector_close(octet_vector *vector); /* NULL is a no-op */

/* What the environments are: spaces, time limit, names. Valid until the vector is closed. */
const octet_env_spec *octet_vector_spec(const octet_vector *vector);

/* The first observations of new episodes, into the rows of io->obs of those that mask[count] names
 * (NULL: all); seeds[count] or NULL: their generators go on. */
int octet_vector_reset(octet_vector *vector, const uint8_t *mask, const uint64_t *seeds,
                       octet_env_io *io);

/* One step of all: reads io->action, writes what of io is not NULL (see env.h). io->reward64 is
 * written for every environment, also by those that know only float. */
int octet_vector_step(octet_vector *vector, octet_env_io *io);

/* One line about the last call that failed; "" while none has. Valid until the next call. */
const char *octet_vector_error(const octet_vector *vector);

/* How many times an environment failed, and why the last time ("": never). */
uint64_t octet_vector_failures(const octet_vector *vector);
const char *octet_vector_failure(const octet_vector *vector);

/* The physical state of environment i, spec->state_count numbers, and the steps of its episode;
 * setting it writes the obs row of i where io and io->obs are not NULL. OCTET_VECTOR_EINVAL
 * without OCTET_ENV_CAN_STATE. */
int octet_vector_get_state(octet_vector *vector, uint32_t i, double *state, uint32_t *episode_step);
int octet_vector_set_state(octet_vector *vector, uint32_t i, const double *state,
                           uint32_t episode_step, octet_env_io *io);

/* The size of a picture that suits the environment, and the pictures of a second. OCTET_VECTOR_
 * ENOTFOUND where nothing can draw it. */
int octet_vector_picture(octet_vector *vector, uint32_t *width, uint32_t *height,
                         double *frames_per_second);
/* Environment i, whose current observation is obs, as rgb[height][width][3] from the top left.
 * 0 and 0: the size that suits it. */
int octet_vector_render(octet_vector *vector, uint32_t i, const void *obs, uint32_t width,
                        uint32_t height, uint8_t *rgb);

/* The ids that this library knows without a file, in static storage; writes at most room of them
 * and answers how many there are. Those of the Control Suite are there where its module is. */
size_t octet_vector_ids(const char **ids, size_t room);

/* A call of a "gym:NAME" waits for a process. Meanwhile take_interrupt is called a few times a
 * second, in the threads that wait: has the program had a SIGINT since the last such call? If it
 * has (not 0), the signal is raised again, for the program, and passed on to the process, which
 * gives up environments that hang 2 s after the call began. NULL, as at first: only a SIGINT that
 * reaches the process itself has this effect, as that of a terminal. For all vectors; set it before
 * the first is opened. */
void octet_vector_on_wait(int (*take_interrupt)(void));

#ifdef __cplusplus
}
#endif

#endif /* OCTET_VECTOR_H */
