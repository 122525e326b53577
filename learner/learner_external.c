// Gives batches to the external learning process and reads its answers, through a socket in the run
// folder and memory that both processes map.
#include "learner/learner_external.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_external.h"
#include "common/oct_file.h"
#include "common/oct_log.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "common/oct_reward.h"

#define BACKLOG 4

#define AGREE(public, ours) static_assert((int)(public) == (int)(ours), #public)
AGREE(OCTET_LEARNER_N_STEP, ALGO_WINDOW_N_STEP);
AGREE(OCTET_LEARNER_SEQUENCE, ALGO_WINDOW_SEQUENCE);
AGREE(OCTET_LEARNER_ROLLOUT, ALGO_WINDOW_ROLLOUT);
AGREE(OCTET_LEARNER_DISCRETE, POLICY_DISCRETE);
AGREE(OCTET_LEARNER_BOX, POLICY_BOX);
AGREE(OCTET_LEARNER_DENSE, POLICY_DENSE);
AGREE(OCTET_LEARNER_CONV, POLICY_CONV);
AGREE(OCTET_LEARNER_MAX_POOL, POLICY_MAX_POOL);
AGREE(OCTET_LEARNER_MEAN_POOL, POLICY_MEAN_POOL);
#define AGREE_ACTIVATION(ENUM, name, version) AGREE(OCTET_LEARNER_##ENUM, POLICY_##ENUM);
POLICY_ACTIVATIONS(AGREE_ACTIVATION)
#undef AGREE_ACTIVATION
AGREE(OCTET_LEARNER_HEAD_VALUES, POLICY_HEAD_VALUES);
AGREE(OCTET_LEARNER_HEAD_LOGITS, POLICY_HEAD_LOGITS);
AGREE(OCTET_LEARNER_HEAD_TANH, POLICY_HEAD_TANH);
AGREE(OCTET_LEARNER_HEAD_ATOMS, POLICY_HEAD_ATOMS);
AGREE(OCTET_LEARNER_HEAD_GAUSSIAN, POLICY_HEAD_GAUSSIAN);
AGREE(OCTET_LEARNER_HEAD_TANH_GAUSSIAN, POLICY_HEAD_TANH_GAUSSIAN);
AGREE(OCTET_LEARNER_TERMINATED, ALGO_TERMINATED);
AGREE(OCTET_LEARNER_TRUNCATED, ALGO_TRUNCATED);
AGREE(OCTET_LEARNER_FIRST, ALGO_FIRST);
AGREE(OCTET_LEARNER_END, ALGO_END);
AGREE(OCTET_LEARNER_RANDOM, ALGO_RANDOM);
AGREE(OCTET_LEARNER_FAILED, ALGO_FAILED);
AGREE(OCTET_LEARNER_ROLLOUT_EDGE, ALGO_ROLLOUT);
AGREE(OCTET_LEARNER_NAME_MAX, POLICY_NAME_MAX);
AGREE(OCTET_LEARNER_RANK_MAX, POLICY_RANK_MAX);
AGREE(OCTET_LEARNER_ACTIONS_MAX, POLICY_ACTIONS_MAX);
AGREE(OCTET_LEARNER_LAYERS_MAX, POLICY_LAYERS_MAX);
AGREE(OCTET_LEARNER_NUMBERS_MAX, ALGO_NUMBERS_MAX);
#undef AGREE

struct learner_external {
    octet_learner_spec spec;
    const algo *a;
    oct_external_layout at;
    double wait_s;
    float reward_clip; // 0: rewards are not clipped
    char folder[4096];
    int folder_fd, listener, file;
    int wakeup; // readable once learner_external_stop was called
    uint8_t *memory;
    atomic_int stopping;
    atomic_int lost;

    // training thread, from the first batch on
    int client; // -1: none
    long client_pid;
    uint64_t number; // of the current batch
};

// ---- the description of the run

static octet_learner_kernel
kernel_of(const policy_axis *axis)
{
    return (octet_learner_kernel){.kernel = axis->kernel,
                                  .stride = axis->stride,
                                  .before = axis->before,
                                  .after = axis->after};
}

