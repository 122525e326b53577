// Calls between client and server: every method, roles, errors, garbage, and no allocation per
// call.
#include "proto/wire_rpc.h"

#include <stdlib.h>

#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_pipe.h"
#include "tests/support/oct_test.h"

#define ARENA_BYTES (1u << 20)

// Counts what oct_alloc asks for: the linker gives us its calls (tests/proto/meson.build).
static size_t alloc_count;
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
int
__wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    alloc_count++;
    return __real_posix_memalign(out, alignment, bytes);
}

// What the test's handlers saw, and what the client got.
typedef struct rpc_fixture {
    wire_pipe pipe;
    wire_client *client;
    wire_call *kept[WIRE_CALLS_MAX + 1]; // deferred
    size_t kept_count;
    size_t done_count;
    oct_err err;
    char detail[2048];
    char text[256]; // from the message
    uint64_t number;
} rpc_fixture;

static rpc_fixture fixture;

// ---- handlers

static void
handle_register(void *arg, wire_call *call, const wire_register *message)
{
    rpc_fixture *f = arg;
    (void)snprintf(f->text, sizeof(f->text), "%s", message->env.env_id);
    wire_registered answer = wire_example_registered();
    answer.actor_id = message->pid + 1;
    wire_reply_register_actor(call, &answer);
}

static void
handle_get_policy(void *arg, wire_call *call, const wire_get_policy *message)
{
    (void)arg;
    (void)message;
    wire_reply_error(call, OCT_ECLOSED, "no policy any more");
}

static void
handle_sample(void *arg, wire_call *call, const wire_sample *message)
{
    rpc_fixture *f = arg;
    f->number = message->batches;
    f->kept[f->kept_count++] = call;
}

static void
handle_priorities(void *arg, wire_call *call, const wire_priorities *message)
{
    rpc_fixture *f = arg;
    f->number = message->key[message->count - 1];
    wire_reply_update_priorities(call, &(wire_empty){0});
}

static void
handle_configure(void *arg, wire_call *call, const wire_configure *message)
{
    rpc_fixture *f = arg;
    f->number = message->capacity;
    wire_configured state = wire_example_configured();
    wire_reply_configure(call, &state);
}

static const wire_learner_handlers learner_handlers = {
    .register_actor = handle_register,
    .get_policy = handle_get_policy,
};
static const wire_replay_handlers replay_handlers = {
    .configure = handle_configure,
    .sample = handle_sample,
    .update_priorities = handle_priorities,
};

// ---- what the client got

