// Implements include/octet/learner.h: the client's end of a run's socket and shared memory
// (common/oct_external.h).
//
// octet-learner owns both. Packets are small; a packet says that the memory now has a batch or an
// answer:
//   to the client  WELCOME with the memory's descriptor, BATCH with its number, and at the end
//     ENDED or REFUSED with a text
//   to the learner  ANSWER with the batch's number and flags that say what was answered
//
// The learner's process may write to the memory at any time, so the spec is copied before it is
// checked, and the layout is computed from the copy. A packet or memory of an unknown form ends
// the session: the two programs are of different releases. If the learner ends or dies, its last
// packet or the closed socket gives the reason. Mapped memory stays valid until close, so a
// program that still computes with it does not crash.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_external.h"
#include "common/oct_file.h"
#include "include/octet/octet.h"

// The public codes equal those of oct_err.
#define AGREE(public, ours) static_assert((int)(public) == (int)(ours), #public)
AGREE(OCTET_LEARNER_OK, OCT_OK);
AGREE(OCTET_LEARNER_EINVAL, OCT_EINVAL);
AGREE(OCTET_LEARNER_EAGAIN, OCT_EAGAIN);
AGREE(OCTET_LEARNER_ECLOSED, OCT_ECLOSED);
AGREE(OCTET_LEARNER_EIO, OCT_EIO);
AGREE(OCTET_LEARNER_ESTALE, OCT_ESTALE);
#undef AGREE

struct octet_learner {
    int socket;              // -1: left, or the run has ended
    uint8_t *memory;         // mapped; NULL before octet_learner_wait has succeeded
    octet_learner_spec spec; // a copy: the mapped memory may change
    oct_external_layout at;  // of the columns in memory
    uint32_t B;              // windows of the batch to answer; 0: there is none
    uint64_t number;         // of that batch
    bool has_ended;          // the learner said that the run ended
    char folder[4096];       // for messages
    char error[OCTET_LEARNER_ERROR_BYTES];
};

// Keeps the error and returns code.
static int
refused(octet_learner *learner, int code, const char *why)
{
    snprintf(learner->error, sizeof(learner->error), "%s", why);
    return code;
}

// ---- connecting

// SOCK_SEQPACKET keeps packets whole. The address goes through the folder's descriptor, because a
// path may be longer than an address. Without a folder, a socket or a listener, the run has not
// started yet.
int
octet_learner_open(octet_learner **out, const char *folder, char *error, size_t error_size)
{
    struct sockaddr_un address;
    int folder_fd = oct_file_open_folder(folder, true);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    oct_external_address(&address, folder_fd);
    bool connected = folder_fd >= 0 && fd >= 0 &&
                     connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    int number = errno;
    if (folder_fd >= 0) {
        (void)close(folder_fd);
    }
    if (!connected) {
        bool later = number == ENOENT || number == ECONNREFUSED;
        if (fd >= 0) {
            (void)close(fd);
        }
        (void)snprintf(error, error_size, "%s: %s", folder,
                       later ? "no run of algo.name: external provides batches here"
                             : strerror(number));
        return later ? OCTET_LEARNER_EAGAIN : OCTET_LEARNER_EIO;
    }
    octet_learner *learner = oct_alloc(sizeof(*learner));
    learner->socket = fd;
    snprintf(learner->folder, sizeof(learner->folder), "%s", folder);
    *out = learner;
    return OCTET_LEARNER_OK;
}

// The closed socket informs the learner, which then waits for another process.
void
octet_learner_leave(octet_learner *learner)
{
    if (learner->socket >= 0) {
        (void)close(learner->socket);
    }
    learner->socket = -1;
    learner->B = 0;
}

void
octet_learner_close(octet_learner *learner)
{
    if (learner == NULL) {
        return;
    }
    octet_learner_leave(learner);
    if (learner->memory != NULL) {
        (void)munmap(learner->memory, learner->at.bytes);
    }
    free(learner);
}

// ---- packets