static void
layers_fill(octet_learner_spec *out, const policy_spec *spec)
{
    out->layer_count = spec->layer_count;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        policy_offsets at = policy_spec_layer(spec, l);
        out->layers[l] = (octet_learner_layer){
            .kind = layer->kind,
            .inputs = layer->inputs,
            .outputs = layer->outputs,
            .activation = layer->activation,
            .layer_norm = layer->layer_norm,
            .rows = policy_layer_rows(layer),
            .columns = policy_layer_columns(layer),
            .height = layer->conv.rows.size,
            .width = layer->conv.columns.size,
            .channels = layer->conv.channels,
            .filters = layer->conv.filters,
            .kernel = layer->conv.rows.kernel,
            .weight = at.weight,
            .bias = at.bias,
            .gain = layer->layer_norm ? at.gain : 0,
            .offset = layer->layer_norm ? at.offset : 0,
        };
        out->kernels[l][0] = kernel_of(&layer->conv.rows);
        out->kernels[l][1] = kernel_of(&layer->conv.columns);
    }
}

static void
numbers_fill(octet_learner_spec *out, const config_experiment *config)
{
    const algo_number *numbers = algo_numbers(config, &out->number_count);
    for (uint32_t i = 0; i < out->number_count; i++) {
        (void)snprintf(out->number_names[i], sizeof(out->number_names[i]), "%s", numbers[i].name);
    }
}

static void
spec_fill(octet_learner_spec *out, const config_experiment *config, const policy_spec *spec,
          const algo_wants *wants)
{
    bool n_step = wants->window == ALGO_WINDOW_N_STEP;
    *out = (octet_learner_spec){
        .size = sizeof(*out),
        .window = wants->window,
        .batch_size = config->learner.batch_size,
        .steps = n_step ? 0 : wants->steps,
        .n_step = n_step ? wants->steps : 1,
        .obs_count = spec->obs_count,
        .obs_rank = spec->obs_rank,
        .action_kind = spec->action_kind,
        .action_count = spec->action_count,
        .head = spec->head,
        .atoms = config->algo.atoms,
        .value_min = (float)config->algo.value_min,
        .value_max = (float)config->algo.value_max,
        .extra_count = policy_spec_extra_dim(spec),
        .has_priorities = !wants->each_once && config->replay.sampler == CONFIG_SAMPLER_PRIORITIZED,
        .publish_period = config_has_rollouts(config) ? 1 : config->learner.publish_period,
        .discount = config->algo.discount,
        .param_count = policy_spec_params(spec),
        .deviation = policy_spec_has_deviation(spec) ? policy_spec_deviation(spec) : 0,
    };
    memcpy(out->env_id, spec->env_id, sizeof(out->env_id));
    memcpy(out->obs_shape, spec->obs_shape, sizeof(out->obs_shape));
    memcpy(out->action_low, spec->action_low, sizeof(out->action_low));
    memcpy(out->action_high, spec->action_high, sizeof(out->action_high));
    layers_fill(out, spec);
    numbers_fill(out, config);
}

// ---- opening

