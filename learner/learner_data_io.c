// Talks to the replay of a data set: Configure, Sample, UpdatePriorities.
#include "learner/learner_data_io.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

#define CLIENT_INFLIGHT  8
#define SAMPLES_INFLIGHT 2
#define RPC_TIMEOUT_MS   3000
#define RPC_RESEND_MS    1000
#define ARENA_BYTES      (WIRE_MESSAGE_BYTES_MAX + (1u << 20))

// One Sample in flight and the batches promised to it.
struct slot {
    learner_data_io *io;
    uint32_t promised; // 0: free
};

struct learner_data_io {
    learner_data_io_options options;
    net_rpc_client *link;
    wire_client *client;
    struct slot slots[SAMPLES_INFLIGHT];
    bool released;
};

static void samples_ask(learner_data_io *io);

static void
configured(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    learner_data_io *io = arg;
    learner_source *source = learner_run_data(io->options.run);
    learner_source_configured(source, err, answer);
    if (err == OCT_OK) {
        (void)learner_source_back(source);
        oct_log_notice("LEARNER-DATA", "data=%s is configured", io->options.url);
        samples_ask(io);
    } else if (err == OCT_ESTALE || err == OCT_EINVAL) {
        io->options.ended(io->options.arg, err, detail);
    } else if (learner_source_lost(source)) {
        oct_log_notice("LEARNER-WAIT-DATA", "data=%s %s; trying again", io->options.url, detail);
    }
}

static void
configure(learner_data_io *io)
{
    learner_source *source = learner_run_data(io->options.run);
    if (!learner_source_needs_configure(source, oct_clock_ns())) {
        return;
    }
    wire_configure request = learner_source_configure(source);
    oct_err err = wire_call_configure(io->client, &request, RPC_TIMEOUT_MS, configured, io);
    if (err != OCT_OK) {
        learner_source_configured(source, err, NULL);
    }
    explicit_bzero(request.token_key, sizeof(request.token_key));
}

static void
sample_arrived(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    struct slot *slot = arg;
    learner_data_io *io = slot->io;
    learner_source *source = learner_run_data(io->options.run);
    uint32_t promised = slot->promised;
    slot->promised = 0;
    if (err != OCT_OK) {
        learner_source_missed(source, promised);
    }
    if (err == OCT_ESTALE) {
        io->options.ended(io->options.arg, err, detail);
    } else if (err != OCT_OK) {
        if (err != OCT_ECLOSED && learner_source_lost(source)) {
            oct_log_warn("LEARNER-DATA-LOST", "%s; waiting for the data set's replay", detail);
        }
    } else {
        if (learner_source_back(source)) {
            oct_log_notice("LEARNER-DATA-BACK", "data=%s", io->options.url);
        }
        if (learner_run_data_sampled(io->options.run, promised, answer) == OCT_EAGAIN) {
            configure(io);
        } else {
            samples_ask(io);
        }
    }
}

static void
samples_ask(learner_data_io *io)
{
    learner_source *source = learner_run_data(io->options.run);
    for (size_t i = 0; i < SAMPLES_INFLIGHT && learner_source_is_configured(source); i++) {
        wire_sample request;
        struct slot *slot = &io->slots[i];
        uint32_t promised =
            slot->promised == 0 ? learner_run_data_request(io->options.run, &request) : 0;
        if (promised == 0) {
            continue;
        }
        *slot = (struct slot){.io = io, .promised = promised};
        if (wire_call_sample(io->client, &request, RPC_TIMEOUT_MS, sample_arrived, slot) !=
            OCT_OK) {
            slot->promised = 0;
            learner_source_missed(source, promised);
        }
    }
}

static void
sent(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    (void)arg;
    (void)err; // the old priorities stay: no harm
    (void)detail;
    (void)answer;
}

static void
released(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    (void)arg;
    (void)err; // replay finds out by itself, later
    (void)detail;
    (void)answer;
}

static void
release(learner_data_io *io)
{
    if (!io->released) {
        wire_configure request = learner_source_release(learner_run_data(io->options.run));
        io->released = true;
        oct_err err = wire_call_configure(io->client, &request, RPC_TIMEOUT_MS, released, io);
        (void)err;
    }
}

oct_err
learner_data_io_open(learner_data_io **out, const learner_data_io_options *options)
{
    learner_data_io *io = oct_alloc(sizeof(*io));
    io->options = *options;
    oct_err err =
        net_rpc_client_open(&io->link, options->loop, options->url, OCT_ROLE_BIT(OCT_ROLE_REPLAY),
                            CLIENT_INFLIGHT, RPC_RESEND_MS, WIRE_MESSAGE_BYTES_MAX);
    if (err != OCT_OK) {
        free(io);
        return err;
    }
    io->client = wire_client_create(net_rpc_call, io->link, ARENA_BYTES);
    *out = io;
    return OCT_OK;
}

void
learner_data_io_close(learner_data_io *io)
{
    if (io == NULL) {
        return;
    }
    net_rpc_client_close(io->link);
    wire_client_destroy(io->client);
    free(io);
}

void
learner_data_io_tick(learner_data_io *io, bool is_over)
{
    if (learner_run_data(io->options.run) == NULL) {
        return; // training has not begun
    }
    if (is_over) {
        release(io);
        return;
    }
    configure(io);
    samples_ask(io);
}

void
learner_data_io_woke(learner_data_io *io)
{
    learner_source *source = learner_run_data(io->options.run);
    wire_priorities priorities;
    if (source == NULL || !learner_source_is_configured(source)) {
        return;
    }
    if (learner_source_priorities(source, &priorities)) {
        oct_err err =
            wire_call_update_priorities(io->client, &priorities, RPC_TIMEOUT_MS, sent, io);
        (void)err; // too many in flight: these stay as they were
    }
    samples_ask(io);
}