// False: no packet arrived in time, or a signal did.
static bool
is_readable(const octet_learner *learner, int timeout_ms)
{
    struct pollfd waiting = {.fd = learner->socket, .events = POLLIN};
    return poll(&waiting, 1, timeout_ms) > 0;
}

// Leaves after the connection was lost without a last packet. 880 characters of the folder leave
// room for the text in error.
static int
gone(octet_learner *learner)
{
    octet_learner_leave(learner);
    snprintf(learner->error, sizeof(learner->error),
             "%.880s: octet-learner has ended, or closed the connection; its log says why (octet "
             "train's: log/learner.log)",
             learner->folder);
    return OCTET_LEARNER_ECLOSED;
}

// Reads a packet; the first one carries a descriptor. A learner that ends before it has read an
// answer resets the connection: recvmsg then first fails with ECONNRESET, and a second call reads
// its last packet.
static ssize_t
packet_bytes(const octet_learner *learner, uint8_t *bytes, size_t size, int *file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t length = -1;
    // The second attempt is for the error of a reset connection.
    for (int i = 0; i < 2 && length < 0; i++) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        length = recvmsg(learner->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    }
    const struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
        memcpy(file, CMSG_DATA(header), sizeof(*file));
    }
    return length;
}

// Waits for a packet. Its descriptor goes to *file, or -1, and belongs to the caller. Packets that
// end the session leave it, with their text as the error.
static int
packet_read(octet_learner *learner, int timeout_ms, oct_external_packet *packet, int *file)
{
    uint8_t bytes[sizeof(*packet) + 1]; // one more than a packet, to notice a longer one
    *file = -1;
    if (learner->socket < 0) {
        return OCTET_LEARNER_ECLOSED; // keep the first reason
    }
    if (!is_readable(learner, timeout_ms)) {
        return OCTET_LEARNER_EAGAIN;
    }
    ssize_t length = packet_bytes(learner, bytes, sizeof(bytes), file);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return OCTET_LEARNER_EAGAIN;
    }
    if (length <= 0) {
        return gone(learner);
    }
    if (!oct_external_packet_read(packet, bytes, (size_t)length)) {
        octet_learner_leave(learner);
        return refused(learner, OCTET_LEARNER_ECLOSED,
                       "octet-learner and liboctet are of different releases");
    }
    if (packet->kind == OCT_EXTERNAL_ENDED || packet->kind == OCT_EXTERNAL_REFUSED) {
        learner->has_ended = packet->kind == OCT_EXTERNAL_ENDED;
        octet_learner_leave(learner);
        return refused(learner, learner->has_ended ? OCTET_LEARNER_ECLOSED : OCTET_LEARNER_ESTALE,
                       packet->text);
    }
    return OCTET_LEARNER_OK;
}

// ---- the memory

// Terminates the strings of a spec that another process has written.
static void
strings_end(octet_learner_spec *spec)
{
    spec->env_id[sizeof(spec->env_id) - 1] = '\0';
    for (size_t i = 0; i < OCT_COUNTOF(spec->number_names); i++) {
        spec->number_names[i][sizeof(spec->number_names[i]) - 1] = '\0';
    }
}

// Maps the memory and checks that its size fits its spec. False: it has an unknown form.
static bool
memory_map(octet_learner *learner, int file)
{
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0 || about.st_size < (off_t)sizeof(oct_external_head)) {
        return false;
    }
    size_t size = (size_t)about.st_size;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    const oct_external_head *head = memory;
    memcpy(&learner->spec, &head->spec, sizeof(learner->spec));
    strings_end(&learner->spec);
    if (head->magic != OCT_EXTERNAL_MAGIC || head->version != OCT_EXTERNAL_VERSION ||
        oct_external_lay_out(&learner->at, &learner->spec) != OCT_OK || learner->at.bytes != size) {
        (void)munmap(memory, size);
        return false;
    }
    learner->memory = memory;
    return true;
}

