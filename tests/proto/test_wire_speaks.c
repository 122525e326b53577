// Which releases work together, and how those that do not are told.
#include "common/oct_reason.h"
#include "proto/wire_speaks.h"

#include <string.h>

#include "proto/octet.pb-c.h"
#include "proto/wire_rpc.h"
#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_pipe.h"
#include "tests/support/oct_test.h"

static oct_reason reason;

static bool
meet(wire_speaks a, wire_speaks b)
{
    bool result = wire_speaks_meet(&a, &b, &reason);
    assert_int_equal(wire_speaks_meet(&b, &a, &reason), result); // both ways
    return result;
}

// As versions are raised: read for one release, then sent.
static void
test_releases_that_follow_each_other_work_together(void **state)
{
    (void)state;
    static const wire_speaks releases[] = {{4, 4, 4, "0.1"}, {4, 4, 5, "0.2"}, {5, 4, 5, "0.3"},
                                           {5, 5, 6, "0.4"}, {6, 5, 6, "0.5"}, {6, 6, 6, "0.6"}};
    for (size_t i = 0; i + 1 < OCT_COUNTOF(releases); i++) {
        assert_true(meet(releases[i], releases[i]));
        assert_true(meet(releases[i], releases[i + 1]));
    }
    assert_false(meet(releases[0], releases[2])); // 0.1 does not read 5
    assert_false(meet(releases[0], releases[5]));
    assert_false(meet(releases[2], releases[4]));
    assert_true(meet(releases[1], releases[2]));
}

static void
test_a_release_that_does_not_tell_is_of_version_4(void **state)
{
    (void)state;
    const wire_speaks untold = {0}, next = {4, 4, 5, "0.2"}, later = {5, 5, 5, "0.4"};
    assert_true(wire_speaks_meet(&next, &untold, &reason));
    assert_false(wire_speaks_meet(&later, &untold, &reason));
    assert_string_equal(
        reason.text,
        "release 0.4 speaks protocol version 5 and reads 5 to 5, its peer, an earlier release, "
        "speaks 4 and reads 4 to 4: run the same release on both sides, or consecutive releases");
}

static void
test_both_are_named(void **state)
{
    (void)state;
    const wire_speaks one = {4, 4, 4, "0.1.0"}, other = {6, 5, 6, "0.5.2"};
    assert_false(wire_speaks_meet(&one, &other, &reason));
    assert_non_null(
        strstr(reason.text, "release 0.1.0 speaks protocol version 4 and reads 4 to 4"));
    assert_non_null(strstr(reason.text, "release 0.5.2, speaks 6 and reads 5 to 6"));
}

// Whatever the version of a frame is, these requests are read, and of others the range is.
static void
test_frames_of_other_versions(void **state)
{
    (void)state;
    wire_frame out;
    uint8_t bytes[WIRE_FRAME_BYTES];
    const wire_speaks own = wire_speaks_own();
    for (unsigned version = 0; version < 8; version++) {
        bool is_read = own.read_min <= version && version <= own.read_max;
        wire_frame_pack(WIRE_BATCH, 0, 0, bytes);
        assert_int_equal(bytes[4], own.version);
        bytes[4] = (uint8_t)version;
        assert_int_equal(wire_frame_unpack(&out, bytes, sizeof(bytes)),
                         is_read ? OCT_OK : OCT_EINVAL);
        assert_int_equal(out.version, version);
        wire_frame_pack(WIRE_REQUEST, 0x200, 0, bytes);
        assert_int_equal(bytes[4], WIRE_PROTOCOL_HELLO);
        bytes[4] = (uint8_t)version;
        assert_int_equal(wire_frame_unpack(&out, bytes, sizeof(bytes)),
                         is_read || version == WIRE_PROTOCOL_HELLO ? OCT_OK : OCT_EINVAL);
    }
}

// ---- both ends of a call

#define ARENA_BYTES (1u << 20)

static wire_pipe line;
static wire_client *client;
static bool was_handled;
static oct_err answered;
static char detail[WIRE_DETAIL_MAX + 1];

static void
handle_register(void *arg, wire_call *call, const wire_register *message)
{
    (void)arg;
    (void)message;
    was_handled = true;
    wire_reply_error(call, OCT_EIO, "");
}

static void
registered(void *arg, oct_err err, const char *why, const wire_registered *answer)
{
    (void)arg;
    (void)answer;
    answered = err;
    (void)snprintf(detail, sizeof(detail), "%s", why);
}