// Makes the shared memory. It is sealed so that the other process cannot shrink it: this process
// would crash at its next access.
static oct_err
memory_make(learner_external *x)
{
    x->file = memfd_create("octet-batch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (x->file < 0 || ftruncate(x->file, (off_t)x->at.bytes) != 0 ||
        fcntl(x->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return OCT_EIO;
    }
    void *memory = mmap(NULL, x->at.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, x->file, 0);
    if (memory == MAP_FAILED) {
        return OCT_EIO;
    }
    x->memory = memory;
    oct_external_head *head = memory;
    head->magic = OCT_EXTERNAL_MAGIC;
    head->version = OCT_EXTERNAL_VERSION;
    head->spec = x->spec;
    return OCT_OK;
}

// Listens. The folder is locked, so a socket that is there is left from an earlier learner and is
// replaced. The socket's mode is set before listen, because nothing can connect until then.
static oct_err
listen_begin(learner_external *x)
{
    struct sockaddr_un address;
    x->folder_fd = oct_file_open_folder(x->folder, true);
    x->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    x->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (x->folder_fd < 0 || x->listener < 0 || x->wakeup < 0) {
        return OCT_EIO;
    }
    (void)unlinkat(x->folder_fd, OCT_EXTERNAL_SOCKET, 0);
    oct_external_address(&address, x->folder_fd);
    bool listens = bind(x->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                   fchmodat(x->folder_fd, OCT_EXTERNAL_SOCKET, S_IRUSR | S_IWUSR, 0) == 0 &&
                   listen(x->listener, BACKLOG) == 0;
    return listens ? OCT_OK : OCT_EIO;
}

oct_err
learner_external_open(learner_external **out, const config_experiment *config,
                      const policy_spec *spec, const algo_wants *wants, const algo *a,
                      const char *folder, oct_reason *why)
{
    learner_external *x = oct_alloc(sizeof(*x));
    x->a = a;
    x->number = algo_updates(a);
    x->folder_fd = x->listener = x->file = x->wakeup = x->client = -1;
    x->wait_s = config->algo.client_wait_s;
    x->reward_clip = (float)config->algo.reward_clip;
    (void)snprintf(x->folder, sizeof(x->folder), "%s", folder);
    spec_fill(&x->spec, config, spec, wants);
    oct_err err = oct_external_lay_out(&x->at, &x->spec);
    if (err != OCT_OK) {
        (void)oct_refuse(
            why, "learner.batch_size: a batch is too large for memory that processes share");
    } else if ((err = memory_make(x)) != OCT_OK || (err = listen_begin(x)) != OCT_OK) {
        (void)oct_refuse(why, "%s/%s: %s", folder, OCT_EXTERNAL_SOCKET, strerror(errno));
    }
    if (err != OCT_OK) {
        learner_external_close(x);
        return err;
    }
    *out = x;
    return OCT_OK;
}

// ---- the learning process

static bool
packet_send(int fd, const oct_external_packet *packet, int file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)packet, .iov_len = sizeof(*packet)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &file, sizeof(file));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(*packet);
}

static long
peer_pid(int fd)
{
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (long)peer.pid : 0;
}

