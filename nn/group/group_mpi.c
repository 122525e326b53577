// A group by MPI. Waiting polls for messages with pauses, because MPI's own waiting uses a whole
// core.
#include "nn/group/group_mpi.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"

#if OCTET_MPI
#include <mpi.h>
#endif

#define PIECE_BYTES (1u << 30) // MPI counts in int, so parts are sent in pieces

#if OCTET_MPI

typedef struct messages {
    int rank, size;
} messages;

// Returns the size of the piece of a part that starts at `at`.
static int
piece_bytes(const group_part *part, size_t at)
{
    return (int)OCT_MIN(part->bytes - at, (size_t)PIECE_BYTES);
}

// Waits until all requests are complete. MPI itself ends the processes if a rank has died.
static void
requests_wait(MPI_Request *requests, int count)
{
    int is_done = 0;
    for (uint32_t round = 0;; round++) {
        MPI_Testall(count, requests, &is_done, MPI_STATUSES_IGNORE);
        if (is_done) {
            return;
        }
        group_wait(round);
    }
}

static void
messages_exchange(void *arg, const group_part *out, const group_part *in)
{
    const messages *m = arg;
    MPI_Request requests[2 * GROUP_SIZE_MAX];
    bool is_done = false;
    for (size_t at = 0; !is_done; at += PIECE_BYTES) {
        int count = 0;
        is_done = true;
        for (int r = 0; r < m->size; r++) {
            if (r != m->rank && in[r].bytes > at) {
                MPI_Irecv((char *)in[r].data + at, piece_bytes(&in[r], at), MPI_BYTE, r, 0,
                          MPI_COMM_WORLD, &requests[count++]);
                is_done &= in[r].bytes - at <= PIECE_BYTES;
            }
            if (r != m->rank && out[r].bytes > at) {
                MPI_Isend((char *)out[r].data + at, piece_bytes(&out[r], at), MPI_BYTE, r, 0,
                          MPI_COMM_WORLD, &requests[count++]);
                is_done &= out[r].bytes - at <= PIECE_BYTES;
            }
        }
        requests_wait(requests, count);
    }
}

static void
messages_close(void *arg)
{
    MPI_Finalize();
    free(arg);
}

// Returns true if all ranks are on one host, on every rank alike.
static bool
is_one_host(int size)
{
    MPI_Comm here;
    int count = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &count);
    MPI_Comm_free(&here);
    int fewest = count;
    MPI_Allreduce(&count, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return fewest == size;
}

oct_err
group_mpi_open(group **out, uint32_t want, bool *is_local, oct_reason *why)
{
    int provided, rank = 0, size = 1;
    // mpirun and srun end the processes that are left of a group. If SIGKILL ends them first, the
    // kernel does.
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_SERIALIZED) {
        return oct_refuse(why, "cannot initialise MPI with threads");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((uint32_t)size != want || want > GROUP_SIZE_MAX) {
        MPI_Finalize();
        return oct_refuse(why, "the number of learners is %u, but %d were started by MPI",
                          (unsigned)want, size);
    }
    if (rank != 0) {
        group_follow();
    }
    *is_local = is_one_host(size);
    messages *m = oct_alloc(sizeof(*m));
    *m = (messages){.rank = rank, .size = size};
    const group_link link = {.exchange = messages_exchange, .close = messages_close, .arg = m};
    *out = group_create(&link, (uint32_t)rank, (uint32_t)size);
    return OCT_OK;
}

#else

oct_err
group_mpi_open(group **out, uint32_t want, bool *is_local, oct_reason *why)
{
    (void)out;
    (void)want;
    (void)is_local;
    return oct_refuse(why,
                      "this octet-learner was built without MPI: install libopenmpi-dev and build "
                      "again, or start learners on one host with octet train --learners");
}

#endif