// The first packet, WELCOME, brings the memory.
int
octet_learner_wait(octet_learner *learner, int timeout_ms)
{
    oct_external_packet packet;
    int file;
    if (learner->memory != NULL) {
        return OCTET_LEARNER_OK;
    }
    int result = packet_read(learner, timeout_ms, &packet, &file);
    // The mapping stays after its descriptor is closed.
    bool mapped = result == OCTET_LEARNER_OK && packet.kind == OCT_EXTERNAL_WELCOME &&
                  memory_map(learner, file);
    if (file >= 0) {
        (void)close(file);
    }
    if (result == OCTET_LEARNER_OK && !mapped) {
        octet_learner_leave(learner);
        return refused(learner, OCTET_LEARNER_ECLOSED,
                       "octet-learner's shared memory has a form that this liboctet does not know");
    }
    return result;
}

// The copy, not the memory: the learner's process cannot change it any more.
const octet_learner_spec *
octet_learner_get_spec(const octet_learner *learner)
{
    return learner->memory != NULL ? &learner->spec : NULL;
}

// NULL: this kind of window does not have the column.
static void *
column(const octet_learner *learner, oct_external_column k)
{
    return learner->at.row[k] > 0 ? learner->memory + learner->at.at[k] : NULL;
}

float *
octet_learner_params(octet_learner *learner)
{
    return learner->memory != NULL ? column(learner, OCT_EXTERNAL_PARAMS) : NULL;
}

// ---- batches

// Points out to the columns; nothing is copied.
static void
batch_fill(const octet_learner *learner, octet_learner_batch *out, float learning_rate)
{
    *out = (octet_learner_batch){
        .size = sizeof(*out),
        .B = learner->B,
        .T = learner->spec.steps,
        .number = learner->number,
        .learning_rate = learning_rate,
        .obs = column(learner, OCT_EXTERNAL_OBS),
        .next_obs = column(learner, OCT_EXTERNAL_NEXT),
        .action = column(learner, OCT_EXTERNAL_ACTION),
        .reward = column(learner, OCT_EXTERNAL_REWARD),
        .discount = column(learner, OCT_EXTERNAL_DISCOUNT),
        .flags = column(learner, OCT_EXTERNAL_FLAGS),
        .version = column(learner, OCT_EXTERNAL_VERSION_OF),
        .extra = column(learner, OCT_EXTERNAL_EXTRA),
        .importance = column(learner, OCT_EXTERNAL_IMPORTANCE),
    };
}

// B is read once, because the memory may change between a check and a second read. A packet that
// is not a batch, or a B out of range, ends the session like a lost connection.
int
octet_learner_next(octet_learner *learner, int timeout_ms, octet_learner_batch *out)
{
    oct_external_packet packet;
    int file;
    if (out->size != sizeof(*out)) {
        return refused(learner, OCTET_LEARNER_EINVAL,
                       "the size of the batch is not that of this release");
    }
    if (learner->B > 0) {
        return refused(learner, OCTET_LEARNER_EINVAL, "the last batch was not answered");
    }
    int result = octet_learner_wait(learner, timeout_ms);
    if (result == OCTET_LEARNER_OK) {
        result = packet_read(learner, timeout_ms, &packet, &file);
    }
    if (result != OCTET_LEARNER_OK) {
        return result;
    }
    if (file >= 0) {
        (void)close(file);
    }
    const oct_external_head *head = (const oct_external_head *)learner->memory;
    uint32_t B = head->B;
    if (packet.kind != OCT_EXTERNAL_BATCH || B < 1 || B > learner->spec.batch_size) {
        return gone(learner);
    }
    learner->B = B;
    learner->number = packet.number;
    batch_fill(learner, out, head->learning_rate);
    return OCTET_LEARNER_OK;
}

// ---- answers

// Without an early exit, so that the loop is vectorised.
static bool
all_finite(const float *x, size_t count)
{
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        finite &= isfinite(x[i]) != 0;
    }
    return finite;
}

// Returns the layer to which a parameter belongs; layer_count: it is a log deviation.
static uint32_t
layer_of(const octet_learner_spec *spec, size_t index)
{
    uint32_t layer = spec->layer_count;
    while (layer > 0 &&
           (layer == spec->layer_count ? spec->deviation == 0 || index < spec->deviation
                                       : index < spec->layers[layer].weight)) {
        layer--;
    }
    return layer;
}