static void
note(rpc_fixture *f, oct_err err, const char *detail)
{
    f->done_count++;
    f->err = err;
    (void)snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

static void
registered(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    rpc_fixture *f = arg;
    note(f, err, detail);
    f->number = answer == NULL ? 0 : answer->actor_id;
    assert_int_equal(err == OCT_OK, answer != NULL);
    if (answer != NULL) {
        assert_string_equal(answer->config, wire_example_registered().config);
    }
}

static void
got_policy(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    assert_null(answer);
    note(arg, err, detail);
}

static void
sampled(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    rpc_fixture *f = arg;
    note(f, err, detail);
    f->number = answer == NULL ? 0 : answer->key[answer->count - 1];
}

static void
emptied(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    assert_int_equal(err == OCT_OK, answer != NULL);
    note(arg, err, detail);
}

static void
configured(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    assert_int_equal(err == OCT_OK, answer != NULL);
    note(arg, err, detail);
}

#define GOT(name, reply)                                                                           \
    static void got_##name(void *arg, oct_err err, const char *detail, const reply *answer)        \
    {                                                                                              \
        (void)answer;                                                                              \
        note(arg, err, detail);                                                                    \
    }
GOT(written, wire_written)
GOT(digest, wire_digest)
GOT(sessions, wire_sessions)
GOT(status, wire_status)
GOT(peers, wire_peers)
#undef GOT

// ---- setup

static int
setup(void **state, bool is_learner)
{
    memset(&fixture, 0, sizeof(fixture));
    fixture.pipe.role = OCT_ROLE_LOCAL;
    fixture.client = wire_client_create(wire_pipe_call_begin, &fixture.pipe, ARENA_BYTES);
    fixture.pipe.server = is_learner ? wire_server_create_learner(&learner_handlers, &fixture,
                                                                  &wire_pipe_responder, ARENA_BYTES)
                                     : wire_server_create_replay(&replay_handlers, &fixture,
                                                                 &wire_pipe_responder, ARENA_BYTES);
    *state = &fixture;
    return 0;
}

static int
setup_learner(void **state)
{
    return setup(state, true);
}

static int
setup_replay(void **state)
{
    return setup(state, false);
}

static int
teardown(void **state)
{
    rpc_fixture *f = *state;
    wire_pipe_fail(&f->pipe, OCT_ECLOSED);
    wire_client_destroy(f->client);
    wire_server_destroy(f->pipe.server);
    wire_pipe_clear(&f->pipe);
    return 0;
}

static void
exchange(rpc_fixture *f)
{
    wire_pipe_deliver_requests(&f->pipe);
    wire_pipe_deliver_replies(&f->pipe);
}

// The answer to an injected frame: an error reply with text inside.
static void
assert_refused(const rpc_fixture *f, oct_err status, const char *text)
{
    const wire_pipe_frame *reply = &f->pipe.calls[0].reply;
    wire_frame frame;
    assert_true(f->pipe.calls[0].is_answered);
    T_OK(wire_frame_unpack(&frame, reply->bytes, reply->length));
    assert_int_equal(frame.kind, WIRE_REPLY);
    assert_int_equal(frame.code, status);
    char detail[WIRE_DETAIL_MAX + 1] = {0};
    memcpy(detail, reply->bytes + WIRE_FRAME_BYTES, reply->length - WIRE_FRAME_BYTES);
    if (strstr(detail, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, detail);
    }
}

// ---- forbidden

static void
test_server_refuses_garbage(void **state)
{
    rpc_fixture *f = *state;
    const uint8_t garbage[] = "GET / HTTP/1.1\r\n\r\n";
    T_ERR(wire_pipe_inject(&f->pipe, garbage, sizeof(garbage)), OCT_EPROTO);
    assert_refused(f, OCT_EPROTO, "not an Octet frame");
    wire_pipe_clear(&f->pipe);
    T_ERR(wire_pipe_inject(&f->pipe, garbage, 0), OCT_EPROTO);
    assert_refused(f, OCT_EPROTO, "not an Octet frame");
}

static void
test_server_refuses_another_version_in_words(void **state)
{
    rpc_fixture *f = *state;
    uint8_t frame[WIRE_FRAME_BYTES];
    wire_frame_pack(WIRE_REQUEST, WIRE_SERVICE_LEARNER << 8, 0, frame);
    frame[4] = 5;
    T_ERR(wire_pipe_inject(&f->pipe, frame, sizeof(frame)), OCT_EINVAL);
    assert_refused(f, OCT_EINVAL,
                   "release " OCTET_VERSION " reads protocol versions 4 to 4, the request is "
                   "version 5: run the same release on both sides");
}

static void
test_server_refuses_what_is_no_request(void **state)
{
    rpc_fixture *f = *state;
    uint8_t frame[WIRE_FRAME_BYTES];
    wire_frame_pack(WIRE_REPLY, 0, 0, frame);
    T_ERR(wire_pipe_inject(&f->pipe, frame, sizeof(frame)), OCT_EPROTO);
    assert_refused(f, OCT_EPROTO, "not a request");
}

static void
test_server_refuses_an_unknown_method(void **state)
{
    rpc_fixture *f = *state;
    static const uint16_t codes[] = {(WIRE_SERVICE_LEARNER << 8) + 7, 5, 0x03ff, 0xffff};
    for (size_t i = 0; i < OCT_COUNTOF(codes); i++) {
        uint8_t frame[WIRE_FRAME_BYTES];
        wire_frame_pack(WIRE_REQUEST, codes[i], 0, frame);
        T_ERR(wire_pipe_inject(&f->pipe, frame, sizeof(frame)), OCT_ENOTFOUND);
        assert_refused(f, OCT_ENOTFOUND, "no method");
        wire_pipe_clear(&f->pipe);
    }
}

static void
test_server_refuses_a_request_for_the_other_service(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    exchange(f);
    T_ERR(f->pipe.handled, OCT_ENOTFOUND);
    T_ERR(f->err, OCT_ENOTFOUND);
    assert_string_equal(f->detail,
                        "this is the learner, the request is for the replay: check the address");
}

static void
test_server_refuses_bad_values_with_the_reason(void **state)
{
    rpc_fixture *f = *state;
    wire_register message = wire_example_register(false);
    message.role = (wire_role)9;
    T_OK(wire_call_register_actor(f->client, &message, 100, registered, f));
    exchange(f);
    T_ERR(f->pipe.handled, OCT_EPROTO);
    T_ERR(f->err, OCT_EPROTO);
    assert_string_equal(f->detail, "bad request: register.role: unknown");
}

// Every method by every role: who is not named gets words, and no handler runs.
static void
roles_refused(rpc_fixture *f, unsigned service, const char *const *may, size_t methods)
{
    static const char letters[] = "-*lraeo"; // by oct_role
    for (size_t method = 0; method < methods; method++) {
        for (size_t role = 0; role < sizeof(letters) - 1; role++) {
            uint8_t frame[WIRE_FRAME_BYTES + 1];
            wire_frame_pack(WIRE_REQUEST, (uint16_t)(service << 8 | method), 0, frame);
            frame[WIRE_FRAME_BYTES] = 0xff; // past the role, it is refused as garbled
            f->pipe.role = (oct_role)role;
            bool is_allowed = role == OCT_ROLE_LOCAL || strchr(may[method], letters[role]) != NULL;
            T_ERR(wire_pipe_inject(&f->pipe, frame, sizeof(frame)),
                  is_allowed ? OCT_EPROTO : OCT_EINVAL);
            assert_refused(f, is_allowed ? OCT_EPROTO : OCT_EINVAL,
                           is_allowed              ? "bad request"
                           : role == OCT_ROLE_NONE ? "has shown no role"
                                                   : "the certificate is of the role");
            wire_pipe_clear(&f->pipe);
        }
    }
}

static void
test_learner_refuses_roles_that_a_method_is_not_for(void **state)
{
    static const char *const may[] = {"aeo", "ae", "ae", "o", "o", "o", "o"};
    roles_refused(*state, WIRE_SERVICE_LEARNER, may, OCT_COUNTOF(may));
}

static void
test_replay_refuses_roles_that_a_method_is_not_for(void **state)
{
    static const char *const may[] = {"lo", "l", "l", "lo", "l", "l"};
    roles_refused(*state, WIRE_SERVICE_REPLAY, may, OCT_COUNTOF(may));
}

static void
test_refused_role_is_told_who_may(void **state)
{
    rpc_fixture *f = *state;
    uint8_t frame[WIRE_FRAME_BYTES];
    f->pipe.role = OCT_ROLE_ACTOR;
    wire_frame_pack(WIRE_REQUEST, (WIRE_SERVICE_REPLAY << 8) + 3, 0, frame);
    T_ERR(wire_pipe_inject(&f->pipe, frame, sizeof(frame)), OCT_EINVAL);
    const char *words =
        "ReplayStatus is for learners and operators, and the certificate is of the role actor";
    assert_refused(f, OCT_EINVAL, words);
    assert_string_equal(wire_server_reason(f->pipe.server), words);
    wire_pipe_clear(&f->pipe);
    f->pipe.role = (oct_role)77;
    T_ERR(wire_pipe_inject(&f->pipe, frame, sizeof(frame)), OCT_EINVAL);
    assert_refused(f, OCT_EINVAL, "the caller has shown no role");
}

// Of Configure an operator may say the limiter's part, of RegisterActor a tool's.
static void
test_operator_may_set_the_limiter_and_no_table(void **state)
{
    rpc_fixture *f = *state;
    wire_configure message = wire_example_configure();
    f->pipe.role = OCT_ROLE_OPERATOR;
    T_OK(wire_call_configure(f->client, &message, 1, configured, f));
    exchange(f);
    T_ERR(f->pipe.handled, OCT_EINVAL);
    T_ERR(f->err, OCT_EINVAL);
    assert_non_null(strstr(f->detail, "a table needs a learner's"));
    assert_int_equal(f->number, 0);
    message.limiter_only = true;
    T_OK(wire_call_configure(f->client, &message, 1, configured, f));
    exchange(f);
    T_OK(f->pipe.handled);
    T_OK(f->err);
    assert_int_equal(f->number, message.capacity);
    f->pipe.role = OCT_ROLE_LEARNER;
    message.limiter_only = false;
    T_OK(wire_call_configure(f->client, &message, 1, configured, f));
    exchange(f);
    T_OK(f->err);
}

static void
test_operator_may_register_tools_alone(void **state)
{
    rpc_fixture *f = *state;
    wire_register message = wire_example_register(false); // an evaluator
    f->pipe.role = OCT_ROLE_OPERATOR;
    T_OK(wire_call_register_actor(f->client, &message, 1, registered, f));
    exchange(f);
    T_ERR(f->err, OCT_EINVAL);
    assert_non_null(strstr(f->detail, "an operator's certificate can register tools"));
    message.role = WIRE_ROLE_TOOL;
    T_OK(wire_call_register_actor(f->client, &message, 1, registered, f));
    exchange(f);
    T_OK(f->err);
    f->pipe.role = OCT_ROLE_ACTOR;
    message.role = WIRE_ROLE_ACTOR;
    T_OK(wire_call_register_actor(f->client, &message, 1, registered, f));
    exchange(f);
    T_OK(f->err);
}

static void
test_actors_and_evaluators_register_as_what_they_are(void **state)
{
    rpc_fixture *f = *state;
    static const struct {
        oct_role certificate;
        wire_role as;
        const char *says; // NULL: is let in
    } cases[] = {
        {OCT_ROLE_ACTOR, WIRE_ROLE_ACTOR, NULL},
        {OCT_ROLE_ACTOR, WIRE_ROLE_EVALUATOR, "certificate cannot register an evaluator"},
        {OCT_ROLE_EVALUATOR, WIRE_ROLE_EVALUATOR, NULL},
        {OCT_ROLE_EVALUATOR, WIRE_ROLE_ACTOR, "an evaluator's certificate can register evaluators"},
        {OCT_ROLE_EVALUATOR, WIRE_ROLE_TOOL, "an evaluator's certificate can register evaluators"},
        {OCT_ROLE_RELAY, WIRE_ROLE_RELAY, NULL},
        {OCT_ROLE_RELAY, WIRE_ROLE_ACTOR, "a relay's certificate can register relays only"},
        {OCT_ROLE_RELAY, WIRE_ROLE_TOOL, "a relay's certificate can register relays only"},
        {OCT_ROLE_ACTOR, WIRE_ROLE_RELAY, "an actor's certificate cannot register a relay"},
        {OCT_ROLE_EVALUATOR, WIRE_ROLE_RELAY, "an evaluator's certificate can register evaluators"},
        {OCT_ROLE_OPERATOR, WIRE_ROLE_RELAY, "an operator's certificate can register tools"},
        {OCT_ROLE_LOCAL, WIRE_ROLE_EVALUATOR, NULL},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        wire_register message = wire_example_register(false);
        message.role = cases[i].as;
        f->pipe.role = cases[i].certificate;
        T_OK(wire_call_register_actor(f->client, &message, 1, registered, f));
        exchange(f);
        T_ERR(f->err, cases[i].says == NULL ? OCT_OK : OCT_EINVAL);
        assert_true(cases[i].says == NULL || strstr(f->detail, cases[i].says) != NULL);
    }
}

static void
test_server_without_a_handler_answers_not_found(void **state)
{
    rpc_fixture *f = *state;
    T_OK(wire_call_checkpoint(f->client, &(wire_empty){0}, 100, got_written, f));
    exchange(f);
    T_ERR(f->pipe.handled, OCT_ENOTFOUND);
    T_ERR(f->err, OCT_ENOTFOUND);
    assert_string_equal(f->detail, "this peer does not offer that method");
}

static void
test_server_refuses_more_open_calls_than_it_has_room_for(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++) {
        T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    }
    wire_pipe_deliver_requests(&f->pipe);
    assert_int_equal(f->kept_count, WIRE_CALLS_MAX);
    wire_pipe_fail(&f->pipe, OCT_ETIMEDOUT);
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    exchange(f);
    T_ERR(f->err, OCT_EAGAIN);
    assert_int_equal(f->kept_count, WIRE_CALLS_MAX);
    // One answer makes room for one request.
    wire_reply_error(f->kept[0], OCT_ECLOSED, NULL);
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    wire_pipe_deliver_requests(&f->pipe);
    T_OK(f->pipe.handled);
}

