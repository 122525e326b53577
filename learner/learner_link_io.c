// Sends the calls of one octet-replay that the run learns from: Configure, Sample,
// UpdatePriorities, TableDigest, InsertedSessions, WindowOrigins.
#include "learner/learner_link_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

#define CALLS_INFLIGHT     8
#define CALL_BYTES_MAX     (1u << 20) // size limit of answers, except Sample's
#define CALL_ARENA_BYTES   (2 * CALL_BYTES_MAX)
#define SAMPLES_INFLIGHT   2
#define SAMPLE_ARENA_BYTES (WIRE_MESSAGE_BYTES_MAX + (1u << 20))
#define SAMPLE_BYTES_A_MS  1250 // 10 Mbit/s: the slowest link for which samples do not time out
#define RPC_TIMEOUT_MS     3000
#define RPC_RESEND_MS      1000
#define TURN_TIMEOUT_MS    600000 // replay reads a large table, and may write a copy
#define SESSIONS_NS        500000000u
#define LATE_NS            1000000000u // longer than replay may hold a sample back

// Names and log identifiers of a replay: [false] of actors, [true] of a data set.
static const struct words {
    const char *configured, *waits, *lost, *back;
    const char *name, *replay, *refused;
    const char *refused_batch;
} words[] = {
    [false] = {"LEARNER-REPLAY", "LEARNER-WAIT-REPLAY", "LEARNER-REPLAY-LOST",
               "LEARNER-REPLAY-BACK", "replay", "replay", "replay refused its configuration",
               "replay refused to send a batch"},
    [true] = {"LEARNER-DATA", "LEARNER-WAIT-DATA", "LEARNER-DATA-LOST", "LEARNER-DATA-BACK", "data",
              "the data set's replay", "the replay of the data set refused its configuration",
              "the replay of the data set refused to send a batch"},
};

// A Sample in flight.
struct slot {
    learner_link_io *link;
    uint32_t requested; // count of windows requested; 0: the slot is free
    uint64_t asked_ns;
};

struct learner_link_io {
    learner_link_io_options options;
    const struct words *words;
    net_rpc_client *socket;
    wire_client *client;
    // Samples have their own socket, which never repeats a request, because a FIFO table would
    // spend windows on an answer that is not read. A request fails as soon as the connection is
    // lost.
    net_rpc_client *sample_socket;
    wire_client *sample_client;
    struct slot slots[SAMPLES_INFLIGHT];
    uint64_t configured_ns;
    bool asks_counters;   // a request for counters alone is in flight
    uint64_t counters_ns; // time of the last such request
    bool is_to_limit;     // the table's limiter may differ from the configuration's
    bool is_limiting;     // a Configure for the limiter is in flight
    bool released;        // the table was released
    uint64_t sessions_ns; // time of the last InsertedSessions
    bool is_asked;        // an InsertedSessions is in flight
};

// Returns NULL if training has not begun.
static learner_source *
source_of(const learner_link_io *link)
{
    return learner_run_source(link->options.run, link->options.member);
}

// ---- its table

static void samples_ask(learner_link_io *link);

// Ends the run: replay would refuse the same request again.
static void
refused(learner_link_io *link, const char *detail, const char *what)
{
    oct_log_error("LEARNER-REPLAY-REFUSED", "%s (%s=%s)", detail, link->words->name,
                  link->options.url);
    link->options.ended(link->options.ended_arg, OCT_EINVAL, what);
}

// Checks that the run can learn from the table that replay has.
static oct_err
table_check(const learner_link_io *link, const wire_configured *answer, oct_reason *why)
{
    const learner_link_io_options *options = &link->options;
    OCT_TRY(learner_run_machine(options->run, "of replay's machine", answer->libm, why));
    return learner_run_table(options->run, options->member, answer->table, why);
}

static void
configured(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    learner_link_io *link = arg;
    const learner_link_io_options *options = &link->options;
    oct_reason why;
    if (err == OCT_OK && table_check(link, answer, &why) != OCT_OK) {
        err = OCT_EINVAL;
        detail = why.text;
    }
    learner_run_configured(options->run, options->member, err, answer);
    if (err == OCT_OK) {
        (void)learner_source_back(source_of(link));
        link->configured_ns = oct_clock_ns();
        link->is_to_limit = false;
        options->limited(options->arg, options->member);
        oct_log_notice(link->words->configured, "%s=%s is configured", link->words->name,
                       options->url);
        samples_ask(link);
    } else if (err == OCT_ESTALE) {
        options->ended(options->ended_arg, err, detail);
    } else if (err == OCT_EINVAL) {
        refused(link, detail, link->words->refused);
    } else if (learner_source_lost(source_of(link))) {
        oct_log_notice(link->words->waits, "%s=%s %s; trying again", link->words->name,
                       options->url, detail);
    }
}