// Names the layer of the first parameter that is not finite. The search runs only after the fast
// check has failed.
static int
params_check(octet_learner *learner)
{
    const float *params = column(learner, OCT_EXTERNAL_PARAMS);
    size_t count = learner->spec.param_count, i = 0;
    if (all_finite(params, count)) {
        return OCTET_LEARNER_OK;
    }
    while (isfinite(params[i])) {
        i++;
    }
    // After the layers come the log deviations.
    uint32_t layer = layer_of(&learner->spec, i);
    if (layer == learner->spec.layer_count) {
        return refused(learner, OCTET_LEARNER_EINVAL, "a log deviation is not finite");
    }
    snprintf(learner->error, sizeof(learner->error), "a weight of layer %u is not finite", layer);
    return OCTET_LEARNER_EINVAL;
}

// Checks everything before anything is sent. Numbers may be NaN (no value), but not infinite.
static int
answer_check(octet_learner *learner, const octet_learner_answer *answer)
{
    if (answer->size != sizeof(*answer)) {
        return refused(learner, OCTET_LEARNER_EINVAL,
                       "the size of the answer is not that of this release");
    }
    if (learner->socket >= 0 && learner->B == 0) {
        return refused(learner, OCTET_LEARNER_EINVAL, "no batch waits for an answer");
    }
    for (uint32_t i = 0; answer->priorities != NULL && i < learner->B; i++) {
        if (!isfinite(answer->priorities[i]) || answer->priorities[i] < 0) {
            snprintf(learner->error, sizeof(learner->error),
                     "priority %u is %g; allowed are finite numbers from 0", i,
                     (double)answer->priorities[i]);
            return OCTET_LEARNER_EINVAL;
        }
    }
    for (uint32_t i = 0; answer->numbers != NULL && i < learner->spec.number_count; i++) {
        if (isinf(answer->numbers[i])) {
            snprintf(learner->error, sizeof(learner->error), "%s is infinite",
                     learner->spec.number_names[i]);
            return OCTET_LEARNER_EINVAL;
        }
    }
    return answer->has_params != 0 ? params_check(learner) : OCTET_LEARNER_OK;
}

// Writes priorities and numbers to the memory, then sends the packet that announces them. New
// parameters are in the memory already.
int
octet_learner_update(octet_learner *learner, const octet_learner_answer *answer)
{
    if (learner->memory == NULL) {
        return refused(learner, OCTET_LEARNER_EINVAL, "no batch waits for an answer");
    }
    int result = answer_check(learner, answer);
    if (result != OCTET_LEARNER_OK || learner->socket < 0) {
        return result; // after the run has ended, an answer is dropped
    }
    oct_external_packet packet = oct_external_packet_of(OCT_EXTERNAL_ANSWER, learner->number, NULL);
    if (answer->priorities != NULL) {
        memcpy(column(learner, OCT_EXTERNAL_PRIORITY), answer->priorities,
               learner->B * sizeof(float));
        packet.flags |= OCT_EXTERNAL_HAS_PRIORITIES;
    }
    if (answer->numbers != NULL) {
        memcpy(column(learner, OCT_EXTERNAL_NUMBERS), answer->numbers,
               learner->spec.number_count * sizeof(float));
        packet.flags |= OCT_EXTERNAL_HAS_NUMBERS;
    }
    packet.flags |= answer->has_params != 0 ? OCT_EXTERNAL_HAS_PARAMS : 0;
    // If the learner has ended meanwhile, octet_learner_next reads its last packet.
    (void)send(learner->socket, &packet, sizeof(packet), MSG_NOSIGNAL);
    learner->B = 0;
    return OCTET_LEARNER_OK;
}

int
octet_learner_has_ended(const octet_learner *learner)
{
    return learner->has_ended;
}

const char *
octet_learner_error(const octet_learner *learner)
{
    return learner->error;
}