static void
test_client_refuses_more_calls_than_it_has_slots(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++) {
        T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    }
    T_ERR(wire_call_sample(f->client, &message, 100, sampled, f), OCT_EAGAIN);
    wire_pipe_fail(&f->pipe, OCT_ECLOSED);
    assert_int_equal(f->done_count, WIRE_CALLS_MAX);
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
}

static void
test_client_passes_on_a_refusal_of_the_transport(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    f->pipe.refusal = OCT_EAGAIN;
    for (size_t i = 0; i < 2 * WIRE_CALLS_MAX; i++) {
        T_ERR(wire_call_sample(f->client, &message, 100, sampled, f), OCT_EAGAIN);
    }
    assert_int_equal(f->done_count, 0);
    f->pipe.refusal = OCT_OK;
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
}

// Sends one request and answers it with these bytes.
static void
answer_with(rpc_fixture *f, const uint8_t *bytes, size_t length)
{
    wire_sample message = wire_example_sample();
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    wire_pipe_call *call = &f->pipe.calls[f->pipe.call_count - 1];
    call->is_delivered = true;
    memcpy(wire_pipe_responder.begin(call, length), bytes, length);
    wire_pipe_responder.send(call);
    wire_pipe_deliver_replies(&f->pipe);
}

static void
test_client_refuses_a_bad_reply(void **state)
{
    rpc_fixture *f = *state;
    uint8_t reply[WIRE_FRAME_BYTES + 4] = {0};
    answer_with(f, reply, sizeof(reply));
    T_ERR(f->err, OCT_EPROTO);
    assert_string_equal(f->detail, "the reply is not an Octet frame");
    wire_frame_pack(WIRE_ACK, 0, 0, reply);
    answer_with(f, reply, WIRE_FRAME_BYTES);
    T_ERR(f->err, OCT_EPROTO);
    assert_string_equal(f->detail, "the reply is another kind of message");
    wire_frame_pack(WIRE_REPLY, OCT_OK, 0, reply);
    memset(reply + WIRE_FRAME_BYTES, 0xff, 4);
    answer_with(f, reply, sizeof(reply));
    T_ERR(f->err, OCT_EPROTO);
    assert_string_equal(f->detail,
                        "bad reply: truncated, garbled, or larger than the memory for it");
    // Good protobuf that is not a good message: count (field 3) is 1, and no column is there.
    const uint8_t count[] = {0x18, 0x01};
    memcpy(reply + WIRE_FRAME_BYTES, count, sizeof(count));
    answer_with(f, reply, WIRE_FRAME_BYTES + sizeof(count));
    T_ERR(f->err, OCT_EPROTO);
    assert_string_equal(f->detail, "bad reply: sampled.probability: length is 0, not 1");
}