static void
configure(learner_link_io *link)
{
    learner_source *source = source_of(link);
    if (!learner_source_needs_configure(source, oct_clock_ns())) {
        return;
    }
    wire_configure request = learner_run_configure(link->options.run, link->options.member, false);
    oct_err err = wire_call_configure(link->client, &request, RPC_TIMEOUT_MS, configured, link);
    if (err != OCT_OK) {
        learner_run_configured(link->options.run, link->options.member, err, NULL);
    }
    explicit_bzero(request.token_key, sizeof(request.token_key));
}

static void
limited(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    learner_link_io *link = arg;
    (void)detail; // the tick tries again
    (void)answer;
    link->is_limiting = false;
    // Replay has no table yet, or now serves another learner.
    bool is_refused = err == OCT_EINVAL || err == OCT_ESTALE;
    link->is_to_limit &= err != OCT_OK && !is_refused;
}

// Sends the limiter. A Configure of the whole table contains it, too.
static void
limit(learner_link_io *link)
{
    const learner_source *source = source_of(link);
    if (!link->is_to_limit || link->is_limiting || !learner_source_is_configured(source)) {
        return;
    }
    wire_configure request = learner_run_configure(link->options.run, link->options.member, true);
    link->is_limiting =
        wire_call_configure(link->client, &request, RPC_TIMEOUT_MS, limited, link) == OCT_OK;
}

void
learner_link_io_limit(learner_link_io *link)
{
    if (source_of(link) != NULL) {
        link->is_to_limit = learner_source_is_configured(source_of(link));
        limit(link);
    }
}

static void
released(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    (void)arg;
    (void)err; // replay notices later by itself
    (void)detail;
    (void)answer;
}

// Releases the table after training, so that another run may use replay.
static void
release(learner_link_io *link)
{
    if (link->released) {
        return;
    }
    link->released = true;
    wire_configure request = learner_source_release(source_of(link));
    oct_err err = wire_call_configure(link->client, &request, RPC_TIMEOUT_MS, released, link);
    (void)err;
}

// ---- samples

static void
unanswered(learner_link_io *link, oct_err err, const char *detail)
{
    if (err == OCT_ESTALE) {
        link->options.ended(link->options.ended_arg, err, detail);
    } else if (err == OCT_EINVAL) {
        refused(link, detail, link->words->refused_batch);
    } else if (err != OCT_ECLOSED && learner_source_lost(source_of(link))) {
        oct_log_warn(link->words->lost, "%s=%s %s; waiting for %s", link->words->name,
                     link->options.url, detail, link->words->replay);
    } // the tick tries again
}

// Returns true if an answer says that there is no table, but the request was sent before the last
// Configure, whose answer comes over another connection.
static bool
is_outdated(const learner_link_io *link, uint64_t asked_ns, const wire_sampled *answer)
{
    return !answer->configured && asked_ns < link->configured_ns;
}

// Continues after an answer. err is the run's result for it.
static void
answered(learner_link_io *link, const wire_sampled *answer, oct_err err)
{
    if (learner_source_back(source_of(link))) {
        oct_log_notice(link->words->back, "%s=%s incarnation=%016" PRIx64, link->words->name,
                       link->options.url, answer->incarnation);
    }
    if (err == OCT_EAGAIN) {
        configure(link);
    } else {
        samples_ask(link);
    }
}

static void
sample_arrived(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    struct slot *slot = arg;
    learner_link_io *link = slot->link;
    const learner_link_io_options *options = &link->options;
    uint32_t requested = slot->requested;
    slot->requested = 0;
    if (err == OCT_OK && is_outdated(link, slot->asked_ns, answer)) {
        learner_run_missed(options->run, options->member, requested);
        samples_ask(link);
    } else if (err == OCT_OK) {
        answered(link, answer,
                 learner_run_sampled(options->run, options->member, requested, answer));
    } else {
        learner_run_missed(options->run, options->member, requested);
        unanswered(link, err, detail);
    }
}

