// Every field of octet.proto has a row in the table of its message, and survives the wire; the
// methods are those of the services.
#include <ctype.h>
#include <stdlib.h>

#include "proto/wire_rpc.h"
#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_refused.h"

#define FIELDS_MAX 64

static const wire_message *const messages[] = {
#define X(plain, generated) &plain##_message,
    WIRE_MESSAGES(X)
#undef X
};

// ---- rows

static bool
row_fits(const wire_member *row, const ProtobufCFieldDescriptor *field)
{
    static const int wanted[][3] = {
        [WIRE_BOOL] = {PROTOBUF_C_TYPE_BOOL, -1, -1},
        [WIRE_BYTE] = {PROTOBUF_C_TYPE_BYTES, -1, -1},
        [WIRE_U32] = {PROTOBUF_C_TYPE_UINT32, PROTOBUF_C_TYPE_FIXED32, PROTOBUF_C_TYPE_ENUM},
        [WIRE_U64] = {PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_FIXED64, -1},
        [WIRE_F32] = {PROTOBUF_C_TYPE_FLOAT, -1, -1},
        [WIRE_F64] = {PROTOBUF_C_TYPE_DOUBLE, -1, -1},
        [WIRE_STRING] = {PROTOBUF_C_TYPE_STRING, -1, -1},
    };
    const int *types = wanted[row->type], type = (int)field->type;
    bool is_column = field->label == PROTOBUF_C_LABEL_REPEATED;
    return row->shape == WIRE_OTHER ||
           ((type == types[0] || type == types[1] || type == types[2]) &&
            (!is_column || row->length == field->quantifier_offset) &&
            (row->shape == WIRE_ONE) == (!is_column && row->type != WIRE_BYTE));
}

static unsigned
rows_of(const wire_member *rows, size_t count, const ProtobufCFieldDescriptor *field)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].field == field->offset) {
            found++;
            assert_true(row_fits(&rows[i], field));
        }
    }
    return found;
}

static bool
is_of_speaks(const char *name)
{
    return strcmp(name, "version") == 0 || strcmp(name, "read_min") == 0 ||
           strcmp(name, "read_max") == 0 || strcmp(name, "release_name") == 0;
}

static void
test_every_field_has_one_row(void **state)
{
    (void)state;
    for (size_t k = 0; k < OCT_COUNTOF(messages); k++) {
        const wire_message *message = messages[k];
        for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
            const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
            unsigned rows = rows_of(message->members, message->member_count, field) +
                            rows_of(message->part, message->part_count, field);
            if (rows != (message->speaks && is_of_speaks(field->name) ? 0 : 1)) {
                fail_msg("%s.%s has %u rows", message->name, field->name, rows);
            }
        }
    }
}

// ---- examples

static bool seen[OCT_COUNTOF(messages)][FIELDS_MAX];

static bool
is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const uint8_t *value = (const uint8_t *)message + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return *(const size_t *)(const void *)((const uint8_t *)message +
                                               field->quantifier_offset) > 0;
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return (*(char *const *)(const void *)value)[0] != '\0';
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)(const void *)value)->len > 0;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return *(const uint64_t *)(const void *)value != 0;
    default:
        return *(const uint32_t *)(const void *)value != 0;
    }
}