static int
connection_take(const learner_external *x)
{
    return accept4(x->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

// Refuses a process that connects while another learns.
static void
connection_refuse(const learner_external *x)
{
    int fd = connection_take(x);
    if (fd < 0) {
        return;
    }
    oct_external_packet packet = oct_external_packet_of(OCT_EXTERNAL_REFUSED, 0, NULL);
    (void)snprintf(
        packet.text, sizeof(packet.text),
        "another process (pid %ld) already learns in this run; only one process may at a time",
        x->client_pid);
    oct_log_notice("LEARNER-CLIENT-REFUSED", "pid=%ld: %s", peer_pid(fd), packet.text);
    (void)packet_send(fd, &packet, -1);
    (void)close(fd);
}

static void
client_drop(learner_external *x, const char *why)
{
    oct_log_warn("LEARNER-CLIENT-GONE",
                 "pid=%ld %s; another process may take its place within %g s (algo.client_wait_s)",
                 x->client_pid, why, x->wait_s);
    (void)close(x->client);
    x->client = -1;
}

// Waits at most wait_ms (-1: without limit) for events of the sockets. Returns false if the learner
// is to stop.
static bool
external_poll(learner_external *x, int wait_ms, bool *connects, bool *says)
{
    struct pollfd waiting[] = {{.fd = x->wakeup, .events = POLLIN},
                               {.fd = x->listener, .events = POLLIN},
                               {.fd = x->client, .events = POLLIN}}; // poll ignores -1
    int ready = poll(waiting, OCT_COUNTOF(waiting), wait_ms);
    *connects = ready > 0 && waiting[1].revents != 0;
    *says = ready > 0 && waiting[2].revents != 0;
    return atomic_load_explicit(&x->stopping, memory_order_acquire) == 0;
}

// Writes the policy's parameters to the shared memory, in case a process that died had overwritten
// them.
static void
params_put(const learner_external *x)
{
    memcpy(x->memory + x->at.at[OCT_EXTERNAL_PARAMS], algo_external_params(x->a),
           x->at.row[OCT_EXTERNAL_PARAMS]);
}

// Waits for a process to connect. OCT_EAGAIN: the learner is to stop, or no process came in time.
static oct_err
client_await(learner_external *x)
{
    uint64_t begin_ns = oct_clock_ns();
    bool connects, says;
    params_put(x);
    while (x->client < 0) {
        double left_s = x->wait_s - (double)(oct_clock_ns() - begin_ns) * 1e-9;
        int wait_ms = (int)OCT_MIN(OCT_MAX(left_s, 0) * 1e3 + 1, 1e9);
        if (!external_poll(x, wait_ms, &connects, &says)) {
            return OCT_EAGAIN;
        }
        x->client = connects ? connection_take(x) : -1;
        if (x->client < 0 && left_s <= 0) {
            atomic_store_explicit(&x->lost, 1, memory_order_release);
            return OCT_EAGAIN;
        }
        const oct_external_packet welcome = oct_external_packet_of(OCT_EXTERNAL_WELCOME, 0, NULL);
        if (x->client >= 0 && !packet_send(x->client, &welcome, x->file)) {
            (void)close(x->client); // the process has disconnected
            x->client = -1;
        }
    }
    x->client_pid = peer_pid(x->client);
    oct_log_notice("LEARNER-CLIENT", "pid=%ld learns", x->client_pid);
    return OCT_OK;
}

// ---- a batch and its answer

static void
column_put(const learner_external *x, oct_external_column k, const void *from, uint32_t B)
{
    if (from != NULL && x->at.row[k] > 0) {
        memcpy(x->memory + x->at.at[k], from, B * x->at.row[k]);
    }
}

// Clips the rewards. If T is 0, replay clipped each reward before it summed them.
static void
rewards_clip(const learner_external *x, const algo_batch *batch)
{
    float *rewards = (float *)(void *)(x->memory + x->at.at[OCT_EXTERNAL_REWARD]);
    size_t count = (size_t)batch->B * batch->T;
    for (size_t i = 0; x->reward_clip > 0 && i < count; i++) {
        rewards[i] = oct_reward_clip(batch->reward[i], x->reward_clip);
    }
}

static void
batch_put(learner_external *x, const algo_batch *batch, float learning_rate)
{
    oct_external_head *head = (oct_external_head *)x->memory;
    const void *const from[] = {
        [OCT_EXTERNAL_OBS] = batch->obs,
        [OCT_EXTERNAL_NEXT] = batch->next,
        [OCT_EXTERNAL_ACTION] = batch->action,
        [OCT_EXTERNAL_REWARD] = batch->reward,
        [OCT_EXTERNAL_DISCOUNT] = batch->discount,
        [OCT_EXTERNAL_FLAGS] = batch->flags,
        [OCT_EXTERNAL_VERSION_OF] = batch->version,
        [OCT_EXTERNAL_EXTRA] = batch->extra,
        [OCT_EXTERNAL_IMPORTANCE] = batch->weight,
    };
    for (size_t k = 0; k < OCT_COUNTOF(from); k++) {
        column_put(x, (oct_external_column)k, from[k], batch->B);
    }
    rewards_clip(x, batch);
    head->B = batch->B;
    head->learning_rate = learning_rate;
    head->updates = x->number - 1;
}

static void
answer_take(const learner_external *x, const oct_external_packet *packet, uint32_t B,
            algo_external_answer *answer)
{
    if ((packet->flags & OCT_EXTERNAL_HAS_PARAMS) != 0) {
        memcpy(answer->params, x->memory + x->at.at[OCT_EXTERNAL_PARAMS],
               x->at.row[OCT_EXTERNAL_PARAMS]);
        answer->has_params = true;
    }
    if ((packet->flags & OCT_EXTERNAL_HAS_PRIORITIES) != 0) {
        memcpy(answer->priorities, x->memory + x->at.at[OCT_EXTERNAL_PRIORITY], B * sizeof(float));
        answer->has_priorities = true;
    }
    if ((packet->flags & OCT_EXTERNAL_HAS_NUMBERS) != 0) {
        memcpy(answer->numbers, x->memory + x->at.at[OCT_EXTERNAL_NUMBERS],
               x->spec.number_count * sizeof(float));
    }
}

// Reads a packet of the learning process. OCT_ECLOSED: the process has disconnected, or was
// dropped.
static oct_err
client_read(learner_external *x, oct_external_packet *packet)
{
    uint8_t bytes[sizeof(*packet) + 1];
    ssize_t length = recv(x->client, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return OCT_EAGAIN;
    }
    if (length <= 0) {
        client_drop(x, "has disconnected");
        return OCT_ECLOSED;
    }
    if (!oct_external_packet_read(packet, bytes, (size_t)length) ||
        packet->kind != OCT_EXTERNAL_ANSWER || packet->number != x->number) {
        client_drop(x, "sent an invalid answer to this batch, or belongs to another release");
        return OCT_ECLOSED;
    }
    return OCT_OK;
}

// OCT_EAGAIN: the learner is to stop. OCT_ECLOSED: the learning process has disconnected.
static oct_err
answer_await(learner_external *x, oct_external_packet *packet)
{
    bool connects, says;
    oct_err err = OCT_EAGAIN;
    while (err == OCT_EAGAIN) {
        if (!external_poll(x, -1, &connects, &says)) {
            return OCT_EAGAIN;
        }
        err = says ? client_read(x, packet) : OCT_EAGAIN;
        if (connects && err == OCT_EAGAIN) { // otherwise the new process may learn next
            connection_refuse(x);
        }
    }
    return err;
}

// Writes the batch again for each process, because a process that died may have changed it.
static oct_err
external_exchange(learner_external *x, const algo_batch *batch, float learning_rate,
                  oct_external_packet *answer)
{
    x->number++;
    const oct_external_packet packet = oct_external_packet_of(OCT_EXTERNAL_BATCH, x->number, NULL);
    oct_err err = OCT_ECLOSED;
    while (err == OCT_ECLOSED) {
        if (x->client < 0) {
            OCT_TRY(client_await(x));
        }
        batch_put(x, batch, learning_rate);
        if (packet_send(x->client, &packet, -1)) {
            err = answer_await(x, answer);
        } else {
            client_drop(x, "has disconnected");
        }
    }
    return err;
}

static oct_err
external_learn(void *arg, const algo_batch *batch, float learning_rate,
               algo_external_answer *answer)
{
    learner_external *x = arg;
    oct_external_packet packet;
    if (batch->B > x->spec.batch_size || batch->T != x->spec.steps) {
        return OCT_EINVAL;
    }
    if (atomic_load_explicit(&x->stopping, memory_order_acquire) != 0 ||
        atomic_load_explicit(&x->lost, memory_order_acquire) != 0) {
        return OCT_EAGAIN;
    }
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WAITS);
    oct_err err = external_exchange(x, batch, learning_rate, &packet);
    oct_pulse_beat(OCT_PULSE_WORK, OCT_PULSE_WORKS);
    if (err == OCT_OK) {
        answer_take(x, &packet, batch->B, answer);
    }
    return err;
}

algo_external_learner
learner_external_learner(learner_external *x)
{
    return (algo_external_learner){.arg = x, .learn = external_learn};
}

// ---- the end

void
learner_external_stop(learner_external *x)
{
    const uint64_t one = 1;
    atomic_store_explicit(&x->stopping, 1, memory_order_release);
    ssize_t written = write(x->wakeup, &one, sizeof(one)); // full: readable already
    (void)written;
}

bool
learner_external_is_lost(const learner_external *x)
{
    return atomic_load_explicit(&x->lost, memory_order_acquire) != 0;
}

// Reads what is unread first: closing a socket with unread data resets the connection, and the
// packet just sent could be lost.
static void
goodbye(int fd, const oct_external_packet *packet)
{
    uint8_t unread[sizeof(*packet)];
    while (recv(fd, unread, sizeof(unread), MSG_DONTWAIT) > 0) {
    }
    (void)packet_send(fd, packet, -1);
    (void)close(fd);
}

void
learner_external_end(learner_external *x, const char *reason)
{
    const oct_external_packet packet = oct_external_packet_of(OCT_EXTERNAL_ENDED, 0, reason);
    if (x->listener < 0) {
        return;
    }
    for (int fd; (fd = connection_take(x)) >= 0;) {
        goodbye(fd, &packet);
    }
    if (x->client >= 0) {
        goodbye(x->client, &packet);
        x->client = -1;
    }
    (void)unlinkat(x->folder_fd, OCT_EXTERNAL_SOCKET, 0);
    (void)close(x->listener);
    x->listener = -1;
}

void
learner_external_close(learner_external *x)
{
    if (x == NULL) {
        return;
    }
    learner_external_end(x, "the learner ended");
    if (x->memory != NULL) {
        (void)munmap(x->memory, x->at.bytes);
    }
    const int fds[] = {x->folder_fd, x->file, x->wakeup};
    for (size_t i = 0; i < OCT_COUNTOF(fds); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    free(x);
}
