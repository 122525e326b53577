// Every decoder of proto/. The first byte of an input picks the decoder (modulo their number) and
// the role of the peer, the rest is what the peer sent. A message that is accepted is packed again,
// and must be accepted again: that reads every value of every column.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"
#include "tests/fuzz/fuzz.h"
#include "tests/proto/wire_bytes.h"
#include "tests/proto/wire_examples.h"

#define ARENA_BYTES (8u << 20)
#define SEED_MAX    8192

enum {
    FUZZ_FRAME,
    FUZZ_BATCH,          // whole frames
    FUZZ_ACK,            //
    FUZZ_POLICY,         //
    FUZZ_LEARNER_SERVER, // whole request frames
    FUZZ_REPLAY_SERVER,  //
#define X(method, request, reply, roles)                                                           \
    FUZZ_REQUEST_##method,                              /* payloads: the frame is made for them */ \
        FUZZ_REPLY_##method, FUZZ_REPLY_FRAME_##method, /* whole reply frames */
    WIRE_LEARNER_METHODS(X) WIRE_REPLAY_METHODS(X)
#undef X
        FUZZ_DECODERS
};

static unsigned decoder; // of the input being run
static oct_role role;    // of the peer that sent it

// By how often the number of decoders goes into the first byte.
static const oct_role roles[] = {OCT_ROLE_LOCAL, OCT_ROLE_OPERATOR,  OCT_ROLE_LEARNER,
                                 OCT_ROLE_ACTOR, OCT_ROLE_EVALUATOR, OCT_ROLE_REPLAY};
static wire_arena *arena;
static wire_arena *again_arena;
static wire_client *client;
static wire_server *learner_server;
static wire_server *replay_server;

// What the transport keeps: the one call in flight, and the one answer.
static oct_reply_fn call_done;
static void *call_done_arg;
static uint8_t *answer;
static unsigned answers;

// ---- an accepted message is sound