static void
test_client_refuses_a_reply_of_another_version(void **state)
{
    rpc_fixture *f = *state;
    uint8_t reply[WIRE_FRAME_BYTES];
    wire_frame_pack(WIRE_REPLY, OCT_OK, 0, reply);
    reply[5] = 1;
    answer_with(f, reply, sizeof(reply));
    T_ERR(f->err, OCT_EINVAL);
    assert_string_equal(
        f->detail,
        "the peer speaks protocol version 260, release " OCTET_VERSION
        " here reads 4 to 4: run the same release on both sides, or consecutive releases");
}

static void
test_client_cleans_the_text_of_an_error_reply(void **state)
{
    rpc_fixture *f = *state;
    uint8_t reply[WIRE_FRAME_BYTES + 2000];
    memset(reply, 'a', sizeof(reply));
    wire_frame_pack(WIRE_REPLY, 999, 0, reply);
    memcpy(reply + WIRE_FRAME_BYTES, "a\033[2J\n\0b\xff", 8);
    answer_with(f, reply, WIRE_FRAME_BYTES + 8);
    T_ERR(f->err, OCT_EINTERNAL);
    assert_string_equal(f->detail, "a [2J  b");
    memcpy(reply + WIRE_FRAME_BYTES, "caf\xc3\xa9 \xff", 7);
    answer_with(f, reply, WIRE_FRAME_BYTES + 5);
    assert_string_equal(f->detail, "caf\xc3\xa9");
    answer_with(f, reply, WIRE_FRAME_BYTES + 7);
    assert_string_equal(f->detail, "caf?? ?");
    answer_with(f, reply, sizeof(reply));
    assert_int_equal(strlen(f->detail), WIRE_DETAIL_MAX);
    answer_with(f, reply, WIRE_FRAME_BYTES);
    assert_string_equal(f->detail, oct_strerror(OCT_EINTERNAL));
}