static void
counters_arrived(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    learner_link_io *link = arg;
    link->asks_counters = false;
    if (err == OCT_OK && is_outdated(link, link->counters_ns, answer)) {
        return;
    }
    if (err == OCT_OK) {
        answered(link, answer,
                 learner_run_counters(link->options.run, link->options.member, answer));
        link->options.counted(link->options.arg);
    } else {
        unanswered(link, err, detail);
    }
}

// Returns true if a sample is late. A large sample may take minutes; a request for counters shows
// sooner whether replay answers.
static bool
is_late(const learner_link_io *link, uint64_t now_ns)
{
    bool is_late = false;
    for (size_t i = 0; i < SAMPLES_INFLIGHT; i++) {
        const struct slot *slot = &link->slots[i];
        is_late |= slot->requested != 0 && now_ns - slot->asked_ns >= LATE_NS;
    }
    return is_late && now_ns - link->counters_ns >= LATE_NS;
}

void
learner_link_io_tell(learner_link_io *link)
{
    wire_sample request;
    uint64_t now_ns = oct_clock_ns();
    if (!link->asks_counters && source_of(link) != NULL &&
        learner_run_tell(link->options.run, link->options.member, is_late(link, now_ns),
                         &request)) {
        link->counters_ns = now_ns;
        link->asks_counters = wire_call_sample(link->client, &request, RPC_TIMEOUT_MS,
                                               counters_arrived, link) == OCT_OK;
    }
}

static uint32_t
sample_timeout_ms(const learner_link_io *link)
{
    uint64_t answers = (uint64_t)link->options.links * SAMPLES_INFLIGHT;
    uint64_t bytes =
        answers * learner_source_answer_bytes(learner_source_options_of(source_of(link)));
    return RPC_TIMEOUT_MS + (uint32_t)(bytes / SAMPLE_BYTES_A_MS);
}

static void
samples_ask(learner_link_io *link)
{
    learner_run *run = link->options.run;
    uint32_t member = link->options.member;
    const learner_source *source = source_of(link);
    if (source == NULL || !learner_source_is_configured(source)) {
        return;
    }
    for (size_t i = 0; i < SAMPLES_INFLIGHT; i++) {
        struct slot *slot = &link->slots[i];
        wire_sample request;
        if (slot->requested != 0) {
            continue;
        }
        uint32_t requested = learner_run_request(run, member, &request);
        if (requested == 0) {
            return;
        }
        *slot = (struct slot){.link = link, .requested = requested, .asked_ns = oct_clock_ns()};
        if (wire_call_sample(link->sample_client, &request, sample_timeout_ms(link), sample_arrived,
                             slot) != OCT_OK) {
            slot->requested = 0;
            learner_run_missed(run, member, requested);
            return;
        }
    }
}

// ---- what was learned, and the hash of the table

static void
priorities_arrived(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    learner_link_io *link = arg;
    (void)answer;
    if (err == OCT_ESTALE) {
        link->options.ended(link->options.ended_arg, err, detail);
    }
    learner_run_returned(link->options.run, err, detail);
}

static void
priorities_send(learner_link_io *link)
{
    wire_priorities priorities;
    uint32_t timeout_ms = learner_run_return_timeout_ms(link->options.run);
    if (!learner_run_priorities(link->options.run, link->options.member, &priorities)) {
        return;
    }
    oct_err err = wire_call_update_priorities(link->client, &priorities, timeout_ms,
                                              priorities_arrived, link);
    if (err != OCT_OK) {
        learner_run_returned(link->options.run, err, oct_strerror(err));
    }
}

static void
digest_arrived(void *arg, oct_err err, const char *detail, const wire_digest *answer)
{
    learner_link_io *link = arg;
    if (err == OCT_ESTALE) {
        link->options.ended(link->options.ended_arg, err, detail);
    }
    learner_run_digested(link->options.run, err, detail, answer);
}

// Asks for the table's hash in lock-step, where there is one replay.
static void
digest_ask(learner_link_io *link)
{
    wire_digest_request request;
    if (learner_run_digest(link->options.run, &request) &&
        wire_call_table_digest(link->client, &request, TURN_TIMEOUT_MS, digest_arrived, link) !=
            OCT_OK) {
        learner_run_digested(link->options.run, OCT_EAGAIN, "too many calls at once", NULL);
    }
}