static int
setup(void **state)
{
    static const wire_learner_handlers handlers = {.register_actor = handle_register};
    (void)state;
    line = (wire_pipe){.role = OCT_ROLE_LOCAL};
    client = wire_client_create(wire_pipe_call_begin, &line, ARENA_BYTES);
    line.server = wire_server_create_learner(&handlers, NULL, &wire_pipe_responder, ARENA_BYTES);
    was_handled = false;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    wire_pipe_fail(&line, OCT_ECLOSED);
    wire_client_destroy(client);
    wire_server_destroy(line.server);
    wire_pipe_clear(&line);
    return 0;
}

static void
says(const char *words)
{
    if (strstr(detail, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, detail);
    }
}

// A registration as a release sends it that speaks 6 and reads 5 to 6: no handler sees it.
static void
test_server_refuses_a_release_that_is_too_far_away(void **state)
{
    (void)state;
    Octet__Registration message = OCTET__REGISTRATION__INIT;
    uint8_t bytes[256];
    static char host[] = "h", release[] = "9.8.7", garbled[] = "9\x1b[2J";
    message.role = OCTET__ROLE__ROLE_TOOL;
    message.host = host;
    message.version = message.read_max = 6;
    message.read_min = 5;
    for (int i = 0; i < 2; i++) {
        message.release_name = i == 0 ? release : garbled;
        wire_frame_pack(WIRE_REQUEST, WIRE_SERVICE_LEARNER << 8, 0, bytes);
        size_t length = octet__registration__pack(&message, bytes + WIRE_FRAME_BYTES);
        T_ERR(wire_pipe_inject(&line, bytes, WIRE_FRAME_BYTES + length), OCT_EINVAL);
        (void)snprintf(detail, sizeof(detail), "%s", wire_server_reason(line.server));
        says("release " OCTET_VERSION " speaks protocol version 4 and reads 4 to 4");
        says(i == 0 ? "its peer, release 9.8.7, speaks 6 and reads 5 to 6"
                    : "its peer, an earlier release, speaks 6");
        const wire_pipe_frame *reply = &line.calls[0].reply;
        assert_int_equal(reply->bytes[6], OCT_EINVAL);
        assert_memory_equal(reply->bytes + WIRE_FRAME_BYTES, detail,
                            reply->length - WIRE_FRAME_BYTES);
        wire_pipe_clear(&line);
    }
    assert_false(was_handled);
}

static void
answer_with(const uint8_t *bytes, size_t length)
{
    const wire_register message = wire_example_register(false);
    T_OK(wire_call_register_actor(client, &message, 100, registered, NULL));
    wire_pipe_call *call = &line.calls[line.call_count - 1];
    call->is_delivered = true;
    memcpy(wire_pipe_responder.begin(call, length), bytes, length);
    wire_pipe_responder.send(call);
    wire_pipe_deliver_replies(&line);
}

// Why somebody refuses is read, whatever he speaks.
static void
test_refusals_of_every_version_are_read(void **state)
{
    (void)state;
    static const char why[] = "too old";
    uint8_t bytes[WIRE_FRAME_BYTES + sizeof(why) - 1];
    wire_frame_pack(WIRE_REPLY, OCT_EINVAL, 0, bytes);
    bytes[5] = 1;
    memcpy(bytes + WIRE_FRAME_BYTES, why, sizeof(why) - 1);
    answer_with(bytes, sizeof(bytes));
    T_ERR(answered, OCT_EINVAL);
    assert_string_equal(detail, why);
}

static void
test_client_refuses_a_release_that_is_too_far_away(void **state)
{
    (void)state;
    Octet__Registered answer = OCTET__REGISTERED__INIT;
    uint8_t bytes[256];
    static char release[] = "9.8.7";
    answer.release_name = release;
    answer.version = answer.read_min = answer.read_max = 5;
    wire_frame_pack(WIRE_REPLY, OCT_OK, 0, bytes);
    size_t length = octet__registered__pack(&answer, bytes + WIRE_FRAME_BYTES);
    answer_with(bytes, WIRE_FRAME_BYTES + length);
    T_ERR(answered, OCT_EINVAL);
    says("its peer, release 9.8.7, speaks 5 and reads 5 to 5");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_releases_that_follow_each_other_work_together),
        cmocka_unit_test(test_a_release_that_does_not_tell_is_of_version_4),
        cmocka_unit_test(test_both_are_named),
        cmocka_unit_test(test_frames_of_other_versions),
        cmocka_unit_test_setup_teardown(test_refusals_of_every_version_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_server_refuses_a_release_that_is_too_far_away, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_client_refuses_a_release_that_is_too_far_away, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