static void
test_client_reports_an_error_of_the_transport(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    T_OK(wire_call_sample(f->client, &message, 250, sampled, f));
    assert_int_equal(f->pipe.calls[0].timeout_ms, 250);
    wire_pipe_fail(&f->pipe, OCT_ETIMEDOUT);
    assert_int_equal(f->done_count, 1);
    T_ERR(f->err, OCT_ETIMEDOUT);
    assert_string_equal(f->detail, oct_strerror(OCT_ETIMEDOUT));
}

static void
test_reply_that_exceeds_the_clients_arena_is_refused(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    wire_pipe_deliver_requests(&f->pipe);
    wire_sampled answer = wire_example_sampled(40000, 0, 0);
    wire_reply_sample(f->kept[0], &answer);
    wire_pipe_deliver_replies(&f->pipe);
    T_ERR(f->err, OCT_EPROTO);
}

// ---- edges

static void
test_error_detail_reaches_the_client(void **state)
{
    rpc_fixture *f = *state;
    wire_get_policy message = wire_example_get_policy();
    T_OK(wire_call_get_policy(f->client, &message, 100, got_policy, f));
    exchange(f);
    T_OK(f->pipe.handled);
    T_ERR(f->err, OCT_EAGAIN); // who shuts down is asked later: closed are a process's own links
    assert_string_equal(f->detail, "no policy any more");
}