// ---- whose steps it takes

static void
sessions_arrived(void *arg, oct_err err, const char *detail, const wire_sessions *answer)
{
    learner_link_io *link = arg;
    (void)detail; // the tick asks again
    link->is_asked = false;
    if (err == OCT_OK) {
        learner_run_inserted(link->options.run, answer);
    }
}

// Asks only the replays of actors which sessions have inserted.
static void
sessions_ask(learner_link_io *link)
{
    wire_sessions request;
    uint64_t now_ns = oct_clock_ns();
    if (link->options.is_data || link->is_asked || now_ns - link->sessions_ns < SESSIONS_NS ||
        !learner_source_is_configured(source_of(link)) ||
        !learner_run_asks_sessions(link->options.run, &request)) {
        return;
    }
    link->sessions_ns = now_ns;
    link->is_asked = wire_call_inserted_sessions(link->client, &request, RPC_TIMEOUT_MS,
                                                 sessions_arrived, link) == OCT_OK;
}

// ---- whose rows a refused update had

static void
origin_arrived(void *arg, oct_err err, const char *detail, const wire_sessions *answer)
{
    learner_link_io *link = arg;
    (void)detail; // a replay of an earlier release does not know the call
    learner_run_origin(link->options.run, err == OCT_OK ? answer : NULL);
}

static void
origin_ask(learner_link_io *link)
{
    wire_priorities request;
    if (learner_run_asks_origin(link->options.run, link->options.member, &request) &&
        wire_call_window_origins(link->client, &request, RPC_TIMEOUT_MS, origin_arrived, link) !=
            OCT_OK) {
        learner_run_origin(link->options.run, NULL);
    }
}

// ---- life

static oct_err
sockets_open(learner_link_io *link)
{
    const learner_link_io_options *options = &link->options;
    unsigned roles = OCT_ROLE_BIT(OCT_ROLE_REPLAY);
    OCT_TRY(net_rpc_client_open(
        &link->socket, options->loop,
        &(net_endpoint){options->url, roles, CALL_BYTES_MAX, CALLS_INFLIGHT}, RPC_RESEND_MS));
    oct_err err = net_rpc_client_open(
        &link->sample_socket, options->loop,
        &(net_endpoint){options->url, roles, WIRE_MESSAGE_BYTES_MAX, SAMPLES_INFLIGHT}, 0);
    if (err != OCT_OK) {
        net_rpc_client_close(link->socket);
    }
    return err;
}

oct_err
learner_link_io_open(learner_link_io **out, const learner_link_io_options *options)
{
    learner_link_io *link = oct_alloc(sizeof(*link));
    link->options = *options;
    link->words = &words[options->is_data];
    oct_err err = sockets_open(link);
    if (err != OCT_OK) {
        free(link);
        return err;
    }
    link->client = wire_client_create(net_rpc_call, link->socket, CALL_ARENA_BYTES);
    link->sample_client = wire_client_create(net_rpc_call, link->sample_socket, SAMPLE_ARENA_BYTES);
    *out = link;
    return OCT_OK;
}

void
learner_link_io_close(learner_link_io *link)
{
    if (link == NULL) {
        return;
    }
    net_rpc_client_close(link->sample_socket);
    net_rpc_client_close(link->socket);
    wire_client_destroy(link->sample_client);
    wire_client_destroy(link->client);
    free(link);
}

void
learner_link_io_tick(learner_link_io *link)
{
    if (source_of(link) == NULL) {
        return;
    }
    if (learner_run_phase(link->options.run) == LEARNER_TRAINING) {
        configure(link);
        limit(link);
        sessions_ask(link);
        origin_ask(link);
    } else {
        release(link);
    }
}

void
learner_link_io_woke(learner_link_io *link)
{
    origin_ask(link);
    priorities_send(link);
    digest_ask(link);
    samples_ask(link);
    learner_link_io_tell(link);
}

net_traffic
learner_link_io_traffic(const learner_link_io *link)
{
    net_traffic calls = net_rpc_client_traffic(link->socket);
    net_traffic samples = net_rpc_client_traffic(link->sample_socket);
    return (net_traffic){.sent_bytes = calls.sent_bytes + samples.sent_bytes,
                         .received_bytes = calls.received_bytes + samples.received_bytes};
}