#define X(plain, generated)                                                                        \
    static void seen_##plain(const plain *message)                                                 \
    {                                                                                              \
        fuzz_accept();                                                                             \
        size_t length;                                                                             \
        uint8_t *bytes = plain##_pack_bytes(&length, message);                                     \
        plain again;                                                                               \
        OCT_ASSERT(plain##_unpack_bytes(&again, again_arena, bytes, length) == OCT_OK);            \
        wire_arena_reset(again_arena);                                                             \
        free(bytes);                                                                               \
    }
WIRE_MESSAGES(X)
#undef X

// What is read ahead of a batch is what its decoder gives.
static void
seen_claim(const wire_batch *batch)
{
    wire_claim claim;
    size_t length = wire_batch_size(batch);
    uint8_t *bytes = malloc(length);
    OCT_ASSERT(bytes != NULL);
    wire_batch_pack(batch, bytes);
    OCT_ASSERT(wire_claim_find(&claim, bytes, length) == OCT_OK);
    OCT_ASSERT(claim.actor_id == batch->actor_id && claim.session == batch->session &&
               claim.has_token && wire_token_equal(claim.token, batch->token));
    free(bytes);
}

// What was read is read again from what is packed of it.
static void
seen_ack_request(const wire_claim *claim)
{
    uint8_t bytes[WIRE_ACK_REQUEST_BYTES_MAX];
    wire_claim again;
    size_t length = wire_ack_request_pack(claim, bytes);
    OCT_ASSERT(wire_ack_request_unpack(&again, bytes, length) == OCT_OK);
    OCT_ASSERT(again.actor_id == claim->actor_id && again.session == claim->session &&
               wire_token_equal(again.token, claim->token));
    fuzz_accept();
}

// ---- a transport that keeps one call

static oct_err
transport_call(void *unused, const uint8_t *frame, size_t length, uint32_t timeout_ms,
               oct_reply_fn done, void *done_arg)
{
    (void)unused;
    (void)frame;
    (void)length;
    (void)timeout_ms;
    call_done = done;
    call_done_arg = done_arg;
    return OCT_OK;
}

static uint8_t *
transport_begin(void *unused, size_t length)
{
    (void)unused;
    answer = realloc(answer, length);
    OCT_ASSERT(answer != NULL);
    return answer;
}

static void
transport_send(void *unused)
{
    (void)unused;
    answers++;
}

// ---- handlers and callbacks of every method

#define X(method, request, reply, roles)                                                           \
    static void handle_##method(void *unused, wire_call *call, const request *message)             \
    {                                                                                              \
        (void)unused;                                                                              \
        seen_##request(message);                                                                   \
        wire_reply_error(call, OCT_EAGAIN, "seen");                                                \
    }                                                                                              \
    static void done_##method(void *unused, oct_err err, const char *detail, const reply *message) \
    {                                                                                              \
        (void)unused;                                                                              \
        OCT_ASSERT((err == OCT_OK) == (message != NULL));                                          \
        OCT_ASSERT(strlen(detail) <= WIRE_DETAIL_MAX);                                             \
        if (message != NULL) {                                                                     \
            seen_##reply(message);                                                                 \
        }                                                                                          \
        call_done = NULL;                                                                          \
    }
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

#define X(method, request, reply, roles) .method = handle_##method,
static const wire_learner_handlers learner_handlers = {WIRE_LEARNER_METHODS(X)};
static const wire_replay_handlers replay_handlers = {WIRE_REPLAY_METHODS(X)};
#undef X

static void
setup(void)
{
    static const oct_responder responder = {.begin = transport_begin, .send = transport_send};
    arena = wire_arena_create(ARENA_BYTES);
    again_arena = wire_arena_create(4 * ARENA_BYTES);
    client = wire_client_create(transport_call, NULL, ARENA_BYTES);
    learner_server = wire_server_create_learner(&learner_handlers, NULL, &responder, ARENA_BYTES);
    replay_server = wire_server_create_replay(&replay_handlers, NULL, &responder, ARENA_BYTES);
}

// ---- decoders

// A block of exactly the frame, so that a read past its end is seen.
static uint8_t *
frame_around(wire_kind kind, unsigned code, const uint8_t *payload, size_t length)
{
    uint8_t *frame = malloc(WIRE_FRAME_BYTES + length);
    OCT_ASSERT(frame != NULL);
    wire_frame_pack(kind, (uint16_t)code, 0, frame);
    if (length != 0) {
        memcpy(frame + WIRE_FRAME_BYTES, payload, length);
    }
    return frame;
}

// Every request is answered exactly once, whatever it was.
static void
serve(wire_server *server, const uint8_t *frame, size_t length)
{
    answers = 0;
    (void)(wire_server_handle(server, NULL, role, frame, length) == OCT_OK);
    OCT_ASSERT(answers == 1);
}

static void
serve_payload(wire_server *server, unsigned code, const uint8_t *data, size_t size)
{
    uint8_t *frame = frame_around(WIRE_REQUEST, code, data, size);
    serve(server, frame, WIRE_FRAME_BYTES + size);
    free(frame);
}

static void
reply(const uint8_t *frame, size_t length)
{
    OCT_ASSERT(call_done != NULL);
    call_done(call_done_arg, OCT_OK, frame, length);
    OCT_ASSERT(call_done == NULL);
}

static void
reply_payload(const uint8_t *data, size_t size)
{
    uint8_t *frame = frame_around(WIRE_REPLY, OCT_OK, data, size);
    reply(frame, WIRE_FRAME_BYTES + size);
    free(frame);
}

#define X(method, request, reply_type, roles)                                                      \
    static void call_##method(void)                                                                \
    {                                                                                              \
        OCT_ASSERT(wire_call_##method(client, &(request){0}, 1, done_##method, NULL) == OCT_OK);   \
    }
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

// The inputs of one method; three decoders each, in the order of the methods.
#define RPC_CASES(server, service, first, method)                                                  \
    case FUZZ_REQUEST_##method:                                                                    \
        serve_payload(server, (service) << 8 | (FUZZ_REQUEST_##method - (first)) / 3, data, size); \
        break;                                                                                     \
    case FUZZ_REPLY_##method:                                                                      \
        call_##method();                                                                           \
        reply_payload(data, size);                                                                 \
        break;                                                                                     \
    case FUZZ_REPLY_FRAME_##method:                                                                \
        call_##method();                                                                           \
        reply(data, size);                                                                         \
        break;

static void
run_rpc(const uint8_t *data, size_t size)
{
    switch (decoder) {
#define X(method, request, reply_type, roles)                                                      \
    RPC_CASES(learner_server, WIRE_SERVICE_LEARNER, FUZZ_REQUEST_register_actor, method)
        WIRE_LEARNER_METHODS(X)
#undef X
#define X(method, request, reply_type, roles)                                                      \
    RPC_CASES(replay_server, WIRE_SERVICE_REPLAY, FUZZ_REQUEST_configure, method)
        WIRE_REPLAY_METHODS(X)
#undef X
    default:
        break;
    }
}

static void
run_stream(const uint8_t *data, size_t size)
{
    wire_frame frame;
    wire_batch batch;
    wire_claim claim;
    wire_ack ack;
    wire_policy policy;
    switch (decoder) {
    case FUZZ_FRAME:
        if (wire_frame_unpack(&frame, data, size) == OCT_OK) {
            fuzz_accept();
        }
        break;
    case FUZZ_BATCH:
        (void)(wire_claim_find(&claim, data, size) == OCT_OK);
        if (wire_batch_unpack(&batch, arena, data, size) == OCT_OK) {
            seen_wire_batch(&batch);
            seen_claim(&batch);
        }
        break;
    case FUZZ_ACK:
        if (wire_ack_request_unpack(&claim, data, size) == OCT_OK) {
            seen_ack_request(&claim);
        }
        if (wire_ack_unpack(&ack, data, size) == OCT_OK) {
            seen_wire_ack(&ack);
        }
        break;
    case FUZZ_POLICY:
        if (wire_policy_unpack(&policy, arena, data, size) == OCT_OK) {
            seen_wire_policy(&policy);
        }
        break;
    case FUZZ_LEARNER_SERVER:
        serve(learner_server, data, size);
        break;
    case FUZZ_REPLAY_SERVER:
        serve(replay_server, data, size);
        break;
    default:
        run_rpc(data, size);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (arena == NULL) {
        setup();
    }
    if (size == 0) {
        return 0;
    }
    decoder = data[0] % FUZZ_DECODERS;
    role = roles[data[0] / FUZZ_DECODERS % OCT_COUNTOF(roles)];
    // A copy, aligned like a message body and of exactly its size.
    uint8_t *bytes = fuzz_copy(data + 1, size - 1);
    run_stream(bytes, size - 1);
    wire_arena_reset(arena);
    free(bytes);
    return 0;
}

// ---- seeds

static void
seed_add(unsigned of, const uint8_t *head, size_t head_size, const uint8_t *bytes, size_t size)
{
    uint8_t seed[SEED_MAX];
    OCT_ASSERT(1 + head_size + size <= sizeof(seed));
    seed[0] = (uint8_t)of;
    if (head_size != 0) {
        memcpy(seed + 1, head, head_size);
    }
    if (size != 0) {
        memcpy(seed + 1 + head_size, bytes, size);
    }
    fuzz_seed(seed, 1 + head_size + size);
}

// One payload as a request and one as a reply of each method, bare and as a frame.
#define X(method, request, reply, roles)                                                           \
    static void seed_##method(unsigned service, uint16_t code, const request *question,            \
                              const reply *result)                                                 \
    {                                                                                              \
        uint8_t frame[WIRE_FRAME_BYTES];                                                           \
        size_t size;                                                                               \
        uint8_t *bytes = request##_pack_bytes(&size, question);                                    \
        seed_add(FUZZ_REQUEST_##method, NULL, 0, bytes, size);                                     \
        wire_frame_pack(WIRE_REQUEST, code, 0, frame);                                             \
        seed_add(service, frame, sizeof(frame), bytes, size);                                      \
        free(bytes);                                                                               \
        bytes = reply##_pack_bytes(&size, result);                                                 \
        seed_add(FUZZ_REPLY_##method, NULL, 0, bytes, size);                                       \
        wire_frame_pack(WIRE_REPLY, OCT_OK, 0, frame);                                             \
        seed_add(FUZZ_REPLY_FRAME_##method, frame, sizeof(frame), bytes, size);                    \
        free(bytes);                                                                               \
    }
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

static void
seed_rpc(void)
{
    const wire_empty empty = {0};
    const wire_register registration = wire_example_register(true);
    const wire_registered registered = wire_example_registered();
    const wire_get_policy get_policy = wire_example_get_policy();
    const wire_got_policy got_policy = wire_example_got_policy();
    const wire_report report = wire_example_report(5, 3);
    const wire_status status = wire_example_status(20);
    const wire_written written = {.updates = 300, .env_steps = UINT64_MAX};
    const wire_stop stop = {.reason = "interrupted"};
    const wire_get_peers get_peers = {.count_max = 9};
    const wire_peers peers = wire_example_peers(9);
    const wire_configure configure = wire_example_configure();
    const wire_configured configured = wire_example_configured();
    const wire_sample sample = wire_example_sample();
    const wire_sampled sampled = wire_example_sampled(9, 0, 2);
    const wire_sampled sequences = wire_example_sampled(3, 4, 1);
    const wire_priorities priorities = wire_example_priorities(7);
    const wire_digest_request digest_request = wire_example_digest_request();
    const wire_digest digest = wire_example_digest();
    const wire_sessions asked = wire_example_sessions(9), inserted = wire_example_sessions(4);
    seed_register_actor(FUZZ_LEARNER_SERVER, 0x100, &registration, &registered);
    seed_get_policy(FUZZ_LEARNER_SERVER, 0x101, &get_policy, &got_policy);
    seed_report_episodes(FUZZ_LEARNER_SERVER, 0x102, &report, &empty);
    seed_learner_status(FUZZ_LEARNER_SERVER, 0x103, &empty, &status);
    seed_checkpoint(FUZZ_LEARNER_SERVER, 0x104, &empty, &written);
    seed_stop(FUZZ_LEARNER_SERVER, 0x105, &stop, &empty);
    seed_learner_peers(FUZZ_LEARNER_SERVER, 0x106, &get_peers, &peers);
    seed_configure(FUZZ_REPLAY_SERVER, 0x200, &configure, &configured);
    seed_sample(FUZZ_REPLAY_SERVER, 0x201, &sample, &sampled);
    seed_sample(FUZZ_REPLAY_SERVER, 0x201, &sample, &sequences);
    seed_update_priorities(FUZZ_REPLAY_SERVER, 0x202, &priorities, &empty);
    seed_replay_status(FUZZ_REPLAY_SERVER, 0x203, &empty, &status);
    seed_table_digest(FUZZ_REPLAY_SERVER, 0x204, &digest_request, &digest);
    seed_inserted_sessions(FUZZ_REPLAY_SERVER, 0x205, &asked, &inserted);
    seed_window_origins(FUZZ_REPLAY_SERVER, 0x206, &priorities, &inserted);
}

static void
seed_streams(void)
{
    uint8_t bytes[SEED_MAX];
    for (uint32_t count = 0; count < 24; count += 6) {
        wire_batch batch = wire_example_batch(count, count / 6);
        wire_batch_pack(&batch, bytes);
        seed_add(FUZZ_BATCH, NULL, 0, bytes, wire_batch_size(&batch));
    }
    wire_ack ack = wire_example_ack();
    wire_ack_pack(&ack, bytes);
    seed_add(FUZZ_ACK, NULL, 0, bytes, wire_ack_size(&ack));
    const wire_claim claim = {.actor_id = 300, .session = UINT64_MAX};
    seed_add(FUZZ_ACK, NULL, 0, bytes, wire_ack_request_pack(&claim, bytes));
    seed_add(FUZZ_FRAME, NULL, 0, bytes, WIRE_FRAME_BYTES);
    wire_policy policy = wire_example_policy(300);
    wire_policy_pack(&policy, bytes);
    seed_add(FUZZ_POLICY, NULL, 0, bytes, wire_policy_size(&policy));
}

// An operator's: two of its methods depend on what it asks for; the learner's are not its own.
static void
seed_roles(void)
{
    uint8_t frame[WIRE_FRAME_BYTES];
    const wire_empty empty = {0};
    size_t size;
    uint8_t *bytes = wire_empty_pack_bytes(&size, &empty);
    wire_frame_pack(WIRE_REQUEST, 0x103, 0, frame);
    seed_add(FUZZ_DECODERS + FUZZ_LEARNER_SERVER, frame, sizeof(frame), bytes, size);
    free(bytes);
}

void
fuzz_seeds(void)
{
    seed_roles();
    seed_rpc();
    seed_streams();
}