static void
test_long_detail_is_cut_between_characters(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    wire_pipe_deliver_requests(&f->pipe);
    char detail[3000];
    memset(detail, 'x', sizeof(detail) - 1);
    detail[sizeof(detail) - 1] = '\0';
    memcpy(detail + WIRE_DETAIL_MAX - 1, "\xc3\xa9", 2);
    wire_reply_error(f->kept[0], OCT_EIO, detail);
    wire_pipe_deliver_replies(&f->pipe);
    T_ERR(f->err, OCT_EIO);
    assert_int_equal(strlen(f->detail), WIRE_DETAIL_MAX - 1);
}

static void
test_deferred_replies_may_come_in_any_order(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    for (size_t i = 0; i < 3; i++) {
        T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
    }
    wire_pipe_deliver_requests(&f->pipe);
    T_OK(f->pipe.handled);
    assert_int_equal(f->kept_count, 3);
    wire_pipe_deliver_replies(&f->pipe);
    assert_int_equal(f->done_count, 0);
    static const size_t order[] = {2, 0, 1};
    for (size_t i = 0; i < 3; i++) {
        wire_sampled answer = wire_example_sampled((uint32_t)order[i] + 1, 0, 0);
        wire_reply_sample(f->kept[order[i]], &answer);
        wire_pipe_deliver_replies(&f->pipe);
        T_OK(f->err);
        assert_int_equal(f->number, answer.key[order[i]]);
    }
    assert_int_equal(f->done_count, 3);
}