// What is read of a message and packed again are the same bytes; notes which fields it has set.
static void
example(const wire_message *message, const void *in)
{
    size_t length = wire_message_size(message, in), k = 0;
    uint8_t *bytes = malloc(length + 1), *again = malloc(length + 1);
    void *out = malloc(message->plain_bytes);
    assert_true(bytes != NULL && again != NULL && out != NULL);
    wire_message_pack(message, in, bytes);
    T_OK(wire_message_unpack(message, out, arena, bytes, length));
    assert_int_equal(wire_message_size(message, out), length);
    wire_message_pack(message, out, again);
    assert_memory_equal(again, bytes, length);
    const ProtobufCMessage *generated =
        wire_arena_unpack(arena, message->descriptor, bytes, length);
    assert_non_null(generated);
    while (messages[k] != message) {
        k++;
    }
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        seen[k][i] = seen[k][i] || is_set(generated, &message->descriptor->fields[i]);
    }
    wire_arena_reset(arena);
    free(out);
    free(again);
    free(bytes);
}
#define EXAMPLE(plain, ...)                                                                        \
    do {                                                                                           \
        const plain example_in = __VA_ARGS__;                                                      \
        example(&plain##_message, &example_in);                                                    \
    } while (0)

static void
learner_examples(void)
{
    EXAMPLE(wire_register, wire_example_register(true));
    wire_register pixels = wire_example_register(false);
    pixels.env.obs_dtype = OCTET__DTYPE__DTYPE_U8;
    pixels.env.obs_high = 255;
    EXAMPLE(wire_register, pixels);
    EXAMPLE(wire_registered, wire_example_registered());
    wire_registered signed_one = wire_example_registered();
    signed_one.reason = "full";
    signed_one.has_signature = true;
    EXAMPLE(wire_registered, signed_one);
    EXAMPLE(wire_get_policy, wire_example_get_policy());
    EXAMPLE(wire_got_policy, wire_example_got_policy());
    wire_got_policy signed_policy = wire_example_got_policy();
    signed_policy.policy.has_signature = true;
    EXAMPLE(wire_got_policy, signed_policy);
    wire_report report = wire_example_report(5, 7);
    report.leaves = true;
    report.unreached = "tcp://replay:7000";
    EXAMPLE(wire_report, report);
    EXAMPLE(wire_empty, {0});
    EXAMPLE(wire_status, wire_example_status(WIRE_STATS_MAX));
    EXAMPLE(wire_written, {.updates = 3, .env_steps = 4});
    EXAMPLE(wire_stop, {.reason = "solved"});
    EXAMPLE(wire_get_peers, {.count_max = 7});
    EXAMPLE(wire_peers, wire_example_peers(WIRE_PEERS_MAX));
}

static void
replay_examples(void)
{
    EXAMPLE(wire_configure, wire_example_configure());
    wire_configure box = wire_example_configure();
    box.action_is_float = true;
    box.action_count = 0;
    box.action_bounds = 1;
    box.action_low[0] = -1;
    box.action_high[0] = 1;
    EXAMPLE(wire_configure, box);
    wire_configure limiter = wire_example_configure();
    limiter.limiter_only = limiter.keep_samples_per_insert = limiter.keep_tolerance = true;
    limiter.release = true;
    EXAMPLE(wire_configure, limiter);
    EXAMPLE(wire_configured, wire_example_configured());
    EXAMPLE(wire_sample, wire_example_sample());
    wire_sampled windows = wire_example_sampled(8, 0, 2);
    windows.mass = 5;
    windows.balance = -6;
    EXAMPLE(wire_sampled, windows);
    EXAMPLE(wire_sampled, wire_example_sampled(8, 3, 2));
    EXAMPLE(wire_priorities, wire_example_priorities(8));
    EXAMPLE(wire_digest_request, wire_example_digest_request());
    EXAMPLE(wire_digest, wire_example_digest());
    EXAMPLE(wire_sessions, wire_example_sessions(8));
}

static void
test_columns_of_every_length_survive_the_wire(void **state)
{
    (void)state;
    static const uint32_t rows[] = {0, 1, 2, 63, 64, 1000, WIRE_BATCH_COUNT_MAX};
    static const uint32_t shapes[][2] = {{0, 0}, {1, 0}, {255, 0},   {256, 0},  {65536, 0}, {0, 5},
                                         {1, 1}, {7, 3}, {1, 16384}, {256, 20}, {5000, 12}};
    static const uint32_t episodes[] = {0, 1, 1000, WIRE_EPISODES_MAX};
    static const uint32_t stats[] = {WIRE_STATS_MAX, 0, 1, 2};
    for (uint32_t i = 0; i < OCT_COUNTOF(rows); i++) {
        EXAMPLE(wire_batch, wire_example_batch(rows[i], i % 3));
    }
    for (uint32_t i = 0; i < OCT_COUNTOF(shapes); i++) {
        EXAMPLE(wire_sampled, wire_example_sampled(shapes[i][0], shapes[i][1], i % 3));
    }
    for (uint32_t i = 0; i < OCT_COUNTOF(stats); i++) {
        EXAMPLE(wire_report, wire_example_report(episodes[i], stats[i]));
    }
}

static void
test_every_field_survives_the_wire(void **state)
{
    (void)state;
    memset(seen, 0, sizeof(seen));
    EXAMPLE(wire_batch, wire_example_batch(12, 2));
    EXAMPLE(wire_ack, wire_example_ack());
    EXAMPLE(wire_policy, wire_example_policy(7));
    wire_policy signed_policy = wire_example_policy(7);
    signed_policy.has_signature = true;
    EXAMPLE(wire_policy, signed_policy);
    learner_examples();
    replay_examples();
    for (size_t k = 0; k < OCT_COUNTOF(messages); k++) {
        assert_true(messages[k]->descriptor->n_fields <= FIELDS_MAX);
        for (unsigned i = 0; i < messages[k]->descriptor->n_fields; i++) {
            if (!seen[k][i]) {
                fail_msg("no example of %s has %s", messages[k]->name,
                         messages[k]->descriptor->fields[i].name);
            }
        }
    }
}

// ---- methods

// register_actor is RegisterActor.
static void
method_is(const ProtobufCMethodDescriptor *method, const char *name, const wire_message *request,
          const wire_message *reply)
{
    char snake[64];
    size_t used = 0;
    for (const char *at = method->name; *at != '\0'; at++) {
        if (isupper((unsigned char)*at) && at != method->name) {
            snake[used++] = '_';
        }
        snake[used++] = (char)tolower((unsigned char)*at);
    }
    snake[used] = '\0';
    assert_string_equal(snake, name);
    assert_ptr_equal(method->input, request->descriptor);
    assert_ptr_equal(method->output, reply->descriptor);
}

static void
test_the_methods_are_those_of_the_services(void **state)
{
    (void)state;
    unsigned learner = 0, replay = 0;
#define X(method, request, reply, roles)                                                           \
    method_is(&octet__learner__descriptor.methods[learner++], #method, &request##_message,         \
              &reply##_message);
    WIRE_LEARNER_METHODS(X)
#undef X
#define X(method, request, reply, roles)                                                           \
    method_is(&octet__replay__descriptor.methods[replay++], #method, &request##_message,           \
              &reply##_message);
    WIRE_REPLAY_METHODS(X)
#undef X
    assert_int_equal(learner, octet__learner__descriptor.n_methods);
    assert_int_equal(replay, octet__replay__descriptor.n_methods);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_has_one_row),
        cmocka_unit_test_setup_teardown(test_columns_of_every_length_survive_the_wire, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_every_field_survives_the_wire, arena_setup,
                                        arena_teardown),
        cmocka_unit_test(test_the_methods_are_those_of_the_services),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