// A done callback that makes the next call when every slot was taken.
static void
sampled_and_again(void *arg, oct_err err, const char *detail, const wire_sampled *answer)
{
    rpc_fixture *f = arg;
    sampled(arg, err, detail, answer);
    wire_sample message = wire_example_sample();
    T_OK(wire_call_sample(f->client, &message, 100, sampled, f));
}

static void
test_done_may_call_again(void **state)
{
    rpc_fixture *f = *state;
    wire_sample message = wire_example_sample();
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++) {
        T_OK(wire_call_sample(f->client, &message, 100, i == 0 ? sampled_and_again : sampled, f));
    }
    wire_pipe_fail(&f->pipe, OCT_ETIMEDOUT);
    assert_int_equal(f->done_count, WIRE_CALLS_MAX + 1);
}

// ---- ordinary

static void
test_call_reaches_its_handler_and_back(void **state)
{
    rpc_fixture *f = *state;
    wire_register message = wire_example_register(true);
    T_OK(wire_call_register_actor(f->client, &message, 100, registered, f));
    exchange(f);
    T_OK(f->pipe.handled);
    assert_string_equal(f->text, "CartPole-v1");
    assert_int_equal(f->done_count, 1);
    T_OK(f->err);
    assert_string_equal(f->detail, oct_strerror(OCT_OK));
    assert_int_equal(f->number, message.pid + 1);
}

static void
test_large_request_grows_the_buffer(void **state)
{
    rpc_fixture *f = *state;
    for (uint32_t count = 1; count < 60000; count *= 8) {
        wire_priorities message = wire_example_priorities(count);
        T_OK(wire_call_update_priorities(f->client, &message, 100, emptied, f));
        exchange(f);
        T_OK(f->err);
        assert_int_equal(f->number, message.key[count - 1]);
        wire_pipe_clear(&f->pipe);
    }
}

static void
test_repeated_calls_allocate_nothing(void **state)
{
    rpc_fixture *f = *state;
    wire_priorities message = wire_example_priorities(5000);
    size_t before = 0;
    assert_true(alloc_count > 0); // the fixture's own: the count works
    for (int i = 0; i < 50; i++) {
        T_OK(wire_call_update_priorities(f->client, &message, 100, emptied, f));
        exchange(f);
        T_OK(f->err);
        wire_pipe_clear(&f->pipe);
        before = i == 0 ? alloc_count : before;
    }
    assert_int_equal(alloc_count, before);
}

// The method number of each method on the wire: it must never change.
static void
test_method_numbers_are_fixed(void **state)
{
    rpc_fixture *f = *state;
    wire_register registration = wire_example_register(false);
    wire_get_policy get_policy = wire_example_get_policy();
    wire_report report = wire_example_report(1, 1);
    wire_configure configure = wire_example_configure();
    wire_sample sample = wire_example_sample();
    wire_priorities priorities = wire_example_priorities(1);
    wire_digest_request digest = wire_example_digest_request();
    wire_sessions sessions = wire_example_sessions(2);
    wire_empty empty = {0};
    wire_stop stop = {.reason = "solved"};
    wire_get_peers get_peers = {.count_max = 1};
    T_OK(wire_call_register_actor(f->client, &registration, 1, registered, f));
    T_OK(wire_call_get_policy(f->client, &get_policy, 1, got_policy, f));
    T_OK(wire_call_report_episodes(f->client, &report, 1, emptied, f));
    T_OK(wire_call_learner_status(f->client, &empty, 1, got_status, f));
    T_OK(wire_call_checkpoint(f->client, &empty, 1, got_written, f));
    T_OK(wire_call_stop(f->client, &stop, 1, emptied, f));
    T_OK(wire_call_learner_peers(f->client, &get_peers, 1, got_peers, f));
    T_OK(wire_call_configure(f->client, &configure, 1, configured, f));
    T_OK(wire_call_sample(f->client, &sample, 1, sampled, f));
    T_OK(wire_call_update_priorities(f->client, &priorities, 1, emptied, f));
    T_OK(wire_call_replay_status(f->client, &empty, 1, got_status, f));
    T_OK(wire_call_table_digest(f->client, &digest, 1, got_digest, f));
    T_OK(wire_call_inserted_sessions(f->client, &sessions, 1, got_sessions, f));
    static const uint16_t codes[] = {0x100, 0x101, 0x102, 0x103, 0x104, 0x105, 0x106,
                                     0x200, 0x201, 0x202, 0x203, 0x204, 0x205};
    for (size_t i = 0; i < OCT_COUNTOF(codes); i++) {
        wire_frame frame;
        T_OK(wire_frame_unpack(&frame, f->pipe.calls[i].request.bytes,
                               f->pipe.calls[i].request.length));
        assert_int_equal(frame.kind, WIRE_REQUEST);
        assert_int_equal(frame.code, codes[i]);
        assert_int_equal(frame.topic, 0);
    }
}

#define LEARNER_TEST(name) cmocka_unit_test_setup_teardown(name, setup_learner, teardown)
#define REPLAY_TEST(name)  cmocka_unit_test_setup_teardown(name, setup_replay, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LEARNER_TEST(test_server_refuses_garbage),
        LEARNER_TEST(test_server_refuses_another_version_in_words),
        LEARNER_TEST(test_server_refuses_what_is_no_request),
        LEARNER_TEST(test_server_refuses_an_unknown_method),
        LEARNER_TEST(test_server_refuses_a_request_for_the_other_service),
        LEARNER_TEST(test_server_refuses_bad_values_with_the_reason),
        LEARNER_TEST(test_server_without_a_handler_answers_not_found),
        LEARNER_TEST(test_learner_refuses_roles_that_a_method_is_not_for),
        REPLAY_TEST(test_replay_refuses_roles_that_a_method_is_not_for),
        REPLAY_TEST(test_refused_role_is_told_who_may),
        REPLAY_TEST(test_operator_may_set_the_limiter_and_no_table),
        LEARNER_TEST(test_operator_may_register_tools_alone),
        LEARNER_TEST(test_actors_and_evaluators_register_as_what_they_are),
        REPLAY_TEST(test_server_refuses_more_open_calls_than_it_has_room_for),
        REPLAY_TEST(test_client_refuses_more_calls_than_it_has_slots),
        REPLAY_TEST(test_client_passes_on_a_refusal_of_the_transport),
        REPLAY_TEST(test_client_refuses_a_bad_reply),
        REPLAY_TEST(test_client_refuses_a_reply_of_another_version),
        REPLAY_TEST(test_client_cleans_the_text_of_an_error_reply),
        REPLAY_TEST(test_client_reports_an_error_of_the_transport),
        REPLAY_TEST(test_reply_that_exceeds_the_clients_arena_is_refused),
        LEARNER_TEST(test_error_detail_reaches_the_client),
        REPLAY_TEST(test_long_detail_is_cut_between_characters),
        REPLAY_TEST(test_deferred_replies_may_come_in_any_order),
        REPLAY_TEST(test_done_may_call_again),
        LEARNER_TEST(test_call_reaches_its_handler_and_back),
        REPLAY_TEST(test_large_request_grows_the_buffer),
        REPLAY_TEST(test_repeated_calls_allocate_nothing),
        LEARNER_TEST(test_method_numbers_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
